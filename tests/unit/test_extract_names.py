"""Names: titles, legal forms, initials, abbreviations, handles, particles; one thing under several spellings."""

import pytest
from extracting import read_user as read

from memstream.extractors.context.session import MALE, Session
from memstream.extractors.parse.forms import expansions
from memstream.extractors.text.names import (
    abbreviates,
    alike_by_form,
    fuller,
    gender_of_title,
    has_legal_form,
    kept_name,
    without_legal,
)
from memstream.schemas.extraction import EntityName


def named(*texts: str) -> list[set[str]]:
    """For each message: what is named in it, as "text > name : type"."""
    return [{f"{m.text} > {m.entity.name} : {m.entity.type.value}" for m in each.mentions} for each in read(*texts)]


def facts(*texts: str) -> set[str]:
    """The facts of a session as "subject | predicate | object"."""
    said = [a for each in read(*texts) for a in each.assertions]
    return {
        f"{a.subject.name} | {a.predicate} | {a.object.name if isinstance(a.object, EntityName) else a.object}"
        for a in said
    }


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Dr. Lund", "Dr Lund", "Person"),
        ("Prof. Haddad", "Dr Haddad", "Person"),
        ("Prof. Dr. Amira Haddad", "Amira Haddad", "Person"),
        ("J. R. Okafor", "John R. Okafor", "Person"),
        ("J.R. Okafor", "J. Okafor", "Person"),
        ("Kestrel Freight GmbH", "Kestrel Freight", "Organization"),
        ("Kestrel Freight GmbH & Co. KG", "Kestrel Freight Ltd.", "Organization"),
        ("PR 381", "PR #381", "Object"),
        ("PR #381", "#381", "Object"),
        ("4f2a9c1", "4f2a9c1d8e07", "Object"),
    ],
)
def test_spellings_of_one_name(a: str, b: str, kind: str) -> None:
    """Titles, initials, legal forms, signs of numbers and short hashes make no other name, in either order."""
    assert alike_by_form(a, b, kind)
    assert alike_by_form(b, a, kind)


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Herr Lund", "Frau Lund", "Person"),
        ("Mrs Lund", "Dr. Lund", "Person"),
        ("Jane Okafor", "John Okafor", "Person"),
        ("J. Okafor", "K. Okafor", "Person"),
        ("J. Okafor", "Okafor", "Person"),
        ("Kestrel Freight GmbH", "Kestrel Rail GmbH", "Organization"),
        ("PR 381", "issue #381", "Object"),
        ("381", "PR 381", "Object"),
        ("4f2a9c1", "4f2a9c2", "Object"),
    ],
)
def test_like_spellings_of_two(a: str, b: str, kind: str) -> None:
    """What only looks alike stays two: other titles, other initials, another kind of ticket, a bare number."""
    assert not alike_by_form(a, b, kind)
    assert not alike_by_form(b, a, kind)


def test_the_name_that_is_kept() -> None:
    """A title goes where a full name remains, "Okafor, J." is read the right way round, the fuller name wins."""
    assert kept_name("Prof. Dr. Amira Haddad", "Person") == "Amira Haddad"
    assert kept_name("Dr. Lund", "Person") == "Dr. Lund"
    assert kept_name("Sister Mary Agnes", "Person") == "Sister Mary Agnes"
    assert kept_name("Okafor, J. R", "Person") == "J. R. Okafor"
    assert kept_name("Miss Saigon Tour", "Event") == "Miss Saigon Tour"
    assert fuller("John Okafor", "J. R. Okafor", "Person")
    assert not fuller("@mara.winter", "Mara", "Person")
    assert gender_of_title("Frau Dr. Lund") == "f"
    assert not gender_of_title("Dr. Lund")


def test_legal_forms() -> None:
    """A legal form is told at the end of a name only, and taken off whole."""
    assert without_legal("Kestrel Freight GmbH & Co. KG") == "Kestrel Freight"
    assert has_legal_form("Skagen Data Ltd.")
    assert not has_legal_form("GmbH")
    assert not has_legal_form("Ana Co")


def test_abbreviations_in_brackets() -> None:
    """A name and its first letters in brackets are one, either way round; other brackets say nothing."""
    assert expansions("the European Road Agency (ERA) and the Bank of Norway (BN)") == {
        "ERA": "European Road Agency", "BN": "Bank of Norway",
    }  # fmt: skip
    assert expansions("ERA (European Road Agency)") == {"ERA": "European Road Agency"}
    assert expansions("Mara Winter (QA) met Ana (CEO) at Kestrel Freight (DE)") == {}
    assert abbreviates("OPA", "Open Policy Agent")
    assert not abbreviates("UK", "United States")


def test_an_abbreviation_is_the_same_entity_later() -> None:
    """What was introduced in brackets is known by its letters in the messages after."""
    for name in ("The European Road Agency (ERA)", "ERA (European Road Agency)"):
        said = facts(f"{name} is based in Vienna.", "ERA hired Tomas Lindqvist.")
        assert any(f.startswith("Tomas") and f.endswith("European Road Agency") for f in said), said


def test_titles_in_a_session() -> None:
    """One doctor stays one with and without a dot, a full name, or a bare surname; a Frau and a Herr are two."""
    assert facts("Dr. Lund works at Skagen Data.", "Dr Lund lives in Kiel.") >= {
        "Dr. Lund | works_at | Skagen Data", "Dr. Lund | lives_in | Kiel",
    }  # fmt: skip
    assert "Amira Haddad | lives_in | Tunis" in facts(
        "Prof. Amira Haddad leads the imaging lab.", "Professor Haddad lives in Tunis."
    )
    session = Session()
    session.add("Herr Lund", "Person", "e1")
    assert session.add("Frau Lund", "Person", "e2").name == "Frau Lund"
    assert [k.name for k in session.known] == ["Herr Lund", "Frau Lund"]
    assert session.known[0].gender == MALE


def test_a_surname_with_a_title_that_two_share() -> None:
    """A title and a surname mean nobody where two people of that name were named."""
    session = Session()
    session.add("Amira Haddad", "Person", "e1")
    session.add("Nadia Haddad", "Person", "e2")
    assert session.find("Professor Haddad") is None
    assert session.find("A. Haddad") is session.known[0]


def test_initials_in_a_session() -> None:
    """Initials are the person whose name they begin; "Okafor, J." is one person and no list of two."""
    assert "John R. Okafor | lives_in | Enugu" in facts(
        "John R. Okafor joined Vireo Robotics.", "J. R. Okafor lives in Enugu."
    )
    assert named("Okafor, J. wrote the spec.")[0] >= {"Okafor, J. > J. Okafor : Person"}


def test_legal_forms_in_a_session() -> None:
    """A firm keeps its type and is one with and without its legal form."""
    first, second = named("Nordwind AG bought Skagen Data Ltd. in 2024.", "Skagen Data is in Aarhus.")
    assert "Skagen Data Ltd. > Skagen Data Ltd : Organization" in first
    assert "Skagen Data > Skagen Data Ltd : Organization" in second


def test_handles_hashes_and_numbers() -> None:
    """Handles are people, hashes commits, numbered requests and channels things; what everyone is called is nobody."""
    first, second = named(
        "The outage started with commit 4f2a9c1 by @mara.", "@mara reverted 4f2a9c1 in PR #381, see #incident-42."
    )
    assert {"4f2a9c1 > 4f2a9c1 : Object", "@mara > @mara : Person"} <= first
    assert {"PR #381 > PR #381 : Object", "#incident-42 > #incident-42 : Object"} <= second
    assert not any("@" in each for each in named("@channel the deploy is done, @team please check.")[0])
    assert "Mara | works_at | Kestrel Freight" in facts("@mara lives in Porto.", "Mara works at Kestrel Freight.")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Jan van der Berg works at Skagen Data.", "Jan van der Berg"),
        ("Omar bin Rashid leads the Ingest squad.", "Omar bin Rashid"),
        ("Lucía de la Vega works at Pomelo Sync.", "Lucía de la Vega"),
        ("Sean O'Neill lives in Cork.", "Sean O'Neill"),
        ("Abu Bakr al-Baghdadi lives in Amman.", "Abu Bakr al-Baghdadi"),
        ("Ludwig von Hagen works at Nordwind AG.", "Ludwig von Hagen"),
        ("Ana-Maria D'Angelo lives in Turin.", "Ana-Maria D'Angelo"),
        ("Suharto leads the platform team.", "Suharto"),
        ("Ngũgĩ wa Thiong'o wrote Matigari.", "Ngũgĩ wa Thiong'o"),
    ],
)
def test_names_with_particles(text: str, name: str) -> None:
    """A name with particles is one person; so is one without a surname."""
    assert f"{name} > {name} : Person" in named(text)[0]
