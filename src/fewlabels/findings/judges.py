"""How judges compare with people: agreement, what they find on each side, kappa, and the corrected pass rate.

A judge says pass or fail for every item, people for a few. θ_pass and θ_fail are the shares of what it passes and of
what it fails that people would pass. They come from the learned prior, in a pool in which the judge's verdict is the
prediction and everything else that is known is evidence. What people would pass of all items does not depend on who
judges: it is the number that the question's own model gives, and the two shares are moved until they add up to it. How
many items the judge passes is known, and the rest is arithmetic on draws, so the measures of one judge fit together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fewlabels.errors import Argument, SpecError
from fewlabels.estimates import affordable, check_level, summed_up, value_draws
from fewlabels.evidence import verdicts
from fewlabels.metrics import Accuracy, Prevalence
from fewlabels.named import groups_from
from fewlabels.opposites import passing
from fewlabels.partition import Partition, whole
from fewlabels.pool import NO_ANSWER, Pool
from fewlabels.priors import Learned
from fewlabels.reserve import items_of
from fewlabels.special import expit, logit
from fewlabels.table import Table
from fewlabels.undefined import divided

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment
    from fewlabels.metrics import Metric

PREDICTED = "predicted"
"""The name of the judge whose verdicts are the predictions."""
_DRAWS = 4_000
_STREAM = 0x6A7564  # the generator of these draws is apart from all others
# Shares are kept this far from 0 and 1 where their log-odds are needed; standard deviations by which they may be moved,
# and how often the interval of these is halved: to 1e-6.
_EDGE, _FAR, _HALVINGS = 1e-9, 8.0, 24


class Judge(NamedTuple):
    """A judge, and its verdict on each item: 1 pass, 0 fail, −1 none; shape (items,)."""

    name: str
    verdict: NDArray[np.int64]


def judges_of(audit: Assessment) -> list[Judge]:
    """The judges: the predictions if the question is about a true pass rate, and evidence columns of two verdicts."""
    pool, metric = audit.pool, audit.spec.task.metric
    if audit.spec.task.of_models:
        return []
    judges = []
    if isinstance(metric, Prevalence):
        answers = np.where(pool.predicted < len(pool.choices), pool.predicted, -1).astype(np.int64)
        judges.append(Judge(PREDICTED, _passed(answers, pool.choices.index(metric.positive))))
    for name in pool.evidence:
        own = _verdict(pool, name, metric)
        if own is not None:
            judges.append(Judge(name, own))
    return judges


def _passed(answers: NDArray[np.int64], positive: int) -> NDArray[np.int64]:
    return np.where(answers < 0, -1, answers == positive).astype(np.int64)


def _verdict(pool: Pool, name: str, metric: Metric) -> NDArray[np.int64] | None:
    """The verdict of an evidence column on each item, if it has verdicts; else None."""
    column = pool.column(name)
    if isinstance(metric, Prevalence) and (answers := verdicts(column, pool.choices)) is not None:
        return _passed(answers, pool.choices.index(metric.positive))
    words = sorted({str(value) for value in column.unique().to_pylist() if value is not None})
    good = passing(words)
    if good is None:
        return None
    answers = np.array([-1 if value is None else words.index(str(value)) for value in column.to_pylist()])
    return _passed(answers, words.index(good))


def read_judges(audit: Assessment, level: float, groups: Partition | str | None = None) -> Table:
    """Compare each judge with people, as `judge_table` does; a SpecError if there is no judge."""
    level = check_level(level)
    if not judges_of(audit):
        raise SpecError(
            f"{audit.name!r} has no judge. A judge is a column of two verdicts, such as pass and fail: name it when "
            "the pool is read, with ",
            Argument("evidence"),
            ".",
        )
    return judge_table(audit, level, groups)


def judge_table(audit: Assessment, level: float, groups: Partition | str | None = None) -> Table:
    """Compare each judge with people, over all items and in each group: a row for each measure.

    Columns: judge, group, measure; k and of, the labels behind it; mean, low and high, None where the measure is 0/0 in
    most draws; and whole, whether the row is about all items, since a group may be called "all" too.
    """
    groups = audit.groups if groups is None else groups_from(groups, audit.pool)
    parts = [whole(audit.pool), *([groups] if len(groups) > 1 else [])]
    rows = [
        {"judge": judge.name, "group": group, "whole": part is parts[0], **row}
        for judge in judges_of(audit)
        for part in parts
        for group, measures in _measured(audit, judge, part, _DRAWS)
        for row in _rows(measures, level)
    ]
    rows = _as_estimated(audit, rows, groups, level) if rows else rows
    columns = ("judge", "group", "measure", "k", "of", "mean", "low", "high", "whole")
    return Table({name: [row[name] for row in rows] for name in columns}, {"level": level, "draws": _DRAWS})


def _as_estimated(
    audit: Assessment, rows: list[dict[str, object]], groups: Partition, level: float
) -> list[dict[str, object]]:
    """The rows with the pass rates that every other table shows, to the last digit."""
    metric = _rate(audit)
    tables = {
        False: audit.estimates(level=level, metric=metric, groups=groups),
        True: audit.estimates(level=level, metric=metric, groups=whole(audit.pool)),
    }
    known = {(is_whole, row["group"]): row for is_whole, table in tables.items() for row in table.rows()}
    ends = ("mean", "low", "high")
    return [
        row | {name: known[row["whole"] is True, row["group"]][name] for name in ends}
        if row["measure"] == "true pass rate" and _says_all(audit, str(row["judge"]))
        else row
        for row in rows
    ]


def _rate(audit: Assessment) -> Metric:
    """What people would pass: the true share of a verdict, or how often predictions are right."""
    metric = audit.spec.task.metric
    return metric if isinstance(metric, Prevalence) else Accuracy()


def _says_all(audit: Assessment, judge: str) -> bool:
    """Whether a judge has a verdict on every item: then what people would pass does not depend on who judges."""
    return judge == PREDICTED or audit.pool.column(judge).null_count == 0


class Measured(NamedTuple):
    """A measure: its name, the labels that show it (k of n), and draws of it."""

    name: str
    k: int | None
    of: int | None
    draws: NDArray[np.float64]


def _measured(audit: Assessment, judge: Judge, part: Partition, draws: int) -> Iterator[tuple[str, list[Measured]]]:
    """The measures of a judge in each group that has verdicts, with the name of the group."""
    from fewlabels.noise import NoisyBelief  # `show` looks here whether there is a judge

    # Nobody passes an answer that is never right, such as a refusal: those items are known, and not modelled.
    asked = judge._replace(verdict=np.where(_never_right(audit), -1, judge.verdict))
    used, piece = np.unique(part.group.astype(np.int64) * 3 + asked.verdict + 1, return_inverse=True)
    judged = items_of(part.group.astype(np.int64) * 3 + judge.verdict + 1, 3 * len(part), part.count)
    names = tuple(f"{part.names[code // 3]} {code % 3 - 1}" for code in used.tolist())
    pieces = Partition(names, piece.astype(np.int32), {"by": "judge", "column": judge.name}, count=part.count)
    mirror, metric = _mirrored(audit, asked)
    cells = metric.cells(mirror, pieces)
    prior = Learned().across(cells, audit.spec.target, audit.groups)
    items, each = audit.possible_labels()
    yes, labelled = _labels(audit, items, each)
    beliefs = prior.beliefs(
        [metric.outcomes(mirror, cells, items, (~_passed_by(audit, items, true)).astype(np.int32)) for true in each]
    )
    belief = NoisyBelief.of(beliefs) if audit.spec.noisy else beliefs[0]
    rng = np.random.default_rng([audit.spec.seed, 0, _STREAM])
    values = value_draws(metric, belief, cells, rng, affordable(draws, belief))
    place = {code: i for i, code in enumerate(used.tolist())}
    rates = _rates(audit, judge, part, len(values))
    for g, name in enumerate(part.names):
        here = [place.get(3 * g + 1), place.get(3 * g + 2)]  # fail, pass
        size = judged[3 * g + 1 : 3 * g + 3]
        if size.sum():
            theta = np.array([np.zeros(len(values)) if at is None else values[:, at] for at in here])
            asked_of = np.array([0 if at is None else pieces.sizes[at] for at in here])
            failed, passed = held_to(theta, asked_of / size.sum(), rates[g]) * (asked_of / np.maximum(size, 1))[:, None]
            inside = labelled[part.group[labelled] == g]
            yield name, _measures(size, failed, passed, judge.verdict[inside], yes[inside])


def _rates(audit: Assessment, judge: Judge, part: Partition, draws: int) -> dict[int, NDArray[np.float64]]:
    """Draws of the share that people would pass among items with a verdict, in each group that has some, by place."""
    spoken = judge.verdict >= 0
    used, piece = np.unique(part.group.astype(np.int64) * 2 + spoken, return_inverse=True)
    if not spoken.all():
        names = tuple(f"{part.names[code // 2]} {code % 2}" for code in used.tolist())
        recipe = {"by": "judge", "column": judge.name}
        part = Partition(names, piece.astype(np.int32), recipe, count=part.count)
    values = audit.draws(draws, metric=_rate(audit), groups=part)
    where = {code // 2: at for at, code in enumerate(used.tolist()) if code % 2}
    return {g: values[:, at if not spoken.all() else g] for g, at in where.items()}


def held_to(theta: NDArray[np.float64], share: NDArray[np.float64], rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draws of two shares, shape (2, draws), moved until Σ share·θ has the distribution of other draws, (draws,) too.

    The k-th smallest sum becomes the k-th smallest rate. The log-odds of both move by the same number of their standard
    deviations, so that what is known does not move.

    >>> rng = np.random.default_rng(1)
    >>> theta, rate = rng.beta([[2], [20]], [[8], [2]], (2, 500)), rng.beta(30, 20, 500)
    >>> moved = held_to(theta, np.array([0.4, 0.6]), rate)
    >>> bool(np.allclose(np.sort([0.4, 0.6] @ moved), np.sort(rate)))
    True
    """
    wanted = np.empty_like(rate)
    wanted[np.argsort(share @ theta, kind="stable")] = np.sort(rate[: len(wanted)])
    odds = logit(np.clip(theta, _EDGE, 1 - _EDGE))
    spread = odds.std(axis=1, keepdims=True) * (share[:, None] > 0)
    if not spread.any():
        return theta
    low, high = np.full(len(wanted), -_FAR), np.full(len(wanted), _FAR)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = share @ expit(odds + middle * spread) > wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(spread > 0, expit(odds + (low + high) / 2 * spread), theta)


def _never_right(audit: Assessment) -> NDArray[np.bool_]:
    """The items whose prediction is never right, where the question is whether it is; shape (items,)."""
    pool = audit.pool
    if isinstance(audit.spec.task.metric, Prevalence):
        return np.zeros(pool.rows, dtype=bool)
    refused: NDArray[np.bool_] = pool.predicted >= len(pool.choices)
    return refused


def _labels(
    audit: Assessment, items: NDArray[np.int64], each: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Whether people pass each item, shape (items,), and the items that have a label.

    Where labels may be wrong, it is what is more probable than not, given all votes.
    """
    yes = np.zeros(audit.pool.rows, dtype=bool)
    yes[items] = np.mean([_passed_by(audit, items, true) for true in each], axis=0) > 0.5
    return yes, items


def _passed_by(audit: Assessment, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether items of these true classes pass, shape (labels,)."""
    pool, metric = audit.pool, audit.spec.task.metric
    passed = pool.choices.index(metric.positive) if isinstance(metric, Prevalence) else pool.predicted[items]
    right: NDArray[np.bool_] = true == passed
    return right


def _mirrored(audit: Assessment, judge: Judge) -> tuple[Pool, Prevalence]:
    """The pool in which the judge's verdicts are the predictions, and the metric that is the true pass rate there.

    The evidence is the other judges, the predictions themselves, and their confidence.
    """
    pool, metric = audit.pool, audit.spec.task.metric
    names = ("right", "wrong")
    columns = {} if pool.columns is None else {name: pool.column(name) for name in pool.evidence if name != judge.name}
    if isinstance(metric, Prevalence):
        others = [name for name in pool.choices if name != metric.positive]
        names = (metric.positive, others[0] if len(others) == 1 else "the rest")
        if judge.name != PREDICTED and len(others) == 1:
            answers = [None if k >= len(pool.choices) else pool.choices[k] for k in pool.predicted.tolist()]
            columns[PREDICTED] = pa.chunked_array([pa.array(answers, pa.string())])
    if pool.confidence is not None:
        columns["its confidence"] = pa.chunked_array([pa.array(pool.confidence)])
    silent = judge.verdict < 0
    predicted = np.where(silent, 2, 1 - judge.verdict).astype(np.int32)
    classes = (*names, NO_ANSWER) if silent.any() else names
    further = pa.Table.from_arrays(list(columns.values()), names=list(columns)) if columns else None
    mirror = Pool(
        pool.id_column,
        predicted,
        classes,
        columns=further,
        unanswered=bool(silent.any()),
        evidence=tuple(columns),
        reserve=pool.reserve,
    )
    return mirror, Prevalence(names[0])


def _measures(
    size: NDArray[np.int64],
    failed: NDArray[np.float64],
    passed: NDArray[np.float64],
    verdict: NDArray[np.int64],
    yes: NDArray[np.bool_],
) -> list[Measured]:
    """The measures of one judge in one group, from θ_fail and θ_pass, and its labels."""
    fails, passes = size / size.sum()
    rate = passes * passed + fails * failed
    agreed = passes * passed + fails * (1 - failed)
    chance = passes * rate + fails * (1 - rate)
    known = verdict >= 0
    yes, verdict = yes[known], verdict[known]
    of_passed, of_failed = divided(passes * passed, rate, _EDGE), divided(fails * (1 - failed), 1 - rate, _EDGE)
    return [
        Measured("says pass", None, None, np.full(len(rate), passes)),
        Measured("true pass rate", int(yes.sum()), len(yes), rate),
        Measured("agreement", int((yes == (verdict == 1)).sum()), len(yes), agreed),
        Measured("TPR", int((yes & (verdict == 1)).sum()), int(yes.sum()), of_passed),
        Measured("TNR", int((~yes & (verdict == 0)).sum()), int((~yes).sum()), of_failed),
        Measured("kappa", None, None, divided(agreed - chance, 1 - chance, _EDGE)),
    ]


def _rows(measures: list[Measured], level: float) -> Iterator[dict[str, object]]:
    for measure in measures:
        (mean,), (low,), (high,) = summed_up(measure.draws[:, None], level)
        yield {"measure": measure.name, "k": measure.k, "of": measure.of, "mean": mean, "low": low, "high": high}
