"""Tastes and standing instructions: who likes, avoids or always wants what, over what, and in which context."""

from __future__ import annotations

import re

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.session import clean
from memstream.extractors.rules.standing import header, standing
from memstream.extractors.rules.taste_words import gerund
from memstream.extractors.rules.tastes import doubtful, label, tastes
from memstream.extractors.text.lexicon import vocabulary, words
from memstream.schemas.extraction import ExtractedPreference, Polarity

_STANDING = re.compile(
    r"\b(?:rules?|defaults?|settings|style notes?|standing (?:instructions?|orders?)|from (?:now|here) on|always"
    r"|preferences?"
    r"|terms of engagement|for (?:every|all|any)|house|when you (?:review|write|answer|reply|book)|whoever"
    r"|set yourself up"
    r"|any day|every time|prefer|please (?:never|always)|record these|keep this|notes? for)\b", re.I,
)  # fmt: skip
_WORD = r"[^\s,.;:!?()\"“”>|=]+"
_PHRASE = rf"{_WORD}(?:[ ]{_WORD}){{0,4}}?"
_OVER = re.compile(
    rf"(?:^|[.;:!?\n(]|,(?:\s*and)?|\band)\s*(?:i(?:'ll|'d)?\s+(?:take|pick|choose|go for|always take)\s+"
    rf"|give me\s+|always\s+)?"
    rf"(?P<a>{_PHRASE})\s+(?:over|>|beats?|rather than|instead of)\s+(?P<b>{_PHRASE})(?=\s*(?:[.,;:!?\n)]|$|\b"
    rf"(?:any day|every time|always|for|when|and|please|pls|in)\b))",
    re.I,
)  # fmt: skip
_NOT = re.compile(
    rf"(?:^|[.;:!?\n]|,(?:\s*and)?)\s*(?:the\s+)?(?P<a>{_WORD}(?:[ ]{_WORD}){{0,3}}?),?\s+(?:not|never)\s+(?:the\s+"
    rf"|by\s+|a\s+)?(?P<b>{_WORD}(?:[ ]{_WORD}){{0,2}}?)(?=\s*(?:[.,;!?\n)]|$))",
    re.I,
)  # fmt: skip
_NEVER = re.compile(
    rf"(?:^|[.;:!?\n]|,(?:\s*and)?|\band)\s*(?:and\s+)?(?P<k>never|no(?:\s+more)?|don'?t ever)\s+(?P<o>{_WORD}"
    rf"(?:[ ]{_WORD}){{0,4}}?)(?=\s*(?:[.,;!?\n)]|$|\b(?:please|pls|ever|for|since)\b))",
    re.I,
)  # fmt: skip
_ALWAYS = re.compile(
    rf"(?:^|[.;:!?\n])\s*(?:as for me,?\s*)?(?P<o>{_PHRASE}),?\s+(?:always|first, always|only, always)(?=\s*"
    rf"(?:[.;!?\n)]|$))",
    re.I,
)
_BEST = re.compile(
    rf"(?:^|[.;:!?\n,])\s*(?P<o>{_WORD}(?:[ ]{_WORD}){{0,2}})\s+(?:is|are)\s+(?:literally\s+|simply\s+|just\s+)?"
    rf"(?:the best|my favou?rites?)\b",
    re.I,
)
_FAVOURITE = re.compile(
    rf"\b(?P<w>my|his|her|their)\s+favou?rite\s+(?P<c>{_WORD}(?:[ ]{_WORD})?)\s+(?:is|are)\s+(?P<o>{_PHRASE})(?=\s*"
    rf"(?:[.,;!?\n)]|$))",
    re.I,
)
_EVER = re.compile(r"\b(?:ever|never again)\b", re.I)
_PLACED = re.compile(r"(?:above|below|by|in|on|with|out|at|for)\b", re.I)
_NO_RULE = re.compile(
    r"(?:again|relations?|opinions?|(?:strong )?(?:views|feelings|opinions)|matter|wait|idea|exceptions?|above|below"
    r"|kids|heating|allerg|rush|hurry|thanks|luck|good|change|reply|surprise|wonder|rest|end|fuss|kidding|joke|desire"
    r"|offen[cs]e|sorry|room|way|\d|longer|clue|time|others?|then|further|sign|trace|news|one\b|point|use\b|charge|fee|answer"
    r"|budget)",
    re.I,
)
_BAD = words(
    """
    i you it he she they we this that there me him us them what who no one not nothing anything everything way more
    less problem need idea worries doubt longer
    """
)
_DROP = words("a an the my our your those these some any to")


def match_preferences(reading: Reading) -> None:
    """Put down the preferences that the message states."""
    spoken = reading.turn.role in ("user", "system") or reading.turn.named
    if spoken:
        for holder, polarity, text, over in tastes(reading):
            put(reading, holder, polarity, text, over=over)
        for holder, polarity, text, over in standing(reading, head := header(reading)):
            if not any(p.object.lower() == text.lower() for p in reading.preferences):
                put(reading, holder, polarity, text, over=over)
        _phrases(reading, head.holder if head is not None else Ref(reading.speaker, ""))


def _trim(text: str) -> str:
    words = clean(text).split()
    while words and words[0].lower() in _DROP:
        words.pop(0)
    return " ".join(words)


def _phrases(reading: Reading, default: Ref) -> None:
    """Verbless preferences: "terse answers over long ones", "kilometres, never miles", "NO burpees"."""
    text = reading.tree.text
    standing = _STANDING.search(text) is not None
    for m in _FAVOURITE.finditer(text):
        whose = reading.token_at(m.start("w"))
        if m["w"].lower() == "my":
            _put_at(reading, default, m, Polarity.LIKE, m["o"], None)
        elif whose is not None and not doubtful(reading, whose):
            holder = reading.ref(whose)
            if holder is not None and holder.type == "Person":
                put(reading, holder, Polarity.LIKE, _trim(m["o"]))
    for m in _BEST.finditer(text):
        _put_at(reading, default, m, Polarity.LIKE, m["o"], None)
    for m in _OVER.finditer(text):
        if _compared(reading, m) and (standing or len(m["a"].split()) <= 3):
            _put_at(
                reading,
                default,
                m,
                Polarity.PREFER,
                re.sub(r"^.*\b(?:i'?ll|i'?d|i) (?:go|take|pick) ", "", m["a"], flags=re.I),
                m["b"],
            )
    _rules(reading, default, standing=standing)


def _rules(reading: Reading, default: Ref, *, standing: bool) -> None:
    """What always or never is to be: "kilometres, never miles", "no calls before ten, ever"."""
    text = reading.tree.text
    for m in _NOT.finditer(text) if standing else ():
        over = _trim(m["b"]).lower()
        said = any(p.over is not None and p.over.lower() == over for p in reading.preferences)
        if not said and _compared(reading, m) and not _PLACED.match(m["b"]):
            _put_at(reading, default, m, Polarity.PREFER, m["a"], m["b"])
    asked = _EVER.search(text) is not None
    for m in _NEVER.finditer(text):
        if standing or asked:
            _never(reading, default, m)
    for m in _ALWAYS.finditer(text) if standing else ():
        if _noun_like(m["o"]) and not re.search(r" over | than |→|->", m["o"]):
            _put_at(reading, default, m, Polarity.PREFER, m["o"], None)


def _never(reading: Reading, default: Ref, m: re.Match[str]) -> None:
    """Put down what is never to be; not a report ("never heard of her") nor what the clause before says already."""
    first = reading.token_at(m.start("o"))
    if first is None or not _noun_like(m["o"]) or _NO_RULE.match(m["o"]):
        return
    never = not m["k"].lower().startswith("no ") and m["k"].lower() != "no"
    tag, text = reading.tree.tag[first], _trim(m["o"]).lower()
    if (
        tag in ("IN", "RB")
        or (never and tag in ("VBD", "VBN", "VBZ"))
        or any((p.over and p.over.lower() == text) or p.object.lower() == text for p in reading.preferences)
    ):
        return
    head, *rest = m["o"].split(" ")
    act = never and tag in ("VB", "VBP") and gerund(head).lower() in vocabulary()
    _put_at(reading, default, m, Polarity.DISLIKE, " ".join([gerund(head), *rest]) if act else m["o"], None)


def _compared(reading: Reading, m: re.Match[str]) -> bool:
    """Whether "X over Y" compares two things: no verb before it ("took over from"), no measure behind ("over 70")."""
    tree = reading.tree
    first, last = reading.token_at(m.start("a")), reading.token_at(m.end("a") - 1)
    if first is None or last is None or not (_noun_like(m["a"]) and _noun_like(m["b"])):
        return False
    if re.match(r"(?:my shoulder|his shoulder|her shoulder|from|to|the years|there|here|again|\d)", m["b"], re.I):
        return False
    return (
        not any(tree.tag[j] in ("VBD", "VBZ", "VBG", "VBN", "MD") for j in range(first, last + 1))
        and tree.lower[first] not in ("i", "i'm", "im")
        and tree.lower[first] not in ("both", "prefer", "prefers", "rule")
    )


def _noun_like(text: str) -> bool:
    words = text.lower().split()
    return (
        bool(words)
        and words[0] not in _BAD
        and words[0] not in ("and", "so", "but", "do", "it's", "its", "he's", "she's", "since", "then", "also", "or")
        and not any(
            w in ("is", "are", "was", "were", "has", "have", "i", "he", "she", "it", "isn't", "been") for w in words
        )
    )


def _put_at(  # noqa: PLR0917
    reading: Reading, default: Ref, m: re.Match[str], polarity: Polarity, text: str, over: str | None
) -> None:
    token = reading.token_at(m.end() - 1)
    start = reading.token_at(m.start() + 1)
    if token is None or start is None or reading.quoted[token] or _asks(reading, token):
        return
    holder = label(reading, m.end() - 1) or default
    put(reading, holder, polarity, _trim(text), over=_trim(over) if over else None)


def _asks(reading: Reading, token: int) -> bool:
    tree = reading.tree
    _, b = tree.sentences[tree.sent[token]]
    return any(tree.words[j].startswith("?") for j in range(token, b))


def put(
    reading: Reading, holder: Ref, polarity: Polarity, text: str, *, over: str | None = None, context: str | None = None
) -> None:
    """Put a preference down once; the same holder and object again replaces what was said before."""
    if not reading.asserting or not reading.turn.asserts or holder.known is None or len(text) < 2 or len(text) > 100:
        return
    if text.lower() in _BAD:
        return
    reading.listed(holder)
    kept = [
        p for p in reading.preferences if not (p.holder == holder.known.entity and p.object.lower() == text.lower())
    ]
    reading.preferences[:] = [
        *kept,
        ExtractedPreference(
            holder.known.entity,
            polarity,
            text,
            over=over,
            context=context,
            used=tuple(dict.fromkeys((*holder.used, *reading.basis(holder.known)))),
        ),
    ]
