"""The answer in a sentence or two, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.findings import phrases
from fewlabels.findings.formatting import listed, plain, spelled, sureness
from fewlabels.findings.measures import measure, shortened
from fewlabels.metrics import Accuracy, CalibrationError, Cost
from fewlabels.tasks import Compare, Identify
from fewlabels.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.confusions import Confused
    from fewlabels.findings.groups import GroupRow, Overall
    from fewlabels.tasks import Answer

NAMED = 5
"""So many groups are named with their numbers; a longer list is left to the table."""
SAFE = 0.8
"""An answer that is less sure is not told as a fact."""
CERTAIN = 0.9
"""From this chance on a group is nearly certain to be one of those looked for, whatever the others are."""
_PLACES = ("second", "third", "fourth", "fifth")


def headline(
    audit: Assessment,
    answer: Answer,
    rows: Sequence[GroupRow],
    overall: Overall,
    confusions: Sequence[Confused],
) -> str:
    """The answer in words, or that it is too early for one."""
    if not any(row.labelled for row in rows):
        return "Nothing can be said yet: no item has a label so far."
    by_name = {row.group: row for row in rows}
    task = audit.spec.task
    if isinstance(task, Identify):
        return _identified(audit, answer, by_name)
    if isinstance(task, Compare):
        return _compared(audit, task, answer, by_name)
    if task.metric.vector:
        return " ".join([_accuracy(audit, overall), *_mixed_up(confusions)])
    if isinstance(task.metric, Accuracy):
        return " ".join([_accuracy(audit, overall), *_lowest(audit, rows)])
    return " ".join([_averaged(audit, answer, overall), *_lowest(audit, rows)])


def _identified(audit: Assessment, answer: Answer, rows: Mapping[str, GroupRow]) -> str:
    one, which = phrases.noun(audit), phrases.extreme(audit)
    m, sure = len(answer.groups), answer.probability or 0.0
    several = f"the {one}" if m == 1 else f"the {spelled(m)} {plural(one)}"
    certain = settled(answer, rows)
    if certain and sure < SAFE and len(certain) < m:
        return _split(audit, f"{several} {which}", certain, [rows[name] for name in answer.groups])
    expected = sum(rows[name].chance or 0.0 for name in answer.groups)
    if (sure < 0.5 and (m == 1 or expected < m / 2)) or all(rows[name].evidence == "few" for name in answer.groups):
        names = [shortened(name, 60) for name in answer.groups[:NAMED]]
        guess = f"The best guess so far is {listed([*names, f'{m - NAMED:,} more'] if m > NAMED else names)}"
        chance = f"the chance that this is right is {sureness(sure)}"
        if m > 1:
            chance = f"of these {spelled(m)}, about {expected:.1f} are expected to be right"
        return f"It is too early to name {several} {which}. {guess}; {chance}."
    named = _with_numbers(audit, [rows[name] for name in answer.groups])
    if sure >= 0.5:
        be = f"{'is' if m == 1 else 'are'}{' probably' if sure < SAFE else ''}"
        return f"{several.capitalize()} {which} {be} {named}. We are {sureness(sure)} sure that {_these(m)}."
    doubt = f"About {expected:.1f} of these {spelled(m)} are expected to be right; which ones is not yet sure."
    return f"The best guess for {several} {which} is {named}. {doubt}"


def settled(answer: Answer, rows: Mapping[str, GroupRow]) -> list[GroupRow]:
    """The named groups that are nearly certain to be among those looked for, and have labels to show for it."""
    found = [rows[name] for name in answer.groups]
    return [row for row in found if (row.chance or 0.0) >= CERTAIN and row.evidence != "few"]


def _split(audit: Assessment, which: str, certain: list[GroupRow], named: list[GroupRow]) -> str:
    """What is known of a set that is only partly known: the sure ones with their numbers, the others with chances."""
    opened = [row for row in named if row not in certain]
    shown = opened[:NAMED]
    guesses = [f"{shortened(row.group, 60)} (chance {sureness(row.chance or 0.0)})" for row in shown]
    if len(opened) > len(shown):
        guesses.append(f"{len(opened) - len(shown):,} more")
    be, guess = ("is", "guess is") if len(opened) == 1 else ("are", "guesses are")
    rest = f"{the_open(len(named), len(opened))} {be} open: the best {guess} {listed(guesses)}."
    return f"Of {which}, nearly certain: {_with_numbers(audit, certain)}. {rest}"


def the_open(m: int, missing: int) -> str:
    """What to call those of m groups that are not settled.

    >>> the_open(3, 1), the_open(5, 2), the_open(9, 1)
    ('The third', 'The other two', 'The last')
    """
    if missing > 1:
        return f"The other {spelled(missing)}"
    return f"The {_PLACES[m - 2] if m - 2 < len(_PLACES) else 'last'}"


def _with_numbers(audit: Assessment, named: list[GroupRow]) -> str:
    """Groups by name, each with its number and interval; not more than can be read."""
    numbers = phrases.style(audit)
    right = isinstance(audit.spec.task.metric, Accuracy)
    parts = []
    for row in named[:NAMED]:
        if row.evidence == "few":
            parts.append(f"{shortened(row.group, 60)} (too few labels for a number)")
            continue
        first = f"right in {numbers.value(row.mean)} of the cases" if right and not parts else numbers.value(row.mean)
        parts.append(f"{shortened(row.group, 60)} ({first}, {numbers.between(row.low, row.high)})")
    if len(named) > NAMED:
        parts.append(f"{len(named) - NAMED:,} more")
    return listed(parts)


def _these(m: int) -> str:
    return "this is the right one" if m == 1 else f"these are the right {spelled(m)}"


def _compared(audit: Assessment, task: Compare, answer: Answer, rows: Mapping[str, GroupRow]) -> str:
    numbers = phrases.style(audit)
    row = next(answer.table.rows())
    region = max(("less", "equal", "more"), key=lambda name: row[name])
    a, b = shortened(task.a, 60), shortened(task.b, 60)
    name, apart, sure = measure(task.metric).name, numbers.change(task.rope), sureness(row[region])
    values = f"{numbers.value(rows[task.a].mean)} against {numbers.value(rows[task.b].mean)}"
    if row[region] < SAFE:
        likely = {"less": f"lower for {a}", "equal": "about equal", "more": f"higher for {a}"}[region]
        return (
            f"It is too early to say whether the {name} differs between {a} and {b} by more than {apart}: so far it is "
            f"{values}. Most probable ({sure}) is that it is {likely}."
        )
    if region == "equal":
        return (
            f"The {name} is about the same for {a} and {b} ({values}). "
            f"We are {sure} sure that they differ by at most {apart}."
        )
    word = "lower" if region == "less" else "higher"
    return (
        f"The {name} is {word} for {a} than for {b}: {values}. "
        f"We are {sure} sure that the difference is more than {apart}."
    )


def _accuracy(audit: Assessment, overall: Overall) -> str:
    numbers = phrases.style(audit)
    if not overall.enough:
        return f"It is too early for a number over all items: {overall.words}."
    items = f"these {len(audit.pool):,} items" if audit.spec.target == "pool" else "all items like these"
    return f"The classifier is right for {numbers.value(overall.mean)} of {items} ({overall.between})."


def _averaged(audit: Assessment, answer: Answer, overall: Overall) -> str:
    numbers, row = phrases.style(audit), next(answer.table.rows())
    metric = audit.spec.task.metric
    value, between = numbers.value(row.get("median", row["mean"])), numbers.between(row["low"], row["high"])
    if not overall.enough:
        return f"It is too early for a number over all items: {overall.words}."
    if isinstance(metric, CalibrationError):
        said = ""
        if overall.confidence is not None:
            said = f" It says {numbers.value(overall.confidence)} on average and is right for "
            said += f"{numbers.value(overall.mean)} of the items."
        ends = [f"{100 * end:.1f}" for end in (row["low"], row["high"])]
        off = f"{numbers.change(row['median'])} (between {ends[0]} and {ends[1]})"
        return f"The classifier's confidence is off by {off} on average.{said}"
    if isinstance(metric, Cost):
        return f"A prediction costs {plain(row['mean'])} on average ({between})."
    spread = "" if len(audit.groups) == 1 else f", averaged over the {plural(phrases.noun(audit))},"
    return f"The classifier's {measure(metric).name}{spread} is {value} ({between})."


def _lowest(audit: Assessment, rows: Sequence[GroupRow]) -> list[str]:
    """The worst group among those with enough labels, if there are several."""
    known = [row for row in rows if row.evidence == "enough"]
    if len(known) < 2:
        return []
    bad = measure(audit.spec.task.metric).high_is_bad
    worst = (max if bad else min)(known, key=lambda row: row.mean or 0.0)
    numbers, one = phrases.style(audit), phrases.noun(audit)
    which = "all" if len(known) == len(rows) else f"the {len(known):,} with enough labels"
    found = f"{shortened(worst.group, 60)} ({numbers.value(worst.mean)}, {numbers.between(worst.low, worst.high)})"
    return [f"Of {which}, the {one} with the {'highest' if bad else 'lowest'} estimate is {found}."]


def _mixed_up(confusions: Sequence[Confused]) -> list[str]:
    if not confusions:
        return []
    top = confusions[0]
    truly = f"in {top.words} of the cases it is truly {shortened(top.true, 60)}"
    return [f"The most frequent mix-up: where it says {shortened(top.group, 60)}, {truly}."]
