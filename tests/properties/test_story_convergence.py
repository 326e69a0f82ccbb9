"""The sample story, events of all kinds in several scopes and sessions: one graph, however its patches arrive.

Its events go through the real extraction once. Then any choice of their patches is permuted, doubled, cut into batches
and split over partitions and sinks, so that much comes before what it is about.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from story_logs import Shelf, patches_of, scopes_of, story_events, worker

from memstream.schemas.patch import Patch
from memstream.settings import Settings
from memstream.sinks.migrations import migrate
from memstream.sinks.stores import Stores

ROOT = "story-convergence"
SINKS = 2
HELD_TOGETHER = dict.fromkeys(scopes_of(ROOT), 0)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The patch of each event of the story, in its order."""
    return patches_of(worker(tmp_path_factory.mktemp("offload")), story_events(ROOT))


@pytest.fixture(scope="module")
def shelf(stack: Settings) -> Iterator[Shelf]:
    """The story's scopes in the real graph."""
    with Stores.connect(stack) as stores:
        store = stores.of(ROOT)
        migrate(store.driver, store.database)
        made = Shelf(store, scopes_of(ROOT))
        yield made
        made.wipe()


def fed(
    shelf: Shelf, patches: Sequence[bytes], cuts: Sequence[int], partition_of: dict[str, int], sinks: int
) -> list[bytes]:
    """The canonical form after these patches, in this order and these batches, each by the next of the sinks."""
    shelf.begin(sinks)
    rest = list(patches)
    for number, cut in enumerate([*cuts, len(rest)]):
        if batch := rest[:cut]:
            shelf.apply(number % sinks, batch, partition_of)
        rest = rest[cut:]
    return shelf.canonical()


def test_the_story_has_events_of_all_kinds(told: list[bytes]) -> None:
    """What is permuted here: more than twenty types, three scopes, and many sessions."""
    origins = [Patch.decode(patch).origin for patch in told]
    assert len(Counter(origin.type for origin in origins)) > 20
    assert {origin.scope for origin in origins} == set(scopes_of(ROOT))
    assert len({(origin.scope, origin.session_id) for origin in origins}) > 30


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_choice_in_any_order_over_any_partitions_and_sinks(
    shelf: Shelf, told: list[bytes], data: st.DataObject
) -> None:
    """A stretch of the story and some of the rest of it, with repetitions."""
    start = data.draw(st.integers(0, len(told) - 1), label="stretch")
    chosen = [*told[start : start + 14], *data.draw(st.lists(st.sampled_from(told), max_size=6), label="others")]
    plain = fed(shelf, list(dict.fromkeys(chosen)), [], HELD_TOGETHER, 1)
    shuffled = list(chosen)
    random.Random(data.draw(st.integers(0, 2**32), label="order")).shuffle(shuffled)  # noqa: S311
    cuts = data.draw(st.lists(st.integers(1, 8), max_size=6), label="batches")
    partition_of = {scope: data.draw(st.integers(0, 2), label=scope) for scope in shelf.scopes}
    assert fed(shelf, shuffled, cuts, partition_of, SINKS) == plain


@pytest.mark.parametrize("seed", [1, 2])
def test_the_whole_story_backwards_and_shuffled(shelf: Shelf, told: list[bytes], seed: int) -> None:
    """All of it, once as it was told, once in an order of its own, in batches of many sizes."""
    plain = fed(shelf, told, [], HELD_TOGETHER, 1)
    pick = random.Random(seed)  # noqa: S311
    shuffled = told[::-1] if seed == 1 else pick.sample(told, len(told))
    cuts = [pick.choice((1, 2, 7, 30, 90)) for _ in range(20)]
    partition_of = {scope: number for number, scope in enumerate(shelf.scopes)}
    assert fed(shelf, shuffled, cuts, partition_of, SINKS) == plain
