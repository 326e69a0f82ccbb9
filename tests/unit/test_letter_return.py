"""What a dead letter is put back as, and which letters are meant."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import orjson
import pytest
from events import message
from sink_patches import Told

from memstream.cli.dlq_decide import _wanted as decided_about
from memstream.cli.dlq_options import wanted_of
from memstream.schemas.cloudevents import decode, encode, encode_structured
from memstream.schemas.errors import InvalidInput, Reason
from memstream.schemas.ids import utc_text
from memstream.schemas.topics import Topic
from memstream.streams.dead_letters import Decision, Mark, read_mark, write_letter, write_mark
from memstream.streams.letter_book import Filed, Wanted, counted, filed
from memstream.streams.letter_return import as_document, corrected, untouched
from memstream.streams.records import Record, Refusal

MS = 1_772_787_600_000
FIRST = "2026-03-06T09:00:00.000000Z"
SAID = message("acme/u", 1, "said")
Headers = tuple[tuple[str, bytes], ...]


def letter(
    value: bytes | None,
    headers: Headers = (),
    topic: str = "conversation",
    key: bytes | None = SAID.record_key,
    reason: Reason = Reason.BAD_FIELD,
) -> Filed:
    """A dead letter as it is read back."""
    made = write_letter(Record(topic, 2, 7, MS, key, value, headers), Refusal(reason, "wrong"), "extract")
    record = SimpleNamespace(partition=1, offset=5, key=made.key, value=made.value, headers=made.headers)
    return filed(record, {})


def binary(**swapped: str) -> Filed:
    """The letter of an event in binary mode, with some attributes changed."""
    key, value, headers = encode(SAID)
    told = {f"ce_{name}": text.encode() for name, text in swapped.items()}
    return letter(value, tuple((name, told.get(name, raw)) for name, raw in headers), key=key)


def structured(**swapped: object) -> Filed:
    """The letter of an event in structured mode, with some attributes changed."""
    document = orjson.loads(encode_structured(SAID)) | swapped
    return letter(orjson.dumps(document), (("content-type", b"application/cloudevents+json"),))


@pytest.mark.parametrize("made", [binary(), structured()], ids=["binary", "structured"])
def test_an_event_keeps_its_identity_and_its_first_time(made: Filed) -> None:
    """In both modes: the same event, recorded when its record was first appended."""
    message_back = untouched(made)
    back = decode(message_back.headers, message_back.value, message_back.topic)
    assert (message_back.topic, message_back.key) == (Topic.CONVERSATION, SAID.record_key)
    assert (back.key, back.data, back.time) == (SAID.key, SAID.data, SAID.time)
    assert back.recordedtime is not None
    assert utc_text(back.recordedtime) == FIRST
    assert not [name for name, _ in message_back.headers if name.startswith("dl_")]


@pytest.mark.parametrize("time", ["2026-03-05T12:00:00Z", "2026-03-06T10:00:00+01:00"])
def test_a_copy_keeps_the_time_that_it_came_with(time: str) -> None:
    """An earlier first appearance stays, untouched to the byte."""
    made = structured(recordedtime=time)
    assert untouched(made).value == made.value


def test_a_record_that_lay_wrong_goes_where_it_belongs() -> None:
    """Topic and key follow from the event, wherever its publisher put it."""
    key, value, headers = encode(SAID)
    made = letter(value, tuple(headers), topic="state", key=b"nobody", reason=Reason.WRONG_TOPIC)
    back = untouched(made)
    assert (back.topic, back.key, back.value) == (Topic.CONVERSATION, key, value)


def test_what_would_be_refused_again_is_sent_only_if_asked_for() -> None:
    """As it was, to where it came from."""
    made = binary(type="memstream.message.v9")
    with pytest.raises(InvalidInput, match=r"refused again \(newer_version\).*--anyway"):
        untouched(made)
    back = untouched(made, anyway=True)
    assert (back.topic, back.key, back.value) == (Topic.CONVERSATION, made.key, made.value)
    stranger = replace(made, told=replace(made.told, topic="elsewhere"))
    with pytest.raises(InvalidInput, match="does not say from which topic"):
        untouched(stranger, anyway=True)


def test_a_time_that_was_too_far_ahead_stays_too_far_ahead() -> None:
    """It is judged by when it was first recorded, not by when it is retried."""
    with pytest.raises(InvalidInput, match=r"refused again \(bad_time\)"):
        untouched(binary(time="2026-03-09T00:00:00Z"))


def test_a_correction_may_be_the_whole_or_its_data() -> None:
    """Data alone goes into the letter's envelope; either way the identity stays."""
    made = binary(time="2026-03-09T00:00:00Z")
    whole = orjson.loads(as_document(made)) | {"time": "2026-03-05T00:00:00Z"}
    back = corrected(made, orjson.dumps(whole))
    assert decode(back.headers, back.value).key == SAID.key
    data = {"session_id": "s1", "role": "user", "content": "better"}
    back = corrected(binary(), orjson.dumps(data))
    assert decode(back.headers, back.value).data.content == "better"  # type: ignore[attr-defined]
    inside = structured(type="memstream.dream.v1")
    back = corrected(inside, orjson.dumps(orjson.loads(as_document(inside)) | {"type": "memstream.message.v1"}))
    assert decode(back.headers, back.value).key == SAID.key


@pytest.mark.parametrize(
    ("made", "document", "says"),
    [
        (binary(), {"id": "m9"}, "it stays the same"),
        (structured(), {"source": "elsewhere"}, "it stays the same"),
        (binary(), {"scope": "acme//u"}, r"is no event \(bad_scope\)"),
    ],
)
def test_a_correction_is_of_the_same_event(made: Filed, document: dict[str, str], says: str) -> None:
    """Another id or source is another event; what is no event is refused as at the door."""
    whole = orjson.loads(encode_structured(SAID)) | document
    with pytest.raises(InvalidInput, match=says):
        corrected(made, orjson.dumps(whole))


def test_where_the_envelope_can_not_be_read_all_of_it_is_written_anew() -> None:
    """Data alone has nothing to go into then; a whole event takes the letter's place."""
    broken = letter(b"hello {", reason=Reason.NOT_JSON)
    with pytest.raises(InvalidInput, match="write the whole event"):
        corrected(broken, b"{}")
    assert corrected(broken, encode_structured(SAID)).key == SAID.record_key


def test_a_patch_goes_back_as_it_was_if_the_sink_reads_it() -> None:
    """Bytes that are no patch are not sent again unasked, and no patch is made by hand."""
    value = Told("acme/u", "m1", 1).message("said").patch().encode()
    made = letter(value, topic="patches", key=b"acme/u", reason=Reason.GRAPH_REFUSED)
    assert (untouched(made).topic, untouched(made).value) == (Topic.PATCHES, value)
    bad = letter(b"{}", topic="patches", key=b"acme/u", reason=Reason.BAD_PATCH)
    with pytest.raises(InvalidInput, match="would be refused again"):
        untouched(bad)
    assert untouched(bad, anyway=True).value == b"{}"
    with pytest.raises(InvalidInput, match="not by hand"):
        corrected(made, encode_structured(SAID))


def test_the_scope_of_a_letter_is_found_wherever_it_stands() -> None:
    """In a header, in a structured event, in a patch, else in the key."""
    patch = Told("acme/p", "m1", 1).patch().encode()
    assert binary().told.scope == structured().told.scope == "acme/u"
    assert letter(patch, topic="patches", key=None).told.scope == "acme/p"
    assert letter(b"[1]", key=b"acme/k\x1fs1").told.scope == "acme/k"
    assert letter(b"{", key=None).told.scope is None


def test_letters_are_narrowed_by_whole_segments_and_half_open_times() -> None:
    """A scope takes in what is below it; `until` is excluded; what is done is left out unless asked for."""
    made = binary()
    assert Wanted(scope="acme").takes(made)
    assert not Wanted(scope="acm").takes(made)
    assert Wanted(since=FIRST).takes(made)
    assert not Wanted(until=FIRST).takes(made)
    assert not Wanted(reason="bad_time").takes(made)
    assert Wanted(names=frozenset({(1, 5)})).takes(made)
    assert not Wanted(names=frozenset({(1, 6)})).takes(made)
    marked = replace(made, mark=Mark(made.told.place, Decision.DROPPED))
    assert (Wanted().takes(marked), Wanted(done=True).takes(marked)) == (False, True)
    assert counted([made.told, made.told]) == {"bad_field": 2}


def test_a_mark_reads_back_as_it_was_written() -> None:
    """A stranger in its topic is none."""
    mark = Mark(("conversation", 2, 7), Decision.RETRIED, "why", ("conversation", 2, 90))
    record = write_mark(mark)
    assert (record.topic, read_mark(record.key, record.value)) == (Topic.DEAD_LETTER_DONE, mark)
    for key, value in ((None, None), (b"x", b"{}"), (record.key, b"[]"), (record.key, b'{"decision":"kept"}')):
        assert read_mark(key, value) is None


def test_nothing_is_decided_about_by_accident() -> None:
    """Letters are named or narrowed; options that are no time or scope are told as such."""
    with pytest.raises(InvalidInput, match="Name the letters, or narrow them"):
        decided_about(None, wanted_of(None, None, None, None))
    assert decided_about(["3:17"], Wanted()).names == {(3, 17)}
    assert wanted_of(None, None, "2026-03-06T10:00+01:00", None).since == FIRST
    with pytest.raises(InvalidInput, match="--until 'soon' is no time"):
        wanted_of(None, None, None, "soon")
    with pytest.raises(InvalidInput, match="names no dead letter"):
        decided_about(["seven"], Wanted())
