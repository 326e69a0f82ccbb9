"""Addresses and numbers beside a name, and lists: "Wangari Mutua, storage lead, +254 700 555 384"."""

from __future__ import annotations

import re

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import FIRST, Named, Ref
from memstream.extractors.parse.frames import Frame
from memstream.extractors.rules.conditions import is_team
from memstream.extractors.rules.nominals import kin_word, role_head, say_role
from memstream.extractors.text.lexicon import words
from memstream.extractors.text.values import EMAIL, PHONE, TIMEZONE, first_email, first_phone

_BREAK = re.compile(r"[\n;|]|(?<=[.!?])\s")


def match_contacts(reading: Reading) -> None:
    """Give each e-mail address and telephone number to the person it stands beside."""
    text = reading.tree.text
    for pattern, predicate in ((EMAIL, "has_email"), (PHONE, "has_phone")):
        for m in pattern.finditer(text):
            value = m[0].strip().rstrip(".")
            if predicate == "has_phone" and (
                sum(c.isdigit() for c in value) < 7 or _in_date(reading, m.start(), m.end())
            ):
                continue
            holder = _by_address(reading, value) if predicate == "has_email" else None
            holder = holder or _holder(reading, m.start())
            if holder is not None:
                frame = _frame(reading, m.start())
                if frame is not None and (frame.unsure in ("question", "quoted") or frame.negated):
                    continue
                reading.say(holder, predicate, value, rule="beside a name", dated=False, presupposed=True)
    _zones(reading)


def _by_address(reading: Reading, address: str) -> Ref | None:
    """The one person of the message whose name the address is made of: "kerstin.lund@" of Kerstin."""
    local = address.partition("@")[0].lower()
    fitting = {
        n.known.name: n
        for n in reading.named
        if n.known.type == "Person" and any(len(w) > 2 and w.lower() in local for w in n.known.name.split())
    }
    if len(fitting) != 1:
        return None
    n = next(iter(fitting.values()))
    return reading.ref(n.span.end - 1)


def _in_date(reading: Reading, start: int, end: int) -> bool:
    return any(t.start < end and start < t.end for t in reading.times)


def _frame(reading: Reading, position: int) -> Frame | None:
    token = reading.token_at(position)
    return reading.owner.get(token) if token is not None else None


def _segment(text: str, position: int) -> int:
    """Where the line or sentence of a position begins."""
    begin = 0
    for m in _BREAK.finditer(text, 0, position):
        if text[m.start() - 2 : m.start()] not in ("Mr", "rs", "Dr"):
            begin = m.end()
    return begin


_STREETS = words("dr rd st ave blvd ln trail street road avenue lane drive boulevard")


def _holder(reading: Reading, position: int) -> Ref | None:
    """The last person named before it in the same line or sentence; the speaker for "me" and "my"."""
    tree = reading.tree
    begin = _segment(tree.text, position)
    best: Ref | None = None
    for i in range(len(tree)):
        if tree.at[i] < begin:
            continue
        if tree.at[i] >= position:
            break
        if tree.lower[i] in FIRST and tree.lower[i] in ("me", "my", "i", "mine"):
            near = tree.lower[i + 1 : i + 3]
            if tree.lower[i] in ("my", "mine") or any(w in (":", "at", "on", "is", "=", "via") for w in near):
                best = Ref(reading.speaker, "")
        elif i in reading.cover:
            known = reading.cover[i].known
            address = known.name.rsplit(" ", 1)[-1].lower().rstrip(".") in _STREETS
            # the last name before a number is whose it is, and a street or a town has none
            best = reading.ref(i) if known.type in ("Person", "Organization") and not address else None
        elif tree.lower[i] in ("he", "she", "her", "his", "him"):
            best = reading.ref(i) or best
    return best


def _zones(reading: Reading) -> None:
    """As in "timezone: Africa/Tunis", "I'm on PKT"."""
    text = reading.tree.text
    for m in TIMEZONE.finditer(text):
        before = text[max(0, m.start() - 40) : m.start()].lower()
        if ("zone" in before and "user" in before) or re.search(
            r"\b(?:my|user'?s?) (?:time ?zone|tz)\W+(?:is\W+)?$", before
        ):
            reading.say(Ref(reading.speaker, ""), "has_timezone", m[0], rule="zone", dated=False)


def match_fragments(reading: Reading) -> None:
    """Pieces that follow a name: "Wangari Mutua, storage lead", "Dewi Lestari / Support Manager, Silverpine"."""
    tree = reading.tree
    for n in reading.named:
        if n.known.type != "Person":
            continue
        start = n.span.end
        for _ in range(3):
            if (
                start + 1 >= len(tree)
                or tree.lower[start] not in _SEPARATORS
                or tree.sent[start] != tree.sent[n.span.start]
            ):
                break
            end = _piece_end(reading, start + 1)
            if not _fragment(reading, n, start + 1, end):
                break
            start = end


_SEPARATORS = words(", : - – — ( = / |")


def _piece_end(reading: Reading, start: int) -> int:
    tree = reading.tree
    end = start
    while end < len(tree) and tree.words[end] not in (",", ";", ".", ")", "!", "?", ":", "/", "|") and end - start < 9:
        end += 1
    return end


def _in_list(reading: Reading, start: int, end: int) -> bool:
    """Whether name and firm stand in a list of names, as authors do, which says nothing of who works where."""
    tree = reading.tree
    before = [n for n in reading.named if n.span.end == start - 1 and tree.words[start - 1] == ","]
    after = [n for n in reading.named if n.span.start == end + 1 and end < len(tree) and tree.words[end] == ","]
    return bool(before or after)


def _fragment(reading: Reading, n: Named, start: int, end: int) -> bool:
    """One piece about a person: a role, an employer where no verb is near, or an age or number to pass over."""
    tree = reading.tree
    if (
        (end - start == 1 and tree.pos[start] in ("NUM",))
        or first_phone(tree.span_text(start, end))
        or first_email(tree.span_text(start, end))
    ):
        return True
    person = Ref(n.known, "", (), n.span.start, n.span.end)
    inside = [m for m in reading.named if start <= m.span.start < end]
    if (
        len(inside) == 1
        and inside[0].span.start <= start + 1
        and inside[0].span.end == end
        and inside[0].known.type == "Organization"
    ):
        verbless = not any(f.subj or f.obj for f in reading.frames if tree.sent[f.head] == tree.sent[start])
        if verbless and not is_team(inside[0].known.name) and not _in_list(reading, n.span.start, end):
            reading.say(
                person,
                "works_at",
                reading.ref(end - 1) or Ref(inside[0].known, ""),
                presupposed=True,
                rule="piece",
                dated=False,
            )
        return verbless
    word = next(
        (kin_word(reading, i) for i in range(start, end) if i not in reading.cover and kin_word(reading, i)), ""
    )
    if word:
        return True  # the nominal rules read it
    return _fragment_role(reading, n, start, end)


def _fragment_role(reading: Reading, n: Named, start: int, end: int) -> bool:
    """A role that fills the piece."""
    tree = reading.tree
    heads = [i for i in range(start, end) if role_head(reading, i) and tree.pos[i] in ("NOUN", "PROPN")]
    if not heads:
        return False
    i = heads[0]
    if (
        any(
            tree.pos[k] in ("VERB", "AUX", "PRON")
            and tree.lower[k] not in ("our", "my", "the")
            and tree.tag[k] not in ("VBN", "VBG")
            for k in range(start, i)
        )
        or i - start > 5
    ):
        return False
    if tree.tag[i] == "NNS" or any(k in reading.cover for k in range(start, i)):
        return False
    if tree.dep[i] in ("nsubj", "nsubjpass", "dobj") and tree.head[i] != n.span.end - 1:
        return False
    say_role(reading, reading.ref(n.span.end - 1) or Ref(n.known, ""), i)
    return True
