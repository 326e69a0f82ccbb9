"""What the sink takes, what it refuses, and which of two patches of one event counts."""

from __future__ import annotations

import pytest
from neo4j.exceptions import (
    AuthError,
    ClientError,
    DatabaseError,
    ServiceUnavailable,
    SessionExpired,
)
from neo4j.exceptions import TransientError as Neo4jTransient
from sink_patches import Told, moment

from memstream.schemas.errors import FatalError, GraphUnavailable, InvalidPatch, PoisonError, TransientError
from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id
from memstream.schemas.patch import Label, NodeRow, Patch, Verdict
from memstream.sinks.erasure import Erasure, Known, keys_of
from memstream.sinks.failures import BatchTooLarge, told_as_ours
from memstream.sinks.indexes import base, vectors
from memstream.sinks.manifest import manifest_of, read_manifest, write_manifest
from memstream.sinks.records import Incoming, PatchRecord, Place, Rank, decode, digest_of, refused

SCOPE = "tests/unit"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"not json", "^the patch: Invalid JSON"),
        (b'{"version":1}', "^patch field 'generation': Field required"),
        (b'{"version":99}', "^the patch has version 99, this reads up to 2: update the sink first"),
    ],
)
def test_what_is_no_patch_is_told_with_its_field_if_it_has_one(value: bytes, says: str) -> None:
    """The whole is named where no field is wrong."""
    with pytest.raises(InvalidPatch, match=says):
        Patch.decode(value)


def told(event: str = "m1", minute: int = 1, **more: object) -> Told:
    """An event with a message."""
    return Told(SCOPE, event, minute, **more).message("hello")  # type: ignore[arg-type]


def record(one: Told, key: bytes | None = SCOPE.encode()) -> PatchRecord:
    """Its record."""
    return PatchRecord(7, key, one.patch().encode())


def incoming(one: Told) -> Incoming:
    """It as the sink has it."""
    return decode(record(one))


def test_the_digest_is_of_what_is_said_and_not_of_where_it_lies() -> None:
    """The same patch at another place in the log has the same digest; another text has another."""
    here, there = told(), told(recorded=5, offset=9)
    assert digest_of(record(here).value or b"") == digest_of(record(there).value or b"")
    other = Told(SCOPE, "m1", 1).message("other")
    assert digest_of(record(here).value or b"") != digest_of(record(other).value or b"")


def test_the_rank_is_generation_then_place_in_the_log_then_digest() -> None:
    """The least counts, and the order is total."""
    place = (moment(1), "conversation", 0, 5)
    later = (moment(1), "conversation", 0, 6)
    ranks = [Rank.of(2, later, "b"), Rank.of(1, place, "a"), Rank.of(1, place, "b"), Rank.of(1, later, "a")]
    assert sorted([ranks[3], ranks[1], ranks[0], ranks[2]]) == ranks
    assert incoming(told(generation=2, recorded=9)).rank < incoming(told()).rank


@pytest.mark.parametrize(
    "value",
    [{"a": 1}, [{"a": 1}], [[1]], [1, "x"], [None], 2**63],
    ids=["map", "list of maps", "list of lists", "mixed list", "list with nothing", "too large a number"],
)
def test_what_a_graph_can_not_hold_is_refused_by_name(value: object) -> None:
    """The error names the property, so that one can find who wrote it."""
    one = told()
    one.nodes.append(NodeRow(label=Label.TOOL, id="t", part="named", props={"wrong": value}))
    with pytest.raises(InvalidPatch, match="'wrong' of node Tool t"):
        incoming(one)


def test_a_refused_record_keeps_its_origin_where_that_can_be_read() -> None:
    """Its event can be told that it was refused, though its rows make no sense."""
    value = (record(told()).value or b"").replace(b'"owned":true', b'"owned":"what"')
    one = refused(PatchRecord(7, SCOPE.encode(), value), "bad_patch: rows")
    assert one is not None
    assert (one.patch.verdict, one.patch.reason, one.key) == (Verdict.DEAD_LETTERED, "bad_patch: rows", told().key)
    assert one.patch.nodes == ()


@pytest.mark.parametrize("value", [None, b"", b"\x00", b"[]", b'{"origin":{}}'])
def test_a_record_without_a_readable_origin_is_nobodys(value: bytes | None) -> None:
    """There is no event to tell."""
    assert refused(PatchRecord(7, None, value), "bad_patch") is None


def test_a_record_under_a_wrong_key_is_nobodys() -> None:
    """Its scope lives in another partition: nothing of it is written here."""
    assert refused(record(told(), b"another"), "bad_patch") is None


def test_a_manifest_names_all_that_an_event_made() -> None:
    """Nodes of its own, edges, links, assertions, retractions."""
    one = incoming(told().mention("Ann").lives("Ann", "Rome").takes_back("m0").same("Ann", "Bob"))
    made = read_manifest(write_manifest(manifest_of(one)))
    assert made.nodes == (("Message", one.key),)
    assert sorted(edge.type for edge in made.edges) == ["HAS_MESSAGE", "LINKED", "MENTIONS"]
    assert (len(made.assertions), len(made.retractions)) == (1, 1)
    assert read_manifest(None).edges == ()


@pytest.mark.parametrize(
    ("kind", "named", "covered"),
    [
        ("message", "m1", True),
        ("event", told().key, True),
        ("message", "m2", False),
        ("session", "s", True),
        ("session", "t", False),
        ("user", "u", True),
        ("scope", "", True),
        ("entity", entity_id(SCOPE, EntityType.PERSON, "Ann"), True),
        ("entity", "e", False),
    ],
)
def test_an_erasure_covers_what_it_names(kind: str, named: str, covered: bool) -> None:
    """By event, session, subject, entity or scope, in its own scope alone."""
    place = Place("t.patches", 0, "w")
    one = Known.of(incoming(told(subject="u").message().mention("Ann")), moment(1))
    kept = Erasure(SCOPE, kind, named, moment(5)).id(place)
    assert ((SCOPE, kept) in set(keys_of(place, one, {SCOPE}))) is covered
    elsewhere = Erasure("tests/other", kind, named, moment(5)).id(place)
    assert elsewhere not in {key for _, key in keys_of(place, one, {SCOPE, "tests/other"})}


def test_what_reaches_below_a_scope_covers_the_scopes_below_in_its_partition() -> None:
    """A session, a person or all of a scope above: as the partition has it, and no event or entity of another scope."""
    place, above = Place("t.patches", 0, "w"), SCOPE.rpartition("/")[0]
    known = Known.of(incoming(told(subject="u")), moment(1))
    keys = set(keys_of(place, known, {SCOPE, above}))
    assert {scope for scope, _ in keys_of(place, known, {above})} == {above}
    for kind, named in (("session", "s"), ("user", "u"), ("scope", "")):
        assert (above, Erasure(above, kind, named, moment(5), below=True).id(place)) in keys
        other = Place("t.patches", 1, "w")
        assert (above, Erasure(above, kind, named, moment(5), below=True).id(other)) not in keys
    assert (above, Erasure(above, "message", "m1", moment(5), below=True).id(place)) not in keys


def driver_error(kind: type[Exception], code: str, message: str = "words") -> Exception:
    """An error as the driver raises it."""
    error = kind(message)
    error._neo4j_code, error._message = code, message  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("raised", "ours"),
    [
        (ServiceUnavailable("gone"), GraphUnavailable),
        (SessionExpired("gone"), GraphUnavailable),
        (driver_error(Neo4jTransient, "Neo.TransientError.Transaction.DeadlockDetected"), TransientError),
        (driver_error(Neo4jTransient, "Neo.TransientError.General.MemoryPoolOutOfMemoryError"), BatchTooLarge),
        (driver_error(ClientError, "Neo.ClientError.Statement.TypeError"), PoisonError),
        (driver_error(ClientError, "Neo.ClientError.Schema.TokenNameError"), PoisonError),
        (driver_error(ClientError, "Neo.ClientError.Statement.SyntaxError"), FatalError),
        (driver_error(DatabaseError, "Neo.DatabaseError.Statement.ExecutionFailed"), FatalError),
        (
            driver_error(DatabaseError, "Neo.DatabaseError.Statement.ExecutionFailed", "value is too large to index"),
            PoisonError,
        ),
        (driver_error(AuthError, "Neo.ClientError.Security.Unauthorized"), FatalError),
    ],
)
def test_the_driver_s_errors_are_told_as_ours(raised: Exception, ours: type[Exception]) -> None:
    """Transient, poison or fatal: what a loop asks. A bug of ours is never poison."""
    with pytest.raises(ours), told_as_ours():
        raise raised


def test_what_is_no_error_of_the_driver_passes() -> None:
    """A bug stays what it is."""
    with pytest.raises(KeyError), told_as_ours():
        raise KeyError("bug")


def test_vector_indexes_are_as_long_as_the_embedder_s_vectors() -> None:
    """None without vectors; everything is made only if it is not there."""
    assert vectors(0) == []
    assert all("`vector.dimensions`: 384" in text for text in vectors(384))
    assert all("IF NOT EXISTS" in text for text in (*base(), *vectors(384)))
