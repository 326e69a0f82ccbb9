"""The canonical form of nodes and edges, its order, and the comparison of two of them."""

from __future__ import annotations

import random
import struct
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.schemas.errors import InvalidInput
from memstream.sinks.export.compare import Difference, Tolerance, compare
from memstream.sinks.export.form import (
    LABELS,
    Basis,
    Digest,
    End,
    Line,
    digest,
    edge_line,
    node_line,
    primary,
    read_line,
    read_value,
    row_of,
    version_id,
)
from memstream.sinks.export.sorting import Sorter
from memstream.sinks.indexes import NODE_KEYS

SCOPE = "acme/ana"


def message(node: str = "m1", scope: str = SCOPE, **props: Any) -> Line:
    """A message's line."""
    return node_line("Message", scope, node, ["Message", "Source"], {"scope": scope, "id": node, **props})


def mentions(entity: str = "e1", **props: Any) -> Line:
    """An edge from the message to an entity."""
    return edge_line("MENTIONS", End("Message", SCOPE, "m1"), End("Entity", SCOPE, entity), props)


def props_of(line: Line) -> dict[str, Any]:
    """The properties of a line."""
    return dict(row_of(line.text)["props"])


def differences(a: list[Line], b: list[Line]) -> list[str]:
    """In words."""
    return [str(one) for one in compare(sorted(a), sorted(b))]


def test_every_label_with_a_key_is_in_the_form_or_left_out_on_purpose() -> None:
    """A label that is added to the graph has to be added to the form too, or here with its reason."""
    of_the_service = {"Outbox", "ErasureWork", "Payload"}  # what is still to be done; handles, whose events are there
    assert {*LABELS, *of_the_service} == set(NODE_KEYS)


def test_what_follows_from_arrival_is_left_out() -> None:
    """Positions, locks and tokens are no part of what was said; a version's own id has a position in it."""
    arrival: dict[str, Any] = {"at": 7, "changed": 9, "stok": "z1", "lock": "w"}
    assert props_of(message(text="hi", **arrival)) == {"text": "hi"}
    version = {"content": "h", "current": True, "text": "t", **arrival}
    fact = node_line("Fact", SCOPE, version_id("c", "a"), ["Fact"], version)
    assert fact.key == ("1", "Fact", SCOPE, "c.a")
    assert props_of(fact) == {"text": "t"}
    assert props_of(mentions(at=7, fact="version", text="Ana")) == {"text": "Ana"}


def test_a_session_that_has_ended_is_no_closed_version() -> None:
    """A conversation's `ended_at` was said, a fact's follows from arrival."""
    ended = node_line("Conversation", SCOPE, "s", ["Conversation"], {"ended_at": "2026-01-01"})
    assert props_of(ended) == {"ended_at": "2026-01-01"}


def test_a_node_is_named_by_its_own_label() -> None:
    """Further labels stand beside it, sorted; a node of somebody else has none of ours."""
    assert primary(["Person", "Entity"]) == "Entity"
    assert primary(["Source", "Message"]) == "Message"
    assert primary(["Invoice"]) is None
    person = node_line("Entity", SCOPE, "e", ["Person", "Entity", "Admin"], {})
    assert row_of(person.text)["labels"] == ["Admin", "Person"]


@pytest.mark.parametrize(
    "value",
    ["text", 1, 1.5, True, ["a", "b"], [1, 2], [0.5, 1.0], -(2**63), 2**63 - 1, float("inf"), float("-inf"), []],
)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    """Also numbers that JSON has no form for; whole numbers stay whole, and others stay others."""
    found = read_value(props_of(message(x=value))["x"])
    assert found == value
    assert type(found) is type(value)


def test_vectors_are_packed_where_nothing_is_lost() -> None:
    """As the graph has them from its patches: 16 bits a number. Others are written as they are."""
    exact, inexact = [0.5, -0.25, 1.0], [0.1, 0.2]
    assert props_of(message(embedding=exact))["embedding"] == {"f16": b64encode(struct.pack("<3e", *exact)).decode()}
    assert read_value(props_of(message(embedding=exact))["embedding"]) == exact
    assert props_of(message(embedding=inexact))["embedding"] == inexact
    said = mentions(vector="AAA=", model="m")
    assert props_of(said)["vector"] == {"packed": "AAA="}
    assert read_value(props_of(said)["vector"]) == "AAA="


def test_a_value_of_an_unknown_kind_is_not_loaded() -> None:
    """Somebody set it by hand; it is compared as text."""
    other = message(due=struct)
    assert differences([other], [message()])[0].startswith("node Message m1 of acme/ana: due is \"<module 'struct'")
    with pytest.raises(InvalidInput, match="never writes"):
        read_value(props_of(other)["due"])


def test_nodes_come_first_and_each_kind_is_in_the_order_of_its_key() -> None:
    """By label, scope and id; edges by their start, their type, and their end."""
    lines = [mentions("e2"), message("m2"), mentions("e1"), message("m1"), message("m1", "acme")]
    assert [line.key[1:4] for line in sorted(lines)] == [
        ("Message", "acme", "m1"),
        ("Message", "acme/ana", "m1"),
        ("Message", "acme/ana", "m2"),
        ("Message", "acme/ana", "m1"),
        ("Message", "acme/ana", "m1"),
    ]
    assert all(read_line(line.text) == line for line in lines)


def test_versions_sort_by_claim_then_by_first_source() -> None:
    """Their name sorts as the graph's index of claims does."""
    names = [("a", "z"), ("a1", "b"), ("b", "a")]
    assert sorted(version_id(*name) for name in names) == [version_id(*name) for name in names]


def test_the_digest_is_of_the_lines_and_of_what_they_rest_on() -> None:
    """Another line, another order of meaning or another catalogue gives another digest."""
    one, other = digest([message(text="a")]), digest([message(text="b")])
    assert (one.nodes, one.edges) == (1, 0)
    assert one.hex == digest([message(text="a", at=3)]).hex != other.hex
    newer = Digest(Basis(catalogue=99))
    newer.add(message(text="a"))
    assert newer.hex != one.hex


def test_floats_behind_the_ninth_digit_do_not_move_the_digest() -> None:
    """Sums in another order differ there."""
    assert digest([message(x=0.1 + 0.2)]).hex == digest([message(x=0.3)]).hex
    assert digest([message(x=0.3000001)]).hex != digest([message(x=0.3)]).hex


def test_equal_forms_have_no_differences() -> None:
    """Nothing and the same are both equal."""
    lines = [message(), mentions()]
    assert differences([], []) == differences(lines, lines) == []


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ([message()], [], "node Message m1 of acme/ana is only in A"),
        ([], [mentions()], "edge Message m1 -MENTIONS-> Entity e1 of acme/ana is only in B"),
        ([message(text="a")], [message(text="b")], "node Message m1 of acme/ana: text is 'a' in A, 'b' in B"),
        ([message()], [message(text="b")], "node Message m1 of acme/ana: text is not there in A, 'b' in B"),
        ([message(x=1)], [message(x=1.0)], "node Message m1 of acme/ana: x is 1 in A, 1.0 in B"),
        ([message(x=True)], [message(x=1)], "node Message m1 of acme/ana: x is True in A, 1 in B"),
        (
            [mentions(text="Ana", event="x")],
            [mentions(text="Ann", event="x")],
            "edge Message m1 -MENTIONS-> Entity e1 of acme/ana: text is 'Ana' in A, 'Ann' in B",
        ),
    ],
)
def test_a_difference_is_named_with_both_values(a: list[Line], b: list[Line], says: str) -> None:
    """Which node or edge, which property."""
    assert differences(a, b) == [says]


def test_labels_are_compared() -> None:
    """An entity of another type is another entity."""
    a, b = (node_line("Entity", SCOPE, "e", ["Entity", kind], {}) for kind in ("Person", "Object"))
    assert differences([a], [b]) == ["node Entity e of acme/ana: labels is ['Person'] in A, ['Object'] in B"]


def test_a_long_value_is_cut_in_words_and_whole_in_data() -> None:
    """Nobody reads a megabyte on a line."""
    (one,) = compare([message(text="a" * 5_000)], [message(text="b")])
    assert len(str(one)) < 400
    assert one.a == "a" * 5_000


def test_edges_that_two_events_said_are_told_apart() -> None:
    """One of them more or less is a difference, in any order."""
    twice = [mentions(event="x"), mentions(event="y")]
    assert differences(twice, twice[::-1]) == []
    assert differences(twice, twice[:1]) == ["edge Message m1 -MENTIONS-> Entity e1 of acme/ana is only in A"]


def test_equal_keys_are_compared_as_sets() -> None:
    """Edges that nothing tells apart are paired where they are equal, and what is left is named."""
    a, b = [mentions(n=1), mentions(n=2), mentions(n=3)], [mentions(n=2), mentions(n=4)]
    assert differences(a, b) == [
        "edge Message m1 -MENTIONS-> Entity e1 of acme/ana: n is 1 in A, 4 in B",
        "edge Message m1 -MENTIONS-> Entity e1 of acme/ana is only in A",
    ]


def test_vectors_are_the_same_within_a_tolerance() -> None:
    """Other processors round otherwise; a vector that means something else is a difference. Packed ones too."""
    a, near, far = [1.0, 0.0, 0.25], [1.0, 0.001, 0.25], [0.0, 1.0, 0.25]
    packed = [b64encode(struct.pack("<3e", *values)).decode() for values in (a, near, far)]
    for one, close, other in (
        [message(embedding=values) for values in (a, near, far)],
        [mentions(vector=text) for text in packed],
    ):
        assert differences([one], [close]) == []
        assert len(differences([one], [other])) == 1
        assert len(list(compare([one], [close], Tolerance(vectors=0)))) == 1
    shorter = message(embedding=[1.0, 0.0])
    assert len(differences([message(embedding=a)], [shorter])) == 1


def test_what_is_not_in_order_is_refused() -> None:
    """A merge of what is not sorted would find differences that are none."""
    with pytest.raises(InvalidInput, match="A is not in order: Message m1 of acme/ana comes behind Message m2"):
        list(compare([message("m2"), message("m1")], []))


@given(st.randoms(use_true_random=False))
def test_the_merge_finds_what_sets_find(pick: random.Random) -> None:
    """On random graphs the differences are those of dictionaries."""
    graphs: list[dict[str, int]] = [{f"m{pick.randrange(12):02d}": pick.randrange(2) for _ in range(8)} for _ in "ab"]
    a, b = ([message(node, x=value) for node, value in sorted(graph.items())] for graph in graphs)
    found = {(one.where.split()[1], one.property, None if one.a is None else True) for one in compare(a, b)}
    one, other = graphs
    expected: set[tuple[str, str | None, bool | None]] = {(node, None, True) for node in one.keys() - other.keys()}
    expected |= {(node, None, None) for node in other.keys() - one.keys()}
    expected |= {(node, "x", True) for node in one.keys() & other.keys() if one[node] != other[node]}
    assert found == expected


def test_a_difference_is_data() -> None:
    """For programs: all of a node that is in one graph only."""
    (one,) = compare([message(text="a")], [])
    assert one == Difference("node", "Message m1 of acme/ana", None, {"text": "a"}, None)


@pytest.mark.parametrize("limit", [1, 2_000, 10**9])
def test_lines_are_sorted_on_disk_where_memory_ends(limit: int) -> None:
    """The same order, with a run for each line, with some runs, and in memory."""
    lines = [message(f"m{number:03d}", text="ü\n" * number) for number in range(60)]
    with Sorter(limit) as sorter:
        for line in random.Random(1).sample(lines, 60):  # noqa: S311
            sorter.add(line)
        assert list(sorter.sorted()) == lines
        sorter.clear()
        assert list(sorter.sorted()) == []
