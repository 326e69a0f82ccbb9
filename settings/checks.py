"""What makes a single setting valid, said so that a person can put it right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memstream.schemas.catalogue import own_path, own_problems

_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NEO4J_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_MAX_DIMENSIONS = 4096  # what a vector index of Neo4j takes


def check_bootstrap(value: str) -> str:
    """A list of host:port with commas between, without spaces."""
    parts = [part.strip() for part in value.split(",")]
    for part in parts:
        host, _, port = part.rpartition(":")
        if not host or not port.isdigit() or not 1 <= int(port) <= 65535:
            raise ValueError(f"'{part}' is not host:port; write for example 127.0.0.1:9092 or a:9092,b:9092")
    return ",".join(parts)


def check_prefix(value: str) -> str:
    """The first part of a topic's or a group's name: what Kafka allows in a name, and short."""
    if not _PREFIX.fullmatch(value):
        raise ValueError(f"'{value}' must be 1-100 letters, digits, '.', '_' or '-', and start with a letter or digit")
    return value


def check_neo4j_uri(value: str) -> str:
    """An address as the Neo4j driver takes it; user and password stand in settings of their own."""
    url = urlsplit(value)
    if url.scheme not in _NEO4J_SCHEMES or not url.hostname:
        raise ValueError(f"write {'://, '.join(_NEO4J_SCHEMES)}:// and a host, for example bolt://127.0.0.1:7687")
    if url.username or url.password:
        raise ValueError("put user and password into MEMSTREAM_NEO4J_USER and MEMSTREAM_NEO4J_PASSWORD instead")
    return value


def check_http_url(value: str) -> str:
    """An http(s) address with a host and no slash at its end."""
    url = urlsplit(value)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"'{value}' is not an http:// or https:// address")
    return value.rstrip("/")


def check_model_url(value: str) -> str:
    """An http(s) address without a login in it: an address is shown and logged."""
    if "@" in urlsplit(value).netloc:
        raise ValueError("put the key into MEMSTREAM_OPENAI_API_KEY instead of the address")
    return check_http_url(value)


def check_embedder(value: str) -> str:
    """The name of an embedder: minilm, none, sentence-transformers:NAME or openai:URL#MODEL#DIMS."""
    kind, _, rest = value.partition(":")
    if value in ("minilm", "none") or (kind == "sentence-transformers" and rest):
        return value
    if kind == "openai":
        url, model, dimensions = [*rest.split("#"), "", "", ""][:3]
        check_http_url(url)
        if rest.count("#") == 2 and model and dimensions.isdigit() and 1 <= int(dimensions) <= _MAX_DIMENSIONS:
            return value
        raise ValueError(
            f"write openai:URL#MODEL#DIMS with 1 to {_MAX_DIMENSIONS} dimensions, "
            "for example openai:http://127.0.0.1:11434/v1#nomic-embed-text#768"
        )
    raise ValueError(f"'{value}' is none of minilm, none, sentence-transformers:NAME, openai:URL#MODEL#DIMS")


def check_keys(value: str) -> str:
    """Nothing, a file's URL with an absolute path, or env:."""
    parts = urlsplit(value)
    if value not in {"", "env:"} and (parts.scheme != "file" or parts.netloc or len(parts.path) < 2):
        raise ValueError(f"'{value}' is no store of keys; write file:///var/lib/memstream/keys.db, or env:")
    return value


def check_predicates(value: Path) -> Path:
    """A file of one's own predicates, right in its form; its patterns are looked at where they are used."""
    problems = own_problems(str(value))
    if problems:
        raise ValueError("; ".join(str(problem) for problem in problems))
    if own_path() != str(value):  # nobody but the environment tells every part of every process the same
        raise ValueError("is only taken from the environment: set it there, for all processes")
    return value


def check_language_models(value: str) -> str:
    """Languages and their spaCy models: de=de_core_news_sm,cs=/models/cs."""
    for part in filter(None, value.split(",")):
        language, _, model = part.partition("=")
        if not re.fullmatch("[a-z]{2,3}", language) or not model.strip():
            raise ValueError(f"'{part}' is not language=model; write for example de=de_core_news_sm,cs=/models/cs")
        if language == "en":
            raise ValueError("the rules for English are made for the model that comes with Memstream: leave en out")
    return value


def check_json_object(value: Any) -> Any:
    """A JSON object as text; what is one already is taken as it is."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except ValueError as error:
        raise ValueError(f"is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError('is no JSON object: write for example {"temperature": null}')  # noqa: TRY004 - pydantic's way
    return found
