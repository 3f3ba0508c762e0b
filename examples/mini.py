"""The whole method in one page of NumPy, without fewlabels: read it from top to bottom, then run it.

A classifier has sorted many items into groups (here: by the class it predicts). A label of one item shows
whether the classifier was right there. How should few labels be spent, and what do we know afterwards?
The method is that of the paper "Active Bayesian Assessment of Black-Box Classifiers" (Ji, Logan, Smyth and
Steyvers, 2021). The tests of the package compare it with the functions here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# 1. WHAT WE BELIEVE: for each group a row of counts, "as if we had already seen so many of each outcome".
#    Two outcomes (right, wrong) make a Beta belief; one outcome for each true class makes a Dirichlet belief.


def uniform_prior(groups: int, outcomes: int, strength: float) -> Floats:
    """Before any label: every outcome as likely as the others. Shape (groups, outcomes)."""
    return np.full((groups, outcomes), strength / outcomes)


def informed_prior(expected: Floats, strength: float) -> Floats:
    """Before any label: what the classifier expects of itself; rows sum to 1, shape (groups, outcomes)."""
    return strength * expected


def draw(counts: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Outcome probabilities θ that agree with the counts, at random: shape (draws, groups, outcomes)."""
    gamma = rng.standard_gamma(counts, (draws, *counts.shape))
    theta: Floats = gamma / gamma.sum(axis=-1, keepdims=True)
    return theta


def pool_draw(theta: Floats, seen: Ints, size: Ints, rng: np.random.Generator) -> Floats:
    """Outcome shares in these very items, not in all items like them; shape of `theta`.

    Labelled items (`seen`, shape (groups, outcomes)) are known; only the rest of the `size` is still open.
    """
    rest = rng.multinomial(size - seen.sum(axis=-1), theta)
    return (seen + rest) / size[:, None]


# 2. WHAT WE ASK ABOUT: values of a group, as functions of θ (its accuracy is θ of "right" itself).


def calibration_error(theta: Floats, weight: Floats, confidence: Floats) -> Floats:
    """ECE of each group: Σ_b p_gb |θ_gb − s_gb| over its score bins b; all three of shape (groups, bins)."""
    error: Floats = np.sum(weight * np.abs(theta - confidence), axis=-1)
    return error


def cost(theta: Floats, cost_column: Floats) -> Floats:
    """Expected cost of each predicted class k: Σ_j c_jk θ_jk; row k is for class k, (groups, classes)."""
    total: Floats = np.sum(cost_column * theta, axis=-1)
    return total


def rope_probabilities(
    a1: float, b1: float, a2: float, b2: float, *, rope: float, rng: np.random.Generator, draws: int
) -> Floats:
    """Two groups: P(the first is less accurate), P(about equal, within the rope), P(more accurate)."""
    gap = rng.beta(a1, b1, draws) - rng.beta(a2, b2, draws)
    return np.array([np.mean(gap < -rope), np.mean(np.abs(gap) <= rope), np.mean(gap > rope)])


# 3. WHAT A LABEL IS WORTH: the reward of asking in each group if the drawn θ were true (the paper's Table 1).


def beta_variance(a: Floats, b: Floats) -> Floats:
    """How unsure we are of an accuracy with these counts of right and wrong."""
    return a * b / ((a + b) ** 2 * (a + b + 1))


def accuracy_reward(a: Floats, b: Floats, theta: Floats, share: Floats) -> Floats:
    """Estimate accuracy: p_g (Var now − E Var after one more label, which is right with chance θ)."""
    after = theta * beta_variance(a + 1, b) + (1 - theta) * beta_variance(a, b + 1)
    return share * (beta_variance(a, b) - after)


def confusion_reward(alpha: Floats, theta: Floats, share: Floats) -> Floats:
    """Estimate confusion: the same, summed over the true classes; `alpha` has shape (groups, classes)."""
    s, q = alpha.sum(axis=-1), (alpha**2).sum(axis=-1)
    now = (s**2 - q) / (s**2 * (s + 1))
    after = ((s + 1) ** 2 - q - 1 - 2 * (theta * alpha).sum(axis=-1)) / ((s + 1) ** 2 * (s + 2))
    reward: Floats = share * (now - after)
    return reward


# Identify the least accurate: −θ; the least calibrated: calibration_error(θ, …); the most costly: cost(θ, …).


def compare_reward(counts: Floats, theta: Floats, rope: float, rng: np.random.Generator, draws: int) -> Floats:
    """Compare two groups: E[λ after one more label in g], λ the largest rope probability; shape (2,)."""
    reward = np.zeros(2)
    for g, outcome in np.ndindex(2, 2):
        after = counts.copy()
        after[g, outcome] += 1
        chance = theta[g] if outcome == 0 else 1 - theta[g]
        reward[g] += chance * rope_probabilities(*after.flat, rope=rope, rng=rng, draws=draws).max()
    return reward


# 4. WHERE TO ASK NEXT, AND WHAT WE KNOW


def thompson(rewards: Floats, room: Ints, plays: int) -> Ints:
    """The groups with the `plays` best rewards, best first; a group without items left is skipped."""
    best = np.argsort(np.where(room > 0, -rewards, np.inf), kind="stable")
    return best[: min(plays, np.count_nonzero(room))]


def ranks(draws: Floats) -> Ints:
    """The rank of each group in each draw, 1 being the lowest; shape (draws, groups)."""
    return draws.argsort(axis=-1).argsort(axis=-1) + 1


def rank_probabilities(draws: Floats, m: int) -> Floats:
    """P(group is among the m lowest): the share of the draws in which it is. Shape (groups,)."""
    probability: Floats = (ranks(draws) <= m).mean(axis=0)
    return probability


def main(m: int = 2, sure: float = 0.95, seed: int = 1) -> None:
    """Find the m least accurate of 8 groups, one label from each of the m most promising groups at a time."""
    rng = np.random.default_rng(seed)
    size = np.array([300, 100, 250, 150, 300, 200, 100, 250])
    accuracy = np.array([0.95, 0.90, 0.93, 0.60, 0.97, 0.65, 0.88, 0.92])
    # The truth, hidden from the method: for each item of each group, whether the classifier is right.
    items = [rng.permutation(np.arange(n) < round(n * p)) for n, p in zip(size, accuracy, strict=True)]
    confidence = (1 + accuracy) / 2  # the classifier thinks too well of itself
    prior = informed_prior(np.column_stack([confidence, 1 - confidence]), strength=2)
    seen = np.zeros((8, 2), dtype=np.int64)  # labels so far: right, wrong

    chance, values = np.zeros(8), accuracy[None]
    while np.sort(chance)[-m:].min() < sure and seen.sum() < size.sum():
        theta = draw(prior + seen, rng, 1)[0, :, 0]
        for g in thompson(-theta, size - seen.sum(axis=1), plays=m):
            right = items[g][seen[g].sum()]  # the next item of the group: they were shuffled above
            seen[g, 0 if right else 1] += 1
        values = pool_draw(draw(prior + seen, rng, 2000), seen, size, rng)[:, :, 0]
        chance = rank_probabilities(values, m)

    print(f"{seen.sum()} labels of {size.sum()} items. P: chance to be among the {m} least accurate groups.")
    print("group  labels  accuracy  95% interval   truth      P")
    for g in np.argsort(-chance, kind="stable"):
        low, high = np.quantile(values[:, g], [0.025, 0.975])
        known = f"{g:5d}  {seen[g].sum():6d}  {values[:, g].mean():8.2f}  {low:.2f} to {high:.2f}"
        print(f"{known}  {items[g].mean():6.2f}  {chance[g]:5.2f}")


if __name__ == "__main__":
    main()
