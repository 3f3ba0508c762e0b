"""The content of a report, read from an assessment once; pages only show it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fewlabels import plots
from fewlabels.errors import SpecError
from fewlabels.estimates import check_level
from fewlabels.findings import phrases
from fewlabels.findings.classes import ClassReport, read_classes
from fewlabels.findings.fairness import Fairness, read_fairness
from fewlabels.findings.finding import Finding, found_in
from fewlabels.findings.judges import judge_table
from fewlabels.findings.labels import Labels, Mistake, count_labels, find_mistakes
from fewlabels.findings.learned import Band, bands
from fewlabels.findings.next_steps import next_steps
from fewlabels.findings.outlook import More, more_labels
from fewlabels.findings.reading import Reading
from fewlabels.gate import check
from fewlabels.metrics import Prevalence
from fewlabels.opposites import positive_of
from fewlabels.recipes import by_columns_alone
from fewlabels.report.pictures import with_pictures
from fewlabels.table import Table
from fewlabels.tasks.backing import FEW

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.gate import Check, Rule
    from fewlabels.plots import Plot

_MOST_CLASSES = 50  # more would take seconds to draw together
_MOST_GROUPS = 20  # of a comparison of groups
FORMAT = "fewlabels-report/1"
"""The layout of `to_json`. Fields may be added under the same number; removing or changing one needs a new one."""


@dataclass(frozen=True, eq=False, repr=False)
class Report(Finding):
    """A finding with the origin of its labels, plots and settings. Made by `read`.

    Parameters
    ----------
    made, version
        The time it was made, and the version of fewlabels.
    next
        Advice on what to do next.
    mistakes
        Some labelled items that the classifier got wrong.
    labels
        The number of labels, and where they come from.
    chosen, more
        Paragraphs on how the labels were chosen, and what more labels would change.
    learned
        What the scores mean according to the learned prior; empty without one.
    judges
        How each judge compares with people, with its measures; an empty table without one.
    checks
        Rules that were checked, each with its verdict.
    plots, main_plot
        The numbers of each plot, by name; and the name of the one that shows the answer.
    classes
        Precision, recall and F1 of every class; None if there are too many classes, or too few labels.
    fairness
        Groups of people side by side; None if the groups are something else, or no class counts as positive.
    settings, pool
        Everything that defines the assessment, and the origin of its items, as plain JSON values.
    """

    made: datetime
    version: str
    next: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    labels: Labels
    chosen: tuple[str, ...]
    more: More
    learned: tuple[Band, ...]
    judges: Table
    checks: tuple[Check, ...]
    plots: Mapping[str, Plot]
    main_plot: str
    classes: ClassReport | None
    fairness: Fairness | None
    settings: Mapping[str, Any]
    pool: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON values; `FORMAT` names the layout."""
        return {
            "format": FORMAT,
            "fewlabels": self.version,
            "made": self.made.isoformat(timespec="seconds"),
            **super().to_json(),
            "next": list(self.next),
            "mistakes": [asdict(mistake) | {"image": None} for mistake in self.mistakes],
            "labels": self.labels.to_json(),
            "chosen": list(self.chosen),
            "more": self.more.to_json(),
            "learned": [asdict(band) for band in self.learned],
            "judges": list(self.judges.rows()),
            "checks": [check.to_json() for check in self.checks],
            "settings": dict(self.settings),
            "pool": dict(self.pool),
            "classes": None if self.classes is None else self.classes.to_json(),
            "fairness": None if self.fairness is None else self.fairness.to_json(),
            "plots": {name: plot.to_json() for name, plot in self.plots.items()},
        }

    def markdown(self) -> str:
        """Return the report as Markdown."""
        from fewlabels.report.markdown import markdown

        return markdown(self)

    def html(self) -> str:
        """Return the report as one HTML file that loads nothing from elsewhere."""
        from fewlabels.report.html import html

        return html(self)


def read(
    audit: Assessment,
    level: float = 0.95,
    *,
    draws: int = 10_000,
    examples: int = 12,
    foresee: bool = True,
    rules: Sequence[Rule] = (),
    content: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Read the content of a report.

    Parameters
    ----------
    audit
        The assessment, as it stands.
    level
        The probability that an interval contains the true value.
    draws
        The number of random draws, for results that have no formula.
    examples
        The largest number of labelled mistakes to show.
    foresee
        Whether to say how many more labels it will probably take, which can take some seconds.
    rules
        Rules to check, such as `Rule("accuracy >= 0.9")`; the report shows their verdicts.
    content
        The folder of the pictures that items name: the report then has small versions of those it shows.
    progress
        A function that is called with the work done so far and the total, during that time.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1]] * 30 + [[0.2, 0.8]] * 30, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, fl.whole(pool), seed=1)
    >>> _ = audit.tell({item: "cat" for item in audit.ask(40).ids})
    >>> read(audit).headline
    'The classifier is right for 5... of all items like these (between ...).'
    """
    level = check_level(level)
    reading = Reading(audit, level, draws)
    audit = reading.audit
    finding = found_in(reading)
    labels = count_labels(audit)
    more = more_labels(audit, draws, foresee=foresee, progress=progress)
    # A few labels in all show one thing: that they are too few.
    enough = labels.labelled >= min(FEW, finding.items)
    shown = plots.telling(audit) if enough else (plots.main_kind(audit),) if labels.labelled else ()
    return Report(
        **finding.parts() | {"labels": labels},
        made=datetime.now(UTC),
        version=version("fewlabels"),
        next=next_steps(audit.spec.task, finding.grounds, more.forecast),
        mistakes=with_pictures(find_mistakes(audit, finding.answer.groups, examples), audit, content),
        chosen=(*(_how_chosen(audit) if labels.labelled else ()), *labels.sentences()),
        more=more,
        learned=bands(audit, level) if enough else (),
        judges=judge_table(audit, level) if labels.labelled else Table({"judge": []}, {}),
        checks=tuple(check(audit, rule, foresee=foresee, draws=draws, level=level) for rule in rules),
        plots={name: plots.PLOTS[name].read(reading) for name in shown},
        main_plot=plots.main_kind(audit),
        classes=_classes(audit, level) if enough else None,
        fairness=_fairness(audit, level) if enough else None,
        settings=audit.spec.to_json(),
        pool=_source(audit),
    )


def _how_chosen(audit: Assessment) -> tuple[str, ...]:
    return phrases.policy(audit), phrases.prior(audit), phrases.TARGETS[audit.spec.target]


def _classes(audit: Assessment, level: float) -> ClassReport | None:
    """Read precision, recall and F1 of every class, if all were asked about. A judge has measures of its own."""
    task = audit.spec.task
    if task.of_models or task.pair or isinstance(task.metric, Prevalence) or len(audit.pool.choices) > _MOST_CLASSES:
        return None
    return read_classes(audit, level=level)


def _fairness(audit: Assessment, level: float) -> Fairness | None:
    """Compare groups made from columns of the pool, such as sex or region, if one class is positive."""
    task, groups = audit.spec.task, audit.groups
    by_columns = by_columns_alone(groups.recipe) and 2 <= len(groups) <= _MOST_GROUPS
    positive = audit.pool.positive or positive_of(audit.pool.choices)
    if not by_columns or task.of_models or task.pair or positive is None:
        return None
    try:
        return read_fairness(audit, groups, level=level)  # the draws of `audit.fairness()`: one answer in both
    except SpecError:  # each group has only one predicted class
        return None


def _source(audit: Assessment) -> dict[str, Any]:
    pool = audit.pool
    return {
        "source": pool.source,
        "fingerprint": pool.fingerprint,
        "items": len(pool),
        "classes": len(pool.choices),
        "groups": len(audit.groups),
        "grouped": audit.groups.words,
        "scores": "score vectors"
        if pool.score_sums is not None
        else "a confidence"
        if pool.confidence is not None
        else "none",
        "mean_confidence": pool.mean_confidence,
        "models": list(audit.whole.models),
        "evidence": list(pool.evidence),
    }
