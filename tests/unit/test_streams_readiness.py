"""Why a stage is not ready: one reason for each thing it needs."""

from __future__ import annotations

from memstream.streams.monitor import Readiness


def test_a_stage_is_ready_when_nothing_is_lacking() -> None:
    """What comes back takes away its own reason alone."""
    ready = Readiness("starting")
    assert ready.reason == "starting"
    ready.lacks("Neo4j does not answer", "graph")
    ready.has()
    assert ready.reason == "Neo4j does not answer"
    ready.lacks("Kafka does not answer", "kafka")
    ready.has("graph")
    assert ready.reason == "Kafka does not answer"
    ready.has("kafka")
    ready.has("kafka")
    assert ready.reason is None
