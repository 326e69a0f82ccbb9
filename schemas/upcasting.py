"""How what was published under a former version of a type is read today: one pure step from each version to the next.

A new version of a type: the model as it was goes to memstream.schemas.former under its version's name, a step from it
to the next version goes into FORMER, and the type's version in the table (schemas.events) follows from that. A step is
a pure function, and the key of the event stays what it was: its record lies where that key put it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from memstream.schemas.base import Data
from memstream.schemas.feedback import Recalled, Served
from memstream.schemas.former import RecalledV1


@dataclass(frozen=True, slots=True)
class Former:
    """A version that is read and not written any more: its data, and the step from it to the next version."""

    data: type[Data]
    step: Callable[[Any], Data]


def recalled_v2(old: RecalledV1) -> Recalled:
    """The order of the items is their rank."""
    served = sorted(old.items, key=lambda item: item.rank)
    return Recalled(
        recall_id=old.recall_id,
        query=old.query,
        items=tuple(Served(kind=item.kind, id=item.id, score=item.score) for item in served),
        agent_id=old.agent_id,
        session_id=old.session_id,
    )


FORMER: dict[str, tuple[Former, ...]] = {"recalled": (Former(RecalledV1, recalled_v2),)}
"""By the short name of a type: version 1, version 2, … up to the one before the present one."""


def upcast(data: Data, version: int, former: Sequence[Former]) -> Data:
    """Data of a version as data of the present one, through every version between."""
    for one in former[version - 1 :]:
        data = one.step(data)
    return data
