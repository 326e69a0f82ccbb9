"""What an event made in the graph, kept on its Event node: by it the event can be taken back without a search."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from memstream.schemas.patch import Label
from memstream.sinks.records import Incoming

LINKED = "LINKED"


@dataclass(frozen=True, slots=True)
class MadeEdge:
    """An edge by its type and ends."""

    type: str
    from_label: str
    from_id: str
    to_label: str
    to_id: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The owned nodes, edges, assertions and retractions of an event, by label and id."""

    nodes: tuple[tuple[str, str], ...] = ()
    edges: tuple[MadeEdge, ...] = ()
    assertions: tuple[str, ...] = ()
    retractions: tuple[str, ...] = ()


def manifest_of(one: Incoming) -> str:
    """What a patch makes, as JSON text."""
    patch = one.patch
    edges = [[e.type, e.from_label, e.from_id, e.to_label, e.to_id] for e in patch.edges]
    edges += [[LINKED, Label.ENTITY, link.a, Label.ENTITY, link.b] for link in patch.links]
    made = {
        "n": [[row.label, row.id] for row in patch.nodes if row.owned],
        "e": edges,
        "a": [row.id for row in patch.assertions],
        "r": [row.id for row in patch.retractions],
    }
    return orjson.dumps({name: rows for name, rows in made.items() if rows}).decode()


def read_manifest(text: str | None) -> Manifest:
    """The manifest on an Event node; an empty one where there is none."""
    made = orjson.loads(text) if text else {}
    return Manifest(
        nodes=tuple((label, node) for label, node in made.get("n", ())),
        edges=tuple(MadeEdge(*edge) for edge in made.get("e", ())),
        assertions=tuple(made.get("a", ())),
        retractions=tuple(made.get("r", ())),
    )
