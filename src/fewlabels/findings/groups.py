"""Rows for the groups: what is known about each and on what evidence, in reading order."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fewlabels.findings.evidence import NOTES, beside, judge
from fewlabels.tasks.backing import is_backed
from fewlabels.tasks.grounds import GroupRow
from fewlabels.wording import NONE, Style

if TYPE_CHECKING:
    from fewlabels.findings.reading import Reading
    from fewlabels.tasks.grounds import Evidence

_ORDER: dict[Evidence, int] = {"few": 1, "undefined": 2, "unasked": 3, "empty": 4}
_PLACES = ("chance", "rank", "rank_low", "rank_high", "reaches", "verdict", "behind", "behind_low", "behind_high")


def group_rows(reading: Reading) -> tuple[GroupRow, ...]:
    """List the groups whose number is known, then those with too few labels, then the rest.

    Each of these parts is in the order of the answer if the task looks for groups; otherwise the worst group is first,
    or the best model.
    """
    task, ranked = reading.audit.spec.task, reading.ranked
    position = {name: i for i, name in enumerate(ranked)}
    rows = []
    for row, evidence, prior in zip(reading.measured.rows(), judge(reading), reading.prior_shares, strict=True):
        name = row["group"]
        places: dict[str, Any] = {column: ranked[name].get(column) for column in _PLACES} if name in ranked else {}
        # A row of several models with few labels is one of a group, and every model has the same labels there.
        nouns = "groups" if task.of_models else reading.nouns
        note = NOTES[evidence].format(nouns=nouns, beside=beside(reading.audit.pool))
        right = None if reading.right is None else reading.right[name]
        backed = is_backed(reading.own_labels(row), row["n"], reading.audit.spec.target)
        if reading.shown is not None:
            places |= {**asdict(reading.shown[name]), "hit": task.metric.hit}
        rows.append(GroupRow(**row, evidence=evidence, note=note, right=right, prior=prior, backed=backed, **places))
    # Of models, the best comes first: one of them is to be chosen.
    sign = -1 if task.metric.high_is_bad or task.of_models else 1
    return tuple(
        sorted(
            rows,
            key=lambda row: (_ORDER.get(row.evidence, 0), position.get(row.group, len(rows)), sign * (row.mean or 0)),
        )
    )


def behind(row: GroupRow) -> str:
    """Return how far a model is behind the one that is named; a dash for that one.

    >>> behind(GroupRow("new", 90, 20, 0.6, 0.4, 0.8, "enough", behind=0.03, behind_low=-0.02, behind_high=0.08))
    '3 points (−2 to +8)'
    """
    if row.behind is None or row.behind_low is None or row.behind_high is None:
        return NONE
    if not any((row.behind, row.behind_low, row.behind_high)):
        return NONE
    text = Style(share=True).moved(row.behind, row.behind_low, row.behind_high).removeprefix("+")
    return text if "−" in text else text.replace("+", "")


def place(row: GroupRow, groups: int) -> str:
    """Return the rank of a group among all groups; a dash if more than half of the places fit the labels."""
    if row.rank_low is None or row.rank_high is None:
        return NONE
    if row.rank_high - row.rank_low > groups / 2:
        return NONE
    low, high = round(row.rank_low), round(row.rank_high)
    return f"{low}" if low == high else f"{low} – {high}"
