"""Another language and predicates of one's own, the whole way: from the log to the graph, through real workers."""

from __future__ import annotations

from pathlib import Path

from events import message, publish
from german import german_model
from neo4j import AsyncDriver
from stage_processes import StageProcess, environment, until

from memstream.schemas.catalogue import OWN_FILE
from memstream.settings import Settings
from memstream.streams.topics_admin import create_topics

OWN = """
version = 3

[predicate.mirrors]
meaning = "Keeps a copy of its data"
cardinality = "multi"
subject = ["Object"]
object = ["Object"]
examples = ["search-db is mirroring orders-db."]

[[pattern]]
predicate = "mirrors"
verbs = ["mirror"]
subject = "subj"
object = "obj"

[[surface]]
predicate = "mirrors"
language = "de"
between = "spiegelt(?: die)?"
left = ["Object"]
right = ["Object"]
"""
TEXTS = [
    "Mara Winter wohnt jetzt in Leipzig. Guten Tag zusammen, ich bin neu hier.",
    "She works at Nimbus Archive now.",
    "Le service payments-gw est en panne depuis hier soir, dit Monsieur Martin Leblanc.",
    "search-db is mirroring orders-db.",
    "Guten Morgen, das ist so. orders-gw spiegelt orders-db. Alles gut?",
]
SEEN = "MATCH (e:Event {scope: $scope}) WHERE e.event_id IS NOT NULL RETURN count(e) AS n"
EDGES = """
MATCH (a:Entity {scope: $scope})-[r]->(b:Entity) WHERE r.fact IS NOT NULL
RETURN a.name AS a, type(r) AS r, b.name AS b
"""
MENTIONED = "MATCH (:Message {scope: $scope, id: $id})-[:MENTIONS]->(e:Entity) RETURN e.name AS name, e.type AS type"
EVENTS = """
MATCH (e:Event {scope: $scope}) WHERE e.event_id IS NOT NULL
RETURN e.event_id AS event, e.id AS id, e.cut AS cut, e.generation AS generation
"""


async def test_a_second_language_and_own_predicates_go_the_whole_way(
    own_settings: Settings, scope: str, driver: AsyncDriver, tmp_path: Path
) -> None:
    """German by its own model, French by the rules for all, English as ever, and a relation of one's own in two."""
    own = tmp_path / "own.toml"
    own.write_text(OWN, encoding="utf-8")
    await create_topics(own_settings)
    env = environment(
        own_settings,
        MEMSTREAM_EXTRACTOR="spacy",
        MEMSTREAM_EXTRACT_PROCESSES="1",
        MEMSTREAM_LANGUAGE_MODELS=f"de={german_model(tmp_path)}",
        **{OWN_FILE: str(own)},
    )
    worker = await StageProcess.supervised(tmp_path / "worker.log", env)
    await publish(own_settings, [message(scope, number, text) for number, text in enumerate(TEXTS)])

    async def rows(query: str, **more: str) -> list[dict[str, object]]:
        found, _, _ = await driver.execute_query(query, scope=scope, parameters_=more)
        return [record.data() for record in found]

    async def seen() -> bool:
        return (await rows(SEEN))[0]["n"] == len(TEXTS)

    await until(seen, 180, f"all are in the graph: {worker.said()[-2000:]}")
    edges = {(row["a"], row["r"], row["b"]) for row in await rows(EDGES)}
    assert edges == {
        ("Mara Winter", "LIVES_IN", "Leipzig"),
        ("Mara Winter", "WORKS_AT", "Nimbus Archive"),
        ("search-db", "MIRRORS", "orders-db"),
        ("orders-gw", "MIRRORS", "orders-db"),
    }
    events = {str(row["event"]): row for row in await rows(EVENTS)}
    assert {event: row["cut"] is not None for event, row in events.items()} == {
        "m0": False, "m1": False, "m2": True, "m3": False, "m4": False,
    }  # fmt: skip
    assert "language 'fr'" in str(events["m2"]["cut"])
    french = await rows(MENTIONED, id=str(events["m2"]["id"]))
    assert {(row["name"], row["type"]) for row in french} == {("payments-gw", "Object"), ("Martin Leblanc", "Person")}
    assert {int(str(row["generation"])) % 100 for row in events.values()} == {3}
    assert await worker.stop() == 0
