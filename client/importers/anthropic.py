"""Anthropic-style messages: content as text or as blocks, with tool_use and tool_result among them.

A message that only brings tool results is a message of the role tool; a `system` text beside `messages` comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memstream.client.importers.openai import arguments_of
from memstream.client.importers.recording import Recording, Report, parse_runs
from memstream.client.importers.runs import Call, Result, Run, RunWriter, Turn
from memstream.client.importers.shapes import messages_of, moment_of, role_of, session_of, text_of
from memstream.schemas.conversation import Role
from memstream.schemas.errors import InvalidInput
from memstream.schemas.events import Event


def events(recording: Recording, report: Report) -> Iterator[Event]:
    """The events of the runs of a file. Raises InvalidInput if it is no JSON at all; the rest goes to the report."""
    items = parse_runs(recording.data, report)
    writer = RunWriter(recording, report, len(items))
    for where, item in items:
        try:
            turns = _system(item, report)
            turns += [_turn(message, report, f"message {n}") for n, message in enumerate(messages_of(item), start=1)]
        except InvalidInput as error:
            report.refuse(where, error)
            continue
        yield from writer.events(Run(where=where, turns=turns, session=session_of(item)))


def _system(item: Any, report: Report) -> list[Turn]:
    said = text_of(item.get("system"), report, "system") if isinstance(item, Mapping) else ""
    return [Turn(Role.SYSTEM, said)] if said else []


def _turn(message: Any, report: Report, where: str) -> Turn:
    if not isinstance(message, Mapping):
        raise InvalidInput(f"{where} is no object")
    role, content, time = role_of(message, where), message.get("content"), moment_of(message, where)
    if not isinstance(content, list):
        return Turn(role, text_of(content, report, where), time=time)
    blocks = [block for block in content if isinstance(block, Mapping)]
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    brought = [block for block in blocks if block.get("type") == "tool_result"]
    rest = [block for block in content if block not in uses and block not in brought]
    said = text_of(rest, report, where)
    results = tuple(_result(block, report, where) for block in brought)
    if results and not said:
        role, said = Role.TOOL, "\n".join(str(result.content) for result in results)
    return Turn(role, said, calls=tuple(_call(block, where) for block in uses), results=results, time=time)


def _call(block: Mapping[str, Any], where: str) -> Call:
    if not isinstance(block.get("name"), str):
        raise InvalidInput(f"{where}: a tool_use block without 'name'")
    return Call(block.get("id") or None, block["name"], arguments_of(block.get("input")))


def _result(block: Mapping[str, Any], report: Report, where: str) -> Result:
    # without is_error the text itself decides
    failed = True if block.get("is_error") else None
    return Result(block.get("tool_use_id"), text_of(block.get("content"), report, where), failed)
