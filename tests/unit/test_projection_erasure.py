"""An erasure that reaches below its scope goes to every partition; what was read with help says so in its rows."""

from __future__ import annotations

import orjson
import pytest
from pydantic import ValidationError
from sink_patches import Told

from memstream.schemas.patch import Patch
from memstream.schemas.statement import Erased
from memstream.streams.projection import copy_below

SCOPE = "acme/fleet"


def test_only_an_erasure_with_children_has_a_copy_for_the_scopes_below() -> None:
    """The copy says that it is one, and is the same patch otherwise."""
    plain = Told(SCOPE, "x", 1, session=None).erases("user", "u").patch()
    assert copy_below(plain) is None
    assert copy_below(Told(SCOPE, "m", 1).message("hello").patch()) is None
    wide = Told(SCOPE, "x", 1, session=None).erases("user", "u", children=True).patch()
    copy = Patch.decode(copy_below(wide))
    assert copy.copy_below
    assert copy.model_copy(update={"copy_below": False}) == wide


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"kind": "session"}, "needs 'ids'"),
        ({"kind": "scope", "ids": ["s"]}, "takes none"),
        ({"kind": "entity", "ids": ["e"], "children": True}, "leave out 'children'"),
    ],
)
def test_an_erasure_that_names_nothing_or_too_much_is_refused(data: dict[str, object], says: str) -> None:
    """Before it is in the log: an erasure can't be taken back."""
    with pytest.raises(ValidationError, match=says):
        Erased.model_validate_json(orjson.dumps(data))
