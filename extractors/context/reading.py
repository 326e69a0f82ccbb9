"""One message being read: what it has said so far, and whether a triple may be put down.

The rules (patterns, nominals, copulas, lists, answers) call `ref` to learn whom a noun phrase means and `say` to put a
triple down; `say` decides by the clause's status whether the triple is asserted, negated, dated, a guess, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from memstream.extractors.context.contrast import either, opposite, turned
from memstream.extractors.context.dating import dates, lender, trailing
from memstream.extractors.context.references import Ref, References
from memstream.extractors.context.roles import Said, said_so_far
from memstream.extractors.context.session import Known
from memstream.extractors.context.trace import Trace
from memstream.extractors.parse.frames import Frame
from memstream.extractors.text.lexicon import words
from memstream.extractors.text.textprep import UNKNOWN
from memstream.extractors.text.time_forms import TimeExpression
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    ExtractedPreference,
    ExtractedRetraction,
    Mention,
    SameAs,
)

OWN_RULE = "own file"  # the rule of what a person's own patterns say: no model has seen them
PRIVATE = words("lives_in owns has_pet bought visited attended partner_of parent_of allergic_to speaks")

# what has no beginning that a dialogue would say, or one that is its object
UNDATED = words(
    """
    born_in born_on speaks caused_by cousin_of has_email has_phone scheduled_for has_deadline parent_of child_of
    sibling_of knows nephew_of niece_of aunt_of uncle_of grandmother_of grandfather_of allergic_to has_name has_timezone
    """
)
_MOVING = words("move push shift postpone reschedule delay bring change put")


def _begins(predicate: str, frame: Frame | None) -> bool:
    """Whether a date of the clause may be when it began to hold; what is moved has its new date since it was moved."""
    return predicate not in UNDATED or (
        predicate in ("scheduled_for", "has_deadline") and frame is not None and frame.lemma in _MOVING
    )


@dataclass(frozen=True, slots=True)
class Proposal:
    """A triple that a rule found. `unsure` says why its clause does not assert it; `assertion` is what was put down."""

    subject: Ref
    predicate: str
    target: Ref
    rule: str
    unsure: str = ""
    assertion: ExtractedAssertion | None = None


@dataclass(slots=True)
class Reading(References):
    """The state of reading one window of one message."""

    mentions: dict[tuple[int, int], Mention] = field(default_factory=dict)
    assertions: list[ExtractedAssertion] = field(default_factory=list)
    guesses: list[ExtractedAssertion] = field(default_factory=list)
    retractions: list[ExtractedRetraction] = field(default_factory=list)
    preferences: list[ExtractedPreference] = field(default_factory=list)
    same_as: list[SameAs] = field(default_factory=list)
    pending: dict[str, tuple[Ref, str, Ref]] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    trace: Trace | None = None

    def so_far(self) -> Iterator[Said]:
        """What this message said, and the session before it."""
        return said_so_far(self.session, self.assertions)

    def listed(self, ref: Ref) -> None:
        """Put a description that takes part in a fact into the session, and mark where it stands."""
        known = ref.known
        if known is None:
            return
        if ref.fresh and known not in self.session.known:
            known.last, known.event = self.session.turn, self.turn.event_id
            known.origin = known.event
            self.session.known.append(known)
        if ref.end > ref.start:
            self.mention(known, ref.start, ref.end)

    def mention(self, known: Known, start: int, end: int) -> None:
        """Say that the tokens [start, end) refer to `known`."""
        a, b = self.tree.at[start], self.tree.end_of(end - 1)
        key = (a, b)
        if key not in self.mentions:
            offset, used = self.tree.offset, self.basis(known)
            said = self.turn.text[
                offset + a : offset + b
            ]  # of the message itself: in the tree some of it may be masked
            self.mentions[key] = Mention(known.entity, said, offset + a, offset + b, used)

    def dates(self, frame: Frame | None, at: int) -> tuple[str | None, str | None]:
        """valid_from and valid_to of a clause (or of the sentence of token `at` where there is no clause)."""
        found = dates(self.tree, frame, at, self.times_of(frame, at))
        if frame is None or any(found) or not self.times:
            return found
        other = lender(self.tree, frame, self.frames)
        if other is not None:
            return dates(self.tree, other, other.head, self.times_of(other, other.head))
        return dates(self.tree, frame, at, trailing(self.tree, frame, self.frames, self.times))

    def times_of(self, frame: Frame | None, at: int) -> list[TimeExpression]:
        """The date expressions that belong to a clause."""
        out = []
        for t in self.times:
            token = self.token_at(t.start)
            if token is None or self.tree.sent[token] != self.tree.sent[at if frame is None else frame.head]:
                continue
            if self._named(t, token):
                continue
            if frame is None or self._holds(frame, t, token) or self._alone(token):
                out.append(t)
        return out

    def _holds(self, frame: Frame, t: TimeExpression, token: int) -> bool:
        """Whether a word of a date hangs on the clause: "the" of "the day before yesterday" may hang on nothing."""
        last = self.token_at(t.end - 1)
        return any(self.owner.get(i) is frame for i in range(token, (token if last is None else last) + 1))

    def _named(self, t: TimeExpression, token: int) -> bool:
        """Whether a date is part of a longer name, as in "the Saturday Repair Café"."""
        named = self.cover.get(token)
        if named is None:
            return False
        return self.tree.at[named.span.start] < t.start or self.tree.end_of(named.span.end - 1) > t.end

    def _alone(self, token: int) -> bool:
        """Whether a date outside every clause stands in a sentence of one clause, and so belongs to it."""
        return (
            token not in self.owner and sum(self.tree.sent[f.head] == self.tree.sent[token] for f in self.frames) == 1
        )

    def say(
        self, subject: Ref, predicate: str, obj: Ref | str, frame: Frame | None = None, *, at: int = 0, rule: str = "",
        ended: bool = False, negated: bool = False, dated: bool = True, presupposed: bool = False,
        open_predicate: bool = False, confidence: float = 1.0,
    ) -> bool:  # fmt: skip
        """Put a triple down as far as its clause lets it be asserted. Returns whether it was."""
        target = Ref(None, obj) if isinstance(obj, str) else obj
        if subject.known is None or not self._whole(subject, predicate, target) or self._is_date(target):
            return False
        no = negated or bool(frame and frame.negated)
        unsure = ""
        if frame is not None and not presupposed:
            no = turned(self.tree, target, no=no)
            confidence = min(confidence, frame.sure)
            unsure = self._unsure(frame, subject, predicate, open_predicate=open_predicate)
        if not unsure and not no:
            place = Ref(None, "", (), at, at + 1) if rule == "model" and target.end <= target.start else target
            unsure = "alternative" if either(self.tree, subject) or either(self.tree, place) else ""
        if unsure or not self.turn.asserts:
            self.proposals.append(Proposal(subject, predicate, target, rule, unsure or "recalled"))
            return False
        if ended:
            no = not no
        since, until = self.dates(frame, at) if dated and (no or _begins(predicate, frame)) else (None, None)
        if no and not since and until:
            since, until = until, None
        if frame and frame.used_to and not no and not until:
            until = since
            since = None
        assertion = ExtractedAssertion(
            subject=subject.known.entity, predicate=predicate, object=target.term, negated=no, valid_from=since,
            valid_to=until, open=open_predicate or predicate not in catalogue(),
            used=tuple(
                dict.fromkeys((*subject.used, *target.used, *self.basis(subject.known), *self.basis(target.known)))
            ),
            rule=rule, confidence=confidence,
        )  # fmt: skip
        self.proposals.append(Proposal(subject, predicate, target, rule, "", assertion))
        self._put(assertion, subject, target)
        if not no and not ended and frame is not None:
            self._opposites(subject, predicate, target, rule)
        return True

    def _is_date(self, target: Ref) -> bool:
        """Whether an entity stands where a date does: "the 25th" is no street."""
        if target.known is None or not target.start < target.end:
            return False
        start, end = self.tree.at[target.start], self.tree.end_of(target.end - 1)
        return any(t.start <= start and end <= t.end for t in self.times)

    @staticmethod
    def _whole(subject: Ref, predicate: str, target: Ref) -> bool:
        """Whether there is a triple at all: two ends that are known and not the same."""
        if not subject.known or (not target.known and not target.value) or subject.known is target.known:
            return False
        if UNKNOWN in subject.known.name or UNKNOWN in (target.known.name if target.known else target.value):
            return False
        return predicate in PRIVATE or not (subject.we or target.we)

    def _unsure(self, frame: Frame, subject: Ref, predicate: str, *, open_predicate: bool) -> str:
        """Why a clause does not assert what it says of `subject`."""
        unsure = frame.unsure
        if frame.told_by is not None and not unsure:
            teller = self.ref(frame.told_by)
            if teller is None or teller.known is not subject.known:
                unsure = "hearsay"
        if frame.future and not open_predicate and predicate not in ("scheduled_for", "has_deadline"):
            unsure = unsure or "future"
        return "" if unsure == "question" and not self.asserting else unsure

    def _opposites(self, subject: Ref, predicate: str, target: Ref, rule: str) -> None:
        """What is put against one of both: "Ana, not Tom, runs it", "lives in Oslo, not Bergen"."""
        for ref, other in ((subject, opposite(self.tree, subject)), (target, opposite(self.tree, target))):
            against = self.ref(other, (ref.type,)) if other is not None and ref.known is not None else None
            if against is not None and against.type == ref.type:
                pair = (against, target) if ref is subject else (subject, against)
                self.say(pair[0], predicate, pair[1], negated=True, presupposed=True, dated=False, rule=rule)

    def _retract(self, a: ExtractedAssertion) -> None:
        """A value that began before an undated earlier statement of the session takes that statement's place.

        Without this, "lives in Karachi" (said now) would be taken for newer than "moved to Lahore in May" (said later).
        """
        if a.negated or not a.valid_from or a.valid_to or not catalogue().is_single(a.predicate):
            return
        value = a.object.name if isinstance(a.object, EntityName) else a.object
        events = {row[0]: row[1] for row in self.session.told}
        mine = (a.subject.name, a.subject.type.value, a.predicate)
        for s, kind, predicate, obj, form, *rest in self.session.facts:
            if (s, kind, predicate) == mine and obj != value and not any(rest[:1]):
                was = EntityName(EntityType(form), obj) if form else obj
                said_by = tuple(events[turn] for turn in rest[1:] if turn in events)
                self.retractions.append(ExtractedRetraction(a.subject, predicate, was, said_by))

    def _put(self, assertion: ExtractedAssertion, subject: Ref, target: Ref) -> None:
        if not self.asserting:
            self.guesses.append(assertion)
            return
        for ref in (subject, target):
            self.listed(ref)
        same = [
            a
            for a in self.assertions
            if (a.subject, a.predicate, a.object) == (assertion.subject, assertion.predicate, assertion.object)
        ]
        if same:
            if assertion.valid_from and not same[0].valid_from and not same[0].negated:
                self.assertions[self.assertions.index(same[0])] = assertion
            return
        self._retract(assertion)
        self.assertions.append(assertion)
        for ref in (subject, target):
            waiting = self.pending.pop(ref.known.name, None) if ref.known else None
            if waiting is not None:
                self.say(waiting[0], waiting[1], waiting[2], dated=False, presupposed=True, rule="kin")
