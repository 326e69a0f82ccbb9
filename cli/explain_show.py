"""An explanation of what was read out of a message, in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from memstream.cli.console import table_of
from memstream.extractors.explain import Clause, Explanation, Part, Said
from memstream.schemas.extraction import ExtractedPreference


def show(console: Console, found: Explanation) -> None:
    """Print it: trees, names, clauses, what was said, what was not, and why."""
    for note in found.notes:
        console.print(Text(f"Note: {note}", style="yellow"))
    for part in found.parts:
        _section(console, "Tree", *_trees(part))
    _section(console, "Names", _names(found))
    _section(console, "Clauses", _clauses([clause for part in found.parts for clause in part.clauses]))
    _section(console, "Said", _said(found))
    _section(console, "Not said", _not_said(found))


def _section(console: Console, title: str, *what: Table | Tree | None) -> None:
    shown = [each for each in what if each is not None]
    if shown:
        console.print(Text(title, style="bold"))
        for each in shown:
            console.print(Padding(each, (0, 0, 0, 2)))
        console.print()


def _trees(part: Part) -> Iterable[Tree]:
    below: dict[int, list[int]] = {}
    roots = []
    for i, token in enumerate(part.tokens):
        if token.head == i:
            roots.append(i)
        else:
            below.setdefault(token.head, []).append(i)
    for root in roots:
        tree = Tree(_word(part, root), guide_style="dim")
        waiting = [(root, tree)]
        while waiting:
            i, node = waiting.pop()
            waiting += [(k, node.add(_word(part, k))) for k in below.get(i, ()) if part.tokens[k].text.strip()]
        yield tree


def _word(part: Part, i: int) -> Text:
    token = part.tokens[i]
    lemma = f" ({token.lemma})" if token.lemma != token.text.lower() else ""
    return Text.assemble((token.text.strip() or "¶", "bold"), lemma, (f"  {token.pos} {token.dep}", "dim"))


def _names(found: Explanation) -> Table | None:
    rows = [name for part in found.parts for name in part.names]
    places = {(name.start, name.end) for name in rows}
    others = [m for m in found.mentions if (m.start, m.end) not in places]
    if not rows and not others:
        return None
    table = table_of("Words", "Taken for", "How surely", "Refers to")
    meant = {(m.start, m.end): f"{m.name} ({m.type})" for m in found.mentions}
    for name in rows:
        kind = name.type or "no name"
        table.add_row(Text(name.text), kind, f"{name.sure:.2f}", Text(meant.get((name.start, name.end), "")))
    for m in others:
        table.add_row(Text(m.text), m.type, "by rule", Text(meant[m.start, m.end]))
    return table


def _clauses(clauses: list[Clause]) -> Table | None:
    if not clauses:
        return None
    table = table_of("Verb", "Who", "Whom or what", "Asserted", "Patterns of the verb")
    for clause in clauses:
        state = Text(f"no: {clause.reason}", style="yellow") if clause.unsure else Text("yes", style="green")
        verb = f"not {clause.verb}" if clause.negated else clause.verb
        patterns = str(clause.patterns or "none")
        table.add_row(Text(verb), Text(clause.subject), Text(clause.object), state, patterns)
    return table


def _said(found: Explanation) -> Table | None:
    if not (found.facts or found.preferences or found.retractions):
        return None
    table = table_of("Fact", "When", "By")
    for fact in found.facts:
        told = f"{fact.subject} | {negation(fact)}{fact.predicate} | {fact.object}"
        table.add_row(Text(told), when(fact), Text(by(fact)))
    for preference in found.preferences:
        table.add_row(Text(taste(preference)), "", "preference")
    for gone in found.retractions:
        value = gone.object if isinstance(gone.object, str) else gone.object.name
        table.add_row(Text(f"{gone.subject.name} | {gone.predicate} | {value}"), "", "taken back")
    return table


def taste(preference: ExtractedPreference) -> str:
    """A preference in one line."""
    over = f" over {preference.over}" if preference.over else ""
    context = f" ({preference.context})" if preference.context else ""
    return f"{preference.holder.name} | {preference.polarity.value} | {preference.object}{over}{context}"


def negation(fact: Said) -> str:
    """What stands before the predicate of a fact that is denied."""
    return "not " if fact.negated else ""


def when(fact: Said) -> str:
    """The time in which a fact holds, as far as it was said."""
    return " ".join(f"{word} {value}" for word, value in (("from", fact.valid_from), ("until", fact.valid_to)) if value)


def by(fact: Said) -> str:
    """The rule that gave a fact, and where its pattern stands."""
    return f"{fact.rule} at {fact.pattern}" if fact.pattern else fact.rule


def _not_said(found: Explanation) -> Table | None:
    if not (found.refused or found.missed):
        return None
    table = table_of("Fact", "Why not", "By")
    for one in found.refused:
        rule = f"{one.rule} at {one.pattern}" if one.pattern else one.rule
        table.add_row(Text(f"{one.subject} | {one.predicate} | {one.object}"), Text(one.reason), Text(rule))
    for miss in found.missed:
        told = f"{miss.subject} | {miss.predicate} | {miss.object}"
        table.add_row(Text(told), Text(miss.reason), Text(miss.pattern))
    return table
