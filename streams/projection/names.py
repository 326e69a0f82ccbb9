"""The nodes that an event names: a label and an id for each thing that has an id given by its publisher."""

from __future__ import annotations

import functools
from typing import NamedTuple

from memstream.schemas.base import EventRef
from memstream.schemas.events import Event
from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id, event_key, hash_of, named_id
from memstream.schemas.names import display_name, normalise_name
from memstream.schemas.patch import Label, Origin

_PART = "\x1f"


class Known(NamedTuple):
    """What a name of a type stands for in a scope."""

    id: str
    shown: str
    norm: str


@functools.lru_cache(maxsize=8_192)
def known(scope: str, kind: EntityType, name: str) -> Known:
    """The entity of a type and a name. Remembered: the same few are named again and again."""
    return Known(entity_id(scope, kind, name), display_name(name), normalise_name(name))


class Ref(NamedTuple):
    """A node by label and id: the end of an edge."""

    label: Label
    id: str


def conversation(scope: str, session_id: str) -> Ref:
    """The session."""
    return Ref(Label.CONVERSATION, named_id("session", scope, session_id))


def trace(scope: str, trace_id: str) -> Ref:
    """The run."""
    return Ref(Label.TRACE, named_id("trace", scope, trace_id))


def step(scope: str, trace_id: str, step_id: str) -> Ref:
    """The step: its id is unique inside its trace only."""
    return Ref(Label.STEP, named_id("step", scope, trace_id + _PART + step_id))


def call(scope: str, call_id: str) -> Ref:
    """The tool call."""
    return Ref(Label.TOOL_CALL, named_id("call", scope, call_id))


def tool(scope: str, name: str) -> Ref:
    """The tool."""
    return Ref(Label.TOOL, named_id("tool", scope, name))


def agent(scope: str, agent_id: str) -> Ref:
    """The agent."""
    return Ref(Label.AGENT, named_id("agent", scope, agent_id))


def recall(scope: str, recall_id: str) -> Ref:
    """One answer of the query service."""
    return Ref(Label.RECALL, named_id("recall", scope, recall_id))


def card(scope: str, card_id: str) -> Ref:
    """A card, by its id or by the hash of its content."""
    return Ref(Label.MEMORY, named_id("card", scope, card_id))


def tag(scope: str, name: str) -> Ref:
    """A tag: two spellings of one name are one tag."""
    return Ref(Label.TAG, named_id("tag", scope, normalise_name(name)))


def item(scope: str, item_id: str) -> Ref:
    """What was posted on the board."""
    return Ref(Label.BOARD_ITEM, named_id("item", scope, item_id))


def state_item(scope: str, key: str) -> Ref:
    """The value that is kept under a key."""
    return Ref(Label.STATE_ITEM, named_id("state", scope, key))


def thread(scope: str, thread_id: str) -> Ref:
    """The thread whose checkpoints are kept."""
    return Ref(Label.STATE_ITEM, named_id("thread", scope, thread_id))


def checkpoint(scope: str, *parts: str) -> Ref:
    """A checkpoint, or the writes of a task that belong to one."""
    return Ref(Label.CHECKPOINT, named_id("checkpoint", scope, hash_of(*parts)))


def message(event: Event, ref: EventRef) -> Ref:
    """The message that an event refers to; its source is the event's own where it is left out."""
    return Ref(Label.MESSAGE, event_key(event.scope, ref.source or event.source, ref.id))


def passage(origin: Origin, number: int) -> Ref:
    """A passage of a document."""
    return Ref(Label.PASSAGE, hash_of("passage", origin.key, str(number)))


def log_order(origin: Origin) -> str:
    """A key that sorts by the log and not by the clocks of publishers: for what is decided by who came first."""
    return _PART.join((origin.recorded_at, f"{origin.partition:06d}", f"{origin.offset:020d}"))
