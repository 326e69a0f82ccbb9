"""Causes and remedies of incidents that no plain verb says: "root cause was the pool", "due to a full disk".

The verbs ("X caused Y", "Y was fixed by Z") are in patterns.toml. Here are the copulas, the reasons, the labels of a
note and the gerunds ("fixed by rolling back to 2.4.1"). What is not said of a named incident is said of the one that
the message or the session spoke of last; where there is none, nothing is said.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import THIRD, Ref
from memstream.extractors.context.session import Known, clean
from memstream.extractors.parse.frames import IMPLIED, IMPLIED_THIRD, Frame
from memstream.extractors.rules.conditions import INCIDENT
from memstream.extractors.text.identifiers import TICKET, identify
from memstream.extractors.text.lexicon import lexicon, words

RECENT = 4  # turns after which an incident is no longer what a note is about
LONGEST = 10  # words of a remedy
_CAUSES = words("cause culprit")
_REMEDIES = words("fix remedy resolution workaround mitigation")
_FIXES = words("fix resolve mitigate solve cure repair clear")
_STARTS = words("happen occur start begin be come arise")
_THROWS = words("throw raise hit report emit")
_FAILS = words("fail crash die abort exit end")
_THINGS = ("Event", "Object")
_WHAT = ("Object", "Event", "Organization")
_NEVER_CAUSE = words("alarm drill hoax duplicate nothing something anything joke one misunderstanding same thing what")
_NO_CAUSE = words("problem issue incident outage failure test mistake matter mystery surprise unknown real")
_REASON = {("due", "to"), ("down", "to"), ("because", "of"), ("owing", "to")}
_MARKS = re.compile(
    r"\b(?:cause|culprit|fix|fixed|fixes|remedy|resolution|resolved?|workaround|mitigat\w+|solved|cured|repaired|cleared"
    r"|due to|down to|because of|owing to|traced?|turned out|rca|throw\w*|threw|rais\w+|hit|hits|report\w*|emit\w*"
    r"|fail\w*|crash\w*|died?|dies|abort\w*|exit\w*)\b",
    re.I,
)
_LABEL = re.compile(
    r"(?:(?<=[.;,(\n–—-])|^)\s*(?P<l>root cause|cause|rca|culprit|fix|fixed by|resolution|remedy|mitigation)"
    r"(?: (?:of|for) (?P<of>[\w#-]{2,30}))?\s*[:=]\s*(?P<v>[^\n.;,()]{3,80}(?:\.\d[^\n.;,()]{0,40})*)",
    re.I,
)
_OPEN = re.compile(r"\b(?:unknown|unclear|tbd|tba|pending|none|n/a|investigat\w+|not (?:yet|known|found)|\?)", re.I)
_ARTICLE = re.compile(r"^(?:an?|the|our|just|simply|only|some)\s+", re.I)


def match_incidents(reading: Reading) -> None:
    """Say causes and remedies of incidents, and which errors a service throws."""
    if not _MARKS.search(reading.tree.text):
        return
    for frame in reading.frames:
        _copula(reading, frame)
        _reason(reading, frame)
        _traced(reading, frame)
        _by_doing(reading, frame)
        _errors(reading, frame)
    _labels(reading)


def incident_before(reading: Reading, position: int) -> Ref | None:
    """The incident that was spoken of last: in this message before the position, else in the last turns."""
    for n in reversed(reading.named):
        if reading.tree.at[n.span.start] < position and is_incident(n.known):
            return Ref(n.known, "", reading.basis(n.known))
    for known in reversed(reading.earlier):
        if known.last >= reading.session.turn - RECENT and is_incident(known):
            return Ref(known, "", reading.basis(known))
    return None


def is_incident(known: Known) -> bool:
    """Whether it is an outage, a failure, or the ticket of one."""
    name = known.name.lower()
    if known.type not in _THINGS or not name:
        return False
    if name.split()[-1] in INCIDENT or (known.type == "Event" and name.split()[0] == "incident"):
        return True
    return re.fullmatch(r"(?:inc|incident|sev|outage)-?\d+", name) is not None


def _subject(reading: Reading, tokens: list[int]) -> Ref | None:
    """The incident that a clause is about; for "it" or nothing the one that was spoken of last."""
    tree = reading.tree
    for t in tokens:
        if t in (IMPLIED, IMPLIED_THIRD) or tree.lower[t] in THIRD or tree.lower[t] in ("this", "that"):
            return incident_before(reading, tree.at[t] if t >= 0 else len(tree.text))
        ref = reading.ref(t, _THINGS)
        if ref is not None and ref.known is not None:
            known = ref.known
            return ref if is_incident(known) or (known.type in _THINGS and TICKET.fullmatch(known.name)) else None
    return None


def _copula(reading: Reading, frame: Frame) -> None:
    """As in "the root cause was a full disk", "the fix was a restart", "the outage turned out to be DNS"."""
    tree = reading.tree
    if frame.lemma not in ("be", "prove") or not frame.subj or min(frame.subj) < 0 or not frame.attr:
        return
    s = frame.subj[-1]
    predicate = "caused_by" if tree.lemma[s] in _CAUSES else "fixed_by" if tree.lemma[s] in _REMEDIES else ""
    holder: Ref | None
    attributes = frame.attr
    if predicate:
        if any(tree.lower[k] in ("suspected", "likely", "probable", "possible", "proposed") for k in tree.kids[s]):
            return
        hung = [o for k in tree.kids[s] if tree.dep[k] == "prep" for o in tree.kids[k] if tree.dep[o] == "pobj"]
        hung += [k for k in tree.kids[s] if tree.dep[k] == "poss"]
        holder = _subject(reading, hung) if hung else incident_before(reading, tree.at[s])
    else:
        predicate, holder = "caused_by", _subject(reading, frame.subj)
    up = reading.owner.get(tree.head[frame.head])
    if up is not None and up.lemma == "turn" and up.particle == "out":
        frame = replace(up, negated=up.negated or frame.negated)  # the parser's "plan" is none
    elif predicate == "caused_by" and tree.lemma[s] not in _CAUSES:
        return
    for a in attributes:
        noun = tree.pos[a] in ("NOUN", "PROPN", "X") and not _says_nothing(reading, a)
        doing = tree.tag[a] == "VBG" and predicate == "fixed_by"
        if a != s and (noun or doing):
            _say(reading, holder, predicate, a, frame)


def _reason(reading: Reading, frame: Frame) -> None:
    """As in "the incident was due to a memory leak", "the outage happened because of an expired certificate"."""
    tree = reading.tree
    if frame.lemma not in _STARTS or not frame.subj:
        return
    for i in frame.tokens:
        if i + 1 < len(tree) and (tree.lower[i], tree.lower[i + 1]) in _REASON and i > frame.head:
            for o in {o for p in (i, i + 1) for o in tree.kids[p] if tree.dep[o] == "pobj"}:
                if tree.pos[o] in ("NOUN", "PROPN", "X", "ADJ") and not _says_nothing(reading, o):
                    _say(reading, _subject(reading, frame.subj), "caused_by", o, frame)


def _says_nothing(reading: Reading, i: int) -> bool:
    """Whether a phrase names no cause: "a false alarm", "the same", "a problem" alone."""
    tree = reading.tree
    start, end = tree.noun_span(i)
    alone = not any(tree.dep[k] in ("compound", "amod", "nmod") for k in range(start, end - 1))
    return tree.lemma[i] in _NEVER_CAUSE or (alone and tree.lemma[i] in _NO_CAUSE)


def _traced(reading: Reading, frame: Frame) -> None:
    """As in "we traced the outage back to a bad index"."""
    tree = reading.tree
    if frame.lemma == "trace":
        below = [k for k in tree.kids[frame.head] if tree.lower[k] in ("back", "down")]
        for p in [k for i in (frame.head, *below) for k in tree.kids[i] if tree.lower[k] == "to"]:
            for o in [o for o in tree.kids[p] if tree.dep[o] == "pobj"]:
                _say(reading, _subject(reading, frame.obj), "caused_by", o, frame)


def _by_doing(reading: Reading, frame: Frame) -> None:
    """As in "fixed by rolling back to 2.4.1", "we fixed it by restarting auth-svc", "restarting auth-svc fixed it"."""
    tree = reading.tree
    if frame.lemma not in _FIXES or frame.future or not (frame.past or tree.tag[frame.head] in ("VBN", "VBD")):
        return
    for doing in (*frame.subj, *frame.preps.get("by", [])):
        if doing >= 0 and tree.tag[doing] == "VBG" and tree.dep[doing] in ("pcomp", "csubj", "nsubj", "conj"):
            holder = _subject(reading, frame.obj or [IMPLIED_THIRD])
            if holder is None and tree.dep[frame.head] == "acl" and tree.words[frame.head - 1] == ",":
                holder = incident_before(reading, tree.at[frame.head])  # "root cause was the pool, fixed by ..."
            _say(reading, holder, "fixed_by", doing, frame)


def _errors(reading: Reading, frame: Frame) -> None:
    """As in "relay-api throws NullPointerException", "the import job fails with psycopg2.errors.UniqueViolation"."""
    if frame.lemma in _THROWS:
        objects, predicate = frame.obj, frame.lemma
    elif frame.lemma in _FAILS:
        objects, predicate = frame.preps.get("with", []), f"{frame.lemma} with"
    else:
        return
    for o in objects:
        found = identify(reading.tree.words[o]) if o >= 0 else None
        if found is None or found.subtype != "error" or o not in reading.cover:
            continue
        for subject in reading.subjects(frame, ("Object",)):
            if subject.type == "Object":
                error = reading.ref(o)
                if error is not None:
                    reading.say(subject, predicate, error, frame, at=o, rule="error of", open_predicate=True)


def _labels(reading: Reading) -> None:
    """As in a note: "Root cause: expired TLS cert on edge-3", "Fix: rolled back to 2.4.1"."""
    text = reading.tree.text
    for m in _LABEL.finditer(text):
        value = clean(m["v"])
        if _OPEN.search(m["v"]) or set(value.lower().split()) & lexicon().hedges or "?" in text[m.end() : m.end() + 1]:
            continue
        holder = incident_before(reading, m.end("of") if m["of"] else m.start("l"))
        if m["of"] and (holder is None or holder.known is None or m["of"].lower() not in holder.known.name.lower()):
            continue
        token = reading.token_at(m.start("v") + len(m["v"]) - len(m["v"].lstrip()))
        if holder is None or token is None or reading.quoted[token]:
            continue
        predicate = "caused_by" if m["l"].lower() in ("root cause", "cause", "rca", "culprit") else "fixed_by"
        whole = reading.cover.get(token)
        a, b = (reading.tree.at[whole.span.start], reading.tree.end_of(whole.span.end - 1)) if whole else (0, 0)
        if whole is not None and clean(text[a:b]) == value:
            what: Ref | str = Ref(whole.known, "", reading.basis(whole.known), whole.span.start, whole.span.end)
        else:
            what = " ".join(_ARTICLE.sub("", value).split()[:LONGEST])
        reading.say(holder, predicate, what, presupposed=True, rule="label of an incident", dated=False)


def _say(reading: Reading, holder: Ref | None, predicate: str, head: int, frame: Frame) -> None:
    """Put a cause or a remedy down: an entity where it is one, else the whole phrase."""
    if holder is None or holder.known is None or head < 0:
        return
    what = reading.ref(head, _WHAT, values=True, full=True)
    if what is not None and (what.known is not None or what.value):
        reading.say(holder, predicate, what, frame, at=frame.head, rule="incident")
