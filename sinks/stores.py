"""Which Neo4j holds a scope. There is one store for now; who asks by scope will not notice when there are more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from neo4j import Driver, GraphDatabase, NotificationMinimumSeverity

from memstream.settings import Settings

CONNECT_SECONDS = 5.0
POOL_WAIT_SECONDS = 10.0
RETRY_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Store:
    """A database of a Neo4j, which is always named."""

    driver: Driver
    database: str


class Stores:
    """Scope to store. Closes its drivers at the end of a `with`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """The store of the settings; nothing is sent before the first use."""
        driver = GraphDatabase.driver(
            settings.neo4j_uri,
            auth=settings.neo4j_auth,
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=POOL_WAIT_SECONDS,
            max_transaction_retry_time=RETRY_SECONDS,
            notifications_min_severity=NotificationMinimumSeverity.OFF,
        )
        return cls(Store(driver, settings.neo4j_database))

    def of(self, scope: str) -> Store:  # noqa: ARG002 - all scopes are in one store, for now
        """The store that holds a scope."""
        return self._store

    def all(self) -> tuple[Store, ...]:
        """Every store, for migrations."""
        return (self._store,)

    def close(self) -> None:
        """Close every driver."""
        self._store.driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
