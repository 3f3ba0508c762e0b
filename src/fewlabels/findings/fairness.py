"""The fairness table: every group compared with a reference, by accuracy, error rates and selection rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import Argument, InputError, SpecError
from fewlabels.estimates import check_level, summed_up
from fewlabels.findings.all_alike import all_alike
from fewlabels.findings.evidence import NOTES, beside
from fewlabels.findings.reading import silence_words
from fewlabels.metrics import Accuracy
from fewlabels.metrics.rates import Hits
from fewlabels.named import class_named, groups_from
from fewlabels.opposites import positive_of
from fewlabels.reserve import items_of
from fewlabels.table import Table
from fewlabels.tasks.backing import FEW
from fewlabels.tasks.grounds import SAFE
from fewlabels.undefined import divided
from fewlabels.views import about_one_model
from fewlabels.wording import Style, counted, is_exact, percent, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment
    from fewlabels.partition import Partition

    _Counts = tuple[NDArray[np.int64], NDArray[np.int64]]

_CLEAR = 0.95  # from this probability on, a gap is stated without "probably"

THE_REST = "the rest"
"""The name of the reference that is all items outside a group."""


@dataclass(frozen=True)
class Fairness:
    """Every group against a reference (`groups`), the largest gap of each measure (`gaps`), and both in `words`.

    Columns of `groups`: measure, group and n; `counted`, the labels that the measure is about (for the true positive
    rate, those truly positive), and `of_these`, how many of them are hits; value, difference (from the reference) and
    ratio (to it), each with low and high; `lower` is the probability that the group's value is below the reference's.
    Of items like these, groups may be alike (`all_alike`): `lower`, the probability of a gap and the intervals of
    differences and ratios allow for that.
    The selection rate is counted and not estimated, so it has no interval.

    >>> import fewlabels as fl
    >>> data = {"predicted": ["yes", "no"] * 50, "sex": ["f"] * 50 + ["m"] * 50}
    >>> table = fl.create(None, "loans", fl.read_pool(data)).fairness("column:sex", positive="yes")
    >>> sorted(set(table.groups["group"]))
    ['f', 'm']
    """

    groups: Table
    gaps: Table
    words: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n\n".join(
            [*self.words, *(f"{name}\n{table}" for name, table in readable_fairness(self.groups).items())]
        )

    def _repr_html_(self) -> str:
        from html import escape

        lines = [f"<p>{escape(line)}</p>" for line in self.words]
        for name, table in readable_fairness(self.groups).items():
            lines.append(f"<h4>{escape(name)}</h4>{table._repr_html_()}")
        return "".join(lines)

    @property
    def compared(self) -> str:
        """What is positive, what each group is compared with, and the meaning of "lower", in sentences."""
        positive, reference = (self.groups.settings[name] for name in ("positive", "reference"))
        beside, whose = ("all other items", "theirs") if reference == THE_REST else (reference, "that of this group")
        start = "" if positive is None else f"Positive is {positive}. "
        return (
            f"{start}Every group is compared with {beside}. “Lower” is the probability that its value is lower than "
            f"{whose}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain JSON values."""
        return {
            "words": list(self.words),
            "groups": list(self.groups.rows()),
            "gaps": list(self.gaps.rows()),
            "settings": dict(self.groups.settings),
        }


_MANY = 30  # items of a group whose selection rate is compared
_DRAWS = 40_000  # of a probability by labels alone, which is then right within 0.005
_LEAST = 1e-9  # items below which there are none: population draws have tiny shares of everything


@dataclass(frozen=True)
class _Measure:
    """Draws of a ratio of sums: top and bottom of each group in items, shape (draws, groups)."""

    name: str
    top: NDArray[np.float64]
    bottom: NDArray[np.float64]

    def values(self) -> NDArray[np.float64]:
        return divided(self.top, self.bottom, _LEAST)

    def against(self, reference: int | None) -> NDArray[np.float64]:
        """The value of the reference beside each group: another group, or all items outside this one."""
        if reference is not None:
            return np.repeat(self.values()[:, [reference]], self.top.shape[1], axis=1)
        top, bottom = (part.sum(axis=1, keepdims=True) - part for part in (self.top, self.bottom))
        return divided(top, bottom, _LEAST)


def read_fairness(
    audit: Assessment,
    groups: Partition | str | None = None,
    *,
    positive: str | None = None,
    reference: str | None = None,
    level: float = 0.95,
    draws: int = 4_000,
    model: str | None = None,
) -> Fairness:
    """Compare every group with a reference, or with the rest of the items if none is named.

    With the class `positive`, the measures are accuracy, true positive rate TP/T, false positive rate
    (PP − TP)/(n − T), precision TP/PP and selection rate PP/n; the rates and precision are from the same draws. Without
    it, accuracy is the only one. `positive` can be left out if it was named when the pool was read, or if the
    names of the two classes show it (yes, true, 1, positive, pass).
    """
    level = check_level(level)
    if model is None and audit.spec.task.of_models:
        raise about_one_model(audit.name)
    pool = audit.pool_of(model)
    groups = audit.groups_of(model) if groups is None else groups_from(groups, pool)
    if (groups.sizes > 0).sum() < 2:
        raise SpecError(
            "A fairness table needs at least two groups with items. Name a column that divides them, as in ",
            Argument("groups", "column:NAME"),
            ".",
        )
    against = None if reference is None else groups.position(reference)
    reference = THE_REST if against is None else groups.names[against]
    named = class_named(positive, pool.choices) if positive else pool.positive
    positive = named or positive_of(pool.choices)
    measures = _measures(audit, groups, positive, draws, model)
    seen = _labels_of(audit, groups, positive, model)
    settings = {"level": level, "target": audit.spec.target, "reference": reference, "positive": positive}
    rows: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    for measure in measures:
        counts = seen.get(measure.name)
        alike = 0.0 if counts is None or audit.spec.target == "pool" else _alike(seen["accuracy"], counts)
        rows += _rows(measure, groups, against, counts, level, alike)
        gaps += _gap(measure, groups, counts, level, alike)
    table = Table({name: [row[name] for row in rows] for name in rows[0]}, settings)
    columns = ("measure", "lowest", "highest", "gap", "low", "high", "probability")
    gap_table = Table({name: [gap[name] for gap in gaps] for name in columns}, settings)
    silence = silence_words(audit, pool)
    words = (*(_gap_words(gap, beside(pool)) for gap in gaps), *([silence] if gaps and silence else []))
    return Fairness(table, gap_table, words)


def _measures(
    audit: Assessment, groups: Partition, positive: str | None, draws: int, model: str | None
) -> list[_Measure]:
    """The measures, as draws of sums of items."""
    pool, size = audit.pool_of(model), groups.sizes.astype(float)
    right = audit.draws(draws, metric=Accuracy(), groups=groups, model=model)
    made = [_Measure("accuracy", right * size, np.broadcast_to(size, right.shape))]
    if positive is None:
        return made
    if positive not in pool.choices:
        raise InputError(f"there is no class {positive!r}. The classes are {', '.join(map(repr, pool.choices[:20]))}.")
    shares = audit.draws(draws, metric=Hits(positive), groups=groups, model=model)[..., 0]
    hit, true = shares[:, :, 0] * size, shares[:, :, 1] * size
    positives = pool.predicted == pool.classes.index(positive)
    # A row may stand for many items, where they stay in a table.
    count = None if pool.count is None else pool.count[positives]
    called = np.broadcast_to(items_of(groups.group[positives], len(groups), count).astype(float), hit.shape)
    return [
        *made,
        _Measure("true positive rate", hit, true),
        _Measure("false positive rate", np.maximum(called - hit, 0), size - true),
        _Measure("precision", hit, called),
        _Measure("selection rate", called[:1], np.broadcast_to(size, (1, len(size)))),
    ]


def _labels_of(audit: Assessment, groups: Partition, positive: str | None, model: str | None) -> dict[str, _Counts]:
    """Counted labels of each group: k and n of every measure, two of shape (groups,)."""
    labels, pool = audit.labels(), audit.pool_of(model)
    items, true = pool.positions(labels), pool.class_positions(labels.values())
    predicted, group = pool.predicted[items], groups.group[items]

    def counted(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(group[which], minlength=len(groups))

    known = {"accuracy": (counted(predicted == true), counted(true >= 0))}
    if positive is None:
        return known
    yes = pool.classes.index(positive)
    called, is_yes = predicted == yes, true == yes
    return known | {
        "true positive rate": (counted(called & is_yes), counted(is_yes)),
        "false positive rate": (counted(called & ~is_yes), counted(~is_yes)),
        "precision": (counted(called & is_yes), counted(called)),
    }


def _alike(*each: _Counts) -> float:
    """How probable it is that the groups that are compared do not differ in a measure, nor in accuracy."""
    return all_alike([(k[n >= FEW], n[n >= FEW]) for k, n in each])


def _or_alike(
    drawn: NDArray[np.float64], level: float, alike: float, equal: float
) -> tuple[list[Any], list[Any], list[Any]]:
    """Mean, low and high of each column, where its value is `equal` with the probability `alike`.

    The mean stays that of the draws, so that it is the difference or the ratio of the values beside it.
    """
    mean, low, high = summed_up(drawn, level)
    some = np.diff(np.floor(alike * np.arange(len(drawn) + 1))) > 0
    if not some.any():
        return mean, low, high
    _, lower, higher = summed_up(np.where(some[:, None] & np.isfinite(drawn), equal, drawn), level)
    widened = zip(mean, lower, higher, strict=True)
    ends = [(None, None) if m is None else (min(a, m), max(b, m)) for m, a, b in widened]
    return mean, [a for a, _ in ends], [b for _, b in ends]


def _rows(
    measure: _Measure, groups: Partition, against: int | None, counted: _Counts | None, level: float, alike: float
) -> list[dict[str, Any]]:
    """A row for each group that has items; all groups are alike with the probability `alike`."""
    values, beside = measure.values(), measure.against(against)
    drawn = {"difference": values - beside, "ratio": divided(values, beside, _LEAST)}
    ends = {"value": summed_up(values, level)}
    ends |= {name: _or_alike(part, level, alike, float(name == "ratio")) for name, part in drawn.items()}
    below = np.where(np.isfinite(drawn["difference"]), drawn["difference"] < 0, np.nan)
    rows = []
    for g in np.flatnonzero(groups.sizes).tolist():
        k, n = (None, None) if counted is None else (int(counted[0][g]), int(counted[1][g]))
        row: dict[str, Any] = {"measure": measure.name, "group": groups.names[g], "n": int(groups.sizes[g])}
        row |= {"counted": n, "of_these": k}
        is_thin = n is not None and n < FEW
        for name, (mean, low, high) in ends.items():
            # A group with hardly a label has a value, mostly from the others, and nothing is said about its distance.
            shown = not is_thin and g != against if name != "value" else not (is_thin and low[g] == high[g])
            for column, values_of in ((name, mean), (f"{name}_low", low), (f"{name}_high", high)):
                row[column] = values_of[g] if shown and (counted is not None or column == name) else None
        unknown = counted is None or row["difference"] is None
        row["lower"] = None if unknown else (1 - alike) * float(np.nanmean(below[:, g]))
        row["note"] = NOTES["few"] if is_thin else ""
        rows.append(row)
    return rows


def _gap(
    measure: _Measure, groups: Partition, counted: _Counts | None, level: float, alike: float
) -> list[dict[str, Any]]:
    """The gap between the highest and the lowest group, among those with five labels that count; none if under two.

    These two were picked for being far apart. Draws allow for that only as far as groups that are alike are expected:
    that all are has the probability `alike`.
    """
    values = measure.values()
    # What is counted of a handful of items is a fact about these, and no gap to tell anybody of.
    many = groups.sizes >= (_MANY if (groups.sizes >= _MANY).sum() > 1 else 1)
    enough = many if counted is None else (counted[1] >= FEW)
    enough &= np.isfinite(values).all(axis=0)
    if enough.sum() < 2:
        return []
    place = np.flatnonzero(enough)
    values = values[:, place]
    lowest, highest = (int(np.bincount(end).argmax()) for end in (values.argmin(axis=1), values.argmax(axis=1)))
    if lowest == highest:
        return []
    mean, low, high = _or_alike((values[:, highest] - values[:, lowest])[:, None], level, alike, 0.0)
    fact = counted is None
    by_labels = None if counted is None else _by_labels(*counted, place[lowest], place[highest])
    return [
        {
            "measure": measure.name,
            "lowest": groups.names[place[lowest]],
            "highest": groups.names[place[highest]],
            "gap": mean[0],
            "low": None if fact else low[0],
            "high": None if fact else high[0],
            "probability": None if fact else (1 - alike) * float((values[:, highest] > values[:, lowest]).mean()),
            "by_labels": None if is_exact(low[0], high[0]) else by_labels,  # labels of all items leave no doubt
            "ends": (float(values[:, lowest].mean()), float(values[:, highest].mean())),
            "compared": int(enough.sum()),
            "left_out": int((groups.sizes > 0).sum() - enough.sum()),
        }
    ]


def _by_labels(k: NDArray[np.int64], n: NDArray[np.int64], lowest: int, highest: int) -> float:
    """P(the value of one group is below that of another) by their own labels alone: Beta(k + 1, n − k + 1) of each."""
    rng = np.random.default_rng(0)
    low, high = (rng.beta(k[g] + 1, n[g] - k[g] + 1, _DRAWS) for g in (lowest, highest))
    return float((low < high).mean())


def _gap_words(gap: Mapping[str, Any], known: str = "") -> str:
    """The largest gap in a sentence, and what it rests on where the labels of the two groups do not show it.

    `known` says what the learned prior learns from beside labels.
    """
    words = _gap_sentence(gap)
    sure, by_labels = gap["probability"], gap["by_labels"]
    if sure is None or sure < SAFE or by_labels is None or by_labels >= SAFE:
        return words
    return (
        f"{words} This rests on what was learned from {f'{known} and ' if known else ''}other groups: the labels of "
        f"these two groups alone give it a probability of {probability(by_labels)}."
    )


def _gap_sentence(gap: Mapping[str, Any]) -> str:
    (low, high), sure = gap["ends"], gap["probability"]
    lower, higher = (
        f"{shortened(gap[name], 60)} ({percent(value)})" for name, value in (("lowest", low), ("highest", high))
    )
    left = gap["left_out"]
    if sure is None:
        small = f" {counted(left, 'group')} with fewer than {_MANY} items {_are(left)} left out." if left else ""
        gap_named = f"The largest gap in {gap['measure']} is between {lower} and {higher}."
        return f"{gap_named} This is counted, not estimated.{small}"
    apart = Style(share=True).moved(gap["gap"], gap["low"], gap["high"])
    by, chance = f"by {apart.removeprefix('+')}", f"with a probability of {probability(sure)}"
    without = f" {counted(left, 'group')} with fewer than five labels that count {_are(left)} left out." if left else ""
    if not apart.startswith("+"):  # not even the mean is above 0, as it is written
        begin = f"The labels show no gap in {gap['measure']}"
        if gap["compared"] == 2:
            return f"{begin} between {lower} and {higher}: the difference is {apart}.{without}"
        return f"{begin}: the most probable one, between {lower} and {higher}, is {apart}.{without}"
    if sure < SAFE:
        return (
            f"It is too early to name a gap in {gap['measure']}: it is lower for {lower} than for {higher} "
            f"{chance}, {by}.{without}"
        )
    if gap["compared"] == 2:
        is_lower = "is lower" if sure >= _CLEAR else "is probably lower"
        return f"The {gap['measure']} {is_lower} for {lower} than for {higher} {chance}, {by}.{without}"
    return (
        f"The largest gap in {gap['measure']} is probably between {lower} and {higher}: the first is lower {chance}, "
        f"{by}.{without}"
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def readable_fairness(table: Table) -> dict[str, Table]:
    """A table for people for each measure: k of n, the value, and how far it is from the reference."""
    by_measure: dict[str, list[Mapping[str, Any]]] = {}
    for row in table.rows():
        by_measure.setdefault(row["measure"], []).append(row)
    shares = Style(share=True)
    styles = {
        name: shares.fitting((r["value_low"], r["value_high"]) for r in rows) for name, rows in by_measure.items()
    }
    apart = {name: shares.fitting_changes(map(_difference, rows)) for name, rows in by_measure.items()}
    against = table.settings["reference"]
    shown: dict[str, list[dict[str, Any]]] = {}
    for row in table.rows():
        line: dict[str, Any] = {"group": row["group"], "n": row["n"]}
        if row["counted"] is not None:
            line["labels"] = f"{row['of_these']:,} of {row['counted']:,}"
        style = styles[row["measure"]]
        line["value"] = _with_ends(row, "value", style.value, style.range)
        line[f"minus {against}"] = _apart(row, apart[row["measure"]])
        line[f"ratio to {against}"] = _with_ends(row, "ratio", "{:.2f}".format, "{:.2f} – {:.2f}".format)
        if row["counted"] is not None:
            line["lower"] = None if row["lower"] is None else probability(row["lower"])
        line["note"] = row["note"]
        shown.setdefault(row["measure"], []).append(line)
    made = {}
    for name, lines in shown.items():
        columns = {column: [line[column] for line in lines] for column in lines[0]}
        if not any(columns["note"]):
            del columns["note"]
        made[name] = Table(columns)
    return made


def _apart(row: Mapping[str, Any], style: Style) -> str | None:
    value, low, high = _difference(row)
    if value is None:
        return None
    return style.difference(value) if low is None else style.moved(value, low, high)


def _difference(row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return row["difference"], row["difference_low"], row["difference_high"]


def _with_ends(row: Mapping[str, Any], name: str, one: Any, both: Any) -> str | None:
    if row[name] is None:
        return None
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return str(one(row[name])) if low is None else f"{one(row[name])} ({both(low, high)})"
