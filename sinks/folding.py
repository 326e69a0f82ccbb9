"""Lets the folds of all slots of a batch go on together: what they ask for is read in a few queries for all of them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from memstream.folds.facts import Said
from memstream.folds.resume import Ask, At, Before, Changed, Kept, Refolded, RunsFrom, SaidFrom, refold, taken_up
from memstream.sinks.slots import (
    FEW_RUNS,
    LAST_LEAD,
    LAST_TURN,
    RUNS_AT,
    RUNS_FROM,
    SAID_FROM,
    TAKEN_BACK_BY_ID,
    TAKEN_BACK_IN_SLOT,
    Assertion,
    Slot,
    SlotKey,
    Slots,
    taken_back_of,
)
from memstream.sinks.statements import Row, Statement
from memstream.sinks.writer import Writer

Fold = Generator[Ask, Any, Refolded]

FEW = 8  # versions of a slot that are read at once; of more, each that is asked for is looked up


def fold_slots(writer: Writer, slots: Slots, news: Mapping[SlotKey, Sequence[Row]]) -> list[Slot]:
    """Fold these slots with what their `said` has of this batch, and the batch's retractions of each (`news`)."""
    in_order = [slots[key] for key in sorted(slots)]
    _read_taken_back(writer, in_order, news)
    _read_few(writer, in_order)
    new: dict[SlotKey, list[Said]] = {}
    said = [(slot, one) for slot in in_order for one in slot.said.values()]
    for slot, one in _standing(writer, said):
        new.setdefault(slot.key, []).append(one.said)
    folds: list[tuple[Slot, Fold]] = [
        (slot, refold(changed))
        for slot in in_order
        if (changed := Changed(tuple(new.get(slot.key, ())), tuple(slot.places), slot.whole)).is_any
    ]
    waiting = _go_on(folds, [None] * len(folds))
    while waiting:
        answers = _answers(writer, [(slot, ask) for slot, _, ask in waiting])
        waiting = _go_on([(slot, fold) for slot, fold, _ in waiting], answers)
    return in_order


def _go_on(folds: Sequence[tuple[Slot, Fold]], answers: Sequence[Any]) -> list[tuple[Slot, Fold, Ask]]:
    """Those that ask for more; the others are folded."""
    waiting = []
    for (slot, fold), answer in zip(folds, answers, strict=True):
        try:
            waiting.append((slot, fold, fold.send(answer)))
        except StopIteration as done:
            slot.folded = done.value
    return waiting


def _answers(writer: Writer, asks: Sequence[tuple[Slot, Ask]]) -> list[list[Any]]:
    """The answer to each, kind by kind."""
    answers: list[list[Any]] = [[] for _ in asks]
    runs: list[tuple[dict[str, Statement], int, Row]] = []
    said: list[tuple[int, Row]] = []
    for i, (_, ask) in enumerate(asks):
        match ask:
            case SaidFrom(place):
                said.append((i, {"place": place}))
            case RunsFrom(place):
                runs.append((RUNS_FROM, i, {"place": place}))
            case At(turns):
                runs += [(RUNS_AT, i, {"turn": turn}) for turn in turns]
            case Before(place, leads, turns):
                runs += [(LAST_LEAD, i, {"row": row, "before": row + place}) for row in leads]
                runs += [(LAST_TURN, i, {"row": row, "before": row + place}) for row in turns]
    slots = [slot for slot, _ in asks]
    for i, (slot, ask) in enumerate(asks):
        for label, few in slot.runs.items():
            for row in _among(few, ask):
                _take_up(row, label, answers[i])
    for kind in (RUNS_FROM, LAST_LEAD, LAST_TURN, RUNS_AT):
        _runs(writer, kind, slots, [(i, row) for of, i, row in runs if of is kind], answers)
    _said(writer, slots, said, answers)
    return answers


def _runs(
    writer: Writer,
    kind: dict[str, Statement],
    slots: list[Slot],
    rows: list[tuple[int, Row]],
    answers: list[list[Kept]],
) -> None:
    for label, what in kind.items():
        sent = [
            {"i": i, "scope": slots[i].key.scope, "slot": slots[i].key.slot, **row}
            for i, row in rows
            if label in slots[i].labels and label not in slots[i].runs
        ]
        for row in writer.run(what, rows=sent) if sent else ():
            _take_up(row, label, answers[row["i"]])


def _take_up(row: Row, label: str, answer: list[Kept]) -> None:
    # the last value of a track is the last run of its claim, too
    if all(one.turn != row["turn"] for one in answer):
        answer.append(taken_up(row["fold"], row | {"label": label}))


def _said(writer: Writer, slots: list[Slot], rows: list[tuple[int, Row]], answers: list[list[Said]]) -> None:
    """What stands, as the fold sees it. What was taken back has fallen out of its run."""
    sent = [{"i": i, "scope": slots[i].key.scope, "slot": slots[i].key.slot, **row} for i, row in rows]
    read = [
        (row["i"], Assertion(row["props"], row["eid"])) for row in (writer.run(SAID_FROM, rows=sent) if sent else ())
    ]
    number = {slots[i].key: i for i, _ in rows}
    for slot, one in _standing(writer, [(slots[i], one) for i, one in read]):
        slot.said[one.props["id"]] = one
        answers[number[slot.key]].append(one.said)


def _standing(writer: Writer, found: Sequence[tuple[Slot, Assertion]]) -> list[tuple[Slot, Assertion]]:
    """What of these was not taken back; the rest is `fallen`."""
    rows = [{"i": i, "scope": slot.key.scope, "id": one.props["id"]} for i, (slot, one) in enumerate(found)]
    gone = {row["i"] for row in writer.run(TAKEN_BACK_BY_ID, rows=rows)} if rows else set()
    left = []
    for i, (slot, one) in enumerate(found):
        if i in gone or any(taken.covers(one.said) for taken in slot.taken_back):
            slot.fallen.append(one)
            slot.said.pop(one.props["id"], None)
            if (run := one.props.get("run")) is not None:
                slot.lost.add(run)
        else:
            left.append((slot, one))
    return left


def _read_few(writer: Writer, slots: list[Slot]) -> None:
    """The versions of slots that have no more than a few: what their folds ask for is among them."""
    for label, what in FEW_RUNS.items():
        asked = [slot for slot in slots if label in slot.labels]
        rows = [{"i": i, "scope": slot.key.scope, "slot": slot.key.slot} for i, slot in enumerate(asked)]
        found: list[list[Row]] = [[] for _ in asked]
        for row in writer.run(what, rows=rows, most=FEW + 1) if rows else ():
            found[row["i"]].append(row)
        for slot, runs in zip(asked, found, strict=True):
            if len(runs) <= FEW:
                slot.runs[label] = runs


def _among(runs: Sequence[Row], ask: Ask) -> list[Row]:
    """What the look-ups for this would find, of all runs of a slot."""
    match ask:
        case RunsFrom(place):
            return [row for row in runs if row["last_place"] >= place]
        case At(turns):
            return [row for row in runs if row["turn"] in turns]
        case Before(place, leads, turns):
            last = [_last(runs, "lead", start, place) for start in leads]
            last += [_last(runs, "turn", start, place) for start in turns]
            return [row for row in last if row is not None]
        case SaidFrom():
            return []


def _last(runs: Sequence[Row], name: str, start: str, place: str) -> Row | None:
    rows = [row for row in runs if row[name] is not None and start <= row[name] < start + place]
    return max(rows, key=lambda row: str(row[name]), default=None)


def _read_taken_back(writer: Writer, slots: list[Slot], news: Mapping[SlotKey, Sequence[Row]]) -> None:
    """The retractions that name a claim, and all of this batch; those that name an assertion are looked up by it."""
    rows = [{"i": i, "scope": slot.key.scope, "slot": slot.key.slot} for i, slot in enumerate(slots)]
    for row in writer.run(TAKEN_BACK_IN_SLOT, rows=rows):
        slots[row["i"]].taken_back.append(taken_back_of(row["props"]))
    for slot in slots:
        slot.taken_back += [taken_back_of(props) for props in news.get(slot.key, ())]
