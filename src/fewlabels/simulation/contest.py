"""Runs about several models: which is best, or how much two differ, with every label known and asked for in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.cells import ModelCells, ModelRows
from fewlabels.checks import whole_number
from fewlabels.errors import SpecError
from fewlabels.outcomes import Outcomes
from fewlabels.partition import whole
from fewlabels.parts import build, registered
from fewlabels.policies import Policy, default_policy
from fewlabels.priors import Learned
from fewlabels.simulation.parallel import chunks, gather, run_generator
from fewlabels.simulation.significance import against_best
from fewlabels.simulation.truth import item_classes
from fewlabels.spec import to_json
from fewlabels.special import ndtri
from fewlabels.table import Table
from fewlabels.tasks import CompareModels, Rewards
from fewlabels.tasks.models import surest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.simulation.truth import Labels
    from fewlabels.tasks.models import ModelsTask

BASELINES = ("random", "disagreements", "selector")
"""Methods without a belief about items: of all items, of those on which models differ, and Model Selector's rule."""
_SURE = 0.95
_DRAWS = 2_000
# Each label has its own belief at first; later a twentieth of the labels come between two of them.
_FIRST, _SHARE = 20, 20


@dataclass(frozen=True, eq=False)
class Contest:
    """A question about several models on a pool whose true classes are known.

    Parameters
    ----------
    task
        The question.
    cells
        The rows of all items.
    true
        The true class of each item, shape (items,).
    items
        How many items, drawn at random, each run is on; None for all.
    """

    task: ModelsTask
    cells: ModelCells
    true: NDArray[np.int32]
    items: int | None = None

    def drawn(self, rng: np.random.Generator) -> Contest:
        """The question on the items of one run."""
        if self.items is None or self.items >= len(self.true):
            return self
        pick = np.sort(rng.choice(len(self.true), self.items, replace=False))
        return Contest(self.task, some_items(self.cells, pick), self.true[pick])

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which models are right about each item, shape (items, models)."""
        return self.cells.said == self.true[:, None]


def some_items(cells: ModelCells, pick: NDArray[np.int64]) -> ModelCells:
    """The rows of some of the items, all in one group."""
    sure = None if cells.confidences is None else cells.confidences[pick]
    rows = cells.partition
    assert isinstance(rows, ModelRows)
    assert cells.groups is not None
    fewer = replace(cells.groups, names=cells.groups.names, group=cells.groups.group[pick])
    if (fewer.sizes[cells.groups.sizes > 0] == 0).any():
        raise SpecError("some groups have no items among those drawn. Use more --items, or fewer groups.")
    partition = replace(rows, group=rows.group[pick], of=fewer)
    return replace(
        cells, partition=partition, cell=cells.cell[pick], said=cells.said[pick], confidences=sure, groups=fewer
    )


def simulate_models(
    pool: Pool,
    labels: Labels,
    groups: Partition | None = None,
    *,
    task: ModelsTask,
    methods: Sequence[str] | str,
    budgets: Iterable[int | str],
    items: int | None = None,
    runs: int = 100,
    jobs: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Try methods on a pool of several models whose labels are all known; the arguments are those of `simulate`.

    Methods are `learned+default` (what the product does), `learned+POLICY`, and the baselines `random`,
    `disagreements` and `selector`. Each run is on `items` items drawn at random, and about exactly these.

    Scores for `Best`: best (percent of runs in which no model of the pool is better than the one chosen), regret
    (points that the chosen one is behind), sure (percent of runs that are 95% sure by now, and would stop) and
    sure-right (percent of these in which the answer was right when it became sure; none if there are none). For
    `CompareModels`: error (points between the estimated and the true difference), sd (points that the method states),
    coverage (percent of runs whose 95% interval has the true difference), sure and sure-right.
    """
    runs = whole_number(runs, "The 'runs' of simulate_models()")
    partition = whole(pool) if groups is None else groups
    cells = task.cells(pool, partition)
    assert isinstance(cells, ModelCells)
    names = [m.strip() for m in methods.split(",")] if isinstance(methods, str) else list(methods)
    tried = {name: contestant(name, task) for name in names}
    case = Contest(task, cells, item_classes(pool, labels), items)
    size = min(len(case.true), items or len(case.true))
    at = np.array(sorted({_budget(budget, size) for budget in budgets}))
    work = [partial(run_chunk, case, name, at, seed, chunk) for name in tried for chunk in chunks(runs)]
    if progress is not None:
        progress(0, len(work))
    done = gather(work, jobs=jobs, executor=executor, progress=progress)
    per = len(chunks(runs))
    results = {
        name: {score: np.concatenate([part[score] for part in done[i * per : (i + 1) * per]]) for score in done[0]}
        for i, name in enumerate(tried)
    }
    settings = {
        "task": to_json(task),
        "groups": to_json(partition.recipe),
        "methods": names,
        "budgets": at.tolist(),
        "runs": runs,
        "seed": seed,
        "pool": pool.source,
        "items": size,
    }
    return Table(_columns(results, at), settings)


def contestant(name: str, task: ModelsTask) -> Policy | None:
    """The policy of a method, or None for a baseline; an unknown name is a SpecError."""
    if name in BASELINES:
        return None
    prior, _, policy = name.partition("+")
    if prior != "learned" or not policy:
        raise SpecError(
            f"unknown method {name!r}. For several models use learned+default, learned+POLICY, or one of "
            f"{', '.join(BASELINES)}."
        )
    if policy == "default":
        return default_policy(task, Learned())
    kind, _, argument = policy.partition(":")
    known = registered("policy")
    if kind not in known:
        raise SpecError(f"unknown method {name!r}: there is no policy {kind!r}. Policies are {', '.join(known)}.")
    made: Policy = build(known[kind], argument, option=f"method {name!r}:")
    return made


def run_chunk(
    case: Contest, name: str, at: NDArray[np.int64], seed: int, runs: range
) -> dict[str, NDArray[np.float64]]:
    """Some runs of one method: each score, shape (runs, budgets)."""
    policy = contestant(name, case.task)
    rows: list[dict[str, list[float]]] = []
    for run in runs:
        # The items of a run are the same for every method.
        drawn = case.drawn(np.random.default_rng([seed, run, 0]))
        rng = run_generator(seed, run)
        rows.append(_plain(drawn, name, at, rng) if policy is None else _learned(drawn, policy, at, rng))
    return {score: np.array([row[score] for row in rows]) for score in rows[0]}


# --- the learned method


def _learned(case: Contest, policy: Policy, at: NDArray[np.int64], rng: np.random.Generator) -> dict[str, list[float]]:
    """One run of the learned prior with a policy."""
    cells, task = case.cells, case.task
    prior = Learned().on(cells, "pool")
    free = task.asks(cells).astype(np.int64)
    items: list[int] = []
    scores = _Scores(case)
    last, marks = int(at.max()), set(at.tolist())
    for label in range(last + 1):
        ends = label in marks or not free.any()
        if label <= _FIRST or label % (1 + label // _SHARE) == 0 or ends:
            asked = np.array(items, dtype=np.int64)
            belief = prior.belief(Outcomes.of(cells, asked, case.true[asked].astype(np.int64)))
            rewards = Rewards(task, cells, belief)
            scores.look(belief, rng, label, ends=ends)
        if ends:
            for mark in sorted(marks) if not free.any() else [label]:
                if mark >= label and mark in marks:
                    scores.note()
                    marks.discard(mark)
            if not free.any() or label == last:
                break
        item = int(policy.choose(rewards, free, 1, rng)[0])
        items.append(item)
        free[item] = 0
    return scores.found


class _Scores:
    """The scores of one run, at each budget in turn."""

    def __init__(self, case: Contest, *, judges: bool = True) -> None:
        self.case, self.judges = case, judges
        self.truth = case.right.sum(axis=0) / len(case.true)
        self.found: dict[str, list[float]] = {}
        self.now: dict[str, float] = {}
        self.sure: bool | None = None
        self.most = 1.0

    def look(self, belief: Any, rng: np.random.Generator, label: int, *, ends: bool) -> None:
        """Read the belief after some labels; in full only where it is scored."""
        task = self.case.task
        right = belief.look.right.sum(axis=1) / len(self.case.true)
        if not ends and (label < 2 or not self._near(right, task)):
            return
        draws = belief.draws(rng, _DRAWS)[..., 0].reshape(_DRAWS, -1, right.shape[1])
        sizes = self.case.cells.size.reshape(draws.shape[1], -1)[:, 0]
        values = np.einsum("mgh,g->mh", draws, sizes / sizes.sum())
        self.most = surest(belief, task.asks(self.case.cells))
        self.read(values, belief.look.expected.sum(axis=1).mean(axis=0) / len(self.case.true))

    def _near(self, right: NDArray[np.float64], task: ModelsTask) -> bool:
        """Whether the few draws of a look are sure enough to look again with more."""
        if isinstance(task, CompareModels):
            a, b = (self.case.cells.models.index(name) for name in (task.a, task.b))
            region = np.bincount(_regions(task, right[:, a] - right[:, b]), minlength=3)
            return bool(region.max() / len(right) >= _SURE - 0.05)
        best = right >= right.max(axis=1, keepdims=True) - 1e-9
        return bool(best.mean(axis=0).max() >= _SURE - 0.05)

    def read(self, values: NDArray[np.float64], mean: NDArray[np.float64]) -> None:
        """Read draws of the shares right, shape (draws, models), and their means."""
        task = self.case.task
        if isinstance(task, CompareModels):
            a, b = (self.case.cells.models.index(name) for name in (task.a, task.b))
            apart = values[:, a] - values[:, b]
            low, high = np.quantile(apart, [0.025, 0.975])
            self.compared(task, mean[a] - mean[b], float(apart.std()), float(low), float(high), _shares(task, apart))
        else:
            lead = int(mean.argmax())
            sure = float((values[:, lead] >= values.max(axis=1) - 1e-9).mean())
            self.chosen(lead, sure)

    def chosen(self, lead: int, sure: float) -> None:
        """A model is named as the best, with this probability."""
        is_right = bool(self.truth[lead] >= self.truth.max() - 1e-9)
        self._stop(sure, is_right)
        self.now = {"best": 100.0 * is_right, "regret": 100 * float(self.truth.max() - self.truth[lead])}

    def compared(
        self, task: CompareModels, mean: float, sd: float, low: float, high: float, regions: NDArray[np.float64]
    ) -> None:
        """A difference is estimated, with its interval and the probability of each region."""
        a, b = (self.case.cells.models.index(name) for name in (task.a, task.b))
        true = float(self.truth[a] - self.truth[b])
        self._stop(float(regions.max()), int(regions.argmax()) == int(_regions(task, np.array([true]))[0]))
        self.now = {
            "error": 100 * abs(mean - true),
            "sd": 100 * sd,
            "coverage": 100.0 * (low - 1e-9 <= true <= high + 1e-9),
        }

    def _stop(self, sure: float, is_right: bool) -> None:
        if self.sure is None and min(sure, self.most) >= _SURE:
            self.sure = is_right

    def note(self) -> None:
        """Keep the scores of this moment for the next budget."""
        stopped = self.sure is not None
        sure = 100.0 * stopped if self.judges else np.nan
        extra = {"sure": sure, "sure-right": 100.0 * bool(self.sure) if stopped else np.nan}
        for name, value in (self.now | extra).items():
            self.found.setdefault(name, []).append(value)


def _regions(task: CompareModels, apart: NDArray[np.float64]) -> NDArray[np.int64]:
    edge = task.rope + 1e-12
    return np.where(apart < -edge, 0, np.where(apart > edge, 2, 1))


def _shares(task: CompareModels, apart: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(_regions(task, apart), minlength=3) / len(apart)


# --- the baselines


def _plain(case: Contest, name: str, at: NDArray[np.int64], rng: np.random.Generator) -> dict[str, list[float]]:
    """One run of a baseline."""
    if isinstance(case.task, CompareModels):
        if name == "selector":
            raise SpecError("selector finds the best model; it does not compare two. Use random or disagreements.")
        return _paired(case, name, at, rng)
    right, scores = case.right, _Scores(case, judges=False)
    if name == "selector":
        order, lead = selector(case.cells.said, case.true, rng, int(at.max()))
    else:
        pool = np.flatnonzero(case.task.asks(case.cells)) if name == "disagreements" else np.arange(len(case.true))
        order = rng.permutation(pool)[: int(at.max())]
        total = np.cumsum(right[order], axis=0)
        lead = (total + 1e-6 * rng.random(total.shape)).argmax(axis=1)
    for budget in at.tolist():
        step = min(budget, len(order)) - 1
        scores.chosen(int(lead[step]) if step >= 0 else int(rng.integers(right.shape[1])), 0.0)
        scores.note()
    return scores.found


def selector(
    said: NDArray[np.int32], true: NDArray[np.int32], rng: np.random.Generator, most: int, error: float = 0.1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Model Selector's rule (Okanovic et al. 2024): the items asked for, and the model that leads after each.

    One model is the best and gives the true class with probability 1 − error, the others say nothing beyond it. So the
    weight of a model grows by (1 − error)/error with each right answer. The next item is the one whose label leaves the
    least entropy over models, on average over the classes by the weights of the models that name them.
    """
    models = said.shape[1]
    gain = np.log((1 - error) / error)
    weight = np.zeros(models)
    free = np.ones(len(said), dtype=bool)
    order, leads = [], []
    same = [said == said[:, h : h + 1] for h in range(models)]
    first = np.column_stack([~(said[:, :h] == said[:, h : h + 1]).any(axis=1) for h in range(models)]) & (said >= 0)
    for _ in range(min(most, len(said))):
        w = np.exp(weight - weight.max())
        w /= w.sum()
        log = w * np.log(np.maximum(w, 1e-300))
        left = np.zeros(len(said))
        for h in range(models):
            share, part = same[h] @ w, same[h] @ log
            left += np.where(first[:, h], share * _entropy(share, part, float(log.sum()), gain), 0.0)
        left = np.where(free, left, np.inf)
        item = int(rng.choice(np.flatnonzero(left <= left.min() + 1e-12)))
        free[item] = False
        weight += gain * (said[item] == true[item])
        order.append(item)
        leads.append(int((weight + 1e-9 * rng.random(models)).argmax()))
    return np.array(order, dtype=np.int64), np.array(leads, dtype=np.int64)


def _entropy(share: NDArray[np.float64], part: NDArray[np.float64], all_: float, gain: float) -> NDArray[np.float64]:
    """The entropy over models after a label that models with this share of the weight have right; part: Σ w log w."""
    ratio = np.exp(gain)
    total = ratio * share + 1 - share
    return np.log(total) - (ratio * (part + gain * share) + all_ - part) / total


def _paired(case: Contest, name: str, at: NDArray[np.int64], rng: np.random.Generator) -> dict[str, list[float]]:
    """The difference of two models from labels at random, of all items or of those on which they differ."""
    task = case.task
    assert isinstance(task, CompareModels)
    a, b = (case.cells.models.index(one) for one in (task.a, task.b))
    z = case.right[:, a].astype(float) - case.right[:, b]
    pool = np.flatnonzero(case.task.asks(case.cells)) if name == "disagreements" else np.arange(len(z))
    order, scores = rng.permutation(pool), _Scores(case)
    share = len(pool) / len(z)
    for budget in at.tolist():
        seen = z[order[:budget]]
        n = max(len(seen), 1)
        finite = 1 - len(seen) / max(len(pool), 1)
        mean = share * float(seen.mean()) if len(seen) else 0.0
        sd = share * float(np.sqrt(seen.var() / max(n - 1, 1) * finite)) if len(seen) > 1 else share
        half = -ndtri(0.025) * sd
        draws = rng.normal(mean, max(sd, 1e-9), 2_000)
        scores.compared(task, mean, sd, mean - half, mean + half, _shares(task, draws))
        scores.note()
    return scores.found


# --- the table


def _budget(text: int | str, items: int) -> int:
    if isinstance(text, str) and text.strip().endswith("%"):
        text = round(float(text.strip()[:-1]) / 100 * items)
    return min(whole_number(int(text), "A budget"), items)


_HIGH = ("best", "coverage", "sure", "sure-right")


def _columns(results: dict[str, dict[str, NDArray[np.float64]]], at: NDArray[np.int64]) -> dict[str, list[Any]]:
    names = ("method", "budget", "score", "mean", "se", "q10", "q50", "q90", "p", "best")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    scores = next(iter(results.values()))
    for score in scores:
        compares = score in ("best", "regret", "error")
        for i, budget in enumerate(at.tolist()):
            values = {name: found[score][:, i] for name, found in results.items()}
            marks = against_best(values, "high" if score in _HIGH else "low") if compares else {}
            for name, v in values.items():
                known = v[np.isfinite(v)]
                if not len(known):
                    continue  # a rule without a probability is never sure
                row = {"method": name, "budget": budget, "score": score}
                row |= _summary(known)
                row |= marks.get(name, {"p": None, "best": None})
                for key, value in row.items():
                    columns[key].append(value)
    return columns


def _summary(values: NDArray[np.float64]) -> dict[str, float]:
    q = np.quantile(values, [0.1, 0.5, 0.9])
    se = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return {"mean": float(values.mean()), "se": se, "q10": float(q[0]), "q50": float(q[1]), "q90": float(q[2])}
