"""What a text says, as rows: mentions, assertions, preferences, what it takes back, and which names are one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memstream.schemas.extraction import (
    EntityName,
    ExtractedAssertion,
    ExtractedPreference,
    ExtractedRetraction,
    Extraction,
    Mention,
    Polarity,
)
from memstream.schemas.ids import hash_of
from memstream.schemas.patch import AssertionKind, AssertionRow, Edge, Origin, RetractionRow
from memstream.streams.projection.claims import (
    PREFERENCE,
    Claim,
    Term,
    assertion_id,
    claim_of,
    preference_slot,
    preference_value,
    retraction_id,
    said_key,
)
from memstream.streams.projection.material import PART
from memstream.streams.projection.names import Ref
from memstream.streams.projection.phrases import fact_text, preference_text
from memstream.streams.projection.rows import NamedThing, Rows

ONE_NAME = "called so in one session"


def add_extraction(rows: Rows, extraction: Extraction, source: Ref) -> None:
    """All that the text of `source` says."""
    _add_mentions(rows, extraction.mentions, source)
    for assertion in extraction.assertions:
        _add_assertion(rows, assertion, source)
    for preference in extraction.preferences:
        add_preference(rows, Taste.of(preference), source)
    for retraction in extraction.retractions:
        _add_retraction(rows, retraction)
    for pair in extraction.same_as:
        used = _earlier(rows.origin, pair.used)
        rows.link(rows.entity(pair.a), rows.entity(pair.b), same=True, reason=ONE_NAME, used=used)


def _add_mentions(rows: Rows, mentions: Iterable[Mention], source: Ref) -> None:
    """One edge for each entity: where it is named first, and how often it is named."""
    by_entity: dict[EntityName, list[Mention]] = {}
    for mention in mentions:
        by_entity.setdefault(mention.entity, []).append(mention)
    for entity, places in by_entity.items():
        first = min(places, key=lambda mention: mention.start)
        props = {"text": first.text, "start": first.start, "end": first.end, "count": len(places)}
        # where the text names it outright in one place, nothing else was needed to know that it does
        used = () if any(not mention.used for mention in places) else first.used
        rows.edge(Edge.MENTIONS, source, rows.entity(entity), props, _earlier(rows.origin, used))


def _add_assertion(rows: Rows, said: ExtractedAssertion, source: Ref) -> None:
    add_fact(
        rows,
        Triple(said.subject, said.predicate, said.object, said.negated, said.valid_from, said.valid_to),
        confidence=said.confidence,
        source=source,
        used=said.used,
        rule=said.rule,
    )


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact as it is said: names, not ids."""

    subject: NamedThing
    predicate: str
    object: NamedThing | str
    negated: bool = False
    valid_from: str | None = None
    valid_to: str | None = None


def add_fact(
    rows: Rows,
    said: Triple,
    *,
    confidence: float = 1.0,
    source: Ref | None = None,
    used: Iterable[str] = (),
    rule: str = "",
    props: dict[str, Any] | None = None,
) -> None:
    """The assertion of a triple, and the entities at its ends."""
    for end in (said.subject, said.object):
        if not isinstance(end, str):
            rows.entity(end)
    origin, ordinal = rows.origin, len(rows.assertions)
    claim = claim_of(origin.scope, said.subject, said.predicate, said.object)
    shown = claim.object.name if claim.object else claim.value or ""
    row = AssertionRow(
        id=assertion_id(origin.key, ordinal),
        ordinal=ordinal,
        slot=claim.slot,
        claim=claim.claim,
        subject=claim.subject.id,
        subject_name=claim.subject.name,
        subject_type=claim.subject.type,
        predicate=claim.predicate,
        single=claim.single,
        object=claim.object.id if claim.object else None,
        object_name=claim.object.name if claim.object else None,
        object_type=claim.object.type if claim.object else None,
        value=claim.value,
        value_key=claim.value_key,
        negated=said.negated,
        valid_from=said.valid_from,
        valid_to=said.valid_to,
        said_at=origin.time,
        key=said_key(origin, ordinal),
        confidence=confidence,
        open=claim.open,
        text=fact_text(claim.subject.name, claim.predicate, shown, negated=said.negated),
        source_label=source.label if source else None,
        source_id=source.id if source else None,
        used=_earlier(origin, used),
        rule=rule,
        props=props or {},
    )
    rows.assertion(row)


@dataclass(frozen=True, slots=True)
class Taste:
    """A preference as it is said."""

    holder: NamedThing
    polarity: Polarity
    object: str
    over: str | None = None
    context: str | None = None
    category: str | None = None
    about: NamedThing | None = None
    confidence: float = 1.0
    used: tuple[str, ...] = ()

    @classmethod
    def of(cls, said: ExtractedPreference) -> Taste:
        """What an extractor read."""
        return cls(
            said.holder,
            said.polarity,
            said.object,
            over=said.over,
            context=said.context,
            about=said.about,
            confidence=said.confidence,
            used=said.used,
        )


def add_preference(rows: Rows, said: Taste, source: Ref | None = None, props: dict[str, Any] | None = None) -> None:
    """The assertion of a preference, its holder and what it is about."""
    rows.entity(said.holder)
    if said.about is not None:
        rows.entity(said.about)
    origin, ordinal = rows.origin, len(rows.assertions)
    holder = Term.of(origin.scope, said.holder)
    about = Term.of(origin.scope, said.about) if said.about is not None else None
    slot = preference_slot(origin.scope, holder.id, said.object, said.context)
    value_key = preference_value(said.polarity.value, said.over)
    taste = {"polarity": said.polarity.value, "over": said.over, "context": said.context, "category": said.category}
    row = AssertionRow(
        id=assertion_id(origin.key, ordinal),
        ordinal=ordinal,
        kind=AssertionKind.PREFERENCE,
        slot=slot,
        claim=hash_of("claim", origin.scope, slot, value_key),
        subject=holder.id,
        subject_name=holder.name,
        subject_type=holder.type,
        predicate=PREFERENCE,
        single=True,
        object=about.id if about else None,
        object_name=about.name if about else None,
        object_type=about.type if about else None,
        value=said.object,
        value_key=value_key,
        said_at=origin.time,
        key=said_key(origin, ordinal),
        confidence=said.confidence,
        text=preference_text(holder.name, said.polarity, said.object, said.over, said.context),
        source_label=source.label if source else None,
        source_id=source.id if source else None,
        used=_earlier(origin, said.used),
        props={name: value for name, value in taste.items() if value is not None} | (props or {}),
    )
    rows.assertion(row)


def _add_retraction(rows: Rows, said: ExtractedRetraction) -> None:
    claim = claim_of(rows.origin.scope, said.subject, said.predicate, said.object)
    add_retraction(rows, claim, rows.origin.time)


def add_retraction(rows: Rows, claim: Claim, said_before: str) -> None:
    """Takes out of its fold what was said of a claim before a time."""
    row = RetractionRow(
        id=retraction_id(rows.origin.key, len(rows.retractions)),
        slot=claim.slot,
        claim=claim.claim,
        said_before=said_before,
    )
    rows.retraction(row)


def _earlier(origin: Origin, used: Iterable[str]) -> tuple[str, ...]:
    """The keys of the earlier events that a reading used, each once."""
    keys = dict.fromkeys(key.partition(PART)[0] for key in used)
    return tuple(key for key in keys if key != origin.key)
