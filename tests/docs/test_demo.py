"""`make demo`, as a new user has it: the whole way of an event, twice."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from neo4j import GraphDatabase

from memstream.settings import Settings, load
from memstream.streams.topics_admin import delete_topics

DEMO_SECONDS = 400
FORGET = "MATCH (n) WHERE n.scope STARTS WITH $root OR n.topic STARTS WITH $root DETACH DELETE n"


class DemoRuns:
    """Runs the demo against the running Kafka and Neo4j, with workers, topics and scopes of its own."""

    def __init__(self, stack: Settings, folder: Path) -> None:
        self.root = f"tests-demo-{secrets.token_hex(4)}"
        password = stack.neo4j_password.get_secret_value() if stack.neo4j_password else ""
        self._environment = os.environ | {
            "MEMSTREAM_DATA_DIR": str(folder),
            "MEMSTREAM_KAFKA_BOOTSTRAP": stack.kafka_bootstrap,
            "MEMSTREAM_NEO4J_URI": stack.neo4j_uri,
            "MEMSTREAM_NEO4J_USER": stack.neo4j_user,
            "MEMSTREAM_NEO4J_PASSWORD": password,
            "MEMSTREAM_TOPIC_PREFIX": self.root,
            "MEMSTREAM_GROUP_PREFIX": self.root,
            "MEMSTREAM_PARTITIONS": "3",
            "MEMSTREAM_EXTRACT_PROCESSES": "1",
            "COLUMNS": "200",
        }

    def memstream(self, *words: str) -> str:
        """What a command prints. Fails with all it said where it does not succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "memstream.cli", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=DEMO_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            pytest.fail(f"memstream {' '.join(words)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout


@pytest.fixture(scope="module")
def runs(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """What the demo prints the first and the second time; its workers are stopped and its topics removed."""
    demo = DemoRuns(stack, tmp_path_factory.mktemp("demo"))
    try:
        yield demo.memstream("demo", "--root", demo.root), demo.memstream("demo", "--root", demo.root)
    finally:
        stopped = demo.memstream("down")
        asyncio.run(delete_topics(load(topic_prefix=demo.root)))
        with GraphDatabase.driver(stack.neo4j_uri, auth=stack.neo4j_auth) as driver:
            driver.execute_query(FORGET, root=demo.root)
    assert all(part in stopped for part in ("extract", "sink", "query"))


def test_shows_a_context_with_citations(runs: tuple[str, str]) -> None:
    """The multi-hop prompt gets both hops, and each number resolves to an event of the story."""
    shown = _part(runs[0], "What an agent gets")
    assert "[1]" in shown
    assert "story-0" in shown
    assert "geocoder" in shown
    assert "Jonas" in shown or "jonas" in shown


def test_shows_what_changed_with_its_history(runs: tuple[str, str]) -> None:
    """The deadline, the move and the owner: the old value superseded, the new one holding."""
    shown = _part(runs[0], "What changed")
    for value in ("2026-10-16", "2026-10-30", "Leipzig", "Dresden", "Amira Haddad", "superseded", "holds"):
        assert value in shown


def test_shows_what_was_believed_then(runs: tuple[str, str]) -> None:
    """A month earlier the old deadline, and on the day after the outage the wrong cause."""
    shown = _part(runs[0], "What was believed")
    lines = {line.split("?")[0]: line for line in shown.splitlines() if "?" in line}
    assert "2026-10-16" in lines["When is the routing migration due"]
    assert "tile-builder" in lines["What caused the bridge outage"]
    assert lines["What caused the bridge outage"].rstrip().endswith("geocoder")


def test_shows_dead_letters_with_reasons(runs: tuple[str, str]) -> None:
    """The two events that are none, each with a reason that a person understands."""
    for printed in runs:
        shown = _part(printed, "What was refused")
        assert "missing_field" in shown
        assert "'status'" in shown
        assert "bad_scope" in shown
        assert "empty" in shown


def test_shows_rates_and_where_things_run(runs: tuple[str, str]) -> None:
    """Rates of publishing and of the whole way, addresses, and how to stop it all."""
    assert "a second" in _part(runs[0], "How fast")
    where = _part(runs[0], "What runs, and where")
    assert all(part in where for part in ("kafka", "neo4j", "extract", "sink", "query"))
    assert "make down" in where


def test_second_run_changes_nothing(runs: tuple[str, str]) -> None:
    """Publishing the story again leaves the graph as it was."""
    assert "nothing has changed in the graph" in _part(runs[1], "How fast")


def _part(printed: str, title: str) -> str:
    """What stands under a heading."""
    _, found, rest = printed.partition(title)
    assert found, f"no {title!r} in:\n{printed}"
    lines = rest.splitlines()[1:]
    ends = [number for number, line in enumerate(lines) if line.startswith("──") or line.endswith("──")]
    return "\n".join(lines[: ends[0]] if ends else lines)
