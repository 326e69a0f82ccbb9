"""`memstream predicates`: the relations that Memstream knows, a person's own among them, and what they match."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from memstream.cli.console import err, out, print_json, table_of
from memstream.cli.explain import row_of
from memstream.cli.explain_show import show as show_explanation
from memstream.extractors.pattern_check import Tried, check_examples, check_patterns, read_text, try_examples
from memstream.extractors.rules.pattern_file import Pattern, Surface, read_ways
from memstream.extractors.rules.ways import own_digest, own_version, patterns, surfaces
from memstream.extractors.spacy_extractor import create
from memstream.schemas.catalogue import Catalogue, catalogue, own_path, own_predicates, own_problems, shipped_file
from memstream.schemas.errors import InvalidInput
from memstream.schemas.predicate_file import Predicate, PredicateFile, Problem, did_you_mean, read

app = typer.Typer(add_completion=False, rich_markup_mode="rich", no_args_is_help=True, help=__doc__)

File = Annotated[Path | None, typer.Option("--file", help="A file of your own, in place of MEMSTREAM_PREDICATES.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command("list")
def list_predicates(file: File = None, as_json: AsJson = False) -> None:
    """Show all predicates, your own with a star.

    Example: memstream predicates list
    """
    with _own(file):
        known = catalogue()
        counted = {name: len(_ways_of(name)) for name in known.predicates}
    if as_json:
        print_json([_row(each, known) | {"patterns": counted[each.name]} for each in known.predicates.values()])
        return
    table = table_of("Predicate", "Values", "Of", "To", "Inverse", "Patterns", "Meaning")
    for each in known.predicates.values():
        values = "one at a time" if each.single else "many"
        ends = (" ".join(each.subject), " ".join([*each.object, *(["(text)"] if each.value else [])]))
        name = f"{each.name} *" if each.own else each.name
        table.add_row(name, values, *ends, known.inverse_of(each.name) or "", str(counted[each.name]), each.meaning)
    out.print(table)


@app.command()
def show(name: str, file: File = None, as_json: AsJson = False) -> None:
    """Show one predicate with its examples and the patterns that say it.

    Example: memstream predicates show managed_by
    """
    with _own(file):
        known = catalogue()
        if name not in known:
            raise InvalidInput(f"there is no predicate {name!r}: {did_you_mean(name, known.predicates)}")
        ways = _ways_of(name)
    predicate = known.predicates[name]
    if as_json:
        print_json(_row(predicate, known) | {"patterns": [_way(one) for one in ways]})
        return
    grid = table_of("", "", show_header=False, box=None)
    values = "one at a time: a new one ends the one before" if predicate.single else "many, side by side"
    for label, value in (
        ("meaning", predicate.meaning), ("values", values), ("of", ", ".join(predicate.subject)),
        ("to", ", ".join([*predicate.object, *(["a text"] if predicate.value else [])])),
        ("inverse", known.inverse_of(name) or "none"),
        *(("example", e.text if e.expected else f"{e.text}  (known not to be read)") for e in predicate.examples),
        *(("never", text) for text in predicate.against),
    ):  # fmt: skip
        grid.add_row(Text(label, style="dim"), Text(value))
    for one in ways:
        grid.add_row(Text(one.where, style="dim"), Text(_said(one)))
    if not ways:
        grid.add_row("", Text("read by rules in code", style="dim"))
    out.print(grid)


@app.command()
def check(
    file: Annotated[Path | None, typer.Argument(help="A file of your own; MEMSTREAM_PREDICATES by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a file of your own, or what ships where there is none: its form, and that its examples are read.

    Ends with exit code 1 where something is wrong. Example: memstream predicates check predicates.toml
    """
    with _own(file):
        problems, tried = _checked()
        wrong = [problem for problem in problems if not problem.note]
        told = (own_version(), own_digest())
    if as_json:
        rows = [{"predicate": t.predicate, "text": t.text, "expected": t.expected, "found": t.found} for t in tried]
        print_json({"problems": problems, "examples": rows, "version": told[0], "digest": told[1]})
    else:
        for problem in problems:
            out.print(Text(str(problem), style="yellow" if problem.note else "red"), soft_wrap=True)
        if not wrong:
            read_well = sum(one.found for one in tried)
            own = f", version {told[0]}, digest {told[1]}" if told[1] else ""
            out.print(f"All is well: {read_well} of {len(tried)} examples are read, as they should be{own}.")
    if wrong:
        raise typer.Exit(1)


@app.command("try")
def try_text(text: str, file: File = None, as_json: AsJson = False) -> None:
    """Show what is read out of a text, and by which pattern.

    Example: memstream predicates try "Ines leads the Ingest squad" --file predicates.toml
    """
    with _own(file):
        found = read_text(create(), text)
    if as_json:
        print_json(row_of(found))
        return
    show_explanation(out, found)
    if not found.facts:
        err.print("No fact was read.")


@contextmanager
def _own(file: Path | None) -> Iterator[None]:
    """With the file that was named, else with that of the settings."""
    if file is None:
        yield
        return
    with own_predicates(file):
        yield


def _checked() -> tuple[list[Problem], list[Tried]]:
    """All that is wrong with one's own file, else with what ships; examples only where the form is right."""
    path = own_path()
    own = read(path) if path else None
    form = own_problems(path) if own else []
    if own is not None and not own.problems:
        with own_predicates(None):
            shipped = catalogue()
        known = shipped if form else catalogue()
        names = {*known.predicates, *own.tables.get("predicate", {})}
        form += [p for p in read_ways(own, known).problems if not _of_broken(p, names)]
    if form:
        return form, []
    return _tried(own)


def _of_broken(problem: Problem, names: set[str]) -> bool:
    """Whether a pattern is only refused because its predicate's own table is not right yet."""
    return any(problem.what.startswith(f"{name!r} is not in the catalogue") for name in names)


def _tried(own: PredicateFile | None) -> tuple[list[Problem], list[Tried]]:
    known = catalogue()
    if own is None:
        tried = try_examples(create(), known.predicates.values())
        return check_examples(shipped_file(), known.predicates.values(), tried), tried
    asked = {row["predicate"] for table in ("pattern", "surface") for row in own.rows(table)}
    mine = [each for each in known.predicates.values() if each.own]
    others = [each for each in known.predicates.values() if each.name in asked and not each.own]
    extractor = create()
    tried = try_examples(extractor, [*mine, *others])
    problems = check_examples(own, mine, tried)
    return [*problems, *check_patterns(extractor, own, known, tried)], tried


def _ways_of(name: str) -> list[Pattern | Surface]:
    by_verb = dict.fromkeys(one for found in patterns().values() for one in found if one.predicate == name)
    return [*by_verb, *(one for one in surfaces() if one.predicate == name)]


def _row(predicate: Predicate, known: Catalogue) -> dict[str, Any]:
    return asdict(predicate) | {"inverse": known.inverse_of(predicate.name)}


def _way(one: Pattern | Surface) -> dict[str, Any]:
    if isinstance(one, Pattern):
        return {"kind": "pattern", **asdict(one)}
    return {
        "kind": "surface", "predicate": one.predicate, "between": one.between.pattern, "left": sorted(one.left),
        "right": sorted(one.right), "flip": one.flip, "team": one.team, "language": one.language, "where": one.where,
    }  # fmt: skip


def _said(one: Pattern | Surface) -> str:
    if isinstance(one, Surface):
        left, right = "|".join(sorted(one.left)), "|".join(sorted(one.right))
        turned = " (the right one is the subject)" if one.flip else ""
        return f"{left} «{one.between.pattern}» {right}{turned}"
    with_ = f" with {', '.join(one.conditions)}" if one.conditions else ""
    ends = " (it ends)" if one.negated else ""
    return f"{', '.join(one.verbs)}: {one.subject} → {one.object}{with_}{ends}"
