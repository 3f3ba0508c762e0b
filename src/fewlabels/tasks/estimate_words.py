"""Estimate in words: the number over all items, and the worst group or the largest mix-up beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.metrics import Accuracy, CalibrationError, Confusion, Cost, Prevalence
from fewlabels.tasks.grounds import LONGEST
from fewlabels.undefined import left_out_words
from fewlabels.wording import Style, counted, is_exact, percent, plural, shortened

if TYPE_CHECKING:
    from fewlabels.table import Table
    from fewlabels.tasks.estimate import Estimate
    from fewlabels.tasks.grounds import Ahead, Grounds

_EQUAL = 1e-9  # values that differ by less differ by rounding
_QUESTIONS: dict[type, str] = {
    Accuracy: "How often is the classifier right{each}?",
    CalibrationError: "How far can the classifier's own confidence be trusted{each}?",
    Confusion: "Which classes does the classifier mix up, and how often?",
    Cost: "What do the classifier's mistakes cost{each}?",
}


def question(task: Estimate, noun: str, groups: int) -> str:
    """The task as a question."""
    each = f", in each {noun}" if groups > 1 else ""
    if isinstance(task.metric, Prevalence):
        words = (
            "How many items would people pass" if task.metric.passes else f"How many are truly {task.metric.positive}"
        )
        return f"{words}{each}?"
    words = _QUESTIONS.get(type(task.metric), f"What is the classifier's {task.metric.name}{{each}}?")
    return words.replace("{each}", each)


def headline(task: Estimate, grounds: Grounds) -> str:
    """The number over all items, unless it is too early for one; then the worst group or the largest mix-up."""
    if not grounds.overall.enough:
        first = f"It is too early for a number over all items: {grounds.overall.words}."
    elif isinstance(task.metric, Accuracy) or task.metric.vector:
        first = _accuracy(grounds)
    else:
        first = _averaged(task, grounds)
    return f"{first} {_mixed_up(grounds) if task.metric.vector else _worst(task, grounds)}".strip()


def next_steps(grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """Sentences on whether the number over all items can be used, and which groups need more labels."""
    rows = grounds.rows
    few = sum(row.evidence == "few" for row in rows)
    alone = len(rows) == 1 and few > 0  # what is asked about is all items, and it has too few labels
    usable = grounds.overall.enough and not grounds.overall.doubt and not alone
    steps = ["The number over all items can be used, with its range."] if usable else []
    until = f"{ahead.labels} until {ahead.goal}" if ahead.goal else ""
    if few and len(rows) > 1:
        which = "All" if few == len(rows) else f"{few:,} of {len(rows):,}"
        verb = "needs" if few == 1 else "need"
        needed = f"{which} {grounds.nouns} {verb} more labels before numbers of their own can be used"
        steps.append(f"{needed}: {until}." if until else f"{needed}.")
    elif until:
        steps.append(f"It probably takes {until}.")
    if not steps and all(row.labelled >= row.n for row in rows):
        return ("Every item has its label.",)
    return tuple(steps) or ("Label more items first.",)


def _accuracy(grounds: Grounds) -> str:
    overall = grounds.overall
    items = f"these {grounds.items:,} items" if grounds.target == "pool" else "all items like these"
    return f"The classifier is right for {overall.value} of {items} ({overall.between})."


def _averaged(task: Estimate, grounds: Grounds) -> str:
    style, row, overall = Style(task.metric.in_percent), next(grounds.answer.table.rows()), grounds.overall
    if row["mean"] is None:
        return grounds.answer.words
    between = style.between(row["low"], row["high"])
    value = style.value(row["mean"], row["low"], row["high"])
    if isinstance(task.metric, CalibrationError):
        ends = [f"{100 * end:.1f}" for end in (row["low"], row["high"])]
        off = f"{style.change(row['median'])} (between {ends[0]} and {ends[1]})"
        claim = ""
        if overall.confidence is not None:
            claim = f" It says {percent(overall.confidence)} on average and is right for "
            claim += f"{overall.value} of the items."
        return f"The classifier's confidence is off by {off} on average.{claim}"
    if isinstance(task.metric, Cost):
        return f"A prediction costs {value} on average ({between})."
    if isinstance(task.metric, Prevalence):
        items = f"these {grounds.items:,} items" if grounds.target == "pool" else "all items like these"
        begin = f"People would pass {value} of {items}"
        if not task.metric.passes:
            begin = f"{value} of {items} are truly {task.metric.positive}"
        said = "" if grounds.said is None else f" The verdicts pass {percent(grounds.said)}."
        if said and not task.metric.passes:
            said = f" The classifier says so of {percent(grounds.said or 0.0)}."
        return f"{begin} ({between}).{said}"
    spread = "" if len(grounds.rows) == 1 else f", averaged over the {plural(grounds.noun)},"
    words = f"The classifier's {task.metric.name}{spread} is {value} ({between})."
    return " ".join(filter(None, (words, *left_out(grounds.answer.table, grounds.noun))))


def left_out(table: Table, noun: str = "group") -> tuple[str, str]:
    """Sentences on the groups and the classes that an average leaves out; empty where there are none."""
    groups = table.settings.get("groups_left_out", 0)
    verb, is_out = ("has", "is") if groups == 1 else ("have", "are")
    words = f"{counted(groups, noun)} {verb} no number, and {is_out} left out." if groups else ""
    return words, left_out_words(table.settings.get("classes_left_out", 0))


def _worst(task: Estimate, grounds: Grounds) -> str:
    """The worst group among those with enough labels, if there are several."""
    known = [row for row in grounds.rows if row.evidence == "enough" and row.mean is not None]
    if len(known) < 2:
        return ""
    means = [row.mean or 0.0 for row in known]
    if all(is_exact(row.low, row.high) for row in known) and max(means) - min(means) < _EQUAL:
        return ""  # none is the worst
    bad = task.metric.high_is_bad
    worst = (max if bad else min)(known, key=lambda row: row.mean or 0.0)
    style = Style(task.metric.in_percent)
    mean = style.value(worst.mean, worst.low, worst.high)
    which = f"The {grounds.noun} with"
    if len(known) < len(grounds.rows):
        which = f"Among the {counted(len(known), grounds.noun)} with enough labels, the one with"
    value = f"{worst.short} ({mean}, {style.between(worst.low, worst.high)}; {worst.labels})"
    return f"{which} the {task.leading} estimate is {value}."


def _mixed_up(grounds: Grounds) -> str:
    seen = [pair for pair in grounds.confusions if pair.seen]
    if not seen:
        return "In the classes with enough labels, no label shows a mix-up." if grounds.confusions else ""
    top = max(seen, key=lambda pair: pair.items[1:])  # the mistake that affects most items even at the low end
    truly = f"in {top.words} of the cases it is truly {shortened(top.true, LONGEST)}"
    return f"The largest mix-up seen so far: where it says {shortened(top.group, LONGEST)}, {truly}."
