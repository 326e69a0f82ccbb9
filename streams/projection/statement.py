"""What is stated outright means: entities, facts, preferences, cards, links, and what takes them back."""

from __future__ import annotations

from typing import Any

from memstream.schemas.base import EventRef
from memstream.schemas.ids import event_key, hash_of, utc_text
from memstream.schemas.names import normalise_name
from memstream.schemas.patch import Edge, ErasureRow, Label, RetractionRow
from memstream.schemas.statement import (
    AssertionTarget,
    Card,
    Corrected,
    EntityStated,
    Erased,
    ErasureKind,
    FactStated,
    Link,
    Merged,
    PreferenceStated,
    RelationshipStated,
    Retracted,
    Unmerged,
)
from memstream.streams.projection import names
from memstream.streams.projection.claims import assertion_id, claim_of, retraction_id
from memstream.streams.projection.jsontext import json_text
from memstream.streams.projection.material import Findings, Material, card_text
from memstream.streams.projection.names import Ref
from memstream.streams.projection.rows import Rows
from memstream.streams.projection.said import Taste, Triple, add_fact, add_preference, add_retraction


def entity(rows: Rows, data: EntityStated) -> None:
    """An entity with its description."""
    props = {
        "description": data.description,
        "subtype": data.subtype,
        "aliases": data.aliases,
        "metadata": json_text(data.metadata),
    }
    rows.share(rows.entity(data), "described", props)


def fact(rows: Rows, data: FactStated | RelationshipStated) -> None:
    """A triple, on its publisher's word."""
    value: Any = data.object
    if isinstance(data, FactStated) and data.object is None:
        value = data.value or ""
    triple = Triple(data.subject, data.predicate, value, data.negated, data.valid_from, data.valid_to)
    add_fact(rows, triple, confidence=data.confidence, props=_metadata(data.metadata))


def preference(rows: Rows, data: PreferenceStated) -> None:
    """A taste or a standing instruction, on its publisher's word."""
    taste = Taste(
        data.holder,
        data.polarity,
        data.object,
        over=data.over,
        context=data.context,
        category=data.category,
        confidence=data.confidence,
    )
    add_preference(rows, taste, props=_metadata(data.metadata))


def card(rows: Rows, data: Card, findings: Findings) -> None:
    """What was learned. Without an id of its own a card is known by its content."""
    content_hash = hash_of("content", data.kind.value, normalise_name(data.title), " ".join(data.content.split()))
    ref = names.card(rows.origin.scope, data.card_id or content_hash)
    rows.share(ref, "card", _card_props(rows, data), vector=findings.vectors.get(card_text(data)))
    for name in data.tags:
        rows.edge(Edge.TAGGED, ref, rows.named(names.tag(rows.origin.scope, name), name))


def link(rows: Rows, data: Link) -> None:
    """An edge between any two ids: kept as a node, since what the ids are of is known by the graph alone."""
    props = {
        "from_id": data.from_id,
        "to_id": data.to_id,
        "relation": data.relation,
        "properties": json_text(data.properties),
        "agent_id": data.agent_id,
        "time": rows.origin.time,
    }
    rows.own(Ref(Label.LINK, rows.origin.key), props)


def corrected(rows: Rows, data: Corrected, material: Material) -> None:
    """The target leaves its fold and the replacement enters it in one patch: nobody sees one without the other."""
    _retract(rows, data.target, material)
    fact(rows, data.replacement)


def retracted(rows: Rows, data: Retracted, material: Material) -> None:
    """The target leaves its fold."""
    _retract(rows, data.target, material)


def merged(rows: Rows, data: Merged | Unmerged) -> None:
    """Two entities are one, or are not."""
    rows.link(rows.entity(data.a), rows.entity(data.b), same=isinstance(data, Merged), reason=data.reason or "")


def erased(rows: Rows, data: Erased, material: Material) -> None:
    """Forget for real, up to the erasure itself at most."""
    until = rows.origin.recorded_at if data.until is None else min(rows.origin.recorded_at, utc_text(data.until))
    ids = data.ids
    if data.kind in (ErasureKind.EVENT, ErasureKind.MESSAGE):
        source = data.source or material.event.source
        ids = tuple(event_key(rows.origin.scope, source, event_id) for event_id in data.ids)
    rows.erasure(ErasureRow(kind=data.kind.value, ids=ids, until=until, children=data.children))


def _retract(rows: Rows, target: AssertionTarget, material: Material) -> None:
    if target.event is not None and target.ordinal is not None:
        row = RetractionRow(
            id=retraction_id(rows.origin.key, len(rows.retractions)),
            assertion=assertion_id(_key_of(material, target.event), target.ordinal),
        )
        rows.retraction(row)
        return
    value = target.object if target.object is not None else target.value
    if target.subject is None or target.predicate is None or value is None:
        return  # the model of the data lets no such target through
    before = utc_text(target.said_before) if target.said_before is not None else rows.origin.time
    add_retraction(rows, claim_of(rows.origin.scope, target.subject, target.predicate, value), before)


def _key_of(material: Material, ref: EventRef) -> str:
    return event_key(material.event.scope, ref.source or material.event.source, ref.id)


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    text = json_text(metadata)
    return {} if text is None else {"metadata": text}


def _card_props(rows: Rows, data: Card) -> dict[str, Any]:
    applies_to = data.applies_to.model_dump(mode="json", exclude_defaults=True) if data.applies_to else None
    props = data.model_dump(mode="json", exclude={"applies_to", "metadata"}, exclude_none=True)
    return props | {
        "applies_to": json_text(applies_to),
        "metadata": json_text(data.metadata),
        "time": rows.origin.time,
    }
