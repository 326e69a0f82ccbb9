"""`resolution`: how right the joining of entities is, on pairs that were written for it; needs neither Kafka nor Neo4j.

`python -m benchmarks.resolution [--misses]` prints it alone. Each pair is a scope of its own with two entities; a pair
counts as joined where it is accepted. The rules were made with `tune` in sight; `report` is kept aside.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console

from benchmarks.figures import Aim, Figure, Section, show
from memstream.folds.sames import Known, Profile, Status, resolve
from memstream.schemas.catalogue import catalogue
from memstream.schemas.extraction import EntityType
from memstream.schemas.names import normalise_name

NAME = "resolution"
FOLDER = Path(__file__).parent / "pairs"
PARTS = ("tune", "report")
PRECISION, RECALL = 0.95, 0.7


@dataclass(frozen=True, slots=True)
class Pair:
    """Two entities with like names, and whether they are one."""

    id: str
    kind: str
    same: bool
    a: Profile
    b: Profile

    @property
    def found(self) -> Status | None:
        """What resolution says of them where they are all there is."""
        return next((one.status for one in resolve((self.a, self.b))), None)


@dataclass(frozen=True, slots=True)
class Score:
    """Counts over pairs: joined rightly and wrongly, one and joined or not, and what is left for review of each."""

    right: int
    wrong: int
    same: int
    review_right: int
    review_wrong: int

    @property
    def precision(self) -> float:
        """Of the joined pairs, those that are one."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Of the pairs that are one, those that were joined."""
        return self.right / max(1, self.same)


def read_pairs(part: str) -> list[Pair]:
    """The pairs of a part, as they were written."""
    lines = (FOLDER / f"{part}.jsonl").read_bytes().splitlines()
    return [_pair(orjson.loads(line)) for line in lines]


def score(pairs: Iterable[Pair]) -> Score:
    """What comes out for these pairs."""
    counts = Counter((pair.same, pair.found) for pair in pairs)
    return Score(
        right=counts[True, Status.ACCEPTED],
        wrong=counts[False, Status.ACCEPTED],
        same=sum(count for (same, _), count in counts.items() if same),
        review_right=counts[True, Status.PROPOSED],
        review_wrong=counts[False, Status.PROPOSED],
    )


def section() -> Section:
    """Precision and recall over each part and over all."""
    parts = {part: read_pairs(part) for part in PARTS}
    figures: list[Figure] = []
    how: list[str] = []
    for name, pairs in (*parts.items(), ("all", [pair for each in parts.values() for pair in each])):
        told = score(pairs)
        figures.append(Figure(f"precision, {name}", told.precision, aim=Aim(PRECISION)))
        figures.append(Figure(f"recall, {name}", told.recall, aim=Aim(RECALL)))
        how.append(
            f"{name}: {len(pairs)} pairs, {told.same} of them one; joined {told.right} rightly and {told.wrong} "
            f"wrongly; for review {told.review_right} that are one and {told.review_wrong} that are not."
        )
    return Section(NAME, "Entities that are one, of pairs with like names", figures, how)


def misses(part: str) -> list[str]:
    """The pairs of a part that come out otherwise than they are."""
    return [
        f"{pair.id} {pair.kind}: {pair.a.name!r} and {pair.b.name!r} are {'one' if pair.same else 'two'}, "
        f"and {pair.found or 'nothing'}"
        for pair in read_pairs(part)
        if (pair.found is Status.ACCEPTED) is not pair.same
    ]


def _pair(row: dict[str, Any]) -> Pair:
    ids = {normalise_name(row[end]["name"]): end for end in ("a", "b")}
    return Pair(row["id"], row["kind"], row["same"], _profile("a", row["a"], ids), _profile("b", row["b"], ids))


def _profile(id_: str, told: dict[str, Any], ids: dict[str, str]) -> Profile:
    facts = []
    for predicate, name in told.get("facts", ()):
        norm = normalise_name(name)
        key = ids.get(norm, norm)
        facts.append(Known(predicate, norm if key == id_ else key, name, catalogue().is_single(predicate)))
    return Profile(id_, EntityType(told["type"]), told["name"], tuple(told.get("aliases", ())), frozenset(facts))


def main(arguments: Sequence[str]) -> int:
    """Print the figures, with `--misses` also what the part to tune on comes out wrongly."""
    found = section()
    show(found, Console(highlight=False))
    if "--misses" in arguments:
        print("\n".join(misses(PARTS[0])))
    return 0 if all(figure.met is not False for figure in found.figures) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
