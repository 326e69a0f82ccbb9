"""What is erased is hidden at once: while the sink still works on an erasure, every read passes over what it reaches.

The sink takes back in steps what a large erasure covers (sinks.erase_steps). Until then each statement is run with a
further condition beside each `x.at <= $position`: x is of no event that an unfinished erasure reaches. What is owned is
hidden with its event; a version of a fact with the assertion that words it; what was read by the help of an event with
that event. A shared node is folded from the says that stay where its reader folds (query.shared), and is hidden where
anything that shows on it is of such an event. Without an unfinished erasure no statement has any of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from memstream.query.statements import Statement, service

ERASING: Final = """
    COLLECT {
      MATCH (w:ErasureWork {pending: s.topic + '/' + toString(s.partition)})
      WHERE w.scope IN $scopes AND w.below = (w.scope <> $scope)
      RETURN {kind: w.kind, named: w.named, until: w.until}
    }
"""
"""The unfinished erasures of the scope `s`: its own, and those of the scopes above that reach below them."""

# Entity by its unique key, then the says of it: the newest of the events that name it.
OF_ENTITIES: Final = service(
    "events of erased entities",
    """
    UNWIND $ids AS id
    CALL (id) {
      MATCH (:Entity {scope: $scope, id: id})<-[:WROTE]-(e:Event) RETURN e.id AS key, e.at AS at
      ORDER BY at DESC LIMIT 5000
    }
    RETURN DISTINCT key
    """,
)

_SEEN: Final = re.compile(r"\b(\w+)\.at <= \$position")

# Whether an unfinished erasure reaches the event `he`: by each way in which one names events, up to when it does.
_REACHED: Final = """any(hu IN [$hidden.scope.all, $hidden.session[he.session_id], $hidden.user[he.subject],
    $hidden.event[he.id], $hidden.event[he.event_id]] WHERE coalesce(he.first, he.recorded_at) <= hu)"""
_OF_EVENTS: Final = "NOT EXISTS { UNWIND KEYS AS hk MATCH (he:Event {scope: $scope, id: hk}) WHERE " + _REACHED + " }"
_OF_ASSERTION: Final = (
    "NOT EXISTS { MATCH (ha:Assertion {scope: $scope, id: X_ID}) UNWIND [ha.event] + coalesce(ha.used, []) AS hk "
    "MATCH (he:Event {scope: $scope, id: hk}) WHERE " + _REACHED + " }"
)
_SAID: Final = (
    "(NOT EXISTS { (VAR)<-[:WROTE]-() } OR EXISTS { MATCH (VAR)<-[:WROTE]-(he:Event) WHERE NOT " + _REACHED + " })"
)
_SHOWN: Final = "[k IN keys(VAR) WHERE k STARTS WITH 'key_' | split(VAR[k], '\\u001f')[-1]]"
_OWNED: Final = ("Message", "Document", "Passage", "Rating", "Link", "Assertion", "Retraction")
_VERSIONS: Final = ("Fact", "Preference")


def hidden_by(erasing: Iterable[Mapping[str, str]], of_entities: Iterable[str]) -> dict[str, dict[str, str]]:
    """What `$hidden` is: for each way to name an event, up to when what is so named is hidden.

    `of_entities` are the keys of the events that erased entities reach.
    """
    hidden: dict[str, dict[str, str]] = {"scope": {}, "session": {}, "user": {}, "event": {}}
    for one in erasing:
        kind = "event" if one["kind"] == "message" else one["kind"]
        if kind in hidden:
            named = hidden[kind]
            name = one["named"] or "all"
            named[name] = max(named.get(name, ""), one["until"])
    ever = max((one["until"] for one in erasing), default="")
    hidden["event"] |= {key: ever for key in of_entities if key not in hidden["event"]}
    return hidden


@cache
def hiding(statement: Statement) -> Statement:
    """The statement that passes over what `$hidden` names."""
    text = _SEEN.sub(lambda seen: f"({seen[0]} AND {_visible(seen[1], statement.text)})", statement.text)
    return replace(statement, text=text)


def _visible(variable: str, text: str) -> str:
    """That what a variable stands for is of no event that is to be forgotten."""
    label = next(iter(re.findall(rf"[(\[]{variable}:(\w+)", text)), "")
    keys = f"[{variable}.event] + coalesce({variable}.used, [])"
    if label == "Event":
        return f"NOT {_REACHED.replace('he.', f'{variable}.')}"
    if re.search(rf"\[{variable}\b", text):
        own = _OF_EVENTS.replace("KEYS", keys)
        of_source = _OF_ASSERTION.replace("X_ID", f"{variable}.assertion")
        return f"{own} AND {of_source}" if label == "SOURCED_FROM" else own
    if label in _VERSIONS:
        return _OF_ASSERTION.replace("X_ID", f"{variable}.shown")
    if label in _OWNED:
        return _OF_EVENTS.replace("KEYS", keys)
    if label and re.search(rf"\b{variable}\.changed\b", text):
        return _SAID.replace("VAR", variable)
    own = _OF_EVENTS.replace("KEYS", f"{keys} + {_SHOWN.replace('VAR', variable)}")
    return own if label else f"{own} AND {_OF_ASSERTION.replace('X_ID', f'{variable}.shown')}"
