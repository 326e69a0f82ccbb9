"""What was published under a former version is read for ever, and what is newer than this code says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from memstream.schemas import cloudevents, patch_versions
from memstream.schemas.base import Data
from memstream.schemas.errors import InvalidEvent, InvalidPatch, Reason
from memstream.schemas.events import BY_SHORT, EVENT_TYPES, FORMER_TYPES
from memstream.schemas.export import ALL_TYPES, asyncapi, event_schema
from memstream.schemas.feedback import Recalled, Served
from memstream.schemas.former import RecalledV1, ServedV1
from memstream.schemas.patch import PATCH_VERSION, Patch, Verdict
from memstream.schemas.upcasting import FORMER, Former, recalled_v2, upcast
from memstream.sinks.records import digest_of

DATA = Path(__file__).parents[1] / "data"
RECALLED_V1 = (DATA / "events" / "recalled.v1.jsonl").read_bytes().splitlines()
PATCHES_V1 = (DATA / "patches" / "v1.jsonl").read_bytes().splitlines()

_WORD = st.text("abc", min_size=1, max_size=4)
_RECALLED = st.builds(
    RecalledV1,
    recall_id=_WORD,
    query=_WORD,
    items=st.lists(st.builds(ServedV1, kind=_WORD, id=_WORD, rank=st.integers(1, 9), score=st.none()), max_size=5).map(
        tuple
    ),
    session_id=st.none() | _WORD,
)
FORMER_DATA: dict[str, st.SearchStrategy[Data]] = {"memstream.recalled.v1": _RECALLED}


def binary(document: bytes) -> tuple[list[tuple[str, bytes | None]], bytes]:
    """The same event in binary mode: its envelope in headers."""
    told: dict[str, Any] = orjson.loads(document)
    data = orjson.dumps(told.pop("data"))
    told.pop("datacontenttype")
    return [(f"ce_{name}", text.encode()) for name, text in told.items()], data


@pytest.mark.parametrize("document", RECALLED_V1, ids=["ranks", "nothing served"])
def test_a_first_recall_is_read_as_one_of_today_in_both_modes(document: bytes) -> None:
    """Its type is the present one, its items stand in the order of the ranks that they had."""
    headers, data = binary(document)
    for event in (cloudevents.decode_structured(document, "feedback"), cloudevents.decode(headers, data, "feedback")):
        assert event.type == "memstream.recalled.v2"
        assert isinstance(event.data, Recalled)
        assert [item.id for item in event.data.items] in (["first", "second", "last"], [])
        assert cloudevents.decode_structured(cloudevents.encode_structured(event)) == event


def test_what_was_wrong_by_its_own_version_is_refused_by_it() -> None:
    """A field of today in data of a former version is as wrong as it was then."""
    document = orjson.loads(RECALLED_V1[0])
    del document["data"]["items"][0]["rank"]
    with pytest.raises(InvalidEvent, match=r"data field 'items.0.rank': Field required") as told:
        cloudevents.decode_structured(orjson.dumps(document))
    assert told.value.reason is Reason.MISSING_FIELD


@pytest.mark.parametrize("name", FORMER_TYPES)
@given(draw=st.data())
def test_a_step_is_pure_and_keeps_the_key(name: str, draw: st.DataObject) -> None:
    """The record lies under the key that the event had, in the topic of its type: both stay what they were."""
    kind = FORMER_TYPES[name]
    data = draw.draw(FORMER_DATA[name])
    today = kind.today(data)
    assert type(today) is kind.present.data
    assert today == kind.today(data)
    assert today.key_part() == data.key_part()
    assert kind.topic is kind.present.topic


def test_every_former_version_has_its_row() -> None:
    """Versions count from 1 without a gap, and the present one comes after them."""
    for short, former in FORMER.items():
        names = [f"memstream.{short}.v{number}" for number in range(1, len(former) + 2)]
        assert names[:-1] == [name for name in FORMER_TYPES if FORMER_TYPES[name].short == short]
        assert names[-1] in EVENT_TYPES
    assert set(FORMER_DATA) == set(FORMER_TYPES)


class _Third(Data):
    """A version that there may be one day."""

    recall: str
    served: int


def test_steps_are_chained_from_any_version() -> None:
    """From the first through the second to the third, and from the second to the third."""

    def third(old: Recalled) -> _Third:
        return _Third(recall=old.recall_id, served=len(old.items))

    chain = (Former(RecalledV1, recalled_v2), Former(Recalled, third))
    first = RecalledV1(recall_id="r", query="q", items=(ServedV1(kind="fact", id="f", rank=3),))
    second = Recalled(recall_id="r", query="q", items=(Served(kind="fact", id="f"),))
    assert upcast(first, 1, chain) == upcast(second, 2, chain) == _Third(recall="r", served=1)
    assert upcast(second, 2, chain[:1]) == second


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("memstream.recalled.v3", Reason.NEWER_VERSION),
        ("memstream.message.v2", Reason.NEWER_VERSION),
        ("memstream.message.v0", Reason.UNKNOWN_TYPE),
        ("memstream.dream.v2", Reason.UNKNOWN_TYPE),
        ("message", Reason.UNKNOWN_TYPE),
    ],
)
def test_a_newer_version_says_what_to_do(name: str, reason: Reason) -> None:
    """A type that is there in a version that is not: update first. Anything else is unknown."""
    document = orjson.dumps({**orjson.loads(RECALLED_V1[0]), "type": name})
    with pytest.raises(InvalidEvent) as told:
        cloudevents.decode_structured(document)
    assert told.value.reason is reason
    assert ("update it first" in str(told.value)) is (reason is Reason.NEWER_VERSION)


def test_the_contract_shows_every_version() -> None:
    """A former version has its schema, marked as deprecated, and its message in the channel of its type."""
    document = asyncapi()
    for kind in ALL_TYPES:
        assert kind.name in document["channels"][kind.topic.value]["messages"]
        assert event_schema(kind).get("deprecated", False) is (kind.name in FORMER_TYPES)
    former = document["components"]["messages"]["memstream.recalled.v1"]
    assert former["summary"].endswith("Read for ever; publish memstream.recalled.v2.")
    for line in RECALLED_V1:
        Draft202012Validator(event_schema(FORMER_TYPES["memstream.recalled.v1"])).validate(orjson.loads(line))
        with pytest.raises(Exception, match="was expected"):
            Draft202012Validator(event_schema(BY_SHORT["recalled"])).validate(orjson.loads(line))


@pytest.mark.parametrize("line", PATCHES_V1, ids=["fact", "preference", "refused"])
def test_the_first_patches_are_read(line: bytes) -> None:
    """Patches of version 1 as they were written, with all that they say."""
    patch = Patch.decode(line)
    told = orjson.loads(line)
    assert (patch.origin.id, patch.generation) == (told["origin"]["id"], told["generation"])
    assert (len(patch.nodes), len(patch.assertions)) == (len(told.get("nodes", ())), len(told.get("assertions", ())))
    assert (patch.verdict is Verdict.DEAD_LETTERED) is (told.get("verdict") == "dead_lettered")


def test_a_patch_of_the_second_version_tells_whom_it_lacks() -> None:
    """And says for the rest what one of the first version said: both have one digest but for the mark."""
    [line] = (DATA / "patches" / "v2.jsonl").read_bytes().splitlines()
    first, second = Patch.decode(PATCHES_V1[0]), Patch.decode(line)
    assert (first.missing, second.missing) == ((), ("openai",))
    assert first == second.model_copy(update={"missing": ()})
    assert digest_of(PATCHES_V1[0]) == digest_of(orjson.dumps(orjson.loads(PATCHES_V1[0]) | {"version": 2}))


def test_each_former_patch_version_has_a_step() -> None:
    """No version before the present one is without its way to the next."""
    assert set(patch_versions.STEPS) == set(range(1, PATCH_VERSION))


def test_a_former_patch_goes_through_every_step() -> None:
    """Each step gives the object of the next version; what is no former patch is left alone."""
    steps = {1: lambda patch: patch | {"a": 1}, 2: lambda patch: patch | {"b": patch["a"] + 1}}
    found = patch_versions.as_present(b'{"version":1,"x":0}', 3, steps)
    assert found is not None
    assert orjson.loads(found) == {"version": 3, "x": 0, "a": 1, "b": 2}
    assert patch_versions.as_present(b'{"version":3}', 3, steps) is None
    assert patch_versions.as_present(b'{"version":"1"}', 3, steps) is None
    assert patch_versions.as_present(b"[]", 3, steps) is None


def test_a_patch_of_a_former_version_is_decoded_through_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch that today's form does not take is brought up and then read."""
    monkeypatch.setitem(patch_versions.STEPS, 0, lambda patch: {k: v for k, v in patch.items() if k != "gone"})
    old = orjson.loads(PATCHES_V1[0]) | {"version": 0, "gone": True}
    assert Patch.decode(orjson.dumps(old)) == Patch.decode(PATCHES_V1[0])


def test_a_newer_patch_says_what_to_do() -> None:
    """Also where it has fields that this code does not know."""
    newer = orjson.loads(PATCHES_V1[0]) | {"version": PATCH_VERSION + 1, "fields": "of tomorrow"}
    with pytest.raises(InvalidPatch, match="update the sink first"):
        Patch.decode(orjson.dumps(newer))
