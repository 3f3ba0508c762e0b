"""The classification report: precision, recall and F1 of every class and their averages, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.estimates import check_level, summed_up
from fewlabels.findings.evidence import NOTES
from fewlabels.findings.reading import predictor_of, silence_words
from fewlabels.metrics import Accuracy
from fewlabels.metrics.rates import Hits
from fewlabels.partition import by_predicted, whole
from fewlabels.table import Table
from fewlabels.tasks.backing import FEW, is_thin
from fewlabels.tasks.base import LIKELY
from fewlabels.tasks.grounds import SAFE
from fewlabels.undefined import averaged, divided, left_out_words
from fewlabels.wording import NONE, Style, is_exact, listed, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment

_EQUAL = 1e-9  # ratios that differ by less differ by rounding
RATIOS = ("precision", "recall", "f1")
_WORDS = {
    "precision": "When the {whose} says this class, it is right less often than when it says any other",
    "recall": "It misses a larger share of this class than of any other",
    "f1": "Precision and recall together are worst for this class",
}


@dataclass(frozen=True)
class ClassReport:
    """Precision, recall and F1 of every class (`classes`), their averages (`averages`), and the worst in `words`.

    Columns of `classes`: class; n, labelled and right count the items predicted as it, the labels among them, and the
    right ones among these labels; true_labelled and found count the labels of the class, and the predictions among them
    that say so; `true` is how many items of the pool are truly of it. Each ratio has its mean, low and high.

    >>> import fewlabels as fl
    >>> report = fl.create(None, "mail", fl.read_pool({"predicted": ["spam", "ham"] * 50})).classes()
    >>> report.classes["class"], len(report.averages)
    (['ham', 'spam'], 3)
    """

    classes: Table
    averages: Table
    words: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n\n".join([*self.words, str(readable_classes(self.classes)), str(readable_averages(self.averages))])

    def _repr_html_(self) -> str:
        from html import escape

        tables = (readable_classes(self.classes), readable_averages(self.averages))
        return "".join([*(f"<p>{escape(line)}</p>" for line in self.words), *(table._repr_html_() for table in tables)])

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return {
            "words": list(self.words),
            "classes": list(self.classes.rows()),
            "averages": list(self.averages.rows()),
            "settings": dict(self.classes.settings),
        }


def read_classes(
    audit: Assessment, *, level: float = 0.95, draws: int = 4_000, model: str | None = None
) -> ClassReport:
    """Read precision TP/PP, recall TP/T and F1 = 2·TP/(PP + T) of every class from the same draws.

    PP is known; TP and T are drawn, and TP/PP is the accuracy among the items predicted as the class. The average over
    classes ("macro") leaves out classes that are neither predicted nor among the labels, and what is 0/0 in a draw; the
    one by size ("weighted") weighs each class by T. Its recall is the accuracy, and so are all three averages over
    items ("micro"), so these are the number over all items that every other table shows.
    """
    level = check_level(level)
    pool = audit.pool_of(model)
    hit, true = np.moveaxis(audit.draws(draws, metric=Hits(), groups=whole(pool), model=model)[:, 0], 1, 0)
    hit, true = hit[:, : len(pool.choices)], true[:, : len(pool.choices)]
    # Under every prior, the precision of a class is the accuracy by predicted class that other tables show.
    by = by_predicted(pool)
    own = audit.estimates(level=level, metric=Accuracy(), groups=by, model=model).head(len(pool.choices))
    # With many classes not as many draws of hits are afforded as of accuracy; the averages need a value in each.
    right = audit.draws(len(hit), metric=Accuracy(), groups=by, model=model)[:, : len(pool.choices)]
    hit, true = hit[: len(right)], true[: len(right)]
    predicted = by.sizes[: len(pool.choices)] / max(len(pool), 1)
    counts = {"n": by.sizes[: len(pool.choices)].tolist()} | _counts(audit, model)
    # A draw gives every class a share, however tiny: that a class exists is shown by predictions or labels.
    seen = (predicted > 0) | (np.array(counts["true_labelled"]) > 0)
    values = {
        "precision": np.where(predicted > 0, right, np.nan),
        "recall": np.where(seen, divided(hit, true), np.nan),
        "f1": np.where(seen, divided(2 * hit, predicted + true), np.nan),
    }
    overall = next(audit.estimates(level=level, metric=Accuracy(), groups=whole(pool), model=model).rows())
    settings = {"level": level, "target": audit.spec.target, "draws": len(hit), "labels": overall["labelled"]}
    table = Table(_rows(pool.choices, values, true * len(pool), counts, level, audit.spec.target), settings)
    for name, column in (("precision", "mean"), ("precision_low", "low"), ("precision_high", "high")):
        table = table.with_column(name, own[column])
    averages = _averages(values, true, overall, level, settings)
    worst = _worst(table, values, predictor_of(audit)) if overall["labelled"] else []
    left_out = left_out_words(int((~seen).sum())) if overall["labelled"] else ""
    words = [*worst, left_out, silence_words(audit, pool) if worst else ""]
    return ClassReport(table, averages, tuple(filter(None, words)))


def _counts(audit: Assessment, model: str | None) -> dict[str, list[int]]:
    """The labels behind each class: those predicted as it, and those truly of it."""
    pool = audit.pool_of(model)
    items, true = audit.majority_items()
    predicted = pool.predicted[items]
    of = [predicted, predicted[predicted == true], true, true[predicted == true]]
    names = ("labelled", "right", "true_labelled", "found")
    k = len(pool.choices)
    return {name: np.bincount(these, minlength=k)[:k].tolist() for name, these in zip(names, of, strict=True)}


def _rows(
    names: Sequence[str],
    values: dict[str, NDArray[np.float64]],
    true: NDArray[np.float64],
    counts: dict[str, list[int]],
    level: float,
    target: str,
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"class": list(names), **counts}
    for name, drawn in (*values.items(), ("true", true)):
        mean, low, high = summed_up(drawn, level)
        columns |= {name: mean, f"{name}_low": low, f"{name}_high": high}
    beside = zip(counts["labelled"], counts["n"], counts["true_labelled"], strict=True)
    # How many items are truly of a class is not known before all items are labelled.
    exact = target == "pool" and counts["labelled"] == counts["n"]
    few = [is_thin(labelled, n, target) or (of_class < FEW and not exact) for labelled, n, of_class in beside]
    return columns | {"note": [NOTES["few"] if is_few else "" for is_few in few]}


def _averages(
    values: dict[str, NDArray[np.float64]],
    true: NDArray[np.float64],
    overall: dict[str, Any],
    level: float,
    settings: dict[str, Any],
) -> Table:
    """Rows for the mean over classes, the mean by size and the accuracy."""
    columns: dict[str, list[Any]] = {"average": ["mean over classes (macro)", "by size (weighted)", "accuracy (micro)"]}
    own = [overall[end] for end in ("mean", "low", "high")]
    for name, drawn in values.items():
        exists = np.isfinite(drawn)
        weight = np.where(exists, true, 0)
        macro = averaged(drawn, np.full(drawn.shape[1], 1 / drawn.shape[1]))
        sized = np.where(exists, drawn, 0) * weight
        weighted = divided(sized.sum(axis=1), weight.sum(axis=1))
        ends = np.array([summed_up(np.column_stack([macro, weighted]), level)])[0]
        if name == "recall":  # Σ T·TP/T = Σ TP: it is the accuracy
            ends[:, 1] = own
        columns |= {
            f"{name}{end}": [*ends[place].tolist(), own[place]] for place, end in enumerate(("", "_low", "_high"))
        }
    return Table(columns, settings)


def _worst(table: Table, values: dict[str, NDArray[np.float64]], whose: str) -> list[str]:
    """A sentence for each ratio: the class that is lowest most often in the draws, if it has labels of its own."""
    sentences, compared, style = [], {}, Style(share=True)
    for name, drawn in values.items():
        counted = table["labelled"] if name == "precision" else table["true_labelled"]
        known = np.array([count >= FEW and mean is not None for count, mean in zip(counted, table[name], strict=True)])
        if known.sum() < 2:
            continue
        compared[name] = int(known.sum())
        if counted_worst := _counted_worst(table, name, np.flatnonzero(known), style):
            sentences.append(counted_worst)
            continue
        filled = np.where(np.isfinite(drawn) & known, drawn, np.inf)
        chance = np.bincount(filled.argmin(axis=1), minlength=len(table)) / len(drawn)
        worst = int(chance.argmax())
        noun, group = name.replace("f1", "F1"), shortened(table["class"][worst], 60)
        sure = float(chance[worst])
        # Of two classes, one is always more probable than not.
        least = SAFE if compared[name] == 2 else LIKELY
        if sure < least or not _is_seen(table, name, worst):
            but = "" if _is_seen(table, name, worst) else ", but no label shows such a mistake"
            sentences.append(
                f"It is too early to say which class has the lowest {noun}. The most likely is {group}, with a "
                f"probability of {probability(sure)}{but}."
            )
            continue
        mean, low, high = (table[f"{name}{end}"][worst] for end in ("", "_low", "_high"))
        value = style.spread(mean, low, high)
        sentences.append(
            f"{'Lowest' if sure >= 0.95 else 'Probably the lowest'} {noun}: {group}, {value}. "
            f"{_WORDS[name].format(whose=whose)} (probability {probability(sure)})."
        )
    return [*sentences, *_left_out(compared, len(table))]


def _counted_worst(table: Table, name: str, known: NDArray[np.intp], style: Style) -> str:
    """A sentence on the classes with the lowest ratio, if those of all classes are known; else empty."""
    rows = [tuple(table[f"{name}{end}"][at] for end in ("", "_low", "_high")) for at in known.tolist()]
    if not all(is_exact(low, high) for _, low, high in rows):
        return ""
    least = min(rows)
    is_least = [row[0] - least[0] < _EQUAL for row in rows]
    lowest = [shortened(table["class"][at], 60) for at, is_so in zip(known.tolist(), is_least, strict=True) if is_so]
    noun, value = name.replace("f1", "F1"), f"{style.value(*least)} (counted, not estimated)"
    if len(lowest) == len(rows):
        return f"No class has a lower {noun} than another: {value}."
    return f"Lowest {noun}: {listed(lowest)}, {value}."


def _left_out(compared: dict[str, int], classes: int) -> list[str]:
    """A sentence on how many classes have enough labels to be compared, if not all have."""
    counts = sorted(set(compared.values()))
    if not counts or counts == [classes]:
        return []
    if len(counts) == 1:
        return [f"Only the {counts[0]:,} classes with at least five labels are compared."]
    each = listed([f"{n:,} by {name.replace('f1', 'F1')}" for name, n in compared.items()])
    return [f"Only classes with at least five labels are compared: {each}."]


def _is_seen(table: Table, name: str, at: int) -> bool:
    """Whether a label shows a mistake of the kind that makes a ratio low."""
    wrong, missed = (table[n][at] - table[k][at] for k, n in (("right", "labelled"), ("found", "true_labelled")))
    return {"precision": wrong, "recall": missed, "f1": wrong + missed}[name] > 0


def readable_classes(table: Table) -> Table:
    """The table for people: k of n, and each ratio with its interval."""
    columns: dict[str, Sequence[Any]] = {"class": table["class"], "n": table["n"]}
    columns["right"] = _of(table["right"], table["labelled"])
    columns["found"] = _of(table["found"], table["true_labelled"])
    columns |= _with_intervals(table)
    if any(table["note"]) and any(table["labelled"]):
        columns["note"] = table["note"]
    return Table(columns, table.settings)


def readable_averages(table: Table) -> Table:
    """The averages for people."""
    return Table({"average": table["average"]} | _with_intervals(table))


def _of(part: Sequence[int], whole: Sequence[int]) -> list[str]:
    return [f"{k:,} of {n:,}" if n else NONE for k, n in zip(part, whole, strict=True)]


def _with_intervals(table: Table) -> dict[str, list[str | None]]:
    """Each ratio with its interval, all with as many digits."""
    cells = {name: list(zip(*(table[f"{name}{end}"] for end in ("", "_low", "_high")), strict=True)) for name in RATIOS}
    style = Style(share=True).fitting((low, high) for rows in cells.values() for _, low, high in rows)
    return {name: [None if row[0] is None else style.spread(*row) for row in rows] for name, rows in cells.items()}
