"""What the script refers to as "$$name": texts that are handed over, and a tool result too long to write by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_STREETS = (
    ("Karl-Heine-Strasse", 51.3325, 12.3402),
    ("Zschochersche Strasse", 51.3271, 12.3355),
    ("Eisenbahnstrasse", 51.3459, 12.4021),
    ("Karl-Liebknecht-Strasse", 51.3228, 12.3731),
    ("Georg-Schumann-Strasse", 51.3652, 12.3533),
    ("Dresdner Strasse", 51.3389, 12.3958),
    ("Prager Strasse", 51.3240, 12.3987),
)
_RIDERS = (
    "lena",
    "cem",
    "ida",
    "marek",
    "oskar",
    "yuki",
    "paul",
    "tilda",
    "rafa",
    "svea",
    "nico",
    "zoe",
    "bo",
    "ansgar",
)
_DELIVERIES = 412
_WRONG_FROM = 340  # the first delivery at 17:30; the rest are of the rush after it


def deliveries() -> dict[str, Any]:
    """The deliveries of 7 October. From half past five on, a house number with a letter has its axes swapped."""
    return {"count": _DELIVERIES, "since": "2026-10-07T06:00:00+02:00", "rows": [_row(n) for n in range(_DELIVERIES)]}


def _row(number: int) -> dict[str, Any]:
    street, lat, lon = _STREETS[number * 5 % len(_STREETS)]
    house = 1 + number * 37 % 140
    letter = "abc"[number % 3] if number % 2 == 0 else ""
    lat, lon = round(lat + number % 17 / 1e4, 4), round(lon + number % 23 / 1e4, 4)
    wrong = bool(letter) and number >= _WRONG_FROM
    minutes = 6 * 60 + number * 690 // _WRONG_FROM
    if number >= _WRONG_FROM:
        minutes = 17 * 60 + 30 + (number - _WRONG_FROM) * 17 // (_DELIVERIES - _WRONG_FROM)
    return {
        "id": f"d-20261007-{number + 1:03d}",
        "at": f"{minutes // 60:02d}:{minutes % 60:02d}",
        "address": f"{street} {house}{letter}",
        "lat": lon if wrong else lat,
        "lon": lat if wrong else lon,
        "rider": _RIDERS[number * 3 % len(_RIDERS)],
        "status": "late" if wrong else "delivered" if number < _WRONG_FROM else "on the way",
    }


def _text(name: str) -> Callable[[], str]:
    return lambda: (HERE / name).read_text(encoding="utf-8").strip()


ATTACHMENTS: dict[str, Callable[[], Any]] = {
    "deliveries": deliveries,
    "postmortem": _text("postmortem.txt"),
    "warnings": _text("warnings.txt"),
}
