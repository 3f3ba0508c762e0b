"""Advice on what to do next: what is settled enough to act on, and what needs more labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.findings.doubts import is_out_of_reach
from fewlabels.planning.words import only_these, rounded
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
    steps = task.next_steps(grounds, _NOTHING_LEFT if _is_exhausted(grounds) else _ahead(grounds, forecast))
    exact = forecast is not None and forecast.all_items  # not where labels may be wrong
    is_doubt = task.of_models and is_out_of_reach(grounds)  # then a doubt beside the answer says it
    return (*steps, only_these()) if exact and _takes_all(grounds, forecast) and not is_doubt else steps


def _is_exhausted(grounds: Grounds) -> bool:
    """Return whether every item that could be asked about has a label."""
    return all(row.labelled >= row.n for row in grounds.rows if row.evidence != "unasked")


def _takes_all(grounds: Grounds, forecast: Forecast | None) -> bool:
    """Return whether the labels of all items would not be enough, since the numbers are about other items as well."""
    if grounds.target == "pool" or forecast is None or forecast.more is not None:
        return False
    left = sum(row.n - row.labelled for row in grounds.rows if row.evidence != "unasked")
    return forecast.most >= left and forecast.stop.labels is None


def _ahead(grounds: Grounds, forecast: Forecast | None) -> Ahead:
    """Return the number of further labels from a forecast, as far as it is known."""
    if forecast is not None and not forecast.most:
        return _NOTHING_LEFT
    if forecast is None or not forecast.runs:
        return Ahead()
    goal = forecast.goal
    if forecast.more is None:
        most = counted(forecast.most, "more label")
        all_of_them = f"more than the labels of all {counted(forecast.most, 'item')} that are left"
        return Ahead(all_of_them if _takes_all(grounds, forecast) else f"more than {most}", goal)
    return Ahead(f"about {counted(rounded(forecast.more), 'more label')}", goal)
