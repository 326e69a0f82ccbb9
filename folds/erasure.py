"""What is left of an event's patch where some of what it was read with is erased.

An assertion, a mention or a link goes where it `used` an erased event: without it nobody would have known what it is
about. The name of an entity goes with it, unless something that is left of the event still refers to the entity.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memstream.schemas.patch import AssertionRow, EdgeRow, Label, LinkRow, Patch


def uses(patch: Patch) -> set[str]:
    """The keys of all events that rows of a patch were read with."""
    rows: Iterable[AssertionRow | EdgeRow | LinkRow] = (*patch.assertions, *patch.edges, *patch.links)
    return {key for row in rows for key in row.used}


def without(patch: Patch, erased: Collection[str]) -> Patch:
    """The patch without what used one of these events; the very same where nothing did."""
    gone = set(erased)
    assertions = tuple(row for row in patch.assertions if gone.isdisjoint(row.used))
    edges = tuple(row for row in patch.edges if gone.isdisjoint(row.used))
    links = tuple(row for row in patch.links if gone.isdisjoint(row.used))
    left = (len(assertions), len(edges), len(links))
    if left == (len(patch.assertions), len(patch.edges), len(patch.links)):
        return patch
    orphans = entities_of((*patch.assertions, *patch.edges, *patch.links)) - entities_of((*assertions, *edges, *links))
    nodes = tuple(row for row in patch.nodes if row.owned or row.label is not Label.ENTITY or row.id not in orphans)
    changed = {"assertions": assertions, "edges": edges, "links": links, "nodes": nodes}
    return patch.model_copy(update=changed)


def entities_of(rows: Iterable[AssertionRow | EdgeRow | LinkRow]) -> set[str]:
    """The entities that these rows are about."""
    found: set[str] = set()
    for row in rows:
        match row:
            case AssertionRow():
                found |= {row.subject, row.object or row.subject}
            case EdgeRow():
                ends = ((row.from_label, row.from_id), (row.to_label, row.to_id))
                found |= {one for label, one in ends if label is Label.ENTITY}
            case LinkRow():
                found |= {row.a, row.b}
    return found
