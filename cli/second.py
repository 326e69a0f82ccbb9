"""A second Neo4j as commands name it: an address, or the data folder of a stack that `memstream up` started."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from memstream.deploy import stackfile
from memstream.schemas.errors import InvalidInput
from memstream.settings import Settings
from memstream.settings.model import STACK_FILE


def second(settings: Settings, name: str) -> tuple[Settings, str]:
    """The settings with what logs in at a second Neo4j, and its address.

    A folder is read for itself: variables of the environment lead to the first Neo4j, and must not win here.
    Raises InvalidInput where the name leads nowhere.
    """
    if "://" in name:
        return settings, name
    told = stackfile.read(Path(name) / STACK_FILE)
    uri, password = told.get("MEMSTREAM_NEO4J_URI"), told.get("MEMSTREAM_NEO4J_PASSWORD")
    if uri is None or password is None:
        raise InvalidInput(
            f"{name!r} names no Neo4j: give bolt://… or the folder of a local stack, in which stack.env is"
        )
    own = {"target_user": told.get("MEMSTREAM_NEO4J_USER", "neo4j"), "target_password": SecretStr(password)}
    return settings.model_copy(update=own), uri
