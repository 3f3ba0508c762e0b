"""Everything that a report says, read from an assessment once; pages only show it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fewlabels import plots
from fewlabels.estimates import check_level
from fewlabels.findings import phrases
from fewlabels.findings.finding import Finding, found_in
from fewlabels.findings.labels import Labels, Mistake, count_labels, find_mistakes
from fewlabels.findings.learned import Band, bands
from fewlabels.findings.next_steps import next_steps
from fewlabels.findings.outlook import More, more_labels
from fewlabels.findings.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fewlabels.assessment import Assessment
    from fewlabels.plots import Plot

FORMAT = "fewlabels-report/1"
"""Of `to_json`: names may be added under the same number, and are taken away or change meaning only with the next."""


@dataclass(frozen=True, eq=False, repr=False)
class Report(Finding):
    """A finding, with where it comes from and what it looks like. Made by `read`.

    Parameters
    ----------
    made, version
        When, and by which version, it was made.
    next
        What to do next.
    mistakes
        Some labelled items that the classifier got wrong.
    labels
        How many labels there are and where they come from.
    chosen, more
        How the labels were chosen, in paragraphs; what more of them would change.
    learned
        What the learned prior found the scores to mean; empty without one.
    plots
        The numbers of each plot, by name.
    settings, pool
        Everything that defines the assessment, and where its items come from, as plain JSON values.
    """

    made: datetime
    version: str
    next: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    labels: Labels
    chosen: tuple[str, ...]
    more: More
    learned: tuple[Band, ...]
    plots: Mapping[str, Plot]
    settings: Mapping[str, Any]
    pool: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `FORMAT` names the layout."""
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
            "settings": dict(self.settings),
            "pool": dict(self.pool),
            "plots": {name: plot.to_json() for name, plot in self.plots.items()},
        }

    def markdown(self) -> str:
        """As a Markdown text."""
        from fewlabels.report.markdown import markdown

        return markdown(self)

    def html(self) -> str:
        """As one HTML file that loads nothing from anywhere."""
        from fewlabels.report.html import html

        return html(self)


def read(
    audit: Assessment,
    level: float = 0.95,
    *,
    draws: int = 10_000,
    examples: int = 12,
    foresee: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Read everything that a report says.

    Parameters
    ----------
    audit
        The assessment, as it stands.
    level
        The probability that an interval contains the true value.
    draws
        For what has no formula.
    examples
        How many of the labelled mistakes to show, at most.
    foresee
        Whether to say how many more labels it will probably take, which can take some seconds.
    progress
        Called with how much of that is done, and how much there is.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1]] * 30 + [[0.2, 0.8]] * 30, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, fl.whole(pool), seed=1)
    >>> _ = audit.tell({item: "cat" for item in audit.ask(40).ids})
    >>> read(audit).headline
    'The classifier is right for 5... of all items like these (between ...).'
    """
    check_level(level)
    reading = Reading(audit, level, draws)
    finding = found_in(reading)
    labels = count_labels(audit)
    more = more_labels(audit, draws, foresee=foresee, progress=progress)
    return Report(
        **finding.parts() | {"labels": labels},
        made=datetime.now(UTC),
        version=version("fewlabels"),
        next=next_steps(audit.spec.task, finding.grounds, more.forecast),
        mistakes=find_mistakes(audit, finding.answer.groups, examples),
        chosen=(phrases.policy(audit), phrases.prior(audit), phrases.TARGETS[audit.spec.target], *labels.sentences()),
        more=more,
        learned=bands(audit, level),
        plots={name: plots.PLOTS[name].read(reading) for name in plots.suited(audit)} if labels.labelled else {},
        settings=audit.spec.to_json(),
        pool=_source(audit),
    )


def _source(audit: Assessment) -> dict[str, Any]:
    pool = audit.pool
    return {
        "source": pool.source,
        "fingerprint": pool.fingerprint,
        "items": len(pool),
        "classes": len(pool.classes),
        "groups": len(audit.groups),
        "grouped": audit.groups.words,
        "scores": "score vectors"
        if pool.score_sums is not None
        else "a confidence"
        if pool.confidence is not None
        else "none",
        "mean_confidence": None if pool.confidence is None else float(pool.confidence.mean()),
    }
