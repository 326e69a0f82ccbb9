"""Literal values in a text: versions, money, ages, phone numbers, addresses, languages."""

from __future__ import annotations

import re

from memstream.extractors.text.lexicon import lexicon
from memstream.extractors.text.time_forms import NUMBERS

VERSION = re.compile(
    r"(?<![\w./-])(?:v(?=\d)|version\s+v?|release\s+v?)?(?P<v>\d+(?:\.\d+){1,3}(?:[-+.]?[a-z][0-9A-Za-z.-]*)?)(?![\w%€$£°])(?!\.\d)"
    r"|(?<![\w./-])(?:v|version\s+)(?P<w>\d+(?:[-.]?(?:rc|beta|alpha)\.?\d*)?)(?![\w./%])",
    re.I,
)
_UNIT = (
    r"(?:dollars?|euros?|pounds?|quid|francs?|crowns?|kronor|kroner|yen|yuan|rupees?|pesos?|reais|zloty|rand|bucks|usd"
    r"|eur|gbp|chf|cents?|lire|shillings?|naira|dirhams?)"
)
MONEY = re.compile(
    r"(?<![\w.])(?P<m>(?:[$€£¥₹]\s?\d[\d,.]*(?:\s?(?:k|m|bn|million|thousand))?|\d[\d,.]*(?:\s?(?:k|m|million|thousand))?\s?(?:[€£$]|"
    rf"(?:\w+\s)?{_UNIT}\b)|{_UNIT}\s\d[\d,.]*)(?:\s?/\s?(?:month|mo|year|yr|week|day|h|hour)\b|\s(?:an?|per|each|every)\s(?:month|year|week|day|hour|night|head|seat|person|user|term)\b|\smonthly|\syearly)?)",
    re.I,
)
PHONE = re.compile(
    r"(?<![\w.+-])(?:\+\d{1,3}[\s-]?(?:\(?\d{1,5}\)?[\s-]?){2,6}\d|0\d{1,5}(?:[\s-]\d{2,6}){1,4}|0\d{9,11}|\d{3}[\s-]\d{4}|\(?\d{3}\)?[\s-]\d{3}[\s-]\d{4})(?![\w-]|[.:]\d)"
)
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
TIMEZONE = re.compile(
    r"(?<!\w)(?:(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[A-Z][\w/+-]+"
    r"|(?:UTC|GMT)(?:\s?[+-]\s?\d{1,2}(?::\d\d)?)?|[PMCEA][SD]T|CES?T|WES?T|EES?T|BST|IST|JST|KST|AES?T|NZS?T|PKT|SAST|EAT|WAT|MSK|HKT|SGT|AKST|HST)(?!\w)"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}


def first_version(text: str) -> str | None:
    """The first version number, without its v."""
    m = VERSION.search(text)
    return (m["v"] or m["w"]).rstrip(".") if m else None


def first_money(text: str) -> str | None:
    """The first amount of money, with its period."""
    m = MONEY.search(text)
    return " ".join(m["m"].split()).rstrip(".,") if m else None


def first_phone(text: str) -> str | None:
    """The first telephone number of at least seven digits."""
    for m in PHONE.finditer(text):
        if sum(c.isdigit() for c in m[0]) >= 7:
            return m[0].strip()
    return None


def first_email(text: str) -> str | None:
    """The first e-mail address."""
    m = EMAIL.search(text)
    return m[0].rstrip(".") if m else None


def first_timezone(text: str) -> str | None:
    """The first name of a time zone."""
    m = TIMEZONE.search(text)
    return m[0] if m else None


def number(text: str) -> int | None:
    """A small number in digits or words: "34", "eighty-one"."""
    plain = text.lower().replace("-", " ").strip()
    if plain.isdecimal():  # isdigit() holds for "¹", which is no number to int()
        return int(plain) if len(plain) <= 3 else None
    words = plain.split()
    if len(words) == 1:
        return NUMBERS.get(words[0]) if words[0] not in ("a", "an", "couple") else None
    if len(words) == 2 and words[0] in _TENS and NUMBERS.get(words[1], 10) < 10:
        return _TENS[words[0]] + NUMBERS[words[1]]
    return None


def language(text: str) -> str | None:
    """The language that a word names, as it is written."""
    return text if text.lower() in lexicon().languages else None
