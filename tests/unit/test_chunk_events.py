"""Every event type through the chunk function: which rows it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from memstream.schemas import cloudevents
from memstream.schemas.events import BY_SHORT, EVENT_TYPES, Event
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    ExtractedPreference,
    Extraction,
    Mention,
    Polarity,
    SameAs,
    SessionExtraction,
    SessionTurns,
    Turn,
)
from memstream.schemas.ids import entity_id, event_key, named_id
from memstream.schemas.patch import Edge, Label, NodeRow, Patch, Verdict
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Record, SessionWork

SCOPE, SOURCE = "acme/fleet/u-1", "agent://dispatch"
TIME = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
APPENDED_MS = int(TIME.timestamp() * 1000) + 250
MARA = {"type": "Person", "name": "Mara"}
LEIPZIG = {"type": "Location", "name": "Leipzig"}


class OneFact:
    """Says of each text that its speaker lives in Leipzig, likes tea, and is also called Mara."""

    name = "one-fact"
    generation = 3

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """The same of each turn."""
        return [SessionExtraction(b"", [self._one(turn) for turn in session.turns]) for session in sessions]

    def _one(self, turn: Turn) -> Extraction:
        speaker, city = EntityName(EntityType.PERSON, turn.speaker), EntityName(EntityType.LOCATION, "Leipzig")
        return Extraction(
            mentions=(Mention(city, "Leipzig", 10, 17), Mention(city, "leipzig", 2, 9)),
            assertions=(ExtractedAssertion(speaker, "lives_in", city, used=(turn.event_id, "f" * 32)),) * 2,
            preferences=(ExtractedPreference(speaker, Polarity.PREFER, "tea", over="coffee"),),
            same_as=(SameAs(speaker, EntityName(EntityType.PERSON, "Mara")),),
        )


class Lengths:
    """A vector that tells the length of its text."""

    name = "lengths"
    dims = 2

    def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        """Two numbers for each text."""
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


Project = Callable[..., Patch]


@pytest.fixture
def project_event(tmp_path: Path) -> Iterator[Project]:
    """Send one event of a type through a worker, and give its patch."""
    worker = ChunkWorker(ChunkConfig(tmp_path.as_uri()), extractor=OneFact(), embedder=Lengths())

    def run(short: str, data: dict[str, Any], **attributes: Any) -> Patch:
        kind = BY_SHORT[short]
        payload = kind.data.model_validate_json(orjson.dumps(data))
        event = Event.of(payload, id="e1", source=SOURCE, time=TIME, scope=SCOPE, **attributes)
        key, value, headers = cloudevents.encode(event)
        record = Record(kind.topic.value, 0, 7, APPENDED_MS, key, value, tuple(headers))
        [result] = worker.process([SessionWork(key, b"", [record])])
        [output] = result.outputs
        assert output.refusal is None
        assert output.patch_key == SCOPE.encode()
        patch = Patch.decode(output.patch)
        assert patch.origin.key == event_key(SCOPE, SOURCE, "e1")
        return patch

    return run  # type: ignore[return-value]


def one(patch: Patch, label: Label, part: str = "") -> NodeRow:
    """The only row of a label and part."""
    [row] = [row for row in patch.nodes if row.label is label and row.part == part]
    return row


def edges(patch: Patch, kind: Edge) -> list[tuple[str, str]]:
    """From and to of all edges of a type."""
    return [(row.from_id, row.to_id) for row in patch.edges if row.type is kind]


def test_a_message_is_owned_by_its_event_and_hangs_on_its_session(project_event: Project) -> None:
    """A message gives its node with vector, the session, and the edge between them."""
    patch = project_event("message", {"session_id": "s1", "role": "user", "content": "hello", "user_id": "mara-l"})
    message, session = one(patch, Label.MESSAGE), one(patch, Label.CONVERSATION, "seen")
    assert message.owned
    assert message.id == patch.origin.key
    assert message.props["text"] == "hello"
    assert message.props["speaker"] == "mara-l"
    assert message.vector is not None
    assert message.vector.values() == [5.0, 1.0]
    assert session.id == named_id("session", SCOPE, "s1")
    assert session.first
    assert session.key == patch.origin.order
    assert session.props == {"session_id": "s1", "first_time": "2026-03-01T09:00:00.000000Z"}
    assert edges(patch, Edge.HAS_MESSAGE) == [(session.id, message.id)]
    assert (patch.extractor, patch.generation, patch.verdict) == ("one-fact", 3, Verdict.APPLIED)
    assert patch.origin.recorded_at == "2026-03-01T09:00:00.250000Z"


def test_what_a_message_says_becomes_rows_with_ids(project_event: Project) -> None:
    """Mentions count once for an entity; equal assertions once; the first person is the user; used are earlier keys."""
    patch = project_event("message", {"session_id": "s1", "role": "user", "content": "hello", "user_id": "mara-l"})
    speaker, city = entity_id(SCOPE, "Person", "mara-l"), entity_id(SCOPE, "Location", "Leipzig")
    [mention] = [row for row in patch.edges if row.type is Edge.MENTIONS]
    assert (mention.from_id, mention.to_id) == (patch.origin.key, city)
    assert mention.props == {"text": "leipzig", "start": 2, "end": 9, "count": 2}
    home, taste = patch.assertions
    assert (home.subject, home.predicate, home.object, home.value_key) == (speaker, "lives_in", city, city)
    assert home.text == "mara-l lives in Leipzig"
    assert home.used == ("f" * 32,)
    assert (home.source_label, home.source_id) == (Label.MESSAGE, patch.origin.key)
    assert (taste.kind, taste.ordinal, taste.value, taste.props["over"]) == ("preference", 1, "tea", "coffee")
    assert taste.text == "mara-l prefers tea over coffee"
    [link] = patch.links
    assert (link.a, link.b) == tuple(sorted((speaker, entity_id(SCOPE, "Person", "Mara"))))
    assert link.same


def test_a_session_has_what_began_and_ended_it(project_event: Project) -> None:
    """session.started and session.ended say into parts of the session."""
    started = project_event("session.started", {"session_id": "s1", "title": "Stand-up", "ttl_seconds": 2**63})
    assert one(started, Label.CONVERSATION, "started").props["title"] == "Stand-up"
    assert one(started, Label.CONVERSATION, "started").props["ttl_seconds"] == 2**63 - 1
    ended = project_event("session.ended", {"session_id": "s1", "reason": "done"})
    assert one(ended, Label.CONVERSATION, "ended").props["ended_at"] == ended.origin.time


def test_a_document_is_cut_into_passages_that_are_read_and_embedded(project_event: Project) -> None:
    """Passages have vectors and places; mentions count from the document's beginning; who hands it over asserts it."""
    text = "First paragraph.\n\n" + "word " * 250 + "end."
    patch = project_event("document", {"document_id": "d1", "title": "Plan", "text": text, "agent_id": "scout"})
    document = one(patch, Label.DOCUMENT)
    cut = [row for row in patch.nodes if row.label is Label.PASSAGE]
    assert len(cut) == 3
    assert all(text[row.props["start"] :].startswith(row.props["text"]) for row in cut)
    assert all(row.vector is not None for row in cut)
    assert edges(patch, Edge.HAS_PASSAGE) == [(document.id, row.id) for row in cut]
    [mention] = [row for row in patch.edges if row.type is Edge.MENTIONS]
    assert mention.props["count"] == 6
    assert patch.assertions[0].subject_name == "scout"
    assert (patch.assertions[0].source_label, patch.assertions[0].source_id) == (Label.DOCUMENT, document.id)


def test_a_trace_begins_has_steps_and_ends(project_event: Project) -> None:
    """The trace hangs on session, message, agent and calling step; its steps on it; its end is a part of its own."""
    began = project_event(
        "trace.started",
        {
            "trace_id": "t1",
            "task": "reroute",
            "session_id": "s1",
            "agent_id": "scout",
            "initiated_by": {"id": "m1"},
            "parent_trace_id": "t0",
            "parent_step_id": "2",
            "environment": {"os": "linux", "versions": {}},
        },
    )
    trace = one(began, Label.TRACE, "started")
    assert trace.vector is not None
    assert trace.props["environment"] == '{"os":"linux"}'
    assert edges(began, Edge.HAS_TRACE) == [(named_id("session", SCOPE, "s1"), trace.id)]
    assert edges(began, Edge.INITIATED_BY) == [(trace.id, event_key(SCOPE, SOURCE, "m1"))]
    assert edges(began, Edge.CALLED_BY) == [(trace.id, named_id("step", SCOPE, "t0\x1f2"))]
    assert edges(began, Edge.BY_AGENT) == [(trace.id, named_id("agent", SCOPE, "scout"))]
    step = project_event("step", {"trace_id": "t1", "step_id": "1", "thought": "hm", "observation": "closed"})
    said = one(step, Label.STEP, "said")
    assert (said.id, said.props["observation"]) == (named_id("step", SCOPE, "t1\x1f1"), "closed")
    assert edges(step, Edge.HAS_STEP) == [(trace.id, said.id)]
    ended = project_event("trace.completed", {"trace_id": "t1", "outcome": "ok", "success": True})
    assert one(ended, Label.TRACE, "completed").props["success"] is True


def test_a_call_s_end_wins_over_its_start(project_event: Project) -> None:
    """Status keys sort pending before done; the say that knows the arguments sorts first in its part."""
    call = {"call_id": "c1", "tool": "get_route", "trace_id": "t1", "step_id": "1", "agent_id": "scout"}
    start = project_event("tool-call", call | {"status": "pending", "arguments": {"to": "Leipzig"}})
    end = project_event("tool-call", call | {"status": "success", "result": {"km": 12}, "duration_ms": 8})
    assert one(start, Label.TOOL_CALL, "status").key < one(end, Label.TOOL_CALL, "status").key
    assert one(start, Label.TOOL_CALL, "called").key < one(end, Label.TOOL_CALL, "called").key
    done = one(end, Label.TOOL_CALL, "status")
    assert done.id == named_id("call", SCOPE, "c1")
    assert done.props["result"] == '{"km":12}'
    assert done.props["completed_at"] == end.origin.time
    assert edges(end, Edge.HAS_TOOL_CALL) == [(named_id("step", SCOPE, "t1\x1f1"), done.id)]
    assert edges(end, Edge.INSTANCE_OF) == [(done.id, named_id("tool", SCOPE, "get_route"))]
    assert one(end, Label.TOOL, "named").props == {"name": "get_route"}


def test_a_call_touches_what_its_arguments_and_result_name(project_event: Project) -> None:
    """Entities of records hang on the call with their paths; a good result's facts have the call as their source."""
    call = {"call_id": "c1", "tool": "describe", "arguments": {"service": "relay"}}
    result = {"items": [{"service": "relay", "version": "v5.5.1", "host": "hk-12"}]}
    patch = project_event("tool-call", call | {"status": "success", "result": result})
    relay, host = entity_id(SCOPE, "Object", "relay"), entity_id(SCOPE, "Object", "hk-12")
    touched = {row.to_id: row.props["path"] for row in patch.edges if row.type is Edge.TOUCHED}
    assert touched == {relay: "arguments.service", host: "result.items[0].host"}
    facts = {(a.predicate, a.value or a.object) for a in patch.assertions}
    assert facts == {("has_version", "5.5.1"), ("runs_on", host)}
    assert {(a.source_label, a.source_id) for a in patch.assertions} == {
        (Label.TOOL_CALL, named_id("call", SCOPE, "c1"))
    }
    as_text = project_event("tool-call", call | {"status": "success", "result": orjson.dumps(result).decode()})
    assert as_text.assertions == patch.assertions
    failed = project_event("tool-call", call | {"status": "failure", "result": result})
    assert failed.assertions == ()


def test_a_failure_has_the_signature_of_its_kind(project_event: Project) -> None:
    """Two failures that differ in numbers and paths have one signature; a success has none."""

    def signature(**fields: Any) -> Any:
        patch = project_event("tool-call", {"call_id": "c1", "tool": "t", "arguments": {}} | fields)
        return one(patch, Label.TOOL_CALL, "status").props.get("signature")

    first = signature(status="error", error="cannot open /var/log/a.log: errno 13")
    assert first is not None
    assert signature(status="failure", result="cannot open /srv/b.log: errno 2") == first
    assert signature(status="timeout", error="no answer in 30 s") not in (None, first)
    assert signature(status="success", result="cannot open /srv/b.log: errno 2") is None
    assert signature(status="timeout") is None


def test_feedback_names_what_it_is_of(project_event: Project) -> None:
    """A recall keeps its items; a rating hangs on what is rated."""
    served = project_event("recalled", {"recall_id": "r1", "query": "where?", "items": [{"kind": "fact", "id": "f1"}]})
    assert orjson.loads(one(served, Label.RECALL, "served").props["items"]) == [{"kind": "fact", "id": "f1", "rank": 1}]
    rated = project_event(
        "rated", {"recall_id": "r1", "used": ["f1"], "reward": 1.0, "target": {"kind": "trace", "id": "t1"}}
    )
    rating = one(rated, Label.RATING)
    assert rating.owned
    assert rating.props["used"] == ["f1"]
    targets = [named_id("recall", SCOPE, "r1"), named_id("trace", SCOPE, "t1")]
    assert edges(rated, Edge.RATES) == [(rating.id, target) for target in targets]


def test_statements_are_taken_at_their_word(project_event: Project) -> None:
    """An entity's description, a fact with a value, a relationship and a preference."""
    entity = project_event("entity", MARA | {"description": "a courier", "aliases": ["Mars"]})
    assert one(entity, Label.ENTITY, "described").props == {"description": "a courier", "aliases": ["Mars"]}
    assert one(entity, Label.ENTITY, "named").labels == ("Person",)
    fact = project_event("fact", {"subject": MARA, "predicate": "has_age", "value": "34", "metadata": {"by": "form"}})
    [age] = fact.assertions
    assert (age.value, age.value_key, age.single, age.open, age.source_id) == ("34", "34", True, False, None)
    assert age.props == {"metadata": '{"by":"form"}'}
    relation = project_event(
        "relationship", {"subject": MARA, "predicate": "lives_in", "object": LEIPZIG, "valid_from": "2026-02"}
    )
    [home] = relation.assertions
    assert (home.object_name, home.valid_from, home.text) == ("Leipzig", "2026-02", "Mara lives in Leipzig")
    taste = project_event(
        "preference", {"holder": MARA, "polarity": "like", "object": "tea", "context": "mornings", "category": "drinks"}
    )
    assert taste.assertions[0].props == {"polarity": "like", "context": "mornings", "category": "drinks"}
    assert taste.assertions[0].text == "Mara likes tea (mornings)"


def test_a_correction_retracts_and_asserts_in_one_patch(project_event: Project) -> None:
    """Corrected names its target by what it says or by event and ordinal; retracted only takes out."""
    said = project_event("fact", {"subject": MARA, "predicate": "has_age", "value": "34"}).assertions[0]
    right = {"subject": MARA, "predicate": "has_age", "value": "35"}
    corrected = project_event(
        "corrected", {"target": {"subject": MARA, "predicate": "has_age", "value": "34"}, "replacement": right}
    )
    [taken] = corrected.retractions
    assert (taken.slot, taken.claim, taken.said_before) == (said.slot, said.claim, corrected.origin.time)
    assert corrected.assertions[0].value == "35"
    assert corrected.assertions[0].slot == said.slot
    retracted = project_event("retracted", {"target": {"event": {"id": "e1"}, "ordinal": 0}})
    assert retracted.retractions[0].assertion == said.id
    assert retracted.assertions == ()


def test_entities_are_joined_and_parted_by_pairs(project_event: Project) -> None:
    """Merged and unmerged say of one pair; a pair of one entity says nothing but its name."""
    pair = {"a": MARA, "b": {"type": "Person", "name": "M. Lindqvist"}}
    together, apart = project_event("merged", pair), project_event("unmerged", pair)
    assert (together.links[0].same, apart.links[0].same) == (True, False)
    assert (together.links[0].a, together.links[0].b) == (apart.links[0].a, apart.links[0].b)
    assert together.links[0].a < together.links[0].b
    assert project_event("merged", {"a": MARA, "b": {"type": "Person", "name": "mara"}}).links == ()


def test_cards_and_links_are_kept(project_event: Project) -> None:
    """A card is upserted by its id, else by its content; tags of two spellings are one; a link is a node."""
    card = {"kind": "procedural", "title": "Bridges", "content": "Check  closures.", "tags": ["Roads"]}
    first = one(project_event("card", card), Label.MEMORY, "card")
    again = one(project_event("card", card | {"content": "Check closures.", "tags": []}), Label.MEMORY, "card")
    named = one(project_event("card", card | {"card_id": "k1"}), Label.MEMORY, "card")
    assert first.id == again.id != named.id == named_id("card", SCOPE, "k1")
    assert first.vector is not None
    tagged = project_event("card", card)
    assert edges(tagged, Edge.TAGGED) == [(first.id, named_id("tag", SCOPE, "roads"))]
    link = project_event("link", {"from_id": "a", "to_id": "b", "relation": "SOLVED_BY", "properties": {"n": 1}})
    assert one(link, Label.LINK).props["properties"] == '{"n":1}'


def test_an_erasure_names_keys_and_reaches_no_further_than_itself(project_event: Project) -> None:
    """Event ids become keys; sessions and subjects stay; the bound is never after the erasure's own recording."""
    message = project_event("erased", {"kind": "message", "ids": ["m1"], "until": "2030-01-01T00:00:00Z"})
    [row] = message.erasures
    assert row.ids == (event_key(SCOPE, SOURCE, "m1"),)
    assert row.until == message.origin.recorded_at
    early = project_event("erased", {"kind": "session", "ids": ["s1"], "until": "2026-01-01T00:00:00Z"})
    assert early.erasures[0].ids == ("s1",)
    assert early.erasures[0].until == "2026-01-01T00:00:00.000000Z"


def test_a_board_is_ordered_by_its_log(project_event: Project) -> None:
    """Posts and answers are read as their agent's words; claims have keys of the log and not of the clock."""
    posted = project_event("posted", {"item_id": "i1", "kind": "question", "text": "who?", "agent_id": "scout"})
    item = one(posted, Label.BOARD_ITEM, "posted")
    assert item.id == named_id("item", SCOPE, "i1")
    assert posted.assertions[0].subject_name == "scout"
    assert (posted.assertions[0].source_label, posted.assertions[0].source_id) == (Label.BOARD_ITEM, item.id)
    claimed = project_event("claimed", {"item_id": "i1", "agent_id": "scout", "lease_seconds": 60})
    claim = one(claimed, Label.BOARD_ITEM, "claim")
    assert claim.props["lease_until"] == "2026-03-01T09:01:00.000000Z"
    assert claim.key == "2026-03-01T09:00:00.250000Z\x1f000000\x1f00000000000000000007"
    released = project_event("released", {"item_id": "i1", "agent_id": "scout"})
    assert one(released, Label.BOARD_ITEM, "claim").props["claim"] == "released"
    answered = project_event("answered", {"item_id": "i1", "agent_id": "ada", "text": "me"})
    assert one(answered, Label.BOARD_ITEM, "answered").props["answer"] == "me"
    assert answered.assertions[0].subject_name == "ada"
    closed = project_event("closed", {"item_id": "i1", "resolution": "done"})
    assert one(closed, Label.BOARD_ITEM, "closed").props["resolution"] == "done"


def test_kept_state_is_ordered_by_its_log(project_event: Project) -> None:
    """Items, checkpoints and threads are rows with keys of the log."""
    put = one(project_event("item.put", {"key": "k", "value": {}}), Label.STATE_ITEM, "value")
    assert put.props["value"] == "{}"
    assert put.key.startswith("2026-03-01T09:00:00.250000Z")
    assert one(project_event("item.deleted", {"key": "k"}), Label.STATE_ITEM, "value").props["deleted"] is True
    checkpoint = {"thread_id": "t", "checkpoint_id": "c", "encoding": "msgpack", "blob": "eA=="}
    kept = project_event("checkpoint.put", checkpoint)
    writes = project_event(
        "checkpoint.writes",
        {
            "thread_id": "t",
            "checkpoint_id": "c",
            "task_id": "1",
            "writes": [{"channel": "x", "encoding": "json", "blob": "e30="}],
        },
    )
    thread = one(kept, Label.STATE_ITEM, "named")
    assert edges(kept, Edge.HAS_CHECKPOINT) == [(thread.id, one(kept, Label.CHECKPOINT, "put").id)]
    assert one(writes, Label.CHECKPOINT, "put").id != one(kept, Label.CHECKPOINT, "put").id
    gone = project_event("thread.deleted", {"thread_id": "t"})
    assert one(gone, Label.STATE_ITEM, "deleted").id == thread.id


def test_every_event_type_is_projected() -> None:
    """No type of the table is without its function."""
    from memstream.streams.projection.project import _FAMILIES  # noqa: PLC0415

    assert {kind.data for kind in EVENT_TYPES.values()} == set(_FAMILIES)
