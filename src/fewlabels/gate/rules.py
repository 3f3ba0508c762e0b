"""Rules: a metric, a line and a side of it, in a text such as "accuracy >= 0.9", and files of them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fewlabels.checks import check_guarantee, number_in, number_of, several
from fewlabels.errors import Argument, InputError, SpecError
from fewlabels.named import metric_from
from fewlabels.tasks import Certify

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.tasks import Task

_RULE = re.compile(r"(?P<metric>\S.*?)\s*(?P<side>>=|<=|≥|≤)\s*(?P<line>[-+0-9.eE]+)\s*(?P<percent>%?)")
_EXAMPLES = 'such as "accuracy >= 0.9", "recall:complaint >= 80%" or "cost:prices.csv <= 2.5"'
_KEYS = ("every", "overall", "name", "groups", "only", "sure", "guarantee")


@dataclass(frozen=True)
class Rule:
    """What must be true for the gate to open.

    Parameters
    ----------
    line
        The metric, the side and the value: "accuracy >= 0.9".
    overall
        Whether it is about all items together; otherwise about every group.
    name
        What it is called in reports; its own words if empty.
    groups
        Groups other than those of the assessment: a partition, or as the command line writes them, "column:sex".
    only
        The groups that must reach the line; all of them if none are named.
    sure
        The probability with which a verdict is given.
    guarantee
        "anytime" for a verdict that holds at every look; see `Certify`.
    task
        The question itself, where the rule is that of an assessment; otherwise the line says it.

    >>> Rule("accuracy >= 90%").title
    'every: accuracy >= 90%'
    """

    line: str
    overall: bool = False
    name: str = ""
    groups: Partition | str | None = None
    only: tuple[str, ...] = ()
    sure: float = 0.95
    guarantee: Literal["anytime"] | None = None
    task: Certify | None = None

    def __post_init__(self) -> None:
        split(self.line)
        object.__setattr__(self, "only", several(self.only, "The 'only' of a rule", error=SpecError))
        number_in(self.sure, "The 'sure' of a rule", high=1, hint="such as 0.95", error=SpecError)
        check_guarantee(self.guarantee, what="The 'guarantee' of a rule")
        if self.overall and (self.groups is not None or self.only):
            raise SpecError(f"The rule {self.line!r} is about all items together. Leave its groups out, or say every.")

    @property
    def title(self) -> str:
        """The rule's name, or its line if it has none."""
        return self.name or f"{'overall' if self.overall else 'every'}: {self.line}"


def split(text: str) -> tuple[str, Literal["at_least", "at_most"], float]:
    """The metric, the side and the value of a line.

    >>> split("recall:complaint >= 80%"), split("cost:prices.csv <= 2.5")
    (('recall:complaint', 'at_least', 0.8), ('cost:prices.csv', 'at_most', 2.5))
    """
    matched = _RULE.fullmatch(text.strip()) if isinstance(text, str) else None
    value = number_of(matched["line"]) if matched else None
    if matched is None or value is None:
        raise SpecError(f"{text!r} is not a rule. Write a metric, >= or <=, and a number, {_EXAMPLES}.")
    # Divided in decimals: 90% is 0.9 and not 0.9000000000000001.
    value = round(value / 100, 12) if matched["percent"] else value
    return matched["metric"], "at_least" if matched["side"] in (">=", "≥") else "at_most", value


def own_rule(task: Task) -> Rule:
    """The rule that an assessment was made for; SpecError if it asks something else.

    >>> import fewlabels as fl
    >>> own_rule(fl.Certify(fl.Recall("spam"), at_least=0.8)).title
    'every: recall of spam >= 0.8'
    """
    if not isinstance(task, Certify):
        raise SpecError(f"a rule is needed, {_EXAMPLES}: only an assessment made with Certify() has one of its own.")
    line = f"{task.metric.name} {'<=' if task.at_least is None else '>='} {task.line:.12g}"
    return Rule(line, only=task.only, sure=task.sure, guarantee=task.guarantee, task=task)


def rule_of(rule: str | Rule | None, task: Task, **settings: Any) -> Rule:
    """The rule that a line and its settings say, or a rule as it is; without either, that of an assessment's task.

    A setting that is None, False or empty is not given. Beside a rule, or without a line, the others are refused: the
    rule says them itself.

    >>> import fewlabels as fl
    >>> rule_of("accuracy >= 0.9", fl.Estimate(fl.Accuracy()), sure=0.99, groups=None).sure
    0.99
    """
    given = {name: value for name, value in settings.items() if not (value is None or value is False or value == ())}
    if rule is not None and not isinstance(rule, Rule):
        return Rule(rule, **given)
    if given:
        whose = "the assessment's own rule" if rule is None else "a Rule"
        raise SpecError(
            f"The {next(iter(given))!r} of check() is for a rule given as text; {whose} already sets it. "
            f'Write check("accuracy >= 0.9", {next(iter(given))}=...).'
        )
    return own_rule(task) if rule is None else rule


def certify_from(
    text: str, pool: Pool, *, only: Sequence[str] = (), sure: float = 0.95, guarantee: Literal["anytime"] | None = None
) -> Certify:
    """The task that a rule describes.

    >>> import fewlabels as fl
    >>> certify_from("accuracy >= 90%", fl.read_pool({"predicted": ["a", "b"]})).at_least
    0.9
    """
    metric, side, value = split(text)
    try:
        made = metric_from(metric, pool)
    except SpecError as error:  # it speaks of an argument, and here there is a rule
        named = (repr(piece.value) if isinstance(piece, Argument) else piece for piece in error.args)
        raise SpecError(f"{text!r}: the metric ", *named) from None
    if made.in_unit_interval and 1 < value <= 100:
        raise SpecError(f"{text!r}: {made.name} lies between 0 and 1. Write {value / 100:g}, or {value:g}%.")
    ends = {"at_least": None, "at_most": None, side: value}
    return Certify(made, at_least=ends["at_least"], at_most=ends["at_most"], only=tuple(only), sure=sure,
                   guarantee=guarantee)  # fmt: skip


def read_rules(path: str | os.PathLike[str]) -> list[Rule]:
    """The rules of a TOML file: a table [[rule]] for each, with every or overall, and any other settings of a rule."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the rules in {path}: {error.strerror}. Check the name of the file.") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or lists within lists
        raise InputError(
            f'{path} is not TOML: {error}. Write [[rule]] and below it every = "accuracy >= 0.9".'
        ) from None
    rules = data.get("rule")
    if set(data) != {"rule"} or not isinstance(rules, list) or not rules or not all(isinstance(r, dict) for r in rules):
        raise InputError(f'{path} has no rules. Write [[rule]] and below it every = "accuracy >= 0.9", for each rule.')
    return [_rule(rule, f"rule {i} of {path}") for i, rule in enumerate(rules, 1)]


def _rule(data: Mapping[str, Any], where: str) -> Rule:
    """One table of the file."""
    if unknown := sorted(set(data) - set(_KEYS)):
        raise InputError(f"{where} has {unknown[0]!r}, which is not known. Use {', '.join(_KEYS)}.")
    if ("every" in data) == ("overall" in data):
        raise InputError(f'{where} needs either every or overall, such as every = "accuracy >= 0.9".')
    only = data.get("only", [])
    texts = [only] if isinstance(only, str) else only
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f'{where}: only names groups. Write it as in only = ["cat", "dog"].')
    if wrong := [key for key in ("name", "groups", "guarantee") if not isinstance(data.get(key, ""), str)]:
        raise InputError(f"{where}: {wrong[0]} is a text. Write it in quotes.")
    more = {name: data[name] for name in ("name", "groups", "sure", "guarantee") if name in data}
    try:
        return Rule(
            data.get("every", data.get("overall", "")),
            overall="overall" in data,
            only=tuple(texts),
            **more,
        )
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from None
