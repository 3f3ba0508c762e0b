"""Write tests/fixtures/confseq.csv: the wealth that the package confseq computes for bets on right and wrong labels.

python scripts/confseq_cases.py > tests/fixtures/confseq.csv

Needs confseq (0.0.11 was used), which is built with Boost and wants a NumPy before 2. There are three kinds of cases,
each with bets by one Beta(a, b):

both   Howard, Ramdas, McAuliffe and Sekhon (2021): the two-sided beta-binomial mixture, against exactly `share`
above  the one-sided mixture, against a share of at most `share`
pool   Waudby-Smith and Ramdas (2020): bets against `share` of `size` items, asked without replacement

In confseq the strength of a mixture comes from the number of labels for which it is tuned (here 20), and a group's
share is both the null value and the mean of the Beta.
"""

from __future__ import annotations

import csv
import sys

import numpy as np
from confseq.betting import betting_mart  # type: ignore[import-not-found]
from confseq.boundaries import beta_binomial_log_mixture  # type: ignore[import-not-found]

SHARES = (0.1, 0.3, 0.5, 0.8, 0.95)
COUNTS = ((0, 3), (3, 1), (16, 4), (45, 5), (90, 30), (2, 60))
TUNED, ALPHA = 20, 0.05


def mixture(share: float, right: int, wrong: int, *, one_sided: bool) -> tuple[float, float, float]:
    """The Beta that confseq uses, a and b, and log of the wealth."""
    labels, variance = right + wrong, share * (1 - share)
    gap = np.log(1 / (2 * ALPHA if one_sided else ALPHA))
    strength = TUNED * variance / (2 * gap + np.log(1 + 2 * gap)) - variance
    given = (right - labels * share, labels * variance, TUNED * variance, share, 1 - share, ALPHA, one_sided)
    wealth = float(beta_binomial_log_mixture(*(np.array([value]) for value in given))[0])
    return float(strength / (1 - share)), float(strength / share), wealth


def without_replacement(total: int, size: int, labels: np.ndarray, a: float, b: float) -> float:
    """log of the wealth of bets by the forecasts of Beta(a, b), against `total` right ones of `size` items."""
    before = np.arange(len(labels))
    right = np.cumsum(labels) - labels
    odds, forecast = (total - right) / (size - before), (a + right) / (a + b + before)
    stakes = (forecast - odds) / (odds * (1 - odds))
    wealth = betting_mart(labels, total / size, lambdas_fn_positive=lambda *_: stakes, N=size, theta=1, trunc_scale=1)
    return float(np.log(wealth[-1]))


def main() -> None:
    """Print the cases."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["kind", "share", "right", "wrong", "size", "a", "b", "log_wealth"])
    for share in SHARES:
        for right, wrong in COUNTS:
            for kind in ("both", "above"):
                a, b, wealth = mixture(share, right, wrong, one_sided=kind == "above")
                out.writerow([kind, share, right, wrong, "", repr(a), repr(b), repr(wealth)])
    rng = np.random.default_rng(0)
    for size, total, labels, a, b in ((50, 40, 20, 0.5, 0.5), (50, 25, 30, 8.0, 2.0), (200, 150, 90, 1.0, 1.0),
                                      (1000, 930, 60, 9.0, 1.0), (1000, 300, 120, 0.5, 0.5)):  # fmt: skip
        items = rng.permutation(np.repeat([1.0, 0.0], [total, size - total]))[:labels]
        for against in (total, total - size // 10, total + size // 20):
            wealth = without_replacement(against, size, items, a, b)
            right = int(items.sum())
            out.writerow(["pool", against / size, right, labels - right, size, a, b, repr(wealth)])


if __name__ == "__main__":
    main()
