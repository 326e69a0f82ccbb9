"""An explanation of what was read out of a message, as one HTML page with displaCy's drawings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from spacy import displacy

from memstream.cli.explain_show import by, negation, taste, when
from memstream.extractors.explain import Explanation, Part

_COLOURS = {
    "PERSON": "#aa9cfc", "ORGANIZATION": "#7aecec", "LOCATION": "#feca74", "EVENT": "#ffeb80", "OBJECT": "#bfeeb7",
}  # fmt: skip
_LOOK = {"compact": True, "distance": 110, "word_spacing": 30, "bg": "#ffffff", "color": "#1b1b1b"}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1b1b1b; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .8rem .3rem 0;
border-bottom: 1px solid #ddd; vertical-align: top; } .tree { overflow-x: auto; } .note, .no { color: #8a5200; }
td:last-child { color: #555; }
"""


def page_of(found: Explanation) -> str:
    """The page, whole: it loads nothing from elsewhere."""
    body = "\n".join(_body(found))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>What was read</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _body(found: Explanation) -> Iterator[str]:
    yield "<h1>What was read</h1>"
    yield _message(found)
    for note in found.notes:
        yield f'<p class="note">{escape(note)}</p>'
    said = [(f"{f.subject} | {negation(f)}{f.predicate} | {f.object}", when(f), by(f)) for f in found.facts]
    said += [(taste(p), "", "preference") for p in found.preferences]
    yield _table("Said", ("Fact", "When", "By"), said)
    refused = [(f"{a.subject} | {a.predicate} | {a.object}", a.reason, f"{a.rule} {a.pattern}") for a in found.refused]
    refused += [(f"{m.subject} | {m.predicate} | {m.object}", m.reason, m.pattern) for m in found.missed]
    yield _table("Not said", ("Fact", "Why not", "By"), refused)
    clauses = [
        (c.verb, c.subject, c.object, f"no: {c.reason}" if c.unsure else "yes", str(c.patterns))
        for part in found.parts
        for c in part.clauses
    ]
    yield _table("Clauses", ("Verb", "Who", "Whom or what", "Asserted", "Patterns of the verb"), clauses)
    names = [(n.text, n.type or "no name", f"{n.sure:.2f}") for part in found.parts for n in part.names]
    yield _table("Names", ("Words", "Taken for", "How surely"), names)
    for part in found.parts:
        for drawing in _drawings(part):
            yield f'<div class="tree">{drawing}</div>'


def _message(found: Explanation) -> str:
    """The message with its mentions marked."""
    ents: list[dict[str, Any]] = []
    for m in sorted(found.mentions, key=lambda m: (m.start, -m.end)):
        if not ents or m.start >= ents[-1]["end"]:
            ents.append({"start": m.start, "end": m.end, "label": m.type.upper()})
    marked = {"text": found.text, "ents": ents, "title": None}
    options = {"colors": _COLOURS}
    return str(displacy.render(marked, style="ent", manual=True, page=False, jupyter=False, options=options))


def _drawings(part: Part) -> Iterator[str]:
    """The tree of each sentence of a part."""
    for a, b in _sentences(part):
        words = [{"text": t.text, "tag": t.pos} for t in part.tokens[a:b]]
        arcs = []
        for i, token in enumerate(part.tokens[a:b]):
            head = token.head - a
            if head != i:
                left = head > i
                ends = (i, head) if left else (head, i)
                arcs.append({"start": ends[0], "end": ends[1], "label": token.dep, "dir": "left" if left else "right"})
        drawn = {"words": words, "arcs": arcs}
        yield str(displacy.render(drawn, style="dep", manual=True, page=False, jupyter=False, options=_LOOK))


def _sentences(part: Part) -> Iterator[tuple[int, int]]:
    """Where each tree begins and ends: no arc crosses its borders."""
    opened = [0] * (len(part.tokens) + 1)
    for i, token in enumerate(part.tokens):
        opened[min(i, token.head)] += 1
        opened[max(i, token.head)] -= 1
    start = crossing = 0
    for i in range(len(part.tokens)):
        crossing += opened[i]
        if crossing == 0:
            yield start, i + 1
            start = i + 1


def _table(title: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    if not lines:
        return ""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<h2>{escape(title)}</h2><table><tr>{top}</tr>{body}</table>"
