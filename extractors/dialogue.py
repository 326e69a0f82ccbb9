"""Dialogues in the annotated form (id, messages) as sessions, and what was extracted back in that form."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memstream.extractors.context.session import clean
from memstream.schemas.errors import InvalidInput
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    Extraction,
    Extractor,
    SessionTurns,
    Turn,
)

ROLES = frozenset({"user", "assistant", "system", "tool"})


def turns_of(dialogue: dict[str, Any], where: str) -> list[Turn]:
    """The turns of one dialogue. Raises InvalidInput that says what is wrong and `where`."""
    messages = dialogue.get("messages")
    if not isinstance(dialogue.get("id"), str) or not isinstance(messages, list):
        raise InvalidInput(f"{where}: a dialogue needs 'id' (text) and 'messages' (a list)")
    return [_turn(message, f"{where}, message {number}") for number, message in enumerate(messages, start=1)]


def _turn(message: Any, where: str) -> Turn:
    if not isinstance(message, dict):
        raise InvalidInput(f"{where}: a message is an object with id, role, time and text")
    for key in ("id", "role", "time", "text"):
        if not isinstance(message.get(key), str):
            raise InvalidInput(f"{where}: {key!r} is missing or not a text")
    if message["role"] not in ROLES:
        raise InvalidInput(f"{where}: role {message['role']!r} is none of {', '.join(sorted(ROLES))}")
    try:
        time = datetime.fromisoformat(message["time"])
    except ValueError as error:
        raise InvalidInput(f"{where}: time {message['time']!r} is not ISO 8601 ({error})") from error
    name = message.get("name")
    named = isinstance(name, str) and bool(name) and message["role"] in ("user", "assistant")
    speaker = name if named else "assistant" if message["role"] == "assistant" else "user"
    return Turn(message["id"], message["role"], str(speaker), message["text"], time, named=named)


def extract_dialogues(extractor: Extractor, dialogues: Iterable[tuple[str, list[Turn]]]) -> list[list[Extraction]]:
    """All dialogues in one call of the extractor, each a session of its own."""
    sessions = [SessionTurns(b"", turns) for _, turns in dialogues]
    return [result.extractions for result in extractor.extract(sessions)]


def merged_names(extractions: list[Extraction]) -> dict[EntityName, EntityName]:
    """The longest name of each entity of a dialogue, by the names it had."""
    names: dict[EntityName, EntityName] = {}
    for extraction in extractions:
        for same in extraction.same_as:
            names[same.a] = same.b
    return {old: _last(names, new) for old, new in names.items()}


def _last(names: dict[EntityName, EntityName], name: EntityName) -> EntityName:
    for _ in range(len(names)):
        if name not in names or names[name] == name:
            break
        name = names[name]
    return name


def rows_of(turns: list[Turn], extractions: list[Extraction]) -> dict[str, list[dict[str, Any]]]:
    """Entities, facts and preferences of one dialogue in the annotated form; facts in the order they were said."""
    names = merged_names(extractions)
    facts: list[dict[str, Any]] = []
    preferences: list[dict[str, Any]] = []
    for turn, extraction in zip(turns, extractions, strict=True):
        facts += [_fact(a, turn, names) for a in extraction.assertions]
        preferences += [
            {
                "holder": names.get(p.holder, p.holder).name, "polarity": p.polarity.value, "object": p.object,
                "over": p.over, "context": p.context, "source": turn.event_id,
            }
            for p in extraction.preferences
        ]  # fmt: skip
    return {"entities": _entities(turns, extractions, names), "facts": facts, "preferences": preferences}


def _fact(a: ExtractedAssertion, turn: Turn, names: dict[EntityName, EntityName]) -> dict[str, Any]:
    entity = isinstance(a.object, EntityName)
    row = {
        "subject": names.get(a.subject, a.subject).name,
        "predicate": a.predicate,
        "object": names.get(a.object, a.object).name if isinstance(a.object, EntityName) else a.object,
        "object_kind": "entity" if entity else "value",
        "negated": a.negated,
        "valid_from": a.valid_from,
        "valid_to": a.valid_to,
        "source": turn.event_id,
    }
    return row | {"open": True} if a.open else row


def _entities(
    turns: list[Turn], extractions: list[Extraction], names: dict[EntityName, EntityName]
) -> list[dict[str, Any]]:
    found: dict[EntityName, dict[str, Any]] = {}

    def row(entity: EntityName) -> dict[str, Any]:
        best = names.get(entity, entity)
        made = found.setdefault(best, {"name": best.name, "type": best.type.value, "aliases": [], "mentions": []})
        for alias in (entity.name,):
            if clean(alias) != best.name and alias not in made["aliases"]:
                made["aliases"].append(alias)
        return made

    for turn, extraction in zip(turns, extractions, strict=True):
        if turn.named and turn.role in ("user", "assistant"):
            row(_speaker(turn, extractions))
        for mention in extraction.mentions:
            made = row(mention.entity)
            if not any(m["message"] == turn.event_id and m["text"] == mention.text for m in made["mentions"]):
                made["mentions"].append({"message": turn.event_id, "text": mention.text})
        for a in extraction.assertions:
            for term in (a.subject, a.object):
                if isinstance(term, EntityName):
                    row(term)
    return list(found.values())


def _speaker(turn: Turn, extractions: list[Extraction]) -> EntityName:
    for extraction in extractions:
        for a in extraction.assertions:
            if a.subject.name == turn.speaker:
                return a.subject
    return EntityName(EntityType.OBJECT if turn.role == "assistant" else EntityType.PERSON, turn.speaker)
