"""What running processes tell of themselves: events done, CPU seconds, peak memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

from memstream.deploy.processes import ProcessTable

_EVENTS = "memstream_events_total"
# what tells our processes apart, by a word of their command line; the last one that fits
_WORDS = {
    "memstream.cli": "{part}: supervisor",
    "memstream.streams.stage": "{part}: stage",
    "memstream.streams.pool_child": "{part}: model process",
    "serve": "query service",
}


async def events_done(port: int, outcome: str = "") -> float:
    """Events that the stage at this port has worked off, whatever became of them, or with this outcome."""
    async with httpx.AsyncClient(timeout=10) as client:
        answer = await client.get(f"http://127.0.0.1:{port}/metrics")
    return sum(
        sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == _EVENTS and outcome in ("", sample.labels["outcome"])
    )


def cpu_seconds(table: ProcessTable) -> dict[str, float]:
    """User and system seconds of each kind of process so far."""
    used: dict[str, float] = {}
    for kind, process in members(table):
        times = process.cpu_times()
        used[kind] = round(used.get(kind, 0.0) + times.user + times.system, 2)
    return used


def peak_memory(table: ProcessTable, parts: Collection[str] = ()) -> dict[str, list[int]]:
    """The most resident bytes that each process of these parts (or of all) ever had, by kind.

    The present ones where the system keeps no peak.
    """
    found: dict[str, list[int]] = {}
    for kind, process in members(table, parts):
        found.setdefault(kind, []).append(_peak(process))
    return found


def members(table: ProcessTable, parts: Collection[str] = ()) -> Iterator[tuple[str, psutil.Process]]:
    """Every process of these parts in a table (or of all) with what it is."""
    for record in table.records():
        leader = table.process(record.name)
        if leader is None or (parts and record.name not in parts):
            continue
        for process in [leader, *leader.children(recursive=True)]:
            yield _kind(record.name, process.cmdline()), process


def _kind(part: str, command: list[str]) -> str:
    words = [word for told, word in _WORDS.items() if told in command]
    return words[-1].format(part=part) if words else part


def _peak(process: psutil.Process) -> int:
    told = Path(f"/proc/{process.pid}/status")
    if told.exists():
        fields: Mapping[str, str] = dict(
            line.split(":", 1) for line in told.read_text(encoding="utf-8").splitlines() if ":" in line
        )
        if "VmHWM" in fields:
            return int(fields["VmHWM"].split()[0]) * 1_024
    return int(process.memory_info().rss)
