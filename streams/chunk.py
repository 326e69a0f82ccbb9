"""What a child process does with a chunk of sessions: admit, extract, embed, project, encode.

The bytes of an output are a pure function of the records and of the state before them: whatever else is in the chunk.
"""

from __future__ import annotations

import base64
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import PurePath

import numpy as np

from memstream.extractors.options import Options
from memstream.extractors.registry import create_extractor
from memstream.extractors.vectors.embedders import Embedder, create_embedder
from memstream.schemas.errors import FatalError, InvalidEvent, PoisonError, Reason, TransientError
from memstream.schemas.extraction import Extraction, Extractor, SessionTurns, Turn
from memstream.schemas.ids import event_key
from memstream.schemas.patch import REFUSED_GENERATION, Patch, Vector
from memstream.schemas.statement import Erased
from memstream.schemas.topics import Topic, record_key
from memstream.sealing import Key, KeysPlace
from memstream.streams import seals
from memstream.streams.admission import Admitted, admit, appended_text, identity_of, refuse
from memstream.streams.offload import OffloadStore
from memstream.streams.projection import Findings, Material, copy_below, merged, prepare, project
from memstream.streams.records import Output, Record, Refusal, SessionResult, SessionWork
from memstream.streams.replay.window import Window
from memstream.streams.seals import Seals
from memstream.streams.session_state import SessionState

__all__ = ["ChunkConfig", "ChunkWorker", "refuse"]

_INNOCENT = Turn("probe", "user", "Tom", "Tom lives in Porto.", datetime(2026, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class ChunkConfig:
    """What a child needs to make its worker; plain values, so that it can be sent to it."""

    offload_url: str
    extractor: str = "spacy"
    options: Options = field(default_factory=dict)
    embedder: str = "minilm"
    embedder_api_key: str | None = field(default=None, repr=False)
    offload_threshold: int = 16_384
    window: Window = field(default_factory=Window)  # a replay's: what is outside makes no patch
    keys: KeysPlace = field(default_factory=KeysPlace)


@dataclass(slots=True)
class _Job:
    """One record on its way: refused, or with its material and what was extracted from it.

    A silent one makes no patch: it is read for what its session says later. `passed` is the patch of an event whose key
    is destroyed; `stretch` counts such walls in its session before it. `key` seals what becomes of it, and `others`
    are all whose words it may have been read with.
    """

    record: Record
    refusal: Refusal | None = None
    material: Material | None = None
    stateful: bool = False
    silent: bool = False
    findings: Findings = field(default_factory=Findings)
    passed: Patch | None = None
    stretch: int = 0
    key: Key | None = None
    others: tuple[Key, ...] = ()


@dataclass(slots=True)
class _Session:
    """The work of a key, its jobs, and its state where it has one."""

    work: SessionWork
    state: SessionState | None
    jobs: list[_Job] = field(default_factory=list)
    start: bytes = b""  # the extractor's state before the first job
    stretch: int = 0
    by_event: dict[str, Key] = field(default_factory=dict)

    def wall(self) -> None:
        """What was said up to here explains nothing that is said from here on."""
        if self.state is not None:
            self.state.begin_anew()
            self.stretch += 1

    @property
    def live(self) -> Iterator[tuple[_Job, Material]]:
        """The jobs that are events to be read."""
        return ((job, job.material) for job in self.jobs if job.material is not None)


class ChunkWorker:
    """Built once in each child process."""

    def __init__(
        self, config: ChunkConfig, *, extractor: Extractor | None = None, embedder: Embedder | None = None
    ) -> None:
        """Loads the models. Raises SettingsError where a setting names something that is not there."""
        self._extractor = extractor or create_extractor(config.extractor, config.options)
        self._embedder = embedder or create_embedder(config.embedder, api_key=config.embedder_api_key)
        self._store = OffloadStore(config.offload_url)
        self._shrink_above = config.offload_threshold
        self._window = config.window
        self._seals = Seals(config.keys.open())

    def process(self, works: list[SessionWork]) -> list[SessionResult]:
        """One result for each work, in order.

        An event at which the models fail each time is refused, the others are not harmed. Raises TransientError where
        an embedding endpoint or the offload store does not answer, FatalError where nothing works any more.
        """
        try:
            return self._run(works)
        except (TransientError, FatalError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - the one border where a bug in a model is told from a bad event
            if len(works) > 1:
                return [result for work in works for result in self.process([work])]
            if len(works[0].records) > 1:
                return [self._one_by_one(works[0])]
            return [self._refused(works[0], error)]

    def _run(self, works: list[SessionWork]) -> list[SessionResult]:
        sessions = [self._session(work) for work in works]
        self._extract(sessions)
        self._embed(sessions)
        return [self._result(session) for session in sessions]

    def _one_by_one(self, work: SessionWork) -> SessionResult:
        """The same as the whole, only slower: each record gets the state that the one before it left."""
        state: bytes | None = None
        outputs: list[Output] = []
        for record in work.records:
            before = work.state if state is None else state
            [result] = self.process([SessionWork(work.key, before, [record])])
            state = state if result.state is None else result.state
            outputs += result.outputs
        return SessionResult(work.key, state, outputs)

    def _refused(self, work: SessionWork, error: Exception) -> SessionResult:
        """One record that fails by itself. Raises FatalError where an innocent one fails as well."""
        self._probe(error)
        [record] = work.records
        message = f"extraction fails at this event each time: {_told(error)}"
        state = _state_of(work)
        if state is not None:
            state.covered = max(state.covered, record.offset)
        output = self._refusal(record, Refusal(Reason.EXTRACTION_FAILED, message))
        return SessionResult(work.key, state.encode() if state else None, [output])

    def _probe(self, error: Exception) -> None:
        """A bug must not empty a topic into the dead letters: where the models fail at any text, it is theirs."""
        try:
            self._extractor.extract([SessionTurns(b"", [_INNOCENT])])
            self._embedder.embed([_INNOCENT.text])
        except TransientError:
            raise
        except Exception as broken:  # whatever it is: the models are broken, and say so at any text
            raise FatalError(f"the models fail at any text, first with {_told(error)}") from broken

    def _session(self, work: SessionWork) -> _Session:
        session = _Session(work, _state_of(work))
        if session.state is not None:
            self._seals.open_state(session.state, work.key)
            session.start = session.state.extractor
            session.by_event.update(session.state.by_event)
        for record in work.records:
            session.jobs.append(self._job(record, session))
        return session

    def _job(self, record: Record, session: _Session) -> _Job:
        state = session.state
        if state is not None:
            if record.offset <= state.covered:
                return _Job(record)
            state.covered = record.offset
        try:
            opened = self._seals.open(record)
            if opened is None:
                return self._passed(record, session)
            admitted = admit(opened[0])
        except InvalidEvent as error:
            return _Job(record, refusal=Refusal(error.reason, str(error)))
        silent = not self._takes(admitted)
        if silent and (state is None or not self._window.reads(admitted.origin.scope, admitted.origin.recorded_at)):
            return _Job(record)
        material = prepare(admitted.event, admitted.origin, self._shrink_above)
        job = _Job(record, material=material, silent=silent, key=self._seals.key_for(admitted.event, opened[1]))
        if state is None or material.passages or state.has_seen(admitted.origin.key):
            return job
        state.take_in(admitted.origin.key)
        job.stateful = True
        self._remember(job, material, session, state)
        return job

    def _passed(self, record: Record, session: _Session) -> _Job:
        """An event whose key is destroyed. Raises InvalidEvent where nobody knows whose it is."""
        patch = seals.unreadable(record)
        if patch is None:
            raise InvalidEvent(Reason.NOT_CLOUDEVENT, "its key is destroyed, and its headers do not tell whose it is")
        origin, state = patch.origin, session.state
        if (
            state is not None
            and not state.has_seen(origin.key)
            and self._window.reads(origin.scope, origin.recorded_at)
        ):
            state.take_in(origin.key)
            if seals.explains(record):
                session.wall()
        wanted = self._window.takes(origin.scope, origin.recorded_at, event=origin.key)
        return _Job(record, passed=patch if wanted else None)

    @staticmethod
    def _remember(job: _Job, material: Material, session: _Session, state: SessionState) -> None:
        """Whose words the session's state may hold from this event on."""
        if job.key is not None and material.turns:
            if seals.is_full(state, job.key):
                session.wall()
            state.remember(material.origin.key, job.key)
            session.by_event[material.origin.key] = job.key
        job.stretch = session.stretch
        job.others = tuple(state.keys.values())

    def _takes(self, admitted: Admitted) -> bool:
        origin = admitted.origin
        erases = isinstance(admitted.event.data, Erased)
        return self._window.takes(origin.scope, origin.recorded_at, event=origin.key, erases=erases)

    def _refusal(self, record: Record, refusal: Refusal) -> Output:
        """The dead letter of a record, unless a replay passes over it."""
        if not self._window.whole:
            identity = identity_of(record)
            if identity is None or not self._window.takes(
                identity[0], appended_text(record), event=event_key(*identity[:3])
            ):
                return Output(record)
        return refuse(record, refusal, self._seals.told)

    def _extract(self, sessions: list[_Session]) -> None:
        """One call for the whole chunk. A document, a board and a repeated event are read without the session."""
        asked: list[SessionTurns] = []
        takers: list[tuple[_Session | None, list[_Job]]] = []
        for session in sessions:
            talks: dict[int, tuple[SessionTurns, list[_Job]]] = {}
            for job, material in session.live:
                if job.stateful and material.turns:
                    begin = SessionTurns(session.start if job.stretch == 0 else b"")
                    talk, talkers = talks.setdefault(job.stretch, (begin, []))
                    talk.turns += [replace(turn, silent=job.silent) for turn in material.turns]
                    talkers.append(job)
                elif material.turns and not job.silent:
                    asked.append(SessionTurns(b"", list(material.turns)))
                    takers.append((None, [job]))
            for talk, talkers in talks.values():
                asked.append(talk)
                takers.append((session, talkers))
        answers = self._extractor.extract(asked) if asked else []
        for (session_of, jobs), answer in zip(takers, answers, strict=True):
            if session_of is not None and session_of.state is not None and jobs[0].stretch == session_of.stretch:
                session_of.state.extractor = answer.state
            self._hand_out(jobs, answer.extractions)

    def _hand_out(self, jobs: list[_Job], extractions: list[Extraction]) -> None:
        start = 0
        for job in jobs:
            if job.material is None:
                continue
            end = start + len(job.material.turns)
            job.findings = replace(job.findings, extraction=merged(job.material, extractions[start:end]))
            start = end
        if start != len(extractions):
            raise PoisonError(f"the extractor gave {len(extractions)} extractions for {start} turns")

    def _embed(self, sessions: list[_Session]) -> None:
        """One call for the whole chunk, each different text once."""
        if not self._embedder.dims:
            return
        wanted = [each for session in sessions for each in session.live if not each[0].silent]
        vectors = self._vectors(text for _, material in wanted for text in material.texts)
        for job, material in wanted:
            job.findings = replace(job.findings, vectors={text: vectors[text] for text in material.texts})

    def _vectors(self, texts: Iterable[str]) -> Mapping[str, Vector]:
        different = list(dict.fromkeys(texts))
        if not different:
            return {}
        rows = np.asarray(self._embedder.embed(different)).astype("<f2")
        return {
            text: Vector(model=self._embedder.name, packed=base64.b64encode(row.tobytes()).decode())
            for text, row in zip(different, rows, strict=True)
        }

    def _result(self, session: _Session) -> SessionResult:
        outputs = [self._output(job, session) for job in session.jobs]
        state = seals.encode_state(session.state, session.work.key) if session.state is not None else None
        unchanged = state is None or (
            session.stretch == 0
            and all(job.refusal is None and job.material is None and job.passed is None for job in session.jobs)
        )
        return SessionResult(session.work.key, None if unchanged else state, outputs)

    def _output(self, job: _Job, session: _Session) -> Output:
        if job.refusal is not None:
            return self._refusal(job.record, job.refusal)
        if job.passed is not None:
            key = record_key(job.passed.origin.scope)
            return Output(job.record, patch_key=key, patch=job.passed.encode(), unreadable=True)
        if job.material is None or job.silent:
            return Output(job.record)
        material = self._offloaded(job.material, job.key)
        lacks = {one.extractor: one.lacks for one in job.findings.extraction.missing}
        generation = max(self._extractor.generation - sum(lacks.values()), REFUSED_GENERATION + 1)
        patch = project(material, job.findings, extractor=self._extractor.name, generation=generation)
        return Output(
            job.record,
            patch_key=record_key(material.origin.scope),
            patch=self._seals.encode(patch, job.key, seals.keys_of(session.by_event, job.others)),
            copy=copy_below(patch),
            mentions=len(job.findings.extraction.mentions),
            assertions=len(patch.assertions),
            missing=patch.missing,
            outcomes=job.findings.extraction.outcomes,
        )

    def _offloaded(self, material: Material, key: Key | None) -> Material:
        """Write what was cut away before the patch that refers to it goes anywhere."""
        if material.large is None or material.large.whole is None:
            return material
        whole = self._seals.payload(material.origin.scope, key, material.large.whole)
        return replace(material, handle=self._store.put(material.origin.scope, material.origin.key, whole))


def _state_of(work: SessionWork) -> SessionState | None:
    """The session's state: conversations alone have one, and a record without a key belongs to none."""
    if work.key is None or not work.records or work.records[0].topic != Topic.CONVERSATION.value:
        return None
    return SessionState.decode(work.state)


def _told(error: Exception) -> str:
    """An error by its kind and place. Its text may quote the event, and what is erased must not live on in a reason."""
    if isinstance(error, PoisonError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
