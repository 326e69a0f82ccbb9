"""The constraints and indexes of the graph (docs/graph.md), as texts to create them, each if it is not there yet."""

from __future__ import annotations

from memstream.schemas.patch import Label

NODE_KEYS = (
    *sorted(label.value for label in Label),
    "Event",
    "Erasure",
    "Outbox",
    "ErasureWork",
    "Payload",
    "Assertion",
    "Retraction",
    "Fact",
    "Preference",
)

RANGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "memstream_message_order": ("Message", ("scope", "session_id", "order")),
    "memstream_fact_slot": ("Fact", ("scope", "slot")),
    "memstream_fact_current": ("Fact", ("scope", "slot", "current")),
    "memstream_fact_last": ("Fact", ("scope", "slot", "last_place")),
    "memstream_fact_lead": ("Fact", ("scope", "slot", "lead")),
    "memstream_fact_turn": ("Fact", ("scope", "slot", "turn")),
    "memstream_fact_subject": ("Fact", ("scope", "subject")),
    "memstream_fact_object": ("Fact", ("scope", "object")),
    "memstream_fact_claim": ("Fact", ("scope", "claim")),
    "memstream_preference_slot": ("Preference", ("scope", "slot")),
    "memstream_preference_current": ("Preference", ("scope", "slot", "current")),
    "memstream_preference_last": ("Preference", ("scope", "slot", "last_place")),
    "memstream_preference_lead": ("Preference", ("scope", "slot", "lead")),
    "memstream_preference_turn": ("Preference", ("scope", "slot", "turn")),
    "memstream_preference_claim": ("Preference", ("scope", "claim")),
    "memstream_assertion_slot": ("Assertion", ("scope", "slot", "key")),
    "memstream_assertion_place": ("Assertion", ("scope", "slot", "place")),
    "memstream_assertion_event": ("Assertion", ("scope", "event")),
    "memstream_assertion_subject": ("Assertion", ("scope", "subject")),
    "memstream_retraction_assertion": ("Retraction", ("scope", "assertion")),
    "memstream_retraction_slot": ("Retraction", ("scope", "slot")),
    "memstream_entity_norm": ("Entity", ("scope", "norm")),
    "memstream_event_id": ("Event", ("scope", "event_id")),
    "memstream_event_session": ("Event", ("scope", "session_id")),
    "memstream_event_subject": ("Event", ("scope", "subject")),
    "memstream_event_lost": ("Event", ("scope", "lost")),
    "memstream_call_order": ("ToolCall", ("scope", "session_id", "order")),
    "memstream_trace_session": ("ReasoningTrace", ("scope", "session_id")),
    "memstream_conversation_time": ("Conversation", ("scope", "first_time")),
    "memstream_board_time": ("BoardItem", ("scope", "time")),
    "memstream_conversation_ttl": ("Conversation", ("ttl_seconds",)),
    "memstream_erasure_pending": ("ErasureWork", ("pending",)),
    "memstream_payload_loose": ("Payload", ("loose",)),
    "memstream_outbox": ("Outbox", ("topic", "partition", "offset")),
}

RELATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "memstream_same_as_status": ("SAME_AS", ("scope", "status", "score")),
}

FULL_TEXTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "memstream_text": (("Message", "Passage", "Fact", "Preference", "BoardItem"), ("stok", "text")),
    "memstream_names": (("Entity",), ("stok", "name", "aliases")),
}

VECTORS: dict[str, str] = {
    "memstream_message_vectors": "Message",
    "memstream_passage_vectors": "Passage",
    "memstream_trace_vectors": "ReasoningTrace",
    "memstream_memory_vectors": "Memory",
}


def base() -> list[str]:
    """Everything that does not depend on the embedder."""
    return [*_constraints(), *_ranges(), *_full_texts()]


def vectors(dimensions: int) -> list[str]:
    """The vector indexes; none where nothing is embedded."""
    if dimensions <= 0:
        return []
    options = f"{{`vector.dimensions`: {dimensions}, `vector.similarity_function`: 'cosine'}}"
    return [
        f"CREATE VECTOR INDEX {name} IF NOT EXISTS FOR (n:{label}) ON (n.embedding) OPTIONS {{indexConfig: {options}}}"
        for name, label in VECTORS.items()
    ]


def _constraints() -> list[str]:
    made = [
        f"CREATE CONSTRAINT memstream_{label.lower()}_key IF NOT EXISTS FOR (n:{label}) "
        "REQUIRE (n.scope, n.id) IS UNIQUE"
        for label in NODE_KEYS
    ]
    made.append("CREATE CONSTRAINT memstream_scope_key IF NOT EXISTS FOR (n:Scope) REQUIRE n.scope IS UNIQUE")
    made.append(
        "CREATE CONSTRAINT memstream_offset_key IF NOT EXISTS FOR (n:StreamOffset) "
        "REQUIRE (n.topic, n.partition) IS UNIQUE"
    )
    return made


def _ranges() -> list[str]:
    nodes = [
        f"CREATE RANGE INDEX {name} IF NOT EXISTS FOR (n:{label}) ON ({', '.join(f'n.{p}' for p in properties)})"
        for name, (label, properties) in RANGES.items()
    ]
    edges = [
        f"CREATE RANGE INDEX {name} IF NOT EXISTS FOR ()-[r:{kind}]-() ON ({', '.join(f'r.{p}' for p in properties)})"
        for name, (kind, properties) in RELATIONS.items()
    ]
    return nodes + edges


def _full_texts() -> list[str]:
    return [
        f"CREATE FULLTEXT INDEX {name} IF NOT EXISTS FOR (n:{'|'.join(labels)}) "
        f"ON EACH [{', '.join(f'n.{p}' for p in properties)}]"
        for name, (labels, properties) in FULL_TEXTS.items()
    ]
