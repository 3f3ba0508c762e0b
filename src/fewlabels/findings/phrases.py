"""The settings of an assessment in words that need no statistics: task, groups, policy, prior, target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.findings.evidence import LEARNED_RULE, RULE
from fewlabels.findings.formatting import Style, percent, spelled
from fewlabels.findings.measures import measure, shortened
from fewlabels.metrics import Accuracy, CalibrationError, Confusion, Cost
from fewlabels.priors import Learned
from fewlabels.tasks import Compare, Identify
from fewlabels.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.assessment import Assessment
    from fewlabels.partition import Partition
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task


@dataclass(frozen=True)
class Words:
    """Phrases that the pages use: what a group and the metric are called, how to read it all, what words mean."""

    noun: str
    metric: str
    share: bool
    grouped: str
    reading: str
    rule: str
    glossary: Mapping[str, str]

    @property
    def nouns(self) -> str:
        """Several groups."""
        return plural(self.noun)

    @property
    def style(self) -> Style:
        """How values are written."""
        return Style(self.share)


TARGETS = {
    "population": "The numbers are about the classifier on items like these, not only on exactly these.",
    "pool": "The numbers are about exactly these items.",
}
ESTIMATED: dict[type, str] = {
    Accuracy: "How often is the classifier right{each}?",
    CalibrationError: "How far can the classifier's own confidence be believed{each}?",
    Confusion: "Which classes does the classifier mix up, and how often?",
    Cost: "What do the classifier's mistakes cost{each}?",
}


def noun(audit: Assessment) -> str:
    """What a group is called: a class where the groups are the predicted classes."""
    return _noun(audit.groups)


def _noun(groups: Partition) -> str:
    return "class" if groups.recipe["by"] == "predicted" else "group"


def style(audit: Assessment) -> Style:
    """How the values of the assessment's metric are written."""
    return Style(measure(audit.spec.task.metric).share)


def extreme(audit: Assessment) -> str:
    """What is looked for, to follow "the class" or "the three classes"."""
    task = audit.spec.task
    assert isinstance(task, Identify)
    if isinstance(task.metric, Accuracy):
        return f"it gets {'wrong' if task.lowest else 'right'} most often"
    return f"with the {'lowest' if task.lowest else 'highest'} {measure(task.metric).name}"


def question(audit: Assessment) -> str:
    """The task as a question.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> question(fl.create(None, "pets", pool, task=fl.Identify(fl.Accuracy(), lowest=1)))
    'Which class does the classifier get wrong most often?'
    """
    return asked(audit.spec.task, audit.groups)


def asked(task: Task, groups: Partition) -> str:
    """The same before there is an assessment.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b"]})
    >>> asked(fl.Compare(fl.Accuracy(), "a", "b"), fl.by_predicted(pool))
    'Is the accuracy lower, about equal (within 5 points) or higher for a than for b?'
    """
    one, name = _noun(groups), task.metric.name
    if isinstance(task, Identify):
        which = one if task.plays == 1 else f"{spelled(task.plays)} {plural(one)}"
        if isinstance(task.metric, Accuracy):
            return f"Which {which} does the classifier get {'wrong' if task.lowest else 'right'} most often?"
        verb = "has" if task.plays == 1 else "have"
        return f"Which {which} {verb} the {'lowest' if task.lowest else 'highest'} {name}?"
    if isinstance(task, Compare):
        apart = Style(task.metric.in_percent).change(task.rope)
        return f"Is the {name} lower, about equal (within {apart}) or higher for {task.a} than for {task.b}?"
    each = f", in each {one}" if len(groups) > 1 else ""
    return ESTIMATED.get(type(task.metric), f"What is the classifier's {name}{{each}}?").format(each=each)


def meaning(audit: Assessment) -> str:
    """What the metric is, in words."""
    return audit.spec.task.metric.phrase or measure(audit.spec.task.metric).name


def groups(audit: Assessment) -> str:
    """How the groups were made."""
    if noun(audit) == "class":
        name = shortened(audit.groups.names[0], 40)
        return f"Items are put together by what the classifier says: the class {name} is all items it calls {name}."
    if audit.groups.recipe["by"] == "whole":
        return "All items are looked at together."
    return f"Items are put together {audit.groups.words}."


def policy(audit: Assessment) -> str:
    """How the items were chosen."""
    chosen = _filled(audit.spec.policy, audit)
    task = audit.spec.task
    if isinstance(task, Compare):
        chosen += f" Only {task.a} and {task.b} were asked about."
    same = type(audit.spec.policy).__name__ == "UniformItems" or len(audit.groups) == 1
    return chosen if same else f"{chosen} Within a {noun(audit)}, items were taken at random."


def prior(audit: Assessment) -> str:
    """What was assumed before the first label."""
    return _filled(audit.spec.prior, audit)


def _filled(part: Policy | Prior, audit: Assessment) -> str:
    one = noun(audit)
    return part.phrase.format(noun=one, nouns=plural(one)) if part.phrase else f"{part!r}."


def how_to_read(level: float) -> str:
    """A few sentences for somebody who reads such numbers for the first time."""
    example = "62 % (between 55 % and 69 %)"
    return (
        f"Only some of the items were labelled by people, so every number is an estimate with a range: {example} means "
        "that 62 % is the best guess and that anything from 55 % to 69 % is plausible. "
        f"A range is made to hold the true value with a probability of {percent(level)}. That rests on how the labels "
        "were chosen and on what was assumed beforehand, both told below; the fewer labels, the more it does. "
        "Where two ranges overlap widely, do not read much into which number is larger."
    )


def glossary(audit: Assessment, level: float) -> dict[str, str]:
    """The words of the report, each with its meaning."""
    one = noun(audit)
    found = {
        "label": "The true class of an item, as a person said it.",
        "item": "One thing that the classifier made a prediction for: a picture, a text, a row.",
        one: groups(audit),
        measure(audit.spec.task.metric).name: meaning(audit).capitalize() + ".",
        "range": f"The values that fit the labels: the true one is among them with a probability of {percent(level)}, "
        "if what was assumed beforehand is fair (a credible interval).",
        "confidence": "How sure the classifier says it is of its own prediction.",
    }
    if isinstance(audit.spec.task, Identify):
        found["chance"] = f"The probability that the {one} is among those looked for, going by the labels so far."
        found["place"] = f"Where the {one} stands among all: 1 is the most extreme; the places that fit the labels."
    return found


def words(audit: Assessment, level: float) -> Words:
    """The phrases of an assessment."""
    one = noun(audit)
    shown = measure(Accuracy() if audit.spec.task.metric.vector else audit.spec.task.metric)
    rule = f"{RULE} {LEARNED_RULE}" if isinstance(audit.spec.prior, Learned) else RULE
    return Words(
        noun=one,
        metric=shown.name,
        share=shown.share,
        grouped=groups(audit),
        reading=how_to_read(level),
        rule=rule.format(noun=one, nouns=plural(one)),
        glossary=glossary(audit, level),
    )
