"""How patches of former versions are read: one pure step on the JSON object from each version to the next.

The topic of patches is kept for ever and replayed from its beginning, so a change of what a patch is raises VERSION and
adds the step from the version before it. What is in tests/data/patches is replayed by a test, and never edited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from memstream.schemas.errors import InvalidPatch

VERSION = 2

Step = Callable[[dict[str, Any]], dict[str, Any]]

STEPS: dict[int, Step] = {
    1: lambda patch: patch,  # `missing` came: a first patch lacks nobody
}
"""By the version that a step starts from; one for each version before the present one."""


def as_present(value: bytes, version: int = VERSION, steps: Mapping[int, Step] = STEPS) -> bytes | None:
    """The bytes of a patch of a former version as those of the present one; None where it is no former patch.

    Raises InvalidPatch for a patch of a newer version.
    """
    try:
        patch = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    told = patch.get("version") if isinstance(patch, dict) else None
    if not isinstance(told, int) or isinstance(told, bool):
        return None
    if told > version:
        raise InvalidPatch(
            f"the patch has version {told}, this reads up to {version}: update the sink first, then "
            "`memstream dlq retry --reason bad_patch`"
        )
    if told == version or any(number not in steps for number in range(told, version)):
        return None
    for number in range(told, version):
        patch = steps[number](patch) | {"version": number + 1}
    return orjson.dumps(patch)
