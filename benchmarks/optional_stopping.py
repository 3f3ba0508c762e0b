"""How often is "stop as soon as the probability is 0.95" wrong? Compare, looked at after every label.

Run: python benchmarks/optional_stopping.py [runs]

Two groups are compared with a rope of ±0.05. After every label the probabilities of the three regions are looked
at, and asking stops at the first one of 0.95 or at 400 labels. The next label comes from the group where it lowers
the variance of the difference more (the default of Compare). Thousands of runs advance together: the Beta of every
possible count is tabulated on a grid once, and the tables are checked against the package's quadrature.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc

from fewlabels.tasks import rope_probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROPE, ENOUGH, BUDGET, MOST = 0.05, 0.95, 400, 230
STEPS = 800  # of the grid; the rope is 40 of them
LESS, EQUAL, MORE, OPEN = 0, 1, 2, 3


@dataclass(frozen=True)
class Side:
    """One group: prior counts, and for every (labels, right) the grid of its distribution function."""

    prior: tuple[float, float]
    below: NDArray[np.float32]

    @staticmethod
    def of(prior: tuple[float, float]) -> Side:
        grid = np.arange(STEPS + 1) / STEPS
        n, right = (v[:, None] for v in np.tril_indices(MOST + 1))
        return Side(prior, betainc(prior[0] + right, prior[1] + n - right, grid).astype(np.float32))

    @staticmethod
    def row(n: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
        """The line of `below` for these counts."""
        return n * (n + 1) // 2 + right

    def drop(self, n: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
        """Var θ − E Var θ after one more label = m(1−m)/(s+1)², shape (runs,)."""
        s = sum(self.prior) + n
        mean = (self.prior[0] + right) / s
        return np.where(n < MOST, mean * (1 - mean) / (s + 1) ** 2, -1.0)


def regions(a: Side, b: Side, n: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """μ of each run, shape (runs, 3), from counts of shape (2, runs)."""
    below_a, below_b = a.below[Side.row(n[0], right[0])], b.below[Side.row(n[1], right[1])]
    shift = round(ROPE * STEPS)

    def less(x: NDArray[np.float32], y: NDArray[np.float32]) -> NDArray[np.float64]:
        """P(x < y − ε): the mass of y in each step of the grid times the mean of F_x over it."""
        middle = (x[:, :-1] + x[:, 1:]) / 2
        return np.einsum("rg,rg->r", np.diff(y, axis=1)[:, shift:], middle[:, : STEPS - shift], dtype=float)

    first, last = less(below_a, below_b), less(below_b, below_a)
    return np.column_stack([first, 1 - first - last, last])


def play(a: Side, b: Side, theta: NDArray[np.float64], fewest: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The region each run stops in, or OPEN; and after how many labels. Shape (2, runs), from θ of shape (2, runs)."""
    runs = theta.shape[1]
    n, right = np.zeros((2, runs), np.int64), np.zeros((2, runs), np.int64)
    found, when = np.full(runs, OPEN), np.full(runs, BUDGET)
    going = np.arange(runs)
    for label in range(1, BUDGET + 1):
        drops = np.array([side.drop(n[i, going], right[i, going]) for i, side in enumerate((a, b))])
        chosen = np.where(drops[0] == drops[1], rng.integers(0, 2, len(going)), drops.argmax(axis=0))
        n[chosen, going] += 1
        right[chosen, going] += rng.random(len(going)) < theta[chosen, going]
        if label < fewest:
            continue
        mu = regions(a, b, n[:, going], right[:, going])
        sure = mu.max(axis=1) >= ENOUGH
        found[going[sure]], when[going[sure]] = mu[sure].argmax(axis=1), label
        going = going[~sure]
    return np.array([found, when])


def region_of(theta: NDArray[np.float64]) -> NDArray[np.int64]:
    difference = np.round(theta[0] - theta[1], 12)
    return np.where(difference < -ROPE, LESS, np.where(difference > ROPE, MORE, EQUAL))


def report(name: str, sides: tuple[Side, Side], theta: NDArray[np.float64], fewest: int) -> None:
    found, when = play(*sides, theta, fewest, np.random.default_rng([2, fewest]))
    stopped = found != OPEN
    wrong = stopped & (found != region_of(theta))
    runs, many = len(found), max(int(stopped.sum()), 1)
    error = np.sqrt(wrong.sum() * (many - wrong.sum()) / many**3)
    print(
        f"{name:52s} {fewest:6d} {stopped.mean():8.1%} {wrong.sum() / runs:10.1%} {wrong.sum() / many:13.1%} "
        f"± {error:4.1%} {int(np.median(when[stopped])) if stopped.any() else 0:7d}"
    )


def check(a: Side, b: Side) -> None:
    """The tables agree with the package's quadrature."""
    rng = np.random.default_rng(3)
    n = rng.integers(0, MOST, (2, 50))
    right = rng.binomial(n, 0.7)
    for i, mu in enumerate(regions(a, b, n, right)):
        told = np.column_stack([right[:, i], n[:, i] - right[:, i]])
        counts = [np.array(side.prior) + told[k] for k, side in enumerate((a, b))]
        if np.abs(mu - rope_probabilities(counts[0], counts[1], ROPE)).max() > 1e-3:
            raise SystemExit(f"the tables are wrong for {counts}")


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    flat = Side.of((1.0, 1.0))
    check(flat, flat)
    rng = np.random.default_rng(1)
    print(f"{runs:,} runs each; stop at probability {ENOUGH}, rope ±{ROPE}, at most {BUDGET} labels")
    print(
        f"{'truth and prior':52s} {'from':>6s} {'stopped':>8s} {'wrong/all':>10s} {'wrong/stopped':>20s} {'labels':>7s}"
    )
    drawn = rng.random((2, runs))

    def fixed(a: float, b: float) -> NDArray[np.float64]:
        return np.repeat([[a], [b]], runs, axis=1)

    for fewest in (1, 40, BUDGET):
        report("drawn from the prior, Uniform()", (flat, flat), drawn, fewest)
        report("equal: .80 and .80, Uniform()", (flat, flat), fixed(0.80, 0.80), fewest)
        report("on the edge: .75 and .80, Uniform()", (flat, flat), fixed(0.75, 0.80), fewest)
        report("just beyond: .74 and .80, Uniform()", (flat, flat), fixed(0.74, 0.80), fewest)
        report("clear: .60 and .80, Uniform()", (flat, flat), fixed(0.60, 0.80), fewest)
    believing = (Side.of((9.5, 0.5)), Side.of((8.0, 2.0)))
    name = "equal: .80 and .80, Informed(10), says .95 and .80"
    for fewest in (1, 40):
        report(name, believing, fixed(0.80, 0.80), fewest)


if __name__ == "__main__":
    main()
