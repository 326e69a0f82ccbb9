"""Code inside messages: what it names beyond doubt, and that nothing is asserted by reading it as prose."""

import pytest
from extracting import read_user as read

from memstream.extractors.text.code import MOST, code_names, code_parts


def names(text: str) -> list[str]:
    """The names in the code of a text, with what they are, from left to right."""
    return [f"{found.name} {found.subtype}" for found in code_names(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```sql\nSELECT o.id FROM orders o JOIN customers c ON o.c = c.id;\n```", ["orders table", "customers table"]),
        ("```\nINSERT INTO billing.invoices (id) VALUES (1);\n```", ["billing.invoices table"]),
        ('```\nUPDATE "users" SET name = 1;\nDELETE FROM sessions;\n```', ["users table", "sessions table"]),
        ("```\nALTER TABLE IF EXISTS ledger ADD COLUMN x int;\n```", ["ledger table"]),
        ("SELECT * FROM orders;", ["orders table"]),
        ("run `SELECT * FROM orders` please", ["orders table"]),
        ("```\nWITH recent AS (SELECT * FROM orders) SELECT * FROM recent;\n```", ["orders table"]),
        ("```\nSELECT EXTRACT(year FROM day) FROM visits WHERE a IS DISTINCT FROM b;\n```", ["visits table"]),
        ("```\nSELECT * FROM jobs FOR UPDATE skip_locked;\nSELECT * FROM unnest(x);\n```", ["jobs table"]),
        ("```\nSELECT name FROM staff WHERE note = 'moved FROM paris' -- FROM old_staff\n```", ["staff table"]),
        ("```sh\nssh -p 2222 deploy@web-3.example.com 'systemctl restart relay-api'\n```",
         ["web-3.example.com host", "relay-api service"]),
        ("`psql -h db-2 -U app`", ["db-2 host"]),
        ("```\nkubectl rollout undo deployment/payments-gw -n prod\n```", ["payments-gw service"]),
        ("$ journalctl -fu auth-svc\n$ scp dump.sql backup-1:/srv/", ["auth-svc service", "backup-1 host"]),
        ("```\nssh localhost\nssh $HOST\nping 10.0.0.3\nfrom app import orders\n```", []),
        ("I came from Paris and ssh into the box, update orders, table for two", []),
        ("```python\nfrom orders import models\nprint('select me from paris')\n```", []),
    ],
)  # fmt: skip
def test_names_in_code(text: str, expected: list[str]) -> None:
    """Tables of statements, hosts and services of commands; no keyword, function, string, comment or prose."""
    assert names(text) == expected


def test_where_code_stands() -> None:
    """A name between backticks is prose, a command or an expression between them is code; lines after a prompt are."""
    text = "Use `payments-gw` and `x = get(y)`.\n$ make all\n```\ncode"
    assert [text[a:b] for a, b in code_parts(text)] == ["`x = get(y)`", "$ make all", "```\ncode"]


def test_code_is_not_read_as_prose() -> None:
    """Nothing is asserted from a fence, a line of SQL or a command between backticks; its names are mentions."""
    for text in (
        "I ran this:\n```sql\nSELECT id FROM orders WHERE name = 'Anna lives in Berlin';\n```",
        "It was `psql -h db-2 -c 'Anna lives in Berlin'` then.",
        "SELECT * FROM orders WHERE note = 'Anna lives in Berlin';",
        "$ echo Anna lives in Berlin",
    ):
        found = read(text)[0]
        assert not found.assertions
        assert not any(m.text in ("Anna", "Berlin") for m in found.mentions)
        assert all(text[m.start : m.end] == m.text for m in found.mentions)


def test_a_name_in_code_is_the_entity_of_the_session() -> None:
    """What the talk named already is the same in code; what only code names is meant by no pronoun."""
    first, second = read("relay-api is at 5.5.1.", "```\nsystemctl restart relay-api\nssh web-3\n```\nIt is slow.")
    entity = next(m.entity for m in first.mentions if m.text == "relay-api")
    assert {m.text: m.entity for m in second.mentions}["relay-api"] == entity
    assert [m.entity.subtype for m in second.mentions if m.text == "web-3"] == ["host"]
    assert not any(a.subject.name == "web-3" for a in second.assertions)


def test_names_in_code_are_bounded() -> None:
    """However much code there is, no more than MOST names come out of it."""
    text = "```sql\n" + "\n".join(f"DROP TABLE t_{n};" for n in range(500)) + "\n```"
    assert len(code_names(text)) == MOST
