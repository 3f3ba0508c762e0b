"""The key figures of a finding: how sure the answer is, overall accuracy, labels and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.metrics import Accuracy, CalibrationError, Prevalence
from fewlabels.metrics.rates import Rate
from fewlabels.wording import Style, percent, probability, spelled

if TYPE_CHECKING:
    from fewlabels.findings.finding import Finding
    from fewlabels.tasks.grounds import Overall


@dataclass(frozen=True)
class KeyFigure:
    """A name, a value, and a remark about the value."""

    name: str
    value: str
    about: str = ""

    @property
    def text(self) -> str:
        """The value, with the remark in brackets."""
        return f"{self.value} ({self.about})" if self.about else self.value


def key_figures(finding: Finding) -> list[KeyFigure]:
    """List the figures for the top of a page: how sure the answer is, overall accuracy, labels, groups, confidence.

    If labels were steered to some groups, the overall accuracy was not the question, and comes after the groups.
    """
    overall, labelled = finding.overall, finding.labels.labelled
    figures = []
    if labelled and (sure := certainty(finding)) is not None:
        figures.append(sure)
    asked = _share(finding) or _asked(finding) if labelled else []
    figures += asked
    right = not asked or not isinstance(finding.task.metric, Prevalence | Rate)  # how often it is right matters too
    if right and not overall.doubt and not finding.task.of_models:
        figures.append(_overall(overall))
    share = percent(labelled / finding.items) if finding.items else "none"
    figures.append(KeyFigure("Labels", f"{labelled:,}", f"{share} of {finding.items:,} items"))
    if len(finding.groups) > 1 and not finding.task.of_models:
        enough = sum(row.evidence == "enough" for row in finding.groups)
        name, groups = finding.words.nouns.capitalize(), len(finding.groups)
        figures.append(KeyFigure(name, f"{groups:,}", f"{enough:,} with enough labels"))
    if right and overall.doubt:
        figures.append(_overall(overall))
    if overall.confidence is not None:
        figures.append(KeyFigure("Average confidence", percent(overall.confidence), "by its own account"))
    return figures


def _share(finding: Finding) -> list[KeyFigure]:
    """The true share of a class, if that is the question, and beside it the share that is predicted as it.

    How often predictions are right is then another question; for a judge, its own table answers that.
    """
    metric, predicted = finding.task.metric, finding.grounds.said
    if predicted is None or finding.task.conclusive or not isinstance(metric, Prevalence) or not finding.overall.enough:
        return []
    row = next(finding.answer.table.rows())
    style = Style(metric.in_percent)
    names = ("People would pass", "The verdicts pass")
    if not metric.passes:
        names = (f"Truly {metric.positive}", f"Predicted as {metric.positive}")
    value = style.value(row["mean"], row["low"], row["high"])
    beside = finding.overall.doubt or finding.overall.rests
    return [
        KeyFigure(names[0], value, "; ".join(filter(None, (style.between(row["low"], row["high"]), beside)))),
        KeyFigure(names[1], percent(predicted), "of all items"),
    ]


def _asked(finding: Finding) -> list[KeyFigure]:
    """The number that the question is about, such as recall or cost, if it is another than how often it is right."""
    metric = finding.task.metric
    if finding.task.conclusive or finding.task.of_models or metric.vector or isinstance(metric, Accuracy | Prevalence):
        return []
    row = next(finding.answer.table.rows())
    is_off = isinstance(metric, CalibrationError)
    middle = row["median" if is_off else "mean"]  # as in the sentence
    if middle is None:
        return []
    style, name = Style(metric.in_percent, 1 if is_off else None), metric.name
    value = style.value(middle, row["low"], row["high"])
    about = style.between(row["low"], row["high"])
    averaged = isinstance(metric, Rate) and len(finding.groups) > 1  # others are averages over all items
    over = f", averaged over the {finding.words.nouns}" if averaged else ""
    return [KeyFigure(f"{name[0].upper()}{name[1:]}", value, f"{about}{over}")]


def _overall(overall: Overall) -> KeyFigure:
    if not overall.enough:
        return KeyFigure(overall.name, "not known yet", overall.words)
    return KeyFigure(overall.name, overall.value, overall.about)


def certainty(finding: Finding) -> KeyFigure | None:
    """Say how sure the answer is or, if it names several groups, how many of them are expected to be right.

    None for a task whose answer is not right or wrong. A task may say it in words of its own.
    """
    if own := finding.task.certainty(finding.answer):
        return KeyFigure(*own)
    if (sure := finding.answer.probability) is None:
        return None
    named = set(finding.answer.groups)
    # Of several models, the labels of one group speak for the others too, and the answer's probability allows for it.
    if not finding.task.of_models and not all(row.backed for row in finding.groups if row.group in named):
        return KeyFigure("Answer is right", "not known yet", f"too few labels in the {finding.words.nouns} it names")
    chances = [row.chance for row in finding.groups if row.group in named and row.chance is not None]
    if len(chances) < 2:
        return KeyFigure("Answer is right", probability(sure), "by the labels so far")
    every = "both" if len(chances) == 2 else "all"
    about = f"{every} with a probability of {probability(sure)}"
    return KeyFigure(f"Right among the {spelled(len(chances))} named", f"about {round(sum(chances))}", about)
