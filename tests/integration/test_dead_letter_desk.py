"""What is decided about dead letters, against the real Kafka: put back once, marked, counted; two people at once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from dlq_command import call, told
from events import message, publish_raw, read
from sink_patches import Told
from stage_processes import until

from memstream.cli.dlq import THERE_ARE
from memstream.schemas.cloudevents import decode, encode
from memstream.schemas.errors import InvalidInput, Reason
from memstream.schemas.topics import Topic
from memstream.settings import Settings
from memstream.streams.dead_letters import Decision, Mark, read_letter, write_letter
from memstream.streams.letter_book import Filed, Wanted, read_letters, read_marks
from memstream.streams.letter_desk import Decided, Desk, DeskTaken
from memstream.streams.letter_return import untouched
from memstream.streams.letter_watch import Waiting, watch_letters
from memstream.streams.metrics import DEAD_LETTERS_WAITING
from memstream.streams.records import Record, Refusal
from memstream.streams.topics_admin import create_topics

MS = 1_772_787_600_000


async def file_letters(settings: Settings, scope: str, *reasons: Reason, first: int = 1) -> None:
    """A dead letter for each reason: a message that is right by now, whoever refused it then."""
    await create_topics(settings)
    sent = []
    for number, reason in enumerate(reasons, start=first):
        key, value, headers = encode(message(scope, number, f"said {number}"))
        record = Record("conversation", 1, number, MS + number * 60_000, key, value, tuple(headers))
        letter = write_letter(record, Refusal(reason, f"no {number}"), "extract")
        sent.append((Topic.DEAD_LETTER, letter.key, letter.value, list(letter.headers)))
    await publish_raw(settings, sent)


async def waiting(settings: Settings, **narrow: Any) -> list[Filed]:
    """The letters that wait, by the origin's offset."""
    found = [letter async for letter in read_letters(settings, Wanted(**narrow))]
    return sorted(found, key=lambda letter: letter.told.offset)


async def test_letters_are_narrowed_counted_and_dropped(own_settings: Settings, scope: str) -> None:
    """By reason, scope and time; `check` ends with an exit code of its own; what was dropped is hidden, and kept."""
    code, output = await call(own_settings, "drop")
    assert (code, "Name the letters" in output) == (1, True)
    await file_letters(own_settings, scope, Reason.BAD_TIME, Reason.BAD_FIELD, Reason.BAD_TIME)
    await file_letters(own_settings, f"{scope}/below", Reason.BAD_SCOPE, first=4)
    await file_letters(own_settings, f"{scope}x", Reason.BAD_SCOPE, first=5)
    counts = {"waiting": 5, "reasons": {"bad_scope": 2, "bad_time": 2, "bad_field": 1}}
    assert await told(own_settings, "check") == counts
    assert (await call(own_settings, "check"))[0] == THERE_ARE
    assert (await call(own_settings, "check", "--most", "5"))[0] == 0
    offsets = [row["offset"] for row in await told(own_settings, "list", "--scope", scope)]
    assert offsets == [1, 2, 3, 4]
    assert [row["offset"] for row in await told(own_settings, "list", "--reason", "bad_time")] == [1, 3]
    since = ("--since", "2026-03-06T09:03Z", "--until", "2026-03-06T09:05:00Z")
    assert [row["offset"] for row in await told(own_settings, "list", *since)] == [3, 4]
    code, output = await call(own_settings, "list", "--since", "yesterday")
    assert "is no time such as" in output

    dropped = await told(own_settings, "drop", "--reason", "bad_time", "--note", "a test of clocks")
    assert dropped == {"dropped": 2, "known": 0}
    assert [row["offset"] for row in await told(own_settings, "list")] == [2, 4, 5]
    done = {row["offset"]: row["done"] for row in await told(own_settings, "list", "--all")}
    assert done == {1: "dropped", 2: None, 3: "dropped", 4: None, 5: None}
    assert (await read_marks(own_settings))["conversation", 1, 3].note == "a test of clocks"
    assert (await told(own_settings, "drop", "--reason", "bad_time"))["known"] == 2
    assert await read(own_settings, Topic.CONVERSATION) == []


async def test_an_event_goes_back_as_it_was_with_its_first_time(own_settings: Settings, scope: str) -> None:
    """Bytes and id untouched, under its key, with the time it was first recorded at; once, however often asked."""
    await file_letters(own_settings, scope, Reason.EXTRACTION_FAILED)
    first = await told(own_settings, "retry", "--reason", "extraction_failed", "--wait", "0")
    assert (len(first["retried"]), first["known"]) == (1, 0)
    again = await told(own_settings, "retry", "--reason", "extraction_failed", "--wait", "0")
    assert (again["retried"], again["known"]) == ([], 1)
    [record] = await read(own_settings, Topic.CONVERSATION)
    assert first["retried"] == [["conversation", record.partition, record.offset]]
    sent = message(scope, 1, "said 1")
    assert (record.key, record.value) == (sent.record_key, encode(sent)[1])
    back = decode(record.headers, record.value, "conversation")
    assert (back.key, back.data) == (sent.key, sent.data)
    assert back.recordedtime is not None
    assert round(back.recordedtime.timestamp() * 1000) == MS + 60_000
    mark = (await read_marks(own_settings))["conversation", 1, 1]
    assert (mark.decision, mark.sent) == (Decision.RETRIED, ("conversation", record.partition, record.offset))
    code, output = await call(own_settings, "retry", "9:9")
    assert (code, "There is no dead letter 9:9" in output) == (1, True)


async def test_a_patch_goes_back_to_the_sink(own_settings: Settings, scope: str) -> None:
    """What the sink refused is put back untouched where it takes patches; by hand none is made."""
    await create_topics(own_settings)
    value = Told(scope, "m1", 1).message("said").patch().encode()
    record = Record("patches", 2, 7, MS, scope.encode(), value)
    letter = write_letter(record, Refusal(Reason.GRAPH_REFUSED, "too much"), "sink")
    await publish_raw(own_settings, [(Topic.DEAD_LETTER, letter.key, letter.value, list(letter.headers))])
    [filed] = await waiting(own_settings, scope=scope)
    code, output = await call(own_settings, "retry", filed.name, "--file", "-", text="{}")
    assert (code, "is a patch" in output) == (1, True)
    assert len((await told(own_settings, "retry", filed.name))["retried"]) == 1
    [back] = await read(own_settings, Topic.PATCHES)
    assert (back.key, back.value) == (scope.encode(), value)
    assert await waiting(own_settings) == []


def decided(letters: list[Filed]) -> list[Decided]:
    """All put back as they were."""
    return [Decided(one, untouched(one), Mark(one.told.place, Decision.RETRIED)) for one in letters]


async def test_two_people_at_once_put_an_event_back_once(own_settings: Settings, scope: str) -> None:
    """Who opens the desk later has it: the first is told so, and its copy is known by its id."""
    await file_letters(own_settings, scope, Reason.BAD_FIELD)
    letters = await waiting(own_settings)
    async with Desk(own_settings) as first, Desk(own_settings) as second:
        marked = await second.decide(decided(letters))
        with pytest.raises(DeskTaken, match="Somebody else"):
            await first.decide(decided(letters))
        assert await second.decide(decided(letters)) == []
    async with Desk(own_settings) as third:
        assert await third.decide(decided(letters)) == []
    records = await read(own_settings, Topic.CONVERSATION)
    assert len({decode(record.headers, record.value).key for record in records}) == 1
    assert list((await read_marks(own_settings)).values()) == marked


async def test_a_crash_before_the_mark_leaves_the_letter(own_settings: Settings, scope: str) -> None:
    """The event is there, the letter waits; the next retry sends the same event, which is known by its id."""
    await file_letters(own_settings, scope, Reason.BAD_FIELD)
    letters = await waiting(own_settings)
    [one] = decided(letters)
    assert one.message is not None
    sent = (one.message.topic, one.message.key, one.message.value, list(one.message.headers))
    await publish_raw(own_settings, [sent])  # all that a process that died then had done
    assert len(await waiting(own_settings)) == 1
    async with Desk(own_settings) as desk:
        assert len(await desk.decide([one])) == 1
    first, second = await read(own_settings, Topic.CONVERSATION)
    assert (first.key, first.value, first.headers) == (second.key, second.value, second.headers)
    assert await waiting(own_settings) == []


async def test_the_metric_counts_what_waits(own_settings: Settings, scope: str) -> None:
    """By reason; a mark takes its letter out, also one that is read before its letter."""
    counts = Waiting()
    counts.done(("conversation", 0, 1))
    counts.refused(("conversation", 0, 1), "bad_time")
    counts.refused(("conversation", 0, 2), "a stranger's")
    assert counts.counts() == {"other": 1}
    counts.done(("conversation", 0, 2))
    assert counts.counts() == {"other": 0}

    await file_letters(own_settings, scope, Reason.TOO_DEEP, Reason.TOO_DEEP)
    watching = asyncio.create_task(watch_letters(own_settings))
    gauge = DEAD_LETTERS_WAITING.labels("too_deep")
    try:
        await counted(gauge, 2)
        await told(own_settings, "drop", (await waiting(own_settings))[0].name)
        await counted(gauge, 1)
    finally:
        watching.cancel()


async def counted(gauge: Any, wanted: int) -> None:
    """Wait until a gauge shows a number."""

    async def shows() -> bool:
        return bool(gauge._value.get() == wanted)

    await until(shows, 30, f"{wanted} dead letters are counted")


async def test_a_correction_is_of_the_same_event(own_settings: Settings, scope: str) -> None:
    """Another id is another event, and refused; the right one is put back and marked."""
    await file_letters(own_settings, scope, Reason.BAD_FIELD)
    [letter] = await waiting(own_settings)
    code, output = await call(own_settings, "show", letter.name, "--event")
    assert code == 0
    document = json.loads(output)
    other = json.dumps({**document, "id": "m9"})
    code, output = await call(own_settings, "retry", letter.name, "--file", "-", text=other)
    assert (code, "it stays the same" in output) == (1, True)
    wrong = json.dumps({**document, "data": {}})
    code, output = await call(own_settings, "retry", letter.name, "--file", "-", text=wrong)
    assert (code, "is no event (missing_field)" in output) == (1, True)
    assert len(await waiting(own_settings)) == 1
    code, output = await call(own_settings, "retry", letter.name, "--edit")
    assert (code, "set EDITOR" in output) == (1, True)
    code, output = await call(
        own_settings, "retry", letter.name, "--wait", "0", "--edit", editor="sed -i 's/said 1/said rightly/'"
    )
    assert (code, "1 put back" in output) == (0, True), output
    [record] = await read(own_settings, Topic.CONVERSATION)
    assert decode(record.headers, record.value).data.content == "said rightly"  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match="was cut"):
        untouched(cut_letter(letter))


def cut_letter(letter: Filed) -> Filed:
    """The same, as if its value had been too large for a letter."""
    headers = (*letter.headers, ("dl_size", b"3000000"))
    return Filed(letter.partition, letter.offset, read_letter(headers, letter.value), letter.key, letter.value, headers)
