"""OpenAI-style message lists: one list, a list of lists, or objects with `messages`; as JSON or as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memstream.client.importers.recording import Recording, Report, parse_runs
from memstream.client.importers.results import data_of
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
            messages = messages_of(item)
            turns = [turn_of(message, report, f"message {n}") for n, message in enumerate(messages, start=1)]
        except InvalidInput as error:
            report.refuse(where, error)
            continue
        yield from writer.events(Run(where=where, turns=turns, session=session_of(item)))


def turn_of(message: Any, report: Report, where: str) -> Turn:
    """One message as a turn. Raises InvalidInput with what is wrong."""
    if not isinstance(message, Mapping):
        raise InvalidInput(f"{where} is no object")
    role = role_of(message, where)
    content = text_of(message.get("content"), report, where) or text_of(message.get("refusal"), report, where)
    results: tuple[Result, ...] = ()
    if role is Role.TOOL:
        results = (Result(message.get("tool_call_id"), content),)
    return Turn(
        role=role,
        content=content,
        name=message.get("name") or None,
        calls=_calls(message, where) if role is Role.ASSISTANT else (),
        results=results,
        time=moment_of(message, where),
    )


def _calls(message: Mapping[str, Any], where: str) -> tuple[Call, ...]:
    listed = message.get("tool_calls") or []
    if message.get("function_call"):  # the form before tool_calls
        listed = [{"id": None, "function": message["function_call"]}, *listed]
    if not isinstance(listed, Sequence):
        raise InvalidInput(f"{where}: 'tool_calls' is no list")
    return tuple(_call(call, where) for call in listed)


def _call(call: Any, where: str) -> Call:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InvalidInput(f"{where}: a tool call without 'function' and its 'name'")
    return Call(call.get("id") or None, function["name"], arguments_of(function.get("arguments")))


def arguments_of(given: Any) -> dict[str, Any]:
    """Arguments as an object: parsed where they are a JSON string, else kept whole under `_raw`."""
    parsed = data_of(given) if isinstance(given, str) and given.strip() else given
    if isinstance(parsed, Mapping):
        return dict(parsed)
    return {} if parsed is None or parsed == "" else {"_raw": given}
