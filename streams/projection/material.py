"""What is made ready of an event before it is projected: its texts to read and to embed, and what is cut of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memstream.schemas.board import Answered, Posted
from memstream.schemas.conversation import Document, Message, Role
from memstream.schemas.events import Event
from memstream.schemas.extraction import Extraction, Mention, Turn
from memstream.schemas.patch import Origin, Vector
from memstream.schemas.statement import Card
from memstream.schemas.tools import Step, ToolCall, TraceStarted
from memstream.streams.projection.passages import Passage, passages
from memstream.streams.projection.speakers import board_speaker, document_speaker, message_speaker
from memstream.streams.shrink import Shrunk, shrink

# A knowledge base is not a document: beyond these its passages are kept and found by their words alone.
PASSAGES_EMBEDDED = 400
PASSAGES_READ = 60

PART = "#"  # between an event's key and the number of a part of its text
NOTHING = Extraction()


@dataclass(frozen=True, slots=True)
class Material:
    """An event, ready to be read and projected.

    `large` is the one value that may have been cut down (a tool's result, a tool message, an observation) and
    `handle` where its whole lies; `turns` are to be extracted, `texts` to be embedded.
    """

    event: Event
    origin: Origin
    large: Shrunk | None = None
    handle: str | None = None
    passages: tuple[Passage, ...] = ()
    turns: tuple[Turn, ...] = ()
    texts: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """What the models made of it: the extraction (of all turns), and the vector of each text."""

    extraction: Extraction = NOTHING
    vectors: Mapping[str, Vector] = field(default_factory=dict)


def prepare(event: Event, origin: Origin, shrink_above: int) -> Material:
    """The material of an event. Pure: nothing is read, embedded or written yet."""
    ready = Material(event, origin)
    match event.data:
        case Message() as message:
            ready = _message(ready, message, shrink_above)
        case Document() as document:
            ready = _document(ready, document)
        case ToolCall() as call:
            ready = _with_large(ready, shrink(call.result, shrink_above))
        case Step() as step:
            ready = _with_large(ready, shrink(step.observation or "", shrink_above))
        case Posted() | Answered() as post:
            speaker = board_speaker(event, post.agent_id)
            ready = replace(ready, turns=_turns(event, (post.text,), speaker, Role.ASSISTANT, named=True))
        case TraceStarted() as started:
            ready = replace(ready, texts=_texts(started.task))
        case Card() as card:
            ready = replace(ready, texts=_texts(card_text(card)))
    return ready


def card_text(card: Card) -> str:
    """The text by which a card is found."""
    return f"{card.title}\n{card.content}"


def merged(material: Material, extractions: list[Extraction]) -> Extraction:
    """One extraction of all turns; those of a document's passages with offsets that count from its beginning."""
    if len(extractions) == 1 and not material.passages:
        return extractions[0]
    starts = [passage.start for passage in material.passages] or [0] * len(extractions)
    mentions: list[Mention] = []
    for start, extraction in zip(starts, extractions, strict=False):
        mentions += [replace(m, start=m.start + start, end=m.end + start) for m in extraction.mentions]
    return Extraction(
        mentions=tuple(mentions),
        assertions=tuple(a for extraction in extractions for a in extraction.assertions),
        retractions=tuple(r for extraction in extractions for r in extraction.retractions),
        preferences=tuple(p for extraction in extractions for p in extraction.preferences),
        same_as=tuple(s for extraction in extractions for s in extraction.same_as),
        cut=tuple(c for extraction in extractions for c in extraction.cut),
        missing=tuple(dict.fromkeys(m for extraction in extractions for m in extraction.missing)),
        outcomes=tuple(o for extraction in extractions for o in extraction.outcomes),
    )


def _message(bare: Material, data: Message, shrink_above: int) -> Material:
    text = data.content
    ready = bare
    if data.role is Role.TOOL:
        ready = _with_large(bare, shrink(text, shrink_above))
        text = ready.large.text if ready.large else text
    named = data.name is not None and data.role in (Role.USER, Role.ASSISTANT)
    speaker = message_speaker(bare.event, data)
    turns = _turns(bare.event, (text,), speaker, data.role, named=named, asserts=not data.recalled)
    return replace(ready, turns=turns, texts=_texts(text))


def _document(bare: Material, data: Document) -> Material:
    cut = tuple(passages(data.text))
    notes = []
    if len(cut) > PASSAGES_READ:
        notes.append(f"facts are read from the first {PASSAGES_READ} of {len(cut)} passages only")
    if len(cut) > PASSAGES_EMBEDDED:
        notes.append(f"vectors are made for the first {PASSAGES_EMBEDDED} of {len(cut)} passages only")
    # a document counts as asserted by the one who hands it over
    read = tuple(passage.text for passage in cut[:PASSAGES_READ])
    turns = _turns(bare.event, read, document_speaker(bare.event, data), Role.USER)
    texts = tuple(passage.text for passage in cut[:PASSAGES_EMBEDDED])
    return replace(bare, passages=cut, turns=turns, texts=texts, cut=tuple(notes))


def _turns(
    event: Event, texts: tuple[str, ...], speaker: str, role: Role, *, named: bool = False, asserts: bool = True
) -> tuple[Turn, ...]:
    # the key of the event names the turn, so what an extractor cites as used is a key already
    said = [text for text in texts if text.strip()]
    keys = [event.key, *(f"{event.key}{PART}{number}" for number in range(1, len(said)))]
    return tuple(
        Turn(key, role.value, speaker, text, event.time, named=named, asserts=asserts)
        for key, text in zip(keys, said, strict=False)
    )


def _texts(text: str) -> tuple[str, ...]:
    return (text,) if text.strip() else ()


def _with_large(bare: Material, large: Shrunk) -> Material:
    if large.whole is None:
        return replace(bare, large=large)
    note = f"a result of {large.size:,} bytes was cut down to what memory needs, sha256 {large.sha256}"
    return replace(bare, large=large, cut=(note,))
