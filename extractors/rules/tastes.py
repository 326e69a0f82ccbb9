"""Tastes as people write them: "Ondine loves okra", "basil I adore", "hates: lids, PDFs", "he'd rather walk than wait".

Read from the words in their order, since the parser takes many of these for other things: notes leave out the subject,
put the object first, or make a list of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.session import Known, clean
from memstream.extractors.parse.candidates import TITLES
from memstream.extractors.rules.taste_words import (
    ADVERBS,
    AUXILIARIES,
    BARE,
    CLAUSE,
    DISLIKE,
    DOUBTFUL,
    IDIOMS,
    LABEL,
    LIKE,
    LIMIT,
    LINKS,
    LISTED,
    NO_OBJECT,
    OPEN,
    PREFER,
    SINGLE,
    STOPS,
    SUBJECTS,
    THAN,
    VAGUE,
    VERBS,
    gerund,
    trim,
)
from memstream.extractors.text.lexicon import lexicon, vocabulary, words
from memstream.schemas.extraction import Polarity

Taste = tuple[Ref, Polarity, str, str | None]
"""Who, how, what, and over what."""

_FINITE = frozenset({"VBZ", "VBP", "VBD", "MD"})
_FAR = 400  # characters: no label is looked for further to the left
_MAX = 12
_OBJECT_POS = frozenset({"NOUN", "PROPN", "ADJ", "DET", "VERB", "NUM", "PRON", "X"})
_OF_NOBODY = words("we you it that which there they to not n't")
_CONTAINING = re.compile(
    r"(?:anything|everything|things|stuff|something)\s+(?:with|made (?:of|from|with)|involving)\s+(?:an?\s+|the\s+)?"
    r"(?P<o>.+?)(?:\s+(?:in|on) it)?$",
    re.I,
)
_IT = words("it them")
_SHE = words("he she hes shes he's she's")
_FOND = words("poor dear little old young lovely darling")
_OWN = words("my our his her their")


def tastes(reading: Reading) -> Iterator[Taste]:
    """The tastes of a message in their order; nothing from questions, quotations, doubts and hearsay."""
    done: set[int] = set()
    for match, polarity in _found(reading):
        token = reading.token_at(match.start())
        last = reading.token_at(match.end() - 1)
        if token is None or last is None or done & set(range(token, last + 1)) or doubtful(reading, token):
            continue
        done |= set(range(token, last + 1))
        yield from _taste(reading, token, last, polarity)
    yield from _lists(reading)


def _found(reading: Reading) -> list[tuple[re.Match[str], Polarity]]:
    text = reading.tree.text
    out = [(m, polarity) for pattern, polarity in IDIOMS for m in pattern.finditer(text)]
    out += [(m, VERBS[m[0].lower()]) for m in SINGLE.finditer(text)]
    return sorted(out, key=lambda found: (found[0].start(), -found[0].end()))


def doubtful(reading: Reading, token: int) -> bool:
    """Whether what stands at the token is quoted, asked, supposed or hearsay."""
    tree = reading.tree
    if reading.quoted[token]:
        return True
    a, b = tree.sentences[tree.sent[token]]
    if any(tree.words[j].startswith("?") for j in range(token, min(b, token + 40))):
        return True
    return DOUBTFUL.search(tree.text[tree.at[max(a, token - 14)] : tree.at[token]]) is not None


def _taste(reading: Reading, first: int, last: int, polarity: Polarity) -> Iterator[Taste]:
    tree = reading.tree
    j = first - 1
    while j >= 0 and tree.lower[j] in ADVERBS:
        j -= 1
    bare = j < 0 or tree.lower[j] in STOPS or tree.lower[j] in LINKS or tree.lower[j] == "," or tree.pos[j] == "SPACE"
    holder = _unsaid(reading, first) if bare else _holder(reading, j)
    word = tree.lower[last]
    if word == "like" and first == last and tree.lower[j] not in ("i", "and", "&"):
        return  # "Signhild like her grandma"
    if bare and tree.lower[first] in BARE and not _opens_with_thing(reading, first):
        return
    if holder is None or holder.known is None:
        return
    objects = _related(reading, holder, last) or list(_objects(reading, last + 1))
    if not objects and not bare:
        objects = _fronted(reading, holder.start if holder.start < first else j)
    for said in objects:
        what, over = said, None
        if polarity is PREFER:
            what, *rest = THAN.split(said, maxsplit=1)
            over = trim(LIMIT.split(rest[0])[0]) if rest else None
            as_what = re.match(r"^(?:get|have|see|read)\b.*\bas (?:an? |the )?(.+)$", what)
            what = as_what[1] if as_what is not None and over else what
            what = re.sub(r"^(?:have|see|get) (?=\w)", "", what)
        elif re.search(r"\b(?:more|better) than\b", said):
            continue
        if polarity is PREFER and over is None and word in ("rather", "sooner"):
            continue  # "she'd rather stay anonymous" is of one occasion
        what = _meant(reading, last + 1, trim(_named_act(reading, last + 1, what)))
        if not what or what.lower() in NO_OBJECT or VAGUE.match(what):
            continue
        for one in _together(reading, holder, first):
            yield one, polarity, what, over
        if polarity is PREFER:
            break


def _opens_with_thing(reading: Reading, first: int) -> bool:
    """Whether a verb that opens a sentence has a thing behind it, as in "love a good table": no order, no greeting."""
    tree = reading.tree
    after = first + 1
    return (
        tree.lower[first] in ("love", "enjoy")
        and after < len(tree)
        and tree.lower[after] in ("a", "an", "any", "all", "anything", "everything")
        and (reading.turn.role == "user" or reading.turn.named)
    )


def _meant(reading: Reading, start: int, what: str) -> str:
    """The object as it is named: "anything with chilli in it" as "chilli", "it" and "them" as what they refer to."""
    found = _CONTAINING.match(what)
    if found is not None:
        return found["o"]
    if what.lower() not in _IT or start >= len(reading.tree) or reading.tree.lower[start] != what.lower():
        return what
    ref = reading.ref(start)
    return ref.known.name if ref is not None and ref.known is not None and ref.type != "Person" else what


def _unsaid(reading: Reading, first: int) -> Ref | None:
    """The holder of a note without a subject: whom it goes on about; the speaker where it names nobody before."""
    third = reading.tree.lower[first].endswith("s")
    a = reading.tree.sentences[reading.tree.sent[first]][0]
    if any(word in _SHE for word in reading.tree.lower[a:first]):
        return _before(reading, first)
    if not third and not any(n.span.end <= first and n.known.type == "Person" for n in reading.named):
        return label(reading, reading.tree.at[first]) or Ref(reading.speaker, "")
    return _before(reading, first)


def _together(reading: Reading, holder: Ref, first: int) -> list[Ref]:
    """The holder, and who is coordinated before: "Kasimir and Lena love figs"."""
    tree = reading.tree
    j = holder.start
    if 0 < j < first and tree.lower[j - 1] in ("and", "&", "+") and j - 2 in reading.cover:
        other = reading.cover[j - 2].known
        if other.type == "Person" and other is not holder.known and tree.dep[j - 2] in ("nsubj", "ROOT", "conj"):
            return [Ref(other, "", reading.basis(other)), holder]
    return [holder]


def _named_act(reading: Reading, start: int, text: str) -> str:
    """What one likes to do by the verb's noun: "to be thanked" as "being thanked", "rather walk" as "walking"."""
    tree = reading.tree
    parts = text.split()
    if len(parts) > 1 and parts[0].lower() == "to" and parts[1].isalpha():
        return " ".join([gerund(parts[1]), *parts[2:]])
    at = start
    while parts and at < min(len(tree), start + 3) and tree.words[at] != parts[0]:
        at += 1
    if len(parts) <= 1 or at >= len(tree) or tree.words[at] != parts[0]:
        return text
    if tree.tag[at] == "VB" and tree.lower[at - 1] in _BEFORE_ACT:
        return " ".join([gerund(parts[0]), *parts[1:]])
    return text


_BEFORE_ACT = words("rather sooner always never")


def _holder(reading: Reading, j: int) -> Ref | None:  # noqa: PLR0911 (one decision after the other)
    """Who the word before the verb is: the speaker, someone spoken of, a name not met before, a relative."""
    tree = reading.tree
    word = tree.lower[j]
    if word in ("i", "im", "me"):
        return Ref(reading.speaker, "", start=j, end=j + 1)
    if word in _OF_NOBODY:
        return None
    if word == "who":
        return _who(reading, j)
    if word in ("he", "she"):
        labelled = label(reading, tree.at[j])
        if labelled is not None and labelled.known is not reading.speaker:
            return labelled
        found = reading.ref(j)
        return found if found is not None and found.type == "Person" else _before(reading, j)
    if j in reading.cover:
        known = reading.ref(j, ("Person",))
        return known if known is not None and known.type in ("Person", "Object", "Organization") else None
    kin = lexicon().kin.get(word) or lexicon().kin.get(tree.lemma[j])
    if tree.pos[j] in ("NOUN", "PROPN") or kin:
        found = reading.ref(j, ("Person",))
        if found is not None and found.known is not None and found.type == "Person":
            return found
    name = tree.words[j]
    if kin or (name[:1].isupper() and tree.pos[j] == "PROPN" and name[1:2].islower()):
        start = j
        while start > 0 and tree.words[start - 1][:1].isupper() and tree.pos[start - 1] == "PROPN" and j - start < 3:
            start -= 1
        while start < j and ((tree.lower[start].rstrip(".") in TITLES and start < j - 1) or tree.lower[start] in _FOND):
            start += 1
        text = clean(tree.span_text(start, j + 1))
        met = reading.session.find(text, "Person")
        return Ref(met or Known(text, "Person", kin[1] if kin else ""), "", start=start, end=j + 1, fresh=met is None)
    return None


def _who(reading: Reading, j: int) -> Ref | None:
    """Whom a relative clause is about: "owned by Anacleto, who's a friend and who hates gyms"."""
    tree = reading.tree
    verb = tree.head[j]
    for _ in range(4):
        if tree.dep[verb] == "relcl" or tree.head[verb] == verb:
            break
        verb = tree.head[verb]
    if tree.dep[verb] == "relcl" and tree.head[verb] < j:
        of = tree.head[verb]
    else:
        a = tree.sentences[tree.sent[j]][0]
        of = next((i for i in range(j - 1, a - 1, -1) if i in reading.cover), j)
    if of == j:
        return None
    found = reading.ref(of, ("Person",))
    return found if found is not None and found.known is not None and found.type == "Person" else None


def _before(reading: Reading, i: int) -> Ref | None:  # noqa: PLR0911 (one decision after the other)
    """Whom a note goes on about: the label of its line, or the last one who was the subject or was named before."""
    tree = reading.tree
    a = tree.sentences[tree.sent[i]][0]
    labelled = label(reading, tree.at[i])
    if labelled is not None:
        return labelled
    for j in range(i - 1, max(a, i - 40) - 1, -1):
        if tree.lower[j] in ("i", "he", "she") and tree.dep[j] in ("nsubj", "nsubjpass"):
            if tree.lower[j] == "i":
                return _holder(reading, j)
            found = reading.ref(j)
            if found is not None and found.type == "Person":
                return found
        if j in reading.cover and reading.cover[j].known.type == "Person":
            return reading.ref(j, ("Person",))
    persons = [n for n in reading.named if n.span.end <= i and n.known.type == "Person"]
    if persons:
        return reading.ref(persons[-1].span.end - 1, ("Person",))
    earlier = [k for k in reading.earlier if k.type == "Person" and k is not reading.speaker]
    if earlier and earlier[-1].last >= reading.session.turn - 2:
        return Ref(earlier[-1], "", reading.basis(earlier[-1]))
    return None


def label(reading: Reading, position: int) -> Ref | None:
    """Whom the label of a line is: "Costel: graphs first"; None where the line has none."""
    line = max(reading.tree.text.rfind("\n", 0, position) + 1, position - _FAR)
    found = list(LABEL.finditer(reading.tree.text, line, position + 1))
    for m in reversed(found):
        token = reading.token_at(m.end("n") - 1)
        if token is not None and token in reading.cover and reading.cover[token].known.type == "Person":
            return reading.ref(token, ("Person",))
        known = reading.session.find(m["n"], "Person")
        if known is None and token is not None and m["n"][:1].isupper() and _is_name(m["n"]):
            made = Known(clean(m["n"]), "Person")
            start = reading.token_at(m.start("n"))
            return Ref(made, "", start=token if start is None else start, end=token + 1, fresh=True)
        if known is not None:
            return Ref(known, "", reading.basis(known))
        if m["n"].lower() in ("me", "mine", "i"):
            return Ref(reading.speaker, "")
    return None


def _is_name(text: str) -> bool:
    """Whether none of the words is a common one."""
    common = vocabulary()
    return all(p[:1].isupper() and p.replace("-", "").isalpha() and p.lower() not in common for p in text.split())


def _objects(reading: Reading, i: int) -> Iterator[str]:
    """The objects from token i on: up to the end of the clause, parted at commas and "and"."""
    tree = reading.tree
    n = min(len(tree), i + 40)
    start, listed = i, False
    while i < n:
        word = tree.lower[i]
        clause = i > start and word in CLAUSE and tree.lower[start] not in OPEN
        stop = word in STOPS or clause or tree.pos[i] == "SPACE" or i - start > _MAX
        if stop or word == "," or word in LINKS:
            if i > start:
                yield tree.span_text(start, i)
            if stop or not _goes_on(reading, i + 1, comma=word == ","):
                return
            i += 1
            if i < n and word == "," and tree.lower[i] in _OWN and tree.tag[i - 2] == "NNP":
                return  # "Pisica, our cat" is one
            if i < n and tree.lower[i] in LINKS:
                i += 1
            start, listed = i, True
            continue
        i += 1
    if i > start and not (listed and i - start > _MAX):
        yield tree.span_text(start, i)


def _goes_on(reading: Reading, i: int, *, comma: bool) -> bool:
    """Whether what follows a comma or an "and" is another object, and no new clause."""
    tree = reading.tree
    if i < len(tree) and tree.lower[i] in LINKS:
        i += 1
    j = i
    while j < len(tree) and tree.lower[j] not in STOPS and tree.lower[j] not in (",", "and") and tree.pos[j] != "SPACE":
        word = tree.lower[j]
        if word in SUBJECTS or word in VERBS or word in AUXILIARIES or tree.tag[j] in _FINITE:
            return False
        j += 1
    if comma and tree.pos[j - 1] not in ("NOUN", "PROPN"):
        return False
    return 0 < j - i <= (3 if comma else 6) and tree.pos[i] in _OBJECT_POS


def _related(reading: Reading, holder: Ref, verb: int) -> list[str]:
    """The object that its own clause hangs on: "add the pine soap Kofi likes, a card"."""
    tree = reading.tree
    noun = holder.start - 1
    if noun > 0 and tree.lower[noun] in ("that", "which"):
        noun -= 1
    start = noun
    while start > 0 and noun - start < 4 and tree.pos[start] in ("NOUN", "PROPN", "ADJ"):
        start -= 1
    if start == noun or tree.pos[noun] != "NOUN" or tree.tag[start] != "DT":
        return []
    after = tree.lower[verb + 1] if verb + 1 < len(tree) else "."
    if not (after in STOPS or after == "," or after in LINKS or tree.tag[verb + 1] in _FINITE):
        return []
    return [tree.span_text(start, noun + 1)]


def _fronted(reading: Reading, subject: int) -> list[str]:
    """The object before its subject: "Clay she adores", "Football I can't stand"."""
    tree = reading.tree
    i = subject
    while i > 0 and tree.lower[i - 1] not in STOPS and tree.lower[i - 1] != "," and tree.lower[i - 1] not in LINKS:
        i -= 1
        if tree.pos[i] == "SPACE" or tree.tag[i] in _FINITE or subject - i > 6:
            return []
    return [tree.span_text(i, subject)] if i < subject and tree.pos[subject - 1] not in ("ADV", "SCONJ", "ADP") else []


def _lists(reading: Reading) -> Iterator[Taste]:
    """As in "loves: figs, jazz; hates: coriander"."""
    for m in LISTED.finditer(reading.tree.text):
        token = reading.token_at(m.start())
        if token is None or doubtful(reading, token):
            continue
        holder = label(reading, m.start()) or _before(reading, token)
        if holder is None or holder.known is None:
            continue
        word = m["v"].lower()
        polarity = LIKE if word.startswith("fav") else VERBS.get(word, DISLIKE)
        negated = token > 0 and reading.tree.lower[token - 1] in ("not", "n't", "nt")
        for item in re.split(r"\s*(?:,|\band\b|&)\s*", re.sub(r"\([^()]*\)?", "", m["l"])):
            text = trim(item)
            if text and len(text.split()) <= 5:
                yield holder, Polarity.DISLIKE if negated else polarity, text, None
