"""Quarters, halves and financial years, as the calendar has them, and intervals between two dates.

A quarter is said by its first month, and its end by its last: "since Q3" from July on, "until the end of Q3" until
September. A financial year is taken for the calendar year that names it; where a firm's begins elsewhere, no text says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from memstream.extractors.text.time_forms import TimeExpression

_ENDS = ("end", "close")
_MONTHS = {"q": 3, "h": 6}


def quarter(g: dict[str, str], today: date) -> tuple[str, str]:
    """The month of a quarter or half, as seen looking back and looking ahead."""
    length = _MONTHS[g["q"][0].lower()]
    last = int(g["q"][1]) * length
    month = last if (g.get("edge") or "").lower() in _ENDS else last - length + 1
    if g.get("y"):
        return f"{g['y']}-{month:02}", f"{g['y']}-{month:02}"
    past = today.year if month <= today.month else today.year - 1
    future = today.year if last >= today.month else today.year + 1
    return f"{past}-{month:02}", f"{future}-{month:02}"


def quarter_beside(rel: str, today: date) -> tuple[str, str]:
    """The first month of the last, this or the next quarter."""
    index = today.year * 4 + (today.month - 1) // 3 + {"last": -1, "this": 0, "next": 1}[rel]
    month = f"{index // 4}-{index % 4 * 3 + 1:02}"
    return month, month


def financial_year(text: str) -> tuple[str, str]:
    """The year of "FY26", "fiscal 2026"."""
    year = text if len(text) == 4 else f"20{text}"
    return year, year


def with_intervals(text: str, found: Sequence[TimeExpression]) -> list[TimeExpression]:
    """As in "from May to July", "between 3 May and 7 June": the second date is an end, the first a start."""
    out = list(found)
    for i in range(len(out) - 1):
        a, b = out[i], out[i + 1]
        between = text[a.end : b.start].strip()
        if a.lead == "from" and between in ("to", "through", "till", "until", "-", "–"):
            out[i + 1] = replace(b, lead="until")
        elif a.lead == "between" and between in ("and", "and the"):
            out[i], out[i + 1] = replace(a, lead="from"), replace(b, lead="until")
    return out
