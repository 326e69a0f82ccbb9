"""What recall answers."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from memstream.query.models import Entity, Fact, Out, PositionOut, Source
from memstream.query.recall_rank import Kind, Path


class ScopePosition(PositionOut):
    """The position that a scope was read as of."""

    scope: str = Field(examples=["acme/user-42"])


class Citation(Source):
    """What a number in the context stands for."""

    number: int = Field(description="The n of [n] in `context`.", examples=[1])
    scope: str


class Why(Out):
    """One path by which an item was found."""

    path: Path
    rank: int = Field(description="Its rank on this path, from 1.")
    detail: str = Field(examples=["about Ines Duarte"])


class Item(Out):
    """One thing that was served."""

    kind: Kind
    id: str
    scope: str
    text: str
    time: str | None = None
    score: float
    why: list[Why]
    citations: list[int] = Field(description="Numbers in `citations`.")
    holds: bool = True
    differs_from: str | None = Field(None, description="The claim of a nearer scope that has another value here.")


class RecalledFact(Fact):
    """A fact that was served."""

    scope: str
    differs_from: str | None = None


class NamedEntity(Entity):
    """An entity that the prompt names."""

    scope: str


class RecallAnswer(Out):
    """What memory has for a prompt."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "positions": [{"scope": "acme/user-42", "partition": 7, "offset": 48213}],
                    "context": "What is known:\n- The launch is scheduled for 2026-04-14 (since 2026-03-06) [1]\n\n"
                    "What was said:\n- 2026-03-06 09:00, Ines Duarte: “We moved the launch to 14 April.” [1]",
                    "tokens": 40,
                    "citations": [
                        {
                            "number": 1,
                            "scope": "acme/user-42",
                            "kind": "message",
                            "id": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
                            "session_id": "standup-12",
                            "speaker": "Ines Duarte",
                            "time": "2026-03-06T09:00:00.000000Z",
                            "quote": "We moved the launch to 14 April.",
                        }
                    ],
                    "items": [],
                    "facts": [],
                    "entities": [],
                    "notes": [],
                }
            ]
        }
    )

    positions: list[ScopePosition]
    context: str = Field(
        description="Text for a model's prompt, with citations such as [1]; empty if nothing is known."
    )
    tokens: int = Field(description="About how many tokens `context` has, at four characters each.")
    citations: list[Citation]
    items: list[Item] = Field(description="What `context` is made of, best first.")
    facts: list[RecalledFact]
    entities: list[NamedEntity] = Field(description="The entities that the prompt names.")
    notes: list[str] = Field(description="What could not be done, in words.")
