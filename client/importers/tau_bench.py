"""Runs of tau-bench: a list of {task_id, trial, reward, traj: [OpenAI-style messages]}."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memstream.client.importers.openai import turn_of
from memstream.client.importers.recording import Recording, Report, parse_runs
from memstream.client.importers.runs import Run, RunWriter
from memstream.client.importers.shapes import messages_of
from memstream.schemas.errors import InvalidInput
from memstream.schemas.events import Event

_SOLVED = 1.0


def events(recording: Recording, report: Report) -> Iterator[Event]:
    """The events of the runs of a file. Raises InvalidInput if it is no JSON at all; the rest goes to the report."""
    items = parse_runs(recording.data, report)
    writer = RunWriter(recording, report, len(items))
    for where, item in items:
        try:
            run = _run(item, report, where, recording)
        except InvalidInput as error:
            report.refuse(where, error)
            continue
        yield from writer.events(run)


def _run(item: Any, report: Report, where: str, recording: Recording) -> Run:
    if not isinstance(item, Mapping) or "traj" not in item:
        raise InvalidInput("no run of tau-bench: an object with 'task_id', 'trial', 'reward' and 'traj'")
    turns = [turn_of(message, report, f"message {n}") for n, message in enumerate(messages_of(item), start=1)]
    reward = item.get("reward")
    if reward is not None and (isinstance(reward, bool) or not isinstance(reward, int | float)):
        raise InvalidInput(f"the reward {reward!r} is no number")
    task, trial = item.get("task_id"), item.get("trial", 0)
    return Run(
        where=where,
        turns=turns,
        session=f"{recording.dataset}-task-{task}-trial-{trial}",
        task=f"task {task}",
        user_id=_customer(item),
        reward=None if reward is None else float(reward),
        success=None if reward is None else reward >= _SOLVED,
        metadata={"task_id": task, "trial": trial},
    )


def _customer(item: Mapping[str, Any]) -> str | None:
    info = item.get("info")
    task = info.get("task") if isinstance(info, Mapping) else None
    user = task.get("user_id") if isinstance(task, Mapping) else None
    return user if isinstance(user, str) and user else None
