"""A reading that keeps a trace: it says the same as one that does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memstream.extractors.context.reading import PRIVATE, Reading
from memstream.extractors.context.references import Ref
from memstream.extractors.context.trace import Attempt
from memstream.extractors.parse.frames import Frame
from memstream.extractors.text.textprep import UNKNOWN


@dataclass(slots=True)
class TracedReading(Reading):
    """See the module. Its `trace` is always there."""

    def say(self, subject: Ref, predicate: str, obj: Ref | str, frame: Frame | None = None, **how: Any) -> bool:
        """As Reading.say, with an Attempt in the trace."""
        trace = self.trace
        if trace is None:
            return Reading.say(self, subject, predicate, obj, frame, **how)
        pattern, trace.trying = trace.trying, ""
        before = (len(self.proposals), len(self.guesses), list(self.assertions))
        said = Reading.say(self, subject, predicate, obj, frame, **how)
        target = Ref(None, obj) if isinstance(obj, str) else obj
        if not said:
            outcome = "refused"
            proposed = len(self.proposals) > before[0]
            why = self.proposals[-1].unsure if proposed else self._unfit(subject, predicate, target)
        elif len(self.guesses) > before[1]:
            outcome, why = "kept", "unconfirmed"
        else:
            outcome, why = ("said", "") if self.assertions != before[2] else ("refused", "again")
        trace.attempts.append(
            Attempt(_name(subject), predicate, _name(target), how.get("rule", ""), pattern, outcome, why)
        )
        trace.trying = pattern
        return said

    @staticmethod
    def _unfit(subject: Ref, predicate: str, target: Ref) -> str:
        """Why a triple is none at all: see the first lines of Reading.say."""
        if subject.known is None:
            return "no subject"
        if target.known is None and not target.value:
            return "no object"
        if subject.known is target.known:
            return "one"
        if UNKNOWN in subject.known.name or UNKNOWN in _name(target):
            return "broken"
        return "we" if (subject.we or target.we) and predicate not in PRIVATE else ""


def _name(ref: Ref) -> str:
    return ref.known.name if ref.known else ref.value
