"""Several extractors as one: what they say together, what stays of the first alone, and their states."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memstream.extractors.merge.merging import Voice, unite
from memstream.extractors.merge.united import United
from memstream.extractors.plugins.ledger import Day, Ledger, Limits, OverSpending
from memstream.extractors.vectors.embedders import NoEmbedder
from memstream.schemas.cloudevents import encode
from memstream.schemas.conversation import Message, Role
from memstream.schemas.errors import SettingsError
from memstream.schemas.events import Event
from memstream.schemas.extraction import (
    EntityName,
    EntityType,
    ExtractedAssertion,
    ExtractedPreference,
    Extraction,
    Mention,
    Missing,
    Polarity,
    SameAs,
    SessionExtraction,
    SessionTurns,
    Turn,
)
from memstream.schemas.patch import Patch
from memstream.streams.chunk import ChunkConfig, ChunkWorker
from memstream.streams.records import Record, SessionWork

NOW = datetime(2026, 3, 6, 9, 0, tzinfo=UTC)
TOM, TOM_HALE = EntityName(EntityType.PERSON, "Tom"), EntityName(EntityType.PERSON, "Tom Hale")
PORTO, BERLIN = EntityName(EntityType.LOCATION, "Porto"), EntityName(EntityType.LOCATION, "Berlin")
ACME = EntityName(EntityType.ORGANIZATION, "Acme")


def mention(entity: EntityName, start: int, text: str | None = None, used: tuple[str, ...] = ()) -> Mention:
    """A place at which an entity is named."""
    text = text or entity.name
    return Mention(entity, text, start, start + len(text), used)


def lives(who: EntityName, where: EntityName, **more: object) -> ExtractedAssertion:
    """That somebody lives somewhere."""
    return ExtractedAssertion(who, "lives_in", where, **more)  # type: ignore[arg-type]


def together(*said: Extraction) -> Extraction:
    """What extractors say together, the strongest last."""
    return unite([Voice(f"x{rank}", rank, one) for rank, one in enumerate(said)])


def test_one_alone_stands_as_it_is() -> None:
    """So what is made in an outage is what the first extractor makes alone, but for the mark."""
    alone = Extraction((mention(TOM, 4), mention(TOM, 0)), (lives(TOM, PORTO), lives(TOM, BERLIN)))
    away = Extraction(missing=(Missing("model", 5, "timeout"),), outcomes=(("model", "timeout"),))
    united = together(alone, away)
    assert (united.mentions, united.assertions) == (alone.mentions, alone.assertions)
    assert united.missing == away.missing


def test_the_longest_of_overlapping_spans_stands_and_names_what_is_said() -> None:
    """Of one type and with one name inside the other they are one, whoever knows the longer."""
    short = Extraction((mention(TOM, 0),), (lives(TOM, PORTO),))
    long = Extraction((mention(TOM_HALE, 0),))
    for united in (together(short, long), together(long, short)):
        assert [one.entity for one in united.mentions] == [TOM_HALE]
        assert united.assertions == (lives(TOM_HALE, PORTO),)
        assert united.same_as == (SameAs(TOM, TOM_HALE),)


def test_where_types_disagree_the_stronger_decides_and_both_are_linked() -> None:
    """So what later messages say of the one is found with the other."""
    firm = EntityName(EntityType.ORGANIZATION, "Porto")
    united = together(Extraction((mention(firm, 9),), (lives(TOM, firm),)), Extraction((mention(PORTO, 9),)))
    assert [one.entity for one in united.mentions] == [PORTO]
    assert united.assertions == (lives(TOM, PORTO),)
    assert united.same_as == (SameAs(firm, PORTO),)


def test_two_names_for_one_span_are_never_joined() -> None:
    """Whom "Sarah" is: the stronger's word counts, what the weaker says of another Sarah is left out."""
    miller, connor = EntityName(EntityType.PERSON, "Sarah Miller"), EntityName(EntityType.PERSON, "Sarah Connor")
    weak = Extraction((mention(miller, 0, "Sarah", ("e1",)),), (lives(miller, PORTO),))
    strong = Extraction((mention(connor, 0, "Sarah", ("e2",)),), (lives(connor, BERLIN),))
    united = together(weak, strong)
    assert (united.mentions, united.assertions, united.same_as) == (strong.mentions, strong.assertions, ())
    kept = together(Extraction((mention(EntityName(EntityType.EVENT, "Sarah's party"), 0),)), strong)
    assert kept.assertions == strong.assertions  # a weaker one's longer span takes nothing away


def test_the_same_fact_is_one() -> None:
    """With the greater confidence, the finer date, and the least help of others; either way round."""
    weak = lives(TOM, PORTO, valid_from="2026-03-06", confidence=0.9, rule="verb")
    strong = lives(
        EntityName(EntityType.PERSON, "tom"), PORTO, valid_from="2026", used=("e1",), confidence=0.7, rule="m"
    )
    [one] = together(Extraction(assertions=(weak,)), Extraction(assertions=(strong,))).assertions
    assert (one.valid_from, one.confidence, one.used, one.rule) == ("2026-03-06", 0.9, (), "m+verb")
    owns = ExtractedAssertion(TOM, "owns", EntityName(EntityType.OBJECT, "boat"))
    owned = ExtractedAssertion(EntityName(EntityType.OBJECT, "boat"), "owned_by", TOM)
    assert together(Extraction(assertions=(owns,)), Extraction(assertions=(owned,))).assertions == (owned,)


def test_of_values_that_exclude_each_other_the_stronger_s_stand() -> None:
    """Also of what is said and denied; what may stand side by side does, and what only the weaker tells."""
    weak = Extraction(assertions=(lives(TOM, BERLIN), ExtractedAssertion(TOM, "visited", BERLIN)))
    strong = Extraction(assertions=(lives(TOM, PORTO), ExtractedAssertion(TOM, "visited", PORTO)))
    told = [(one.predicate, one.object) for one in together(weak, strong).assertions]
    assert told == [("lives_in", PORTO), ("visited", PORTO), ("visited", BERLIN)]
    denied = Extraction(assertions=(lives(TOM, BERLIN, negated=True),))
    assert together(weak, denied).assertions[0].negated
    assert len(together(weak, denied).assertions) == 2
    alone = Extraction(assertions=(ExtractedAssertion(TOM, "works_at", ACME),))
    assert len(together(weak, alone).assertions) == 3


def test_preferences_that_contradict_are_the_stronger_s() -> None:
    """The same is one, another object is another preference."""
    tea = ExtractedPreference(TOM, Polarity.LIKE, "tea", confidence=0.6)
    surer = ExtractedPreference(TOM, Polarity.LIKE, "Tea", confidence=0.9)
    no_tea = ExtractedPreference(TOM, Polarity.DISLIKE, "tea")
    milk = ExtractedPreference(TOM, Polarity.LIKE, "milk")
    said = together(Extraction(preferences=(tea, milk)), Extraction(preferences=(surer,))).preferences
    assert [(one.object, one.confidence) for one in said] == [("Tea", 0.9), ("milk", 1.0)]
    assert together(Extraction(preferences=(tea,)), Extraction(preferences=(no_tea,))).preferences == (no_tea,)


@dataclass
class Counter:
    """Counts turns in its state; says where Tom lives, unless it is away."""

    name: str
    generation: int
    where: EntityName = PORTO
    away: bool = False
    seen: list[bytes] = field(default_factory=list)

    def extract(self, sessions: list[SessionTurns]) -> list[SessionExtraction]:
        """The same of each turn."""
        self.seen += [session.state for session in sessions]
        return [
            SessionExtraction(b"%s:%d" % (session.state, len(session.turns)), [self._one() for _ in session.turns])
            for session in sessions
        ]

    def _one(self) -> Extraction:
        if self.away:
            return Extraction(missing=(Missing(self.name, self.generation, "timeout"),))
        return Extraction(assertions=(lives(TOM, self.where),))


def test_each_has_a_state_of_its_own_and_the_first_goes_on_from_when_it_read_alone() -> None:
    """Switching a second one on forgets nothing; bytes that are no text are kept as they are."""
    first, second = Counter("a", 2), Counter("b", 1_000)
    united = United([first, second])
    assert (united.name, united.generation) == ("a+b", 1_002)
    turns = [Turn("e1", "user", "Tom", "hello", NOW)]
    [one] = united.extract([SessionTurns(b"\xff", turns)])
    [two] = united.extract([SessionTurns(one.state, turns)])
    assert (first.seen, second.seen) == ([b"\xff", b"\xff:1"], [b"", b":1"])
    assert b'":1:1"' in two.state  # what is text can be searched, as seals need it
    changed = Counter("a~1f", 3)
    United([changed, second], ["a", "b"]).extract([SessionTurns(two.state, turns)])
    assert changed.seen == [b"\xff:1:1"]  # it calls itself by its version, and is the same in the setting


def patch_of(worker: ChunkWorker) -> Patch:
    """The patch of one message."""
    data = Message(session_id="s", role=Role.USER, content="hello", metadata={})
    event = Event.of(data, id="e", source="tests", time=NOW, scope="acme")
    key, value, headers = encode(event)
    record = Record("conversation", 0, 0, int(NOW.timestamp() * 1000), key, value, tuple(headers))
    [result] = worker.process([SessionWork(key, b"", [record])])
    patch = Patch.decode(result.outputs[0].patch)
    assert patch.missing == result.outputs[0].missing
    return patch


def test_a_patch_without_one_is_marked_and_ranks_below(tmp_path: Path) -> None:
    """It is what the others make, of a generation that lacks the one; with all of them it is the higher."""

    def made(*parts: Counter) -> Patch:
        return patch_of(
            ChunkWorker(ChunkConfig(tmp_path.as_uri()), extractor=United(list(parts)), embedder=NoEmbedder())
        )

    whole = made(Counter("a", 2), Counter("b", 1_000, BERLIN))
    lacking = made(Counter("a", 2), Counter("b", 1_000, BERLIN, away=True))
    assert (whole.generation, whole.missing) == (1_002, ())
    assert (lacking.generation, lacking.missing) == (2, ("b",))
    assert [row.object_name for row in whole.assertions] == ["Berlin"]
    assert [row.object_name for row in lacking.assertions] == ["Porto"]
    assert made(Counter("b", 1_000, away=True)).generation == 1  # alone it leaves the least that is no refusal


def test_a_ledger_counts_over_processes_and_forgets_at_midnight(tmp_path: Path) -> None:
    """Two of them on one file share buckets and money; a clock that goes back gives nothing away."""
    now = 1_772_800_000.0
    clock = [now]
    limits = Limits(requests_a_minute=2, tokens_a_minute=1_000, spend_a_day=1.0)
    one, two = (Ledger(tmp_path / "l.sqlite", limits, lambda: clock[0]) for _ in range(2))
    assert one.take(400, 0.3) == 0.0
    assert two.take(400, 0.3) == 0.0
    assert one.take(100, 0.3) == pytest.approx(30)  # the third request
    clock[0] += 31
    assert two.take(900, 0.3) == pytest.approx((900 - 1_000 * (200 / 1_000 + 31 / 60)) * 60 / 1_000)
    clock[0] -= 3_600
    assert one.take(100, 0.3) > 0
    clock[0] += 7_200
    with pytest.raises(OverSpending):
        one.take(100, 0.5)
    two.settle(-100, -0.25)  # it was less than reserved
    assert one.take(5_000, 0.5) == 0.0  # more than a minute holds: once the bucket is full
    assert one.today() == Day(0.85, 3, 5_700)
    clock[0] += 86_400
    assert one.today() == Day()
    one.close()
    two.close()


def test_a_ledger_loses_no_penny_between_processes(tmp_path: Path) -> None:
    """Six that open it and take at once: what was spent is the sum."""

    def spend(_: int) -> None:
        ledger = Ledger(tmp_path / "l.sqlite", Limits(spend_a_day=1_000.0))
        for _ in range(20):
            assert ledger.take(10, 0.5) == 0.0
            ledger.settle(-5, -0.25)
        ledger.close()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(spend, range(6)))
    ledger = Ledger(tmp_path / "l.sqlite", Limits())
    assert ledger.today() == Day(30.0, 120, 600)
    ledger.close()


def test_a_ledger_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    """A folder that is none."""
    limits = Limits(spend_a_day=1.0)
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="can't be used"):
        Ledger(tmp_path / "file" / "l.sqlite", limits)
