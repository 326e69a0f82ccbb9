"""Speakers who say who they are in a fragment: "im zarina, 26", "Farrukh, that's me", "Ngozi here, born in Enugu"."""

from __future__ import annotations

import re

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Named, Ref
from memstream.extractors.rules.attributes import say_own_name

# what stands right after the name, and what right before it
_AFTER = re.compile(r"\s*(?:,?\s*that['’]?s me\b(?!\s+\w)|here\s*[,.!;:–-])", re.I)
_AGE = re.compile(r",\s*(\d{1,2})(?=\s*(?:[,.;!\n]|$))")
_BEFORE_AGE = re.compile(r"\bi['’]?\s?a?m\s+$", re.I)
_BEFORE = re.compile(r"(?:^|\s)(?:is me|it['’]?s me)[:,]\s*$", re.I)
_BORN = re.compile(r",\s*born (?:and (?:raised|bred) )?in (?:the )?$", re.I)


def match_introductions(reading: Reading) -> None:
    """Say the speaker's own name and age; what the message says of that name it says of the speaker."""
    if reading.turn.named or reading.turn.role != "user":
        return
    text = reading.tree.text
    for n in list(reading.named):
        if n.known.type != "Person" or n.known is reading.speaker or reading.quoted[n.span.start]:
            continue
        a, b = reading.tree.at[n.span.start], reading.tree.end_of(n.span.end - 1)
        age = _AGE.match(text, b) if _BEFORE_AGE.search(text, max(0, a - 8), a) else None
        opens = not text[:a].strip() or text[:a].rstrip()[-1] in ".!?:;,"
        if age is None and not _BEFORE.search(text, max(0, a - 12), a) and not (opens and _AFTER.match(text, b)):
            continue
        name = n.known.name
        say_own_name(reading, name, None)
        if age is not None:
            reading.say(Ref(reading.speaker, ""), "has_age", age[1], rule="own age", dated=False)
        _born(reading, n)
        return


def _born(reading: Reading, name: Named) -> None:
    """As in "Ngozi here, born and raised in Enugu"."""
    tree = reading.tree
    for n in reading.named:
        if n.known.type == "Location" and tree.sent[n.span.start] == tree.sent[name.span.start]:
            a = tree.at[n.span.start]
            begin = tree.end_of(name.span.end - 1)
            if _BORN.search(tree.text, begin, a) and a - begin < 60:
                reading.say(Ref(reading.speaker, ""), "born_in", Ref(n.known, ""), rule="own birth", dated=False)
