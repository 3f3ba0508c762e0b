"""Advice on what to do next: what is settled enough to act on, and what needs more labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.planning.words import rounded
from fewlabels.tasks.grounds import Ahead
from fewlabels.wording import counted

if TYPE_CHECKING:
    from fewlabels.planning import Forecast
    from fewlabels.tasks import Task
    from fewlabels.tasks.grounds import Grounds


_NOTHING_LEFT = Ahead("more items: every item that could be asked about has a label")


def next_steps(task: Task, grounds: Grounds, forecast: Forecast | None) -> tuple[str, ...]:
    """Return the task's advice; before any label, the advice to label.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1]] * 30 + [[0.2, 0.8]] * 30, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, task=fl.Identify(fl.Accuracy(), lowest=1))
    >>> _ = audit.tell({item: "cat" for item in audit.ask(40).ids})
    >>> from fewlabels.report import read
    >>> read(audit, foresee=False).next
    ('dog is settled enough to act on. More labels would only make its number more exact.',)
    """
    if not any(row.labelled for row in grounds.rows):
        return ("Label some items first.",)
    return task.next_steps(grounds, _NOTHING_LEFT if _is_exhausted(grounds) else _ahead(forecast))


def _is_exhausted(grounds: Grounds) -> bool:
    """Return whether every item that could be asked about has a label."""
    return all(row.labelled >= row.n for row in grounds.rows if row.evidence != "unasked")


def _ahead(forecast: Forecast | None) -> Ahead:
    """Return the number of further labels from a forecast, as far as it is known."""
    if forecast is not None and not forecast.most:
        return _NOTHING_LEFT
    if forecast is None or not forecast.runs:
        return Ahead()
    goal = forecast.goal
    if forecast.more is None:
        return Ahead(f"more than {counted(forecast.most, 'more label')}", goal)
    return Ahead(f"about {counted(rounded(forecast.more), 'more label')}", goal)
