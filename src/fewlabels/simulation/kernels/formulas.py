"""The scalar formulas that the kernels share: variances, and how much one more label lowers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.simulation.kernels.jit import formula

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@formula
def spread(s: float, size: int, left: int, pool: bool) -> float:
    """The variance of a share divided by the variance of one outcome, for a belief of total count s.

    1/(s+1) for the population; u(s+u)/(n²(s+1)) for a pool of n items with u = `left` unlabelled.
    """
    if not pool:
        return 1.0 / (s + 1.0)
    return left * (s + left) / (float(size) * size * (s + 1.0))


@formula
def beta_variance(a: float, b: float, size: int, left: int, pool: bool) -> float:
    """Var θ for θ ~ Beta(a, b): ab/((a+b)²(a+b+1)), or the finite-pool version.

    >>> round(beta_variance(1.0, 1.0, 10, 10, False), 12) == round(1 / 12, 12)
    True
    """
    s = a + b
    return a * b / (s * s) * spread(s, size, left, pool)


@formula
def beta_drops(a: float, b: float, size: int, left: int, pool: bool) -> tuple[float, float]:
    """Var θ now minus Var θ after a wrong, and after a right label.

    The expected drop under θ~ is (1−θ~)·first + θ~·second: linear, so never above the larger of the two.

    >>> wrong, right = beta_drops(3.0, 1.0, 10, 10, False)
    >>> wrong < 0 < right  # a surprise makes us less sure
    True
    """
    now = beta_variance(a, b, size, left, pool)
    wrong = beta_variance(a, b + 1.0, size, left - 1, pool)
    right = beta_variance(a + 1.0, b, size, left - 1, pool)
    return now - wrong, now - right


@formula
def dirichlet_drop(s: float, squares: float, overlap: float, size: int, left: int, pool: bool) -> float:
    """How much one label is expected to lower Σ_j Var θ_j, for θ ~ Dirichlet(α).

    With s = Σα, q = `squares` = Σα² and `overlap` = θ~·α, Σ_j Var_j = (1 − q/s²)·spread(s), and after one label
    (1 − (q + 1 + 2 θ~·α)/(s+1)²)·spread(s+1) on average.
    """
    later = s + 1.0
    now = (1.0 - squares / (s * s)) * spread(s, size, left, pool)
    after = 1.0 - (squares + 1.0 + 2.0 * overlap) / (later * later)
    return now - after * spread(later, size, left - 1, pool)


@formula
def beta_mean(a: float, b: float, right: float, size: int, left: int, pool: bool) -> float:
    """E θ: a/(a+b), or (right + u·a/(a+b))/n for a pool with u = `left` of n = `size` items unlabelled."""
    mean = a / (a + b)
    if pool:
        return (right + left * mean) / size
    return mean


@formula
def dot(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Σ_j first_j · second_j."""
    total = 0.0
    for j in range(len(first)):
        total += first[j] * second[j]
    return total
