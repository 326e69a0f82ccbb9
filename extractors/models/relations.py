"""Pairs of arguments that may stand in a relation: a subject that is an entity, an object, one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.models.arguments import TOPIC, Argument, arguments

FAR = 30  # tokens between two arguments


@dataclass(frozen=True, slots=True)
class Pair:
    """A subject and an object; the subject's head is TOPIC where the sentence does not name it."""

    subject: Argument
    object: Argument

    @property
    def kinds(self) -> str:
        """The kinds of both, as the model knows them."""
        return f"{self.subject.kind}>{self.object.kind}"


def pairs(reading: Reading) -> list[Pair]:
    """All pairs of a text that may stand in a relation, sentence by sentence."""
    by_sentence: dict[int, list[Argument]] = {}
    for one in arguments(reading):
        by_sentence.setdefault(reading.tree.sent[one.head], []).append(one)
    out: list[Pair] = []
    for found in by_sentence.values():
        out += [
            Pair(a, b)
            for a in found
            for b in found
            if a.is_entity and a is not b and a.ref.known is not b.ref.known and abs(a.head - b.head) <= FAR
        ]
        for topic in _topics(reading, found):
            out += [Pair(topic, b) for b in found if b.ref.known is not topic.ref.known]
    return out


def _topics(reading: Reading, found: list[Argument]) -> Iterator[Argument]:
    """Whom a sentence may go on about without naming them: the speaker, and the subject of what was said before."""
    here = {id(one.ref.known) for one in found}
    if id(reading.speaker) not in here:
        yield Argument(TOPIC, 0, 0, reading.speaker.type, "speaker", Ref(reading.speaker, ""))
    start = reading.tree.sentences[reading.tree.sent[found[0].head]][0]
    before = reading.subject_before(start)
    if before is not None and before.known is not reading.speaker and id(before.known) not in here:
        yield Argument(TOPIC, 0, 0, before.type, "topic", before)
