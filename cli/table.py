"""The commands of `memstream`: where each lives, what it is for, and the extra that it needs.

A module gives a `typer.Typer` or a function under the name after the colon. It is imported when its command is
called, not before: so the base install runs, and `memstream --help` is quick.
"""

from __future__ import annotations

from dataclasses import dataclass

STACK, WRITE, READ, LOOK = "Run it", "Publish", "Ask", "Look after it"


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: `target` is module:attribute, `extra` what to install for it (None: the base install is enough)."""

    name: str
    target: str
    help: str
    panel: str
    extra: str | None = None


COMMANDS = (
    Entry("demo", "memstream.cli.demo:app", "Tell the sample story and show what memory makes of it.", STACK, "all"),
    Entry("up", "memstream.cli.stack:up", "Start Kafka and Neo4j here, and wait until they answer.", STACK, "streams"),
    Entry("down", "memstream.cli.stack:down", "Stop all that `up` started.", STACK, "streams"),
    Entry("status", "memstream.cli.stack:status", "Show what runs, where, and how it is.", STACK, "streams"),
    Entry("logs", "memstream.cli.stack:logs", "Show what the parts said.", STACK, "streams"),
    Entry("worker", "memstream.cli.worker:worker", "Run the stream workers: extract, sink, or both.", STACK, "streams"),
    Entry("serve", "memstream.cli.serve:app", "Run the query service.", STACK, "query"),
    Entry("publish", "memstream.cli.publish:app", "Publish events or recorded conversations from a file.", WRITE),
    Entry(
        "extract",
        "memstream.cli.extract:app",
        "Extract from dialogues in a file, without Kafka or Neo4j.",
        WRITE,
        "streams",
    ),
    Entry(
        "explain-extraction",
        "memstream.cli.explain:explain_extraction",
        "Show what is read out of a message, by which pattern, and why not more.",
        WRITE,
        "streams",
    ),
    Entry(
        "predicates",
        "memstream.cli.predicates:app",
        "Show the relations that are known, check your own, try what matches.",
        WRITE,
        "streams",
    ),
    Entry("recall", "memstream.cli.recall:app", "Ask the memory, and get an answer with its sources.", READ),
    Entry("facts", "memstream.cli.read:facts", "Show facts: what holds now, held then, or was believed then.", READ),
    Entry("sources", "memstream.cli.read:sources", "Show where a claim comes from.", READ),
    Entry("entity", "memstream.cli.read:entity", "Show what is known of a name.", READ),
    Entry("sessions", "memstream.cli.read:sessions", "Show the sessions of a scope.", READ),
    Entry("transcript", "memstream.cli.read:transcript", "Show what was said in a session.", READ),
    Entry("traces", "memstream.cli.read:traces", "Show what agents did, with steps and tool calls.", READ),
    Entry("schemas", "memstream.cli.schemas:app", "Export JSON Schemas and the AsyncAPI document.", LOOK),
    Entry("topics", "memstream.cli.topics:app", "Make, list and check the topics.", LOOK, "streams"),
    Entry("dlq", "memstream.cli.dlq:app", "Look at the dead letters; put them back or drop them.", LOOK, "streams"),
    Entry(
        "replay", "memstream.cli.replay:app", "Build the graph again from the log, beside what runs.", LOOK, "streams"
    ),
    Entry(
        "re-extract",
        "memstream.cli.re_extract:re_extract",
        "Read again what an extractor did not answer for.",
        LOOK,
        "streams",
    ),
    Entry(
        "resolve",
        "memstream.cli.resolve:resolve",
        "Find entities that are one, and those that may be.",
        LOOK,
        "streams",
    ),
    Entry("review", "memstream.cli.review:app", "Look at entities that may be one; say whether they are.", LOOK),
    Entry("export", "memstream.cli.export:export_app", "Write a graph into a file, in order.", LOOK, "streams"),
    Entry("import", "memstream.cli.export:import_app", "Load an export into an empty graph.", LOOK, "streams"),
    Entry("verify", "memstream.cli.verify:app", "Compare two graphs or exports, or digest one.", LOOK, "streams"),
    Entry("diff", "memstream.cli.diff:app", "Show what another graph knows otherwise.", LOOK, "streams"),
    Entry("switch", "memstream.cli.switch:app", "Let the query service read another graph.", LOOK, "all"),
    Entry(
        "erase",
        "memstream.cli.erase:erase",
        "Forget for real: events, sessions, a person, an entity, a scope.",
        LOOK,
        "streams",
    ),
    Entry(
        "expire",
        "memstream.cli.expire:expire",
        "Erase the sessions whose time to live is over.",
        LOOK,
        "streams",
    ),
    Entry(
        "prove-erased",
        "memstream.cli.prove:prove",
        "Search everything for what was erased, and say what was looked at.",
        LOOK,
        "streams",
    ),
    Entry("keys", "memstream.cli.keys:app", "Look at the keys that seal the log; destroy them.", LOOK, "encryption"),
    Entry(
        "migrate", "memstream.cli.migrate:app", "Bring the graph's constraints and indexes up to date.", LOOK, "streams"
    ),
    Entry(
        "settings", "memstream.cli.settings:settings", "Show every setting, its value and where it comes from.", LOOK
    ),
)
