"""`fewlabels check`: does it pass? Rules checked against the labels so far, and an exit code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from fewlabels.cli.common import assessment_arguments, json_option
from fewlabels.wording import harmless, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.gate import Check, Rule

_HELP = """Does it pass? Check rules against the labels so far.

A rule is a metric, >= or <=, and a number; --every is about every group, --overall about all items together. Nobody
is asked anything, and nothing changes. The exit code is the verdict on all rules together: 0 pass, 3 fail, 4 not enough
evidence, 2 for an error. A group with fewer than five labels of its own never passes. An assessment made with --certify
has a rule of its own, which is taken if none is given.

\b
Examples:
  fewlabels check audit.db
  fewlabels check audit.db --every "accuracy >= 0.9"
  fewlabels check audit.db --every "accuracy >= 90%" --overall "accuracy >= 95%" --guarantee anytime
  fewlabels check audit.db --every "recall:complaint >= 0.8" --groups column:country --group DE --group FR
  fewlabels check audit.db --rules rules.toml --junit report.xml
  fewlabels check audit.db --model old --overall "accuracy >= 0.9"
"""
_SURE = 0.95
_EXACTLY = "begin with --target pool"
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_FILE = click.Path(dir_okay=False, path_type=Path)
_GUARANTEE = "Keep false passes this rare however often you look, whatever the truth."


@click.command(help=_HELP, short_help="Does it pass? Pass, fail or not enough evidence, by exit code.")
@assessment_arguments
@click.option("--every", multiple=True, metavar="RULE", help='About every group: "accuracy >= 0.9". Repeatable.')
@click.option("--overall", multiple=True, metavar="RULE", help="About all items together. Repeatable.")
@click.option("--group", "only", multiple=True, metavar="NAME", help="With --every: only this group. Repeatable.")
@click.option("--groups", metavar="HOW", help="With --every: other groups, as in `fewlabels new`.")
@click.option("--sure", type=_SHARE, default=_SURE, show_default=True, metavar="P", help="How sure a verdict must be.")
@click.option("--guarantee", type=click.Choice(["anytime"]), help=_GUARANTEE)
@click.option("--rules", type=_FILE, metavar="FILE", help="A TOML file with rules.")
@click.option("--junit", "report", type=_FILE, metavar="FILE", help="Write a JUnit report for continuous integration.")
@click.option("--model", metavar="NAME", help="A model other than the one the assessment is about.")
@click.option("--forecast/--no-forecast", default=True, help="Say how many more labels it will probably take.")
@json_option
@click.pass_context
def check(
    ctx: click.Context,
    /,
    address: str,
    name: str | None,
    *,
    report: Path | None,
    model: str | None,
    forecast: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit_json, open_assessment
    from fewlabels.errors import InputError
    from fewlabels.gate import junit, worst
    from fewlabels.gate.checking import CODES
    from fewlabels.io.saving import save

    rules = _rules(**options)
    if name is not None and not rules and re.search(r"[<>]=?", name):
        raise InputError(f'{name!r} is a rule, not the name of an assessment. Write --overall "{name}" or --every.')
    audit = open_assessment(address, name)
    if not rules:
        rules = [_own(audit)]
    checks = [_put(audit, rule, model, forecast, several=len(rules) > 1) for rule in rules]
    verdict = worst(checks)
    if report is not None:
        save(junit(checks, audit.name), report)
    if as_json:
        emit_json({"name": audit.name, "verdict": verdict, "rules": [check.to_json() for check in checks]})
    else:
        _say(audit, checks)
    # Not sys.exit: what was opened is closed by the context.
    ctx.exit(CODES[verdict])


def _rules(
    *,
    every: Sequence[str],
    overall: Sequence[str],
    only: Sequence[str],
    groups: str | None,
    sure: float,
    guarantee: Literal["anytime"] | None,
    rules: Path | None,
) -> list[Rule]:
    """The rules of the options, then those of the file; none if none are given."""
    from fewlabels.errors import InputError
    from fewlabels.gate import Rule, read_rules

    if (only or groups) and not every:
        raise InputError("--group and --groups are about --every. Add a rule with --every, or leave them out.")
    made = [Rule(line, groups=groups, only=tuple(only), sure=sure, guarantee=guarantee) for line in every]
    made += [Rule(line, overall=True, sure=sure, guarantee=guarantee) for line in overall]
    if not made and (guarantee or sure != _SURE):
        raise InputError("--sure and --guarantee are about --every and --overall. Add a rule, or leave them out.")
    return made + ([] if rules is None else read_rules(rules))


def _put(audit: Assessment, rule: Rule, model: str | None, forecast: bool, *, several: bool) -> Check:
    """The result of checking a rule; with several rules, an error names the one it is about."""
    from fewlabels.cli.common import progress
    from fewlabels.errors import FewlabelsError
    from fewlabels.gate import check as put

    try:
        with progress("looking ahead") as bar:
            return put(audit, rule, model=model, foresee=forecast, how=_EXACTLY, progress=bar)
    except FewlabelsError as error:
        if several:
            error.args = (f"the rule {rule.title!r}: ", *error.args)
        raise


def _own(audit: Assessment) -> Rule:
    """The rule that the assessment was made for."""
    from fewlabels.errors import InputError, SpecError
    from fewlabels.gate import own_rule

    try:
        return own_rule(audit.spec.task)
    except SpecError:
        raise InputError(
            'a rule is needed, as in --every "accuracy >= 0.9", or a file of them with --rules: '
            f"{audit.name!r} was not made with --certify, and has none of its own."
        ) from None


def _say(audit: Assessment, checks: Sequence[Check]) -> None:
    from fewlabels.cli.common import say

    for check in checks:
        begin = f"{check.rule.name}. " if check.rule.name else ""
        click.echo(harmless(f"{begin}{check.words}{f' {check.forecast}' if check.forecast else ''}"))
    if once := [check.rule.title for check in checks if check.verdict == "pass" and not check.lasting]:
        which = "This pass" if len(checks) == 1 else f"The pass of {listed([repr(title) for title in once])}"
        say(f"{which} is meant for one look. If you look often and stop at the first pass, it is wrong more often.")
    if not audit.labelled:
        say("There are no labels yet, and a group without labels never passes.")
