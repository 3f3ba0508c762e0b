"""Laws of plots: axes hold what is drawn and have round ticks, and densities have mass one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabels.plots.drawing.densities import density
from fewlabels.plots.drawing.picture import counting, scale
from tests.support.pools import law


@law(200)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(3, 8))
def test_axes_hold_the_values_and_have_round_ticks(low: float, span: float, most: int) -> None:
    high = low + span
    axis = scale(low, high, share=False, most=most)
    assert axis.low <= low <= high <= axis.high
    assert 2 <= len(axis.ticks) <= most + 2
    texts = [tick.text for tick in axis.ticks]
    assert len(set(texts)) == len(texts)
    for tick in axis.ticks:
        assert float(tick.text.replace(",", "").replace("−", "-")) == pytest.approx(tick.at, rel=1e-6, abs=1e-6 * span)


@law(100)
@given(st.floats(0, 1), st.floats(0, 1))
def test_shares_are_shown_in_percent_between_0_and_100(a: float, b: float) -> None:
    axis = scale(min(a, b), max(a, b), share=True)
    assert 0 <= axis.low <= min(a, b) <= max(a, b) <= axis.high <= 1
    assert all(tick.text.endswith("%") for tick in axis.ticks)


@law(50)
@given(st.integers(0, 10**6))
def test_counts_have_whole_ticks(most: int) -> None:
    axis = counting(most)
    assert axis.high >= most
    assert all(tick.at == int(tick.at) for tick in axis.ticks)
    assert len(axis.ticks) <= 9


@pytest.mark.parametrize(("a", "b"), [(2, 5), (0.3, 0.4), (60, 3)])
def test_densities_have_mass_one_and_stay_inside(a: float, b: float) -> None:
    draws = np.random.default_rng(1).beta(a, b, 4000)
    x, y = np.array(density(draws, (0, 1))).T
    assert 0 <= x[0] < x[-1] <= 1
    assert np.trapezoid(y, x) == pytest.approx(1, abs=0.02)
    assert np.trapezoid(x * y, x) == pytest.approx(draws.mean(), abs=0.02)
    assert density(np.full(100, 0.5)) == ()
