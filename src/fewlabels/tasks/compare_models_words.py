"""CompareModels in words: which of two models is right more often, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.tasks.compare import REGIONS
from fewlabels.tasks.grounds import LONGEST, SAFE
from fewlabels.tasks.models import SURE, TIE
from fewlabels.wording import SMALL, Style, is_exact, listed, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fewlabels.tasks.compare_models import CompareModels
    from fewlabels.tasks.grounds import Ahead, Grounds


def question(task: CompareModels, groups: int) -> str:
    """The task as a question."""
    within = Style(task.metric.in_percent).within(task.rope)
    each = ", in each group" if groups > 1 else ""
    return f"Is {task.a} right less often, about as often (within {within}) or more often than {task.b}{each}?"


def headline(task: CompareModels, grounds: Grounds) -> str:
    """A sentence on whether they differ, or that it is too early to say."""
    first, *groups = grounds.answer.table.rows()
    sentence = _sentence(task, first)
    if not groups:
        return sentence
    parts = [_listed(task, groups, region) for region in ("more", "less", "equal")]
    unclear = [shortened(row["where"], LONGEST) for row in groups if max(row[r] for r in REGIONS) < SAFE]
    if unclear:
        parts.append(f"Not clear yet: {listed(unclear)}.")
    return " ".join(["Over all items:", sentence, *(part for part in parts if part)])


def _sentence(task: CompareModels, row: Mapping[str, Any]) -> str:
    style = Style(task.metric.in_percent)
    region = max(REGIONS, key=lambda name: row[name])
    a, b = shortened(task.a, LONGEST), shortened(task.b, LONGEST)
    rope, sure = style.within(task.rope), probability(row[region])
    if is_exact(row["low"], row["high"]) and abs(row["mean"]) <= TIE:
        return f"{a} and {b} are right for the same number of these items."
    values = f"{style.difference(row['mean'], row['low'], row['high'])}, {style.apart(row['low'], row['high'])}"
    if row[region] < SAFE:
        open_ = f"whether {a} and {b} differ by more than {rope}" if task.rope else f"which of {a} and {b} is better"
        so_far = f"It is too early to say {open_}: so far the difference is {values}."
        return f"{so_far} {_chances(task, row)}{_not_worse(task, row)}"
    probably = "" if row[region] >= SURE else "probably "
    if region == "equal":
        return (
            f"{a} and {b} are {probably}right about equally often ({values}). We are {sure} sure that they differ by "
            f"at most {rope}."
        )
    word = "less" if region == "less" else "more"
    beyond = f"the difference is more than {rope}" if task.rope else "this is so"
    return f"{a} is {probably}right {word} often than {b} ({values}). We are {sure} sure that {beyond}."


def _chances(task: CompareModels, row: Mapping[str, Any]) -> str:
    """A sentence with the probability of each region; if two are as probable, none can be called the most probable."""
    less, equal, more = (probability(row[name]) for name in REGIONS)
    a = shortened(task.a, LONGEST)
    about = f"{equal} that they are right about equally often, and " if row["equal"] >= SMALL else "and "
    return f"The chance is {less} that {a} is right less often, {about}{more} that it is right more often."


def _not_worse(task: CompareModels, row: Mapping[str, Any]) -> str:
    """A sentence on a model that is at least not worse, if it is open whether it is better."""
    name, other, sure = max(
        (task.a, task.b, row["not_less"]), (task.b, task.a, row["not_more"]), key=lambda claim: claim[2]
    )
    if sure < SAFE:
        return ""
    by = f" by more than {Style(task.metric.in_percent).within(task.rope)}" if task.rope else ""
    a, b = shortened(name, LONGEST), shortened(other, LONGEST)
    verb = "is at least" if sure >= SURE else "is probably"
    return f" But {a} {verb} not worse: we are {probability(sure)} sure that it is not right less often than {b}{by}."


def _listed(task: CompareModels, groups: Sequence[Mapping[str, Any]], region: str) -> str:
    """A sentence on the groups in which a region is probable; empty if there are none."""
    names = [shortened(row["where"], LONGEST) for row in groups if row[region] >= SAFE]
    begins = {"more": f"{task.a} is better in", "less": f"{task.b} is better in", "equal": "They are about equal in"}
    return f"{begins[region]} {listed(names)}." if names else ""


def next_steps(grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """A sentence on whether the comparison is settled enough to act on."""
    if (grounds.answer.probability or 0.0) >= SURE:
        return ("The comparison is settled enough to act on.",)
    return (f"Settling the comparison will probably take {ahead.labels}.",)


def legend(task: CompareModels) -> str:
    """The meaning of the columns of the answer."""
    within = Style(task.metric.in_percent).within(task.rope)
    return (
        f"less, equal, more: the chances that {task.a} is right less often than {task.b}, about as often (within "
        f"{within}), or more often. mean, low, high: the difference."
    )
