"""Passages, speakers, and what happens to an event with too much in it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memstream.schemas.conversation import Document, Message, Role
from memstream.schemas.events import Event
from memstream.schemas.extraction import EntityName, EntityType, Extraction, Mention
from memstream.schemas.limits import MAX_PATCH_BYTES, MAX_PATCH_ROWS
from memstream.schemas.patch import Label, Origin, Patch, Vector
from memstream.streams.projection import Findings, encode, prepare, project
from memstream.streams.projection.material import PASSAGES_EMBEDDED, PASSAGES_READ
from memstream.streams.projection.passages import SIZE, passages
from memstream.streams.projection.speakers import message_speaker

TIME = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def event_of(data: Message | Document, source: str = "agent://a") -> Event:
    """An event of the data."""
    return Event.of(data, id="e1", source=source, time=TIME, scope="acme/u-1")


def origin_of(event: Event) -> Origin:
    """An origin for it."""
    return Origin(
        scope=event.scope,
        source=event.source,
        id=event.id,
        key=event.key,
        type=event.type,
        topic="conversation",
        partition=0,
        offset=1,
        time="2026-03-01T09:00:00.000000Z",
        recorded_at="2026-03-01T09:00:00.000000Z",
        order=event.order,
    )


def patch_of(event: Event, findings: Findings | None = None) -> Patch:
    """The patch of an event."""
    material = prepare(event, origin_of(event), 16_384)
    return project(material, findings or Findings(), extractor="x", generation=1)


def test_paragraphs_are_kept_together_up_to_a_size() -> None:
    """Short ones share a passage, in order, each at its place; nothing but white space is lost."""
    text = "\n\n".join(f"Paragraph {n} says something of its own." for n in range(60))
    cut = passages(text)
    assert all(len(passage.text) <= SIZE for passage in cut)
    assert all(text[p.start : p.start + len(p.text)] == p.text for p in cut)
    assert "\n\n".join(p.text for p in cut) == text
    assert [p.number for p in cut] == list(range(len(cut)))


def test_a_long_paragraph_is_cut_at_a_sentence_or_a_word() -> None:
    """Text without paragraphs ends its passages after sentences; without those after words; else anywhere."""
    assert all(p.text.endswith(".") for p in passages("This is a sentence. " * 200))
    assert all(p.text.endswith("word") for p in passages("word " * 500))
    assert [len(p.text) for p in passages("x" * 2_000)] == [SIZE, SIZE, 400]


@pytest.mark.parametrize("text", ["", " \n\n \n", "\n" * 100_000, " \n" * 100_000 + "x"])
def test_white_space_makes_no_passage(text: str) -> None:
    """Blank text has none, however much of it there is."""
    assert len(passages(text)) == len(text.split())


def test_the_first_person_is_whoever_has_an_id() -> None:
    """User id, participant's name, agent id; nobody's name is of the session and source alone."""
    plain = Message(session_id="s1", role=Role.USER, content="I")
    assert message_speaker(event_of(plain), plain.model_copy(update={"user_id": "u", "name": "Mara"})) == "u"
    assert message_speaker(event_of(plain), plain.model_copy(update={"name": "Mara"})) == "Mara"
    agent = plain.model_copy(update={"role": Role.ASSISTANT, "agent_id": "scout", "user_id": "u"})
    assert message_speaker(event_of(plain), agent) == "scout"
    tool = plain.model_copy(update={"role": Role.TOOL, "name": "search"})
    nobodies = {
        message_speaker(event_of(plain), plain),
        message_speaker(event_of(plain, "agent://b"), plain),
        message_speaker(event_of(plain), plain.model_copy(update={"session_id": "s2"})),
        message_speaker(event_of(plain), plain.model_copy(update={"role": Role.ASSISTANT})),
        message_speaker(event_of(plain), tool),
    }
    assert len(nobodies) == 5
    long = plain.model_copy(update={"session_id": "s" * 256})
    assert len(message_speaker(event_of(long, "x" * 256), long)) <= 80


def test_a_named_participant_may_assert_whatever_the_role() -> None:
    """Name marks a participant, but on a tool's message it is the tool; recalled text asserts nothing."""
    for role, named in ((Role.USER, True), (Role.ASSISTANT, True), (Role.TOOL, False)):
        event = event_of(Message(session_id="s", role=role, content="x", name="Ada", recalled=named))
        [turn] = prepare(event, origin_of(event), 100).turns
        assert turn.named is named
        assert turn.asserts is not named


def test_a_knowledge_base_is_read_and_embedded_in_part() -> None:
    """Beyond a bound passages have no vector and no facts are read, and the patch says so."""
    event = event_of(Document(document_id="d", title="t", text="\n\n".join(["word " * 150] * 500)))
    material = prepare(event, origin_of(event), 16_384)
    assert (len(material.passages), len(material.turns), len(material.texts)) == (500, PASSAGES_READ, PASSAGES_EMBEDDED)
    assert len(patch_of(event).cut) == 2


def test_rows_beyond_the_limit_are_left_out_and_counted() -> None:
    """A text with thousands of names fills its patch; no edge lacks its node; the patch says how many are missing."""
    event = event_of(Message(session_id="s", role=Role.USER, content="x"))
    names = [EntityName(EntityType.OBJECT, f"n{number}") for number in range(4_000)]
    mentions = tuple(Mention(name, name.name, 0, 2) for name in names)
    patch = patch_of(event, Findings(Extraction(mentions=mentions)))
    assert len(patch.nodes) + len(patch.edges) == MAX_PATCH_ROWS
    ids = {row.id for row in patch.nodes}
    assert all(row.from_id in ids and row.to_id in ids for row in patch.edges)
    assert "rows beyond the 5,000" in patch.cut[-1]


def test_bytes_beyond_the_limit_cost_vectors_first_then_rows() -> None:
    """A patch always fits its topic; the node of the event itself is kept."""
    event = event_of(Document(document_id="d", title="t", text="x"))
    patch = patch_of(event)
    row = patch.nodes[0].model_copy(update={"vector": Vector(model="m", packed="A" * 10_000)})
    heavy = patch.model_copy(update={"nodes": (row,) * 1_000})
    value = encode(heavy)
    assert len(value) < MAX_PATCH_BYTES
    assert len(Patch.decode(value).nodes) == 1_000
    fat = row.model_copy(update={"props": {"text": "y" * 100_000}})
    cut = Patch.decode(encode(patch.model_copy(update={"nodes": (*patch.nodes, *(fat,) * 1_000)})))
    assert cut.nodes[0].label is Label.DOCUMENT
    assert 1 < len(cut.nodes) < 100
    assert "half of the rows" in cut.cut[-1]
