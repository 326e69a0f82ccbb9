"""Exports as files: what is written is read again, and what is cut off, altered or newer is refused with what to do."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from memstream.schemas.errors import InvalidInput
from memstream.sinks.export.compare import Difference
from memstream.sinks.export.file import ExportFile, Header, replacing, write
from memstream.sinks.export.form import FORMAT, Line, digest, edge_line, node_line
from memstream.sinks.export.form import End as To
from memstream.sinks.export.graph import Position
from memstream.sinks.export.verify import FileSource, common_scope, totals, verify

POSITIONS = (Position("memory.patches", 3, 41, 41),)


def node(number: int, scope: str = "acme", label: str = "Message") -> Line:
    """One of many nodes."""
    return node_line(label, scope, f"n{number:03d}", [label], {"text": f"{number}"})


def edge(number: int) -> Line:
    """An edge from a node to the next."""
    start, end = (To("Message", "acme", f"n{one:03d}") for one in (number, number + 1))
    return edge_line("NEXT_MESSAGE", start, end, {})


LINES = [*map(node, range(5)), *map(edge, range(4))]


def written(path: Path, lines: list[Line] = LINES, scope: str | None = None) -> Path:
    """An export in a file."""
    with replacing(path) as file:
        write(file, Header.of(scope, POSITIONS), lines)
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """The header, the lines in their order, the counts, and the digest that any graph of them has."""
    file = ExportFile(written(tmp_path / "x.jsonl", scope="acme"))
    assert (file.header.scope, file.header.positions, file.header.basis.format) == ("acme", POSITIONS, FORMAT)
    assert list(file.lines()) == LINES
    found = file.check()
    assert (found.nodes, found.edges, found.lines, found.digest) == (5, 4, 9, digest(LINES).hex)


def test_the_same_graph_gives_the_same_bytes(tmp_path: Path) -> None:
    """A line for the header, one for each node and edge, and one for the end."""
    one, other = written(tmp_path / "a"), written(tmp_path / "b")
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes().count(b"\n") == len(LINES) + 2


def test_an_empty_graph_is_an_export_too(tmp_path: Path) -> None:
    """It has its header and its end."""
    assert ExportFile(written(tmp_path / "x", [])).check().lines == 0


def cut(count: int) -> Callable[[list[bytes]], list[bytes]]:
    """Without the last lines."""
    return lambda lines: lines[:-count]


def swapped(lines: list[bytes]) -> list[bytes]:
    """Two lines in another order."""
    return [lines[0], lines[2], lines[1], *lines[3:]]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (cut(1), "is cut off: its last line"),
        (cut(4), "is cut off: its last line"),
        (lambda lines: [*lines[:-2], lines[-2][:20]], "is cut off or was altered: line 10 is no JSON"),
        (lambda lines: [*lines[:-1], lines[-1][:40]], "is cut off: its last line is not whole"),
        (lambda lines: [*lines[:3], *lines[4:]], "was altered: nodes is 4, and not 5"),
        (lambda lines: [line.replace(b'"text":"3"', b'"text":"4"') for line in lines], "was altered: digest is"),
        (swapped, "was altered: digest is"),
        (lambda lines: [*lines, lines[1]], "was altered: there are lines behind its last one"),
        (lambda lines: [lines[0].replace(b'"offset":41', b'"offset":42'), *lines[1:]], "was altered: head is"),
        (lambda lines: [*lines[:2], b"[1]", *lines[2:]], "line 3 is no node and no edge"),
        (lambda lines: [*lines[:2], b'{"node":"Message"}', *lines[2:]], "line 3 is no node and no edge"),
        (lambda lines: [*lines[:-1], b'{"end":[]}'], "was altered: nodes is 5, and not None"),
    ],
)
def test_a_broken_file_is_never_read_to_its_end(
    tmp_path: Path, broken: Callable[[list[bytes]], list[bytes]], says: str
) -> None:
    """Cut off at any place, or altered in any line."""
    path = written(tmp_path / "x.jsonl")
    path.write_bytes(b"\n".join(broken(path.read_bytes().splitlines())) + b"\n")
    with pytest.raises(InvalidInput, match=says):
        ExportFile(path).check()


def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path) -> None:
    """Whatever is left of it; only the end of its last line may go."""
    whole = written(tmp_path / "x.jsonl", LINES[:3]).read_bytes()
    for size in range(len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(InvalidInput):
            ExportFile(tmp_path / "cut").check()


def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """Before any of it is read."""
    path = written(tmp_path / "x.jsonl")
    head, rest = path.read_bytes().split(b"\n", 1)
    newer = orjson.loads(head) | {"format": FORMAT + 1, "project": "9.9"}
    path.write_bytes(orjson.dumps(newer) + b"\n" + rest)
    with pytest.raises(InvalidInput, match=rf"has format {FORMAT + 1}, of Memstream 9.9.*use a newer Memstream"):
        ExportFile(path)


@pytest.mark.parametrize("text", [b"", b"\n", b"hello\n", b"[]\n", b'{"format":1}\n', b'{"memstream":"export"}\n'])
def test_what_is_no_export_is_refused(tmp_path: Path, text: bytes) -> None:
    """And what writes one is named."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(text)
    with pytest.raises(InvalidInput, match="is no export: `memstream export` writes one"):
        ExportFile(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """By its name."""
    with pytest.raises(InvalidInput, match=r"x\.jsonl can't be read: No such file"):
        ExportFile(tmp_path / "x.jsonl")
    with pytest.raises(InvalidInput, match="can't be written: No such file"), replacing(tmp_path / "no" / "x.jsonl"):
        pass


def test_an_export_that_fails_leaves_the_earlier_one(tmp_path: Path) -> None:
    """A file of that name is replaced when the new one is whole, and never by half of it."""

    def failing() -> Iterator[Line]:
        yield LINES[0]
        raise InvalidInput("no more")

    path = written(tmp_path / "x.jsonl")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="no more"), replacing(path) as file:
        write(file, Header.of(None, ()), failing())
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.jsonl"]


def test_an_export_to_a_pipe_that_fails_has_no_end() -> None:
    """Who reads it sees that it is cut off."""

    def failing() -> Iterator[Line]:
        yield LINES[0]
        raise InvalidInput("no more")

    out = io.BytesIO()
    with pytest.raises(InvalidInput, match="no more"):
        write(out, Header.of(None, ()), failing())
    assert b'{"end"' not in out.getvalue()


def test_progress_is_told_and_adds_up(tmp_path: Path) -> None:
    """In steps, and at the end."""
    told: list[int] = []
    lines = [node(number) for number in range(999)]
    with (tmp_path / "x").open("wb") as file:
        write(file, Header.of(None, ()), lines, told.append)
    assert sum(told) == 999
    assert len(told) == 2


def test_two_files_are_compared(tmp_path: Path) -> None:
    """The verdict has the counts and digests of both where all was read, and stops at the limit where it was not."""
    a, b = FileSource(written(tmp_path / "a")), FileSource(written(tmp_path / "b", LINES[:-2]))
    same = verify(a, a)
    assert same.equal
    assert same.a == same.b == totals(a)
    assert verify(a, b).differences[0].where == "Message n002 -NEXT_MESSAGE-> Message n003 of acme"
    assert len(verify(a, b).differences) == 1
    all_of_it = verify(a, b, limit=10)
    assert len(all_of_it.differences) == 2
    assert (all_of_it.a, all_of_it.b) == (totals(a), totals(b))


def test_another_catalogue_is_a_difference(tmp_path: Path) -> None:
    """Facts folded by other rules are other facts, even where they look the same."""
    path = written(tmp_path / "a")
    head, rest = path.read_bytes().split(b"\n", 1)
    older = tmp_path / "b"
    older.write_bytes(orjson.dumps(orjson.loads(head) | {"catalogue": 0}) + b"\n" + rest)
    found = verify(FileSource(path), FileSource(older)).differences
    assert found == (Difference("header", "of the export", "catalogue", 1, 0),)


def test_a_scope_of_a_file_is_it_and_all_below(tmp_path: Path) -> None:
    """By whole segments, and of the nodes that are asked for."""
    lines = sorted([node(1), node(1, "acme/a"), node(1, "acme-b"), node(2, "acme/a", "Entity"), edge(1)])
    source = FileSource(written(tmp_path / "x", lines))
    assert [line.key[2] for line in source.lines("acme")] == ["acme/a", "acme", "acme/a", "acme"]
    assert [line.key[2] for line in source.lines("acme/a", ["Entity"])] == ["acme/a"]


@pytest.mark.parametrize(
    ("a", "b", "asked", "scope"),
    [
        (None, None, None, None),
        (None, None, "acme", "acme"),
        ("acme", None, None, "acme"),
        ("acme", "acme/a", None, "acme/a"),
        ("acme/a", "acme", None, "acme/a"),
        ("acme", None, "acme/a", "acme/a"),
        ("acme", "acme-b", None, "they have nothing in common"),
        ("acme/a", None, "acme", "has scope acme/a alone, and nothing of acme"),
        (None, None, "/", "is empty"),
    ],
)
def test_what_both_have_is_compared(
    tmp_path: Path, a: str | None, b: str | None, asked: str | None, scope: str | None
) -> None:
    """An export of a scope is compared with that scope of a graph, without being told so."""
    one, other = FileSource(written(tmp_path / "a", [], a)), FileSource(written(tmp_path / "b", [], b))
    if scope is not None and " " in scope:
        with pytest.raises(Exception, match=scope):
            common_scope(one, other, asked)
    else:
        assert common_scope(one, other, asked) == scope
