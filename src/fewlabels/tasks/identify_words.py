"""Identify in words: the groups it looks for, those that are found, and those that are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.metrics import Accuracy
from fewlabels.tasks.base import LIKELY
from fewlabels.tasks.grounds import SAFE
from fewlabels.wording import Style, listed, plural, probability, spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.tasks.grounds import Ahead, Grounds, GroupRow
    from fewlabels.tasks.identify import Identify

NAMED = 5
"""The most groups that are named with their numbers; the table has a longer list."""
CERTAIN = 0.9
"""A group with at least this chance is nearly certain to be one of those looked for, whatever the others are."""
OPEN = "open"
_SURE_WITHOUT_NUMBER = 0.95
_GRADES = {"nearly certain": CERTAIN, "likely": 0.7}
"""The words for a chance, and where each begins. The chance stands beside the word, so that no step is a cliff."""
_PLACES = ("second", "third", "fourth", "fifth")


def question(task: Identify, noun: str) -> str:
    """The task as a question."""
    which = noun if task.plays == 1 else f"{spelled(task.plays)} {plural(noun)}"
    if isinstance(task.metric, Accuracy):
        return f"Which {which} does the classifier get {_wrong(task)} most often?"
    verb = "has" if task.plays == 1 else "have"
    return f"Which {which} {verb} the {task.sought} {task.metric.name}?"


def headline(task: Identify, grounds: Grounds) -> str:
    """A sentence with the groups that are found, or that it is too early to name them."""
    named, sure = grounds.named, grounds.answer.probability or 0.0
    m, which = len(named), f"{_several(grounds, len(named))} {_extreme(task)}"
    grades = {_grade(row) for row in named}
    # A set that is rather right than wrong is named as a whole, unless only a part of it is nearly certain.
    partly = len(grades) > 1 and "nearly certain" in grades and sure < SAFE
    if m > 1 and grades != {OPEN} and (sure < LIKELY or partly):
        return _graded(task, grounds, which)
    expected = sum(row.chance or 0.0 for row in named)
    # Which group it is can be known before its number is: then it is named, without the number.
    vague = all(row.evidence == "few" for row in named) and not (sure >= SAFE and all(row.backed for row in named))
    if sure < LIKELY or vague:
        chance = f"the chance that this is right is {probability(sure)}"
        if m == 1 and not named[0].backed:
            chance = "it has too few labels of its own to be sure"
        if m > 1:
            chance = f"probably {right_of(expected, m)}"
        names = listed(_names(named))
        return f"It is too early to name {which}. The best guess so far is {names}; {chance}."
    # Labels of other groups make a guess probable; only labels of its own make it a fact.
    bare = [row for row in named if not row.backed]
    probably = "" if sure >= SAFE and not bare else " probably"
    right = "this is the right one" if m == 1 else f"these are the right {spelled(m)}"
    be = "is" if m == 1 else "are"
    how_sure = f"We are {probability(sure)} sure that {right}." if not bare else _unsure(m, len(bare))
    return f"{which[0].upper()}{which[1:]} {be}{probably} {_with_numbers(task, grounds, named)}. {how_sure}"


def next_steps(grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """Sentences on which groups are settled enough to act on, and which need more labels."""
    certain = settled(grounds.named)
    missing = len(grounds.named) - len(certain)
    if not certain:
        return (f"Nothing is settled enough to act on yet: the answer probably needs {ahead.labels}.",)
    act = f"{listed(_names(certain))} {'are' if len(certain) > 1 else 'is'} settled enough to act on."
    if not missing:
        exact = "their numbers" if len(certain) > 1 else "its number"
        return (f"{act} More labels would only make {exact} more exact.",)
    need = "needs" if missing == 1 else "need"
    return act, f"{the_open(len(grounds.named), missing)} probably {need} {ahead.labels}."


def overall_doubt(task: Identify, nouns: str, leans_on: str) -> str:
    """The reason to doubt accuracy over all items if the labels were steered to the groups looked for."""
    if isinstance(task.metric, Accuracy) and task.lowest:
        return f"labels were steered to the worst {nouns}; this number depends on {leans_on} and tends to be too low"
    return f"labels were steered to the {nouns} looked for; this number depends on {leans_on} and can be off"


def settled(named: Sequence[GroupRow]) -> list[GroupRow]:
    """The groups that are nearly certain to be among those looked for, and have labels of their own to show for it."""
    return [row for row in named if _grade(row) == "nearly certain"]


def _grade(row: GroupRow) -> str:
    """The word for the chance of a group as it is written, in whole percents; open without labels of its own.

    With an interval that is too long for a number, a group must be surer of its place than of its value.
    """
    if not row.backed or (row.evidence == "few" and (row.chance or 0.0) < _SURE_WITHOUT_NUMBER):
        return OPEN
    return next((word for word, least in _GRADES.items() if round(row.chance or 0.0, 2) >= least), OPEN)


def the_open(m: int, missing: int) -> str:
    """A name for those of m groups that are not settled.

    >>> the_open(3, 1), the_open(5, 2), the_open(9, 1)
    ('The third', 'The other two', 'The last')
    """
    if missing > 1:
        return f"The other {spelled(missing)}"
    return f"The {_PLACES[m - 2] if m - 2 < len(_PLACES) else 'last'}"


def right_of(expected: float, m: int) -> str:
    """How many of m named groups are expected to be right, in words.

    >>> right_of(1.4, 2), right_of(1.7, 2), right_of(0.2, 3), right_of(2.4, 3)
    ('one of these two is right', 'both are right', 'none of these three is right', 'two of these three are right')
    """
    count = round(expected)
    if count == m:
        return "both are right" if m == 2 else f"all {spelled(m)} are right"
    many = spelled(count) if count else "neither" if m == 2 else "none"
    return f"{many} of these {spelled(m)} {'are' if count > 1 else 'is'} right"


def _wrong(task: Identify) -> str:
    return "wrong" if task.lowest else "right"


def _extreme(task: Identify) -> str:
    """The property that is looked for, to follow "the class" or "the three classes"."""
    if isinstance(task.metric, Accuracy):
        return f"it gets {_wrong(task)} most often"
    return f"with the {task.sought} {task.metric.name}"


def _several(grounds: Grounds, m: int) -> str:
    return f"the {grounds.noun}" if m == 1 else f"the {spelled(m)} {grounds.nouns}"


def _graded(task: Identify, grounds: Grounds, which: str) -> str:
    """A set that is only partly known: its groups by grade, each with its chance, the first ones with their numbers."""
    named = grounds.named
    parts: list[str] = []
    for word in (*_GRADES, OPEN):
        rows = [row for row in named if _grade(row) == word]
        be = "is" if len(rows) == 1 else "are"
        shown = listed(
            [*(f"{row.short} (chance {probability(row.chance or 0.0)})" for row in rows[:NAMED]), *_rest(rows)]
        )
        if rows and not parts:
            parts.append(f"{_with_numbers(task, grounds, rows, chances=True)} {be} {word} to be among {which}.")
        elif rows:
            parts.append(f"Still open: {shown}." if word == OPEN else f"{shown} {be} {word} to be.")
    return " ".join(parts)


def _with_numbers(task: Identify, grounds: Grounds, named: Sequence[GroupRow], *, chances: bool = False) -> str:
    """Groups by name, each with its number and interval, or its chance; no more than fit into a sentence.

    Of predicted classes it says that the number is a precision, which readers would otherwise take for a recall.
    """
    style = Style(task.metric.in_percent)
    right = isinstance(task.metric, Accuracy)
    when = "when it says so, it is right" if grounds.noun == "class" else "right"
    parts: list[str] = []
    for row in named[:NAMED]:
        if row.evidence == "few":
            parts.append(f"{row.short} (too few labels for a number)")
            continue
        value = style.value(row.mean, row.low, row.high)
        first = f"{when} in {value} of the cases" if right and not parts else value
        chance = f"chance {probability(row.chance or 0.0)}; " if chances else ""
        parts.append(f"{row.short} ({chance}{first}, {style.between(row.low, row.high)}; {row.labels})")
    return listed([*parts, *_rest(named)])


def _unsure(m: int, bare: int) -> str:
    """The reason why it is not said how sure the answer is."""
    if m == 1:
        return "It has too few labels of its own to be sure."
    which = "All" if bare == m else spelled(bare).capitalize()
    has = "has too few labels of its own" if bare == 1 else "have too few labels of their own"
    return f"{which} of them {has} to be sure."


def _names(named: Sequence[GroupRow]) -> list[str]:
    return [*(row.short for row in named[:NAMED]), *_rest(named)]


def _rest(named: Sequence[GroupRow]) -> list[str]:
    return [f"{len(named) - NAMED:,} more"] if len(named) > NAMED else []
