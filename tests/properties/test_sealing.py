"""Seals: what was sealed comes back for who has all keys, at its place, unaltered; and for nobody else."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.folds.erasure import without
from memstream.schemas.extraction import EntityType
from memstream.schemas.patch import AssertionRow, Edge, EdgeRow, Label, LinkRow, NodeRow, Origin, Patch, Verdict
from memstream.sealing import Key, KeyStore, SealBroken, key_ids, open_sealed, place, seal
from memstream.sealing.box import derived
from memstream.sealing.file_keys import FileKeys
from memstream.sinks.records import PatchRecord, decode
from memstream.streams.projection.sections import sealed

KEYS = tuple(Key(bytes([n] * 12).hex(), bytes([n + 1]) * 32) for n in range(4))
WHERE = place("event", "acme", "agent://scout", "e1")
CONTENT = st.binary(max_size=600) | st.text(max_size=400).map(str.encode)
SOME = st.lists(st.sampled_from(KEYS), min_size=1, max_size=4)
PEOPLE = ("ana", "ben", "cem")
EVENTS = {f"k{n}": PEOPLE[n % 3] for n in range(9)}
ENTITIES = tuple(f"n{n}" for n in range(5))


@given(SOME, CONTENT)
def test_it_comes_back_with_all_of_its_keys_and_not_without_one(keys: list[Key], content: bytes) -> None:
    """Round trip; another key under the same id opens nothing; equal input gives equal bytes, in any order of keys."""
    made = seal(keys, WHERE, content)
    assert made == seal(keys[::-1] + keys, WHERE, content)
    assert open_sealed(keys, WHERE, made) == content
    assert set(key_ids(made)) == {key.id for key in keys}
    for lacking in keys:
        others = [Key(key.id, bytes(32)) if key == lacking else key for key in keys]
        with pytest.raises(SealBroken):
            open_sealed(others, WHERE, made)


@given(SOME, CONTENT, st.data())
def test_altered_or_moved_it_does_not_open(keys: list[Key], content: bytes, data: st.DataObject) -> None:
    """A flipped bit anywhere behind the ids, a cut, another place: broken, and never other bytes."""
    made = seal(keys, WHERE, content)
    head = 5 + 12 * len({key.id for key in keys})
    at = data.draw(st.integers(head, len(made) - 1))
    altered = made[:at] + bytes([made[at] ^ 1 << data.draw(st.integers(0, 7))]) + made[at + 1 :]
    cut = made[: data.draw(st.integers(0, len(made) - 1))]
    elsewhere = place("event", "acme", "agent://scout", "e2")
    for where, value in ((WHERE, altered), (elsewhere, made), (place("patch", "acme", "e1"), made)):
        with pytest.raises(SealBroken):
            open_sealed(keys, where, value)
    with pytest.raises(SealBroken):
        open_sealed(keys, WHERE, cut)


@given(st.lists(CONTENT, min_size=2, max_size=20, unique=True))
def test_no_nonce_serves_two_contents(contents: list[bytes]) -> None:
    """Nor two places: the nonce follows from both."""
    nonces = [seal(KEYS[:1], place("event", str(at)), one)[18:30] for one in contents for at in range(3)]
    assert len(set(nonces)) == len(nonces)


def test_many_keys_are_refused_and_none() -> None:
    """What a session's state takes to open is bounded."""
    for count in (0, 201):
        with pytest.raises(ValueError, match="keys"):
            seal([Key(secrets.token_hex(12), bytes(32)) for _ in range(count)], WHERE, b"")


def assertion(number: int, ends: Sequence[str], used: Sequence[str]) -> AssertionRow:
    """An assertion about two entities."""
    return AssertionRow(
        id=f"a{number}", ordinal=number, slot=f"s{number}", claim=f"c{number}", subject=ends[0],
        subject_name=f"name of {ends[0]}", subject_type=EntityType.PERSON, predicate="knows", single=False,
        object=ends[1], object_name=f"name of {ends[1]}", object_type=EntityType.PERSON, value_key=ends[1],
        said_at="2026-03-01T09:00:00Z", key=f"o{number}", text=f"{ends[0]} knows {ends[1]}", used=tuple(used),
    )  # fmt: skip


@st.composite
def patches(draw: st.DrawFn) -> Patch:
    """A patch of one of the people, with rows that were read with the help of others, and nodes nobody refers to."""
    ends = st.lists(st.sampled_from(ENTITIES), min_size=2, max_size=2, unique=True)
    used = st.lists(st.sampled_from(sorted(EVENTS)), max_size=3, unique=True)
    said = draw(st.lists(st.tuples(ends, used), max_size=4))
    named = draw(st.lists(st.tuples(st.sampled_from(ENTITIES), used), max_size=4))
    same = draw(st.lists(st.tuples(ends, used), max_size=2))
    entities = draw(st.lists(st.tuples(st.sampled_from(ENTITIES), st.sampled_from(["named", "told"])), unique=True))
    when, who = "2026-03-01T09:00:00Z", draw(st.sampled_from(PEOPLE))
    origin = Origin(
        scope="acme", source="s", id="e", key="k", type="t", topic="conversation", partition=0, offset=1,
        time=when, recorded_at=when, order="o", subject=who,
    )  # fmt: skip
    nodes = [NodeRow(label=Label.ENTITY, id=one, part=part, props={"name": f"{one} {part}"}) for one, part in entities]
    own = NodeRow(label=Label.MESSAGE, id="k", owned=True, props={"text": "what was said"})
    edges = [
        EdgeRow(
            type=Edge.MENTIONS, from_label=Label.MESSAGE, from_id="k", to_label=Label.ENTITY, to_id=one, used=tuple(by)
        )
        for one, by in named
    ]
    return Patch(
        generation=1,
        extractor="spacy",
        origin=origin,
        nodes=tuple(draw(st.permutations([own, *nodes]))),
        edges=tuple(edges),
        assertions=tuple(assertion(n, pair, by) for n, (pair, by) in enumerate(said)),
        links=tuple(LinkRow(a=pair[0], b=pair[1], same=True, key="o", used=tuple(by)) for pair, by in same),
        cut=tuple(draw(st.lists(st.just("something was cut"), max_size=1))),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files of keys."""
    return tmp_path_factory.mktemp("keys")


@given(patches(), st.sets(st.sampled_from(PEOPLE)))
def test_what_is_left_of_a_sealed_patch_is_what_the_erasure_leaves(folder: Path, patch: Patch, gone: set[str]) -> None:
    """Whoever is destroyed: the patch cannot be read, or is without what used their events, row by row the same."""
    store: KeyStore = FileKeys(str(folder / f"{secrets.token_hex(8)}.db"))
    own = patch.origin.subject or ""
    value = sealed(patch, store.current("acme", own), lambda used: [store.current("acme", EVENTS[used])])
    assert decode(PatchRecord(0, None, value), store).patch == patch
    for one in gone:
        store.destroy("acme", one)
    found = decode(PatchRecord(0, None, value), store)
    left = without(patch, {event for event, whose in EVENTS.items() if whose in gone})
    if own in gone:
        assert (found.patch.verdict, found.patch.origin, found.patch.nodes) == (Verdict.UNREADABLE, patch.origin, ())
    else:
        assert found.patch == left
        assert found.cut is any(EVENTS[used] in gone for row in rows(patch) for used in row.used)
    store.close()
    derived.cache_clear()


def rows(patch: Patch) -> list[AssertionRow | EdgeRow | LinkRow]:
    """The rows that may have used other events."""
    return [*patch.assertions, *patch.edges, *patch.links]
