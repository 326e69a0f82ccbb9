"""How far an erasure reaches: what was read by the help of it, names, scopes below, and more than one transaction."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sink_patches import Told, moment
from sink_world import World, world

from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id
from memstream.schemas.patch import Label
from memstream.settings import Settings
from memstream.sinks import erase_steps
from memstream.sinks.erase_status import events_of, would_reach
from memstream.sinks.erasure import Erasure
from memstream.sinks.migrations import migrate
from memstream.sinks.proof import Needles, search_graph
from memstream.sinks.records import PatchRecord


@pytest.fixture
def graph(stack: Settings, scope: str) -> Iterator[World]:
    """A scope of this test alone, in the real graph."""
    with world(stack, scope) as made:
        migrate(made.store.driver, made.store.database)
        yield made


def texts(graph: World) -> set[str]:
    """Every text that is left anywhere in the scope: in nodes of any label, and on edges."""
    left: set[str] = set()
    for row in graph.rows(
        "MATCH (n {scope: $scope}) OPTIONAL MATCH (n)-[r]->() RETURN properties(n) AS n, properties(r) AS r"
    ):
        for props in (row["n"], row["r"] or {}):
            left |= {str(value) for value in props.values()}
    return left


def talk(graph: World) -> list[Told]:
    """Ann is named once; "she" and "Annie" of the next messages are her because of it."""
    first = graph.say("m1", 1).message("Ann Secretly is here").mention("Ann Secretly")
    second = graph.say("m2", 2).message("She moved to Rome").mention("Ann Secretly", "She", used=["m1"])
    second.lives("Ann Secretly", "Rome", used=second.keys(["m1"])).mention("Tom")
    third = graph.say("m3", 3).message("Tom moved to Oslo").mention("Tom").lives("Tom", "Oslo")
    return [first, second, third]


@pytest.mark.parametrize("order", ["before", "after", "between", "together"])
def test_what_was_read_by_the_help_of_it_goes_too(graph: World, order: str) -> None:
    """The fact and the mention of "she" go with the message that named her; what was said beside them stays."""
    first, second, third = talk(graph)
    erasure = graph.say("x", 9, session=None).erases("message", "m1")
    orders = {
        "before": [[erasure], [second], [first, third]],
        "after": [[first], [second, third], [erasure]],
        "between": [[second], [erasure], [third], [first]],
        "together": [[first, erasure, third, second]],
    }
    for batch in orders[order]:
        graph.apply(*batch)
    assert not [text for text in texts(graph) if "Secretly" in text]
    assert graph.facts() == [f"Tom lives in Oslo [{moment(3)}, )*"]
    assert graph.chain() == ["m2", "m3"]
    named = graph.rows("MATCH (:Message {scope: $scope})-[:MENTIONS]->(e:Entity) RETURN DISTINCT e.name AS name")
    assert named == [{"name": "Tom"}]
    assert graph.rows("MATCH (e:Event {scope: $scope}) WHERE e.uses RETURN e.id AS id") == []
    dumped = graph.dump()
    graph.wipe()
    graph.apply(first, second, third, erasure)
    assert graph.dump() == dumped


@pytest.mark.parametrize("order", ["123xy", "123yx", "xy123", "y321x", "2x1y3"])
def test_an_entity_and_the_message_that_named_it_are_erased_in_any_order(graph: World, order: str) -> None:
    """Who "she" was is not known any more, and yet the message that said it goes with her; nothing tells her name."""
    ann = entity_id(graph.scope, EntityType.PERSON, "Ann Secretly")
    told = dict(zip("123", talk(graph), strict=True))
    told["x"] = graph.say("x", 9, session=None).erases("message", "m1")
    told["y"] = graph.say("y", 10, session=None).erases("entity", ann)
    for one in order:
        graph.apply(told[one])
    assert graph.chain() == ["m3"]
    graph.sink.forget_changes([one.id for one in graph.sink.pending_changes(graph.topic, graph.partition)])
    found = search_graph(graph.store.driver, graph.store.database, [graph.scope], Needles((ann,), ("Secretly",)))
    assert found.findings == []
    dumped = graph.dump()
    graph.wipe()
    graph.apply(*told.values())
    assert graph.dump() == dumped


def test_whom_a_message_named_before_is_known_where_a_person_asks(graph: World) -> None:
    """What an entity's erasure would reach has the message that named it by the help of an erased one."""
    ann = entity_id(graph.scope, EntityType.PERSON, "Ann Secretly")
    graph.apply(*talk(graph), graph.say("x", 9, session=None).erases("message", "m1"))
    where = (graph.store.driver, graph.store.database)
    assert would_reach(*where, [Erasure(graph.scope, "entity", ann, "")], None) == 1
    assert events_of(*where, graph.scope, [ann], None) == {"tests": ["m2"]}


@pytest.mark.parametrize("late", [False, True])
def test_an_entity_is_erased_with_all_that_names_it(graph: World, late: bool) -> None:
    """The messages that name it go; what others said stays; a later message may name it again."""
    ann = entity_id(graph.scope, EntityType.PERSON, "Ann Secretly")
    erasure = graph.say("x", 5, session=None).erases("entity", ann)
    first, second, third = talk(graph)
    for one in (erasure, first, second, third) if late else (first, second, third, erasure):
        graph.apply(one)
    assert not [text for text in texts(graph) if "Secretly" in text]
    assert graph.chain() == ["m3"]
    assert graph.rows("MATCH (e:Entity {scope: $scope, id: $ann}) RETURN e", ann=ann) == []
    graph.apply(graph.say("m7", 7).message("Ann Secretly").mention("Ann Secretly"))
    assert graph.chain() == ["m3", "m7"]


def test_an_erasure_with_children_reaches_below_its_scope_and_no_further(graph: World, stack: Settings) -> None:
    """A copy of it erases a person below the scope, also what comes later; the scope beside keeps its own."""
    below, beside = Told(f"{graph.scope}/a/b", "b1", 1, subject="u"), Told(f"{graph.scope}x", "c1", 1, subject="u")
    erasure = graph.say("x", 9, session=None).erases("user", "u", children=True)

    def records(*told: Told) -> list[PatchRecord]:
        made = [PatchRecord(graph.next + i, one.scope.encode(), one.patch().encode()) for i, one in enumerate(told)]
        graph.next += len(made)
        return made

    graph.sink.apply(graph.topic, graph.partition, records(below.message("secret b"), beside.message("kept")))
    graph.sink.apply(graph.topic, graph.partition, records(graph.say("m1", 1, subject="u").message("secret a")))
    copy = PatchRecord(graph.next, graph.scope.encode(), erasure.copy().encode())
    graph.next += 1
    assert graph.sink.apply(graph.topic, graph.partition, [copy]).erasing
    assert graph.erase_on() >= 1
    late = Told(f"{graph.scope}/a/b", "b2", 2, subject="u").message("secret too")
    graph.sink.apply(graph.topic, graph.partition, records(late))
    try:
        left = "MATCH (m:Message {scope: $of}) WHERE m.at IS NOT NULL RETURN m.text AS text"
        assert graph.rows(left, of=below.scope) == []
        assert graph.rows(left, of=beside.scope) == [{"text": "kept"}]
        assert graph.rows(left, of=graph.scope) == [{"text": "secret a"}]  # its own scope has the patch itself
        graph.apply(erasure)
        assert graph.rows(left, of=graph.scope) == []
    finally:
        for one in (below, beside):
            with world(stack, one.scope):
                pass


def long_talk(graph: World, count: int) -> list[Told]:
    """A session in which everybody speaks of Ann, who moves all the time, and now and then of her being secret."""
    made = []
    for i in range(count):
        told = graph.say(f"m{i}", i, session="long").message(f"secret {i}").mention("Ann")
        made.append(told.lives("Ann", f"Place {i % 3}") if i % 2 else told)
    return made


def test_a_large_erasure_goes_on_in_steps_and_ends_like_a_small_one(
    graph: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No transaction takes back more than a step; after each kill another sink goes on where the last one was."""
    kept = graph.say("k", 100, session="other").message("kept").lives("Ann", "Oslo")
    erasure = graph.say("x", 99, session=None).erases("session", "long")
    late = graph.say("late", 5, session="long").message("secret again")
    graph.apply(*long_talk(graph, 12), kept)
    graph.apply(erasure)
    graph.apply(late)
    calm = graph.dump()
    graph.wipe()
    monkeypatch.setattr(erase_steps, "STEP", 3)
    graph.apply(*long_talk(graph, 12), kept)
    assert graph.apply(erasure).erasing
    left = "MATCH (m:Message {scope: $scope, session_id: 'long'}) WHERE m.at IS NOT NULL RETURN count(m) AS n"
    counts = [graph.rows(left)[0]["n"]]
    while graph.sink.erase_on(graph.topic, graph.partition):
        graph.new_sink()  # whoever comes next knows nothing but what is in the graph
        counts.append(graph.rows(left)[0]["n"])
        if len(counts) == 2:  # the partition goes on meanwhile
            graph.apply(late)
    assert counts[:4] == [9, 6, 3, 0]
    (work,) = graph.rows("MATCH (w:ErasureWork {scope: $scope}) RETURN w.events AS events, w.pending AS pending")
    assert work == {"events": 12, "pending": None}
    assert graph.dump() == calm
    assert not [text for text in texts(graph) if "secret" in text or "Place" in text]


def test_a_slot_that_two_steps_change_has_versions_of_its_own_for_each(
    graph: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both steps happen at one position of the log; the fact that stands in the end is the one that was said else."""
    monkeypatch.setattr(erase_steps, "STEP", 1)
    graph.apply(graph.say("k1", 1, session="other").message("one").lives("Ann", "Paris"))
    graph.apply(*(graph.say(f"m{i}", i, session="s").message("x").lives("Ann", f"Place {i}") for i in (2, 3, 4)))
    graph.apply(graph.say("k2", 5, session="other").message("two").lives("Ann", "Oslo"))
    graph.apply(graph.say("x", 9, session=None).erases("session", "s"))
    graph.erase_on()
    assert graph.facts() == [f"Ann lives in Paris [{moment(1)}, {moment(5)})", f"Ann lives in Oslo [{moment(5)}, )*"]
    assert not [text for text in texts(graph) if "Place" in text]


def test_a_payload_that_only_an_erased_event_kept_is_let_go(graph: World) -> None:
    """One that another event keeps as well stays; one of an event that comes late is let go as well."""
    for number, (event, payload) in enumerate((("m1", "one"), ("m2", "shared"), ("m3", "shared"))):
        told = graph.say(event, number, session=event)
        told.share(
            Label.TOOL_CALL, f"call-{event}", "status", {"call_id": event, "offload": f"{graph.scope}/{payload}"}
        )
        graph.apply(told)
    late = graph.say("m4", 4, session="m1")
    late.share(Label.TOOL_CALL, "call-m4", "status", {"call_id": "m4", "offload": f"{graph.scope}/late"})
    erasure = graph.say("x", 9, session=None).erases("session", "m1", "m2")
    assert graph.apply(erasure).erasing
    assert graph.apply(late).erasing
    loose = graph.sink.loose_payloads(graph.topic, graph.partition, 10)
    assert loose == [f"{graph.scope}/late", f"{graph.scope}/one"]
    graph.sink.let_go(loose)
    assert graph.sink.loose_payloads(graph.topic, graph.partition, 10) == []
    graph.apply(graph.say("y", 10, session=None).erases("session", "m3"))
    assert graph.sink.loose_payloads(graph.topic, graph.partition, 10) == [f"{graph.scope}/shared"]
    graph.sink.let_go([f"{graph.scope}/shared"])


def test_a_payload_of_a_patch_that_does_not_count_is_let_go(graph: World) -> None:
    """One that extraction put there once more after its event was erased; that of an event's second content."""

    def call(payload: str, recorded: int) -> Told:
        told = graph.say("m1", 1, session="m1", recorded=recorded)
        props = {"call_id": "m1", "offload": f"{graph.scope}/{payload}"}
        return told.share(Label.TOOL_CALL, "call-m1", "status", props)

    def loose() -> list[str]:
        return graph.sink.loose_payloads(graph.topic, graph.partition, 10)

    assert not graph.apply(call("first", 1), call("first", 2)).erasing
    assert graph.apply(call("second", 3)).erasing
    assert loose() == [f"{graph.scope}/second"]
    graph.sink.let_go(loose())
    graph.apply(graph.say("x", 9, session=None).erases("session", "m1"))
    assert loose() == [f"{graph.scope}/first"]
    graph.sink.let_go(loose())
    assert graph.apply(call("first", 4)).erasing
    assert loose() == [f"{graph.scope}/first"]
    graph.sink.let_go(loose())
    graph.wipe()
    graph.apply(call("later", 5))
    erasure = graph.say("x", 9, session=None).erases("session", "m1")
    assert graph.apply(call("earlier", 4), erasure).erasing
    assert loose() == [f"{graph.scope}/earlier", f"{graph.scope}/later"]
    graph.sink.let_go(loose())


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2, 1)])
def test_an_erased_event_that_is_published_once_more_stays_out(graph: World, order: tuple[int, ...]) -> None:
    """It was first recorded before the erasure, even where a newer extractor reads the later copy."""
    first = graph.say("m1", 1, session="s").message("secret one")
    again = graph.say("m1", 1, session="s", recorded=20, generation=2).message("secret again")
    both = (first, again, graph.say("x", 9, session=None).erases("session", "s"))
    for number in order:
        graph.apply(both[number])
    assert not [text for text in texts(graph) if "secret" in text]
    assert graph.rows("MATCH (e:Event {scope: $scope, event_id: 'm1'}) RETURN e.verdict AS v") == [{"v": "erased"}]
    dumped = graph.dump()
    graph.wipe()
    graph.apply(*both)
    assert graph.dump() == dumped


def card(graph: World, event: str, minute: int, *evidence: str) -> Told:
    """What somebody has learned, resting on events."""
    props = {"title": "secret lesson", "content": "a secret", "evidence": list(evidence)}
    return graph.say(event, minute, session=None).share(Label.MEMORY, f"card-{event}", "card", props)


@pytest.mark.parametrize("order", ["after", "before", "between", "together"])
def test_a_card_that_rests_on_an_erased_event_goes_with_it(graph: World, order: str) -> None:
    """And so does one that rests on that card; what rests on something else stays."""
    first, other = graph.say("m1", 1).message("secret").lives("Ann", "Rome"), graph.say("m2", 2).message("kept")
    cards = [card(graph, "c1", 3, "m1"), card(graph, "c2", 4, "a ticket", "c1"), card(graph, "c3", 5, "m2")]
    erasure = graph.say("x", 9, session=None).erases("message", "m1")
    orders = {
        "after": [[first, other], cards, [erasure]],
        "before": [[erasure], cards[::-1], [other, first]],
        "between": [cards[:1], [first, erasure], cards[1:], [other]],
        "together": [[*cards, erasure, other, first]],
    }
    for batch in orders[order]:
        graph.apply(*batch)
    left = graph.rows("MATCH (c:Memory {scope: $scope}) WHERE c.at IS NOT NULL RETURN c.id AS id")
    assert left == [{"id": "card-c3"}]
    verdicts = graph.rows("MATCH (e:Event {scope: $scope}) WHERE e.verdict = 'erased' RETURN e.event_id AS id")
    assert sorted(row["id"] for row in verdicts) == ["c1", "c2", "m1"]


def test_a_deleted_fact_lives_on_nowhere(graph: World) -> None:
    """Not in a summary, not in the full-text or the vector index, not in a closed version, not in a say that lost."""
    migrate(graph.store.driver, graph.store.database, 384)  # vector indexes, which a young graph may lack
    vector = [1.0, *[0.0] * 383]
    first = graph.say("m1", 1, session="s").message("secret hideout", vector=vector).lives("Ann", "Secretville")
    first.share(Label.ENTITY, first.entity("Ann"), "described", {"description": "secret"})
    second = graph.say("m2", 2, session="t").message("she moved").lives("Ann", "Oslo")
    second.share(Label.ENTITY, second.entity("Ann"), "described", {"description": "a sailor"})
    graph.apply(first)
    graph.apply(second)  # the first fact is a closed version now, and its description has lost
    graph.apply(card(graph, "c1", 3, "m1"))
    words = "CALL db.index.fulltext.queryNodes('memstream_text', 'secret*') YIELD node WHERE node.scope = $scope "
    near = "CALL db.index.vector.queryNodes('memstream_message_vectors', 50, $v) YIELD node WHERE node.scope = $scope "
    assert graph.rows(words + "RETURN count(node) AS n") != [{"n": 0}]
    graph.apply(graph.say("x", 9, session=None).erases("session", "s"))
    assert not [text for text in texts(graph) if "ecret" in text]
    assert graph.rows(words + "RETURN count(node) AS n") == [{"n": 0}]
    assert graph.rows(near + "RETURN count(node) AS n", v=vector) == [{"n": 0}]
    assert graph.facts() == [f"Ann lives in Oslo [{moment(2)}, )*"]
    assert len(graph.rows("MATCH (f:Fact {scope: $scope}) WHERE f.id IS NOT NULL RETURN f")) == 1
