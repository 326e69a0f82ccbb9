"""Resolution is a function of the set of entities: no order changes it, and it never joins what it tells apart."""

from __future__ import annotations

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memstream.folds.sames import Known, Profile, Same, Status, resolve
from memstream.folds.sames.compare import compare
from memstream.schemas.extraction import EntityType

NAMES = {
    EntityType.PERSON: (
        "Anna", "Anna Kowalska", "Anna Weber", "A. Kowalska", "@akowalska", "Ania Kowalska", "Kowalska, Anna",
        "Robert Hale", "Bob Hale", "R. Hale", "Rob Hale Jr.", "Robert Hale Sr.", "Roberta Hale", "Mr. Hale", "Dr Hale",
        "Nguyen Thi Lan", "Thi Lan Nguyen", "Lan", "Анна Ковальская", "Ana's sister", "Jean-Luc", "Jean Luc Bernard",
    ),
    EntityType.ORGANIZATION: (
        "ESA", "European Space Agency", "Eastern Surveyors Association", "Siemens", "Siemens AG", "Siemens Energy",
        "University of Oslo", "Oslo University", "Univ. of Oslo", "Payments team", "Payments", "hexagrid.io",
        "Hexagrid",
    ),
    EntityType.OBJECT: (
        "db-1", "db-2", "db 1", "payment-service", "PaymentService", "payments", "Hexagrid", "Python 3.11", "Python",
        "v2.3", "2.3", "9fceb02", "9fceb02d0a", "INC-42", "INC-0042", "Kafka", "Apache Kafka",
    ),
}  # fmt: skip
FACTS = (
    Known("works_at", "norwell", "Norwell", single=True),
    Known("works_at", "quarry", "Quarry", single=True),
    Known("part_of", "orca", "Orca"),
    Known("born_on", "1980", "1980", single=True),
    Known("parent_of", "n3", "somebody"),
)


@st.composite
def scopes(draw: st.DrawFn) -> list[Profile]:
    """Some entities with like names, some of which have other names and facts."""
    kinds = draw(st.lists(st.sampled_from(sorted(NAMES)), min_size=2, max_size=14))
    made = []
    for i, kind in enumerate(kinds):
        name = draw(st.sampled_from(NAMES[kind]))
        aliases = draw(st.lists(st.sampled_from(NAMES[kind]), max_size=1))
        facts = draw(st.frozensets(st.sampled_from(FACTS), max_size=2))
        made.append(Profile(f"n{i}", kind, name, tuple(aliases), facts))
    return made


@st.composite
def judged(draw: st.DrawFn) -> tuple[list[Profile], dict[tuple[str, str], bool]]:
    """A scope, and what was said of some pairs of it."""
    scope = draw(scopes())
    ids = sorted(one.id for one in scope)
    pairs = st.tuples(st.sampled_from(ids), st.sampled_from(ids)).filter(lambda pair: pair[0] < pair[1])
    return scope, draw(st.dictionaries(pairs, st.booleans(), max_size=3))


@settings(max_examples=examples(150), deadline=None)
@given(judged(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_makes_no_difference(
    case: tuple[list[Profile], dict[tuple[str, str], bool]], shuffle: object
) -> None:
    """The same entities in any order, with what was said of them in any order, give the same pairs."""
    scope, said = case
    found = resolve(scope, said)
    turned = list(scope)
    shuffle.shuffle(turned)  # type: ignore[attr-defined]
    assert resolve(turned, dict(reversed(said.items()))) == found


@settings(max_examples=examples(150), deadline=None)
@given(scopes())
def test_no_chain_joins_two_that_are_told_apart(scope: list[Profile]) -> None:
    """However long: of the entities that accepted pairs join, no two are known to be different."""
    by_id = {one.id: one for one in scope}
    for group in groups_of(resolve(scope)):
        for one in group:
            assert not any(compare(by_id[one], by_id[other]).apart for other in group if other != one)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(NAMES)), st.text(max_size=60), st.text(max_size=60))
def test_any_two_names_are_compared_alike_both_ways(kind: EntityType, a: str, b: str) -> None:
    """Whatever characters they have."""
    one, other = Profile("a", kind, a), Profile("b", kind, b)
    swapped = resolve([Profile("a", kind, b), Profile("b", kind, a)])
    assert resolve([one, other]) == swapped


def groups_of(found: tuple[Same, ...]) -> list[set[str]]:
    """What the accepted pairs join."""
    groups: list[set[str]] = []
    for pair in ({one.a, one.b} for one in found if one.status is Status.ACCEPTED):
        met = [group for group in groups if group & pair]
        groups = [group for group in groups if not group & pair]
        groups.append(pair.union(*met))
    return groups
