"""What happened while a message was read, for people: what each rule wanted to say, and what became of it.

A trace is made only where someone asks for it (`memstream explain-extraction`, `memstream predicates`); a stream makes
none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WHY = {
    "quoted": "it stands in quotation marks",
    "joke": "it is said as a joke",
    "alternative": "it is one of several that are possible",
    "question": "it is asked and not said",
    "modal": "it may, should or could be so (a modal verb)",
    "conditional": "it depends on a condition",
    "hedge": "it is hedged (apparently, I think, maybe …)",
    "imperative": "it is a request",
    "plan": "it is a plan or a wish",
    "purpose": "it is what something is for",
    "mentioned": "it is only mentioned",
    "report": "someone else reported it",
    "negated report": "the report itself is denied",
    "hearsay": "someone said it of somebody else",
    "future": "it is yet to come",
    "recalled": "the message repeats what was recalled from memory",
    "unconfirmed": "the assistant said it, and no user has confirmed it yet",
    "again": "the message says it already",
    "we": "it is said of “we”, and whom that means is not known",
    "one": "subject and object are the same",
    "no subject": "whom it is about is not known",
    "no object": "what it says of the subject is not known",
    "broken": "a broken character stands in the name",
    "invented": "the session is making things up (a game, a story, a test)",
    "disbelieved": "the model of relations does not believe it",
    "withdrawn": "another fact of the message took its place",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A triple that a rule found. `outcome` is said, kept (waits for a yes) or refused; `why` is a key of WHY."""

    subject: str
    predicate: str
    object: str
    rule: str
    pattern: str
    outcome: str
    why: str = ""

    @property
    def reason(self) -> str:
        """Why it was not asserted, in words; "" where it was."""
        return WHY.get(self.why, self.why)


@dataclass(frozen=True, slots=True)
class Miss:
    """A pattern whose verb, subject and object were there, and whose condition was not. `unsure` is of its clause."""

    subject: str
    predicate: str
    object: str
    pattern: str
    condition: str
    unsure: str = ""

    @property
    def reason(self) -> str:
        """Why it was not asserted, in words."""
        doubt = f"{WHY.get(self.unsure, self.unsure)}; " if self.unsure else ""
        return f"{doubt}the condition {self.condition!r} does not hold"


@dataclass(slots=True)
class Trace:
    """What one message made the rules try. `trying` is the place of the pattern at work, "" for rules in code.

    `disbelieved`: subject, predicate and object of what a rule said and the model took back.
    """

    attempts: list[Attempt] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)
    trying: str = ""
    disbelieved: list[tuple[str, str, str]] = field(default_factory=list)
