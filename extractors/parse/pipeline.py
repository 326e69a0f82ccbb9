"""The spaCy pipeline, made once per process from pipeline.cfg."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any

import spacy
from spacy.attrs import NORM, ORTH
from spacy.language import Language
from spacy.tokens import Doc

from memstream.extractors.parse.matmul import quicken
from memstream.extractors.parse.ruler import remember
from memstream.extractors.text.identifiers import is_identifier_token
from memstream.extractors.text.respell import respell
from memstream.schemas.errors import SettingsError

CONFIG = "pipeline.cfg"
SAID = "said"  # of a Doc's user data: the text itself, where the parser saw another spelling of it
# chat without apostrophes; "its", "were" and "well" mean something else too often
CHAT = {
    first + tail.replace("'", ""): (first, tail)
    for tail, words in {
        "'s": "he she who that there", "'re": "they you", "'r": "u", "'ve": "i", "'m": "i",
        "n't": "is was are does has",
    }.items()
    for first in words.split()
}  # fmt: skip


@functools.cache
def pipeline(model: str | None = None) -> tuple[Language, int]:
    """The pipeline as the rules read it, and its batch size; `model` overrides the one of the config file.

    Raises SettingsError where the model is not installed.
    """
    nlp, batch_size = load_bare(model)
    tokenizer: Any = nlp.tokenizer
    tokenizer.token_match = _whole
    for word, parts in CHAT.items():
        for first in (parts[0], parts[0].capitalize()):
            spelled = [{ORTH: first}, {ORTH: word[len(first) :], NORM: parts[1]}]
            tokenizer.add_special_case(first + word[len(first) :], spelled)
    tokenizer.add_special_case("w/", [{ORTH: "w/", NORM: "with"}])
    quicken(nlp)
    remember(nlp)
    return nlp, batch_size


def load_bare(model: str | None = None) -> tuple[Language, int]:
    """The model's pipeline as spaCy has it, without the components that are left out, and the batch size.

    Raises SettingsError where the model is not installed.
    """
    with resources.as_file(resources.files("memstream.extractors.parse") / CONFIG) as path:
        config = spacy.util.load_config(path)["pipeline"]
    name = model or config["model"]
    if importlib.util.find_spec(name) is None:
        raise SettingsError(
            f"the spaCy model {name!r} is not installed; run: pip install 'memstream[streams]'"
            " (or install that model's own package)"
        )
    return spacy.load(name, exclude=config["leave_out"]), int(config["batch_size"])


def _whole(text: str) -> bool:
    """Strings that the tokenizer keeps in one piece: "payments-gw", "RL-77", "src/app.py"."""
    return is_identifier_token(text)


def parse(texts: Iterable[str], model: str | None = None) -> Iterator[Doc]:
    """One Doc for each text, in order, as `respell` spells it. The Doc of a text does not depend on its neighbours."""
    nlp, batch_size = pipeline(model)
    pairs = ((respell(text), text) for text in texts)
    for doc, text in nlp.pipe(pairs, as_tuples=True, batch_size=batch_size):
        if doc.text != text:
            doc.user_data[SAID] = text
        yield doc
