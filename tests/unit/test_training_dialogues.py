"""The training dialogues are whole: every name is where it is said to be, every fact is about listed entities."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityType

_FILE = Path(__file__).parents[2] / "training" / "dialogues.jsonl"
_KEYS = {
    "id",
    "kind",
    "messages",
    "entities",
    "facts",
    "preferences",
    "current",
    "superseded",
    "must_not",
}
DIALOGUES: list[dict[str, Any]] = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]


def test_no_dialogue_is_there_twice() -> None:
    """Neither by its id nor by a text."""
    assert len({row["id"] for row in DIALOGUES}) == len(DIALOGUES)
    openings = [row["messages"][0]["text"] for row in DIALOGUES]
    assert len(set(openings)) == len(openings)


def test_each_dialogue_is_whole() -> None:
    """Mentions stand in their messages, facts are about listed entities and of known predicates."""
    assert {row["id"]: faults for row in DIALOGUES if (faults := list(_faults(row)))} == {}


def _faults(row: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a dialogue, in words."""
    if set(row) != _KEYS:
        yield f"keys: {set(row) ^ _KEYS}"
    messages = {message["id"]: message for message in row["messages"]}
    times = [message["time"] for message in row["messages"]]
    if times != sorted(times):
        yield "the messages are not in the order of their times"
    entities = {entity["name"]: EntityType(entity["type"]) for entity in row["entities"]}
    if len(entities) != len(row["entities"]):
        yield "an entity is listed twice"
    for mention in (mention for entity in row["entities"] for mention in entity["mentions"]):
        message = messages[mention["message"]]
        if mention["text"] not in message["text"] and mention["text"] != message.get("name"):
            yield f"{mention['text']!r} does not stand in {mention['message']}"
    for fact in row["facts"]:
        if fact["subject"] not in entities or (fact["object"] in entities) != (fact["object_kind"] == "entity"):
            yield f"not about listed entities: {fact}"
        if not fact.get("open") and fact["predicate"] not in catalogue():
            yield f"no predicate of the catalogue: {fact['predicate']}"
    if _told(row["facts"]) != _told([*row["current"], *row["superseded"]]):
        yield "current and superseded do not part the facts"
    if not {one["source"] for one in (*row["facts"], *row["preferences"])} <= messages.keys():
        yield "a source is no message"


def _told(facts: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(fact, sort_keys=True) for fact in facts)
