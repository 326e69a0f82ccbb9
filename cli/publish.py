"""`memstream publish`: events or recorded conversations from a file, or one message, into the log."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memstream.cli.console import err, out, print_json, read_bytes
from memstream.client import AsyncPublisher, Pending, Receipt
from memstream.client.importers import FORMATS, Problem, Recording, Report, importer
from memstream.client.importers.jsonl import RawLine, all_lines
from memstream.schemas.errors import InvalidInput, NotVisibleError, QueryError
from memstream.schemas.events import Event
from memstream.settings import Settings, load

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

_SHOWN = 20
_STRUCTURED = [("content-type", b"application/cloudevents+json")]
_CARRY_SCOPE = {"events", "jsonl"}


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for."""

    scope: str | None
    source: str
    session: str | None
    agent: str | None
    user: str | None
    dataset: str | None
    skip_invalid: bool
    raw: bool
    wait: float
    as_json: bool


@dataclass(slots=True)
class Sent:
    """What was sent: counts by type, and the last receipt of each partition. `unseen`: why waiting for it failed."""

    by_type: Counter[str] = field(default_factory=Counter)
    raw: int = 0
    seconds: float = 0.0
    last: dict[tuple[str, int], Receipt] = field(default_factory=dict)
    unseen: NotVisibleError | QueryError | None = None

    @property
    def events(self) -> int:
        """How many records were sent."""
        return sum(self.by_type.values()) + self.raw


@app.command("publish")
def publish(  # noqa: PLR0917 - options of a command
    file: Annotated[str | None, typer.Argument(help="The file; - for standard input.", show_default=False)] = None,
    form: Annotated[
        str | None, typer.Option("--format", "-f", help=f"{', '.join(FORMATS)}. A .jsonl file is jsonl without it.")
    ] = None,
    scope: Annotated[str | None, typer.Option("--scope", "-s", help="The scope, such as acme/user-42.")] = None,
    source: Annotated[str | None, typer.Option(help="The source of the events; else import/DATASET.")] = None,
    session: Annotated[str | None, typer.Option(help="The session; numbered where the file has several runs.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent_id of what assistants say.")] = None,
    user: Annotated[str | None, typer.Option(help="The user_id of what users say.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The name in minted ids; else the file's name.")] = None,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Publish this one message, no file.")] = None,
    role: Annotated[str, typer.Option(help="Who says --message: user, assistant, system or tool.")] = "user",
    skip_invalid: Annotated[bool, typer.Option("--skip-invalid", help="Leave out what can't be read.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Format events: send invalid lines too, as they are.")] = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait until the graph has it all.", min=0)] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Publish events or recorded conversations from a file. Nothing is sent if a line can't be read.

    Importing a file again changes nothing: the same file gives the same event ids.

    Example: memstream publish runs.json --format tau-bench --scope acme/airline

    Example: memstream publish --message "Ana moved to Oslo." --scope acme/ana --session chat-1
    """
    job = Job(scope, source or "", session, agent, user, dataset, skip_invalid, raw, wait, as_json)
    if message is not None:
        _publish_message(job, role, message, file)
    elif file is not None:
        _publish_file(job, file, form or ("jsonl" if file.endswith(".jsonl") else None))
    else:
        raise InvalidInput("give a file, - for standard input, or --message: see memstream publish --help")


def _publish_message(job: Job, role: str, text: str, file: str | None) -> None:
    if file is not None or job.scope is None:
        raise InvalidInput("--message goes with --scope and without a file")
    settings = load()
    _finish(job, asyncio.run(_send_one(settings, job, role, text)), Report(), settings)


def _publish_file(job: Job, file: str, form: str | None) -> None:
    if Path(file).is_dir():
        raise InvalidInput(f"{file} is a folder: give a file of it")
    if form is None:
        raise InvalidInput(f"say what {file} holds: --format {', '.join(FORMATS)}")
    read = importer(form)
    if job.scope is None and form not in _CARRY_SCOPE:
        raise InvalidInput(f"give --scope: the format {form} has none of its own")
    if job.raw and form != "events":
        raise InvalidInput("--raw goes with --format events")
    settings = load()
    name = job.dataset or (Path(file).stem if file != "-" else "stdin")
    data = read_bytes(file)
    if not data.strip():
        err.print(f"[yellow]Note:[/] {'standard input' if file == '-' else escape(file)} is empty.", soft_wrap=True)
    recording = Recording(data, name, job.scope or "", job.source, job.session, job.agent, job.user)
    report = Report()
    for _ in read(recording, report):
        pass  # the first reading only counts, and finds what is wrong before anything is sent
    if report.without_scope and not job.skip_invalid:
        raise InvalidInput(f"give --scope: {report.without_scope} lines have none of their own. Nothing was sent.")
    if report.problems and not (job.skip_invalid or job.raw):
        _refuse(report.problems, report.events)
    items = (all_lines if job.raw else read)(recording, Report())
    total = report.events + (len(report.problems) if job.raw else 0)
    _finish(job, asyncio.run(_send(settings, job, items, total)), report, settings)


def _refuse(problems: list[Problem], good: int) -> None:
    for problem in problems[:_SHOWN]:
        err.print(f"  {escape(str(problem))}", soft_wrap=True)
    more = f" ({len(problems) - _SHOWN} more not shown)" if len(problems) > _SHOWN else ""
    raise InvalidInput(
        f"{len(problems)} of {good + len(problems)} items can't be read{more}: nothing was sent. "
        "Mend them, or leave them out with --skip-invalid."
    )


async def _send_one(settings: Settings, job: Job, role: str, text: str) -> Sent:
    sent, began = Sent(), time.monotonic()
    who: dict[str, Any] = {"agent_id": job.agent, "user_id": job.user, "source": job.source}
    async with AsyncPublisher(job.scope, settings=settings, **who) as publisher:
        _note(sent, await publisher.message(job.session or "default", role, text))
        await publisher.flush()
        sent.seconds = time.monotonic() - began
        await _wait_for(publisher, sent, job.wait)
    return sent


async def _send(settings: Settings, job: Job, items: Iterator[Event | RawLine], total: int) -> Sent:
    sent, began = Sent(), time.monotonic()
    columns = (TextColumn("publishing"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}/s"))
    shown = Progress(*columns, TimeRemainingColumn(), console=err, disable=job.as_json or not err.is_terminal)
    with shown as progress:
        task = progress.add_task("publishing", total=total, rate=0)
        async with AsyncPublisher(settings=settings) as publisher:
            for count, item in enumerate(items, start=1):
                _note(sent, await _hand_over(publisher, item))
                if count % 100 == 0:
                    progress.update(task, completed=count, rate=round(count / (time.monotonic() - began)))
            await publisher.flush()
            sent.seconds = time.monotonic() - began
            progress.update(task, completed=sent.events, rate=round(sent.events / sent.seconds))
            await _wait_for(publisher, sent, job.wait)
    return sent


async def _hand_over(publisher: AsyncPublisher, item: Event | RawLine) -> Pending:
    if isinstance(item, Event):
        return await publisher.publish(item)
    return await publisher.publish_raw(item.topic, item.key, item.line, _STRUCTURED, label=item.where)


def _note(sent: Sent, pending: Pending) -> None:
    if pending.event is None:
        sent.raw += 1
        return
    sent.by_type[pending.event.kind.short] += 1
    pending.when_acked(lambda receipt: _last(sent, receipt))


def _last(sent: Sent, receipt: Receipt) -> None:
    before = sent.last.get((receipt.topic, receipt.partition))
    if before is None or before.offset < receipt.offset:
        sent.last[receipt.topic, receipt.partition] = receipt


async def _wait_for(publisher: AsyncPublisher, sent: Sent, seconds: float) -> None:
    until = time.monotonic() + seconds
    try:
        for receipt in sent.last.values() if seconds else ():
            await publisher.wait_until_visible(receipt, max(until - time.monotonic(), 0.05))
    except (NotVisibleError, QueryError) as error:
        sent.unseen = error  # raised when what was sent is told: sent it is


def _finish(job: Job, sent: Sent, report: Report, settings: Settings) -> None:
    _show(job, sent, report, settings)
    if sent.unseen is not None:
        sys.stdout.flush()
        raise sent.unseen


def _show(job: Job, sent: Sent, report: Report, settings: Settings) -> None:
    rate = sent.events / sent.seconds if sent.seconds else 0.0
    left_out = 0 if job.raw else len(report.problems)
    if job.as_json:
        print_json(
            {
                "events": sent.events,
                "by_type": dict(sorted(sent.by_type.items())),
                "raw": sent.raw,
                "skipped": left_out,
                "problems": [str(problem) for problem in report.problems],
                "minted": report.minted(),
                "notes": report.notes(),
                "seconds": round(sent.seconds, 3),
                "rate": round(rate, 1),
                "last": list(sent.last.values()),
            }
        )
        return
    by_type = ", ".join(f"{count} {kind}" for kind, count in sent.by_type.most_common())
    where = f"{settings.kafka_bootstrap} ({settings.topic_prefix}.*)"
    summary = f"published to {where} in {sent.seconds:.1f} s, {rate:.0f}/s: {by_type}"
    out.print(f"[bold]{sent.events} events[/] {summary}", soft_wrap=True)
    _tell("Minted: ", report.minted())
    _tell("Note: ", report.notes())
    _tell("Sent as it is, to be refused: " if sent.raw else "Left out: ", report.problems[:_SHOWN])
    if len(report.problems) > _SHOWN:
        out.print(f"… and {len(report.problems) - _SHOWN} more")


def _tell(label: str, lines: Sequence[object]) -> None:
    for line in lines:
        out.print(f"{label}{escape(str(line))}", soft_wrap=True)
