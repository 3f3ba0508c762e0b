"""The simulator: how fast each method's error falls with the number of labels, on a pool whose labels are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.checks import of_kind, whole_number
from fewlabels.errors import SpecError
from fewlabels.named import groups_from
from fewlabels.partition import of_pool
from fewlabels.pool import Pool
from fewlabels.simulation.budgets import label_counts
from fewlabels.simulation.kernels.jit import need_compiler
from fewlabels.simulation.methods import methods_from
from fewlabels.simulation.order import asker_with_anchors
from fewlabels.simulation.parallel import chunks, gather, run_generator
from fewlabels.simulation.scorer import IdentifyScorer, Scorer, scorer_of
from fewlabels.simulation.significance import against_best
from fewlabels.simulation.truth import truth as truth_of
from fewlabels.spec import check_one_model, to_json
from fewlabels.table import Table
from fewlabels.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from fewlabels.partition import Partition
    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.scorer import Better
    from fewlabels.simulation.truth import Labels, Truth

_REACHED = 0.99  # of the MRR, or of its maximum if that is below 1: the paper's "identified"


def simulate(
    pool: Pool,
    labels: Labels,
    groups: Partition | str | None = None,
    *,
    task: Task,
    methods: Sequence[str | Method] | str,
    budgets: Iterable[int | str],
    runs: int = 1000,
    jobs: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Try methods on a fully labelled pool: each run starts without labels and is scored at each budget.

    Parameters
    ----------
    pool
        The items and predictions.
    labels
        The true class of every item: by id, as a mapping or as a Series by its index, or in the order of the pool.
        Names, or positions in `pool.classes`.
    groups
        The partition; by predicted class if not given.
    task
        The question, such as `Estimate(Accuracy())` or `Identify(Accuracy(), lowest=10)`.
    methods
        Names such as "informed+thompson" or "uniform:4+items+pool", or `Method` objects.
    budgets
        Numbers of labels, or percentages such as "10%" of the items that can be asked about.
    runs
        How often each method is run. Run r has the generator of `SeedSequence(seed, spawn_key=(r,))`, for every method.
    jobs
        How many threads; None for as many as there are processors. The result does not depend on it.
    seed
        Another seed gives other runs.
    executor
        Any standard executor to do the work: a process pool, or `client.get_executor()` of Dask.
    progress
        Called with the number of pieces of work done, which starts at 0, and the total.

    Returns
    -------
    Columns method, budget, score, mean, se (standard error), q10, q50, q90 (quantiles over runs), p (Wilcoxon
    signed-rank test against the best by mean, run by run) and best (whether it is that, or not
    significantly worse at 0.05). docs/simulate.md describes the scores.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.simulation.study import simulate
    >>> digits = fl.load_digits()
    >>> pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
    >>> table = simulate(
    ...     pool, digits.labels, task=fl.Estimate(fl.Accuracy()), methods=["uniform+items", "uniform+thompson"],
    ...     budgets=[50, 200], runs=20,
    ... )
    >>> [(row["method"], row["budget"], row["score"]) for row in table.rows()][:2]
    [('uniform+items', 50, 'rmse'), ('uniform+items', 200, 'rmse')]
    """
    need_compiler()
    runs = whole_number(runs, "The 'runs' of simulate()")
    seed = whole_number(seed, "The 'seed' of simulate()", least=0)
    of_kind(pool, Pool, "The 'pool' of simulate()")
    of_kind(task, Task, "The 'task' of simulate()", error=SpecError)
    check_one_model(pool, task, "Simulate with the pool of one, which is pool.of(name)")
    tried = methods_from(methods, task)
    partition = of_pool(groups_from("predicted" if groups is None else groups, pool), pool)
    case = truth_of(pool, labels, partition, task, tried)
    at = label_counts(budgets, int(case.room.sum()))
    work = [partial(run_chunk, case, tried_method, at, seed, chunk) for tried_method in tried for chunk in chunks(runs)]
    if progress is not None:
        progress(0, len(work))
    done = gather(work, jobs=jobs, executor=executor, progress=progress)
    per = len(chunks(runs))
    results = {tried_method.name: _joined(done[i * per : (i + 1) * per]) for i, tried_method in enumerate(tried)}
    settings = {
        "task": to_json(task),
        "groups": to_json(partition.recipe),
        "methods": [tried_method.name for tried_method in tried],
        "budgets": at.tolist(),
        "runs": runs,
        "seed": seed,
        "pool": pool.source,
        "items": len(pool),
    }
    return Table(_columns(scorer_of(case), tried, at, results), settings)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some runs of one method.

    Parameters
    ----------
    scores
        Each score by run and budget, shape (runs, budgets).
    curves
        Sums over runs of the MRR after 0, 1, ... labels, one for each piece of work, each with its number of runs.
    labels
        The label count of each run, if that is scored.
    """

    scores: Mapping[str, NDArray[np.float64]]
    curves: Sequence[tuple[int, NDArray[np.float64]]]
    labels: Sequence[float]


def run_chunk(truth: Truth, method: Method, budgets: NDArray[np.int64], seed: int, runs: range) -> Chunk:
    """Do some runs of a method. Only the sums of curves with a value for each label are kept."""
    ask, scorer = asker_with_anchors(truth.asking(method), truth.asked_by(method)), scorer_of(truth)
    scores: dict[str, list[NDArray[np.float64]]] = {name: [] for name in scorer.better}
    total: NDArray[np.float64] | None = None
    labels: list[float] = []
    for run in runs:
        rng = run_generator(seed, run)
        order, anchor = ask(rng, int(budgets[-1]))
        verdict = scorer.verdict(method, order, budgets, rng, anchor)
        for name, values in verdict.scores.items():
            scores[name].append(values)
        if verdict.curve is not None:
            total = verdict.curve if total is None else total + verdict.curve
        if verdict.labels is not None:
            labels.append(verdict.labels)
    curves = [] if total is None else [(len(runs), total)]
    return Chunk({name: np.array(values) for name, values in scores.items()}, curves, labels)


def _joined(parts: Sequence[Chunk]) -> Chunk:
    """Join chunks in the order of the runs."""
    scores = {name: np.concatenate([part.scores[name] for part in parts]) for name in parts[0].scores}
    curves = [curve for part in parts for curve in part.curves]
    return Chunk(scores, curves, [count for part in parts for count in part.labels])


def _columns(
    scorer: Scorer, methods: Sequence[Method], budgets: NDArray[np.int64], results: Mapping[str, Chunk]
) -> dict[str, list[Any]]:
    """The tidy columns: a row for each score, method and budget, then one for each method's label count."""
    rows: list[dict[str, Any]] = []
    for score, better in scorer.better.items():
        tests = [_tested(results, score, i, better) for i in range(len(budgets))]
        for tried_method in methods:
            for i, budget in enumerate(budgets.tolist()):
                row = _row(tried_method.name, budget, score, results[tried_method.name].scores[score][:, i])
                rows.append(row | tests[i][tried_method.name])
    if scorer.counted and isinstance(scorer, IdentifyScorer):
        rows += _identified(scorer, methods, results)
    elif scorer.counted:
        counts = {name: np.array(chunk.labels) for name, chunk in results.items()}
        test = against_best(counts, "low")
        most = int(budgets[-1])
        rows += [_row(name, most, scorer.counted, counts[name]) | test[name] for name in counts]
    return {name: [row[name] for row in rows] for name in rows[0]}


def _tested(results: Mapping[str, Chunk], score: str, i: int, better: Better) -> dict[str, dict[str, Any]]:
    """The p-value of each method at a budget, and whether it is among the best; none where no score is the best."""
    if better == "near":
        return {name: {"p": None, "best": None} for name in results}
    return against_best({name: chunk.scores[score][:, i] for name, chunk in results.items()}, better)


def _row(method: str, budget: int, score: str, values: NDArray[np.float64]) -> dict[str, Any]:
    quantiles = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
    se = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    row = {"method": method, "budget": budget, "score": score, "mean": float(values.mean()), "se": se}
    return row | dict(zip(("q10", "q50", "q90"), quantiles, strict=True))


def _identified(
    scorer: IdentifyScorer, methods: Sequence[Method], results: Mapping[str, Chunk]
) -> list[dict[str, Any]]:
    """The labels to identify, with a standard error by leaving out one piece of the runs at a time (jackknife)."""
    rows: list[dict[str, Any]] = []
    for tried_method in methods:
        curves = results[tried_method.name].curves
        runs, total = sum(n for n, _ in curves), np.sum([curve for _, curve in curves], axis=0)
        ceiling = scorer.ceiling(tried_method)
        first = labels_to_identify(total / runs, ceiling)
        without = [labels_to_identify((total - curve) / (runs - n), ceiling) for n, curve in curves if runs > n]
        known = np.array([n for n in without if n is not None], dtype=float)
        se = None
        if first is not None and len(known) == len(curves) > 1:
            se = float(np.sqrt((len(known) - 1) * known.var()))
        row = {"method": tried_method.name, "budget": len(total) - 1, "score": scorer.counted, "mean": first, "se": se}
        rows.append(row | dict.fromkeys(("q10", "q50", "q90", "p", "best")))
    reached = [row["mean"] for row in rows if row["mean"] is not None]
    for row in rows:
        row["best"] = row["mean"] is not None and row["mean"] == min(reached)
    return rows


def labels_to_identify(curve: NDArray[np.float64], ceiling: float) -> float | None:
    """The first label count at which a mean MRR exceeds min(0.99, 0.99·its maximum); None if none does.

    `ceiling` is the MRR with all labels, so that a curve that ends early has the right maximum.

    >>> labels_to_identify(np.array([0.2, 0.7, 1.0, 1.0]), 1.0), labels_to_identify(np.array([0.2, 0.7]), 1.0)
    (2.0, None)
    """
    above = curve > min(_REACHED, _REACHED * max(float(curve.max()), ceiling))
    return float(above.argmax()) if above.any() else None
