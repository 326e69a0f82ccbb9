"""Whether Kafka, Neo4j or a service of ours answers: None if it does, else why not, in a few words."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import httpx
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from neo4j import AsyncGraphDatabase
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from memstream.schemas.errors import StackError
from memstream.settings import Settings
from memstream.settings.kafka import kafka_options

_TIMEOUT = 10.0


async def kafka_health(settings: Settings) -> str | None:
    """Ask a broker who is in the cluster: a broker that answers with itself takes events."""
    addresses = settings.kafka_bootstrap.split(",")
    if not any([await _listens(address) for address in addresses]):  # else the client logs each refusal as an error
        return f"nothing listens at {settings.kafka_bootstrap}"
    client = AIOKafkaClient(**kafka_options(settings), request_timeout_ms=int(_TIMEOUT * 1000))
    try:
        async with asyncio.timeout(_TIMEOUT):
            await client.bootstrap()
    except TimeoutError:
        return f"no answer from {settings.kafka_bootstrap} within {_TIMEOUT:.0f} s"
    except KafkaError as error:
        return f"{settings.kafka_bootstrap} answers with {type(error).__name__}: {error}"
    finally:
        await client.close()
    return None if client.cluster.brokers() else "no broker is registered yet"


async def neo4j_health(settings: Settings) -> str | None:
    """Run `RETURN 1` in the database. Raises StackError if Neo4j answers and refuses user or password."""
    host = urlsplit(settings.neo4j_uri)
    if host.scheme.startswith("bolt") and not await _listens(f"{host.hostname}:{host.port or 7687}"):
        return f"nothing listens at {settings.neo4j_uri}"
    try:
        async with (
            asyncio.timeout(_TIMEOUT),
            AsyncGraphDatabase.driver(settings.neo4j_uri, auth=settings.neo4j_auth) as driver,
        ):
            await driver.execute_query("RETURN 1", database_=settings.neo4j_database)
    except TimeoutError:
        return f"no answer from {settings.neo4j_uri} within {_TIMEOUT:.0f} s"
    except AuthError as error:
        raise StackError(
            f"Neo4j at {settings.neo4j_uri} refuses user '{settings.neo4j_user}' and its password: {error.message}. "
            "Set MEMSTREAM_NEO4J_USER and MEMSTREAM_NEO4J_PASSWORD."
        ) from error
    except (DriverError, Neo4jError, OSError) as error:
        return f"{settings.neo4j_uri} answers with {type(error).__name__}: {error}"
    return None


async def http_health(url: str) -> str | None:
    """GET an address that answers 200 when all is well."""
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
            answer = await client.get(url)
    except httpx.HTTPError as error:
        return f"{url}: {type(error).__name__}"
    return None if answer.status_code == 200 else f"{url} answers {answer.status_code}"


async def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(_TIMEOUT):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
