"""The step of asking that assessments, simulated runs and plans share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.policies import Policy
from fewlabels.policies.step import Queue, ask_step
from fewlabels.tasks import Rewards
from tests.support.pools import zoo

POOL = zoo().pool
GROUPS = fl.by_predicted(POOL)  # of 9, 7, 7, 6, 1 and 0 items
TASK = fl.Identify(fl.Accuracy(), lowest=2)
CELLS = TASK.metric.cells(POOL, GROUPS)
REWARDS = Rewards(TASK, CELLS, fl.Uniform().on(CELLS, "population").blank())


@dataclass(frozen=True)
class Fixed(Policy):
    """Names the same groups again and again, as long as they have room."""

    groups: tuple[int, ...] = ()

    def choose(self, rewards, room, plays, rng):
        return np.array([g for g in self.groups if room[g]], dtype=np.int64)


def _queue(taken=()):
    return Queue.of(GROUPS, GROUPS.sizes > 0, [np.array(taken, dtype=np.int64)])


def test_a_step_takes_an_item_of_each_group_in_the_order_of_the_policy():
    free = _queue()
    items = ask_step(Fixed((3, 0, 4)), REWARDS, free, np.random.default_rng(1), 5, best_first=True)
    assert GROUPS.group[items].tolist() == [3, 0, 4]
    assert free.room.tolist() == [8, 7, 7, 5, 0, 0]


def test_where_fewer_are_wanted_they_are_the_best_or_a_random_part():
    for seed in range(20):
        best = ask_step(Fixed((3, 0, 1)), REWARDS, _queue(), np.random.default_rng(seed), 2, best_first=True)
        assert GROUPS.group[best].tolist() == [3, 0]
    left_out = []
    for seed in range(600):
        part = ask_step(Fixed((3, 0, 1)), REWARDS, _queue(), np.random.default_rng(seed), 2, best_first=False)
        (missing,) = {3, 0, 1} - set(GROUPS.group[part].tolist())
        left_out.append(missing)
    assert stats.chisquare(np.unique(left_out, return_counts=True)[1]).pvalue > 1e-4


def test_a_random_part_draws_nothing_where_all_are_wanted():
    first, second = (np.random.default_rng(5) for _ in range(2))
    best = ask_step(Fixed((3, 0)), REWARDS, _queue(), first, 2, best_first=True)
    assert best == ask_step(Fixed((3, 0)), REWARDS, _queue(), second, 2, best_first=False)


@pytest.mark.parametrize("taken", [(), (0, 12, 29)])
def test_a_queue_hands_out_every_free_item_once(taken):
    start = _queue(taken)
    free, rng, items = start.copy(), np.random.default_rng(3), []
    while new := ask_step(fl.Thompson(), REWARDS, free, rng, 100, best_first=True):
        items += new
    assert sorted([*items, *taken]) == list(range(30))
    assert not free.room.any()
    assert start.room.sum() == 30 - len(taken)  # a copy of its own


def test_a_queue_takes_free_items_of_a_group_evenly():
    first = [_queue((0, 4)).take(0, np.random.default_rng(seed)) for seed in range(1400)]
    items, times = np.unique(first, return_counts=True)
    assert items.tolist() == [1, 2, 3, 5, 6, 7, 8]
    assert stats.chisquare(times).pvalue > 1e-4
