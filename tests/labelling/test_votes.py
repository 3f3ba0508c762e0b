"""Laws of votes: the ledger equals a slow twin that looks at the whole log, and the order of votes does not matter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

import fewlabels as fl
from fewlabels.labelling.agreement import agreement, cohen_kappa, krippendorff_alpha
from fewlabels.labelling.ledger import Ledger
from fewlabels.labelling.votes import Vote, Votes, settled
from fewlabels.store import Event
from tests.support.pools import known_pools, law, pool_of

if TYPE_CHECKING:
    from fewlabels.store import Kind

START = datetime(2026, 1, 1, tzinfo=UTC)
KNOWN = pool_of([0, 0, 1, 1, 2], [0, 1, 1, 2, 2], [0.5, 0.6, 0.7, 0.8, 0.9], ["x", "y", "x", "y", "x"], 3)
GROUPS = fl.by_column(KNOWN.pool, "place")
PEOPLE = ("ann", "bob", "cyd", None)


# --- the rule


@pytest.mark.parametrize("overlap", [2, 3, 4])
def test_a_settled_label_is_one_that_no_further_vote_can_change(overlap: int) -> None:
    """By trying out all that the missing people, and those who skipped, could have said."""
    for size in range(overlap + 1):
        for votes in product([-1, 0, 1, 2], repeat=size):
            said = [vote for vote in votes if vote >= 0]
            missing = overlap - len(said)
            winners = {_winner([*said, *more]) for more in product([0, 1, 2, 3], repeat=missing)}
            certain = winners.pop() if len(winners) == 1 else None
            assert settled(votes, overlap) == (-1 if certain is None else certain), votes


def _winner(votes: list[int]) -> int | None:
    """The class with strictly the most votes."""
    count = Counter(votes).most_common(2)
    return None if not count or (len(count) > 1 and count[0][1] == count[1][1]) else count[0][0]


def test_with_one_person_the_last_label_counts() -> None:
    assert [settled(votes, 1) for votes in ([], [-1], [2], [2, 0], [2, -1], [-1, 1])] == [-1, -1, 2, 0, 2, 1]


@given(st.lists(st.integers(-1, 2), max_size=5), st.integers(2, 5))
@law(60)
def test_votes_in_any_order_settle_the_same(votes: list[int], overlap: int) -> None:
    assert {settled(order, overlap) for order in permutations(votes)} == {settled(votes, overlap)}


# --- the ledger against a twin


@dataclass
class Twin:
    """One item, from all its events, in the plainest words."""

    given: dict[str | None, int] = field(default_factory=dict)
    held: list[str | None] = field(default_factory=list)
    decided: int | None = None
    taken: bool = False

    def see(self, event: Event, overlap: int) -> None:
        who = event.annotator
        if event.kind == "withdraw":
            self.__init__()  # type: ignore[misc]
            return
        self.taken = True
        self.held = [person for person in self.held if person != who]
        if event.kind in ("label", "skip", "retract"):
            self.given.pop(who, None)
        if event.kind in ("request", "retract"):
            self.held.append(who)
        elif event.kind in ("label", "skip"):
            self.given[who] = -1 if event.label is None else int(event.label[1:])
        elif event.kind == "decide":
            self.decided = int(event.label[1:])
        if self.decided is not None or len(self.given) >= overlap:
            self.held = []

    def true(self, overlap: int) -> int:
        return settled(list(self.given.values()), overlap) if self.decided is None else self.decided


@st.composite
def _stories(draw: st.DrawFn) -> list[Event]:
    """Any events, of which only those that the assessment would let through."""
    kinds: list[Kind] = ["request", "request", "label", "label", "skip", "decide", "retract", "expire", "withdraw"]
    row = st.tuples(st.sampled_from(kinds), st.integers(0, 4), st.integers(0, 2), st.sampled_from(PEOPLE))
    story = []
    for seq, (kind, item, true, who) in enumerate(draw(st.lists(row, max_size=40)), 1):
        label = f"c{true}" if kind in ("label", "decide") else None
        story.append(Event(kind, f"i{item}", step=seq, label=label, annotator=who, at=START + timedelta(seq), seq=seq))
    return story


@pytest.mark.slow
@given(_stories(), st.integers(1, 3), st.integers(1, 7))
@law(300)
def test_the_ledger_is_what_its_whole_log_says(story: list[Event], overlap: int, piece: int) -> None:
    metric = fl.Accuracy()
    cells = metric.cells(KNOWN.pool, GROUPS)
    ledger = Ledger(KNOWN.pool, metric, cells, overlap)
    for start in range(0, len(story), piece):
        ledger.read(story[start : start + piece])
        for who in PEOPLE:  # somebody asks meanwhile, and what they pass over is remembered
            ledger.lacking(who, 1 + start % 2)
    twins = {i: Twin() for i in range(5)}
    for event in story:
        twins[int(event.item[1:])].see(event, overlap)

    true = np.array([twin.true(overlap) for twin in twins.values()])
    taken = np.array([twin.taken for twin in twins.values()])
    np.testing.assert_array_equal(ledger.true, true)
    np.testing.assert_array_equal(ledger.pending, taken & (true < 0))
    np.testing.assert_array_equal([not ledger.is_free(i) for i in range(5)], taken)
    np.testing.assert_array_equal(ledger.room, np.bincount(GROUPS.group[~taken], minlength=2))
    np.testing.assert_array_equal(ledger.waiting, np.bincount(cells.cell[taken & (true < 0)], minlength=len(cells)))
    labelled = np.flatnonzero(true >= 0)
    counts = np.zeros_like(ledger.counts)
    np.add.at(counts, (cells.cell[labelled], metric.outcome(KNOWN.pool, labelled, ledger.true[labelled])), 1)
    np.testing.assert_array_equal(ledger.counts, counts)
    full = {i for i, twin in twins.items() if len(twin.given) >= overlap and true[i] < 0}
    assert ledger.disputed.keys() == full
    assert {who: set(items) for who, items in ledger.held.items() if items} == _by_person(twins, "held")
    assert {who: set(items) for who, items in ledger.answered.items() if items} == _by_person(twins, "given")
    for who in (*PEOPLE, "new"):
        lacking = {
            i
            for i, twin in twins.items()
            if twin.taken and twin.decided is None and len(twin.given) + len(twin.held) < overlap
            if who not in twin.held and who not in twin.given
        }
        for most in (1, 2, 5):  # looking twice finds the same
            found = ledger.lacking(who, most)
            assert set(found) <= lacking
            assert len(found) == len(set(found)) == min(most, len(lacking))


def _by_person(twins: dict[int, Twin], what: str) -> dict[str | None, set[int]]:
    people: dict[str | None, set[int]] = {}
    for item, twin in twins.items():
        for who in getattr(twin, what):
            people.setdefault(who, set()).add(item)
    return people


@given(known_pools(), st.randoms(use_true_random=False), st.integers(2, 3))
@law(40)
def test_the_order_in_which_people_answer_does_not_matter(known, random, overlap: int) -> None:
    """One answer by each person and item, in two orders: the same labels, disputes and counts."""
    answers = [
        (item, who, random.randint(-1, len(known.pool.classes) - 1))
        for item in range(len(known.true))
        for who in PEOPLE[: random.randint(0, 3)]
    ]
    states = []
    for order in (answers, random.sample(answers, len(answers))):
        metric = fl.Accuracy()
        ledger = Ledger(known.pool, metric, metric.cells(known.pool, fl.by_predicted(known.pool)), overlap)
        ledger.read(
            [
                Event(
                    "label" if true >= 0 else "skip", f"i{item}", label=f"c{true}" if true >= 0 else None, annotator=w
                )
                for item, w, true in order
            ]
        )
        states.append((ledger.true, ledger.pending, ledger.counts, ledger.room, ledger.waiting, {*ledger.disputed}))
    for a, b in zip(*states, strict=True):
        np.testing.assert_equal(a, b)


# --- agreement


def _units(*rows: str) -> list[list[str]]:
    """From a row per person to a list of labels per item; a dot is none."""
    return [[label for label in column if label != "."] for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(
    ("units", "alpha"),
    [
        (_units("0100000010", "1110010000"), 0.095),  # his section A: two people, two classes
        (_units("aabbdcccedda", "babbbcccedd" + "d"), 0.692),  # section B: two people, five classes
        (_units("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),  # section C: labels missing
        (_units("aab", "aab"), 1),
    ],
)
def test_alpha_is_as_krippendorff_published_it(units: list[list[str]], alpha: float) -> None:
    assert krippendorff_alpha(units) == pytest.approx(alpha, abs=0.0005)


@pytest.mark.parametrize("units", [[], ["a", "b"], ["aa", "aa"]])
def test_alpha_does_not_exist_where_nothing_can_be_expected(units: list[str]) -> None:
    assert krippendorff_alpha(units) is None


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
@law(60)
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    found = cohen_kappa(pairs)
    if found is None:
        assert len({label for pair in pairs for label in pair}) == 1
    else:
        assert found == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)))


def test_agreement_by_pair_and_in_words() -> None:
    found = agreement([{"bob": 1, "ann": 1}, {"ann": 1, "bob": 2, "cyd": 1}, {"cyd": 3}])
    assert found.items == 2
    assert found.raw == pytest.approx((1 + 1 / 3) / 2)
    rows = [tuple(row.values())[:4] for row in found.pairs.rows()]
    assert rows == [("ann", "bob", 2, 0.5), ("ann", "cyd", 1, 1.0), ("bob", "cyd", 1, 0.0)]
    assert "agree 67% of the time" in found.words
    assert "on 2 items" in found.words
    assert agreement([{"ann": 1}]).words == "No item has been labelled by two people yet."


def test_one_more_opinion_is_one_among_others() -> None:
    votes = Votes()
    votes.given = {who: Vote(true, None, None) for who, true in (("ann", 1), ("bob", 1), ("cyd", 2))}
    assert votes.true(1) == 2  # a label by somebody else replaces the others
    votes.more = 2
    assert votes.true(1) == 1
    del votes.given["bob"]
    assert votes.true(1) == 2  # a tie
