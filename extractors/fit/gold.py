"""What an annotated dialogue says, for fitting: whom a name means, and which pairs its facts are about."""

from __future__ import annotations

import re
from typing import Any

from memstream.extractors.context.references import Ref
from memstream.extractors.text.lexicon import words
from memstream.schemas.names import normalise_name

_PRONOUNS = words(
    """
    i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs this that
    these those who whom whose one ones both all each
    """
)
_BEFORE = re.compile(r"^(?:(?:the|a|an|my|our|your|his|her|its|their)\s+)+")
_WORD = re.compile(r"[\w@.+#/-]+")
_HALF = 0.5


class Gold:
    """One annotated dialogue."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._called: dict[str, set[str]] = {"user": {"user"}, "assistant": {"assistant"}}
        self._facts: dict[str, list[dict[str, Any]]] = {}
        for entity in row["entities"]:
            for text in (entity["name"], *(mention["text"] for mention in entity["mentions"])):
                name = plain(text)
                if name and name not in _PRONOUNS:
                    self._called.setdefault(name, set()).add(entity["name"])
        for fact in row["facts"]:
            if not fact.get("open"):
                self._facts.setdefault(fact["source"], []).append(fact)

    def facts_of(self, message: str) -> list[dict[str, Any]]:
        """What a message says, in the predicates of the catalogue."""
        return self._facts.get(message, [])

    def is_about(self, fact: dict[str, Any], subject: Ref, target: Ref) -> bool:
        """Whether the fact relates these two, in this direction."""
        return self._means(fact["subject"], subject) and self._means(fact["object"], target)

    def _means(self, name: str, ref: Ref) -> bool:
        text = ref.known.name if ref.known is not None else ref.value
        meant, said = self._called.get(plain(name), set()), self._called.get(plain(text), set())
        if meant and said:
            return bool(meant & said)
        return plain(name) == plain(text) if meant else alike(name, text)


def plain(text: str) -> str:
    """A name without determiner, possessive ending and case."""
    return _BEFORE.sub("", normalise_name(text).strip(" .,;:!?\"'`()[]").removesuffix("'s"))


def alike(gold: str, said: str) -> bool:
    """Whether two literal values say the same: equal but for signs of money and spaces, or most words and the last."""
    a, b = plain(gold), plain(said)
    if re.sub(r"^[v$€£]|[,\s]", "", a) == re.sub(r"^[v$€£]|[,\s]", "", b):
        return True
    if a[:4].isdigit() and b[:4].isdigit():
        return len(b) >= 7 and (a.startswith(b) or b.startswith(a))
    left, right = _WORD.findall(a), _WORD.findall(b)
    if not left or not right:
        return False
    one, other = set(left), set(right)
    return one <= other or (left[-1] == right[-1] and len(one & other) / len(one | other) >= _HALF)
