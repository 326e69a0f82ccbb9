"""Which entities of a scope are one: a pure function of the set of them, whatever order they came in.

Pairs that share a key are compared. A pair that is sure joins two groups only where no two members of these are known
to be different; surer pairs go first, and where the surest is not told apart from its rivals, none of them is sure.
What people have said of pairs stands above all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memstream.folds.sames.blocking import candidates
from memstream.folds.sames.compare import Judgement, compare
from memstream.folds.sames.profile import LIKELY, SURE, Profile, Same, Status

Pair = tuple[str, str]

_CLEARLY = 0.03  # by how much a pair is surer than another that excludes it


def resolve(profiles: Iterable[Profile], said: Mapping[Pair, bool] | None = None) -> tuple[Same, ...]:
    """All pairs that are one or may be, in order. `said` tells of pairs, the lesser id first, whether they are one.

    A pair of which that was said is not among them.
    """
    return _Scope({one.id: one for one in profiles}, said or {}).sames()


class _Scope:
    """The entities of a scope, and what was found of pairs of them so far."""

    def __init__(self, profiles: dict[str, Profile], said: Mapping[Pair, bool]) -> None:
        self._profiles = profiles
        self._said = {pair: same for pair, same in said.items() if profiles.keys() >= set(pair)}
        self._judged: dict[Pair, Judgement] = {}
        self._group: dict[str, frozenset[str]] = {id_: frozenset((id_,)) for id_ in profiles}

    def sames(self) -> tuple[Same, ...]:
        found = {
            pair: judged
            for pair in candidates(self._profiles.values())
            if pair not in self._said and (judged := self._judge(pair)).score >= LIKELY
        }
        for a, b in sorted(pair for pair, same in self._said.items() if same):
            self._join(a, b)
        sure = {pair: judged for pair, judged in found.items() if judged.score >= SURE}
        doubtful = self._rivals(sure)
        refused: set[Pair] = set()
        for pair in sorted(sure.keys() - doubtful, key=lambda pair: (-sure[pair].score, pair)):
            if self._may_join(*pair):
                self._join(*pair)
            else:
                refused.add(pair)
        return tuple(
            self._same(pair, judged, doubtful=pair in doubtful, refused=pair in refused)
            for pair, judged in sorted(found.items())
        )

    def _same(self, pair: Pair, judged: Judgement, *, doubtful: bool, refused: bool) -> Same:
        why = judged.reason
        if doubtful:
            why += "; but it may as well be another, who is not the same"
        elif refused:
            why += "; but it would join others that are known to be two"
        accepted = judged.score >= SURE and not doubtful and not refused
        return Same(*pair, Status.ACCEPTED if accepted else Status.PROPOSED, judged.score, why)

    def _judge(self, pair: Pair) -> Judgement:
        if pair not in self._judged:
            self._judged[pair] = compare(self._profiles[pair[0]], self._profiles[pair[1]])
        return self._judged[pair]

    def _apart(self, a: str, b: str) -> bool:
        pair = (a, b) if a < b else (b, a)
        said = self._said.get(pair)
        return not said if said is not None else self._judge(pair).apart

    def _rivals(self, sure: Mapping[Pair, Judgement]) -> set[Pair]:
        """Pairs of an entity with two that are not the same, of which neither is clearly surer."""
        partners: dict[str, list[str]] = {}
        for a, b in sure:
            partners.setdefault(a, []).append(b)
            partners.setdefault(b, []).append(a)
        doubtful: set[Pair] = set()
        for one, others in partners.items():
            scored = [(sure[min(one, other), max(one, other)].score, other) for other in others]
            for score, other in scored:
                if any(
                    rival != other and self._apart(other, rival) and score < found + _CLEARLY for found, rival in scored
                ):
                    doubtful.add((min(one, other), max(one, other)))
        return doubtful

    def _may_join(self, a: str, b: str) -> bool:
        if self._group[a] is self._group[b]:
            return True
        return not any(self._apart(one, other) for one in self._group[a] for other in self._group[b])

    def _join(self, a: str, b: str) -> None:
        if self._group[a] is not self._group[b]:
            both = self._group[a] | self._group[b]
            for one in both:
                self._group[one] = both
