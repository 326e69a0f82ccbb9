"""Resolution: from the entities of a scope to the pairs that are one, sent through the log as patches of no event.

A derived layer: it reads the graph, writes nothing there, and says only what differs from what it said before. So it
may run anywhere, any number of times and at once: what it read too early the next run puts right, and what it comes to
is a function of what events have said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memstream.extractors.vectors.embedders import Embedder
from memstream.folds.sames import Profile, Same, Status, resolve
from memstream.folds.sames.blocking import candidates
from memstream.schemas.ids import event_key
from memstream.schemas.patch import Origin, Patch, ResolvedRow
from memstream.schemas.topics import Topic, record_key
from memstream.sinks.resolving import Described, Pair, Place, ScopeReader
from memstream.streams.outlet import Message

SOURCE = "memstream://resolution"
TYPE = "io.memstream.derived.same-as.v1"
EXTRACTOR = "resolution"
RULES = 1
"""The generation of its patches: it rises with its rules. What counts of two patches is which is later in the log."""

ROWS = 500  # in one patch


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a run found in a scope, and the patches that say what is new in it."""

    scope: str
    position: int
    entities: int
    sames: tuple[Same, ...]
    patches: tuple[Patch, ...]

    @property
    def accepted(self) -> int:
        """Pairs that are one."""
        return sum(one.status is Status.ACCEPTED for one in self.sames)

    @property
    def proposed(self) -> int:
        """Pairs for a person to look at."""
        return len(self.sames) - self.accepted

    @property
    def changed(self) -> int:
        """Pairs of which something else holds than was said before."""
        return sum(len(patch.resolved) for patch in self.patches)

    def messages(self) -> Iterator[Message]:
        """The patches, for the partition of their scope."""
        for patch in self.patches:
            yield Message(Topic.PATCHES, record_key(self.scope), patch.encode())


def resolve_scope(reader: ScopeReader, place: Place, embedder: Embedder) -> Resolved:
    """Look at the entities of a scope as they are. Raises GraphUnavailable, TransientError, EmbedderUnavailable."""
    described = list(reader.entities(place.scope))
    judged = reader.judged(place.scope, [one.profile.id for one in described])
    profiles = _filled(reader, place.scope, described, embedder)
    sames = resolve(profiles, judged.said)
    rows = changes(sames, judged.found)
    recorded_at = max((one.recorded_at for one in described), default="")
    patches = tuple(_patches(place, recorded_at, rows))
    return Resolved(place.scope, place.position, len(described), sames, patches)


def changes(now: Iterable[Same], before: Mapping[Pair, Same]) -> list[ResolvedRow]:
    """The rows that lead from what was found before to what is found now, in order."""
    wanted = {(one.a, one.b): one for one in now}
    rows = [
        ResolvedRow(a=one.a, b=one.b, status=one.status, score=one.score, reason=one.reason)
        for pair, one in sorted(wanted.items())
        if before.get(pair) != one
    ]
    return rows + [ResolvedRow(a=a, b=b) for a, b in sorted(before.keys() - wanted.keys())]


def _filled(reader: ScopeReader, scope: str, described: Sequence[Described], embedder: Embedder) -> list[Profile]:
    """The entities, with facts and vectors of those that are to be compared."""
    bare = [one.profile for one in described]
    met = {id_ for pair in candidates(bare) for id_ in pair}
    facts = reader.facts(scope, [one for one in bare if one.id in met])
    texts = {one.profile.id: one.description for one in described if one.description and one.profile.id in met}
    rows = embedder.embed(list(texts.values())) if texts and embedder.dims else ()
    vectors = {id_: tuple(float(x) for x in row) for id_, row in zip(texts, rows, strict=False)}
    return [replace(one, facts=facts.get(one.id, frozenset()), vector=vectors.get(one.id, ())) for one in bare]


def _patches(place: Place, recorded_at: str, rows: Sequence[ResolvedRow]) -> Iterator[Patch]:
    for number, start in enumerate(range(0, len(rows), ROWS)):
        name = f"{place.position}-{number}"
        origin = Origin(
            scope=place.scope,
            source=SOURCE,
            id=name,
            key=event_key(place.scope, SOURCE, name),
            type=TYPE,
            topic=place.topic,
            partition=place.partition,
            offset=place.position,
            time=recorded_at,
            recorded_at=recorded_at,
            order=recorded_at,
        )
        part = tuple(rows[start : start + ROWS])
        yield Patch(generation=RULES, extractor=EXTRACTOR, origin=origin, resolved=part)
