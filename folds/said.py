"""What is said of a slot, and what takes it back, as far as the fold looks at it."""

from __future__ import annotations

from dataclasses import dataclass

from memstream.schemas.patch import AssertionRow, RetractionRow

SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Said:
    """One assertion, as far as the fold looks at it. `value` is its normalised value, `key` its rank among all said."""

    id: str
    value: str
    said_at: str
    key: str
    slot: str = ""
    claim: str = ""
    single: bool = True
    negated: bool = False
    valid_from: str | None = None
    valid_to: str | None = None
    confidence: float = 1.0
    recorded_at: str = ""

    @classmethod
    def of(cls, row: AssertionRow, recorded_at: str) -> Said:
        """What a row of a patch says, recorded then."""
        return cls(
            id=row.id,
            value=row.value_key,
            said_at=row.said_at,
            key=row.key,
            slot=row.slot,
            claim=row.claim,
            single=row.single,
            negated=row.negated,
            valid_from=row.valid_from,
            valid_to=row.valid_to,
            confidence=row.confidence,
            recorded_at=recorded_at,
        )

    @property
    def only_ends(self) -> bool:
        """Whether it tells when something ended, and not when it began."""
        return self.valid_from is None and self.valid_to is not None and self.valid_to <= self.said_at

    @property
    def effective(self) -> str:
        """From when it counts: its start, or when it was said where that is all that is known."""
        if self.only_ends and self.valid_to is not None:
            return self.valid_to
        if self.valid_from is None:
            return self.said_at
        lasts = self.valid_to is None or self.valid_to > self.said_at
        return self.said_at if lasts and self.said_at.startswith(self.valid_from) else self.valid_from

    @property
    def place(self) -> str:
        """Where it stands in its slot, as a text that sorts. At one time an end comes before a start."""
        return SEPARATOR.join((self.effective, "0" if self.only_ends else "1", self.key, self.id))

    @property
    def track(self) -> str:
        """What it shares a sweep with: where one value holds at a time all of the slot, else its own claim alone."""
        return "" if self.single else self.claim or self.value


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A retraction: of one assertion by its id, or of a claim in a slot, as far as said before a time."""

    id: str
    assertion: str | None = None
    slot: str | None = None
    claim: str | None = None
    said_before: str | None = None
    recorded_at: str = ""

    @classmethod
    def of(cls, row: RetractionRow, recorded_at: str) -> TakenBack:
        """What a row of a patch takes back, recorded then."""
        return cls(row.id, row.assertion, row.slot, row.claim, row.said_before, recorded_at)

    def covers(self, said: Said) -> bool:
        """Whether it takes this out of the fold."""
        if self.assertion is not None:
            return said.id == self.assertion
        if self.slot is None or self.claim is None:
            return False
        before = self.said_before is None or said.said_at < self.said_before
        return said.slot == self.slot and said.claim == self.claim and before
