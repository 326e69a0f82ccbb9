"""The words of tastes: verbs and idioms with what they say, where an object ends, and how one is written."""

from __future__ import annotations

import re

from memstream.extractors.text.lexicon import words
from memstream.schemas.extraction import Polarity

LIKE, DISLIKE, PREFER = Polarity.LIKE, Polarity.DISLIKE, Polarity.PREFER
VERBS = {
    **dict.fromkeys(words("love loves adore adores luv luvs enjoy enjoys like likes relishes"), LIKE),
    **dict.fromkeys(words("hate hates loathe loathes detest detests dislike dislikes despise despises"), DISLIKE),
    **dict.fromkeys(words("prefer prefers favour favours favor favors"), PREFER),
}
BARE = words("like love enjoy prefer take have choose pick do")  # without a subject: an order or a noun
ADVERBS = words(
    """
    just still really also absolutely simply truly always both all positively already secretly actually now rather
    quite especially particularly genuinely fucking bloody generally normally usually much even so only
    """
)
AUXILIARIES = words(
    "do does ca can wo will could would 'd 'll 's is am 'm are 're been has have 've 's gone went go going"
)
STOPS = words(
    """
    . ; : ! ? ( ) [ ] — – - / | -> → • … .. ... but because so bc cos coz since when whenever if unless although though
    which while where until till as whereas hence says said then except otherwise not
    """
)
LINKS = words("and & n + or nor")
SUBJECTS = words("i he she they we you it who that there this im id ill he's she's it's i'm i'd")
CLAUSE = words("i he she they we you it its it's he's she's that's thats he'll")
OPEN = words("anything everything what whatever people those anyone things being")
NO_OBJECT = words(
    """
    it them him her me you us this that these those one ones what how to when if by anything everything nothing him
    himself herself myself each being way hers his mine theirs yours ours more better least so well again
    """
)
LIMIT = re.compile(r"\s+(?:because|if|when|unless|on|in|at|for|since)\s+", re.I)
VAGUE = re.compile(
    r"(?:w a |with a |oh|wait|god|altogether|soz|sorry|thanks"
    r"|it|them|him|her|me|you|most of|that|for|all|none|neither|both|to|about|in|at|on|way|like)\b",
    re.I,
)
DOUBTFUL = re.compile(
    r"\b(?:if|whether|maybe|perhaps|apparently|probably|might|think|thinks|thought|heard|reckons?|wish|suppose|pretend|"
    r"imagine|could|claims?|guess|bet|hopes?|rumou?r|suspect|seems?|assume|hopefully|supposedly|allegedly|"
    r"(?<!, )who|may|what|used|"
    r"(?:['’]ll|will) (?:tell|say)|doubt|whoever|anyone|everyone|everybody|nobody|people|why|how|told you)\b",
    re.I,
)
LISTED = re.compile(
    r"\b(?P<v>loves?|likes?|hates?|dislikes?|adores?|loathes?|prefers?|favou?rites?|can'?t stand)\s*:\s*"
    r"(?P<l>[^.;!?\n]{2,160})",
    re.I,
)
THAN = re.compile(r"\s+(?:over|rather than|instead of|than|to)\s+", re.I)
LABEL = re.compile(
    r"(?:^|(?<=[.;!?\n]))[\s•*\d.)-]{0,8}(?P<n>(?:[^\W\d_][\w'’.-]{0,30})(?:\s[^\W\d_][\w'’.-]{0,30}){0,3})\s?"
    r"(?:\([^()\n]{0,40}\))?\s?:(?=\s)"
)
SINGLE = re.compile(rf"\b(?:{'|'.join(sorted(VERBS))})\b(?!\s?:)", re.I)
_DO_NOT = r"(?:don['’]?t|do not|doesn['’]?t|does not|never)"
_AM = r"(?:['’]s|['’]m|is|am|im|are)"
_GONE = (
    r"(?:(?:['’]s|['’]ve|is|has|have)\s+(?:quite |rather |completely |right |really )?gone"
    r"|(?<=[.,;:(] )gone|(?<=\bi )went|(?<=\bhe )went|(?<=\bshe )went)"
)
IDIOMS: tuple[tuple[re.Pattern[str], Polarity], ...] = tuple(
    (re.compile(pattern, re.I), polarity)
    for pattern, polarity in (
        (r"(?:can ?not|can['’]?t|couldn['’]?t)\s+(?:stand|abide|bear|stomach|tolerate)\b", DISLIKE),
        (rf"(?:won['’]?t|will not|refuses to|{_DO_NOT})\s+(?:eat|touch|drink|wear)s?\b", DISLIKE),
        (rf"{_DO_NOT}\s+(?:really |even |actually |much )?(?:like|love|enjoy|fancy)\b", DISLIKE),
        (rf"{_GONE}\s+(?:right |quite |completely |clean )?off\b", DISLIKE),
        (rf"{_AM}\s+(?:so |really |heartily )?(?:sick|tired|sick and tired|done|fed up)\s+(?:of|with)\b", DISLIKE),
        (rf"{_AM}\s+not\s+(?:a|much of a)\s+(?:big |huge |great )?fan of\b", DISLIKE),
        (
            rf"{_AM}\s+(?:a |an )?(?:very |really |so |totally |absolutely )?(?:(?:big |huge |great )?fan of|fond of"
            r"|mad about|mad for|crazy about|mad abt|obsessed with|partial to|nuts about|keen on|into)\b",
            LIKE,
        ),
        (r"(?<=[,;] )(?:mad|crazy|nuts|obsessed)\s+(?:about|abt|with)\b", LIKE),
        (r"swear\s+by\b", LIKE),
        (r"never wants\b", DISLIKE),
        (r"(?:has|have|['’]ve)\s+a (?:horror|hatred|loathing) of\b", DISLIKE),
        (r"(?:please |pls )?stop (?:suggesting|recommending|sending)(?: me| us)?\b", DISLIKE),
        (
            r"(?<=i)(?:['’]?m| am)\s+(?:so |totally |completely )?over\b(?=\s+(?!\d|the moon|here|there|it\b))",
            DISLIKE,
        ),
        (r"lives?\s+for\b", LIKE),
        (r"(?:has|have|['’]ve)\s+a (?:soft spot|weakness) for\b", LIKE),
        (r"insists?\s+on\b(?!\s+(?:an?|being|doing)\b)", PREFER),
        (r"(?:['’]d|would|(?<=\bi)d)\s+(?:much |always |far )?(?:rather|sooner)\b", PREFER),
        (
            r"(?:['’]d\s|would\s|['’]ll\s|will\s)?(?:always )?(?:takes?|picks?|chooses?|have)\b"
            r"(?=[^.,;!?\n]{2,40} (?:over|rather than) )",
            PREFER,
        ),
    )
)
_TAIL = re.compile(
    r"\s(?:a lot|very much|so much|too|either|anyway|now|lol|tbh|to death|to bits|more than anything|most|best|"
    r"again|apparently|though|altogether|lately|these days|as well|always|the most|by the way|btw|pls|please|ever)$",
    re.I,
)
_DROP = words("a an the my our your his her their those these some any to that")
_ENDS = " .,;:!?\"'`()[]“”‘’"


def trim(text: str) -> str:
    """An object without articles before and fillers behind."""
    text = " ".join(text.split()).strip(_ENDS)
    while (short := _TAIL.sub("", text).strip(_ENDS)) != text:
        text = short
    parts = text.split()
    while parts and parts[0].lower() in _DROP:
        parts.pop(0)
    return " ".join(parts)


def gerund(verb: str) -> str:
    """The verb's noun: walk, walking; write, writing; run, running; be, being."""
    low = verb.lower()
    if low.endswith("ing") and len(low) > len("bring"):
        return verb
    if low.endswith("ie"):
        return verb[:-2] + "ying"
    if low.endswith("e") and not low.endswith(("ee", "oe", "ye")) and low != "be":
        return verb[:-1] + "ing"
    if re.fullmatch(r"[^aeiou]{1,3}[aeiou][bdgmnprt]", low):
        return verb + verb[-1] + "ing"
    return verb + "ing"
