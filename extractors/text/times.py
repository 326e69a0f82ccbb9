"""Dates in words, resolved against the message's own time; the precision of the text is the precision of the answer.

`find_times(text, time)` gives every date expression with its place, what it says (a point, a start, an end), and its
value for past and for future talk: "on Friday" is the nearest Friday before the message in the one and after it in the
other. The wall clock enters nothing.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from memstream.extractors.text.quarters import financial_year, quarter, quarter_beside, with_intervals
from memstream.extractors.text.time_forms import (
    AMBIGUOUS,
    CLOCK,
    CLOCK_BEFORE,
    FORMS,
    HINT,
    HOLIDAYS,
    HOURS_AGO,
    LEAD,
    LEAD_CHARS,
    MONTH_LEAD,
    MONTHS,
    NUMBERS,
    OLD_LEADS,
    ORDINALS,
    RANGE,
    SINCE_CLOCK,
    SINCE_THEN,
    WEEKDAYS,
    YEAR_OF,
    TimeExpression,
)


def find_times(text: str, time: datetime) -> list[TimeExpression]:
    """Every date expression of `text`, left to right, without overlaps; the longest form wins."""
    lowered = text.lower() if len(text.lower()) == len(text) else text
    if HINT.search(lowered) is None:
        return []
    today = time.date()
    taken: list[tuple[int, int]] = []
    found = []
    for m in RANGE.finditer(lowered):
        taken.append(m.span())
        found.append(TimeExpression(*m.span("a"), "from", m["a"], m["a"], "range", m.start()))
        if m["b"].isdigit():
            found.append(TimeExpression(*m.span("b"), "until", m["b"], m["b"], "range", m.start("b")))
    for t in _by_the_clock(lowered, time):
        taken.append((t.start, t.end))
        found.append(t)
    for form, pattern in FORMS:
        for m in pattern.finditer(lowered):
            a, b = m.span()
            if any(a < y and x < b for x, y in taken) or not _sure(form, m, text):
                continue
            values = _values(form, m, today)
            if values is None:
                taken.append((a, b))  # an impossible date: its parts are no dates either
                continue
            lead = LEAD.search(lowered[max(0, a - LEAD_CHARS) : a])
            lead_text = lead["p"].lower() if lead else ""
            if form in ("season", "edge", "inn", "dur") and not lead_text:
                lead_text = _own_lead(form, m)
            if form == "holiday" and lead_text in ("", "the") and not m["h"].lower().endswith(("day", "eve")):
                continue
            if form == "quarter" and lead_text in ("", "the") and not (m["edge"] or m["y"]):
                continue  # "Q2 roadmap" names a plan
            if form in ("month", "year", "yy") and not _led(lead_text, text, a, b, form):
                continue
            end, values = _with_clock(lowered, a, b, values)
            taken.append((a, end))
            begin = max(0, a - LEAD_CHARS) + lead.start("p") if lead else a
            found.append(TimeExpression(a, end, lead_text, values[0], values[1], form, begin))
    found.sort(key=lambda t: t.start)
    found = with_intervals(lowered, found)
    return sorted([*found, *_since_then(lowered, found)], key=lambda t: t.start) if found else found


def _since_then(text: str, found: list[TimeExpression]) -> list[TimeExpression]:
    """As in "dropped it on the 12th and is at 2.2 since": the date said before."""
    out = []
    for m in SINCE_THEN.finditer(text):
        before = [t for t in found if t.end <= m.start()]
        if before and not before[-1].is_end and before[-1].lead not in ("by", "before", "due"):
            value = before[-1].past
            out.append(TimeExpression(m.start(), m.end(), "since", value, value, "then", m.start()))
    return out


def _own_lead(form: str, m: re.Match[str]) -> str:
    """The preposition that a form has in itself; "for three years" alone says less than "for the last three years"."""
    if form == "dur" and not m["rel"] and not m[0].startswith("since"):
        return "for"
    return "since" if form == "dur" or m[0].startswith("since") else ""


def _by_the_clock(text: str, time: datetime) -> list[TimeExpression]:
    """As in "down since 02:36", "closed an hour ago"."""
    found = []
    for m in SINCE_CLOCK.finditer(text):
        if int(m["h"]) < 24 and int(m["m"]) < 60:
            then = time.replace(hour=int(m["h"]), minute=int(m["m"]))
            if then > time and time.date() > date.min:
                then -= timedelta(days=1)
            value = then.isoformat()[:16]
            found.append(TimeExpression(m.start("h"), m.end(), "since", value, value, "clock", m.start()))
    for m in HOURS_AGO.finditer(text):
        n = 0 if m["n"].startswith("half") else _count(m["n"])
        back = timedelta(hours=n) if m["u"].startswith("h") else timedelta(minutes=n)
        try:
            day = (time - back).date().isoformat()
        except OverflowError:
            continue  # before the first of all days
        found.append(TimeExpression(*m.span(), "", day, day, "ago", m.start()))
    return found


def _led(lead: str, text: str, a: int, b: int, form: str) -> bool:
    """A bare month or year counts only after a preposition, or after a comma or bracket, or in a range."""
    if lead and lead not in ("the", "for", "of", "about"):
        return form != "year" or text[a:b] >= "1900" or lead in OLD_LEADS
    if form == "yy" or (form == "year" and text[a:b] < "1900"):
        return False
    before = text[:a].rstrip()
    after = text[b : b + 1]
    if form == "year":
        if YEAR_OF.search(text[max(0, a - 16) : a].lower()):
            return True
        return before[-1:] in (",", "(", "–", "-", "/") or after in ("–", "-")
    return before[-1:] in (",", "(") and text[a : a + 1].isupper()


def _sure(form: str, m: re.Match[str], text: str) -> bool:
    """Whether a form that is also a common word ("may", "sat") is meant as a date."""
    if form == "month":
        if m["mon"].lower() not in AMBIGUOUS or text[m.start() : m.start() + 1].isupper():
            return True
        return MONTH_LEAD.search(text[max(0, m.start() - 8) : m.start()].lower()) is not None
    if form == "wd" and text[: m.start()].rstrip().lower().endswith(("every", "each", "alternate")):
        return False  # what comes again and again has no day
    if form == "wd":
        return len(m["wd"]) > 3 or text[m.start() : m.start() + 1].isupper()
    return True


def _with_clock(text: str, start: int, end: int, values: tuple[str, str]) -> tuple[int, tuple[str, str]]:
    """The date with the hour that stands after it ("Tuesday at 2pm") or before it ("06:00 today")."""
    if len(values[0]) != 10:
        return end, values
    m = CLOCK.match(text, end) or CLOCK_BEFORE.search(text[max(0, start - 16) : start])
    if m is None:
        return end, values
    if m["word"]:
        hour, minute = 12, 0
    elif m["h24"]:
        hour, minute = int(m["h24"]), int(m["m24"])
    else:
        hour, minute = int(m["h"]) % 12 + (12 if m["ap"].startswith("p") else 0), int(m["m"] or 0)
    if hour > 23 or minute > 59:
        return end, values
    clock = f"T{hour:02}:{minute:02}"
    return max(end, m.end()), (values[0] + clock, values[1] + clock)


def _values(form: str, m: re.Match[str], today: date) -> tuple[str, str] | None:  # noqa: PLR0911 (a table of forms)
    """(value in past talk, value in future talk) of one match; None where it is no date."""
    g = m.groupdict()
    try:
        if form in _OF_FORM:
            return _OF_FORM[form](g, today)
        if form in ("iso", "slash"):
            return _both(_fixed(g))
        if form in ("dmy", "mdy"):
            return _day_month(int(g["d"]), MONTHS[g["mon"].lower()], g["y"], today)
        if form in ("my", "edge", "month", "relmon", "monrel"):
            return _month(form, g, today)
        if form in ("byday", "word"):
            return _both((today + timedelta(days=_word_days(g.get("dir") or g.get("w") or ""))).isoformat())
        if form in ("agoday", "ago", "hence", "inn"):
            return _counted(form, g, today)
        if form == "weekof":
            return _both(_week_of(g["wd"].lower(), today).isoformat())
        if form == "relunit":
            return _both(_relative_unit(g["rel"].lower(), g["u"].lower(), today))
        if form in ("relwd", "wd"):
            return _weekday(WEEKDAYS[g["wd"].lower()], (g.get("rel") or "").lower(), today)
        if form == "holiday":
            return _day_month(*_feast(g["h"]), g.get("y"), today)
        if form == "theday":
            return _day_of_month(int(g["d"]), today)
        year = g.get("y")
        return _both(year or str(today.year))
    except (ValueError, OverflowError):
        return None


def _feast(text: str) -> tuple[int, int]:
    """Day and month of a feast."""
    month, day = next(of for pattern, of in HOLIDAYS.items() if re.fullmatch(pattern, text, re.I))
    return day, month


def _both(value: str) -> tuple[str, str]:
    return value, value


def _fixed(g: dict[str, str]) -> str:
    if not g.get("d"):
        date(int(g["y"]), int(g["mo"]), 1)
        return f"{g['y']}-{g['mo']}"
    day = date(int(g["y"]), int(g["mo"]), int(g["d"])).isoformat()
    return f"{day}T{g['hh']}:{g['mi']}" if g.get("hh") else day


def _day_month(day: int, month: int, year: str | None, today: date) -> tuple[str, str]:
    if year:
        return _both(date(int(year), month, day).isoformat())
    here = date(today.year, month, day)
    past = here if here <= today else date(today.year - 1, month, day)
    future = here if here >= today else date(today.year + 1, month, day)
    return past.isoformat(), future.isoformat()


def _month(form: str, g: dict[str, str], today: date) -> tuple[str, str]:
    month = MONTHS[g["mon"].lower()]
    if g.get("y"):
        return _both(f"{g['y']}-{month:02}")
    rel = (g.get("rel") or "").lower()
    past = today.year if month <= today.month else today.year - 1
    future = today.year if month >= today.month else today.year + 1
    if rel and form in ("my", "monrel"):
        return _both(f"{today.year + {'last': -1, 'this': 0, 'next': 1}[rel]}-{month:02}")
    if rel in ("last", "next"):
        return _both(f"{past if rel == 'last' else future}-{month:02}")
    return f"{past}-{month:02}", f"{future}-{month:02}"


def _of_month(g: dict[str, str], today: date) -> tuple[str, str]:
    """As in "the first of May", "the 1st of this month"."""
    day = int(g["d"]) if g.get("d") else ORDINALS[g["ord"]]
    if g.get("mon"):
        return _day_month(day, MONTHS[g["mon"]], g.get("y"), today)
    month = _shift(today, "month", {"last": -1, "next": 1}.get(g["rel"], 0), exact=False)
    return _both(date.fromisoformat(f"{month}-{day:02}").isoformat())


def _season(season: str, year: str | None, today: date) -> tuple[str, str]:
    """The year of the season that began last, in past talk, and of the one that comes."""
    if year:
        return _both(year)
    begins = {"spring": 3, "summer": 6, "winter": 12}.get(season, 9)
    past = today.year if begins <= today.month else today.year - 1
    return str(past), str(past if begins == today.month else past + 1)


def _word_days(word: str) -> int:
    return {
        "before yesterday": -2, "after tomorrow": 2, "yesterday": -1, "yday": -1, "last night": -1, "tomorrow": 1,
        "tmrw": 1, "tmr": 1,
    }.get(re.sub(r"\s+", " ", word.lower()), 0)  # fmt: skip


def _count(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS.get(re.sub(r"\s+", " ", text.lower()), 1)


def _counted(form: str, g: dict[str, str], today: date) -> tuple[str, str]:
    n, unit = _count(g["n"]), g["u"].lower()
    if form in ("ago", "agoday"):
        base = today - timedelta(days=1) if g.get("rel") == "yesterday" else today
        return _both(_shift(base, unit, -n, exact=form == "agoday"))
    rel = g.get("rel") or ""
    base = today + timedelta(days=1) if rel == "tomorrow" else today
    if rel in WEEKDAYS:
        base = date.fromisoformat(_weekday(WEEKDAYS[rel], "", today)[1])
    return _both(_shift(base, unit, n, exact=bool(rel)))


def _shift(day: date, unit: str, n: int, *, exact: bool) -> str:
    """`n` units from `day`; days and weeks give a day, months a month, years a year (a day where `exact`)."""
    if unit in ("day", "week", "fortnight"):
        return (day + timedelta(days=n * {"day": 1, "week": 7, "fortnight": 14}[unit])).isoformat()
    months = day.year * 12 + day.month - 1 + n * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    if exact:
        return date(year, month, min(day.day, calendar.monthrange(year, month)[1])).isoformat()
    return str(year) if unit == "year" else f"{year:04}-{month:02}"


def _week_of(word: str, today: date) -> date:
    if word in WEEKDAYS:
        return date.fromisoformat(_weekday(WEEKDAYS[word], "", today)[1]) + timedelta(days=7)
    return today + timedelta(days=7 + _word_days(word))


def _relative_unit(rel: str, unit: str, today: date) -> str:
    n = {"last": -1, "this": 0, "next": 1}[rel]
    if unit == "month":
        return _shift(today, "month", n, exact=False)
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(days=7 * n)
        return f"{monday.year:04}-{monday.month:02}"
    if unit == "year":
        return str(today.year + n)
    return str(today.year if n <= 0 and not (unit == "winter" or today.month < 6) else today.year + n)


def _weekday(number: int, rel: str, today: date) -> tuple[str, str]:
    back = (today.weekday() - number) % 7
    past = today - timedelta(days=back or 7)
    ahead = (number - today.weekday()) % 7
    future = today + timedelta(days=ahead or 7)
    if rel == "last":
        return _both(past.isoformat())
    if rel in ("next", "this coming"):
        return _both(future.isoformat())
    return past.isoformat(), future.isoformat()


def _day_of_month(day: int, today: date) -> tuple[str, str]:
    def near(step: int) -> date:
        year, month = today.year, today.month
        for _ in range(13):
            if day <= calendar.monthrange(year, month)[1]:
                found = date(year, month, day)
                if (found <= today) if step < 0 else (found >= today):
                    return found
            month += step
            year, month = (year - 1, 12) if month == 0 else (year + 1, 1) if month == 13 else (year, month)
        raise ValueError(day)

    return near(-1).isoformat(), near(1).isoformat()


_OF_FORM: dict[str, Callable[[dict[str, str], date], tuple[str, str]]] = {
    "ofmonth": _of_month,
    "quarter": quarter,
    "relquarter": lambda g, today: quarter_beside(g["rel"].lower(), today),
    "fiscal": lambda g, _: financial_year(g["fy"]),
    "season": lambda g, today: _season(g["season"], g.get("y"), today),
    "dur": lambda g, today: _both(_shift(today, g["u"], -_count(g["n"]), exact=False)),
    "yy": lambda g, today: _both(str((1900 if int(g["yy"]) > today.year % 100 else 2000) + int(g["yy"]))),
}
