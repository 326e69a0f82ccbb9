"""Fits the model of relations to dialogues: `python -m memstream.extractors.fit.train_relations TRAIN.jsonl…`.

The names that the pairs are made of come from an entity model, and one that has seen a dialogue reads it better than
any other will be read. So the dialogues are read in two halves, each with an entity model fitted to the other; then
the one that ships is fitted to all. Same files, same weights. Takes minutes; needs scipy (`pip install
memstream[train]`).
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memstream.extractors.context.reading import Reading
from memstream.extractors.dialogue import turns_of
from memstream.extractors.fit.fitting import Block, hashed_matrix, softmax_regression
from memstream.extractors.fit.gold import Gold
from memstream.extractors.fit.train_entities import dialogues
from memstream.extractors.fit.train_entities import fit as fit_entities
from memstream.extractors.fit.train_entities import samples as entity_samples
from memstream.extractors.models.arguments import TOPIC
from memstream.extractors.models.entity_model import EntityModel
from memstream.extractors.models.hashing import hashed
from memstream.extractors.models.judge import judged_pairs
from memstream.extractors.models.relation_features import Features
from memstream.extractors.models.relation_model import BUCKETS, NONE
from memstream.extractors.models.relations import Pair
from memstream.extractors.spacy_extractor import SpacyExtractor
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import SessionTurns, Turn

STEPS = 120
RATE = 0.05
L2 = 1e-5
SEEN = 2  # how often a feature stands with a relation before it counts
PLAIN = 5  # how often a plain example counts
ASIDE = 40  # the distance that a subject counts for which its sentence does not name

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """A pair: hashed features, kinds, and the relation it stands in (NONE for none)."""

    dialogue: str
    buckets: npt.NDArray[np.int32]
    kinds: str
    label: str


def samples(rows: list[Row], entities: EntityModel) -> list[Sample]:
    """The pairs of all dialogues, read with this entity model."""
    extractor = SpacyExtractor(entities=entities, judged=lambda _: None)
    out: list[Sample] = []
    for row in rows:
        gold = Gold(row)

        def take(reading: Reading) -> None:
            if reading.asserting and reading.turn.asserts:
                out.extend(_of_reading(row["id"], reading, gold))  # noqa: B023 (called before the next row)

        extractor.judged = take
        extractor.extract([SessionTurns(b"", turns_of(row, row["id"]))])
    return out


def _of_reading(dialogue: str, reading: Reading, gold: Gold) -> Iterator[Sample]:
    """Each fact counts where it stands closest together, and where a rule said it; farther repeats are left out."""
    found, features = judged_pairs(reading), Features(reading)
    labels: dict[int, str] = {}
    repeats: set[int] = set()
    for fact in gold.facts_of(reading.turn.event_id):
        near = []
        for i, (pair, proposals) in enumerate(found):
            said = [p.assertion for p in proposals if p.assertion is not None and p.predicate == fact["predicate"]]
            wrong = any(a.negated != fact["negated"] and not a.valid_to and not fact["valid_to"] for a in said)
            if not wrong and gold.is_about(fact, pair.subject.ref, pair.object.ref):
                near.append((not said, _distance(pair), i))
        for n, (_, _, i) in enumerate(sorted(near)):
            if n == 0:
                labels.setdefault(i, fact["predicate"])
            else:
                repeats.add(i)
    for i, (pair, proposals) in enumerate(found):
        if i in labels or i not in repeats:
            names = hashed(features.of(pair, proposals), BUCKETS)
            yield Sample(dialogue, names, pair.kinds, labels.get(i, NONE))


def plain_samples(entities: EntityModel) -> list[Sample]:
    """The catalogue's own examples, as the rules read them: people speak plainly, too, and dialogues hardly do."""
    out: list[Sample] = []
    for predicate in catalogue().predicates.values():
        for number, example in enumerate(predicate.examples):
            name = f"{predicate.name}-{number}"

            def take(reading: Reading, wanted: str = predicate.name, name: str = name) -> None:
                features = Features(reading)
                for pair, proposals in judged_pairs(reading):
                    said = {p.predicate for p in proposals if p.assertion is not None}
                    if said <= {wanted}:
                        found = hashed(features.of(pair, proposals), BUCKETS)
                        out.append(Sample(name, found, pair.kinds, wanted if said else NONE))

            turn = Turn("m1", "user", "user", example.text, datetime(2026, 1, 14, tzinfo=UTC))
            SpacyExtractor(entities=entities, judged=take).extract([SessionTurns(b"", [turn])])
    return out * PLAIN


def _distance(pair: Pair) -> int:
    return ASIDE if pair.subject.head == TOPIC else abs(pair.subject.head - pair.object.head)


def fit(found: list[Sample]) -> dict[str, npt.NDArray[Any]]:
    """Softmax regression by Adam over the features that stand with a relation; what `relation_model` loads."""
    classes = [NONE, *sorted({s.label for s in found} - {NONE})]
    index = {name: i for i, name in enumerate(classes)}
    counts = np.zeros(BUCKETS, dtype=np.int32)
    for s in found:
        if s.label != NONE:
            counts[s.buckets] += 1
    kept = np.flatnonzero(counts >= SEEN)
    table = np.full(BUCKETS, -1, dtype=np.int64)
    table[kept] = np.arange(len(kept))
    columns = [row[row >= 0] for row in (table[s.buckets] for s in found)]
    labels = np.array([index[s.label] for s in found])
    block = Block(hashed_matrix(columns, len(kept)), RATE, L2)
    weights = softmax_regression([block], labels, len(classes), STEPS)[0]
    allowed = sorted({(s.kinds, index[s.label]) for s in found if s.label != NONE})
    return {
        "buckets": kept.astype(np.int32), "weights": weights.astype(np.float16), "classes": np.array(classes),
        "kinds": np.array([kinds for kinds, _ in allowed]), "kind_classes": np.array([i for _, i in allowed]),
    }  # fmt: skip


def halves(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The dialogues in two halves, by their ids."""
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        parts[zlib.crc32(row["id"].encode()) >> 4 & 1].append(row)
    return parts


def entities_of(rows: list[Row]) -> EntityModel:
    """An entity model fitted to these dialogues."""
    sparse_weights, vectors = fit_entities(*entity_samples(rows))
    return EntityModel(sparse_weights, vectors)


def all_samples(rows: list[Row]) -> list[Sample]:
    """The pairs of all dialogues, each read by an entity model that has not seen it, and the catalogue's examples."""
    a, b = halves(rows)
    other = entities_of(b)
    return samples(a, other) + samples(b, entities_of(a)) + plain_samples(other)


def main(files: list[str]) -> None:
    """Read, fit, write."""
    rows = dialogues(files)
    found = all_samples(rows)
    out = Path(__file__).parents[1] / "data" / "relations.npz"
    np.savez_compressed(out, **fit(found))  # type: ignore[arg-type]
    related = sum(s.label != NONE for s in found)
    sys.stdout.write(f"{len(found)} pairs of {len(rows)} dialogues, {related} related, written to {out.name}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
