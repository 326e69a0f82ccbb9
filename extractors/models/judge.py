"""The last word on what a message says: a fitted model weighs what the rules propose, and finds what they missed.

Every pair of arguments of a sentence, with what the rules said of it, is scored (`relation_model.py`). What a rule put
down stays where the model gives it at least KEEP; a relation that no rule saw is added from ADD on, as far as its
clause lets it be asserted, with that probability as its confidence. An added fact is costly where it is wrong, so ADD
is the higher of the two.
"""

from __future__ import annotations

from collections.abc import Callable

from memstream.extractors.context.reading import OWN_RULE, Proposal, Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.models.arguments import TOPIC, Argument
from memstream.extractors.models.relation_features import Features
from memstream.extractors.models.relation_model import RelationModel, Scores, relation_model
from memstream.extractors.models.relations import Pair, pairs
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityName, ExtractedAssertion

Judge = Callable[[Reading], None]
Judged = tuple[Pair, list[Proposal]]
Triple = tuple[EntityName, str, EntityName | str]

# chosen on dialogues that the model was not fitted to: docs/extraction.md
KEEP = 0.05
ADD = 0.45
# "Dojos in New York" outside a clause is a title or a search far more often than a statement
# what is pasted is written otherwise than the talk that the model was fitted to
PASTED = 1500  # characters
ADD_TO_PASTED = 0.75
OF_CLAUSES = frozenset({"located_in"})
MOST_OWNERS = 1  # "user's sister"


def judge(reading: Reading, model: RelationModel | None = None) -> None:
    """Take back what the model does not believe, and put down what only it sees; by default the model that ships."""
    if not reading.asserting or not reading.turn.asserts:
        return
    model = model or relation_model()
    judged = [(pair, proposals) for pair, proposals in judged_pairs(reading) if proposals or model.relates(pair.kinds)]
    if not judged:
        return
    features = Features(reading)
    scores = model.scores([features.of(pair, proposals) for pair, proposals in judged])
    _take_back(reading, judged, scores, model)
    _add(reading, judged, scores, model)


def _take_back(reading: Reading, judged: list[Judged], scores: Scores, model: RelationModel) -> None:
    """Drop each triple that the model gives less than KEEP wherever it was said, and what it would have retracted."""
    kept: set[Triple] = set()
    doubted: set[Triple] = set()
    for (_, proposals), score in zip(judged, scores, strict=True):
        for one in proposals:
            if one.assertion is not None:
                sure = None if one.rule.startswith(OWN_RULE) else model.of(score, one.predicate)
                (kept if sure is None or sure >= KEEP else doubted).add(_triple(one.assertion))
    dropped = doubted - kept
    if not dropped:
        return
    reading.assertions = [a for a in reading.assertions if _triple(a) not in dropped]
    standing = {(a.subject, a.predicate) for a in reading.assertions}
    reading.retractions = [
        r for r in reading.retractions
        if (r.subject, r.predicate) in standing or not any(d[:2] == (r.subject, r.predicate) for d in dropped)
    ]  # fmt: skip
    if reading.trace is not None:
        reading.trace.disbelieved += [
            (s.name, p, o if isinstance(o, str) else o.name) for s, p, o in sorted(dropped, key=str)
        ]


def _add(reading: Reading, judged: list[Judged], scores: Scores, model: RelationModel) -> None:
    least = ADD if len(reading.turn.text) < PASTED else ADD_TO_PASTED
    for (pair, proposals), score in zip(judged, scores, strict=True):
        if reading.quoted[pair.object.head] or any(one.assertion is not None for one in proposals):
            continue
        predicate, sure = model.best(score, pair.kinds)
        clause = reading.owner.get(pair.object.head)
        if clause is not None and clause.told_by == pair.subject.head:
            continue  # "Tom says Ana works at Castellan" tells nothing of Tom
        if clause is None and predicate in OF_CLAUSES:
            continue
        if (
            sure >= least
            and _fits(pair, predicate)
            and not _said(reading, pair)
            and not _owner_alone(reading, pair, predicate)
            and not _filled(reading, pair, predicate)
        ):
            reading.say(
                pair.subject.ref, predicate, pair.object.ref, clause, at=pair.object.head, rule="model",
                confidence=round(sure, 2),
            )  # fmt: skip


def _owner_alone(reading: Reading, pair: Pair, predicate: str) -> bool:
    """Whether it is said of someone's manager or brother, and the pair has their "my": "my manager lives in Porto"."""
    if pair.subject.head == TOPIC or reading.tree.dep[pair.subject.head] != "poss":
        return False
    target = pair.object.ref.term
    return any(a.predicate == predicate and a.object == target for a in reading.assertions)


def judged_pairs(reading: Reading) -> list[Judged]:
    """The pairs of a text, each with what the rules proposed of it: the closest pair where several are the same."""
    found = pairs(reading)
    by_subject: dict[int, list[int]] = {}
    for i, pair in enumerate(found):
        by_subject.setdefault(id(pair.subject.ref.known), []).append(i)
    proposed: list[list[Proposal]] = [[] for _ in found]
    for proposal in reading.proposals:
        mine = by_subject.get(id(proposal.subject.known), [])
        near = [(_distance(found[i], proposal), i) for i in mine if _same(found[i].object.ref, proposal.target)]
        if near:
            proposed[min(near)[1]].append(proposal)
            continue
        made = _pair_of(reading, proposal)
        if made is not None:
            found.append(made)
            proposed.append([proposal])
    return list(zip(found, proposed, strict=True))


def _triple(a: ExtractedAssertion) -> Triple:
    return a.subject, a.predicate, a.object


def _fits(pair: Pair, predicate: str) -> bool:
    """Whether the catalogue lets these two stand in the relation, and both can be followed."""
    known = catalogue().predicates[predicate]
    for ref, types in ((pair.subject.ref, known.subject), (pair.object.ref, known.object)):
        if ref.known is not None and (ref.type not in types or ref.known.name.count("'s ") > MOST_OWNERS):
            return False
    return True


def _filled(reading: Reading, pair: Pair, predicate: str) -> bool:
    """Whether the text gives a predicate that holds one value another one already."""
    subject = pair.subject.ref.known
    return catalogue().is_single(predicate) and any(
        subject is not None and (a.subject, a.predicate) == (subject.entity, predicate) for a in reading.assertions
    )


def _said(reading: Reading, pair: Pair) -> bool:
    """Whether something was said already of these two, either way round."""
    s, o = pair.subject.ref.known, pair.object.ref
    if s is None:
        return True
    ends = {(s.entity, o.term), (o.term, s.entity)}
    return any((a.subject, a.object) in ends for a in reading.assertions)


def _same(mine: Ref, theirs: Ref) -> bool:
    if mine.known is not None or theirs.known is not None:
        return mine.known is theirs.known
    return mine.value.casefold() == theirs.value.casefold()


def _distance(pair: Pair, proposal: Proposal) -> int:
    out = 0
    for argument, ref in ((pair.subject, proposal.subject), (pair.object, proposal.target)):
        if ref.end > ref.start and argument.head != TOPIC:
            out += abs(argument.head - ref.end + 1)
        elif ref.end > ref.start or argument.head != TOPIC:
            out += 1
    return out


def _pair_of(reading: Reading, proposal: Proposal) -> Pair | None:
    """A pair where a proposal has none; None where its value is not in the text as it stands."""
    target = _argument(reading, proposal.target)
    if target is None or proposal.subject.known is None:
        return None
    subject = _argument(reading, proposal.subject)
    if subject is None:
        how = "speaker" if proposal.subject.known is reading.speaker else "topic"
        subject = Argument(TOPIC, 0, 0, proposal.subject.type, how, proposal.subject)
    return Pair(subject, target)


def _argument(reading: Reading, ref: Ref) -> Argument | None:
    tree = reading.tree
    start, end = ref.start, ref.end
    if end <= start:
        text = ref.known.name if ref.known else ref.value
        at = tree.text.find(text)
        token = reading.token_at(at) if at >= 0 and text else None
        last = reading.token_at(at + len(text) - 1) if token is not None else None
        if token is None or last is None:
            return None
        start, end = token, last + 1
    return Argument(tree.head_of(start, end), start, end, ref.type or "said", "name" if ref.known else "said", ref)
