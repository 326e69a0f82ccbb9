"""Reads a part of the annotated dialogues with models that were fitted to the others.

`python -m memstream.extractors.fit.held_out OUT TRAIN.jsonl…` writes the part kept aside to OUT/held-out.gold.jsonl and
what was read of it to OUT/held-out.jsonl, for the scorer. It is how a change of rules, features or bounds is judged
before anything ships: the dialogues that extraction is reported on stay out of it. Takes six minutes; ships nothing.
"""

from __future__ import annotations

import functools
import sys
import zlib
from pathlib import Path

import orjson

from memstream.extractors.dialogue import extract_dialogues, rows_of, turns_of
from memstream.extractors.fit.train_entities import dialogues
from memstream.extractors.fit.train_relations import Row, all_samples, entities_of, fit
from memstream.extractors.models.judge import judge
from memstream.extractors.models.relation_model import model_of
from memstream.extractors.spacy_extractor import SpacyExtractor

PART = 7  # one in so many is kept aside


def split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Those to fit to, and those kept aside: by their ids, so that new dialogues move no old one."""
    kept = [zlib.crc32(row["id"].encode()) % PART == 0 for row in rows]
    fitted = [row for row, aside in zip(rows, kept, strict=True) if not aside]
    return fitted, [row for row, aside in zip(rows, kept, strict=True) if aside]


def read_by_fitted(fitted: list[Row], aside: list[Row]) -> list[Row]:
    """What models fitted to `fitted` read in `aside`, in the annotated form without `current`, which is a fold."""
    entities = entities_of(fitted)
    model = model_of(fit(all_samples(fitted)))
    extractor = SpacyExtractor(entities=entities, judged=functools.partial(judge, model=model))
    told = [(row["id"], turns_of(row, row["id"])) for row in aside]
    found = extract_dialogues(extractor, told)
    return [
        {"id": name, **rows_of(turns, said), "current": [], "superseded": []}
        for (name, turns), said in zip(told, found, strict=True)
    ]


def main(arguments: list[str]) -> None:
    """Split, fit, read, write."""
    out = Path(arguments[0])
    fitted, aside = split(dialogues(arguments[1:]))
    rows = read_by_fitted(fitted, aside)
    for name, lines in (("held-out.gold.jsonl", aside), ("held-out.jsonl", rows)):
        (out / name).write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in lines))
    sys.stdout.write(f"fitted to {len(fitted)} dialogues, read {len(aside)} others\n")


if __name__ == "__main__":
    main(sys.argv[1:])
