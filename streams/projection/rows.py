"""Collects the rows of one event, each once, up to the limit of a patch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from memstream.schemas.extraction import EntityType
from memstream.schemas.limits import MAX_PATCH_ROWS
from memstream.schemas.patch import (
    AssertionRow,
    Edge,
    EdgeRow,
    ErasureRow,
    Label,
    LinkRow,
    NodeRow,
    Origin,
    RetractionRow,
    Vector,
)
from memstream.streams.projection import names
from memstream.streams.projection.names import Ref

HAPPENING = "Happening"
_MAX_INT = 2**63 - 1  # what a property holds; JSON may have one bit more


class NamedThing(Protocol):
    """What names an entity: an EntityName of the extractor or an EntityRef of a publisher."""

    @property
    def type(self) -> EntityType:
        """One of the five kinds."""
        ...

    @property
    def name(self) -> str:
        """As it was written."""
        ...


class Rows:
    """The rows of one event.

    The same row said twice is kept once. What is beyond the limit is left out and counted in `left_out`: rows come in
    the order of their weight, so an edge never lacks a node that there was room for.
    """

    def __init__(self, origin: Origin, limit: int = MAX_PATCH_ROWS) -> None:
        self.origin = origin
        self.left_out = 0
        self.assertions: list[AssertionRow] = []
        self.retractions: list[RetractionRow] = []
        self.links: list[LinkRow] = []
        self.erasures: list[ErasureRow] = []
        self._nodes: dict[tuple[str, str], NodeRow] = {}
        self._edges: dict[tuple[str, str, str], EdgeRow] = {}
        self._claims: set[tuple[Any, ...]] = set()
        self._room = limit

    @property
    def nodes(self) -> tuple[NodeRow, ...]:
        """All node rows, in the order they were said."""
        return tuple(self._nodes.values())

    @property
    def edges(self) -> tuple[EdgeRow, ...]:
        """All edge rows, in the order they were said."""
        return tuple(self._edges.values())

    def own(self, ref: Ref, props: Mapping[str, Any], vector: Vector | None = None) -> Ref:
        """A node that this event alone makes."""
        return self._node(NodeRow(label=ref.label, id=ref.id, owned=True, props=_filled(props), vector=vector))

    def share(
        self,
        ref: Ref,
        part: str,
        props: Mapping[str, Any],
        *,
        key: str | None = None,
        first: bool = False,
        labels: tuple[str, ...] = (),
        vector: Vector | None = None,
    ) -> Ref:
        """What this event says into one part of a shared node. `key` is the event's place in time unless given."""
        row = NodeRow(
            label=ref.label,
            id=ref.id,
            part=part,
            key=self.origin.order if key is None else key,
            first=first,
            labels=labels,
            props=_filled(props),
            vector=vector,
        )
        return self._node(row)

    def named(self, ref: Ref, name: str) -> Ref:
        """A tool, an agent or a tag, known by its name."""
        return self.share(ref, "named", {"name": name}, first=True)

    def entity(self, thing: NamedThing) -> Ref:
        """The entity of this type and name."""
        known = names.known(self.origin.scope, thing.type, thing.name)
        ref = Ref(Label.ENTITY, known.id)
        if (known.id, "named") in self._nodes:
            return ref
        props = {"name": known.shown, "type": thing.type.value, "norm": known.norm}
        # the service node of an event is called Event already
        label = HAPPENING if thing.type is EntityType.EVENT else thing.type.value
        return self.share(ref, "named", props, first=True, labels=(label,))

    def edge(
        self, kind: Edge, start: Ref, end: Ref, props: Mapping[str, Any] | None = None, used: tuple[str, ...] = ()
    ) -> None:
        """An edge of this event."""
        key = (kind.value, start.id, end.id)
        if key in self._edges or not self._has_room():
            return
        self._edges[key] = EdgeRow(
            type=kind,
            from_label=start.label,
            from_id=start.id,
            to_label=end.label,
            to_id=end.id,
            props=_filled(props or {}),
            used=used,
        )

    def by_agent(self, start: Ref, agent_id: str | None) -> None:
        """The agent that did it, if one is named."""
        if agent_id is not None:
            ref = names.agent(self.origin.scope, agent_id)
            self.edge(Edge.BY_AGENT, start, self.named(ref, agent_id))

    def assertion(self, row: AssertionRow) -> None:
        """Something asserted; the same thing said twice by one event counts once."""
        key = (row.slot, row.claim, row.negated, row.valid_from, row.valid_to)
        if key not in self._claims and self._has_room():
            self._claims.add(key)
            self.assertions.append(row)

    def retraction(self, row: RetractionRow) -> None:
        """Something taken back."""
        if self._has_room():
            self.retractions.append(row)

    def link(self, a: Ref, b: Ref, *, same: bool, reason: str, used: tuple[str, ...] = ()) -> None:
        """Two entities are one, or are not; nothing where both names are one entity anyway."""
        low, high = sorted((a.id, b.id))
        if low != high and self._has_room():
            self.links.append(LinkRow(a=low, b=high, same=same, key=self.origin.order, reason=reason, used=used))

    def erasure(self, row: ErasureRow) -> None:
        """Something to forget."""
        self.erasures.append(row)

    def _node(self, row: NodeRow) -> Ref:
        if (row.id, row.part) not in self._nodes and self._has_room():
            self._nodes[row.id, row.part] = row
        return Ref(row.label, row.id)

    def _has_room(self) -> bool:
        if self._room <= 0:
            self.left_out += 1
            return False
        self._room -= 1
        return True


def _filled(props: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in props.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return min(value, _MAX_INT) if type(value) is int else value
