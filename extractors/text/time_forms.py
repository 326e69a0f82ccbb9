"""The words and forms by which a text says a date, as the regular expressions that find them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstream.extractors.text.lexicon import words

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
ORDINALS = {
    word: n
    for n, word in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), start=1
    )
}
_EDGE = r"(?:(?:beginning|start|end|middle)\s+of|early(?:\s+in)?|late(?:\s+in)?|mid)"
_DAY = r"(?P<{0}>\d{{1,2}})(?:st|nd|rd|th)?"
_CLOCK_CORE = (
    r"(?:(?P<h>\d{1,2})(?:[:.](?P<m>\d\d))?\s?(?P<ap>am|pm|a\.m\.|p\.m\.)"
    r"|(?P<h24>\d{1,2}):(?P<m24>\d\d)(?!\d)|(?P<word>noon|midday))(?!\w)"
)
CLOCK = re.compile(r"\W{0,3}(?:(?:at|by|from|,|@)\s)?(?:at\s)?" + _CLOCK_CORE, re.I)
CLOCK_BEFORE = re.compile(_CLOCK_CORE + r"[\s,]{1,2}(?:on\s)?$", re.I)
# feasts that fall on the same day each year; a bare "Christmas" also names parties and markets
HOLIDAYS = {
    r"new\s+year['’]?s\s+day": (1, 1),
    r"new\s+year['’]?s\s+eve": (12, 31),
    r"valentine['’]?s\s+day": (2, 14),
    r"may\s+day": (5, 1),
    r"halloween": (10, 31),
    r"christmas\s+eve": (12, 24),
    r"(?:christmas|xmas)\s+day": (12, 25),
    r"boxing\s+day": (12, 26),
    r"(?:christmas|xmas)": (12, 25),
    r"new\s+year['’]?s?": (1, 1),
}
HINT = re.compile(
    rf"\d|{_M}|{_D}|day|tonight|tomorrow|tmrw|night|morning|week|month|quarter|year|spring|summer|autumn|winter| ago"
    r"|christmas|xmas|halloween|new year"
)
RANGE = re.compile(r"(?<![\w-])(?P<a>(?:19|20)\d\d)\s?[-–—]\s?(?P<b>(?:19|20)\d\d|now|present|today)(?![\w-])", re.I)
FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"(?<![\w/.-]){pattern}(?![\w-]|\.\d)", re.I))
    for name, pattern in (
        ("iso", r"(?P<y>(?:19|20)\d\d)-(?P<mo>\d\d)(?:-(?P<d>\d\d)(?:[T ](?P<hh>\d\d):(?P<mi>\d\d)(?::\d\d)?Z?)?)?"),
        ("slash", r"(?P<d>\d{1,2})[./](?P<mo>\d{1,2})[./](?P<y>(?:19|20)\d\d)"),
        ("dmy", rf"(?:the\s+)?{_DAY.format('d')}\s+(?:of\s+)?(?P<mon>{_M})\.?,?(?:\s+(?P<y>(?:19|20)\d\d))?"),
        ("mdy", rf"(?P<mon>{_M})\.?\s+(?:the\s+)?{_DAY.format('d')}(?:,?\s+(?P<y>(?:19|20)\d\d))?"),
        ("my", rf"(?P<mon>{_M}),?\s+(?:of\s+)?(?:(?P<y>(?:19|20)\d\d)|(?P<rel>last|this|next)\s+year)"),
        ("ofmonth", rf"the\s+(?:(?P<ord>{'|'.join(ORDINALS)})|{_DAY.format('d')})\s+of\s+(?:(?P<mon>{_M})(?:\s+{_Y})?"
         r"|(?P<rel>the|this|last|next)\s+month)"),
        ("edge", rf"(?:the\s+)?(?:{_EDGE}|(?:first|second|third|last)\s+week\s+(?:of|in))[\s-]+(?P<mon>{_M})"),
        ("edgeyear", rf"(?:the\s+)?{_EDGE}[\s-]+{_Y}"),
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
        ("dur", rf"(?:since|for)\s+(?:(?:the\s+)?(?P<rel>last|past)\s+|almost\s+|nearly\s+|over\s+|about\s+)?"
         rf"(?P<n>{_N})\s+(?P<u>{_U})s?(?!\s+(?:ago|back|before|later|after|from|old|earlier|in|on|at|to|until|till))"),
        ("quarter", rf"(?:(?:the\s+)?(?P<edge>end|close|beginning|start)\s+of\s+)?"
         rf"(?P<q>q[1-4]|h[12])(?:,?\s+(?:of\s+)?{_Y})?"),
        ("relquarter", r"(?P<rel>last|this|next)\s+quarter"),
        ("fiscal", r"(?:fy|fiscal|financial\s+year|fiscal\s+year)[\s'’]?(?P<fy>20\d\d|\d\d)"),
        ("holiday", rf"(?P<h>{'|'.join(HOLIDAYS)})(?:,?\s+{_Y})?"),
        ("season", rf"(?:(?:in|since|last|over)\s+(?:the\s+)?)(?P<season>spring|summer|autumn|fall|winter)"
         rf"(?:\s+(?:of\s+)?{_Y})?"),
        ("wd", rf"(?P<wd>{_D})s?"),
        ("theday", r"the\s+(?P<d>\d{1,2})(?:st|nd|rd|th)"),
        ("month", rf"(?P<mon>{_M})"),
        ("year", r"(?P<y>(?:1[5-9]|20)\d\d)"),
        ("yy", r"['’](?P<yy>\d\d)"),
    )
)  # fmt: skip
LEAD = re.compile(
    r"(?:^|[\s(,;:—–-])(?P<p>as of|as from|starting|effective|ever since|since|from|until|till|til|up to|through"
    r"|by|before|between|(?<=between \d\d\d\d )and|to"
    r"|no later than|on|in|at|during|around|about|due|after|for|of|back in|the)\s+"
    r"(?:(?:the\s+)?(?:early|late|mid|(?:beginning|start|end|middle)\s+of)[\s-]+)?$",
    re.I,
)
YEAR_OF = re.compile(
    r"(?:found|establish|launch|open|join|acquir|start|incorporat|elect|marri)ed\s$|(?:built|est\.?)\s$"
)
# hours and minutes count from the message's own time: the one that a clock shows, or so many ago
SINCE_CLOCK = re.compile(r"(?<!\w)(?:since|as of)\s+(?P<h>\d{1,2})[:.](?P<m>\d\d)(?!\w|[.:]\d)")
SINCE_THEN = re.compile(r"(?<!\w)(?:ever\s)?since(?:\sthen(?!\w)|(?=\s?(?:[.,;!?)]|$)))")
HOURS_AGO = re.compile(rf"(?<!\w)(?:(?P<n>{_N}|half\s+an)\s+)(?P<u>minute|min|hour|hr)s?\s+ago(?!\w)")
START = frozenset({"since", "ever since", "from", "as of", "as from", "starting", "effective"})
END = frozenset({"until", "till", "til", "up to", "through"})
LEAD_CHARS = 40
OLD_LEADS = frozenset(
    {"between", "and", "in", "since", "from", "until", "till", "back in", "around", "before", "after"}
)
MONTH_LEAD = re.compile(r"(?<!\w)(?:in|since|until|till|til)\s$")
AMBIGUOUS = words("may march mar sat sun mon wed dec jan oct sep jun august")


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
        """Since, from, as of, for three years."""
        return self.lead in START or self.form == "dur"

    @property
    def is_end(self) -> bool:
        """Until, till, through."""
        return self.lead in END
