"""Slow, obvious twins of the simulator's kernels: plain loops over lists, the same random numbers in the same order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    from fewlabels.simulation.kernels.known import Known

    Indices = Sequence[int] | NDArray[np.int64]
    Floats = NDArray[np.float64]
    Rewards = Callable[[Generator], Mapping[int, float]]


class Run:
    """A run over a labelled pool: which items of each group are left, and the counts so far."""

    def __init__(
        self,
        group: Indices,
        cell: Indices,
        outcome: Indices,
        groups: int,
        cells: int,
        outcomes: int,
        prior: Floats,
    ) -> None:
        self.group, self.cell, self.outcome = list(group), list(cell), list(outcome)
        order = sorted(range(len(group)), key=lambda i: group[i])
        self.left = [[i for i in order if group[i] == g] for g in range(groups)]
        self.items, self.asked = order, list[int]()
        self.size = [self.cell.count(c) for c in range(cells)]
        self.prior = prior
        self.counts = np.zeros((cells, outcomes))

    def open_groups(self) -> list[int]:
        return [g for g, left in enumerate(self.left) if left]

    def alpha(self, c: int) -> Floats:
        return self.prior[c] + self.counts[c]

    def record(self, item: int) -> None:
        self.counts[self.cell[item], self.outcome[item]] += 1
        self.asked.append(item)

    def take(self, rng: Generator, g: int) -> None:
        """Any item that is left in g: it changes places with the first, which goes."""
        left = self.left[g]
        j = int(rng.random() * len(left))
        left[0], left[j] = left[j], left[0]
        self.record(left.pop(0))

    def unlabelled(self, c: int) -> int:
        return self.size[c] - int(self.counts[c].sum())


def counts_after(known: Known, asked: Indices, labels: int) -> Floats:
    """Label counts after 0, 1, ... labels, shape (labels + 1, cells, outcomes)."""
    out = np.zeros((labels + 1, len(known.size), known.outcomes))
    for done, place in enumerate(asked[:labels], start=1):
        out[done] = out[done - 1]
        out[done, known.cell[place], known.outcome[place]] += 1
    return out


def log_gamma_draw(rng: Generator, shape: float) -> float:
    if shape >= 0.1:
        return math.log(rng.standard_gamma(shape))
    grown = math.log(rng.standard_gamma(shape + 1))
    return grown + math.log(1 - rng.random()) / shape


def odds_draw(rng: Generator, a: float, b: float) -> float:
    if a >= 0.1 and b >= 0.1:
        first = rng.standard_gamma(a)
        return math.log(first / rng.standard_gamma(b))
    first = log_gamma_draw(rng, a)
    return first - log_gamma_draw(rng, b)


def beta_draw(rng: Generator, a: float, b: float) -> float:
    if a >= 0.1 and b >= 0.1:
        first = rng.standard_gamma(a)
        return first / (first + rng.standard_gamma(b))
    odds = odds_draw(rng, a, b)
    return 0.0 if odds < -700 else 1 / (1 + math.exp(-odds))


def shares_draw(rng: Generator, alpha: Floats, counts: Sequence[int] | Floats, size: int, pool: bool) -> list[float]:
    """Shares of the outcomes in a cell: Dirichlet, or for the pool its labelled items and draws for the others."""
    if len(alpha) == 2:
        first = beta_draw(rng, *alpha)
        theta = [first, 1 - first]
    else:
        logs: dict[int, float] = {}
        theta = [0.0] * len(alpha)
        for j, shape in enumerate(alpha):
            if shape >= 0.1:
                theta[j] = rng.standard_gamma(shape)
            elif shape > 0:
                logs[j] = log_gamma_draw(rng, shape)
                theta[j] = math.exp(logs[j])
        total = 0.0
        for share in theta:
            total += share
        if total > 0:
            theta = [share / total for share in theta]
        else:
            theta[max(logs, key=logs.__getitem__)] = 1.0
    if not pool:
        return theta
    left, rest, drawn = size - int(sum(counts)), 1.0, list[int]()
    for j, share in enumerate(theta):
        part = min(share / rest, 1.0) if rest > 0 else 1.0
        drawn.append(rng.binomial(left, part) if j < len(theta) - 1 else left)
        left -= drawn[-1]
        rest -= share
    return [(c + d) / size for c, d in zip(counts, drawn, strict=True)]


def upcoming_draw(rng: Generator, run: Run, g: int, pool: bool) -> list[float]:
    """Shares of the outcomes that the next label comes from: for the pool, those among its unlabelled items."""
    return shares_draw(rng, run.alpha(g), [0] * len(run.alpha(g)), run.unlabelled(g), pool)


def best_groups(
    rng: Generator, reward: Mapping[int, float] | Sequence[float], open_groups: Iterable[int], m: int
) -> list[int]:
    """The m open groups of largest reward; a group that could be among them gets a key, and keys order equals."""
    best: list[tuple[float, float, int]] = []
    for g in open_groups:
        if len(best) == m and reward[g] < best[-1][0]:
            continue
        best.append((reward[g], rng.random(), g))
        best.sort(key=lambda entry: (-entry[0], -entry[1]))
        best = best[:m]
    return [g for _, _, g in best]


def items_twin(rng: Generator, run: Run, until: int) -> None:
    queue = list(run.items)
    for here in range(min(until, len(queue))):
        other = here + int(rng.random() * (len(queue) - here))
        queue[here], queue[other] = queue[other], queue[here]
        run.record(queue[here])


def groups_twin(rng: Generator, run: Run, m: int, until: int) -> None:
    open_groups = run.open_groups()
    while len(run.asked) < min(until, len(run.items)):
        if m > 1:
            for g in best_groups(rng, [0.0] * len(run.left), run.open_groups(), m):
                if len(run.asked) < until:
                    run.take(rng, g)
            continue
        i = int(rng.random() * len(open_groups))
        run.take(rng, open_groups[i])
        if not run.left[open_groups[i]]:
            open_groups[i] = open_groups[-1]
            open_groups.pop()


def beta_variance(alpha: Sequence[float] | Floats, size: int, left: int, pool: bool) -> float:
    a, b = alpha
    s = a + b
    factor = left * (s + left) / (float(size) * size * (s + 1)) if pool else 1 / (s + 1)
    return a * b / (s * s) * factor


def drops(run: Run, g: int, pool: bool) -> tuple[float, float]:
    """Share-weighted fall in variance by a wrong and a right label."""
    (a, b), size, left = run.alpha(g), run.size[g], run.unlabelled(g)
    share, now = size / len(run.items), beta_variance((a, b), size, left, pool)
    wrong, right = beta_variance((a, b + 1), size, left - 1, pool), beta_variance((a + 1, b), size, left - 1, pool)
    return share * (now - wrong), share * (now - right)


def bounded_twin(
    rng: Generator,
    run: Run,
    until: int,
    bound: Callable[[int], float],
    draw: Callable[[Generator, int], float],
) -> None:
    """Draw rewards in descending order of their bounds, until no bound is as good as the best reward."""
    groups = range(len(run.left))
    limit = [bound(g) if run.left[g] else -math.inf for g in groups]
    order = sorted(groups, key=lambda g: -limit[g])
    while len(run.asked) < min(until, len(run.items)):
        best, winner, ties = -math.inf, -1, 0
        for g in order:
            if winner >= 0 and limit[g] < best:
                break
            reward = draw(rng, g)
            ties = ties + 1 if reward == best else 1
            if reward > best or (reward == best and rng.random() * ties < 1):
                best, winner = reward, g
        run.take(rng, winner)
        limit[winner] = bound(winner) if run.left[winner] else -math.inf
        order.remove(winner)
        at = next((i for i, g in enumerate(order) if limit[g] < limit[winner]), len(order))
        order.insert(at, winner)


def estimate_twin(rng: Generator, run: Run, pool: bool, until: int) -> None:
    def draw(rng: Generator, g: int) -> float:
        theta = upcoming_draw(rng, run, g, pool)[0]
        wrong, right = drops(run, g, pool)
        return (1 - theta) * wrong + theta * right

    bounded_twin(rng, run, until, lambda g: max(drops(run, g, pool)), draw)


def confusion_twin(rng: Generator, run: Run, pool: bool, until: int) -> None:
    def reward(g: int, overlap: float) -> float:
        alpha, size, left = run.alpha(g), run.size[g], run.unlabelled(g)
        s, q = alpha.sum(), dot(alpha, alpha)

        def spread(s: float, left: int) -> float:
            return left * (s + left) / (float(size) * size * (s + 1)) if pool else 1 / (s + 1)

        after = 1 - (q + 1 + 2 * overlap) / ((s + 1) * (s + 1))
        drop = (1 - q / (s * s)) * spread(s, left) - after * spread(s + 1, left - 1)
        return drop * size / len(run.items)

    def draw(rng: Generator, g: int) -> float:
        theta = upcoming_draw(rng, run, g, pool)
        return reward(g, dot(theta, run.alpha(g)))

    bounded_twin(rng, run, until, lambda g: reward(g, run.alpha(g).max()), draw)


def dot(first: Iterable[float], second: Iterable[float]) -> float:
    total = 0.0
    for x, y in zip(first, second, strict=True):
        total += x * y
    return total


def scored_twin(rng: Generator, run: Run, m: int, until: int, rewards: Rewards, *, toptwo: bool = False) -> None:
    """Ask in the m best groups of one draw of rewards, or in the best of this or another draw (top-two)."""
    while len(run.asked) < min(until, len(run.items)):
        chosen = best_groups(rng, rewards(rng), run.open_groups(), 2 if toptwo else m)
        if toptwo and len(chosen) == 2 and rng.random() >= 0.5:
            first = chosen[0]
            for _ in range(100):
                chosen = best_groups(rng, rewards(rng), run.open_groups(), 2)
                if chosen[0] != first:
                    break
            else:
                chosen = chosen[1:]
        for g in chosen[:1] if toptwo else chosen:
            if len(run.asked) < until:
                run.take(rng, g)


def lowest_rewards(run: Run, pool: bool) -> Rewards:
    def rewards(rng: Generator) -> dict[int, float]:
        out = {}
        for g in run.open_groups():
            a, b = run.alpha(g)
            if pool:
                right = run.counts[g, 0]
                out[g] = -(right + rng.binomial(run.unlabelled(g), beta_draw(rng, a, b))) / run.size[g]
            else:
                out[g] = -odds_draw(rng, a, b)
        return out

    return rewards


def value_rewards(
    run: Run, weight: Floats, centre: Floats, cells_of: Sequence[NDArray[np.int64]], pool: bool
) -> Rewards:
    def rewards(rng: Generator) -> dict[int, float]:
        out = {}
        for g in run.open_groups():
            out[g] = 0.0
            for c in cells_of[g]:
                theta = shares_draw(rng, run.alpha(c), run.counts[c], run.size[c], pool)
                for j, share in enumerate(theta):
                    if weight[c, j]:
                        out[g] += weight[c, j] * abs(share - centre[c, j])
        return out

    return rewards


def mrr_twin(values: Sequence[float] | Floats, members: Collection[int], there: Iterable[int]) -> float:
    """MRR of the true members for one vector of values, averaged over all orders of equal values."""
    total = 0.0
    for i in members:
        rivals = [g for g in there if g not in members]
        above = sum(values[g] > values[i] for g in rivals)
        equal = sum(values[g] == values[i] for g in rivals)
        total += sum(1 / (above + 1 + k) for k in range(equal + 1)) / (equal + 1)
    return total / len(members)
