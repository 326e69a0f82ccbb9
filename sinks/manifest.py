"""What an event made in the graph, kept on its Event node: by it the event can be taken back without a search.

Where some of it was read with the help of earlier events, it also says which: so what an erasure of one of those
takes with it is found without the patch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from memstream.schemas.patch import Label
from memstream.sinks.records import Incoming

LINKED = "LINKED"


@dataclass(frozen=True, slots=True)
class MadeEdge:
    """An edge by its type and ends, and the earlier events it was read with."""

    type: str
    from_label: str
    from_id: str
    to_label: str
    to_id: str
    used: tuple[str, ...] = ()

    @property
    def entities(self) -> set[str]:
        """The entities at its ends."""
        ends = ((self.from_label, self.from_id), (self.to_label, self.to_id))
        return {one for label, one in ends if label == Label.ENTITY}


@dataclass(frozen=True, slots=True)
class About:
    """The entities of an assertion, and the earlier events it was read with."""

    entities: tuple[str, ...]
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The owned nodes, edges, assertions, retractions and offloaded payloads of an event, by label and id.

    `about` tells of each assertion where anything of the event was read with the help of others.
    """

    nodes: tuple[tuple[str, str], ...] = ()
    edges: tuple[MadeEdge, ...] = ()
    assertions: tuple[str, ...] = ()
    retractions: tuple[str, ...] = ()
    payloads: tuple[str, ...] = ()
    about: dict[str, About] = field(default_factory=dict)

    @property
    def uses(self) -> bool:
        """Whether anything of it was read with the help of other events."""
        return any(edge.used for edge in self.edges) or any(said.used for said in self.about.values())

    def entities(self) -> set[str]:
        """The entities that its edges and assertions are about."""
        of_edges = (edge.entities for edge in self.edges)
        return set().union(*of_edges, *(set(said.entities) for said in self.about.values()))


def manifest_of(one: Incoming) -> Manifest:
    """What a patch makes."""
    patch = one.patch
    edges = [MadeEdge(e.type, e.from_label, e.from_id, e.to_label, e.to_id, tuple(e.used)) for e in patch.edges]
    edges += [MadeEdge(LINKED, Label.ENTITY, x.a, Label.ENTITY, x.b, tuple(x.used)) for x in patch.links]
    about = {
        row.id: About(tuple(one for one in (row.subject, row.object) if one is not None), tuple(row.used))
        for row in patch.assertions
    }
    helped = any(edge.used for edge in edges) or any(said.used for said in about.values())
    return Manifest(
        nodes=tuple((row.label.value, row.id) for row in patch.nodes if row.owned),
        edges=tuple(edges),
        assertions=tuple(row.id for row in patch.assertions),
        retractions=tuple(row.id for row in patch.retractions),
        payloads=tuple(sorted(one.payloads)),
        about=about if helped else {},
    )


def split(manifest: Manifest, erased: Collection[str]) -> tuple[Manifest, Manifest, set[str]]:
    """What used one of the erased events, what is left, and the entities that nothing of it is about any more."""
    gone = set(erased)
    said = {one: about for one, about in manifest.about.items() if not gone.isdisjoint(about.used)}
    edges = tuple(edge for edge in manifest.edges if not gone.isdisjoint(edge.used))
    part = Manifest(edges=edges, assertions=tuple(said), about=said)
    left = Manifest(
        nodes=manifest.nodes,
        edges=tuple(edge for edge in manifest.edges if gone.isdisjoint(edge.used)),
        assertions=tuple(one for one in manifest.assertions if one not in said),
        retractions=manifest.retractions,
        payloads=manifest.payloads,
        about={one: about for one, about in manifest.about.items() if one not in said},
    )
    orphans = part.entities() - left.entities()
    return part, left if left.uses else _plain(left), orphans


def write_manifest(manifest: Manifest) -> str:
    """As JSON text."""
    made: dict[str, Any] = {
        "n": manifest.nodes,
        "e": [_edge(edge) for edge in manifest.edges],
        "a": manifest.assertions,
        "r": manifest.retractions,
        "o": manifest.payloads,
        "u": {one: [about.entities, about.used] for one, about in manifest.about.items()},
    }
    return orjson.dumps({name: rows for name, rows in made.items() if rows}).decode()


def read_manifest(text: str | None) -> Manifest:
    """The manifest on an Event node; an empty one where there is none."""
    made = orjson.loads(text) if text else {}
    return Manifest(
        nodes=tuple((label, node) for label, node in made.get("n", ())),
        edges=tuple(_made(edge) for edge in made.get("e", ())),
        assertions=tuple(made.get("a", ())),
        retractions=tuple(made.get("r", ())),
        payloads=tuple(made.get("o", ())),
        about={one: About(tuple(ends), tuple(used)) for one, (ends, used) in made.get("u", {}).items()},
    )


def _plain(manifest: Manifest) -> Manifest:
    return Manifest(manifest.nodes, manifest.edges, manifest.assertions, manifest.retractions, manifest.payloads)


def _edge(edge: MadeEdge) -> list[Any]:
    named: list[Any] = [edge.type, edge.from_label, edge.from_id, edge.to_label, edge.to_id]
    return [*named, edge.used] if edge.used else named


def _made(edge: Iterable[Any]) -> MadeEdge:
    kind, from_label, from_id, to_label, to_id, *used = edge
    return MadeEdge(kind, from_label, from_id, to_label, to_id, tuple(used[0]) if used else ())
