"""What used an erased event goes, in a patch and in a manifest alike."""

from __future__ import annotations

import pytest
from sink_patches import Told

from memstream.folds.erasure import uses, without
from memstream.schemas.extraction import EntityType
from memstream.schemas.ids import entity_id, event_key
from memstream.sinks.manifest import manifest_of, read_manifest, split, write_manifest
from memstream.sinks.records import Incoming

SCOPE = "tests/unit"
FIRST, SECOND = event_key(SCOPE, "tests", "m1"), event_key(SCOPE, "tests", "m2")
ANN = entity_id(SCOPE, EntityType.PERSON, "Ann")


def told() -> Told:
    """A message of "she", of a place that is named outright, and of Bob, who is named beside what "he" says."""
    one = Told(SCOPE, "m3", 3).message("She moved to Rome with Bob. He likes it.")
    one.mention("Ann", "She", used=["m1"]).mention("Bob")
    one.lives("Ann", "Rome", used=one.keys(["m1"])).lives("Bob", "Rome", used=one.keys(["m2"]))
    return one


def test_a_patch_names_what_it_was_read_with() -> None:
    """The keys of all rows, each once."""
    assert uses(told().patch()) == {FIRST, SECOND}


def test_without_an_event_what_used_it_goes_and_the_rest_stays() -> None:
    """The assertion, the mention and the name that nothing else refers to; Rome is still where Bob lives."""
    left = without(told().patch(), {FIRST})
    assert [row.subject_name for row in left.assertions] == ["Bob"]
    assert [edge.props["text"] for edge in left.edges if edge.type == "MENTIONS"] == ["Bob"]
    names = {row.props.get("name") for row in left.nodes}
    assert {"Bob", "Rome"} <= names
    assert "Ann" not in names


def test_an_entity_that_is_also_named_outright_stays() -> None:
    """Bob is mentioned without help: only what was said of him with the help of m2 goes."""
    left = without(told().patch(), {SECOND})
    assert [row.subject_name for row in left.assertions] == ["Ann"]
    assert "Bob" in {row.props.get("name") for row in left.nodes}


def test_a_patch_that_used_nothing_erased_is_the_same_one() -> None:
    """Nothing is copied where nothing goes."""
    patch = told().patch()
    assert without(patch, {"f" * 32}) is patch


@pytest.mark.parametrize("erased", [{FIRST}, {SECOND}, {FIRST, SECOND}, set()])
def test_a_manifest_is_cut_like_the_patch(erased: set[str]) -> None:
    """What is left of the manifest in the graph is the manifest of what is left of the patch."""
    patch = told().patch()
    whole = read_manifest(write_manifest(manifest_of(Incoming(1, patch, ""))))
    _, left, orphans = split(whole, erased)
    cut = without(patch, erased)
    assert left == manifest_of(Incoming(1, cut, ""))
    gone = {row.id for row in patch.nodes} - {row.id for row in cut.nodes}
    assert gone == orphans
    assert (ANN in orphans) is (FIRST in erased)
