"""Assertions as sentences that a person can read: "Mara lives in Leipzig", "Tom does not know Ana"."""

from __future__ import annotations

from memstream.schemas.extraction import Polarity

# predicate: (as it is said, as it is denied)
PHRASES: dict[str, tuple[str, str]] = {
    "lives_in": ("lives in", "does not live in"),
    "works_at": ("works at", "does not work at"),
    "has_role": ("has the role", "does not have the role"),
    "member_of": ("is a member of", "is not a member of"),
    "managed_by": ("is managed by", "is not managed by"),
    "owned_by": ("is owned by", "is not owned by"),
    "owns": ("owns", "does not own"),
    "created": ("created", "did not create"),
    "founded": ("founded", "did not found"),
    "acquired": ("acquired", "did not acquire"),
    "works_on": ("works on", "does not work on"),
    "knows": ("knows", "does not know"),
    "friend_of": ("is a friend of", "is not a friend of"),
    "partner_of": ("is the partner of", "is not the partner of"),
    "sibling_of": ("is a sibling of", "is not a sibling of"),
    "parent_of": ("is a parent of", "is not a parent of"),
    "child_of": ("is a child of", "is not a child of"),
    "has_pet": ("has the pet", "does not have the pet"),
    "has_status": ("has the status", "does not have the status"),
    "has_version": ("has version", "does not have version"),
    "runs_on": ("runs on", "does not run on"),
    "deployed_to": ("is deployed to", "is not deployed to"),
    "depends_on": ("depends on", "does not depend on"),
    "uses": ("uses", "does not use"),
    "part_of": ("is part of", "is not part of"),
    "blocked_by": ("is blocked by", "is not blocked by"),
    "replaced_by": ("was replaced by", "was not replaced by"),
    "caused_by": ("was caused by", "was not caused by"),
    "fixed_by": ("was fixed by", "was not fixed by"),
    "has_deadline": ("is due on", "is not due on"),
    "scheduled_for": ("is scheduled for", "is not scheduled for"),
    "located_in": ("is located in", "is not located in"),
    "attended": ("attended", "did not attend"),
    "visited": ("visited", "did not visit"),
    "bought": ("bought", "did not buy"),
    "has_name": ("is named", "is not named"),
    "has_age": ("is of age", "is not of age"),
    "born_on": ("was born on", "was not born on"),
    "born_in": ("was born in", "was not born in"),
    "has_email": ("has the e-mail address", "does not have the e-mail address"),
    "has_phone": ("has the phone number", "does not have the phone number"),
    "has_timezone": ("has the time zone", "does not have the time zone"),
    "has_budget": ("has a budget of", "does not have a budget of"),
    "costs": ("costs", "does not cost"),
    "speaks": ("speaks", "does not speak"),
    "studied_at": ("studied at", "did not study at"),
    "allergic_to": ("is allergic to", "is not allergic to"),
}

_TASTES: dict[Polarity, str] = {
    Polarity.LIKE: "{holder} likes {what}",
    Polarity.DISLIKE: "{holder} dislikes {what}",
    Polarity.PREFER: "{holder} prefers {what}",
    Polarity.ALWAYS: "{holder}: always {what}",
    Polarity.NEVER: "{holder}: never {what}",
}
_AUXILIARIES = {"is": "is not", "was": "was not", "has": "does not have", "can": "can not", "will": "will not"}
_HISSING = ("s", "x", "z", "ch", "sh", "o")


def fact_text(subject: str, predicate: str, value: str, *, negated: bool) -> str:
    """The sentence of a triple."""
    said, denied = PHRASES.get(predicate) or _open_phrase(predicate)
    return f"{subject} {denied if negated else said} {value}"


def preference_text(holder: str, polarity: Polarity, what: str, over: str | None, context: str | None) -> str:
    """The sentence of a preference."""
    text = _TASTES[polarity].format(holder=holder, what=what)
    if over:
        text += f" over {over}"
    return f"{text} ({context})" if context else text


def _open_phrase(predicate: str) -> tuple[str, str]:
    """A predicate outside the catalogue: a verb's lemma (`play`, `report_to`), a kinship (`aunt_of`) or a phrase."""
    first, *rest = predicate.split("_")
    tail = " ".join(["", *rest])
    if rest == ["of"]:
        return f"is {first} of", f"is not {first} of"
    if first in _AUXILIARIES:
        return first + tail, _AUXILIARIES[first] + tail
    if first.endswith(("s", "ed")):  # inflected by its publisher
        return first + tail, f"not: {first}{tail}"
    return _third_person(first) + tail, f"does not {first}{tail}"


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(_HISSING) else "s")
