"""The paths of recall inside one scope: names, one hop further, words, meaning."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from memstream.query.entities import words_rows
from memstream.query.facts import FACTS_ABOUT, PREFERENCES_OF, counted
from memstream.query.graph import Reader, Row
from memstream.query.lucene import names_query, text_query, words_of
from memstream.query.names import ENTITIES_BY_NORM, clusters_of
from memstream.query.prompts import names_in
from memstream.query.recall_rank import Candidate, Kind, Path, Reason
from memstream.query.shared import as_of
from memstream.query.statements import scoped
from memstream.query.vectors import Neighbours
from memstream.schemas.names import normalise_name
from memstream.schemas.patch import Label

MAX_ENTITIES = 24
MAX_ENTITY_FACTS = 60
MAX_NEIGHBOURS = 24
MAX_HOP_FACTS = 40
MAX_FACTS_READ = MAX_NEIGHBOURS * MAX_ENTITY_FACTS
MAX_HITS = 60
NOT_ASKED = 20
FAR = 80
"""How far behind a fact one hop further ranks unless the prompt asks for both steps to it."""

_ENDING: Final = re.compile(r"(?<=\w{3})(?:ing|ed|es|e|s)$")

HIT_FIELDS: Final = """
    labels(n) AS labels, n.id AS id, n.event_id AS event_id, n.session_id AS session_id, n.role AS role,
    coalesce(n.speaker, n.name, n.agent_id, n.role) AS speaker, n.text AS text, n.time AS time, n.claim AS claim,
    n.slot AS slot, n.subject AS subject, n.subject_name AS subject_name, n.predicate AS predicate,
    n.object AS object, n.object_name AS object_name, n.value AS value, coalesce(n.negated, false) AS negated,
    n.valid_from AS valid_from, n.valid_to AS valid_to, coalesce(n.start_known, true) AS start_known,
    coalesce(n.holds, true) AS holds, n.confidence AS confidence, coalesce(n.support, 1) AS support,
    n.said_first AS said_first, n.said_last AS said_last, n.changed AS changed, n.document AS document
"""

# The full-text index over texts that all scopes share: the scope is a required term and is filtered again.
BY_WORDS = scoped(
    "recall by words",
    """
    CALL db.index.fulltext.queryNodes('memstream_text', $query, {limit: $fetch}) YIELD node AS n, score
    WHERE n.scope = $scope AND n.at <= $position AND (n.ended_at IS NULL OR n.ended_at > $position)
      AND ($superseded OR coalesce(n.holds, true)) AND NOT coalesce(n.recalled, false) AND n.text <> ''
    WITH n, score ORDER BY score DESC, n.id LIMIT $limit
    RETURN """
    + HIT_FIELDS,
)

_KINDS: Final = {
    "Fact": Kind.FACT,
    "Preference": Kind.PREFERENCE,
    "Message": Kind.MESSAGE,
    "Passage": Kind.PASSAGE,
    "BoardItem": Kind.BOARD_ITEM,
}


class Found:
    """The candidates of one scope; what two paths find is one candidate with two reasons."""

    def __init__(self, scope: str, place: int) -> None:
        self._scope = scope
        self._place = place
        self._by_id: dict[tuple[Kind, str], Candidate] = {}

    def add_hits(self, rows: Sequence[Row], path: Path, detail: str) -> None:
        """Rows with `labels`, in the order of a path's ranks."""
        kinds = [next((kind for label, kind in _KINDS.items() if label in row["labels"]), None) for row in rows]
        ranked = [(kind, row, rank) for rank, (kind, row) in enumerate(zip(kinds, rows, strict=True), start=1) if kind]
        self.add_ranked(ranked, path, detail)

    def add_ranked(self, ranked: Sequence[tuple[Kind, Row, int]], path: Path, detail: str) -> None:
        """Rows of any kind with their ranks on a path."""
        for kind, row, rank in ranked:
            candidate = self._by_id.setdefault(
                (kind, row["id"]), Candidate(kind, row["id"], self._scope, self._place, row)
            )
            candidate.reasons.append(Reason(path, rank, detail))

    def candidates(self) -> list[Candidate]:
        """All of them."""
        return list(self._by_id.values())


async def find(
    reader: Reader, place: int, prompt: str, vector: list[float] | None, neighbours: Neighbours, *, superseded: bool
) -> tuple[list[Candidate], list[Row]]:
    """What one scope has for a prompt, and the entities that the prompt names there."""
    found = Found(reader.scope, place)
    entities, words, nearest = await asyncio.gather(
        _named(reader, prompt),
        _by_words(reader, prompt, superseded),
        neighbours.nearest(reader, vector, MAX_HITS) if vector else _nothing(),
    )
    if entities:
        await _about(reader, prompt, entities, found, superseded=superseded)
    found.add_hits(words, Path.WORDS, "its words")
    found.add_hits(nearest, Path.MEANING, "its meaning")
    candidates = found.candidates()
    await _settle(reader, candidates)
    return candidates, await as_of(reader, Label.ENTITY, entities)


async def _settle(reader: Reader, candidates: list[Candidate]) -> None:
    """Give the candidates that have changed since the reader's position their state as of it."""
    facts = [each for each in candidates if each.kind is Kind.FACT]
    items = [each for each in candidates if each.kind is Kind.BOARD_ITEM]
    for each, row in zip(facts, await counted(reader, [each.row for each in facts]), strict=True):
        each.row = row
    posted = [{name: each.row[name] for name in ("id", "changed", "text", "time")} for each in items]
    for each, row in zip(items, await as_of(reader, Label.BOARD_ITEM, posted), strict=True):
        each.row = each.row | row


async def _nothing() -> list[Row]:
    return []


async def _by_words(reader: Reader, prompt: str, superseded: bool) -> list[Row]:
    query = text_query(reader.scope, prompt)
    if query is None:
        return []
    return await reader.rows(BY_WORDS, query=query, fetch=4 * MAX_HITS, limit=MAX_HITS, superseded=superseded)


async def _named(reader: Reader, prompt: str) -> list[Row]:
    """The entities that a prompt names: by whole name or alias, else by a word of the name."""
    names = names_in(prompt)
    query = names_query(reader.scope, prompt)
    exact, similar = await asyncio.gather(
        reader.rows(ENTITIES_BY_NORM, norms=names),
        words_rows(reader, query, MAX_ENTITIES) if query else _nothing(),
    )
    wanted = set(names)
    known = {row["id"]: row for row in exact}
    for row in similar:
        if wanted & {normalise_name(alias) for alias in row["aliases"]}:
            known.setdefault(row["id"], row)
    if known:
        order = {name: place for place, name in enumerate(names)}
        first = len(order)
        return sorted(known.values(), key=lambda row: (order.get(row["norm"], first), row["id"]))[:MAX_ENTITIES]
    return similar[: MAX_ENTITIES // 4]


async def _about(reader: Reader, prompt: str, entities: list[Row], found: Found, *, superseded: bool) -> None:
    """Facts about the named entities and what is the same as them, their preferences, and one hop further."""
    ids = [row["id"] for row in entities]
    clusters = await clusters_of(reader, ids)
    members = sorted(set().union(*clusters.values()))
    facts, tastes = await asyncio.gather(
        reader.rows(FACTS_ABOUT, ids=members, superseded=superseded, each=MAX_ENTITY_FACTS, limit=MAX_ENTITY_FACTS),
        reader.rows(PREFERENCES_OF, holders=members, id="", superseded=superseded, limit=MAX_ENTITY_FACTS),
    )
    ranked = [(Kind.FACT, row) for row in facts] + [(Kind.PREFERENCE, row) for row in tastes]
    names = ", ".join(row["name"] or row["norm"] for row in entities[:3])
    asked = stems(prompt) - {stem for row in entities for stem in stems(row["name"] or row["norm"])}
    near = by_overlap(asked, ranked)
    found.add_ranked(near, Path.ENTITY, f"about {names}")
    steps = steps_from([row for kind, row, _ in near if kind is Kind.FACT], set(members))
    if steps:
        read = {"superseded": False, "each": MAX_ENTITY_FACTS, "limit": MAX_FACTS_READ}
        further = await reader.rows(FACTS_ABOUT, ids=sorted(steps), **read)
        known = {row["id"] for row in facts}
        answered = any(asked & _stems_of(row) for row in facts)
        beyond = [row for row in further if row["id"] not in known]
        found.add_ranked(by_steps(asked, beyond, steps, answered=answered), Path.HOP, f"one hop from {names}")


def by_overlap(asked: set[str], ranked: list[tuple[Kind, Row]]) -> list[tuple[Kind, Row, int]]:
    """Each with its rank: those that share most words with what is asked first, what is so before what is not so.

    What shares no word of several was not asked for: it ranks behind, and behind what other paths find.
    """
    shared = [len(asked & _stems_of(row)) for _, row in ranked]
    behind = NOT_ASKED if asked else 0
    order = sorted(range(len(ranked)), key=lambda place: (-shared[place], bool(ranked[place][1].get("negated"))))
    return [(*ranked[place], rank if shared[place] else rank + behind) for rank, place in enumerate(order, start=1)]


def steps_from(facts: list[Row], members: set[str]) -> dict[str, Row]:
    """The entities that the facts lead to, each with the best fact that does; the facts come best first."""
    steps: dict[str, Row] = {}
    for row in facts:
        for end in (row["subject"], row["object"]):
            if end and end not in members:
                steps.setdefault(end, row)
    return dict(list(steps.items())[:MAX_NEIGHBOURS])


def by_steps(
    asked: set[str], facts: list[Row], steps: dict[str, Row], *, answered: bool
) -> list[tuple[Kind, Row, int]]:
    """Facts one hop further with their ranks; each entity's best come before any entity's second best.

    First what the prompt asks for in two steps: words of it lead to the entity, and others of it are in the fact. What
    is not so comes after what is. What was not asked for at all is left out where something better was found:
    `answered` says that a fact about what the prompt names has its words.
    """
    places = {entity: place for place, entity in enumerate(steps)}
    led = {entity: asked & _stems_of(row) if not row.get("negated") else set() for entity, row in steps.items()}
    of_entity: dict[str, list[tuple[int, bool, int, Row]]] = {}
    for row in facts:
        entity = min((end for end in (row["subject"], row["object"]) if end in places), key=places.__getitem__)
        rest = asked - led[entity]
        shared = len(rest & _stems_of(row))
        tier = (not led[entity] or not rest) + (not shared)
        of_entity.setdefault(entity, []).append((tier, bool(row.get("negated")), -shared, row))
    ordered = []
    for entity, rows in of_entity.items():
        rows.sort(key=lambda each: each[:3])
        ordered += [((tier, no, nth, places[entity]), row) for nth, (tier, no, _, row) in enumerate(rows)]
    ordered.sort(key=lambda each: each[0])
    if answered or any(tier < 2 for (tier, *_), _ in ordered):
        ordered = [each for each in ordered if each[0][0] < 2]
    return [
        (Kind.FACT, row, rank + (FAR if tier else 0))
        for rank, ((tier, *_), row) in enumerate(ordered[:MAX_HOP_FACTS], start=1)
    ]


def _stems_of(row: Row) -> set[str]:
    return stems(f"{row['text']} {row.get('predicate') or ''}")


def stems(text: str) -> set[str]:
    """The telling words of a text without the commonest endings: lives and live are one."""
    return {_ENDING.sub("", word) for word in words_of(text.replace("_", " "))}
