"""Structure in messages: tool output and tables as records, and headed lists ("Members: Yuto, Marisol")."""

from __future__ import annotations

import re

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.session import Session
from memstream.extractors.rules.tool_results import RecordFacts, read_result, record_table, text_records
from memstream.extractors.text.textprep import parse_json
from memstream.extractors.text.values import first_email, first_money, first_phone, first_version, language
from memstream.schemas.extraction import EntityName, Extraction, Mention, Turn


def read_structure(turn: Turn, session: Session) -> Extraction | None:
    """The facts of a text that is a result or a table; None where it is prose."""
    value = parse_json(turn.text)
    if value is not None:
        return _extraction(turn, session, read_result(value, rule="json"))
    if turn.role == "tool" or turn.text.count("\n|") >= 2 or turn.text.count(" | ") >= 3:
        records = text_records(turn.text)
        if records:
            facts = read_result(records, rule="record")
            if len(facts.assertions) >= 2:
                return _extraction(turn, session, facts)
    return None


def _extraction(turn: Turn, session: Session, facts: RecordFacts) -> Extraction:
    mentions = []
    for name in facts.names:
        known = session.add(name.entity.name, name.entity.type.value, turn.event_id)
        at = turn.text.find(name.text)
        if at >= 0:
            used = known.basis(turn.event_id)
            mentions.append(Mention(known.entity, name.text, at, at + len(name.text), used))
    if not turn.asserts:
        return Extraction(mentions=tuple(mentions))
    for a in facts.assertions:
        for term in (a.subject, a.object):
            if isinstance(term, EntityName):
                session.add(term.name, term.type.value, turn.event_id)
    return Extraction(mentions=tuple(mentions), assertions=facts.assertions)


_HEAD = re.compile(r"(?:^|[\n.;!?]|[-•*])\s*(?P<h>[A-Za-z][A-Za-z ]{1,20}?)\s*[:=]\s+", re.M)
_MINE = frozenset({"languages", "allergies", "allergic to", "colleagues", "friends", "day job", "employer"})


def match_headed_lists(reading: Reading) -> None:
    """Lists with a head: "Members: Yuto, Tevita." of the group named before, "Languages: ..." of the speaker."""
    text = reading.tree.text
    for m in _HEAD.finditer(text):
        head = m["h"].lower().strip()
        spec = record_table("heads").get(head)
        if spec is None:
            continue
        end = min((e for e in (text.find(c, m.end()) for c in ("\n", ". ", "; ")) if e >= 0), default=len(text))
        holder = _holder(reading, head, m.start("h"), spec)
        if holder is not None:
            _items(reading, holder, spec, m.end(), end)


def _holder(reading: Reading, head: str, position: int, spec: tuple[str, str, bool]) -> Ref | None:
    if head in _MINE:
        return Ref(reading.speaker, "")
    before = [n for n in reading.named if reading.tree.at[n.span.start] < position]
    wanted = {"member_of": ("Organization",), "attended": ("Event",), "managed_by": ("Organization", "Person")}.get(
        spec[0], ("Object", "Organization", "Event")
    )
    for n in reversed(before):
        if n.known.type in wanted:
            return Ref(n.known, "")
    for known in reversed(reading.earlier):
        if known.type in wanted and not before and known.last >= reading.session.turn - 2:
            return Ref(known, "", (known.event,) if known.event else ())
    return None


def _items(reading: Reading, holder: Ref, spec: tuple[str, str, bool], start: int, end: int) -> None:
    predicate, kind, inverse = spec
    text = reading.tree.text[start:end]
    if not kind:
        for value in _literals(predicate, text, reading, start, end):
            reading.say(holder, predicate, value, presupposed=True, rule="list", dated=False)
        return
    tree = reading.tree
    for n in reading.named:
        if start <= tree.at[n.span.start] < end and (kind in ("any", n.known.type)) and n.known is not holder.known:
            before = tree.lower[n.span.start - 1] if n.span.start else ""
            if before not in (",", ":", "and", "&", "+", ";", "=", "\n", "-") and tree.at[n.span.start] > start + 1:
                continue
            item = reading.ref(n.span.end - 1) or Ref(n.known, "")
            pair = (item, holder) if inverse else (holder, item)
            reading.say(pair[0], predicate, pair[1], presupposed=True, rule="list", dated=False)
    for i in range(len(tree)):
        if kind == "Person" and start <= tree.at[i] < end and tree.lower[i] == "me" and inverse:
            reading.say(Ref(reading.speaker, ""), predicate, holder, presupposed=True, rule="list", dated=False)


def _literals(predicate: str, text: str, reading: Reading, start: int, end: int) -> list[str]:
    if predicate in ("has_budget", "costs"):
        found = first_money(text)
    elif predicate == "has_version":
        found = first_version(text)
    elif predicate == "has_email":
        found = first_email(text)
    elif predicate == "has_phone":
        found = first_phone(text)
    elif predicate == "has_deadline":
        found = next((t.future for t in reading.times if start <= t.start < end), None)
    else:
        parts = [p.strip(" .!") for p in re.split(r",|\band\b|;", text)]
        if predicate == "speaks":
            return [p for p in parts if language(p)]
        return [p for p in parts if p and len(p.split()) <= 3][:8]
    return [found] if found else []
