"""The publisher's methods: one for each event type; what the caller leaves out is minted or has a default."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstream.client import AsyncPublisher, Publisher, assertion, claim
from memstream.client.keeping import BoardMethods, StateMethods
from memstream.client.minting import Envelope, Identity, Mint
from memstream.client.receipt import Receipt
from memstream.client.saying import ConversationMethods, FeedbackMethods, ToolMethods
from memstream.client.stating import StatementMethods
from memstream.schemas.base import EntityRef, EventRef
from memstream.schemas.cloudevents import decode, encode
from memstream.schemas.conversation import Message, SessionStarted
from memstream.schemas.errors import InvalidEvent, Reason, SettingsError
from memstream.schemas.events import EVENT_TYPES, Event
from memstream.schemas.extraction import EntityType
from memstream.schemas.feedback import Rated, Recalled
from memstream.schemas.state import PendingWrite
from memstream.schemas.statement import Corrected, Erased, FactStated
from memstream.schemas.tools import ToolCall, TraceStarted

ANA, OSLO = ("Person", "Ana"), ("Location", "Oslo")


class Collected(
    ConversationMethods[Event],
    ToolMethods[Event],
    FeedbackMethods[Event],
    StatementMethods[Event],
    BoardMethods[Event],
    StateMethods[Event],
):
    """Hands the event itself back."""

    def __init__(self, clock: Callable[[], datetime] | None = None, **identity: Any) -> None:
        who = Identity(**({"scope": "acme/u", "session_id": "s", "agent_id": "bot", "user_id": "ana"} | identity))
        self._mint = Mint(who.with_source(), clock) if clock else Mint(who.with_source())

    def _hand_over(self, event: Event) -> Event:
        return event


def every_event(p: Collected) -> list[Event]:
    """One event of each type, by its method."""
    right = FactStated(subject=EntityRef(type=EntityType.PERSON, name="Ana"), predicate="lives_in", value="Bergen")
    return [
        p.message(None, "user", "hello"),
        p.session_started(title="A talk"),
        p.session_ended(reason="done"),
        p.document("d-1", "Handbook", "All of it."),
        p.trace_started("t-1", "Book a ferry"),
        p.step("t-1", "t-1.1", thought="first look"),
        p.tool_call("c-1", "search", {"q": "ferry"}, result=[1, 2]),
        p.trace_completed("t-1", outcome="booked", success=True),
        p.recalled("r-1", "ferry?", [("fact", "f-1"), ("message", "m-1")]),
        p.rated(recall_id="r-1", used=["f-1"]),
        p.entity("Ana", "Person", aliases=["Annie"]),
        p.relationship(ANA, "lives_in", OSLO),
        p.fact(ANA, "age", "41"),
        p.preference(ANA, "prefer", "trains", over="planes"),
        p.card("procedural", "Ask first", "Ask before booking."),
        p.link("m-1", "m-2", "RELATED_TO"),
        p.corrected(assertion("e-1"), right),
        p.retracted(claim(ANA, "lives_in", OSLO)),
        p.merged(ANA, ("Person", "Annie")),
        p.unmerged(ANA, ("Person", "Anna")),
        p.erased("user", ["ana"]),
        p.posted("i-1", "question", "Who has the key?"),
        p.claimed("i-1"),
        p.released("i-1"),
        p.answered("i-1", "I do."),
        p.closed("i-1"),
        p.item_put("k", {"a": 1}),
        p.item_deleted("k"),
        p.checkpoint_put("th-1", "cp-1", "AAAA", encoding="json"),
        p.checkpoint_writes("th-1", "cp-1", "task", [PendingWrite(channel="c", encoding="json", blob="AA==")]),
        p.thread_deleted("th-1"),
    ]


def test_there_is_a_method_for_every_type_and_its_event_travels() -> None:
    """Each gives a valid event of its type, which its reader decodes to the same."""
    events = every_event(Collected())
    assert [event.type for event in events] == list(EVENT_TYPES)
    for event in events:
        _, value, headers = encode(event)
        assert decode(headers, value, event.kind.topic.value) == event


def test_both_publishers_have_the_same_methods() -> None:
    """Whatever one can publish, the other can."""
    methods = {name for name in dir(Collected) if not name.startswith("_")}
    assert methods <= set(dir(AsyncPublisher))
    assert methods <= set(dir(Publisher))


def test_ids_are_fresh_sequences_rise_and_times_never_go_back() -> None:
    """Even where the clock does: events of one publisher sort as they were made."""
    moments = iter([datetime(2026, 3, 1, tzinfo=UTC) - timedelta(seconds=n % 3) for n in range(50)])
    p = Collected(clock=lambda: next(moments))
    events = [p.message(None, "user", f"{number}") for number in range(50)]
    assert [event.order for event in events] == sorted(event.order for event in events)
    assert len({event.id for event in events}) == 50
    assert [event.sequence for event in events] == [str(number) for number in range(50)]


def test_sequences_are_safe_from_several_threads() -> None:
    """No two events of a publisher have the same."""
    p, made = Collected(), list[Event]()
    threads = [
        threading.Thread(target=lambda: made.extend(p.message(None, "user", "x") for _ in range(200))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(event.sequence or -1) for event in made) == list(range(800))


def test_the_publishers_ids_name_who_speaks() -> None:
    """What a user says carries the user's id only, what an assistant says the agent's; given ones win."""
    p = Collected()
    said = [p.message(None, role, "x").data for role in ("user", "assistant")]
    assert [(m.user_id, m.agent_id, m.session_id) for m in said if isinstance(m, Message)] == [
        ("ana", None, "s"),
        (None, "bot", "s"),
    ]
    other = p.message("s2", "user", "x", user_id="ben", scope="acme/v", about="ben").data
    assert isinstance(other, Message)
    assert (other.user_id, other.session_id) == ("ben", "s2")
    started = p.session_started().data
    assert isinstance(started, SessionStarted)
    assert (started.user_id, started.agent_id) == ("ana", "bot")


def test_attributes_can_be_given() -> None:
    """Every attribute of the envelope, by name; `about` is the subject."""
    moment = datetime(2026, 3, 1, 9, tzinfo=UTC)
    event = Collected().fact(
        ANA,
        "age",
        "41",
        id="e-1",
        time=moment,
        scope="x",
        source="app",
        about="ana",
        sequence="7",
        recordedtime=moment,
        traceparent="00-1",
        correlationid="c",
        dataref="file:///x",
    )
    assert (event.id, event.time, event.scope, event.source, event.subject) == ("e-1", moment, "x", "app", "ana")
    assert (event.sequence, event.recordedtime, event.traceparent) == ("7", moment, "00-1")
    assert (event.correlationid, event.dataref) == ("c", "file:///x")


def test_other_events_are_named_by_reference_event_receipt_or_id() -> None:
    """An event and its receipt bring their source along."""
    p = Collected()
    first = p.message(None, "user", "x")
    receipt = Receipt("m-9", "app/other", "acme/u", "t", 0, 1)
    for given, wanted in (
        (first, EventRef(id=first.id, source=first.source)),
        (receipt, EventRef(id="m-9", source="app/other")),
        (EventRef(id="m-8"), EventRef(id="m-8")),
        ("m-7", EventRef(id="m-7")),
    ):
        answer = p.message(None, "assistant", "y", reply_to=given).data
        assert isinstance(answer, Message)
        assert answer.reply_to == wanted


def test_shorthands() -> None:
    """Entities and targets as pairs, served items in order of rank, erasures with the source of what they name."""
    p = Collected()
    recalled = p.recalled("r", "q", [("fact", "a"), ("fact", "b")]).data
    assert isinstance(recalled, Recalled)
    assert [item.id for item in recalled.items] == ["a", "b"]
    rated = p.rated(target=("trace", "t-1"), reward=1).data
    assert isinstance(rated, Rated)
    assert (rated.target and rated.target.id, rated.reward) == ("t-1", 1.0)
    erased = p.erased("message", ["m-1"], of_source="app").data
    assert isinstance(erased, Erased)
    assert erased.source == "app"
    entity_fact = p.fact(ANA, "lives_in", OSLO).data
    assert isinstance(entity_fact, FactStated)
    assert (entity_fact.object and entity_fact.object.name, entity_fact.value) == ("Oslo", None)
    corrected = p.corrected(claim(ANA, "age", "40"), entity_fact).data
    assert isinstance(corrected, Corrected)
    assert corrected.target.value == "40"
    call = p.tool_call("c", "t", status="timeout", error="slow").data
    assert isinstance(call, ToolCall)
    assert call.status.value == "timeout"
    trace = p.trace_started("t-2", "x", parent_trace_id="t-1", parent_step_id="t-1.1").data
    assert isinstance(trace, TraceStarted)
    assert trace.parent_trace_id == "t-1"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda p: p.message(None, "usr", "x"), "role 'usr' is none of user, assistant, system, tool"),
        (lambda p: p.message("", "user", "x"), "'session_id'"),
        (lambda p: p.message(None, "user", 7), "'content'"),
        (lambda p: p.message(None, "user", "x", metadata={"a": float("nan")}), "'metadata'"),
        (lambda p: p.message(None, "user", "x", time=datetime(2026, 1, 1)), "no offset"),
        (lambda p: p.message(None, "user", "x", scope="a//b"), "segment 2"),
        (lambda p: p.tool_call("c", "t", status="done"), "status 'done' is none of pending"),
        (lambda p: p.fact(("Alien", "Zog"), "age", "9"), "entity type 'Alien' is none of Person"),
        (lambda p: p.fact(ANA, "Lives In", OSLO), "'predicate'"),
        (lambda p: p.entity("a\0b", "Person"), "U+0000"),
        (lambda p: p.rated(), "rates nothing"),
    ],
)
def test_wrong_arguments_are_told_at_the_call(call: Callable[[Collected], Event], says: str) -> None:
    """An InvalidEvent names the field, and what may stand there."""
    with pytest.raises(InvalidEvent) as caught:
        call(Collected())
    assert says in str(caught.value)


def test_what_has_no_default_is_asked_for() -> None:
    """A scope, and the agent of a claim."""
    p = Collected(scope=None, agent_id=None)
    with pytest.raises(InvalidEvent, match="no scope") as caught:
        p.message(None, "user", "x")
    assert caught.value.reason == Reason.BAD_SCOPE
    with pytest.raises(InvalidEvent, match="no agent_id"):
        p.claimed("i-1", scope="a")


def test_sources_differ_unless_they_are_given() -> None:
    """Two publishers of one agent are told apart; agent names with spaces are encoded."""
    first, second = (Identity(agent_id="bot 1").with_source().source for _ in range(2))
    assert first != second
    assert first.startswith("bot%201/")
    assert Identity(source="app").with_source().source == "app"


@pytest.mark.parametrize(
    "envelope",
    [
        Envelope(time=datetime(3000, 1, 1, tzinfo=UTC)),
        Envelope(time=datetime(2026, 3, 3, tzinfo=UTC), recordedtime=datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
async def test_a_time_more_than_a_day_ahead_is_refused_at_the_call(envelope: Envelope) -> None:
    """By a method, or ready-made, and without a broker; `recordedtime` counts where an event carries one."""
    async with AsyncPublisher("acme/u", kafka_bootstrap="127.0.0.1:1") as publisher:
        for call in (
            publisher.message("s", "user", "x", **envelope),
            publisher.publish(Collected().message("s", "user", "x", **envelope)),
        ):
            with pytest.raises(InvalidEvent, match=r"more than a day after .*: correct the time") as caught:
                await call
            assert caught.value.reason == Reason.BAD_TIME


async def test_settings_come_whole_or_by_field() -> None:
    """Both at once is an error; a field that is wrong says which."""
    from memstream.settings import load  # noqa: PLC0415

    with pytest.raises(SettingsError, match="not both"):
        AsyncPublisher("a", settings=load(), topic_prefix="x")
    with pytest.raises(SettingsError, match="MEMSTREAM_KAFKA_BOOTSTRAP"):
        AsyncPublisher("a", kafka_bootstrap="nowhere")
