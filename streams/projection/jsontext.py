"""JSON as it stands in properties of the graph."""

from __future__ import annotations

from typing import Any

import orjson


def json_text(value: Any) -> str | None:
    """The value as JSON text; None where there is nothing in it."""
    if value is None or value == {}:
        return None
    return orjson.dumps(value).decode()
