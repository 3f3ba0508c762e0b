"""`fewlabels answer`: the answer to the question, and how sure it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli.common import assessment_arguments, json_option, level_option
from fewlabels.wording import harmless

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.finding import Finding
    from fewlabels.table import Table

_HELP = """Answer the question from the labels so far, and say how sure the answer is.

The table depends on the task. Estimate: the average over the pool. Identify: every group with its chance, which is the
probability that it is one of those looked for, and its rank, which is the range of places it may have (1 is the most
extreme). Compare: less, equal and more are the probabilities that A is below, about equal to, or above B. Beside each
group: how many of its items are labelled and, if labels show it, how many of those predictions are right.

With another --metric, other --groups, --lowest, --highest, --compare or --certify, another question is answered from
the same labels. Nobody is asked anything, and nothing changes. Labels are weighted by the groups in which they were
asked.

\b
Examples:
  fewlabels answer audit.db
  fewlabels answer audit.db worst --top 20 --json
  fewlabels answer audit.db worst --model old
  fewlabels answer audit.db --groups column:language --compare en,de
  fewlabels answer audit.db --metric recall:spam --groups whole
"""
_SCREEN = 20


@click.command(help=_HELP, short_help="The answer to the question, and how sure it is.")
@assessment_arguments
@click.option("--top", type=click.IntRange(1), metavar="N", help="Show only the first N groups.")
@click.option("--model", metavar="NAME", help="Answer for another model of the pool, from the same labels.")
@click.option("--metric", metavar="NAME", help="A metric other than the question's.")
@click.option("--groups", metavar="HOW", help="Other groups, as in `fewlabels new`.")
@click.option("--lowest", type=click.IntRange(1), metavar="M", help="Find the M groups with the lowest metric instead.")
@click.option("--highest", type=click.IntRange(1), metavar="M", help="Find the M groups with the highest instead.")
@click.option("--compare", metavar="A,B", help="Compare two groups instead.")
@click.option("--certify", metavar="RULE", help='Check instead whether every group reaches a line: "accuracy >= 0.9".')
@level_option
@json_option
def answer(
    address: str, name: str | None, *, top: int | None, model: str | None, level: float, as_json: bool, **other: Any
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit_json, open_assessment, progress, quoted, say, shown
    from fewlabels.findings.finding import find
    from fewlabels.findings.tables import readable
    from fewlabels.wording import counted

    audit = open_assessment(address, name)
    if any(value is not None for value in other.values()):
        _put_other(audit, other, model, level, top, as_json=as_json)
        return
    if audit.pool_of(model) is not audit.pool:
        _put(audit, str(model), level, top, as_json=as_json)
        return
    with progress(f"reading {counted(len(audit.groups), 'group')}"):
        finding = find(audit, level)
    if as_json:
        emit_json(_json(finding, top))
        return
    click.echo(harmless(finding.headline))
    if not finding.labels.labelled:
        say(f"Next: fewlabels label {shown(address)} {quoted(audit.name)}")
        return
    click.echo()
    for sentence in (finding.basis, finding.task.legend()):
        if sentence:
            say(sentence)
    noun = "model" if finding.task.of_models else "group"
    shown_rows = _of_every_group(finding) if top is None else finding.answer_table
    table = readable(shown_rows, finding.task, noun=noun)
    _emit(table, top, max(_SCREEN, len(finding.answer.groups)), of=len(finding.answer_table), noun=noun)
    for doubt in finding.doubts:
        say(_with_option(doubt) if finding.task.of_models else doubt)


def _with_option(doubt: str) -> str:
    """The sentence with the option of the command line that it is about."""
    from fewlabels.planning.words import BEGIN  # the rest of planning comes with it, and few questions need that

    return doubt.replace(BEGIN, "begin with --target pool")


def _put_other(
    audit: Assessment, other: dict[str, Any], model: str | None, level: float, top: int | None, *, as_json: bool
) -> None:
    """Answer another question from the same labels, in the words of its task."""
    from fewlabels.cli.common import emit_json, say
    from fewlabels.cli.predictions import asked_options
    from fewlabels.findings.doubts import of_labels
    from fewlabels.findings.finding import NOTHING
    from fewlabels.findings.labels import tally
    from fewlabels.findings.phrases import asked
    from fewlabels.findings.tables import readable, with_shown
    from fewlabels.understanding.question import question

    pool = audit.pool_of(model)
    groups, task = question(asked_options(other), pool, audit.groups_of(model))
    if other["metric"] is None and other["certify"] is None:
        task = replace(task, metric=audit.spec.task.metric)
    words = asked(task, groups, model or audit.spec.model)
    if not as_json and not tally(audit).labelled:
        click.echo(harmless(f"{words}\n{NOTHING}"))
        return
    answer = audit.answer(task, groups, model=model, level=level)
    table = with_shown(audit, answer.table, task.metric, groups, model)
    if as_json:
        rows = list(table.rows())[:top]
        emit_json({"question": words, "words": answer.words, "probability": answer.probability, "rows": rows})
        return
    click.echo(harmless(f"{words}\n{answer.words}\n"))
    _emit(readable(table, task), top)
    for doubt in of_labels(tally(audit)):
        say(doubt)
    say("The labels were asked for with another question in mind, so there may be few where this one is unclear.")


def _put(audit: Assessment, model: str, level: float, top: int | None, *, as_json: bool) -> None:
    """Answer the question about another model from the same labels, in the words of the task."""
    from fewlabels.cli.common import emit_json, say
    from fewlabels.errors import SpecError
    from fewlabels.findings.doubts import of_labels
    from fewlabels.findings.labels import tally
    from fewlabels.findings.tables import readable

    if audit.spec.task.of_models:
        raise SpecError(
            f"this question is about all models of the pool. See one of them with: fewlabels show ... --model {model}"
        )
    answer = audit.answer(model=model, level=level)
    if as_json:
        rows = list(answer.table.rows())[:top]
        emit_json({"model": model, "words": answer.words, "probability": answer.probability, "rows": rows})
        return
    click.echo(f"{model}: {answer.words}\n")
    table = readable(answer.table, audit.spec.task)
    _emit(table, top)
    for doubt in of_labels(tally(audit)):
        say(doubt)
    say(f"The labels were asked for to learn about {audit.spec.model}, so there may be few where {model} is unclear.")


def _json(finding: Finding, top: int | None) -> dict[str, object]:
    """Return the answer as plain JSON values, with only the first rows."""
    sentences = {"question": finding.question, "headline": finding.headline, "basis": finding.basis}
    answer, table = finding.answer, finding.answer_table
    return {
        **sentences,
        "doubts": list(finding.doubts),
        "words": answer.words,
        "probability": answer.probability,
        "groups": list(answer.groups),
        "rows": list(table.rows())[:top],
        "settings": dict(table.settings),
    }


def _of_every_group(finding: Finding) -> Table:
    """The rows of the answer; of many models in several groups only those that may be the best.

    So no group is left out. If even these are more than a screen, it is the model that is named for each group.
    """
    table, named = finding.answer_table, set(finding.answer.groups)
    if not finding.task.of_models or len(named) < 2 or len(table) <= _SCREEN:
        return table
    rows = list(table.rows())
    possible = [i for i, row in enumerate(rows) if row["group"] in named or row["as_good"]]
    first = [i for i, row in enumerate(rows) if row["group"] in named]
    return table.take(possible if len(possible) <= _SCREEN else first)


def _emit(table: Table, top: int | None, most: int = _SCREEN, *, of: int | None = None, noun: str = "group") -> None:
    """Print the first rows of a table, of so many, and how to see the others if nobody said how many."""
    from fewlabels.cli.common import emit, say
    from fewlabels.wording import counted

    emit(table.head(top or most), as_json=False)
    count = len(table) if of is None else of
    if top is None and count > min(len(table), most):
        say(f"... {counted(count - min(len(table), most), f'more {noun}')}; --top {count} shows them.")
