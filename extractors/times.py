"""Dates in words, resolved against the message's own time; the precision of the text is the precision of the answer.

`find_times(text, time)` gives every date expression with its place, what it says (a point, a start, an end), and its
value for past and for future talk: "on Friday" is the nearest Friday before the message in the one and after it in the
other. The wall clock enters nothing.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memstream.extractors.lexicon import words

MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        ("monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu", "friday fri", "saturday sat",
         "sunday sun"),
    )
    for name in names.split()
}  # fmt: skip
UNITS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
NUMBERS = {word: n for n, word in enumerate(UNITS, start=1)} | {
    "a": 1, "an": 1, "twenty": 20, "thirty": 30, "ninety": 90, "couple": 2, "a couple of": 2, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
}  # fmt: skip
_M = "|".join(sorted(MONTHS, key=len, reverse=True))
_D = "|".join(sorted(WEEKDAYS, key=len, reverse=True))
_N = r"\d{1,3}|" + "|".join(sorted(NUMBERS, key=len, reverse=True))
_U = "day|week|fortnight|month|year"
_Y = r"(?P<y>(?:19|20)\d\d)"
_DAY = r"(?P<{0}>\d{{1,2}})(?:st|nd|rd|th)?"
_CLOCK_CORE = (
    r"(?:(?P<h>\d{1,2})(?:[:.](?P<m>\d\d))?\s?(?P<ap>am|pm|a\.m\.|p\.m\.)"
    r"|(?P<h24>\d{1,2}):(?P<m24>\d\d)(?!\d)|(?P<word>noon|midday))(?!\w)"
)
_CLOCK = re.compile(r"\W{0,3}(?:(?:at|by|from|,|@)\s)?(?:at\s)?" + _CLOCK_CORE, re.I)
_CLOCK_BEFORE = re.compile(_CLOCK_CORE + r"[\s,]{1,2}(?:on\s)?$", re.I)
_HINT = re.compile(
    rf"\d|{_M}|{_D}|day|tonight|tomorrow|tmrw|night|morning|week|month|year|spring|summer|autumn|winter| ago"
)
_RANGE = re.compile(r"(?<![\w-])(?P<a>(?:19|20)\d\d)\s?[-–—]\s?(?P<b>(?:19|20)\d\d|now|present|today)(?![\w-])", re.I)
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"(?<![\w/.-]){pattern}(?![\w-]|\.\d)", re.I))
    for name, pattern in (
        ("iso", r"(?P<y>(?:19|20)\d\d)-(?P<mo>\d\d)(?:-(?P<d>\d\d)(?:[T ](?P<hh>\d\d):(?P<mi>\d\d)(?::\d\d)?Z?)?)?"),
        ("slash", r"(?P<d>\d{1,2})[./](?P<mo>\d{1,2})[./](?P<y>(?:19|20)\d\d)"),
        ("dmy", rf"(?:the\s+)?{_DAY.format('d')}\s+(?:of\s+)?(?P<mon>{_M})\.?,?(?:\s+(?P<y>(?:19|20)\d\d))?"),
        ("mdy", rf"(?P<mon>{_M})\.?\s+(?:the\s+)?{_DAY.format('d')}(?:,?\s+(?P<y>(?:19|20)\d\d))?"),
        ("my", rf"(?P<mon>{_M}),?\s+(?:of\s+)?(?:(?P<y>(?:19|20)\d\d)|(?P<rel>last|this|next)\s+year)"),
        ("edge", rf"(?:the\s+)?(?:(?:beginning|start|end|middle)\s+of|early|late|mid)[\s-]+(?P<mon>{_M})"),
        ("byday", r"the\s+day\s+(?P<dir>before\s+yesterday|after\s+tomorrow)"),
        ("agoday", rf"(?P<n>{_N})\s+(?P<u>{_U})s?\s+ago\s+(?P<rel>today|yesterday)"),
        ("ago", rf"(?:exactly\s+)?(?P<n>{_N})\s+(?P<u>{_U})s?\s+(?:ago|back)"),
        ("hence", rf"(?P<n>{_N})\s+(?P<u>{_U})s?(?:'|’)?\s+(?:from\s+(?P<rel>now|today|tomorrow|{_D})|time)"),
        ("inn", rf"in\s+(?P<n>{_N})\s+(?P<u>{_U})s?(?:'|’)?(?:\s+time)?"),
        ("weekof", rf"a\s+week\s+(?:on\s+)?(?P<wd>{_D}|today|tomorrow|yesterday)"),
        ("relunit", r"(?P<rel>last|this|next)\s+(?P<u>month|year|week|spring|summer|autumn|fall|winter)"),
        ("relmon", rf"(?P<rel>last|this|next)\s+(?P<mon>{_M})"),
        ("monrel", rf"(?P<mon>{_M})\s+(?P<rel>last|this|next)\s+year"),
        ("relwd", rf"(?P<rel>last|this|next|this\s+coming)\s+(?P<wd>{_D})"),
        ("word", r"(?P<w>today|yesterday|tomorrow|tonight|last\s+night|this\s+(?:morning|afternoon|evening)|tmrw)"),
        ("season", rf"(?:(?:in|in\s+the|since|last)\s+)(?:spring|summer|autumn|winter)(?:\s+(?:of\s+)?{_Y})?"),
        ("wd", rf"(?P<wd>{_D})s?"),
        ("theday", r"the\s+(?P<d>\d{1,2})(?:st|nd|rd|th)"),
        ("month", rf"(?P<mon>{_M})"),
        ("year", r"(?P<y>(?:19|20)\d\d)"),
    )
)  # fmt: skip
_LEAD = re.compile(
    r"(?:^|[\s(,;:—–-])(?P<p>as of|as from|starting|effective|ever since|since|from|until|till|til|up to|through"
    r"|by|before"
    r"|no later than|on|in|at|during|around|about|due|after|for|of|back in|the)\s+$",
    re.I,
)
START = frozenset({"since", "ever since", "from", "as of", "as from", "starting", "effective"})
END = frozenset({"until", "till", "til", "up to", "through"})
_AMBIGUOUS = words("may march mar sat sun mon wed dec jan oct sep jun august")


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """`text[start:end]` says a date. `lead` is the preposition before it; `past` and `future` are its ISO values."""

    start: int
    end: int
    lead: str
    past: str
    future: str
    form: str
    lead_start: int

    @property
    def is_start(self) -> bool:
        """Since, from, as of."""
        return self.lead in START

    @property
    def is_end(self) -> bool:
        """Until, till, through."""
        return self.lead in END


def find_times(text: str, time: datetime) -> list[TimeExpression]:
    """Every date expression of `text`, left to right, without overlaps; the longest form wins."""
    lowered = text.lower() if len(text.lower()) == len(text) else text
    if _HINT.search(lowered) is None:
        return []
    today = time.date()
    taken: list[tuple[int, int]] = []
    found = []
    for m in _RANGE.finditer(lowered):
        taken.append(m.span())
        found.append(TimeExpression(*m.span("a"), "from", m["a"], m["a"], "range", m.start()))
        if m["b"].isdigit():
            found.append(TimeExpression(*m.span("b"), "until", m["b"], m["b"], "range", m.start("b")))
    for form, pattern in _FORMS:
        for m in pattern.finditer(lowered):
            a, b = m.span()
            if any(a < y and x < b for x, y in taken) or not _sure(form, m, text):
                continue
            values = _values(form, m, today)
            if values is None:
                taken.append((a, b))  # an impossible date: its parts are no dates either
                continue
            lead = _LEAD.search(lowered[max(0, a - 16) : a])
            lead_text = lead["p"].lower() if lead else ""
            if form in ("season", "edge", "inn") and not lead_text:
                lead_text = "since" if lowered[a:b].startswith("since") else ""
            if form in ("month", "year") and not _led(lead_text, text, a, b, form):
                continue
            end, values = _with_clock(lowered, a, b, values)
            taken.append((a, end))
            begin = max(0, a - 16) + lead.start("p") if lead else a
            found.append(TimeExpression(a, end, lead_text, values[0], values[1], form, begin))
    return sorted(found, key=lambda t: t.start)


def _led(lead: str, text: str, a: int, b: int, form: str) -> bool:
    """A bare month or year counts only after a preposition, or after a comma or bracket, or in a range."""
    if lead and lead not in ("the", "for", "of", "about"):
        return True
    before = text[:a].rstrip()
    after = text[b : b + 1]
    if form == "year":
        return before[-1:] in (",", "(", "–", "-", "/") or after in ("–", "-")
    return before[-1:] in (",", "(") and text[a : a + 1].isupper()


def _sure(form: str, m: re.Match[str], text: str) -> bool:
    """Whether a form that is also a common word ("may", "sat") is meant as a date."""
    if form == "month":
        return m["mon"].lower() not in _AMBIGUOUS or text[m.start() : m.start() + 1].isupper()
    if form == "wd":
        return len(m["wd"]) > 3 or text[m.start() : m.start() + 1].isupper()
    return True


def _with_clock(text: str, start: int, end: int, values: tuple[str, str]) -> tuple[int, tuple[str, str]]:
    """The date with the hour that stands after it ("Tuesday at 2pm") or before it ("06:00 today")."""
    if len(values[0]) != 10:
        return end, values
    m = _CLOCK.match(text, end) or _CLOCK_BEFORE.search(text[max(0, start - 16) : start])
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
        if form == "theday":
            return _day_of_month(int(g["d"]), today)
        year = g.get("y")
        return _both(year or str(today.year))
    except (ValueError, OverflowError):
        return None


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
