"""Any text gives a result, and twice as much text takes no more than a few times as long: nothing is quadratic."""

from __future__ import annotations

import base64
import functools
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstream.extractors.context.session import MAX_BYTES
from memstream.extractors.spacy_extractor import SpacyExtractor, create
from memstream.extractors.text.textprep import HEAD_CHARS, TAIL_CHARS
from memstream.schemas.extraction import Extraction, SessionTurns, Turn

START = datetime(2026, 3, 9, 10, 0, tzinfo=UTC)
LIMIT = 200_000
SMALL, LARGE = 600, 2_400
AT_MOST = 8.0  # of the time of a quarter of the text: linear is 4, quadratic 16
FLOOR = 0.05  # seconds: below, a ratio means nothing


@functools.cache
def extractor() -> SpacyExtractor:
    """One loaded extractor, which remembers no text."""
    return create(cache_size=1, language="en", language_models={})


def read(text: str, role: str = "user") -> Extraction:
    """What a text alone says."""
    result = extractor().extract([SessionTurns(b"", [Turn("e", role, "user", text, START)])])[0]
    assert len(result.state) <= MAX_BYTES
    return result.extractions[0]


def seconds(text: str) -> float:
    """Processor time that a text takes."""
    begin = time.process_time()
    read(text)
    return time.process_time() - begin


_RANDOM = random.Random(7)  # noqa: S311 - the same bytes each time
_BLOB = base64.b64encode(_RANDOM.randbytes(LIMIT)).decode()
_NAMES = [
    f"{a}{b} {c}{d}"
    for a in ("Mar", "Jon", "Tob", "Luc")
    for b in ("a", "as", "ia")
    for c in ("Win", "Kle")
    for d in "ter"
]

KINDS: dict[str, Callable[[int], str]] = {
    "prose": lambda n: "Anna lives in Porto and works at Nimbus Archive. " * (n // 48),
    "names": lambda n: ", ".join(f"{_NAMES[i % len(_NAMES)]}{i}" for i in range(n // 14)),
    "short names": lambda n: ", ".join(f"{chr(65 + i % 26)}{chr(97 + i // 26 % 26)}" for i in range(n // 5)),
    "entities": lambda n: "\n".join(f"- svc-{i}-api" for i in range(n // 14)),
    "stack trace": lambda n: (
        "Traceback (most recent call last):\n" + '  File "/a.py", line 3, in f\n    g(x)\n' * (n // 39)
    ),
    "base64": lambda n: _BLOB[:n],
    "base64 lines": lambda n: "\n".join(_BLOB[i : i + 76] for i in range(0, n, 77)),
    "csv": lambda n: "id,name,city\n" + "".join(f"{i},Mara Winter,Leipzig\n" for i in range(n // 26)),
    "right to left": lambda n: "שלום, אני גר בברלין. " * (n // 21),
    "both directions": lambda n: "Anna \u202eשלום\u202c lives in Porto. " * (n // 29),
    "emoji": lambda n: "🙂👩‍👩‍👧‍👦 " * (n // 9),
    "owners of owners": lambda n: "my sister's " * (n // 12),
    "brackets": lambda n: "so\n" + "[\n" * (n // 4) + "]\n" * (n // 4),
    "braces": lambda n: '{"a":' * (n // 5),
    "quotes": lambda n: '" a ' * (n // 4),
    "table": lambda n: "| a | b |\n" * (n // 10),
    "keys": lambda n: "owner: Mara Winter, version: 3.2\n" * (n // 34),
    "numbers": lambda n: "12 " * (n // 3),
    "telephone": lambda n: "+49 " * (n // 4),
    "address": lambda n: "a@b." * (n // 4),
    "hyphens": lambda n: "a-" * (n // 2),
    "speech": lambda n: "Anna said he knows she knows " * (n // 29),
    "and": lambda n: "Anna and " * (n // 9),
    "dates": lambda n: "on 3 May 2026, " * (n // 15),
    "preferences": lambda n: "tea over coffee, never milk, " * (n // 29),
    "broken": lambda n: "\ud800a \0b " * (n // 7),
    "combining": lambda n: "e\u0301\u0300" * (n // 3),
    "German": lambda n: "Herr Dr. Lund von der Kestrel GmbH & Co. KG schreibt nicht, " * (n // 60),
}


@pytest.mark.parametrize("kind", KINDS)
def test_four_times_the_text_takes_a_few_times_as_long(kind: str) -> None:
    """By processor time; what is read of a text is bounded, so this is all the growth there is."""
    make = KINDS[kind]
    assert LARGE <= HEAD_CHARS + TAIL_CHARS
    least = AT_MOST * max(seconds(make(SMALL)), FLOOR)
    assert seconds(make(LARGE)) <= least or seconds(make(LARGE)) <= least  # what comes between is not the text's fault


WHOLE = (
    "prose",
    "entities",
    "stack trace",
    "base64",
    "csv",
    "right to left",
    "emoji",
    "owners of owners",
    "brackets",
    "braces",
)
STRUCTURED = ("csv", "entities", "keys", "table")


@pytest.mark.parametrize(
    ("kind", "role"), [*((kind, "user") for kind in WHOLE), *((kind, "tool") for kind in STRUCTURED)]
)
def test_a_text_at_the_limit_gives_a_result(kind: str, role: str) -> None:
    """Two hundred thousand characters of anything: read at both ends, and the patch says so."""
    found = read(KINDS[kind](LIMIT), role)
    if len(KINDS[kind](LIMIT)) > HEAD_CHARS + TAIL_CHARS and not found.assertions:
        assert any("were not read" in cut for cut in found.cut)


PIECES = st.sampled_from(
    [
        "my sister's ", "Anna ", "of the ", "\n", "```", '"', "'s ", "(", ")", "[", "]", "{", "}", "|", "\t", " - ",
        "? ", ". ", "and ", "who ", "+49 ", "3 May ", "v1.2 ", "RL-77 ", "a@b.c ", "http://x/", "שלום ", "ich bin ",
        "🙂",
        "\u202e", "\0", "\ud800", "é", "ﬁ",
    ]
)  # fmt: skip


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.lists(PIECES | st.text(max_size=12), max_size=60),
    st.integers(1, 12),
    st.sampled_from(["user", "assistant", "tool"]),
)
def test_any_text_gives_a_result(pieces: list[str], times: int, role: str) -> None:
    """Whatever stands in it and however often it comes again; mentions stand where they say."""
    text = "".join(pieces) * times
    for mention in read(text, role).mentions:
        assert text[mention.start : mention.end] == mention.text
