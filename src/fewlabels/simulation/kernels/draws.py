"""Random draws in compiled code, from NumPy's generator: log-odds, Beta, Dirichlet, whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.jit import formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Below this shape a Gamma draw may underflow, so its logarithm is drawn instead.
SMALL = 0.1


@formula
def draw_below(rng: np.random.Generator, n: int) -> int:
    """A whole number from 0 to n − 1, each equally likely (to within n·2⁻⁵³)."""
    return int(rng.random() * n)


@formula
def draw_log_gamma(rng: np.random.Generator, shape: float) -> float:
    """The logarithm of a Gamma(shape) draw; log G(a) = log G(a+1) + log(U)/a where a is small."""
    if shape >= SMALL:
        return math.log(rng.standard_gamma(shape))
    grown = math.log(rng.standard_gamma(shape + 1.0))
    return grown + math.log(1.0 - rng.random()) / shape


@formula
def draw_odds(rng: np.random.Generator, a: float, b: float) -> float:
    """log(θ/(1−θ)) for θ ~ Beta(a, b): two draws can be told apart even if θ itself rounds to 0 or 1."""
    if a >= SMALL and b >= SMALL:
        first = rng.standard_gamma(a)
        return math.log(first / rng.standard_gamma(b))
    first = draw_log_gamma(rng, a)
    return first - draw_log_gamma(rng, b)


@formula
def draw_beta(rng: np.random.Generator, a: float, b: float) -> float:
    """θ ~ Beta(a, b), never NaN, however small a and b are.

    >>> 0 <= draw_beta(np.random.default_rng(1), 1e-6, 1e-6) <= 1
    True
    """
    if a >= SMALL and b >= SMALL:
        first = rng.standard_gamma(a)
        return first / (first + rng.standard_gamma(b))
    odds = draw_odds(rng, a, b)
    if odds < -700.0:
        return 0.0
    return 1.0 / (1.0 + math.exp(-odds))


@formula
def draw_dirichlet(rng: np.random.Generator, alpha: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """θ ~ Dirichlet(α) into `out`, shape (outcomes,); outcomes with α = 0 are impossible.

    If every Gamma draw underflows, the largest logarithm takes everything, which is then exact up to rounding.
    """
    total, best, leader = 0.0, -math.inf, 0
    for j in range(len(alpha)):
        out[j] = 0.0
        if alpha[j] >= SMALL:
            out[j] = rng.standard_gamma(alpha[j])
        elif alpha[j] > 0.0:
            size = draw_log_gamma(rng, alpha[j])
            out[j] = math.exp(size)
            if size > best:
                best, leader = size, j
        total += out[j]
    if total > 0.0:
        for j in range(len(alpha)):
            out[j] /= total
    else:
        out[leader] = 1.0


@formula
def draw_multinomial(rng: np.random.Generator, n: int, theta: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Draw how many of n items show each outcome if θ is true, into `out`, shape (outcomes,)."""
    rest = 1.0
    for j in range(len(theta)):
        share = min(theta[j] / rest, 1.0) if rest > 0.0 else 1.0
        out[j] = rng.binomial(n, share) if j < len(theta) - 1 else n
        n -= int(out[j])
        rest -= theta[j]


@formula
def draw_shares(
    rng: np.random.Generator,
    alpha: NDArray[np.float64],
    counts: NDArray[np.float64],
    size: int,
    pool: bool,
    out: NDArray[np.float64],
) -> None:
    """A draw of the shares of the outcomes in a cell into `out`, shape (outcomes,).

    In the population: Dirichlet(α). Among the pool's own `size` items: the labelled ones as they are, `counts`,
    and the others drawn.
    """
    if len(alpha) == 2 and alpha[0] > 0.0 and alpha[1] > 0.0:
        out[0] = draw_beta(rng, alpha[0], alpha[1])
        out[1] = 1.0 - out[0]
    else:
        draw_dirichlet(rng, alpha, out)
    if pool:
        left = size
        for j in range(len(alpha)):
            left -= int(counts[j])
        draw_multinomial(rng, left, out.copy(), out)
        for j in range(len(alpha)):
            out[j] = (counts[j] + out[j]) / size


@formula
def draw_upcoming(
    rng: np.random.Generator, alpha: NDArray[np.float64], left: int, pool: bool, out: NDArray[np.float64]
) -> None:
    """A draw of the outcome shares that the next label comes from, into `out`, shape (outcomes,).

    In the population: Dirichlet(α). In the pool: the shares among its `left` unlabelled items.
    """
    draw_shares(rng, alpha, np.zeros(len(alpha)), left, pool, out)
