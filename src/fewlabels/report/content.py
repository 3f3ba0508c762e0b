"""Everything that a report says, read from an assessment once; pages only show it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fewlabels import plots
from fewlabels.estimates import check_level
from fewlabels.findings import evidence, phrases
from fewlabels.findings.confusions import Confused, confused
from fewlabels.findings.groups import GroupRow, Overall, group_rows, over_all
from fewlabels.findings.headline import headline
from fewlabels.findings.labels import Labels, Mistake, Tally, count_labels, find_mistakes, tally
from fewlabels.findings.learned import Band, bands
from fewlabels.findings.next_steps import next_steps
from fewlabels.findings.outlook import More, more_labels
from fewlabels.findings.reading import Reading
from fewlabels.tasks import Identify
from fewlabels.wording import counted, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fewlabels.assessment import Assessment
    from fewlabels.plots import Plot
    from fewlabels.tasks import Answer

FORMAT = "fewlabels-report/1"
"""Of `to_json`: names may be added under the same number, and are taken away or change meaning only with the next."""


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """An assessment as it stands, in words and numbers. Made by `read`.

    Parameters
    ----------
    name, made, version, level
        Of the assessment; when, and by which version, it was made; the probability that an interval holds the truth.
    question, headline, doubts, next
        The task as a question, the answer in plain words, what to keep in mind with it, and what to do next.
    answer
        The task's own answer.
    groups
        A row for each group: those whose number is known first, the most extreme or the worst one on top.
    overall
        Accuracy over all items, where the labels allow to tell it.
    confusions, mistakes
        Pairs of classes that are mixed up most, and some labelled items that the classifier got wrong.
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
    words
        Phrases for the pages: what a group is called, and so on.
    """

    name: str
    made: datetime
    version: str
    level: float
    question: str
    headline: str
    doubts: tuple[str, ...]
    next: tuple[str, ...]
    answer: Answer
    groups: tuple[GroupRow, ...]
    overall: Overall
    confusions: tuple[Confused, ...]
    mistakes: tuple[Mistake, ...]
    labels: Labels
    chosen: tuple[str, ...]
    more: More
    learned: tuple[Band, ...]
    plots: Mapping[str, Plot]
    settings: Mapping[str, Any]
    pool: Mapping[str, Any]
    words: phrases.Words

    def __repr__(self) -> str:
        return f"<Report {self.name!r}: {self.headline}>"

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `FORMAT` names the layout."""
        return {
            "format": FORMAT,
            "fewlabels": self.version,
            "made": self.made.isoformat(timespec="seconds"),
            "assessment": self.name,
            "level": self.level,
            "question": self.question,
            "headline": self.headline,
            "doubts": list(self.doubts),
            "next": list(self.next),
            "answer": {
                "words": self.answer.words,
                "probability": self.answer.probability,
                "groups": list(self.answer.groups),
                "rows": list(self.answer.table.rows()),
                "settings": dict(self.answer.settings),
            },
            "groups": [asdict(row) for row in self.groups],
            "overall": asdict(self.overall),
            "confusions": [asdict(pair) for pair in self.confusions],
            "mistakes": [asdict(mistake) | {"image": None} for mistake in self.mistakes],
            "labels": self.labels.to_json(),
            "chosen": list(self.chosen),
            "more": self.more.to_json(),
            "learned": [asdict(band) for band in self.learned],
            "settings": dict(self.settings),
            "pool": dict(self.pool),
            "plots": {name: numbers.to_json() for name, numbers in self.plots.items()},
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
        The probability that an interval holds the truth.
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
    rows, overall, confusions = _found(reading)
    labels = count_labels(audit)
    more = more_labels(audit, draws, foresee=foresee, progress=progress)
    return Report(
        name=audit.name,
        made=datetime.now(UTC),
        version=version("fewlabels"),
        level=level,
        question=phrases.question(audit),
        headline=headline(audit, reading.answer, rows, overall, confusions),
        doubts=tuple(_doubts(audit, rows, overall, labels)),
        next=next_steps(audit, reading.answer, rows, overall, more.forecast),
        answer=reading.answer,
        groups=rows,
        overall=overall,
        confusions=confusions,
        mistakes=find_mistakes(audit, reading.answer.groups, examples),
        labels=labels,
        chosen=(phrases.policy(audit), phrases.prior(audit), phrases.TARGETS[audit.spec.target], *labels.sentences()),
        more=more,
        learned=bands(audit, level),
        plots={name: plots.PLOTS[name].read(reading) for name in plots.suited(audit)} if labels.labelled else {},
        settings=audit.spec.to_json(),
        pool=_source(audit),
        words=phrases.words(audit, level),
    )


@dataclass(frozen=True, eq=False)
class Gist:
    """The task's own answer, the same in plain words, and what to keep in mind with it: how a report begins."""

    answer: Answer
    headline: str
    doubts: tuple[str, ...]


def gist(audit: Assessment, level: float = 0.95, *, draws: int = 10_000) -> Gist:
    """The beginning of a report, for a terminal.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1]] * 30 + [[0.2, 0.8]] * 30, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, task=fl.Identify(fl.Accuracy(), lowest=1))
    >>> _ = audit.tell({item: "cat" for item in audit.ask(2).ids})
    >>> gist(audit).headline
    'It is too early to name the class it gets wrong most often. The best guess so far is ...'
    >>> gist(audit).doubts[0]
    'All classes have too few labels to say how good the classifier is there.'
    """
    check_level(level)
    return gist_of(Reading(audit, level, draws))


def gist_of(reading: Reading) -> Gist:
    """The same from numbers that are shared with what is shown beside it."""
    audit = reading.audit
    rows, overall, confusions = _found(reading)
    said = headline(audit, reading.answer, rows, overall, confusions)
    doubts = _doubts(audit, rows, overall, tally(audit))
    return Gist(reading.answer, _plain_spaces(said), tuple(map(_plain_spaces, doubts)))


def _plain_spaces(text: str) -> str:
    """What is kept together on a page may break on a terminal."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def _found(reading: Reading) -> tuple[tuple[GroupRow, ...], Overall, tuple[Confused, ...]]:
    """What is known of each group, of all items, and of the pairs of classes that are mixed up."""
    rows = group_rows(reading, evidence.judge(reading))
    vector = reading.audit.spec.task.metric.vector
    return rows, over_all(reading, rows), tuple(confused(reading.estimates, rows)) if vector else ()


def _doubts(audit: Assessment, rows: tuple[GroupRow, ...], overall: Overall, labels: Tally) -> list[str]:
    """What somebody who reads the answer only should also know."""
    one = phrases.noun(audit)
    few = sum(row.evidence == "few" for row in rows)
    found = []
    if labels.labelled and few:
        which = "All" if few == len(rows) else f"{few:,} of {len(rows):,}"
        verb = "has" if few == 1 < len(rows) else "have"
        found.append(f"{which} {plural(one)} {verb} too few labels to say how good the classifier is there.")
    if labels.labelled and not overall.enough and isinstance(audit.spec.task, Identify):
        found.append(f"There is no number over all items: {overall.words}.")
    if labels.adopted:
        found.append(
            f"{counted(labels.adopted, 'label')} came from elsewhere, for items that were not asked for. If those "
            "items were not picked at random, the numbers can be off in a way that no range shows."
        )
    for count, fate in ((labels.withdrawn, "taken back"), (labels.unresolved, "skipped or disputed, and not decided")):
        if count:
            be = "was" if count == 1 else "were"
            found.append(
                f"{counted(count, 'item')} {be} {fate}. If the hard ones go that way, the rest looks easier than it is."
            )
    return found


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
