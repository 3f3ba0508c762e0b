"""Simulated runs with several models: which is best, or how much two differ, when every label is known."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.cells import ModelCells
from fewlabels.checks import whole_number
from fewlabels.errors import SpecError
from fewlabels.partition import whole
from fewlabels.parts import build, registered
from fewlabels.policies import Policy, default_policy
from fewlabels.priors import Learned
from fewlabels.simulation.budgets import label_counts
from fewlabels.simulation.contest_baselines import BASELINES, plain_run
from fewlabels.simulation.contest_case import Contest
from fewlabels.simulation.contest_learned import learned_run
from fewlabels.simulation.parallel import chunks, gather, run_generator
from fewlabels.simulation.significance import against_best
from fewlabels.simulation.truth import item_classes
from fewlabels.spec import to_json
from fewlabels.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.simulation.truth import Labels
    from fewlabels.tasks.models import ModelsTask


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
    coverage (percent of runs whose 95% interval contains the true difference), sure and sure-right.
    """
    runs = whole_number(runs, "The 'runs' of simulate_models()")
    items = None if items is None else whole_number(items, "The 'items' of simulate_models()")
    partition = whole(pool) if groups is None else groups
    cells = task.cells(pool, partition)
    assert isinstance(cells, ModelCells)
    names = [m.strip() for m in methods.split(",")] if isinstance(methods, str) else list(methods)
    tried = {name: contestant(name, task) for name in names}
    case = Contest(task, cells, item_classes(pool, labels), items)
    size = min(len(case.true), items or len(case.true))
    at = label_counts(budgets, size, least=1, capped=True)
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
    """Play some runs of one method; returns each score, shape (runs, budgets)."""
    policy = contestant(name, case.task)
    rows: list[dict[str, list[float]]] = []
    for run in runs:
        # The items of a run are the same for every method.
        drawn = case.drawn(np.random.default_rng([seed, run, 0]))
        rng = run_generator(seed, run)
        rows.append(plain_run(drawn, name, at, rng) if policy is None else learned_run(drawn, policy, at, rng))
    return {score: np.array([row[score] for row in rows]) for score in rows[0]}


# --- the table


_HIGH = ("best", "coverage", "sure", "sure-right")


def _columns(results: dict[str, dict[str, NDArray[np.float64]]], at: NDArray[np.int64]) -> dict[str, list[Any]]:
    names = ("method", "budget", "score", "mean", "se", "q10", "q50", "q90", "p", "best")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    scores = next(iter(results.values()))
    for score in scores:
        compares = score in ("best", "regret", "error")
        for i, budget in enumerate(at.tolist()):
            values = {name: by_score[score][:, i] for name, by_score in results.items()}
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
