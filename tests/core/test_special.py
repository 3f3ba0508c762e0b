"""The functions that are written here give the numbers of `scipy.special`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special as theirs

from fewlabels.special import expit, logit, student

ODDS = np.concatenate([np.linspace(-40, 40, 1_001), [-1e4, -745.0, 1e-300, 745.0, 1e4, np.inf, -np.inf]])


def test_the_logistic_function_and_its_inverse_are_those_of_scipy() -> None:
    chances = theirs.expit(ODDS)
    np.testing.assert_allclose(expit(ODDS), chances, rtol=1e-15, atol=1e-320)
    np.testing.assert_allclose(logit(chances), theirs.logit(chances), rtol=1e-15, atol=4e-16)


def test_single_numbers_lists_and_gaps_are_taken_as_scipy_takes_them() -> None:
    assert float(expit(0.3)) == pytest.approx(float(theirs.expit(0.3)), rel=1e-15)
    assert float(logit(0.3)) == pytest.approx(float(theirs.logit(0.3)), rel=1e-15)
    np.testing.assert_allclose(expit([1, -1]), theirs.expit([1.0, -1.0]))
    assert np.isnan([expit(np.nan), logit(np.nan)]).all()


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 30, 31, 1_000, 99_999])
def test_students_quantile_is_that_of_scipy(degrees: int) -> None:
    assert student(degrees) == pytest.approx(float(theirs.stdtrit(degrees, 0.975)), rel=1e-10)
