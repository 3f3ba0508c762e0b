"""What to do next, in a sentence or two: what is settled enough to act on, and what needs more labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.findings import phrases
from fewlabels.findings.formatting import listed
from fewlabels.findings.headline import NAMED, SAFE, settled, the_open
from fewlabels.findings.measures import shortened
from fewlabels.planning.words import aim, rounded
from fewlabels.tasks import Compare, Identify
from fewlabels.wording import counted, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.groups import GroupRow, Overall
    from fewlabels.planning import Forecast
    from fewlabels.tasks import Answer


def next_steps(
    audit: Assessment, answer: Answer, rows: Sequence[GroupRow], overall: Overall, forecast: Forecast | None
) -> tuple[str, ...]:
    """One or two sentences.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1]] * 30 + [[0.2, 0.8]] * 30, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, task=fl.Identify(fl.Accuracy(), lowest=1))
    >>> _ = audit.tell({item: "cat" for item in audit.ask(40).ids})
    >>> from fewlabels.report import read
    >>> read(audit, foresee=False).next
    ('dog is settled enough to act on. More labels would only make its number more exact.',)
    """
    if not any(row.labelled for row in rows):
        return ("Label some items first.",)
    if isinstance(audit.spec.task, Identify):
        return _identified(answer, rows, forecast)
    if isinstance(audit.spec.task, Compare):
        if (answer.probability or 0.0) >= SAFE:
            return ("The comparison is settled enough to act on.",)
        return (f"The comparison probably needs {_amount(forecast)} before it is acted on.",)
    return _estimated(audit, rows, overall, forecast)


def _identified(answer: Answer, rows: Sequence[GroupRow], forecast: Forecast | None) -> tuple[str, ...]:
    certain = settled(answer, {row.group: row for row in rows})
    missing = len(answer.groups) - len(certain)
    names = [shortened(row.group, 60) for row in certain[:NAMED]]
    names += [f"{len(certain) - NAMED:,} more"] if len(certain) > NAMED else []
    several = len(certain) > 1
    act = f"{listed(names)} {'are' if several else 'is'} settled enough to act on."
    if not missing:
        exact = "their numbers" if several else "its number"
        return (f"{act} More labels would only make {exact} more exact.",)
    if not certain:
        return (f"Nothing is settled enough to act on yet: the answer probably needs {_amount(forecast)}.",)
    which = the_open(len(answer.groups), missing)
    return act, f"{which} probably {'needs' if missing == 1 else 'need'} {_amount(forecast)}."


def _estimated(
    audit: Assessment, rows: Sequence[GroupRow], overall: Overall, forecast: Forecast | None
) -> tuple[str, ...]:
    found = ["The number over all items can be used, with its range."] if overall.enough else []
    few = sum(row.evidence == "few" for row in rows)
    ahead = ""
    if forecast is not None and forecast.runs:
        ahead = f"{_amount(forecast)} until {aim(forecast.stop)}"
    if few and len(rows) > 1:
        which = "All" if few == len(rows) else f"{few:,} of {len(rows):,}"
        verb = "needs" if few == 1 else "need"
        needed = f"{which} {plural(phrases.noun(audit))} {verb} more labels before numbers of their own can be used"
        found.append(f"{needed}: {ahead}." if ahead else f"{needed}.")
    elif ahead:
        found.append(f"It probably takes {ahead}.")
    return tuple(found) or ("Label more items first.",)


def _amount(forecast: Forecast | None) -> str:
    """How many more labels, as far as that is known."""
    if forecast is not None and not forecast.most:
        return "more items: all that could be asked about have their label"
    if forecast is None or not forecast.runs:
        return "more labels"
    if forecast.more is None:
        return f"more than {counted(forecast.most, 'more label')}"
    return f"about {counted(rounded(forecast.more), 'more label')}"
