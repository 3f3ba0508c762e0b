"""Caveats for somebody who reads only the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.findings.evidence import LEARNED
from fewlabels.tasks.backing import ENOUGH
from fewlabels.tasks.models import SURE
from fewlabels.wording import counted, is_exact, listed

if TYPE_CHECKING:
    from fewlabels.findings.labels import Tally
    from fewlabels.tasks import Task
    from fewlabels.tasks.grounds import Grounds


_HARDLY = 0.2  # of the ways in which the labels of all items can come out, so few would settle the question
_NAMED = 3  # models without some answers that are named after the first
_FAR = 0.2  # points: further behind, intervals of a search held in half of the runs on one of five pools
_INSTEAD = (
    "If this is the number you need, ask for it: an assessment with all items together as one group has a shorter "
    "range."
)


def doubts(task: Task, grounds: Grounds, labels: Tally) -> tuple[str, ...]:
    """List the caveats: no answers, too few labels, no overall number, labels from elsewhere, and missing items."""
    sentences = []
    if grounds.unanswered and grounds.said is not None:
        sentences.append(
            f"The judge gave no verdict on {grounds.unanswered:,} of {grounds.items:,} items. They count in what "
            "people would pass, and not in how good the judge is."
        )
    elif grounds.unanswered:
        sentences.append(
            f"{counted(grounds.unanswered, 'item')} of {grounds.items:,} have no answer, or one that can never be "
            "right such as a refusal: counted as wrong."
        )
    if grounds.silent:
        sentences.append(_no_answers(grounds))
    if labels.labelled:
        sentences += _few(grounds)
        sentences += _rough(grounds)
        sentences += _too_close(grounds) if task.of_models else []
        # If the task looks for no group, the headline itself is about all items.
        if not grounds.overall.enough and task.sought is not None and not task.of_models:
            sentences.append(f"There is no number for all items together: {grounds.overall.words}.")
        # The headline of a task that concludes something is not about all items.
        if grounds.overall.enough and grounds.overall.doubt and not task.conclusive:
            sentences.append(f"About the number over all items: {grounds.overall.doubt}. {_INSTEAD}")
    if all(is_exact(row.low, row.high) for row in grounds.rows if row.n):
        return (*sentences, *missing(labels))
    return (*sentences, *of_labels(labels))


def of_labels(labels: Tally) -> tuple[str, ...]:
    """Caveats about the labels, whatever is made of them: where they come from, and which items have none."""
    if not labels.adopted:
        return missing(labels)
    elsewhere = (
        f"{counted(labels.adopted, 'label')} came from elsewhere, for items that were not asked for. If those items "
        "were not picked at random, the numbers can be wrong by more than their ranges show."
    )
    return (elsewhere, *missing(labels))


def missing(labels: Tally) -> tuple[str, ...]:
    """Sentences on items that were asked for and have no label that counts."""
    fates = ((labels.withdrawn, "taken back"), (labels.unresolved, "skipped or disputed, and not decided"))
    return tuple(
        f"{counted(count, 'item')} {'was' if count == 1 else 'were'} {fate}. If these are the hard ones, the "
        "classifier looks better than it is."
        for count, fate in fates
        if count
    )


def _no_answers(grounds: Grounds) -> str:
    """A sentence on the models that gave no answer: to a reader who does not know, such a model looks bad by chance."""
    (first, count), *others = grounds.silent
    each = [f"{name} for {count:,}" for name, count in others[:_NAMED]]
    each += [f"{len(others) - _NAMED:,} more models for fewer"] if len(others) > _NAMED else []
    name = f"{first} has no answer for {count:,} of {grounds.items:,} items"
    return f"{listed([name, *each])}. An item without an answer counts as wrong."


def _rough(grounds: Grounds) -> list[str]:
    """A sentence on how often models are right, if labels went where they differ and few were drawn from all items."""
    exact = all(is_exact(row.low, row.high) for row in grounds.rows if row.n)
    if grounds.anchors is None or grounds.anchors >= ENOUGH or exact:
        return []
    was = "was" if grounds.anchors == 1 else "were"
    drawn = "no label was" if not grounds.anchors else f"only {counted(grounds.anchors, 'label')} {was}"
    words = (
        f"How often each model is right is a rough guess, which can be off by more than its range: {drawn} drawn at "
    )
    words += "random from all items. Which model is better does not depend on it. If you need the number, ask for the "
    return [f"{words}accuracy of one model too.{_far(grounds)}"]


def _far(grounds: Grounds) -> str:
    """A sentence on models far behind the best of several: hardly any label was asked for to tell them from it."""
    table = grounds.answer.table
    gaps = [gap for gap in table.columns.get("behind", ()) if gap is not None]
    if len(gaps) <= 2 * len(grounds.answer.groups) or max(gaps) < _FAR:
        return ""
    return (
        f" How far a model is behind is a rough guess too if it is more than {_FAR * 100:.0f} points: labels went to "
        "the models that may be the best. If you need that number, compare the two."
    )


def is_out_of_reach(grounds: Grounds) -> bool:
    """Whether the labels of all items would hardly make the answer about several models 95% sure."""
    answer = grounds.answer
    return answer.reach is not None and answer.reach < _HARDLY and (answer.probability or 0.0) < SURE


def _too_close(grounds: Grounds) -> list[str]:
    """A sentence on models that are so close that the labels of all items would hardly show which is better."""
    if not is_out_of_reach(grounds):
        return []
    from fewlabels.planning.words import only_these  # rarely needed, and the rest of planning comes with it

    words = f"Even with labels of all {counted(grounds.items, 'item')}, the answer would hardly be 95% sure: "
    words += "by the labels so far, the models are too close for a pool of this size."
    return [f"{words} {only_these()}"]


def _few(grounds: Grounds) -> list[str]:
    few, rows = sum(row.evidence == "few" for row in grounds.rows), len(grounds.rows)
    if not few:
        return []
    if grounds.nouns == "models" and few == rows:
        return ["There are too few labels to say how good each model is."]
    if rows == 1:
        return ["Too few labels bear on this: the range is wide, and the best guess may be far off."]
    which = "All" if few == rows else f"{few:,} of {rows:,}"
    verb = "has" if few == 1 < rows else "have"
    learned = sum(row.evidence in LEARNED for row in grounds.rows)
    more = ""
    if learned:
        more = f" {learned:,} more {'has' if learned == 1 else 'have'} hardly any: what is said about them is "
        more += next(row.note for row in grounds.rows if row.evidence in LEARNED) + "."
    return [f"{which} {grounds.nouns} {verb} too few labels to say how good the classifier is there.{more}"]
