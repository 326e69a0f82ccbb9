"""The chain of a session, and who wins a part of a shared node."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memstream.folds.parts import beats, event_of, say_key, winner
from memstream.folds.sessions import Links, Neighbours, changes, wanted


def neighbours(session: list[int], touched: set[int]) -> list[Neighbours]:
    """What a look-up in the graph tells of the touched places; messages are numbers and sort like their names."""
    rows = sorted(session)
    found = []
    for place in sorted(touched):
        before = [m for m in rows if m < place]
        after = [m for m in rows if m > place]
        found.append(
            Neighbours(
                "s",
                str(before[-1]) if before else None,
                str(place) if place in session else None,
                str(after[0]) if after else None,
            )
        )
    return found


def whole(session: set[int]) -> Links:
    """The chain of all messages, made anew."""
    rows = [str(m) for m in sorted(session)]
    return Links(frozenset(pairwise(rows)), frozenset({("s", rows[0])} if rows else ()))


@given(st.lists(st.tuples(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20))), max_size=5))
def test_touching_only_neighbours_gives_the_chain_of_all_messages(steps: list[tuple[set[int], set[int]]]) -> None:
    """Batches of insertions and removals, in any order, leave the same chain as making it anew."""
    session: set[int] = set()
    have = Links()
    for added, removed in steps:
        gone = {str(m) for m in removed & session}
        touched = (added | removed) - (session - removed)
        session = (session - removed) | (added - removed)
        # links of a message go with it
        have = Links(
            frozenset(pair for pair in have.next if not gone & set(pair)),
            frozenset(pair for pair in have.first if pair[1] not in gone),
        )
        change = changes(wanted(neighbours(sorted(session), touched)), have)
        have = Links(
            (have.next - change.drop.next) | change.make.next, (have.first - change.drop.first) | change.make.first
        )
        assert have == whole(session)


def test_the_greatest_key_wins_and_the_least_where_the_first_counts() -> None:
    """What was said last shows, or what was said first."""
    says = [(say_key("2", "b"), "later"), (say_key("1", "a"), "earlier")]
    assert winner(says, first=False) == (say_key("2", "b"), "later")
    assert winner(says, first=True) == (say_key("1", "a"), "earlier")
    assert winner([], first=True) is None


def test_equal_keys_are_decided_by_the_event() -> None:
    """Two events never tie, and each say names its event."""
    assert beats(say_key("1", "b"), say_key("1", "a"), first=False)
    assert beats(say_key("1", "a"), say_key("1", "b"), first=True)
    assert not beats(say_key("1", "a"), say_key("1", "a"), first=False)
    assert beats(say_key("1", "a"), None, first=True)
    assert event_of(say_key("1\x1f2", "a")) == "a"
