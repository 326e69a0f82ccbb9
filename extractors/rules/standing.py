"""Standing instructions in notes: "House rules. Metric. Graphs first, prose second. Footnotes: never." and the like.

A message whose first sentence says that rules, settings or somebody's habits follow is read in segments: what stands
between full stops, semicolons and line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.rules.taste_words import trim
from memstream.extractors.rules.tastes import Taste, doubtful, label
from memstream.extractors.text.lexicon import words
from memstream.schemas.extraction import Polarity

_HEAD = re.compile(
    r"\b(?:(?:house|ground|agent|bot|my|our|teh|the|coffee|booking|holiday) rules?|rules (?:for|if|of|4)"
    r"|defaults|settings"
    r"|style notes?|house style|standing (?:instructions?|orders?)|terms of engagement|instructions (?:for|please)"
    r"|from (?:now|here) on|set yourself up|preferences|prefs|record these|keep (?:this|these|it) (?:for|on file)"
    r"|notes? (?:for|on)|etiquette|how (?:i|he|she) (?:take|like|want)s?|wish(?:es)? to be|for whoever"
    r"|dietary form)\b", re.I,
)  # fmt: skip
_ABOUT = re.compile(r"\b(?:for|with|of|how(?: the)?|on)\s*$", re.I)
_OF_NOTES = re.compile(r"\brules?\b|\bnotes? for the\b", re.I)
_SEGMENT = re.compile(r"[^.;!\n…•]+(?:(?<=\d)\.\d+[^.;!\n]*)?")
_NUMBERED = re.compile(r"^\s*(?:\(?\d{1,2}[.)]|[-*–])\s*")
_LABEL = re.compile(r"^\s*(?:[^\W\d_][\w'’.-]*\s?){1,3}:\s+")
_THING = r"[^\s,:?()\"“”]+(?: [^\s,:?()\"“”]+){0,3}"
_FIRST = re.compile(rf"^(?P<a>{_THING}) first,? (?P<b>{_THING}) (?:second|last|later|after)(?=,|$)", re.I)
_BY = re.compile(
    r"^(?:[^\s,:]+ )?(?:by|in|on|via) (?P<a>\S+(?: \S+)?), "
    r"(?:never|not) (?:by|in|on|via) (?P<b>[^\s,]+(?: [^\s,]+)?)(?=,|$)",
    re.I,
)
_NEVER = re.compile(rf"^(?P<a>{_THING})\s?(?:[:?,]| -)?\s+(?:never(?: again)?|no|no thanks|over my dead body)$", re.I)
_LAST = re.compile(rf"(?:^|, )(?P<a>{_THING}?),? (?P<w>never|always)(?: again)?$", re.I)
_YES_NO = re.compile(rf"(?:^|, )(?P<a>{_THING}) (?P<w>yes|no)(?=,|$)", re.I)
_NO_TO = re.compile(rf"^(?P<w>no|yes) to (?P<a>{_THING})$", re.I)
_QUOTED = re.compile(r"^(?:and )?(?:never|no) (?P<a>[\"“][^\"“”]{2,40}[\"”])$", re.I)
_NO_THING = re.compile(
    r"(?:i|it|that|this|he|she|they|we|you|me|here|there|no|yes|ok|okay|thanks|well|so|and|but|or|sorry|please|which|what|why|how)\b",
    re.I,
)
_OF_CLAUSES = words("is are was were be has have had do does did will would can i he she they we you it 's 'm 're not")
_PLAIN = frozenset({"NOUN", "PROPN", "ADJ", "NUM", "X", "ADV"})
_MOST_PLAIN = 3  # words of a segment that says what is wanted by naming it


@dataclass(frozen=True, slots=True)
class Header:
    """What the first sentence of notes says: where it ends, and whose habits follow."""

    end: int
    holder: Ref


def header(reading: Reading) -> Header | None:
    """The header of a message that is notes or rules; None for any other message."""
    text = reading.tree.text
    end = next((m.start() for m in re.finditer(r"[.:;!\n]", text) if m.start() > 3), len(text))
    found = _HEAD.search(text, 0, end)
    if found is None:
        return None
    return Header(end, _whose(reading, end) or Ref(reading.speaker, ""))


def _whose(reading: Reading, end: int) -> Ref | None:
    """The one person for whom something is noted: "Hotels for Professor Lindgaard, please keep this"."""
    tree = reading.tree
    if _OF_NOTES.search(tree.text, 0, end):
        return None
    told = [n for n in reading.named if tree.at[n.span.start] < end and n.known.type == "Person"]
    if len(told) != 1 or told[0].known is reading.speaker:
        return None
    span = told[0].span
    return reading.ref(span.end - 1, ("Person",)) if _ABOUT.search(tree.text[: tree.at[span.start]]) else None


def standing(reading: Reading, head: Header | None) -> Iterator[Taste]:
    """What the segments of notes say; of other messages only what is final ("footnotes? never")."""
    text = reading.tree.text
    for m in _SEGMENT.finditer(text):
        start, said = m.start(), m[0]
        for lead in (_NUMBERED, _LABEL):
            cut = lead.match(said)
            if cut is not None and not (lead is _LABEL and _NEVER.match(said.strip())):
                start, said = start + cut.end(), said[cut.end() :]
        token = reading.token_at(start + len(said) - len(said.lstrip()))
        said = said.strip()
        if token is None or not said or reading.quoted[token] or text[m.end() : m.end() + 1] == "?":
            continue
        if doubtful(reading, token) and not _NEVER.match(said):  # "footnotes? never" has its own answer
            continue
        labelled = label(reading, start)
        holder = labelled or (head.holder if head is not None else Ref(reading.speaker, ""))
        in_notes = head is not None and start > head.end
        for polarity, what, over in _of_segment(
            reading, said, token, in_notes=in_notes, of_one=in_notes or labelled is not None
        ):
            if trim(what) and not _NO_THING.match(what) and not _is_person(reading, trim(what)):
                yield holder, polarity, trim(what), trim(over) if over else None


def _of_segment(
    reading: Reading, said: str, token: int, *, in_notes: bool, of_one: bool
) -> Iterator[tuple[Polarity, str, str | None]]:
    for pattern in (_FIRST, _BY) if of_one else ():
        m = pattern.match(said)
        if m is not None:
            yield Polarity.PREFER, m["a"], m["b"]
            return
    told = list(_YES_NO.finditer(said)) if in_notes else []
    if told:
        for m in told:
            yield Polarity.LIKE if m["w"].lower() == "yes" else Polarity.DISLIKE, m["a"], None
    elif (m := _QUOTED.match(said)) and in_notes:
        yield Polarity.DISLIKE, m["a"], None
    elif m := _NO_TO.match(said):
        yield Polarity.DISLIKE if m["w"].lower() == "no" else Polarity.LIKE, m["a"], None
    elif (
        (m := _NEVER.match(said))
        and (in_notes or _is_final(reading, said, m["a"], token))
        and not _is_named(reading, m["a"])
    ):
        yield Polarity.DISLIKE, m["a"], None
    elif of_one and (m := _LAST.search(said)) and _named_thing(m["a"]):
        yield Polarity.DISLIKE if m["w"].lower() == "never" else Polarity.PREFER, m["a"], None
    elif in_notes and _names_a_thing(reading, said, token):
        yield Polarity.PREFER, re.sub(r",? (?:please|pls|always)$", "", said, flags=re.I), None


def _is_person(reading: Reading, what: str) -> bool:
    return any(n.known.type == "Person" and n.known.name.lower() == what.lower() for n in reading.named)


def _is_final(reading: Reading, said: str, what: str, token: int) -> bool:
    """Whether it is plainly about things: "footnotes? never", "anything with a flute, no"; a "no" alone denies."""
    if what.lower().startswith(("anything", "everything")):
        return True
    return re.search(r"\bnever(?: again)?$", said, re.I) is not None and _names_a_thing(reading, what, token)


def _is_named(reading: Reading, what: str) -> bool:
    """Whether it is a name: "Cork, no." denies something that was asked."""
    return any(n.known.name.lower() == what.lower() for n in reading.named)


def _named_thing(text: str) -> bool:
    """Whether none of the words is one that only a clause has."""
    return not any(word in _OF_CLAUSES for word in text.lower().split())


def _names_a_thing(reading: Reading, said: str, token: int) -> bool:
    """Whether a segment is a noun phrase alone: "terse answers", "Metric", "single quotes"."""
    tree = reading.tree
    parts = said.split()
    if not 1 <= len(parts) <= _MOST_PLAIN or "," in said or ":" in said:
        return False
    end = token
    while end < len(tree) and tree.end_of(end) <= tree.at[token] + len(said):
        end += 1
    inside = range(token, end)
    return (
        bool(inside)
        and all(tree.pos[i] in _PLAIN for i in inside)
        and any(tree.pos[i] in ("NOUN", "ADJ", "PROPN") for i in inside)
        and not any(i in reading.cover and reading.cover[i].known.type == "Person" for i in inside)
    )
