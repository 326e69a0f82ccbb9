"""One message being read: what its words refer to, and what it has said so far.

The rules (patterns, nominals, copulas, lists, answers) call `ref` to learn whom a noun phrase means and `say` to put a
triple down; `say` decides by the clause's status whether the triple is asserted, negated, dated, a guess, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from memstream.extractors.candidates import Candidate
from memstream.extractors.frames import IMPLIED, IMPLIED_THIRD, Frame
from memstream.extractors.lexicon import lexicon
from memstream.extractors.session import Known, Session, clean
from memstream.extractors.times import TimeExpression
from memstream.extractors.tree import Tree
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    ExtractedPreference,
    ExtractedRetraction,
    Mention,
    SameAs,
    Turn,
)

FIRST = frozenset({"i", "me", "my", "mine", "myself", "im", "i'm"})
WE = frozenset({"we", "us", "our", "ours", "ourselves"})
THIRD = frozenset(
    [
        "he",
        "him",
        "his",
        "she",
        "her",
        "hers",
        "it",
        "its",
        "they",
        "them",
        "their",
        "theirs",
        "there",
        "himself",
        "herself",
        "itself",
    ]
)
PRIVATE = frozenset(
    ["lives_in", "owns", "has_pet", "bought", "visited", "attended", "partner_of", "parent_of", "allergic_to", "speaks"]
)
_DETERMINERS = frozenset(
    [
        "the",
        "a",
        "an",
        "this",
        "that",
        "these",
        "those",
        "some",
        "any",
        "no",
        "every",
        "each",
        "my",
        "our",
        "your",
        "his",
        "her",
        "its",
        "their",
        "whose",
    ]
)
_DEFINITE = frozenset({"the", "this", "that", "our", "my", "his", "her", "its", "their", "these", "those", "your"})
_QUALITIES = frozenset(
    [
        "old",
        "new",
        "little",
        "big",
        "small",
        "young",
        "current",
        "same",
        "whole",
        "entire",
        "own",
        "last",
        "first",
        "next",
        "recent",
        "former",
        "late",
        "latest",
        "existing",
        "dear",
        "poor",
        "good",
    ]
)


@dataclass(frozen=True, slots=True)
class Ref:
    """Whom or what a phrase means: a known entity, or a literal value. `used` are events that were needed to know."""

    known: Known | None
    value: str
    used: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    we: bool = False
    fresh: bool = False

    @property
    def type(self) -> str:
        """The entity's type, "" for a value."""
        return self.known.type if self.known else ""

    @property
    def term(self) -> EntityName | str:
        """As an assertion gives it."""
        return self.known.entity if self.known else self.value


@dataclass(slots=True)
class Named:
    """A candidate that was taken for an entity."""

    span: Candidate
    known: Known
    sure: float


@dataclass(slots=True)
class Reading:
    """The state of reading one window of one message."""

    turn: Turn
    tree: Tree
    session: Session
    frames: list[Frame]
    named: list[Named]
    times: list[TimeExpression]
    quoted: list[bool]
    asserting: bool
    earlier: list[Known]
    speaker: Known
    cover: dict[int, Named] = field(default_factory=dict)
    owner: dict[int, Frame] = field(default_factory=dict)
    mentions: dict[tuple[int, int], Mention] = field(default_factory=dict)
    assertions: list[ExtractedAssertion] = field(default_factory=list)
    guesses: list[ExtractedAssertion] = field(default_factory=list)
    retractions: list[ExtractedRetraction] = field(default_factory=list)
    preferences: list[ExtractedPreference] = field(default_factory=list)
    same_as: list[SameAs] = field(default_factory=list)
    pending: dict[str, tuple[Ref, str, Ref]] = field(default_factory=dict)
    refused: list[tuple[str, str, str, str]] = field(default_factory=list)

    def prepare(self) -> None:
        """Index candidates by token and clauses by token."""
        for n in self.named:
            for i in range(n.span.start, n.span.end):
                self.cover[i] = n
        for frame in self.frames:
            for i in frame.tokens:
                self.owner[i] = frame

    def ref(self, i: int, expect: Iterable[str] = (), *, values: bool = False, full: bool = False) -> Ref | None:
        """What the phrase at head `i` refers to; None where that can't be said. `values`: a literal will do."""
        tree = self.tree
        if i == IMPLIED:
            return self._implied(tuple(expect))
        if i == IMPLIED_THIRD:
            return self._subject_before(len(tree), tuple(expect))
        word = tree.lower[i]
        if word in FIRST:
            return Ref(self.speaker, "", start=i, end=i + 1)
        if word in WE:
            return Ref(self.speaker, "", start=i, end=i + 1, we=True)
        if word in ("you", "your", "yours") and not self.asserting:
            return self._addressed(i)
        if word in THIRD and tree.pos[i] in ("PRON", "DET", "ADV"):
            return self._pronoun(i, tuple(expect))
        if word == "user" and self.turn.role in ("system", "tool"):
            return Ref(self.speaker, "", start=i, end=i + 1)
        if (
            i not in self.cover
            and i - 1 in self.cover
            and word[:1].isdigit()
            and tree.dep[i - 1] in ("amod", "compound", "nmod")
        ):
            i -= 1
        if i in self.cover:
            return self._name(self.cover[i], tuple(expect))
        if tree.pos[i] in ("PRON", "DET", "SCONJ") or (tree.pos[i] == "ADV" and not values):
            return None
        for k in tree.kids[i]:
            if tree.dep[k] == "appos" and k in self.cover and tree.sent[k] == tree.sent[i] and k - i < 12:
                return self._name(self.cover[k], tuple(expect))
        return self._phrase(i, tuple(expect), values, full=full)

    def _addressed(self, i: int) -> Ref | None:
        """Whom an assistant addresses: the one who spoke last, where that is known."""
        name = self.session.last_speaker
        if not name or name == self.speaker.name:
            return None
        known = next((k for k in self.earlier if k.name == name), None) or Known(name, "Person")
        return Ref(known, "", start=i, end=i + 1)

    def _implied(self, expect: tuple[str, ...]) -> Ref | None:
        if "Person" in expect:
            return Ref(self.speaker, "")
        return None

    def _pronoun(self, i: int, expect: tuple[str, ...]) -> Ref | None:
        view = Session(known=self.earlier)
        known = view.pronoun(self.tree.lower[i], self._salient(i))
        if known is None or known is self.speaker:
            return None
        if self.tree.lower[i] in ("he", "him", "his") and known.type == "Person":
            known.gender = known.gender or "m"
        elif self.tree.lower[i] in ("she", "her", "hers") and known.type == "Person":
            known.gender = known.gender or "f"
        used = () if known.last == self.session.turn or not known.event else (known.event,)
        return Ref(known, "", used, i, i + 1)

    def _salient(self, i: int) -> list[Known]:
        """The entities before token i, the likeliest antecedent last: subjects of earlier clauses over all others."""
        own = self.owner.get(i)
        mine: list[Known] = []
        if own is not None and self.tree.dep[i] != "poss":
            mine = [self.cover[s].known for s in (*own.subj, *own.obj) if s in self.cover and s != i]
        before = [n.known for n in self.named if n.span.end <= i and n.known not in mine]
        subjects = []
        for frame in self.frames:
            if frame is own and self.tree.dep[i] != "poss":
                continue
            for s in frame.obj if frame.passive else frame.subj:
                if 0 <= s < i and s in self.cover and frame.head < i:
                    subjects.append(self.cover[s].known)
        return [*before, *subjects]

    def _subject_before(self, i: int, expect: tuple[str, ...]) -> Ref | None:
        """Whom a clause without a subject goes on about."""
        for known in [*reversed(self._salient(i)), *reversed(self.earlier)]:
            if known.last < self.session.turn - 1:
                break
            if not expect or known.type in expect:
                used = () if known.last == self.session.turn or not known.event else (known.event,)
                return Ref(known, "", used)
        return None

    def _name(self, n: Named, expect: tuple[str, ...]) -> Ref:
        if expect and n.known.type not in expect and n.sure < 0.8 and "Person" not in (n.known.type, *expect[:1]):
            retyped = self.session.find(n.known.name, expect[0])
            if retyped is None:
                n.known.type = expect[0]
        return Ref(n.known, "", (), n.span.start, n.span.end)

    def _phrase(self, i: int, expect: tuple[str, ...], values: bool, *, full: bool) -> Ref | None:
        """A common noun phrase: a definite thing (an entity) or an indefinite one (a value)."""
        tree = self.tree
        start, end = tree.noun_span(i)
        words = [tree.lower[k] for k in range(start, end)]
        owner = next((k for k in tree.kids[i] if tree.dep[k] == "poss"), None)
        definite = owner is not None or any(tree.lower[k] in _DEFINITE for k in tree.kids[i] if tree.dep[k] == "det")
        if not definite:
            text = self.value(i, full=full)
            return Ref(None, text, (), start, end) if values and text else None
        if tree.pos[i] not in ("NOUN", "PROPN", "X"):
            return None
        before = self._salient(i)
        view = Session(known=self.earlier)
        bare = [w for w in words if w not in _DETERMINERS and w not in _QUALITIES]
        if owner is None and len(bare) == 1:
            known = view.definite(tree.lemma[i], "", before) or view.definite(tree.lower[i], "", before)
            if known is not None and (not expect or known.type in expect):
                used = () if known.last == self.session.turn or not known.event else (known.event,)
                return Ref(known, "", used, start, end)
        return self._description(i, start, end, owner, expect)

    def _description(self, i: int, start: int, end: int, owner: int | None, expect: tuple[str, ...]) -> Ref | None:
        """A new entity named by its description: "checkout outage", "user's landlord", "ADR-27 rollout"."""
        tree = self.tree
        lemma = tree.lemma[i]
        inner = [
            k for k in range(start, end)
            if not (tree.dep[k] == "det" and tree.lower[k] in _DETERMINERS) and tree.lower[k] not in _QUALITIES
            and not (owner is not None and k <= self._owner_end(owner)) and tree.pos[k] not in ("PUNCT", "SPACE")
        ]  # fmt: skip
        if not inner:
            return None
        name = clean(tree.span_text(inner[0], end))
        used: tuple[str, ...] = ()
        person = lemma in lexicon().kin or lemma in lexicon().roles
        if person and owner is None:
            return None
        if owner is not None:
            whose = self.ref(owner)
            if tree.lower[owner] not in WE:
                if whose is None or whose.known is None:
                    return None
                name, used = f"{whose.known.name}'s {name}", whose.used
        for k in tree.kids[i]:
            if tree.dep[k] == "prep" and tree.lower[k] == "of":
                of = [self.cover[o].known for o in tree.kids[k] if o in self.cover]
                if of and not person:
                    name = f"{of[0].name} {name}"
        kind = "Person" if person else ""
        if not kind:
            guess = lexicon().class_nouns.get(lemma) or lexicon().class_nouns.get(tree.lower[i]) or "Object"
            kind = guess
            if (guess == "Object" and expect and expect[0] == "Event") or (
                guess == "Location" and "Organization" in expect and "Location" not in expect
            ):
                kind = expect[0]
        if len(name) < 2 or len(name) > 80:
            return None
        known = Session(known=self.earlier).find(name, kind)
        if known is None:
            known = Known(name, kind, lexicon().kin.get(lemma, ("", ""))[1])
            return Ref(known, "", used, start, end, fresh=True)
        return Ref(known, "", used, start, end)

    def _owner_end(self, owner: int) -> int:
        case = [k for k in self.tree.kids[owner] if self.tree.dep[k] == "case"]
        return case[-1] if case else owner

    def value(self, i: int, *, full: bool = False) -> str:
        """The literal text of an indefinite phrase, without article; `full`: with all that hangs on it."""
        tree = self.tree
        start, end = tree.noun_span(i)
        while start < i and (
            tree.dep[start] in ("det", "predet", "punct", "advmod", "quantmod") or tree.lower[start] in _DETERMINERS
        ):
            start += 1
        for k in sorted(tree.kids[i]):
            if (
                k == end
                and tree.dep[k] in ("nummod", "appos")
                and tree.words[k].replace(".", "").isalnum()
                and tree.words[k][:1].isdigit()
            ):
                end = k + 1
                continue
            if k >= end and tree.dep[k] in ("prep", "amod", "acl") and (full or tree.lower[k] in ("of", "about")):
                below = tree.subtree(k)
                if k == end and len(below) <= 9 and not any(tree.dep[b] in ("relcl", "advcl") for b in below):
                    end = below[-1] + 1
                    continue
            if k >= end:
                break
        return clean(tree.span_text(start, end))

    def listed(self, ref: Ref) -> None:
        """Put a description that takes part in a fact into the session, and mark where it stands."""
        known = ref.known
        if known is None:
            return
        if ref.fresh and known not in self.session.known:
            known.last, known.event = self.session.turn, self.turn.event_id
            self.session.known.append(known)
        if ref.end > ref.start:
            self.mention(known, ref.start, ref.end)

    def mention(self, known: Known, start: int, end: int) -> None:
        """Say that the tokens [start, end) refer to `known`."""
        a, b = self.tree.at[start], self.tree.end_of(end - 1)
        key = (a, b)
        if key not in self.mentions:
            offset = self.tree.offset
            self.mentions[key] = Mention(known.entity, self.tree.text[a:b], offset + a, offset + b)

    def dates(self, frame: Frame | None, at: int) -> tuple[str | None, str | None]:
        """valid_from and valid_to of a clause (or of the sentence of token `at` where there is no clause)."""
        start = end = None
        future = frame.future if frame else False
        for t in self.times_of(frame, at):
            value = t.future if future else t.past
            if t.is_end:
                end = end or value
            elif t.is_start or t.lead in ("on", "in", "", "at", "back in", "around", "about", "during", "the"):
                start = start or value
        return start, end

    def times_of(self, frame: Frame | None, at: int) -> list[TimeExpression]:
        """The date expressions that belong to a clause."""
        out = []
        for t in self.times:
            token = self.token_at(t.start)
            if token is None or self.tree.sent[token] != self.tree.sent[at if frame is None else frame.head]:
                continue
            if frame is None or self.owner.get(token) is frame or self._alone(frame, token):
                out.append(t)
        return out

    def _alone(self, frame: Frame, token: int) -> bool:
        """Whether a date outside every clause can only belong to this one."""
        return (
            token not in self.owner and sum(self.tree.sent[f.head] == self.tree.sent[token] for f in self.frames) == 1
        )

    def token_at(self, position: int) -> int | None:
        """The token at a character of the window."""
        lo, hi = 0, len(self.tree)
        while lo < hi:
            mid = (lo + hi) // 2
            if self.tree.end_of(mid) <= position:
                lo = mid + 1
            else:
                hi = mid
        return lo if lo < len(self.tree) else None

    def say(
        self, subject: Ref, predicate: str, obj: Ref | str, frame: Frame | None = None, *, at: int = 0, rule: str = "",
        ended: bool = False, negated: bool = False, dated: bool = True, presupposed: bool = False,
        open_predicate: bool = False,
    ) -> bool:  # fmt: skip
        """Put a triple down as far as its clause lets it be asserted. Returns whether it was."""
        target = Ref(None, obj) if isinstance(obj, str) else obj
        unsure = frame.unsure if frame and not presupposed else ""
        if not subject.known or (not target.known and not target.value) or subject.known is target.known:
            return False
        if (subject.we and predicate not in PRIVATE) or (target.we and predicate not in PRIVATE):
            return False
        if frame and frame.told_by is not None and not presupposed and not unsure:
            teller = self.ref(frame.told_by)
            if teller is None or teller.known is not subject.known:
                unsure = "hearsay"
        if (
            frame
            and frame.future
            and not presupposed
            and not open_predicate
            and predicate not in ("scheduled_for", "has_deadline")
        ):
            unsure = unsure or "future"
        if unsure == "question" and not self.asserting:
            unsure = ""
        if unsure or not self.turn.asserts:
            self.refused.append((subject.known.name, predicate, str(target.term), unsure or "recalled"))
            return False
        no = negated or bool(frame and frame.negated)
        since, until = self.dates(frame, at) if dated else (None, None)
        if ended:
            no = not no
        if no and not since and until:
            since, until = until, None
        if frame and frame.used_to and not no and not until:
            until = since
            since = None
        assertion = ExtractedAssertion(
            subject=subject.known.entity, predicate=predicate, object=target.term, negated=no, valid_from=since,
            valid_to=until, open=open_predicate or predicate not in catalogue(),
            used=tuple(dict.fromkeys((*subject.used, *target.used))), rule=rule,
        )  # fmt: skip
        self._put(assertion, subject, target)
        return True

    def _retract(self, a: ExtractedAssertion) -> None:
        """A value that began before an undated earlier statement of the session takes that statement's place.

        Without this, "lives in Karachi" (said now) would be taken for newer than "moved to Lahore in May" (said later).
        """
        if a.negated or not a.valid_from or a.valid_to or not catalogue().is_single(a.predicate):
            return
        value = a.object.name if isinstance(a.object, EntityName) else a.object
        for s, kind, predicate, obj, form, *rest in self.session.facts:
            if (
                s == a.subject.name
                and kind == a.subject.type.value
                and predicate == a.predicate
                and obj != value
                and not any(rest)
            ):
                was = EntityName(EntityType(form), obj) if form else obj
                self.retractions.append(ExtractedRetraction(a.subject, predicate, was))

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
