"""What words refer to: names, pronouns, definite descriptions, relatives, and whoever a clause goes on about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memstream.extractors.context.classes import call_by_class, class_noun
from memstream.extractors.context.groups import coordinated, is_plural, of_names
from memstream.extractors.context.roles import Said, holder, relative, said_so_far
from memstream.extractors.context.session import Known, Session, clean
from memstream.extractors.parse.candidates import Candidate
from memstream.extractors.parse.frames import IMPLIED, IMPLIED_THIRD, Frame
from memstream.extractors.parse.tree import Tree
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.lexicon import lexicon, words
from memstream.extractors.text.time_forms import TimeExpression
from memstream.schemas.extraction import EntityName, Turn

MAX_DOING = 9  # words of what was done
GROUP_REACH = 2  # turns back
MAX_OWNERS = 4  # "my sister's husband's friend's dog"
FIRST = frozenset({"i", "me", "my", "mine", "myself", "im", "i'm"})
WE = frozenset({"we", "us", "our", "ours", "ourselves"})
THIRD = words("he him his she her hers it its they them their theirs there himself herself itself")
_DETERMINERS = words("the a an this that these those some any no every each my our your his her its their whose")
_DEFINITE = words("the this that our my his her its their these those your")
_QUALITIES = words(
    """
    old new little big small young current same whole entire own last first next recent former late latest existing
    dear poor good
    """
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
class References:
    """One window of one message with its names and clauses; `ref` says whom a phrase means."""

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
    owners: int = 0

    def prepare(self) -> None:
        """Index candidates by token and clauses by token."""
        for n in self.named:
            for i in range(n.span.start, n.span.end):
                self.cover[i] = n
        for frame in self.frames:
            self._class(frame)
            for i in frame.tokens:
                self.owner[i] = frame

    def _class(self, frame: Frame) -> None:
        """As in "Pomelo is our project": from now on it is "the project"."""
        subjects = [self.cover[s] for s in frame.subj if s in self.cover]
        noun = class_noun(self.tree, frame, self.cover)
        if noun and len(subjects) == 1 and subjects[0].known is not self.speaker:
            new = subjects[0].known not in self.earlier and subjects[0].sure < 0.9
            call_by_class(subjects[0].known, noun, new=new)

    def ref(self, i: int, expect: Iterable[str] = (), *, values: bool = False, full: bool = False) -> Ref | None:  # noqa: PLR0911 (one decision after the other)
        """What the phrase at head `i` refers to; None where that can't be said. `values`: a literal will do."""
        tree = self.tree
        if i == IMPLIED:
            return self._implied(tuple(expect))
        if i == IMPLIED_THIRD:
            return self.subject_before(len(tree), tuple(expect))
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
        i = self._of_name(i)
        if i in self.cover:
            return self._name(self.cover[i], tuple(expect))
        if tree.pos[i] in ("PRON", "DET", "SCONJ") or (tree.pos[i] == "ADV" and not values):
            return None
        for k in tree.kids[i]:
            if tree.dep[k] == "appos" and k in self.cover and tree.sent[k] == tree.sent[i] and k - i < 12:
                return self._name(self.cover[k], tuple(expect))
        return self._phrase(i, tuple(expect), values, full=full)

    def _of_name(self, i: int) -> int:
        """The token of the name beside it that `i` belongs to: a number behind it, "commit" before "4f2a9c1"."""
        tree = self.tree
        if i in self.cover:
            return i
        if i - 1 in self.cover and tree.lower[i][:1].isdigit() and tree.dep[i - 1] in ("amod", "compound", "nmod"):
            return i - 1
        n = self.cover.get(i + 1)
        if n is None or (n.span.start, n.span.end) != (i + 1, i + 2) or tree.lower[i] not in lexicon().class_nouns:
            return i
        return i + 1 if identify(tree.words[i + 1]) is not None else i

    def basis(self, known: Known | None) -> tuple[str, ...]:
        """The earlier events without which this turn would not know whom it is about; it knows its speaker anyway."""
        return () if known is None or known is self.speaker else known.basis(self.turn.event_id)

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

    def refs(self, i: int, expect: Iterable[str] = (), *, values: bool = False, full: bool = False) -> list[Ref]:
        """All that the phrase at head `i` refers to: several where it says "they" of people named side by side."""
        if i >= 0 and is_plural(self.tree, i) and (not expect or "Person" in expect):
            people = self._group(i)
            if people:
                return [Ref(k, "", self.basis(k), i, i + 1) for k in people]
        ref = self.ref(i, expect, values=values, full=full)
        return [] if ref is None else [ref]

    def _group(self, i: int) -> list[Known]:
        """The people who were named side by side last, in this message or in the one before."""
        here = [people for end, people in self.groups() if end < i]
        if here:
            return here[-1]
        turn, *names = self.session.group or ["-9"]
        return of_names(names, self.earlier) if int(turn) >= self.session.turn - GROUP_REACH else []

    def groups(self) -> list[tuple[int, list[Known]]]:
        """The people whom the message names side by side."""
        heads = {n.span.end - 1: n.known for n in self.named if n.known is not self.speaker}
        return coordinated(self.tree, heads)

    def so_far(self) -> Iterator[Said]:
        """What the session said; a reading adds what it has itself."""
        return said_so_far(self.session, ())

    def _pronoun(self, i: int, expect: tuple[str, ...] = ()) -> Ref | None:
        view = Session(known=[k for k in self.earlier if k is not self.speaker])
        word = self.tree.lower[i]
        if word == "there" and expect and "Location" not in expect and "Organization" in expect:
            view.known = [k for k in view.known if k.type != "Location"]
        known = view.pronoun(word, [k for k in self._salient(i) if k is not self.speaker])
        if known is None or known is self.speaker:
            return None
        if self.tree.lower[i] in ("he", "him", "his") and known.type == "Person":
            known.gender = known.gender or "m"
        elif self.tree.lower[i] in ("she", "her", "hers") and known.type == "Person":
            known.gender = known.gender or "f"
        used = self.basis(known)
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

    def subject_before(self, i: int, expect: tuple[str, ...] = ()) -> Ref | None:
        """Whom a clause without a subject goes on about."""
        for known in [*reversed(self._salient(i)), *reversed(self.earlier)]:
            if known.last < self.session.turn - 1:
                break
            if not expect or known.type in expect:
                used = self.basis(known)
                return Ref(known, "", used)
        return None

    def _name(self, n: Named, expect: tuple[str, ...]) -> Ref:
        if expect and n.known.type not in expect and n.sure < 0.8 and "Person" not in (n.known.type, *expect[:1]):
            retyped = self.session.find(n.known.name, expect[0])
            if retyped is None:
                n.known.type = expect[0]
        return Ref(n.known, "", self.basis(n.known), n.span.start, n.span.end)

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
            known = view.definite(tree.lemma[i], before) or view.definite(tree.lower[i], before)
            if known is not None and (not expect or known.type in expect):
                used = self.basis(known)
                return Ref(known, "", used, start, end)
        return self._description(i, start, end, owner, expect)

    def _description(self, i: int, start: int, end: int, owner: int | None, expect: tuple[str, ...]) -> Ref | None:  # noqa: PLR0911, PLR0912 (one decision after the other)
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
            found = holder(lemma, self.so_far(), self.earlier) if len(inner) == 1 else None
            return self._told(found, (), start, end)
        if lemma in lexicon().abstract:
            return None
        if owner is not None:
            whose = self._owner(owner)
            if tree.lower[owner] not in WE:
                if whose is None or whose.known is None:
                    return None
                named = self._relative(i, whose.known, whose.used, start, end) if len(inner) == 1 else None
                if named is not None:
                    return named
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

    def _relative(self, i: int, owner: Known, used: tuple[str, ...], start: int, end: int) -> Ref | None:
        """Who the owner's relative at token i is by name, where that was said."""
        kin = next((word for word in (self.tree.lemma[i], self.tree.lower[i]) if word in lexicon().kin), "")
        if not kin or self.tree.tag[i] == "NNS":
            return None
        people = [*self.earlier, *(n.known for n in self.named)]
        return self._told(relative(kin, owner.entity, self.so_far(), people), used, start, end)

    def _told(self, found: tuple[Known, str] | None, used: tuple[str, ...], start: int, end: int) -> Ref | None:
        """The one whom an event (`found`: who, and by which) told by a role or a kinship."""
        if found is None:
            return None
        known, event = found
        keys = (*used, *([event] if event else []), *self.basis(known))
        return Ref(known, "", tuple(dict.fromkeys(keys)), start, end)

    def _owner(self, owner: int) -> Ref | None:
        """Whose it is; nobody's where owners of owners never end."""
        if self.owners >= MAX_OWNERS:
            return None
        self.owners += 1
        whose = self.ref(owner)
        self.owners -= 1
        return whose

    def _owner_end(self, owner: int) -> int:
        case = [k for k in self.tree.kids[owner] if self.tree.dep[k] == "case"]
        return case[-1] if case else owner

    def value(self, i: int, *, full: bool = False) -> str:
        """The literal text of an indefinite phrase, without article; `full`: with all that hangs on it."""
        tree = self.tree
        if tree.tag[i] == "VBG" and tree.pos[i] == "VERB" and tree.dep[i] in ("pcomp", "csubj", "nsubj"):
            return self._doing(i)
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

    def _doing(self, i: int) -> str:
        """What a gerund says is done, with all that hangs on it: "rolling back relay-api to 2.4.1"."""
        tree = self.tree
        end = i + 1
        for k in tree.subtree(i):
            if k == end and tree.words[k] not in (",", ";", "(") and tree.sent[k] == tree.sent[i] and k - i < MAX_DOING:
                end = k + 1
        while end > i + 1 and tree.pos[end - 1] in ("PUNCT", "CCONJ", "ADP", "DET"):
            end -= 1
        text = clean(tree.span_text(i, end))
        return text[:1].lower() + text[1:] if i == tree.sentences[tree.sent[i]][0] else text

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

    def subjects(self, frame: Frame, expect: tuple[str, ...] = ()) -> list[Ref]:
        """The entities that a clause is about."""
        refs = (self.ref(s, expect) for s in frame.subj)
        return [ref for ref in refs if ref is not None and ref.known is not None]
