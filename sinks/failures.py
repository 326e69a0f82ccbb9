"""What the driver raises, as one of our errors: transient, poison or fatal is all that a loop asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    CypherSyntaxError,
    DatabaseError,
    DriverError,
    Forbidden,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)
from neo4j.exceptions import TransientError as Neo4jTransient

from memstream.schemas.errors import FatalError, GraphUnavailable, PoisonError, TransientError

# refusals of data, not of statements: the value, its type, its size, or two nodes of one key
_OF_DATA = (
    "Neo.ClientError.Statement.TypeError",
    "Neo.ClientError.Statement.ArgumentError",
    "Neo.ClientError.Statement.ArithmeticError",
    "Neo.ClientError.Statement.PropertyNotFound",
    "Neo.ClientError.Schema.ConstraintValidationFailed",
    "Neo.ClientError.Schema.TokenNameError",
    "Neo.ClientError.Request.Invalid",
)
_TOO_LARGE = "too large to index"
_TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOut"
_MEMORY = (
    "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
    "Neo.TransientError.General.TransactionOutOfMemoryError",
    "Neo.TransientError.Transaction.MaximumTransactionSizeReached",
)


class BatchTooLarge(PoisonError):
    """Neo4j has not the memory for this batch in one transaction: give it less."""


@contextmanager
def told_as_ours() -> Iterator[None]:
    """Turn the driver's errors into ours. What is no driver's error passes."""
    try:
        yield
    except (ServiceUnavailable, SessionExpired, ConnectionAcquisitionTimeoutError) as error:
        raise GraphUnavailable(f"Neo4j does not answer: {error}") from error
    except (AuthError, Forbidden, ConfigurationError, CypherSyntaxError) as error:
        raise FatalError(f"Neo4j refuses this process: {error}") from error
    except Neo4jTransient as error:
        if error.code in _MEMORY:
            raise BatchTooLarge(f"Neo4j has no memory for so large a transaction: {error.message}") from error
        raise TransientError(f"Neo4j is busy: {error.message}") from error
    except Neo4jError as error:
        raise _of(error) from error
    except DriverError as error:
        if error.is_retryable():
            raise TransientError(f"the connection to Neo4j failed: {error}") from error
        raise FatalError(f"the driver of Neo4j failed: {error}") from error


def _of(error: Neo4jError) -> Exception:
    if error.code is not None and error.code.startswith(_TIMED_OUT):
        return TransientError(f"Neo4j has ended a transaction that took too long: {error.message}")
    if error.code in _OF_DATA:
        return PoisonError(f"Neo4j refuses the data: {error.message}")
    if isinstance(error, DatabaseError) and _TOO_LARGE in str(error.message):
        return PoisonError(f"Neo4j refuses the data: {error.message}")
    if error.code is not None and error.code.startswith("Neo.TransientError"):
        return TransientError(f"Neo4j is busy: {error.message}")
    return FatalError(f"Neo4j failed with {error.code}: {error.message}")
