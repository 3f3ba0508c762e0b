"""A rule checked against the labels of an assessment: the verdict, the groups that decide it, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from fewlabels.errors import Argument, SpecError
from fewlabels.findings.doubts import missing
from fewlabels.findings.labels import right_labels, shown_by_labels, tally
from fewlabels.findings.overall import rests
from fewlabels.findings.reading import noun_of, predictor_of
from fewlabels.gate.rules import certify_from
from fewlabels.named import groups_from
from fewlabels.partition import whole
from fewlabels.planning.words import BEGIN
from fewlabels.stopping import Stop
from fewlabels.table import Table
from fewlabels.tasks.backing import ENOUGH
from fewlabels.tasks.certify_words import in_words
from fewlabels.tasks.grounds import of_these
from fewlabels.wording import counted, listed, plural, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.gate.rules import Rule
    from fewlabels.partition import Partition
    from fewlabels.tasks import Certify
    from fewlabels.tasks.certify import Verdict

CODES: dict[str, int] = {"pass": 0, "fail": 3, "open": 4}
"""How the command line ends with each verdict."""
_NAMED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """The result of checking a rule against the labels. Made by `check` and `audit.check`.

    Parameters
    ----------
    rule, task
        The rule, and the question that it asks of the labels.
    verdict
        "pass", "fail", or "open": not enough evidence.
    words
        The verdict in a sentence or two, with the groups that decide it.
    table
        A row for each group, the worst first: columns group, n, labelled, mean, low, high, reaches, backed and verdict.
        After labelled stands right, where labels show it. For another share there are counted, the labels that it is
        about, and of_these, the hits among them: for recall, those truly of the class, and those that were found.
    forecast
        How many more labels a verdict will probably take, in words; empty if that was not asked for or is not known.
    lasting
        Whether a pass stays as reliable however often you look, because it rests on bets on random labels in each
        group.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b"] * 50})
    >>> found = fl.create(None, "pets", pool).check("accuracy >= 0.9")
    >>> found.verdict, bool(found)
    ('open', False)
    """

    rule: Rule
    task: Certify
    verdict: Verdict
    words: str
    table: Table
    forecast: str = ""
    lasting: bool = False

    def __repr__(self) -> str:
        return f"{self.words}\n\n{self.table}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<p>{escape(self.words)}</p>{self.table._repr_html_()}"

    def __bool__(self) -> bool:
        """Whether it passes, so that `assert audit.check(...)` does what it says."""
        return self.verdict == "pass"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "rule": self.rule.title,
            "line": self.rule.line,
            "verdict": self.verdict,
            "words": self.words,
            "forecast": self.forecast,
            "rows": list(self.table.rows()),
            "settings": dict(self.table.settings),
        }


def check(
    audit: Assessment,
    rule: Rule,
    *,
    model: str | None = None,
    foresee: bool = False,
    draws: int = 10_000,
    level: float = 0.95,
    how: str = BEGIN,
    progress: Callable[[int, int], None] | None = None,
) -> Check:
    """Check a rule against the labels so far, for the assessment's model or another of the same pool.

    With `foresee`, and no verdict yet, the assessment is played on to see how many more labels it will probably take;
    that takes some seconds, and is done for the groups of the assessment only. `how` is the advice to ask about exactly
    these items, for a face with a name of its own for that; `progress` is called as that of `forecast` is.
    """
    if audit.spec.task.of_models:
        raise SpecError(
            f"{audit.name!r} asks which of several models is better, about items on which they differ, and a rule is "
            "about one model. Begin an assessment of that model, with ",
            Argument("model"),
            ", and check the rule there.",
        )
    audit = audit.snapshot()
    pool = audit.pool_of(model)
    groups = _groups(audit, rule, model)
    only = [groups.called(name) or name for name in rule.only]
    task = rule.task or certify_from(rule.line, pool, only=only, sure=rule.sure, guarantee=rule.guarantee)
    answer = audit.answer(task, groups, model=model, level=level, draws=draws)
    table, verdict = _with_shown(audit, task, groups, answer.table, model), answer.settings["verdict"]
    if rule.overall and (why := _lacks(audit)):
        verdict = "open"
        words = f"Not enough evidence: {why}."
        table = Table({**table.columns, "verdict": ["open"]}, dict(table.settings) | {"verdict": "open"})
    else:
        words = f"{in_words(task, answer, noun_of(groups), predictor_of(audit))} "
        words += _deciding(table, verdict, task.metric.hit)
        basis, spoken_for = rests(audit, sum(table["labelled"])) if rule.overall else ("", False)
        words += f" {basis[0].upper()}{basis[1:]}." if basis else ""
        other = pool is not audit.pool or groups.recipe != audit.groups.recipe
        words += _steered(audit) if other and not spoken_for and not table.settings.get("adopted") else ""
    words += "".join(f" {doubt}" for doubt in missing(tally(audit))) if verdict == "pass" else ""
    # Where labels came from elsewhere, more of them give no verdict; nor where there is nothing to measure.
    some = any(row["mean"] is not None for row in table.rows() if row["verdict"] == "open")
    hopeful = verdict == "open" and some and not table.settings.get("adopted")
    ahead = _ahead(audit, task, groups, how, progress) if pool is audit.pool and foresee and hopeful else ""
    return Check(rule, task, verdict, words, table, ahead, pool is audit.pool and _lasting(audit, task, groups))


def _lasting(audit: Assessment, task: Certify, groups: Partition) -> bool:
    """Whether a pass rests on bets that hold at every look; with labels of other groups they hold for one."""
    try:
        audit.check_promise(task.metric, groups)
    except SpecError:
        return False
    return not audit.spec.noisy


def worst(checks: Sequence[Check]) -> Verdict:
    """The verdict of all rules together: fail if one fails, else open if one is, else pass."""
    verdicts = {each.verdict for each in checks}
    return "fail" if "fail" in verdicts else "open" if "open" in verdicts else "pass"


def _groups(audit: Assessment, rule: Rule, model: str | None) -> Partition:
    if rule.overall:
        return whole(audit.pool_of(model))
    return audit.groups_of(model) if rule.groups is None else groups_from(rule.groups, audit.pool_of(model))


def _lacks(audit: Assessment) -> str:
    """Why nothing is said about all items together: groups without labels of their own are known by analogy only."""
    rows = [row for row in audit.by_group().rows() if row["n"]]
    bare = sum(not row["labelled"] for row in rows)
    if not bare or audit.is_random_sample() or audit.anchored >= ENOUGH:
        return ""
    noun = noun_of(audit.groups)
    verbs = ("has", "counts") if bare == 1 else ("have", "count")
    return f"{bare:,} of {len(rows):,} {plural(noun)} {verbs[0]} no label, and {verbs[1]} towards the whole"


def _with_shown(audit: Assessment, task: Certify, groups: Partition, table: Table, model: str | None) -> Table:
    """The table with what labels show about the metric after labelled: right, or counted and of_these, or neither."""
    names = table["group"]
    added: dict[str, Any] = {}
    right = right_labels(audit, groups, task.metric.cells(audit.pool_of(model), groups).outcomes, model)
    if right is not None:
        added = {"right": [right[name] for name in names]}
    elif (shown := shown_by_labels(audit, groups, task.metric, model)) is not None:
        added = {"counted": [shown[name].counted for name in names], "of_these": [shown[name].hits for name in names]}
    columns: dict[str, Any] = {}
    for name, values in table.columns.items():
        columns |= {name: values} | (added if name == "labelled" else {})
    return Table(columns, table.settings)


def _steered(audit: Assessment) -> str:
    """A doubt about groups other than those of asking: where few labels went, the labels of others decide."""
    several = int((audit.groups.sizes > 0).sum()) > 1
    if not (several and audit.spec.policy.uses_belief and audit.spec.prior.uses_items):
        return ""
    nouns = plural(noun_of(audit.groups))
    steered = f"Labels were steered to some {nouns}, so this can be off."
    return f" {steered} To be sure, ask for items at random (the policy 'items')."


def _deciding(table: Table, verdict: Verdict, hit: str) -> str:
    """The groups that decide the verdict, each with its labels: those that fail, those that are open, or the worst."""
    rows = list(table.rows())
    decide = [row for row in rows if row["verdict"] == verdict] if verdict != "pass" else rows[:1]
    decide = decide or rows[:1]
    shown = [f"{shortened(row['group'], 40)} ({support(row, hit)})" for row in decide[:_NAMED]]
    more = [f"{len(decide) - _NAMED:,} more"] if len(decide) > _NAMED else []
    if len(rows) == 1:
        if not rows[0]["labelled"]:
            return "There is no label yet."
        are_shown = {"right", "of_these"} & set(table.columns)
        return f"{'Labels:' if are_shown else 'Based on'} {support(rows[0], hit)}."
    begin = {"pass": "Closest to the line", "fail": "Below it" if _wants_more(table) else "Above it"}
    return f"{begin.get(verdict, 'Undecided')}: {listed([*shown, *more])}."


def _wants_more(table: Table) -> bool:
    return bool(table.settings["at_least"])


def support(row: Any, hit: str) -> str:
    """The labels that a group's number rests on: k of n right, or `hit` of those that it is about, or how many.

    >>> support({"labelled": 84, "counted": 27, "of_these": 20}, "found")
    '20 of 27 found'
    """
    if not row["labelled"]:
        return "no label"
    if "of_these" in row:
        return of_these(row["of_these"], row["counted"], hit)
    return f"{row['right']:,} of {row['labelled']:,} right" if "right" in row else counted(row["labelled"], "label")


def _ahead(
    audit: Assessment, task: Certify, groups: Partition, how: str, progress: Callable[[int, int], None] | None
) -> str:
    """The forecast in words; for groups in which the assessment does not ask, why there is none."""
    from fewlabels.planning import forecast  # it needs a database, and rules are read without one

    if groups.recipe != audit.groups.recipe:
        asked = audit.groups.words if len(audit.groups) > 1 else "in the whole pool"
        return f"There is no forecast: labels are asked for {asked}, and the rule is about other groups."
    goal = Stop(probability=task.sure, guarantee=task.guarantee)
    ahead = forecast(audit, stop=goal, task=replace(task), progress=progress)
    # Both look at draws: where one says just enough and the other not quite, the verdict is the one that counts.
    return "A few more labels will probably decide it." if ahead.more == 0 else ahead.advised(how)
