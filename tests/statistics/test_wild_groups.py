"""Of few groups one may be quite unlike the others: it is found out by its own labels, and left to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fewlabels.learned import items as trust
from fewlabels.learned.items import differing
from tests.support.learned import brute_force, strips_of

# Three cells that are alike, and one with labels of its own that is not, or is.
ODD = [([12, 13, 12, 11, 12, 13, 0, 1], 4), ([12, 13, 12, 11, 12, 13, 3, 3], 4), ([3, 3, 2, 3, 3, 2, 0, 0], 2)]


def odd_one_out(right, last):
    """Strips of four cells, right answers and labels: 15 (or 4) in the six strips of three cells, fewer in the last."""
    kinds = ((1.0, 0.8, 0.6, 0.8, 0.25, 0.4, 0.5),)
    strips = strips_of(np.repeat(np.arange(4), 2), np.tile([-0.8, 0.8], 4), [0.3, -0.2, 0, -0.1], np.full(8, 99), kinds)
    labels = np.array([15.0 if max(right) > 4 else 4.0] * 6 + [last] * 2)
    return strips, np.array(right, dtype=float), labels


@pytest.mark.slow
@pytest.mark.parametrize(("right", "last"), ODD)
def test_a_wild_group_agrees_with_brute_force(right, last):
    strips, right, labels = odd_one_out(right, last)
    assert differing.wild_shares(strips) == pytest.approx(0.1)
    model = trust.learn(strips, right, labels)
    weight, means = brute_force(strips, right, labels)
    assert model.weight == pytest.approx(weight, abs=0.03)
    assert model.moments(strips.size)[0] == pytest.approx(weight @ means[:, 1:], abs=0.03)


def test_a_group_unlike_others_that_are_alike_is_left_to_its_own_labels(monkeypatch):
    strips, right, labels = odd_one_out(*ODD[0])
    wild = trust.learn(strips, right, labels).moments(strips.size)
    monkeypatch.setattr(differing, "_WILD", 0.0)
    tame = trust.learn(strips, right, labels).moments(strips.size)
    assert right[-2:].sum() / labels[-2:].sum() < wild[0][-1] < tame[0][-1] - 0.05
    assert wild[0][:-1] == pytest.approx(tame[0][:-1], abs=0.03)


def share(sizes, scale=1.0):
    cells = len(sizes)
    strips = strips_of(np.arange(cells), np.zeros(cells), np.zeros(cells), np.array(sizes))
    return differing.wild_shares(replace(strips, scale=np.array([scale])))


def test_few_groups_may_be_wild_and_not_bins_or_many_or_one_alone():
    assert share([9]) == 0
    for few in (2, 5):
        assert share([9] * few) == pytest.approx(np.full(few, 0.1))
    assert share([9] * 10) == pytest.approx(np.full(10, 0.1 / 8))
    assert not share([9] * 20).any()
    assert not share([9] * 4, scale=0.25).any()


def test_groups_with_far_fewer_items_than_the_others_may_be_wild_however_many_there_are():
    assert share([900] * 18 + [225, 9]) == pytest.approx([0] * 18 + [0.1, 0.1])
    assert share([900] * 19 + [450]) == pytest.approx([0] * 19 + [0.1 / 4])


def test_small_levels_of_a_crossed_factor_may_differ_by_more():
    """√(ω² + 2²·0.1) for those with a quarter of the median's items and fewer; bins keep their ω."""
    strips = strips_of(np.arange(5), np.zeros(5), np.zeros(5), np.array([900, 900, 900, 400, 9]))
    omegas = np.array([[0.1], [0.43]])
    for scale, expected in ((1.0, [0, 0, 0, 0.4 * (900 / 1600) ** 2, 0.4]), (0.25, [0] * 5)):
        crossed = replace(strips, crossed=np.arange(5)[None], scale=np.array([1.0, scale]))
        found = differing.crossed_sds(crossed, omegas)
        assert found**2 == pytest.approx((scale * omegas) ** 2 + np.array(expected))
    assert differing.crossed_sds(strips, np.empty((1, 0))).shape == (1, 0)
