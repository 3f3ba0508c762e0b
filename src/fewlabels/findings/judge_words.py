"""Tables of judges for readers, and a sentence about each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.findings.judges import PREDICTED
from fewlabels.wording import NONE, Style, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.table import Table

_ABREAST = 3  # judges that stand side by side
_EVERYWHERE = "all items"
_TITLES = {
    "says pass": "it passes",
    "true pass rate": "people would pass",
    "agreement": "agreement",
    "TPR": "passes of what people pass (TPR)",
    "TNR": "fails of what people fail (TNR)",
    "kappa": "kappa",
}


def judge_rows(table: Table) -> list[list[str]]:
    """The table for readers: a head, and a row for each judge and group."""
    head = ["judge", "group", *(_TITLES.values())]
    rows_of: dict[tuple[str, bool, str], list[str]] = {}
    for row in table.rows():
        who = "the verdict" if row["judge"] == PREDICTED else row["judge"]
        where = _EVERYWHERE if row["whole"] else row["group"]
        cells = rows_of.setdefault((row["judge"], row["whole"], row["group"]), [who, where])
        write = _kappa if row["measure"] == "kappa" else percent
        if row["mean"] is None:  # it is 0/0
            cells.append(NONE)
            continue
        range_ = "" if row["measure"] == "says pass" else f" ({write(row['low'])} – {write(row['high'])})"
        counts = "" if row["k"] is None else f"; {row['k']:,} of {row['of']:,}" if row["of"] else "; no label"
        cells.append(f"{write(row['mean'])}{range_}{counts}")
    return [head, *rows_of.values()]


def judge_sheet(table: Table) -> list[list[str]]:
    """The table for pages: up to three judges stand side by side, with a row for each measure; more are rows."""
    head, *rows = judge_rows(table)
    if len(rows) > _ABREAST:
        return [head, *rows]
    is_whole = [key[2] for key in dict.fromkeys((row["judge"], row["group"], row["whole"]) for row in table.rows())]
    names = [
        who if all_items else f"{who}, {group}" for all_items, (who, group, *_) in zip(is_whole, rows, strict=True)
    ]
    return [["measure", *names], *([title, *(row[i] for row in rows)] for i, title in enumerate(head) if i > 1)]


def _kappa(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def in_words(table: Table) -> tuple[str, ...]:
    """A sentence about each judge over all items."""
    by_judge: dict[str, dict[str, Mapping[str, float]]] = {}
    for row in table.rows():
        if row["whole"]:
            by_judge.setdefault(row["judge"], {})[row["measure"]] = row
    return tuple(_sentence(name, rows) for name, rows in by_judge.items())


def _sentence(name: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    def value(measure: str) -> str:
        row = rows[measure]
        ends = Style(share=True).spanning(row["mean"], row["low"], row["high"])
        return f"{ends.removesuffix(')')}; {row['k']:,} of {row['of']:,})"

    who = "The verdict" if name == PREDICTED else name
    kappa, rate = rows["kappa"], rows["true pass rate"]
    if not rows["agreement"]["of"]:
        passes = percent(rows["says pass"]["mean"])
        return f"{who} passes {passes} of the items. How good it is cannot be said yet: no label shows it."
    sides = {"TPR": "passes {} of what people pass", "TNR": "fails {} of what people fail"}
    known = [text.format(value(measure)) for measure, text in sides.items() if rows[measure]["mean"] is not None]
    beyond = (
        f" Kappa, which is agreement beyond chance, is {_kappa(kappa['mean'])} "
        f"({_kappa(kappa['low'])} to {_kappa(kappa['high'])})."
        if kappa["mean"] is not None
        else ""
    )
    return (
        f"{who} agrees with people on {value('agreement')}. It {', and '.join(known)}.{beyond} It passes "
        f"{percent(rows['says pass']['mean'])} of the items; people would pass "
        f"{Style(share=True).spanning(rate['mean'], rate['low'], rate['high'])}."
    )
