"""What the demo prints: what an agent would get from the memory that the story made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table

from memstream.cli.console import out, table_of
from memstream.client.reader import AsyncReader
from memstream.deploy.story import BOARD, MARA, QUESTIONS, ROOT
from memstream.schemas.errors import QueryError
from memstream.streams.dead_letters import LetterTold

Json = dict[str, Any]

_NOT_FOUND = 404
_WIDTH = 96


@dataclass(frozen=True, slots=True)
class _Slot:
    """Something that has one value at a time: what to call it, and where it lies."""

    title: str
    scope: str
    subject: str
    predicate: str


_DEADLINE = _Slot("When is the routing migration due?", BOARD, "routing migration", "has_deadline")
_HOME = _Slot("Where does Mara live?", MARA, "Mara", "lives_in")
_OWNER = _Slot("Who owns the geocoder?", BOARD, "geocoder", "owned_by")
_CAUSE = _Slot("What caused the bridge outage?", BOARD, "bridge outage", "caused_by")
_BELIEVED = ((_DEADLINE, "2026-10-01"), (_HOME, "2026-10-01"), (_OWNER, "2026-10-01"), (_CAUSE, "2026-10-08"))
_ASKED = (
    ("Who owns the service that caused the bridge outage?", (BOARD,), 400),
    ("Where does Mara live, and when is the routing migration due?", (MARA, BOARD), 200),
)


class Show:
    """Asks the query service and prints its answers. `root` replaces the first segment of the story's scopes."""

    def __init__(self, reader: AsyncReader, root: str = ROOT) -> None:
        self._reader = reader
        self._root = root

    async def recalled(self) -> None:
        """The context blocks of two prompts, with what their numbers cite."""
        for number, (prompt, scopes, budget) in enumerate(_ASKED):
            here = [self._here(scope) for scope in scopes]
            heading("What an agent gets", "GET /v1/recall") if number == 0 else out.print()
            out.print(f"[bold]{escape(prompt)}[/]  [dim]in {escape(', '.join(here))}[/]", soft_wrap=True)
            answer = await self._reader.recall(prompt, here, budget=budget)
            out.print(Panel(escape(answer["context"] or "(nothing is known)"), expand=False, width=_WIDTH + 8))
            out.print(_citations(answer["citations"]))

    async def corrected(self) -> None:
        """Facts that changed, with their history and who said so."""
        heading("What changed, and since when", "GET /v1/facts?…&include_superseded=true")
        table = _table("", "Value", "From", "Until", "", "Said by")
        for slot in (_DEADLINE, _HOME, _OWNER):
            facts = await self._facts(slot, include_superseded=True)
            facts.sort(key=lambda fact: (fact["valid_from"] or "", fact["said_first"] or ""))
            for number, fact in enumerate(facts):
                told = "[green]holds[/]" if fact["holds"] else "[dim]superseded[/]"
                span = (_day(fact["valid_from"]), _day(fact["valid_to"]))
                row = ("" if number else slot.title, _value(fact), *span)
                table.add_row(*map(escape, row), told, escape(await self._said_by(slot, fact)))
        out.print(table)

    async def believed(self) -> None:
        """What memory believed at an earlier time, beside what it believes now."""
        heading("What was believed then", "GET /v1/facts?…&known_at=…")
        table = _table("", "On", "Believed then", "Known now")
        for slot, day in _BELIEVED:
            then, now = await self._facts(slot, known_at=f"{day}T23:59:59Z"), await self._facts(slot)
            table.add_row(*map(escape, (slot.title, day, _values(then), _values(now))))
        out.print(table)

    def more(self) -> None:
        """Other things to ask."""
        heading("Ask it yourself")
        for question in QUESTIONS[3:7]:
            command = f'memstream recall "{question.prompt}" --scope {self._here(question.scope)}'
            out.print(f"  {escape(command)}", soft_wrap=True)

    async def _facts(self, slot: _Slot, **parameters: Any) -> list[Json]:
        try:
            page = await self._reader.facts(
                self._here(slot.scope), subject=slot.subject, predicate=slot.predicate, **parameters
            )
        except QueryError as error:
            if error.status == _NOT_FOUND:
                return []
            raise
        return [fact for fact in page["items"] if not fact["negated"]]

    async def _said_by(self, slot: _Slot, fact: Json) -> str:
        try:
            sources = (await self._reader.sources(fact["claim"], self._here(slot.scope)))["sources"]
        except QueryError as error:
            if error.status == _NOT_FOUND:
                return ""
            raise
        names = dict.fromkeys(f"{_speaker(source)} ({_day(source['time'])})" for source in sources)
        return ", ".join(list(names)[:3])

    def _here(self, scope: str) -> str:
        return self._root + scope.removeprefix(ROOT)


def dead_letters(letters: Sequence[LetterTold]) -> None:
    """What was refused, and why."""
    heading("What was refused", "memstream dlq list")
    table = _table("Reason", "In words", "Where it lies")
    for letter in letters:
        place = f"{letter.topic}, partition {letter.partition}, offset {letter.offset}"
        table.add_row(*map(escape, (letter.reason, letter.message, place)))
    out.print(table)


def rates(rows: Sequence[tuple[str, str]]) -> None:
    """What it took."""
    heading("How fast")
    table = Table.grid(padding=(0, 2))
    for name, text in rows:
        table.add_row(escape(name), escape(text))
    out.print(Padding(table, (0, 0, 0, 2)))


def heading(title: str, how: str = "") -> None:
    """A line between two parts."""
    out.print()
    out.rule(f"[bold]{escape(title)}[/]" + (f"  [dim]{escape(how)}[/]" if how else ""), align="left")


def _citations(citations: Sequence[Json]) -> Table:
    table = _table("", "Time", "Who", "What", "Event")
    for cited in citations:
        time = (cited["time"] or "")[:16].replace("T", " ")
        cells = (f"[{cited['number']}]", time, _speaker(cited), cited["quote"], cited["event_id"] or cited["id"])
        table.add_row(*map(escape, cells))
    return table


def _table(*columns: str) -> Table:
    return table_of(*columns, box=None, padding=(0, 2, 0, 0))


def _speaker(source: Json) -> str:
    return str(source["speaker"] or source["kind"])


def _value(fact: Json) -> str:
    return str((fact["object"] or {}).get("name") or fact["value"] or fact["text"])


def _values(facts: Sequence[Json]) -> str:
    return ", ".join(dict.fromkeys(_value(fact) for fact in facts)) or "nothing"


def _day(time: str | None) -> str:
    return (time or "")[:10]
