"""`fewlabels fairness`: every group compared with a reference, with differences, ratios and the largest gap."""

from __future__ import annotations

import click

from fewlabels.cli.common import assessment_arguments, json_option, level_option
from fewlabels.wording import harmless

_POSITIVE = "The class that counts as positive.  [default: the one named with `new`; yes, true, 1 or pass]"
_HELP = """Compare groups of people: accuracy, true and false positive rate, precision and selection rate.

Every group is compared with --reference, or with all other items if none is named: the difference in points and the
ratio, with intervals, and the probability that the group's value is lower. "labels" counts the labels that a measure is
about, such as those of truly positive items for the true positive rate. The selection rate, the share of items
predicted as --positive, is counted and not estimated.

\b
Examples:
  fewlabels fairness audit.db --groups column:sex --positive yes
  fewlabels fairness audit.db --groups column:sex,column:race --reference "male × white"
  fewlabels fairness audit.db --groups column:country --json > fairness.json
"""


@click.command(help=_HELP, short_help="Compare groups of people: error rates, gaps and ratios.")
@assessment_arguments
@click.option("--groups", metavar="HOW", help="Groups other than the question's, as in `fewlabels new`.")
@click.option("--positive", metavar="CLASS", help=_POSITIVE)
@click.option("--reference", metavar="GROUP", help="The group to compare with.  [default: all other items]")
@click.option("--model", metavar="NAME", help="A model of the pool other than the question's.")
@level_option
@json_option
def fairness(
    address: str,
    name: str | None,
    *,
    groups: str | None,
    positive: str | None,
    reference: str | None,
    model: str | None,
    level: float,
    as_json: bool,
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit, emit_json, open_assessment, say
    from fewlabels.findings.doubts import of_labels
    from fewlabels.findings.fairness import readable_fairness
    from fewlabels.findings.labels import tally
    from fewlabels.named import groups_from
    from fewlabels.understanding.words import in_bins

    audit = open_assessment(address, name)
    by = groups_from(groups, audit.pool_of(model)) if groups else None
    compared = audit.fairness(by, positive=positive, reference=reference, level=level, model=model)
    if as_json:
        emit_json(compared.to_json())
        return
    for line in compared.words or ["No two groups have five labels yet, so nothing can be said about gaps."]:
        say(line)
    if compared.groups.settings["positive"] is None:
        say("Name the class that counts as positive with --positive CLASS to see error rates and the selection rate.")
    else:
        say(f"Positive is {compared.groups.settings['positive']!r} (--positive CLASS changes it).")
    for doubt in of_labels(tally(audit)):
        say(doubt)
    if any(compared.groups["note"]) and audit.spec.stop.width is None:
        say(
            "Groups with fewer than five labels get some if a stopping rule is about every group: begin another "
            "question about the same file with --stop-width 0.2. It counts the labels you already have."
        )
    if advice := in_bins(by or audit.groups_of(model), audit.pool_of(model)):
        say(advice)
    for measure, table in readable_fairness(compared.groups).items():
        click.echo(harmless(f"\n{measure[0].upper()}{measure[1:]}"))
        emit(table, as_json=False)
