"""Full-text questions that can not be a syntax error and can not leave their scope.

Of a user's text only its words reach Lucene, in lower case: no operator, bracket, field, wildcard or quote of theirs.
"""

from __future__ import annotations

import re
from typing import Final

from memstream.schemas.ids import scope_token

MAX_WORDS = 48
_MAX_WORD = 64
_WORD: Final = re.compile(r"\w+", re.UNICODE)

_STOPWORDS = """
    a about after all also am an and any are as at be because been before but by can could did do does for from had
    has have he her hers him his how i if in into is it its just let me more most my no not of off on once only or
    our out over please same she should so some such tell than that the their them then there these they this
    those to too up us very was we were what when where which while who whom why will with would you your
"""
STOPWORDS: Final = frozenset(_STOPWORDS.split())


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, each once, stop words left out unless there is nothing else."""
    words = [word[:_MAX_WORD] for word in dict.fromkeys(_WORD.findall(text.casefold())) if word.strip("_")]
    telling = [word for word in words if word not in STOPWORDS]
    return (telling or words)[:MAX_WORDS]


def text_query(scope: str, text: str) -> str | None:
    """Any of the text's words in `text`, inside the scope; None where the text has no words."""
    words = words_of(text)
    if not words:
        return None
    return f"+stok:{scope_token(scope)} +text:({' '.join(_quoted(words))})"


def names_query(scope: str, text: str, *, prefix: bool = False) -> str | None:
    """Any of the words in a name or an alias; with `prefix` the last word may be the beginning of one."""
    words = words_of(text)
    if not words:
        return None
    terms = _quoted(words)
    if prefix:
        terms.append(f"{words[-1]}*")
    any_of = " ".join(terms)
    return f"+stok:{scope_token(scope)} +(name:({any_of}) aliases:({any_of}))"


def _quoted(words: list[str]) -> list[str]:
    return [f'"{word}"' for word in words]
