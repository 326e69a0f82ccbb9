"""`memstream extract FILE`: what the extractor reads out of dialogues, without Kafka or Neo4j."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.markup import escape

from memstream.cli.console import err
from memstream.extractors.dialogue import extract_dialogues, merged_names, rows_of, turns_of
from memstream.extractors.options import OPENAI, parts_of
from memstream.extractors.registry import create_extractor
from memstream.folds.facts import Said, TakenBack, fold
from memstream.schemas.catalogue import catalogue
from memstream.schemas.errors import InvalidInput
from memstream.schemas.extraction import EntityName, Extraction, Turn
from memstream.schemas.names import normalise_name

app = typer.Typer(help="Extract from dialogues in a file, without Kafka or Neo4j.")
BATCH = 64
FEW = 4  # where a model is asked, all of a call must be answered in its time


@app.command()
def extract(
    file: Annotated[Path, typer.Argument(help="JSON Lines: one dialogue a line, with id and messages.")],
    out: Annotated[Path | None, typer.Option("--out", help="Where to write; standard output by default.")] = None,
    extractor: Annotated[str, typer.Option(help="Names of installed extractors, with + between.")] = "spacy",
) -> None:
    """Read dialogues ({id, messages: [{id, role, name?, time, text}]}), one a line, and write what each one says.

    Example: memstream extract dialogues.jsonl --out extracted.jsonl
    """
    dialogues = read_dialogues(file)
    made = create_extractor(extractor)
    lines = []
    missing: Counter[str] = Counter()
    many = FEW if OPENAI in parts_of(extractor) else BATCH
    for start in range(0, len(dialogues), many):
        batch = dialogues[start : start + many]
        for (name, turns), extractions in zip(batch, extract_dialogues(made, batch), strict=True):
            missing.update(f"{one.extractor} ({one.why})" for said in extractions for one in said.missing)
            lines.append(orjson.dumps(dialogue_row(name, turns, extractions), option=orjson.OPT_APPEND_NEWLINE))
    for lacks, count in sorted(missing.items()):
        err.print(f"[yellow]Note:[/] {count} messages were read without {escape(lacks)}", soft_wrap=True)
    if out is None:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("wb") as f:
        f.writelines(lines)
    err.print(f"{len(lines)} dialogues written to {out}")


def read_dialogues(file: Path) -> list[tuple[str, list[Turn]]]:
    """The dialogues of a file. Raises InvalidInput that names the line that can't be read."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror}") from error
    dialogues = []
    for number, line in enumerate(raw.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"{where}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise InvalidInput(f"{where}: a dialogue is a JSON object with id and messages")
        turns = turns_of(row, where)
        dialogues.append((row["id"], turns))
    return dialogues


def dialogue_row(name: str, turns: list[Turn], extractions: list[Extraction]) -> dict[str, Any]:
    """One line of the output: entities, facts, preferences, and by the fold what holds at the end and what no more."""
    rows = rows_of(turns, extractions)
    facts = rows["facts"]
    said = [_said(number, row, turns) for number, row in enumerate(facts)]
    standing = {source for slot in _slots(said, _taken_back(turns, extractions)) for source in slot}
    current = [row for s, row in zip(said, facts, strict=True) if s.id in standing]
    superseded = [row for s, row in zip(said, facts, strict=True) if s.id not in standing]
    return {"id": name, **rows, "current": current, "superseded": superseded}


def _slots(said: list[Said], taken_back: list[TakenBack]) -> list[tuple[str, ...]]:
    """The ids of the assertions behind each fact that holds, slot by slot."""
    by_slot: dict[str, list[Said]] = {}
    for one in said:
        by_slot.setdefault(one.slot, []).append(one)
    return [fact.sources for ones in by_slot.values() for fact in fold(ones, taken_back) if fact.holds]


def _said(number: int, row: dict[str, Any], turns: list[Turn]) -> Said:
    time = next(turn.time for turn in turns if turn.event_id == row["source"])
    slot, claim = _place(row["subject"], row["predicate"], row["object"])
    said_at = time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Said(
        id=f"{number:06}", value=claim, said_at=said_at, key=f"{said_at} {number:06}", slot=slot, claim=claim,
        single=catalogue().is_single(row["predicate"]), negated=row["negated"], valid_from=row["valid_from"],
        valid_to=row["valid_to"],
    )  # fmt: skip


def _place(subject: str, predicate: str, value: str) -> tuple[str, str]:
    """Slot and claim of a triple inside one dialogue."""
    s, o = normalise_name(subject), normalise_name(value)
    if catalogue().is_symmetric(predicate) and o < s:
        s, o = o, s
    single = catalogue().is_single(predicate)
    return f"{s}|{predicate}" if single else f"{s}|{predicate}|{o}", o


def _taken_back(turns: list[Turn], extractions: list[Extraction]) -> list[TakenBack]:
    names = merged_names(extractions)
    out = []
    for turn, extraction in zip(turns, extractions, strict=True):
        before = turn.time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        for number, r in enumerate(extraction.retractions):
            obj = names.get(r.object, r.object).name if isinstance(r.object, EntityName) else r.object
            slot, claim = _place(names.get(r.subject, r.subject).name, r.predicate, obj)
            out.append(TakenBack(f"{turn.event_id}/{number}", slot=slot, claim=claim, said_before=before))
    return out
