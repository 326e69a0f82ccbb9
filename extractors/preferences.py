"""Tastes and standing instructions: who likes, avoids or always wants what, over what, and in which context."""

from __future__ import annotations

import re

from memstream.extractors.frames import Frame
from memstream.extractors.lexicon import words
from memstream.extractors.reading import Reading
from memstream.extractors.references import Ref
from memstream.extractors.session import clean
from memstream.schemas.extraction import ExtractedPreference, Polarity

_LIKE = frozenset({"like", "love", "adore", "enjoy", "fancy", "relish", "dig", "treasure"})
_DISLIKE = frozenset({"hate", "dislike", "detest", "loathe", "despise", "abhor"})
_CANNOT = frozenset({"stand", "bear", "abide", "stomach", "tolerate"})
_REFUSE = frozenset({"eat", "touch", "drink", "wear"})
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
    rf"(?:^|[.;:!?\n]|,(?:\s*and)?|\band)\s*(?:and\s+)?(?P<k>never|no|don'?t ever)\s+(?P<o>{_WORD}"
    rf"(?:[ ]{_WORD}){{0,4}}?)(?=\s*(?:[.,;!?\n)]|$|\b(?:please|pls|ever|for|since)\b))",
    re.I,
)  # fmt: skip
_ALWAYS = re.compile(
    rf"(?:^|[.;:!?\n])\s*(?:as for me,?\s*)?(?P<o>{_PHRASE}),?\s+(?:always|first, always|only, always)(?=\s*"
    rf"(?:[.;!?\n)]|$))",
    re.I,
)
_RATHER = re.compile(
    rf"\b(?:i'?d|i would|would)\s+rather\s+(?P<a>{_PHRASE})\s+than\s+(?P<b>{_WORD}(?:[ ]{_WORD}){{0,3}}?)(?=\s*"
    rf"(?:[.,;:!?\n)]|$|\bunless\b))",
    re.I,
)
_CANT = re.compile(
    rf"(?P<s>\bi|{_WORD})\s+(?:can'?t|can’t|cannot|could never|can not)\s+(?:stand|abide|bear|stomach)\s+"
    rf"(?P<o>{_PHRASE})(?=\s*(?:[.,;:!?\n)]|$|\b(?:and|but|so)\b))",
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
_GONE_OFF = re.compile(
    rf"\bgone (?:right |quite |completely )?off\s+(?P<o>(?:the |those |these )?{_PHRASE})(?=\s*(?:[.,;:!?\n)]|$"
    rf"|\bin the last\b))",
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
    for frame in reading.frames:
        _verb(reading, frame)
    _phrases(reading)


def _verb(reading: Reading, frame: Frame) -> None:
    polarity = _polarity(reading, frame)
    if polarity is None:
        return
    over = None
    for name in ("over", "to"):
        if polarity is Polarity.PREFER and frame.preps.get(name):
            over = _text(reading, frame.preps[name][0])
    for s in frame.subj:
        holder = reading.ref(s, ("Person",))
        if (
            holder is None
            or holder.known is None
            or holder.type not in ("Person", "Object", "Organization")
            or holder.we
        ):
            continue
        for text in _objects(reading, frame):
            put(reading, holder, polarity, text, over=over, context=_context(reading, frame))


def _polarity(reading: Reading, frame: Frame) -> Polarity | None:  # noqa: PLR0911 (one decision after the other)
    tree = reading.tree
    lemma = frame.lemma
    doubt = frame.unsure
    if lemma in _CANNOT and frame.negated and doubt in ("", "modal"):
        return Polarity.DISLIKE
    if lemma in _REFUSE and frame.negated and frame.future and doubt in ("", "future"):
        return Polarity.DISLIKE
    if doubt or frame.used_to or frame.future or frame.no_longer or frame.passive or frame.told_by is not None:
        return None
    if frame.past and tree.tag[frame.head] == "VBD" and lemma != "prefer":
        return None
    if lemma in _LIKE:
        return Polarity.DISLIKE if frame.negated else Polarity.LIKE
    if lemma in _DISLIKE:
        return None if frame.negated else Polarity.DISLIKE
    if lemma == "prefer":
        return None if frame.negated else Polarity.PREFER
    return None


def _objects(reading: Reading, frame: Frame) -> list[str]:
    tree = reading.tree
    out = [_text(reading, o) for o in frame.obj if o >= 0 and tree.pos[o] not in ("PRON", "DET")]
    for o in frame.obj:
        if o >= 0 and tree.pos[o] == "PRON":
            ref = reading.ref(o)
            if ref is not None and ref.known is not None and ref.type != "Person":
                out.append(ref.known.name)
    for k in tree.kids[frame.head]:
        if tree.dep[k] in ("xcomp", "ccomp") and k > frame.head and tree.tag[k] in ("VBG", "VBN", "VB"):
            below = tree.subtree(k)
            if 1 < len(below) <= 8:
                out.append(_trim(tree.span_text(below[0], below[-1] + 1)))
    return [t for t in out if t]


def _text(reading: Reading, i: int) -> str:
    """The object with what limits it ("meetings after 14:00"), without articles and relative clauses."""
    tree = reading.tree
    start, end = tree.noun_span(i)
    for k in sorted(tree.kids[i]):
        if k >= end and tree.dep[k] in ("prep", "acl"):
            below = tree.subtree(k)
            if k == end and len(below) <= 5:
                end = below[-1] + 1
                continue
        if k >= end:
            break
    return _trim(tree.span_text(start, end))


def _trim(text: str) -> str:
    words = clean(text).split()
    while words and words[0].lower() in _DROP:
        words.pop(0)
    return " ".join(words)


def _context(reading: Reading, frame: Frame) -> str | None:
    """As in "before nine", "in winter": a limiting phrase at the clause."""
    tree = reading.tree
    for name in ("before", "after", "during", "in", "on", "at", "for", "under"):
        for o in frame.preps.get(name, []):
            start, end = tree.noun_span(o)
            text = _trim(tree.span_text(start, end))
            if text and tree.pos[o] != "PRON":
                return text if name in ("for", "in", "on", "at", "during") else f"{name} {text}"
    return None


def _phrases(reading: Reading) -> None:  # noqa: PLR0912 (one decision after the other)
    """Verbless preferences: "terse answers over long ones", "kilometres, never miles", "NO burpees"."""
    text = reading.tree.text
    if reading.turn.role in ("tool", "assistant") and not reading.turn.named:
        return
    standing = _STANDING.search(text) is not None
    for m in _RATHER.finditer(text):
        _put_at(reading, m, Polarity.PREFER, m["a"], m["b"].removeprefix("on a "))
    for m in _CANT.finditer(text):
        _cannot(reading, m)
    for m in _GONE_OFF.finditer(text):
        _put_at(reading, m, Polarity.DISLIKE, m["o"], None)
    for m in _FAVOURITE.finditer(text):
        if m["w"].lower() == "my":
            _put_at(reading, m, Polarity.LIKE, m["o"], None)
    for m in _BEST.finditer(text):
        _put_at(reading, m, Polarity.LIKE, m["o"], None)
    for m in _OVER.finditer(text):
        if _noun_like(m["a"]) and _noun_like(m["b"]) and (standing or len(m["a"].split()) <= 3):
            _put_at(
                reading,
                m,
                Polarity.PREFER,
                re.sub(r"^.*\b(?:i'?ll|i'?d|i) (?:go|take|pick) ", "", m["a"], flags=re.I),
                m["b"],
            )
    if not standing:
        return
    for m in _NOT.finditer(text):
        if _noun_like(m["a"]) and _noun_like(m["b"]):
            _put_at(reading, m, Polarity.PREFER, m["a"], m["b"])
    for m in _NEVER.finditer(text):
        if _noun_like(m["o"]):
            _put_at(reading, m, Polarity.DISLIKE, m["o"], None)
    for m in _ALWAYS.finditer(text):
        if _noun_like(m["o"]):
            _put_at(reading, m, Polarity.PREFER, m["o"], None)


def _cannot(reading: Reading, m: re.Match[str]) -> None:
    """As in "Jamal can't stand aniseed", for where the parser takes the object for a verb."""
    token = reading.token_at(m.start("s"))
    if token is None or reading.quoted[token] or _asks(reading, token):
        return
    holder = (
        Ref(reading.speaker, "") if m["s"].lower() == "i" else reading.ref(token) if token in reading.cover else None
    )
    if holder is not None and holder.known is not None and holder.type == "Person" and m["o"].lower() not in _BAD:
        put(reading, holder, Polarity.DISLIKE, _trim(m["o"]))


def _noun_like(text: str) -> bool:
    words = text.lower().split()
    return (
        bool(words)
        and words[0] not in _BAD
        and not any(
            w in ("is", "are", "was", "were", "has", "have", "i", "he", "she", "it", "isn't", "been") for w in words
        )
    )


def _put_at(reading: Reading, m: re.Match[str], polarity: Polarity, text: str, over: str | None) -> None:
    token = reading.token_at(m.end() - 1)
    start = reading.token_at(m.start() + 1)
    if token is None or start is None or reading.quoted[token] or _asks(reading, token):
        return
    put(reading, Ref(reading.speaker, ""), polarity, _trim(text), over=_trim(over) if over else None)


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
