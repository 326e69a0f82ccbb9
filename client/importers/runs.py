"""From turns to events: what every format of recorded runs has in common.

A run is a session and a trace. Each message is one `message` event and each tool call one `tool-call` event, with its
arguments, result and status; a reward is a `rated` event of the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from pydantic import ValidationError

from memstream.client.importers.recording import BASE_TIME, Recording, Report
from memstream.client.importers.results import Outcome, outcome_of
from memstream.schemas.base import Data, EventRef
from memstream.schemas.cloudevents import encode, refusal
from memstream.schemas.conversation import Message, Role, SessionEnded, SessionStarted
from memstream.schemas.errors import InvalidEvent
from memstream.schemas.events import Event, recorded_at
from memstream.schemas.feedback import Rated, Target, TargetKind
from memstream.schemas.ids import hash_of
from memstream.schemas.limits import MAX_SHORT_TEXT
from memstream.schemas.tools import ToolCall, ToolStatus, TraceCompleted, TraceStarted

# ids of the usual services have more characters; "call_1" is in every second recording
_SURELY_UNIQUE = 20


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as an assistant's turn has it."""

    id: str | None
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call, as text or as data; `failed` where the recording says so itself."""

    call_id: str | None
    content: Any
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a recording."""

    role: Role
    content: str
    name: str | None = None
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded conversation. `where` is its place in the file, for messages to people."""

    where: str
    turns: Sequence[Turn]
    session: str | None = None
    task: str | None = None
    user_id: str | None = None
    reward: float | None = None
    success: bool | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


class _Said(NamedTuple):
    """A time, and whether it is the recording's own."""

    time: datetime
    recorded: bool


@dataclass(frozen=True, slots=True)
class _Open:
    """A call that waits for its result."""

    call: Call
    id: str
    said: _Said
    sequence: int
    message: str


@dataclass(slots=True)
class _File:
    """What the runs of a file share: the clock of minted times, and the call ids that were used."""

    recording: Recording
    report: Report
    seconds: int = 0
    calls_used: set[str] = field(default_factory=set)

    def now(self) -> datetime:
        """The minted time of the next message."""
        return BASE_TIME + timedelta(seconds=self.seconds)


class RunWriter:
    """Writes the events of one file's runs, of which there are `count`."""

    def __init__(self, recording: Recording, report: Report, count: int) -> None:
        self._file = _File(recording, report)
        self._count = count
        self._number = 0

    def events(self, run: Run) -> Iterator[Event]:
        """The events of the next run of the file. What breaks the contract goes to the report's problems."""
        self._number += 1
        self._file.report.runs += 1
        yield from _OneRun(self._file, run, self._session_of(run)).events()

    def _session_of(self, run: Run) -> str:
        recording = self._file.recording
        if run.session and not recording.session:
            return run.session
        base = recording.session or recording.dataset
        return base if self._count == 1 else f"{base}-{self._number}"


class _OneRun:
    def __init__(self, file: _File, run: Run, session: str) -> None:
        self._file = file
        self._recording = file.recording
        self._report = file.report
        self._run = run
        self._session = session
        self._user = run.user_id or file.recording.user_id
        self._sequence = 0
        self._last: _Said | None = None
        self._open: list[_Open] = []

    def events(self) -> Iterator[Event]:
        began = next((turn.time for turn in self._run.turns if turn.time is not None), None)
        start = _Said(began, True) if began else _Said(self._file.now(), False)
        yield from self._made("session", 0, self._started, start)
        yield from self._made("trace", 0, self._trace_started, start)
        for position, turn in enumerate(self._run.turns):
            yield from self._turn(position, turn)
        for waiting in self._open:
            self._report.unanswered_calls += 1
            yield from self._called(waiting, None, start)
        end = self._last or start
        yield from self._made("trace", 1, self._trace_completed, end)
        if self._run.reward is not None:
            yield from self._made("rating", 0, partial(self._rated, self._run.reward), end)
        yield from self._made("session", 1, partial(SessionEnded, session_id=self._session), end)

    def _turn(self, position: int, turn: Turn) -> Iterator[Event]:
        said = self._last = self._time(turn)
        answered = self._answered(turn)
        first = next((waiting for waiting in answered if waiting is not None), None)
        yield from self._made("message", position, partial(self._message, turn, first), said)
        message_id = self._id("message", position)
        for number, call in enumerate(turn.calls):
            self._sequence += 1
            self._open.append(_Open(call, self._call_id(call, position, number), said, self._sequence, message_id))
        for waiting, result in zip(answered, turn.results, strict=True):
            if waiting is None:
                self._report.stray_results += 1
                continue
            self._open.remove(waiting)
            yield from self._called(waiting, result, said)

    def _answered(self, turn: Turn) -> list[_Open | None]:
        """The call that each result of a turn belongs to: by its id, or the oldest where it has none."""
        taken: list[_Open | None] = []
        for result in turn.results:
            waiting = [one for one in self._open if one not in taken]
            named = [one for one in waiting if result.call_id in (None, one.call.id)]
            taken.append(named[0] if named else None)
        return taken

    def _message(self, turn: Turn, answers: _Open | None) -> Message:
        return Message(
            session_id=self._session,
            role=turn.role,
            content=turn.content,
            name=turn.name,
            agent_id=self._recording.agent_id if turn.role is Role.ASSISTANT else None,
            user_id=self._user if turn.role is Role.USER else None,
            reply_to=EventRef(id=answers.message) if answers else None,
            tool_call_id=answers.id if answers else None,
        )

    def _called(self, waiting: _Open, result: Result | None, answered: _Said) -> Iterator[Event]:
        took = None
        if result is not None and answered.recorded and waiting.said.recorded and answered.time >= waiting.said.time:
            took = (answered.time - waiting.said.time).total_seconds() * 1_000
        # its place is that of the call, though it is told when the result is there
        make = partial(self._tool_call, waiting, result, took)
        yield from self._made("call", waiting.sequence, make, waiting.said, waiting.sequence)

    def _tool_call(self, waiting: _Open, result: Result | None, took: float | None) -> ToolCall:
        outcome = Outcome(ToolStatus.PENDING) if result is None else outcome_of(result.content, result.failed)
        return ToolCall(
            call_id=waiting.id,
            tool=waiting.call.tool,
            status=outcome.status,
            arguments=waiting.call.arguments,
            result=outcome.result,
            error=outcome.error,
            duration_ms=took,
            trace_id=self._session,
            session_id=self._session,
            agent_id=self._recording.agent_id,
            message=EventRef(id=waiting.message),
        )

    def _call_id(self, call: Call, position: int, number: int) -> str:
        wanted = call.id or f"call-{position}-{number}"
        if call.id is None or len(wanted) < _SURELY_UNIQUE:
            wanted = f"{self._session}/{wanted}"
        used = self._file.calls_used
        unique = wanted if wanted not in used else f"{wanted}#{self._session}.{position}.{number}"
        used.add(unique)
        self._report.minted_call_ids += unique != call.id
        return unique

    def _time(self, turn: Turn) -> _Said:
        if turn.time is not None:
            return _Said(turn.time, True)
        self._report.minted_times += 1
        if self._last is not None and any(other.time for other in self._run.turns):
            return _Said(self._last.time + timedelta(seconds=1), False)
        minted = _Said(self._file.now(), False)
        self._file.seconds += 1
        return minted

    def _started(self) -> SessionStarted:
        return SessionStarted(
            session_id=self._session,
            agent_id=self._recording.agent_id,
            user_id=self._user,
            metadata=self._run.metadata,
        )

    def _trace_started(self) -> TraceStarted:
        asked = next((i for i, turn in enumerate(self._run.turns) if turn.role is Role.USER and turn.content), None)
        said = self._run.turns[asked].content[:MAX_SHORT_TEXT] if asked is not None else None
        return TraceStarted(
            trace_id=self._session,
            task=said or self._run.task or self._session,
            session_id=self._session,
            agent_id=self._recording.agent_id,
            initiated_by=EventRef(id=self._id("message", asked)) if asked is not None else None,
            metadata=self._run.metadata,
        )

    def _trace_completed(self) -> TraceCompleted:
        reward = self._run.reward
        return TraceCompleted(
            trace_id=self._session,
            outcome=None if reward is None else f"reward {reward:g}",
            success=self._run.success,
            session_id=self._session,
            agent_id=self._recording.agent_id,
        )

    def _rated(self, reward: float) -> Rated:
        return Rated(target=Target(kind=TargetKind.TRACE, id=self._session), reward=reward, session_id=self._session)

    def _made(
        self, kind: str, position: int, make: Callable[[], Data], said: _Said, sequence: int | None = None
    ) -> Iterator[Event]:
        """The event of what `make` gives; nothing, and a problem in the report, where it breaks the contract."""
        if sequence is None:
            self._sequence += 1
            sequence = self._sequence
        try:
            event = Event.of(
                make(),
                id=self._id(kind, position),
                source=self._recording.event_source,
                time=said.time,
                scope=self._recording.scope,
                subject=self._run.user_id,
                sequence=str(sequence),
                recordedtime=said.time if said.recorded else None,
            )
            recorded_at(event, self._recording.read_at)
            encode(event)
        except ValidationError as error:
            self._report.refuse(f"{self._run.where}, {kind} {position + 1}", refusal(error, kind))
        except InvalidEvent as error:
            self._report.refuse(f"{self._run.where}, {kind} {position + 1}", error)
        else:
            self._report.count(event.data)
            self._report.minted_event_ids += 1
            yield event

    def _id(self, kind: str, position: int) -> str:
        return hash_of("import", self._recording.dataset, self._session, kind, str(position))
