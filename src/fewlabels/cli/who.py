"""`fewlabels show --judges` and `--annotators`: how good the judges and the annotators are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import emit, emit_json, say
from fewlabels.errors import InputError, SpecError
from fewlabels.table import Table

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment


# The options of `show` that say something about judges, and about those who labelled.
_USED = {"--judges": ("groups", "level", "as_json"), "--annotators": ("level", "as_json")}


def show_who(audit: Assessment, groups: str | None, level: float, *, judges: bool, as_json: bool) -> None:
    """Print how good judges are, or else those who labelled."""
    _refuse_others("--judges" if judges else "--annotators")
    if judges:
        _judges(audit, groups, level, as_json)
    else:
        _annotators(audit, level, as_json)


def _refuse_others(about: str) -> None:
    """InputError if an option was given that would do nothing."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(str(option.name)) is click.core.ParameterSource.COMMANDLINE
        if given and option.opts[0] != about and isinstance(option, click.Option) and option.name not in _USED[about]:
            raise InputError(f"{about} has a table of its own, which {option.opts[0]} does not change: leave that out.")


def _judges(audit: Assessment, groups: str | None, level: float, as_json: bool) -> None:
    """Print how the judges compare with people."""
    from fewlabels.findings.judge_words import in_words, judge_sheet
    from fewlabels.findings.judges import judges_of

    if not judges_of(audit):
        raise SpecError(
            f"{audit.name!r} has no judge: no evidence column holds two verdicts such as pass and fail. Begin another "
            "assessment, with --verdict NAME for the judge itself or --evidence NAME for one that judges the answers."
        )
    table = audit.judges(level=level, groups=groups or None)
    if as_json:
        emit_json({"judges": list(table.rows()), "settings": dict(table.settings)})
        return
    for sentence in in_words(table):
        say(f"{sentence}\n")
    head, *rows = judge_sheet(table)
    emit(Table({title: [row[i] for row in rows] for i, title in enumerate(head)}, table.settings), as_json=False)


def _annotators(audit: Assessment, level: float, as_json: bool) -> None:
    """Print who labelled: how often each person is right where labels may be wrong, else how far people agree."""
    from fewlabels.findings.labels import agreement_of
    from fewlabels.wording import listed

    work, agreed = audit.by_person(), agreement_of(audit)
    if not audit.spec.noisy:
        if as_json:
            emit_json({"annotators": list(work.rows()), "agreement": agreed})
            return
        say(f"{agreed or 'No two people have labelled the same item, so nothing can be compared.'}\n")
        emit(work, as_json=False)
        return
    reliability = audit.annotators(level=level)
    rows = sorted(reliability.people.rows(), key=lambda row: -row["votes"])
    if as_json:
        about = {
            name: getattr(reliability, name) for name in ("floor", "low", "high", "majority", "doubted", "contradicted")
        }
        emit_json({**about, "annotators": rows, "agreement": agreed, "settings": dict(reliability.people.settings)})
        return
    for sentence in filter(None, (reliability.words, *reliability.doubts(), agreed)):
        say(sentence)
    if reliability.contradicted:
        say(f"Gold items whose class nobody agrees with: {listed(list(reliability.contradicted))}.")
    say("\nchecked: the votes on items that somebody else labelled too, or whose class is known.")
    columns = {name: [row[name] for row in rows] for name in ("annotator", "votes", "checked")}
    right = {"right": [reliability.by_name[row["annotator"]] for row in rows]}
    emit(Table(columns | right, reliability.people.settings), as_json=False)
