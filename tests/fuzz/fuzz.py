"""Coverage-guided fuzzing of what reads bytes and text that anybody may send: `make fuzz`.

Needs `pip install 'memstream[fuzz]'`.

    python tests/fuzz/fuzz.py extract|codec SECONDS [FOLDER]

FOLDER keeps what was found worth trying, for the next time. What fails is written into it as crash-…; give that file
instead of a number of seconds to run it alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["memstream"]):
    from memstream.extractors.context.session import MAX_BYTES
    from memstream.extractors.spacy_extractor import SpacyExtractor, create
    from memstream.schemas.cloudevents import decode
    from memstream.schemas.errors import PoisonError
    from memstream.schemas.extraction import SessionTurns, Turn
    from memstream.schemas.patch import Patch

START = datetime(2026, 3, 9, 10, 0, tzinfo=UTC)
ROLES = ("user", "assistant", "system", "tool")
SECONDS_EACH = 20
SEEDS = {
    "extract": [
        "My sister Anna works at Nimbus Archive. She moved to Porto in May.",
        "payments-gw runs on Nomad; RL-77 is blocked by RL-70.",
        '{"service": "relay", "owner": "Team Ash", "version": "5.5.1"}',
        "| name | owner |\n| relay | Ash |",
        "Where do you live?\x1ePorto.",
        "Ich wohne in Leipzig und arbeite bei der Kestrel GmbH.",
        "I prefer tea over coffee. no, not Berlin",
        "שלום 🙂 ```x``` +49 341 555 0101 a@b.example",
    ],
    "codec": ['{"session_id":"s","role":"user","content":"hi","metadata":{}}', "[]", '{"a":{"b":[1,2.5,null]}}'],
}


def extract_target() -> Callable[[bytes], None]:
    """Two messages, a session: mentions stand where they say, the state is bounded."""
    extractor: SpacyExtractor = create(cache_size=1, language="en", language_models={})

    def run(data: bytes) -> None:
        role, text = ROLES[data[0] % 4] if data else "user", data[1:].decode("utf-8", "surrogateescape")
        cut = text.find("\x1e")
        texts = [text] if cut < 0 else [text[:cut], text[cut + 1 :]]
        turns = [Turn(f"e{n}", role, "user", each, START) for n, each in enumerate(texts)]
        result = extractor.extract([SessionTurns(b"", turns)])[0]
        assert len(result.state) <= MAX_BYTES
        for turn, found in zip(turns, result.extractions, strict=True):
            for m in found.mentions:
                assert turn.text[m.start : m.end] == m.text

    return run


def codec_target() -> Callable[[bytes], None]:
    """Records as they lie in a topic: an event, a patch, or a refusal with its reason."""
    types = [f"memstream.{name}.v1" for name in ("message", "tool-call", "fact", "recalled", "document")]

    def run(data: bytes) -> None:
        kind = types[data[0] % len(types)] if data else types[0]
        wild = bool(data) and data[0] >= 128
        headers = [(f"ce_{name}", value) for name, value in (
            ("specversion", b"1.0"), ("id", data[1:9] if wild else b"e1"), ("source", b"tests"),
            ("type", kind.encode()),
            ("time", b"2026-03-09T10:00:00Z"), ("scope", data[9:19] if wild else b"a/b"),
        )]  # fmt: skip
        for given in (headers, []):
            try:
                decode(given, data[1:])
            except PoisonError:
                continue
        try:
            Patch.decode(data)
        except PoisonError:
            return

    return run


def main() -> None:
    """Fuzz until the time is over, or run one file that failed."""
    name, told, *rest = sys.argv[1:]
    folder = Path(rest[0] if rest else f"build/fuzz/{name}")
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (folder / f"seed-{number}").write_bytes(b"\0" + seed.encode())
    run = {"extract": extract_target, "codec": codec_target}[name]()
    options = [told] if Path(told).is_file() else [f"-max_total_time={told}", str(folder)]
    atheris.Setup(
        [
            sys.argv[0],
            *options,
            "-max_len=600",
            f"-timeout={SECONDS_EACH}",
            f"-artifact_prefix={folder}/",
            "-rss_limit_mb=4096",
        ],
        run,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
