"""Facts that nouns carry: relatives and pets, roles and offices, founders and owners, by possessive and apposition."""

from __future__ import annotations

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.session import Known
from memstream.extractors.parse.frames import Frame
from memstream.extractors.rules.conditions import is_team
from memstream.extractors.text.lexicon import lexicon, words
from memstream.extractors.text.values import number

_ORG_PREPS = frozenset({"at", "with", "for", "of", "in"})
_AGENT_NOUNS = {"founder": "founded", "co-founder": "founded", "cofounder": "founded", "author": "created",
                "creator": "created", "maintainer": "works_on", "owner": "owned_by", "member": "member_of"}  # fmt: skip
_TEAM_HEADS = words("head lead leader manager boss chair captain organiser organizer")


def match_nominals(reading: Reading) -> None:
    """Say what possessives and appositions of the message presuppose."""
    tree = reading.tree
    for i in range(len(tree)):
        if reading.quoted[i] or tree.pos[i] not in ("NOUN", "PROPN"):
            continue
        lemma = kin_word(reading, i)
        if lemma and not (lexicon().kin[lemma][0] == "managed_by" and _kin_owner(reading, i) is None):
            _kin(reading, i, lemma)
        elif role_head(reading, i):
            _apposed_role(reading, i)


def kin_word(reading: Reading, i: int) -> str:
    """The kinship word at token i, without its "ex-", or ""."""
    tree = reading.tree
    word = tree.lower[i].removeprefix("ex-")
    kin = lexicon().kin
    if word in kin:
        return word
    return tree.lemma[i] if tree.lemma[i] in kin else ""


def role_head(reading: Reading, i: int) -> bool:
    """Whether token i is the head of an occupation or office."""
    tree = reading.tree
    return (tree.lemma[i] in lexicon().roles or tree.lower[i] in lexicon().roles) and i not in reading.cover


def owner_of(reading: Reading, i: int) -> Ref | None:
    """Whose relative: "my X", "Ana's X", "X of Ana", "a friend of mine"."""
    tree = reading.tree
    for k in tree.kids[i]:
        if tree.dep[k] == "poss" or (tree.lower[k] in ("my", "mi") and tree.dep[k] in ("det", "compound", "nmod")):
            return reading.ref(k)
        if tree.dep[k] == "prep" and tree.lower[k] == "of":
            for o in tree.kids[k]:
                if tree.dep[o] == "pobj":
                    return reading.ref(o)
    return None


def _names_of(reading: Reading, i: int) -> list[int]:
    """The tokens that name the relative: "my wife Ana", "my sons Bo and Cy", "Ana, my wife", "a cat called Tom"."""
    tree = reading.tree
    out: list[int] = []
    for k in tree.kids[i]:
        if tree.dep[k] in ("appos", "nmod") and k > i:
            out += [c for c in tree.conjuncts(k) if c in reading.cover]
        elif tree.dep[k] in ("acl", "relcl") and tree.lemma[k] in ("call", "name", "christen", "nickname"):
            for o in tree.kids[k]:
                if tree.dep[o] in ("oprd", "dobj", "attr", "npadvmod") and o in reading.cover:
                    out.append(o)
    out = out or _called(reading, i)
    up = tree.head[i]
    if not out and up != i and up in reading.cover and tree.dep[i] in ("appos", "compound", "nmod", "amod"):
        out = [up]
    if (
        not out
        and i + 1 < len(tree)
        and i + 1 in reading.cover
        and tree.words[i + 1][:1].isupper()
        and tree.sent[i + 1] == tree.sent[i]
    ):
        out = [reading.cover[i + 1].span.end - 1]
    return out


def _called(reading: Reading, i: int) -> list[int]:
    """As in "my sister is called Ana" and "my sister's name is Ana"."""
    tree = reading.tree
    up = tree.head[i]
    if tree.dep[i] == "poss" and tree.lower[up] == "name" and tree.dep[up] == "nsubj":
        up, deps = tree.head[up], frozenset({"attr"})
    elif tree.dep[i] == "nsubjpass" and tree.lower[up] in ("called", "named"):
        deps = frozenset({"oprd", "dobj", "attr"})
    else:
        return []
    clause = reading.owner.get(up)
    if clause is None or clause.unsure or clause.negated:
        return []
    return [k for k in tree.kids[up] if tree.dep[k] in deps and k in reading.cover]


def _kin_owner(reading: Reading, i: int) -> Ref | None:
    """The owner, which hangs on the name where the kinship word is its compound: "Rosalba's husband Iker"."""
    found = owner_of(reading, i)
    if found is not None:
        return found
    tree = reading.tree
    up = tree.head[i]
    if tree.dep[i] in ("compound", "nmod", "amod") and up in reading.cover:
        return owner_of(reading, up)
    return None


def _kin(reading: Reading, i: int, word: str) -> None:
    tree = reading.tree
    relation, gender = lexicon().kin[word]
    owner = _kin_owner(reading, i)
    former = tree.lower[i].startswith("ex-") or any(
        tree.lower[k] in ("ex", "former", "late") for k in tree.kids[i] if tree.dep[k] in ("amod", "compound")
    )
    if owner is None and (relation == "has_pet" or _names_of(reading, i)):
        owner = _keeper(reading, i)
    if owner is None or owner.known is None or owner.type not in ("Person", ""):
        return
    names = _names_of(reading, i)
    of_form = any(tree.dep[k] == "prep" and tree.lower[k] == "of" for k in tree.kids[i])
    for t in names:
        relative = reading.ref(t, ("Object",) if relation == "has_pet" else ("Person",))
        if relative is None or relative.known is None or relative.known is owner.known:
            continue
        if (relation != "has_pet" and relative.type != "Person" and reading.cover[t].sure >= 0.6) or relative.type in (
            "Organization",
            "Event",
        ):
            continue
        relative.known.type = "Object" if relation == "has_pet" else "Person"
        relative.known.gender = relative.known.gender or gender
        say_kin(reading, owner, relation, relative, former=former, of_form=of_form and tree.dep[i] == "appos")
        _age_after(reading, t, relative)
    if not names:
        _unnamed(reading, i, owner, relation, gender, former)


def _unnamed(reading: Reading, i: int, owner: Ref, relation: str, gender: str, former: bool) -> None:  # noqa: PLR0917 (what is said, by place)
    """A relative without a name is "user's sister"; the relation is said once she takes part in a fact."""
    tree = reading.tree
    if tree.dep[i] == "attr" or former or owner.known is None or tree.tag[i] == "NNS":
        return
    ref = reading.ref(i, ("Object",) if relation == "has_pet" else ("Person",))
    if ref is None or ref.known is None:
        return
    ref.known.gender = ref.known.gender or gender
    if relation in ("friend_of", "has_pet"):
        return
    reading.pending.setdefault(ref.known.name, _oriented(owner, relation, ref))


def _keeper(reading: Reading, i: int) -> Ref | None:
    """Whose relative or pet it is that comes as an object: "she got a ferret called Biscotti"."""
    frame = reading.owner.get(i)
    if frame is None or frame.unsure or frame.negated or frame.passive or not frame.subj:
        return None
    lemma = frame.lemma
    if (i in frame.obj and lemma in ("have", "get", "keep", "adopt", "own", "buy", "be")) or any(
        i in objects for p, objects in frame.preps.items() if p == "with" and lemma in ("live", "sublet", "move")
    ):
        return reading.ref(frame.subj[0], ("Person",))
    return None


def _oriented(owner: Ref, relation: str, relative: Ref, *, of_form: bool = False) -> tuple[Ref, str, Ref]:
    if relation == "child_of":
        return (relative, "child_of", owner) if of_form else (owner, "parent_of", relative)
    if relation in ("knows", "friend_of", "managed_by", "has_pet"):
        return owner, relation, relative
    return relative, relation, owner


def say_kin(
    reading: Reading, owner: Ref, relation: str, relative: Ref, *, former: bool = False, of_form: bool = False,
    frame: Frame | None = None,
) -> None:  # fmt: skip
    """Say a kinship in the direction of the catalogue."""
    subject, predicate, obj = _oriented(owner, relation, relative, of_form=of_form)
    if relative.known is not None:
        reading.pending.pop(relative.known.name, None)
    reading.say(
        subject, predicate, obj, frame, negated=former, dated=frame is not None, presupposed=frame is None, rule="kin"
    )


def _age_after(reading: Reading, t: int, person: Ref) -> None:
    """As in "my daughter Signe, 7," and "my son (4)"."""
    tree = reading.tree
    end = reading.cover[t].span.end if t in reading.cover else t + 1
    if end + 1 >= len(tree) or tree.lower[end] not in (",", "("):
        return
    age = number(tree.words[end + 1])
    closes = end + 2 >= len(tree) or tree.lower[end + 2] in (",", ")", ".", ";", "and", "!", "-", "–", "—", "years")
    if age and closes and (tree.words[end + 1].isdigit() or age > 12) and age < 120 and tree.pos[end + 1] == "NUM":
        reading.say(person, "has_age", str(age), presupposed=True, rule="age after name", dated=False)


def role_text(reading: Reading, i: int) -> tuple[str, Ref | None]:  # noqa: PLR0912 (one decision after the other)
    """The shortest phrase of a role ("head of QA") and the organization that hangs on it ("at Vireo Robotics")."""
    tree = reading.tree
    start = i
    for k in sorted(tree.kids[i], reverse=True):
        if k < i and tree.dep[k] in ("compound", "amod", "nmod") and tree.lower[k] not in _WEAK and k == start - 1:
            start = min(tree.subtree(k)[0], k)
        elif k < i and tree.words[k] in ("-", "/") and k == start - 1:
            start = k
    end = i + 1
    org: Ref | None = None
    for k in tree.kids[i]:
        if tree.dep[k] == "poss":
            whose = reading.ref(k, ("Organization",))
            org = whose if whose is not None and whose.type == "Organization" else org
            start = max(start, k + 1)
        if tree.dep[k] != "prep" or k < i or tree.lower[k] not in _ORG_PREPS:
            continue
        for o in tree.kids[k]:
            if tree.dep[o] != "pobj":
                continue
            of = tree.lower[k] == "of"
            covered = reading.cover.get(o)
            if covered is not None and covered.known.type == "Organization":
                named = reading.ref(o, ("Organization",))
                if (
                    not of
                    or tree.lemma[i] not in ("head", "vp", "director", "chief", "lead")
                    or _company(covered.known)
                ):
                    org = named
                elif of:
                    end = covered.span.end
            elif o not in reading.cover and any(tree.lower[p] in ("at", "with") for p in tree.kids[o]):
                end = tree.noun_span(o)[1] if of else end
                for p in tree.kids[o]:
                    for q in tree.kids[p]:
                        if q in reading.cover and reading.cover[q].known.type == "Organization":
                            org = reading.ref(q)
            elif (
                of
                and o not in reading.cover
                and tree.lemma[i]
                in ("head", "vp", "director", "chief", "lead", "manager", "minister", "master", "secretary", "captain")
            ):
                end = tree.noun_span(o)[1]
            elif of and covered is not None and tree.lemma[i] in ("head", "vp", "director", "chief"):
                end = covered.span.end
    while start < i and (tree.lower[start] in _WEAK or tree.pos[start] in ("PUNCT", "DET", "PART")):
        start += 1
    text = tree.span_text(start, end)
    return " ".join(text.split()), org


_SOCIETIES = words(
    "club society association union choir band board committee council league guild rowers seals pta orchestra"
)
_WEAK = words("the a an our my your his her its their new old current former own same other only first late")


def _company(known: Known) -> bool:
    """More than one capitalised word, or a name that is no function like "QA" or "Finance"."""
    return len(known.name.split()) > 1 and not known.name.isupper()


def say_role(reading: Reading, person: Ref, i: int, frame: Frame | None = None, *, at: int = 0) -> None:
    """Say that `person` has the role at token i, and where."""
    tree = reading.tree
    lemma = tree.lemma[i]
    text, org = role_text(reading, i)
    presupposed = frame is None
    former = any(tree.lower[k] in ("former", "ex", "previous") for k in tree.kids[i])
    if former:
        return
    relation = _AGENT_NOUNS.get(lemma)
    if relation:
        if _agent_noun(reading, person, relation, i, frame):
            return
        if lemma in ("owner", "member", "author", "creator", "founder", "maintainer"):
            return
    reading.say(person, "has_role", text, frame, at=at or i, presupposed=presupposed, rule="role")
    if org is not None and org.known is not None:
        where = "works_at"
        if org.known.name.lower().split()[-1] in _SOCIETIES:
            where = "member_of"
        elif is_team(org.known.name):
            return
        reading.say(person, where, org, frame, at=at or i, presupposed=presupposed, rule="role at")


def _agent_noun(reading: Reading, person: Ref, relation: str, i: int, frame: Frame | None) -> bool:
    """As in "the founder of X", "X's author", "owner of the shop": a relation instead of a role."""
    tree = reading.tree
    said = False
    for k in tree.kids[i]:
        targets = [k] if tree.dep[k] == "poss" else []
        if tree.dep[k] == "prep" and tree.lower[k] == "of":
            targets = [c for o in tree.kids[k] if tree.dep[o] == "pobj" for c in tree.conjuncts(o)]
        for t in targets:
            expect = ("Organization",) if relation in ("founded", "member_of") else ("Object", "Organization")
            thing = reading.ref(t, expect)
            if thing is None or thing.known is None or thing.type == "Person":
                continue
            pair = (thing, person) if relation == "owned_by" else (person, thing)
            said |= reading.say(pair[0], relation, pair[1], frame, at=i, presupposed=frame is None, rule="agent noun")
    return said


def _apposed_role(reading: Reading, i: int) -> None:
    """As in "Malcolm Opoku, our VP of data", "our QA lead, Mrs Adeyinka", "tech lead Ana"."""
    tree = reading.tree
    up = tree.head[i]
    person: Ref | None = None
    if tree.dep[i] == "appos" and up in reading.cover and reading.cover[up].known.type == "Person" and up < i:
        person = reading.ref(up)
    else:
        for k in tree.kids[i]:
            if tree.dep[k] == "appos" and k in reading.cover and reading.cover[k].known.type == "Person" and k > i:
                person = reading.ref(k)
                break
        if (
            person is None
            and tree.dep[i] in ("compound", "nmod")
            and up in reading.cover
            and reading.cover[up].known.type == "Person"
            and up > i
        ) and reading.cover[up].span.start == i + 1:
            person = reading.ref(up)
    if person is not None and tree.tag[i] != "NNS":
        say_role(reading, person, i)
