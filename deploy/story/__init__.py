"""The sample story: six weeks at Speedwell Couriers, as events, and what one may ask about them.

Two people (Mara, who runs the dispatch, and Jonas, the engineer), three agents (Scout, Wrench and Quill), a routing
service that has to be replaced before winter, an outage with a wrong and a right cause, and a move of house. Two of the
events are invalid on purpose. The story is written in `week-1.txt` to `week-6.txt`; `build.py` makes `events.jsonl`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

ROOT = "demo"
MARA = "demo/fleet/mara"
JONAS = "demo/fleet/jonas"
BOARD = "demo/boards/dispatch"
SCOPES = (BOARD, MARA, JONAS)
INVALID_IDS = ("story-0135", "story-0340")


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask of the story: where, what, and a word that a good answer holds."""

    scope: str
    prompt: str
    expects: str


QUESTIONS = (
    Question(BOARD, "Who owns the service that caused the bridge outage?", "Jonas"),
    Question(BOARD, "What caused the bridge outage?", "geocoder"),
    Question(BOARD, "When is the deadline of the routing migration?", "2026-10-30"),
    Question(BOARD, "May I deploy on a Friday?", "Friday"),
    Question(BOARD, "What is the budget of the routing migration?", "4,800"),
    Question(BOARD, "What did we tell Brightwater Pharmacy about the new date?", "30 October"),
    Question(BOARD, "Did Switchback pass the load test, and with which pool size?", "64"),
    Question(MARA, "Where does Mara live?", "Dresden"),
    Question(MARA, "When and how should I send Mara her summary?", "evening"),
    Question(JONAS, "What is Jonas allergic to?", "walnuts"),
    Question(JONAS, "How long did the tile build for Saxony take?", "eleven hours"),
)


def story_lines() -> list[bytes]:
    """The events in the order of time, each a CloudEvent in structured mode without its line end."""
    return files(__package__).joinpath("events.jsonl").read_bytes().splitlines()
