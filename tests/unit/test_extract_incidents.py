"""The field's own matter: causes and remedies of incidents, errors, hosts, tickets and commits, records of tools."""

from typing import Any

import pytest
from extracting import read_user

from memstream.extractors.rules.tool_results import read_result
from memstream.extractors.text.identifiers import identify, is_identifier_token
from memstream.schemas.extraction import EntityName

OUTAGE = "The checkout outage is over."


def facts(*texts: str) -> set[str]:
    """The facts of a session of a user as "subject | predicate | object", with a "not" where they are denied."""
    said = [a for each in read_user(*texts) for a in each.assertions]
    return {
        f"{'not ' if a.negated else ''}{a.subject.name} | {a.predicate} | "
        f"{a.object.name if isinstance(a.object, EntityName) else a.object}"
        for a in said
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The outage was caused by commit 4f2a9c1.", "outage | caused_by | 4f2a9c1"),
        ("INC-204 was caused by PR #381.", "INC-204 | caused_by | PR #381"),
        ("PAY-381 was fixed by reverting commit e41d7aa.", "PAY-381 | fixed_by | reverting commit e41d7aa"),
        (
            "We fixed the checkout outage by rolling back to 2.4.1.",
            "checkout outage | fixed_by | rolling back to 2.4.1",
        ),
        ("Restarting auth-svc fixed the login outage.", "login outage | fixed_by | restarting auth-svc"),
        ("The login outage was resolved by restarting auth-svc.", "login outage | fixed_by | restarting auth-svc"),
        ("The login outage was down to a stale DNS record.", "login outage | caused_by | stale DNS record"),
        (
            "The incident was due to a memory leak in session-cache.",
            "incident | caused_by | memory leak in session-cache",
        ),
        ("The outage happened because of an expired certificate.", "outage | caused_by | expired certificate"),
        ("INC-204 turned out to be a DNS problem.", "INC-204 | caused_by | DNS problem"),
        ("We traced the outage back to a bad index.", "outage | caused_by | bad index"),
        ("The fix for INC-204 was a restart of auth-svc.", "INC-204 | fixed_by | restart of auth-svc"),
        ("Root cause of INC-204: a bad config push.", "INC-204 | caused_by | bad config push"),
    ],
)
def test_causes_and_remedies(text: str, expected: str) -> None:
    """What caused an incident and what fixed it, by verbs, copulas, reasons, gerunds and labels."""
    assert expected in facts(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The root cause was the connection pool on payments-gw.", "checkout outage | caused_by | connection pool"),
        ("The root cause was not the cert.", "not checkout outage | caused_by | cert"),
        (
            "It was fixed by rolling back relay-api to 2.4.1.",
            "checkout outage | fixed_by | rolling back relay-api to 2.4.1",
        ),
        ("Root cause: expired TLS cert on edge-3.", "checkout outage | caused_by | expired TLS cert on edge-3"),
        ("The culprit was PR #381.", "checkout outage | caused_by | PR #381"),
        ("Cause: PR #381.", "checkout outage | caused_by | PR #381"),
    ],
)
def test_of_the_incident_that_was_spoken_of(text: str, expected: str) -> None:
    """A cause without an incident is the cause of the one that was spoken of last."""
    assert expected in facts(OUTAGE, text)
    assert not any("caused_by" in fact or "fixed_by" in fact for fact in facts("We had lunch.", text))


@pytest.mark.parametrize(
    "text",
    [
        "Maybe the root cause was the connection pool.", "Was the root cause the connection pool?",
        "The suspected cause was the connection pool.", "Suspected root cause: the pool.", "Root cause: unknown.",
        "Root cause: maybe the pool?", "Someone said the root cause was the pool.", "It could be fixed by a restart.",
        "If it is fixed by restarting auth-svc, tell me.", "It will be fixed by rolling back.",
        "The outage turned out to be a false alarm.", "The outage turned out to be long.", "It was due to be closed.",
        "Ana was late because of the rain.", "The party was down to three people.", "Fix: still investigating.",
    ],
)  # fmt: skip
def test_no_cause_and_no_remedy(text: str) -> None:
    """What is asked, guessed, reported, planned or says nothing is no cause."""
    assert not any("caused_by" in fact or "fixed_by" in fact for fact in facts(OUTAGE, text))


def test_errors_that_a_service_throws() -> None:
    """An error's class is a thing by its form, with the names of its modules; throwing it is an open relation."""
    assert "relay-api | throw | NullPointerException" in facts("relay-api throws NullPointerException since 2.4.0.")
    assert "billing-api | fail with | psycopg2.errors.UniqueViolation" in facts(
        "billing-api fails with psycopg2.errors.UniqueViolation."
    )
    assert not facts("Does relay-api throw NullPointerException?")


@pytest.mark.parametrize(
    ("text", "subtype"),
    [
        ("web-3.example.com", "host"), ("db.prod.internal", "host"), ("psycopg2.errors.UniqueViolation", "error"),
        ("java.lang.OutOfMemoryError", "error"), ("www.example.com", ""), ("example.com", ""), ("e.g.org", ""),
        ("Foo.bar", ""), ("U.S.Error", ""),
    ],
)  # fmt: skip
def test_hosts_and_errors_by_their_form(text: str, subtype: str) -> None:
    """A machine's full name and an error's path stay whole; a site is no machine."""
    found = identify(text)
    assert (found.subtype if found else "") == subtype
    assert is_identifier_token(text) is bool(subtype)


def test_readings_are_no_facts() -> None:
    """What a metric shows at a moment is no fact of the service."""
    for text in ("p99 latency of payments-gw is 850 ms.", "The error rate on checkout-api rose to 12 %."):
        assert not facts(text)


def told(value: Any) -> set[str]:
    """The facts of a result."""
    return {
        f"{a.subject.name} ({a.subject.type.value}) | {a.predicate} | "
        f"{a.object.name if isinstance(a.object, EntityName) else a.object}"
        for a in read_result(value).assertions
    }


def test_a_record_that_is_held_by_its_kind() -> None:
    """An object under "incident" is the incident that its id names, with cause, remedy and the path of each name."""
    value = {
        "incident": {
            "id": "INC-204", "root_cause": "expired TLS cert", "fixed_by": "PR #381", "status": "resolved", "alerts": 3,
        }
    }  # fmt: skip
    assert told(value) == {
        "INC-204 (Event) | caused_by | expired TLS cert", "INC-204 (Event) | fixed_by | PR #381",
        "INC-204 (Event) | has_status | resolved",
    }  # fmt: skip
    assert [(n.entity.name, n.path) for n in read_result(value).names] == [("INC-204", "$.incident.id")]
    assert told({"services": [{"name": "relay", "version": "v2"}]}) == {"relay (Object) | has_version | 2"}
    assert told({"incident": {"id": 7, "status": "open"}}) == set()


def test_a_ticket_is_about_itself() -> None:
    """A ticket with an assignee is not about its component; a service with a ticket beside it is about the service."""
    ticket = {"ticket": "PAY-381", "assignee": "Mara Winter", "status": "open", "component": "payments-gw"}
    assert told(ticket) == {
        "Mara Winter (Person) | works_on | PAY-381", "PAY-381 (Object) | has_status | open",
    }  # fmt: skip
    assert told({"service": "payments-gw", "ticket": "PAY-381", "status": "degraded"}) == {
        "payments-gw (Object) | has_status | degraded"
    }


def test_a_commit_has_its_author() -> None:
    """A commit's record names who made it; a service's record with a commit in it is about the service."""
    made = told({"commit": "4f2a9c1", "author": "Mara Winter <mara@x.example>", "message": "fix pool"})
    assert made == {
        "Mara Winter (Person) | created | 4f2a9c1", "Mara Winter (Person) | has_email | mara@x.example",
    }  # fmt: skip
    assert told({"service": "relay", "commit": "4f2a9c1", "version": "2.4"}) == {"relay (Object) | has_version | 2.4"}


def test_causes_are_of_incidents() -> None:
    """A service's record with a "fix" or a "cause" says nothing of an incident."""
    assert told({"service": "relay", "fix": "restart", "cause": "load"}) == set()
