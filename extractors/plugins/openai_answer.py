"""What a model answered, as far as it is believed: checked by its form, by the catalogue, and against the text.

Nothing is taken on the model's word alone. A quote must stand in the message; a name in the message, in an earlier
message that was shown (whose event is then `used`), or be the speaker's; a literal value likewise, unless it is a date.
What does not fit is left out and counted by its reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from memstream.extractors.merge.spans import longest
from memstream.extractors.plugins.openai_request import VALUE, Earlier, shown_text, speaker_type
from memstream.schemas.base import Confidence, Model, When
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    ExtractedPreference,
    Extraction,
    Mention,
    Polarity,
    Turn,
)
from memstream.schemas.limits import MAX_NAME

NAME = "openai"
LEAST_CONFIDENCE = 0.5
_MOST_ITEMS = 200
_MOST_PLACES = 50  # of one name
_FIRST_PERSON = frozenset({"i", "me", "my", "myself", "mine"})
_NOBODY = frozenset(
    {"you", "he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself", "we", "us", "our"}
    | {"ours", "they", "them", "their", "theirs", "this", "that", "there", "here", "who", "which", "what", "someone"}
    | {"somebody", "everyone", "everybody", "one"}
)
_DATE = TypeAdapter(When)

Text = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Quote = Annotated[str, Field(min_length=1, max_length=4_000)]
Row = TypeVar("Row", bound=BaseModel)


class NoAnswer(ValueError):
    """An answer that is not of the form: nothing of it can be used."""


class _Left(ValueError):
    """Why one item of an answer is left out."""


class _Named(Model):
    name: Text
    type: Annotated[EntityType, Field(strict=False)]


class _Valued(Model):
    name: Text
    type: str


class _Entity(_Named):
    quote: Quote


class _Said(Model):
    confidence: Confidence
    quote: Quote
    uses: Annotated[tuple[int, ...], Field(strict=False)]


class _Fact(_Said):
    subject: _Named
    predicate: str
    object: _Valued
    negated: bool
    valid_from: When | None
    valid_to: When | None


class _Preference(_Said):
    holder: _Named
    polarity: Annotated[Polarity, Field(strict=False)]
    object: Text
    over: Text | None
    context: Text | None


class _Answer(Model):
    entities: list[Any]
    facts: list[Any]
    preferences: list[Any]


def believed(content: str, turn: Turn, earlier: Sequence[Earlier]) -> Extraction:
    """The extraction of an answer to `request_of(turn, earlier)`. Raises NoAnswer where it is not of the form."""
    try:
        answer = _Answer.model_validate(orjson.loads(content))
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise NoAnswer(type(error).__name__) from error
    reading = _Reading(turn, tuple(earlier))
    mentions = [one for item in answer.entities[:_MOST_ITEMS] for one in reading.tried(_Entity, item, reading.entity)]
    facts = [one for item in answer.facts[:_MOST_ITEMS] for one in reading.tried(_Fact, item, reading.fact)]
    tastes = [
        one for item in answer.preferences[:_MOST_ITEMS] for one in reading.tried(_Preference, item, reading.preference)
    ]
    facts.sort(key=lambda placed: placed[0])
    tastes.sort(key=lambda placed: placed[0])
    return Extraction(
        mentions=longest([*mentions, *reading.named]),
        assertions=tuple(dict.fromkeys(one for _, one in facts)),
        preferences=tuple(dict.fromkeys(one for _, one in tastes)),
        outcomes=tuple((NAME, f"left_out_{why}") for why in reading.left_out),
    )


@dataclass(slots=True)
class _Reading:
    """One answer against the text that it is of. `named` are the places of names that facts and preferences have."""

    turn: Turn
    earlier: tuple[Earlier, ...]
    left_out: list[str] = field(default_factory=list)
    named: list[Mention] = field(default_factory=list)
    text: _Searchable = field(init=False)

    def __post_init__(self) -> None:
        self.text = _Searchable(shown_text(self.turn))

    def tried(self, form: type[Row], item: Any, take: Any) -> list[Any]:
        """What `take` makes of an item of this form; nothing, with the reason noted, where it does not fit."""
        try:
            made: list[Any] = take(form.model_validate(item))
        except ValidationError:
            self.left_out.append("malformed")
        except _Left as why:
            self.left_out.append(str(why))
        else:
            return made
        return []

    def entity(self, said: _Entity) -> list[Mention]:
        """Each place at which the quote stands by itself, as a mention of the name."""
        places = self.text.places(said.quote)
        if not places:
            raise _Left("not_in_text")
        name, used = self._name(said)
        if name.name == self.turn.speaker:
            return []
        return [Mention(name, self.turn.text[start:end], start, end, used) for start, end in places]

    def fact(self, said: _Fact) -> list[tuple[int, ExtractedAssertion]]:
        """The assertion, with the place of its quote."""
        predicate = catalogue().predicates.get(said.predicate)
        if predicate is None:
            raise _Left("unknown_predicate")
        place = self._quoted(said)
        subject, used = self._name(said.subject)
        value: EntityName | str
        if said.object.type == VALUE:
            value, more = self._value(said.object.name)
            fits = predicate.value
        else:
            value, more = self._name(_Named.model_validate(said.object.model_dump()))
            fits = value.type.value in predicate.object
        if not fits or subject.type.value not in predicate.subject:
            raise _Left("wrong_type")
        if subject == value:
            raise _Left("of_itself")
        used = self._used(said, (*used, *more), value if isinstance(value, str) else value.name)
        assertion = ExtractedAssertion(
            subject, said.predicate, value, said.negated, said.valid_from, said.valid_to, said.confidence,
            used=used, rule=NAME,
        )  # fmt: skip
        self._note(subject, value)
        return [(place, assertion)]

    def preference(self, said: _Preference) -> list[tuple[int, ExtractedPreference]]:
        """The preference, with the place of its quote."""
        place = self._quoted(said)
        holder, used = self._name(said.holder)
        what, more = self._value(said.object)
        for told in (said.over, said.context):
            more = (*more, *(self._origin(told) if told is not None else ()))
        used = self._used(said, (*used, *more), said.object)
        made = ExtractedPreference(
            holder, said.polarity, what, said.over, said.context, confidence=said.confidence, used=used
        )
        return [(place, made)]

    def _quoted(self, said: _Said) -> int:
        if said.confidence < LEAST_CONFIDENCE:
            raise _Left("unsure")
        if any(number < 1 or number > len(self.earlier) for number in said.uses):
            raise _Left("malformed")
        place = self.text.find(said.quote)
        if place is None:
            raise _Left("not_in_text")
        return place

    def _name(self, said: _Named) -> tuple[EntityName, tuple[str, ...]]:
        """The entity of a name, and the events without which nobody would know it."""
        name = " ".join(said.name.split())
        if name.casefold() in _FIRST_PERSON or name == self.turn.speaker:
            return EntityName(speaker_type(self.turn), self.turn.speaker), ()
        if name.casefold() in _NOBODY or not any(char.isalnum() for char in name):
            raise _Left("no_name")
        return EntityName(said.type, name), self._origin(name)

    def _value(self, text: str) -> tuple[str, tuple[str, ...]]:
        try:
            return _DATE.validate_python(text), ()
        except ValidationError:
            return text, self._origin(text)

    def _origin(self, text: str) -> tuple[str, ...]:
        """Nothing where it stands in the message, else the last earlier message that has it or whose speaker it is."""
        if self.text.places(text):
            return ()
        for one in reversed(self.earlier):
            if one.speaker == text or _Searchable(one.text).places(text):
                return (one.event_id,)
        raise _Left("not_in_text")

    def _used(self, said: _Said, used: Iterable[str], value: str) -> tuple[str, ...]:
        """What it took: as the text shows, as the model says, and the question where the quote is but the answer."""
        told = [self.earlier[number - 1].event_id for number in said.uses]
        bare = _plain(said.quote).strip(" .,!?") == _plain(value)
        question = [self.earlier[-1].event_id] if bare and self.earlier else []
        return tuple(sorted({*used, *told, *question}))

    def _note(self, *ends: EntityName | str) -> None:
        for end in ends:
            if isinstance(end, EntityName) and end.name != self.turn.speaker:
                self.named += [
                    Mention(end, self.turn.text[start:stop], start, stop) for start, stop in self.text.places(end.name)
                ]


class _Searchable:
    """A text in which quotes are found whatever their case and white space, at the places where they stand."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places: dict[str, list[tuple[int, int]]] = {}

    def find(self, quote: str) -> int | None:
        """Where the quote stands first."""
        pattern = _pattern(quote)
        found = pattern.search(self._text) if pattern is not None else None
        return found.start() if found else None

    def places(self, name: str) -> list[tuple[int, int]]:
        """Where it stands by itself, and not as a part of a word; the first of very many."""
        known = self._places.get(name)
        if known is None:
            known = self._places[name] = self._look(name)
        return known

    def _look(self, name: str) -> list[tuple[int, int]]:
        pattern = _pattern(name)
        if pattern is None:
            return []
        alone = (
            found.span()
            for found in pattern.finditer(self._text)
            if not (_joins(self._text, found.start()) or _joins(self._text, found.end()))
        )
        return list(islice(alone, _MOST_PLACES))


def _pattern(quote: str) -> re.Pattern[str] | None:
    words = quote.split()
    return re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE) if words else None


def _joins(text: str, at: int) -> bool:
    """Whether a word goes on over this place."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
