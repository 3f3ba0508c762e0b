"""The settings of an assessment in words that need no statistics: task, groups, policy, prior, target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.findings.evidence import rule
from fewlabels.findings.measures import measure
from fewlabels.findings.reading import noun_of, predictor_of
from fewlabels.metrics import Accuracy
from fewlabels.policies import Lottery
from fewlabels.priors import Learned
from fewlabels.tasks import CompareModels
from fewlabels.wording import chosen, listed, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.partition import Partition
    from fewlabels.tasks import Task


@dataclass(frozen=True)
class Words:
    """Phrases that pages use: the names of a group and of the metric, how to read the numbers, what words mean."""

    noun: str
    metric: str
    share: bool
    grouped: str
    reading: str
    rule: str
    glossary: Mapping[str, str]

    @property
    def nouns(self) -> str:
        """The word for several groups."""
        return plural(self.noun)


_UNSCORED = (
    "How often the classifier is right was learned from the labels of all {nouns} together, so that {nouns} with few "
    "labels benefit from the others. A {noun} that is unlike the others can have too short a range until it has labels "
    "of its own, especially if labels went to only a few {nouns}."
)
_BESIDE = (
    " What {names} says about right and wrong was learned from the labels too. It is known for every item, so it can "
    "make the ranges shorter; if it is uninformative, that is soon learned and costs next to nothing."
)
_ANCHORS = (
    "About {share} of the labels were drawn at random from all items instead, so that they represent all of them."
)
_SHORT = 40  # letters of a name in a sentence
_STRIPS = "Items were sorted into {strips} strips by the classifier's confidence."
_SAME_ANSWER = "where models give the same answer, a label does not show which is better."
_TOGETHER = (
    "Which models can be trusted where they differ was learned from the labels, for all models together: from how many "
    "say the same, from how sure they are if they say so, and from which of them turned out to be right. Models that "
    "repeat each other count for little more than one."
)
TARGETS = {
    "population": "The numbers are about items like these, not only about exactly these.",
    "pool": "The numbers are about exactly these items.",
}


def question(audit: Assessment) -> str:
    """Return the task as a question.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> question(fl.create(None, "pets", pool, task=fl.Identify(fl.Accuracy(), lowest=1)))
    'Which class does the classifier get wrong most often?'
    """
    return asked(audit.spec.task, audit.groups, audit.spec.model)


def asked(task: Task, groups: Partition, model: str | None = None) -> str:
    """Return a task as a question before there is an assessment; about one of several models, with its name.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b"]})
    >>> asked(fl.Compare(fl.Accuracy(), "a", "b"), fl.by_predicted(pool))
    'Is the accuracy lower, about equal (within 5 points) or higher for a than for b?'
    """
    return task.question(noun_of(groups), len(groups)) + ("" if model is None else f" (the model {model})")


def meaning(audit: Assessment) -> str:
    """Say in words what the metric is."""
    if predictor_of(audit) == "judge":
        return "the share of items that people would pass"
    return audit.spec.task.metric.phrase or measure(audit.spec.task.metric).name


def groups(audit: Assessment) -> str:
    """Say in words how the groups were made."""
    if audit.spec.task.of_models:
        return f"The same items were given to {len(audit.pool.models):,} classifiers; each of them is a model."
    if noun_of(audit.rows) == "class":
        begin = f"Items are grouped by what the {predictor_of(audit)} says"
        name = next((name for name in audit.groups.names if len(name) <= _SHORT), None)
        if name is None:
            return f"{begin}: a class is all items to which it gives the name of that class."
        return f"{begin}: the class {name} is all items it calls {name}."
    if audit.groups.recipe["by"] == "whole":
        return "All items form one group."
    return f"Items are grouped {audit.groups.words}."


def policy(audit: Assessment) -> str:
    """Say in words how the items were chosen."""
    if len(audit.groups) == 1 and not (audit.spec.strips or audit.spec.task.of_models or audit.spec.policy.ignorable):
        return "Items were taken at random from all of them."
    words, pair = _filled(audit.spec.policy.phrase, audit) or f"{audit.spec.policy!r}.", audit.spec.task.pair
    if pair is not None:
        words += f" Only {pair[0]} and {pair[1]} were asked about."
    if audit.spec.task.of_models:
        words = _where_models_differ(audit, words)
        return f"{words} {_ANCHORS.format(share=chosen(audit.spec.anchor))}" if audit.spec.anchor else words
    if audit.spec.strips:
        strips = _STRIPS.format(strips=audit.spec.strips)
        words = f"{strips} {words} Within a strip, items were taken at random."
    elif audit.spec.policy.ignorable or len(audit.groups) == 1:
        return words
    else:
        words = f"{words} Within a {noun_of(audit.rows)}, items were taken at random."
    if audit.spec.anchor:
        words += f" {_ANCHORS.format(share=chosen(audit.spec.anchor))}"
    return words


def _where_models_differ(audit: Assessment, words: str) -> str:
    """Say which items were asked about models; a comparison of two takes them at random."""
    task = audit.spec.task
    if not (isinstance(task, CompareModels) and isinstance(audit.spec.policy, Lottery)):
        return f"{words} Only items on which models differ were asked about: {_SAME_ANSWER}"
    more = ", more of them in groups where less was settled" if len(audit.groups) > 1 else ""
    return f"Items were taken at random from those on which {task.a} and {task.b} differ{more}: {_SAME_ANSWER}"


def prior(audit: Assessment) -> str:
    """Say in words what was assumed before the first label."""
    if audit.spec.task.of_models:
        return _TOGETHER
    unscored = isinstance(audit.spec.prior, Learned) and audit.pool.confidence is None
    if unscored and len(audit.groups) == 1 and not audit.pool.evidence:
        return "How often the predictions are right was learned from these labels."
    words = _filled(_UNSCORED if unscored else audit.spec.prior.phrase, audit) or f"{audit.spec.prior!r}."
    if audit.pool.evidence and isinstance(audit.spec.prior, Learned):
        words += _BESIDE.format(names=listed([f"the column {name}" for name in audit.pool.evidence]))
    return words


def _filled(phrase: str, audit: Assessment) -> str:
    noun = noun_of(audit.rows)
    return phrase.format(noun=noun, nouns=plural(noun))


_ONCE = (
    "That depends on how the labels were chosen and on what was assumed before any label, both described below; the "
    "fewer labels, the more it depends on them."
)
_EVERY = (
    "That is guaranteed for every classifier, however often you look, because items were taken at random within "
    "each group; what was assumed before any label does not matter."
)
_TOLD_APART = (
    "The ranges of two models can overlap widely even when it is clear which is better: where both give the "
    "same answer, they share the same uncertainty."
)
_ALIKE = "If two ranges overlap widely, do not read much into which number is larger."
_FAIR = "if what was assumed before any label is fair (a credible interval)."
_VERDICT = {
    "verdict": "Pass: it reaches the line. Fail: it does not. Open: the labels do not say yet.",
    "chance": "The probability that it reaches the line, judging by the labels so far.",
}


def how_to_read(level: float, *, guaranteed: bool = False, of_models: bool = False) -> str:
    """Explain the numbers to somebody who reads such numbers for the first time."""
    example = "62% (between 55% and 69%)"
    return (
        f"Only some of the items were labelled by people, so every number is an estimate with a range: {example} means "
        "that 62% is the best guess and that anything from 55% to 69% is plausible. "
        f"A range is made to contain the true value with a probability of {chosen(level)}. "
        f"{_EVERY if guaranteed else _ONCE} {_TOLD_APART if of_models else _ALIKE}"
    )


def glossary(audit: Assessment, level: float, *, guaranteed: bool = False) -> dict[str, str]:
    """Return the words of the report, each with its meaning."""
    noun = noun_of(audit.rows)
    did = "gave a verdict on" if predictor_of(audit) == "judge" else "made a prediction for"
    meanings = {
        "label": "The true class of an item, according to a person.",
        "item": f"One thing that the {predictor_of(audit)} {did}: a picture, a text, a row.",
        noun: groups(audit),
        measure(audit.spec.task.metric).name: meaning(audit).capitalize() + ".",
        "range": f"The values that fit the labels. The true value is among them with a probability of {chosen(level)} "
        + ("at every look, for every classifier (a confidence sequence)." if guaranteed else _FAIR),
    }
    if audit.pool.mean_confidence is not None:
        meanings["confidence"] = "How sure the classifier says it is of its own prediction."
    if audit.spec.task.main_plot == "verdicts":
        meanings |= _VERDICT
    if audit.spec.task.of_models:
        meanings["chance"] = "The probability that no other model is right more often, judging by the labels so far."
        if audit.spec.task.sought is not None:
            meanings["behind the first"] = "How much less often a model is right than the best guess, with its range."
    elif audit.spec.task.sought is not None:
        meanings["chance"] = (
            f"The probability that the {noun} is one of those looked for, judging by the labels so far."
        )
        meanings["place"] = (
            f"The rank of the {noun} among all, as a range of places that fit the labels: 1 is the most extreme. "
            "A dash: more than half of all places fit."
        )
    return meanings


def words(reading: Reading) -> Words:
    """Gather the phrases of an assessment."""
    audit, guaranteed = reading.audit, bool(reading.guarantee)
    shown = measure(Accuracy() if audit.spec.task.metric.vector else audit.spec.task.metric)
    return Words(
        noun=reading.noun,
        metric=shown.name,
        share=shown.share,
        grouped=groups(audit),
        reading=how_to_read(reading.level, guaranteed=guaranteed, of_models=audit.spec.task.of_models),
        rule=rule(reading),
        glossary=glossary(audit, reading.level, guaranteed=guaranteed),
    )
