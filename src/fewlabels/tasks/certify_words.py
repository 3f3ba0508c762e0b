"""Certify in words: whether every group reaches the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewlabels.metrics import Prevalence
from fewlabels.undefined import left_out_words
from fewlabels.wording import NONE, Style, counted, is_exact, listed, plural, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.table import Table
    from fewlabels.tasks.base import Answer
    from fewlabels.tasks.certify import Certify, Verdict
    from fewlabels.tasks.grounds import Ahead, Grounds

ONE_LOOK = (
    "The verdict is meant for one look: if you look again and again and stop at the first pass, you will be wrong more "
    "often."
)
"""What a pass does not promise where no bets decide it."""
_NAMED = 5
_COUNTED = " (counted, not estimated)"
_ANOTHER = "Ask about another class."
NAMES: dict[Verdict, str] = {"pass": "pass", "fail": "fail", "open": "not enough evidence"}
"""The verdicts in words."""
SHORT: dict[Verdict, str] = {"fail": "fail", "open": "open", "pass": "pass"}
"""The verdicts about single groups in a word, in the order in which they are counted."""


def goal(task: Certify) -> str:
    """The line in words.

    >>> import fewlabels as fl
    >>> goal(fl.Certify(fl.Accuracy(), at_least=0.9))
    'an accuracy of at least 90%'
    """
    name, most = task.metric.name, task.at_least is None
    article = "an" if name[0].lower() in "aeiou" else "a"
    return f"{article} {name} of at {'most' if most else 'least'} {Style(task.metric.in_percent).stated(task.line)}"


def question(task: Certify, noun: str, groups: int) -> str:
    """The task as a question."""
    if task.only:
        verb = "Does" if len(task.only) == 1 else "Do"
        return f"{verb} {_names(task.only)} have {goal(task)}?"
    whole = f"Do{'' if isinstance(task.metric, Prevalence) else 'es'} {_all_of_it(task)} have {goal(task)}?"
    return f"Does every {noun} have {goal(task)}?" if groups > 1 else whole


def answer(
    task: Certify,
    verdict: Verdict,
    sure: float,
    failed: Sequence[str],
    columns: Mapping[str, Sequence[Any]],
    noun: str = "group",
    whose: str = "classifier",
    counted_groups: Sequence[str] = (),
) -> str:
    """The verdict in a sentence, with groups called by their noun, about a "classifier" or a "judge".

    What is said of `counted_groups` alone is certain, and has no probability.
    """
    if verdict == "pass":
        how = _COUNTED if set(columns["group"]) <= set(counted_groups) else _how_sure(task, sure)
        return f"Pass: {_every(task, len(columns['group']), noun, whose)} {goal(task)}{how}."
    if verdict == "fail":
        verb = "does" if len(failed) == 1 and not _of_items(task, columns) else "do"
        who = _names(failed) if len(columns["group"]) > 1 or task.only else _all_of_it(task, whose)
        are_counted = bool(failed) and set(failed) <= set(counted_groups)
        how = _COUNTED if are_counted else _each_how_sure(task, failed, columns, sure)
        return f"Fail: {who} {verb} not have {goal(task)}{how}."
    unsure = sum(verdict == "open" for verdict in columns["verdict"])
    if columns["mean"] == [None]:
        return f"Not enough evidence: there is no {task.metric.name}, as {task.metric.without_number}. {_ANOTHER}"
    if len(columns["group"]) == 1 and not task.only:
        return f"Not enough evidence: {_all_of_it(task, whose)} may or may not have {goal(task)}."
    return f"Not enough evidence: {counted(unsure, noun)} may or may not have {goal(task)}."


def in_words(task: Certify, given: Answer, noun: str, whose: str = "classifier") -> str:
    """The sentence of an answer that was given before, with groups called by their noun."""
    return of_table(task, given.table, given.probability or 0.0, given.groups, noun, whose)


def of_table(
    task: Certify, table: Table, sure: float, failed: Sequence[str], noun: str = "group", whose: str = "classifier"
) -> str:
    """The sentence of a table of verdicts, and why labels do not support what they seem to say."""
    settings = table.settings
    known = [row["group"] for row in table.rows() if settings["target"] == "pool" and _is_counted(row)]
    words = answer(task, settings["verdict"], sure, failed, table.columns, noun, whose, known)
    if settings["verdict"] == "open" and settings.get("adopted"):
        words += (
            f" {counted(settings['adopted'], 'label')} came from elsewhere, for items that were not asked for, and a "
            "verdict needs items drawn at random: take these labels back, and ask for items."
        )
    if settings["verdict"] == "open" and settings.get("missing"):
        is_one = settings["missing"] == 1
        words += (
            f" {counted(settings['missing'], 'item')} {'was' if is_one else 'were'} taken back, skipped or disputed, "
            f"and a pass must hold even if {'it is' if is_one else 'they are'} on the wrong side: give "
            f"{'it a label' if is_one else 'them labels'}, or add others."
        )
    if settings.get("undefined") and len(table) > 1:
        words += f" {_undefined(task, settings['undefined'], noun)}"
    return f"{words} {left_out_words(settings.get('classes_left_out', 0))}".strip()


def _is_counted(row: Mapping[str, Any]) -> bool:
    """Whether all items of a group are labelled, and no label is in doubt.

    An interval without a width is not enough: it may have none while the last few items are open.
    """
    return bool(row["labelled"] >= row["n"]) and is_exact(row["low"], row["high"])


def _undefined(task: Certify, groups: int, noun: str) -> str:
    """Why some groups have no number to compare with the line, and what to do."""
    why = f"In {counted(groups, noun)} there is no {task.metric.name}, as {task.metric.without_number}."
    return f"{why} Leave {'it' if groups == 1 else 'them'} out, or ask about another class."


def headline(task: Certify, grounds: Grounds) -> str:
    """The verdict, and the group that decides it."""
    words = in_words(task, grounds.answer, grounds.noun)
    rows = list(grounds.answer.table.rows())
    if not any(row["labelled"] for row in rows):
        return "Nothing can be said yet: no item has a label so far."
    open_ones = [row for row in rows if row["verdict"] == "open"]
    is_open = grounds.answer.settings["verdict"] == "open" and bool(open_ones)
    first = open_ones[0] if is_open else rows[0]
    worst = next(row for row in grounds.rows if row.group == first["group"])
    if not worst.labelled:
        return words
    style = Style(task.metric.in_percent)
    if first["mean"] is None:
        return words
    value = style.value(first["mean"], first["low"], first["high"])
    shown = f"{value}, {style.between(first['low'], first['high'])}; {worst.support}"
    if len(rows) == 1 or grounds.answer.groups == (first["group"],):
        is_counted = grounds.answer.settings["target"] == "pool" and _is_counted(first)
        return f"{words} {f'It is {value}: {worst.support}' if is_counted else f'The estimate is {shown}'}."
    if is_open and len(open_ones) < len(rows):
        which = "That is" if len(open_ones) == 1 else "The least likely to reach it is"
        return f"{words} {which} {worst.short} ({shown})."
    return f"{words} The {grounds.noun} least likely to reach the line is {worst.short} ({shown})."


def certainty(task: Certify, given: Answer) -> tuple[str, str, str]:
    """The verdict as a figure: its name, the verdict, and how many groups pass, fail and are open."""
    verdicts = given.table.columns["verdict"]
    counts = [f"{verdicts.count(kind):,} {SHORT[kind]}" for kind in SHORT if kind in verdicts]
    about = ", ".join(counts) if len(verdicts) > 1 else goal(task)
    return "Verdict", SHORT[given.settings["verdict"]], about


def legend(task: Certify) -> str:
    """The meaning of the columns of the answer."""
    words = "reaches: the chance that the group reaches the line. verdict: the verdict that its own labels support."
    if not task.guarantee:
        return words
    return f"{words} won: how much of the evidence needed for a guaranteed verdict is there."


def chance(reaches: float | None, *, backed: bool) -> str:
    """The chance that a group reaches the line; none is said of a group without labels of its own.

    >>> chance(0.999, backed=True), chance(0.999, backed=False)
    ('over 99%', '–')
    """
    return probability(reaches) if reaches is not None and backed else NONE


def next_steps(task: Certify, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """The next steps after the verdict."""
    verdict = grounds.answer.settings["verdict"]
    if verdict == "pass":
        once = "" if task.metric.marginal else f" {ONE_LOOK}"
        return (f"The line is reached. More labels would only make the numbers more exact.{once}",)
    if verdict == "fail":
        return (f"Look at {_names(grounds.answer.groups)} first: the line is missed there.",)
    few = sum(row["labelled"] == 0 for row in grounds.answer.table.rows())
    missing = f" {counted(few, grounds.noun).capitalize()} {'has' if few == 1 else 'have'} no label yet." if few else ""
    return (f"A verdict probably needs {ahead.labels}.{missing}",)


def _every(task: Certify, groups: int, noun: str, whose: str) -> str:
    if task.only:
        return f"{_names(task.only)} {'has' if len(task.only) == 1 else 'have'}"
    whole = "all items together have" if isinstance(task.metric, Prevalence) else f"the {whose} has"
    return whole if groups == 1 else f"each of the {groups:,} {plural(noun)} has"


def _all_of_it(task: Certify, whose: str = "classifier") -> str:
    """What a rule about all items is about: a pass rate is a property of the items, not of what judged them."""
    return "all items together" if isinstance(task.metric, Prevalence) else f"the {whose}"


def _of_items(task: Certify, columns: Mapping[str, Sequence[Any]]) -> bool:
    return isinstance(task.metric, Prevalence) and len(columns["group"]) == 1 and not task.only


def _names(names: Sequence[str]) -> str:
    shown = [shortened(name, 40) for name in names[:_NAMED]]
    return listed([*shown, f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else shown)


def _how_sure(task: Certify, sure: float) -> str:
    if task.guarantee:
        return f" (guaranteed at {probability(task.sure)}, however often you look)"
    return f", with probability {probability(sure)}"


def _each_how_sure(task: Certify, failed: Sequence[str], columns: Mapping[str, Sequence[Any]], sure: float) -> str:
    """How sure it is that each named group misses the line, which is less sure than that any group does.

    With several groups, this is the probability of the least certain one.
    """
    chances = [1 - p for group, p in zip(columns["group"], columns["reaches"], strict=True) if group in failed]
    if task.guarantee or not chances:
        return _how_sure(task, sure)
    least = probability(min(chances))
    if len(chances) == 1:
        return f", with probability {least}"
    return f", each with probability {least}{'' if least.startswith('over') else ' or more'}"
