"""The report as Markdown: the words and tables of the HTML report, without plots."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fewlabels.findings.fairness import readable_fairness
from fewlabels.findings.groups import behind, place
from fewlabels.findings.judge_words import in_words, judge_rows
from fewlabels.findings.key_figures import key_figures
from fewlabels.gate.checking import support
from fewlabels.report.settings import settings
from fewlabels.tasks.certify_words import chance
from fewlabels.wording import NONE, Style, counted, percent, probability

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fewlabels.report.content import Report

# Characters that Markdown, or HTML inside it, would not take for text.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#&~!])")


def escaped(text: object) -> str:
    r"""Escape text so that Markdown shows it unchanged, on one line.

    >>> print(escaped("<b>a|b</b>"))
    \<b\>a\|b\</b\>
    """
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def markdown(report: Report) -> str:
    """Return the whole report."""
    words = report.words
    parts = [
        f"# {escaped(report.question)}",
        f"**{escaped(report.headline)}**",
        escaped(report.basis),
        "\n".join(f"> {escaped(doubt)}" for doubt in report.doubts),
        "\n".join(f"- {escaped(figure.name)}: {escaped(figure.text)}" for figure in key_figures(report)),
        f"**Next:** {escaped(' '.join(report.next))}" if report.next else "",
        "## How to read this",
        escaped(words.reading),
        *_checks(report),
        f"## The {words.nouns}",
        _groups(report),
        escaped(words.rule),
        *_fairness(report),
        *_confusions(report),
        *_judges(report),
        *_mistakes(report),
        "## How the labels were chosen",
        *map(escaped, report.chosen),
        *_learned(report),
        "## What more labels would change",
        *map(escaped, report.more.sentences()),
        "## Settings",
        _table(("setting", "value"), ((line.name, line.text) for line in settings(report))),
        "## Words",
        "\n".join(f"- **{escaped(word)}**: {escaped(meaning)}" for word, meaning in words.glossary.items()),
        f"Made by fewlabels {report.version} on {report.made:%Y-%m-%d}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _groups(report: Report) -> str:
    style = report.style
    ranked = report.groups[0].chance is not None and report.labels.labelled > 0
    judged = any(row.verdict for row in report.groups)
    head = [report.words.noun, "items", "labels", report.words.metric, "range"]
    placed = any(place(row, len(report.groups)) != NONE for row in report.groups)
    apart = any(row.behind is not None for row in report.groups)
    head += (
        ["chance", *(["place"] * placed), *(["behind the first"] * apart)]
        if ranked
        else ["verdict", "chance"]
        if judged
        else []
    )
    rows = []
    for row in report.groups:
        note = f" ({row.note})" if row.note else ""
        value = f"{style.value(row.mean)}{note}" if row.is_known else row.note
        places = [NONE if row.chance is None else probability(row.chance)]
        places += [place(row, len(report.groups))] * placed + [behind(row)] * apart
        cells = [row.group, f"{row.n:,}", row.support, value, style.range(row.low, row.high)]
        verdict = [row.verdict or NONE, chance(row.reaches, backed=row.backed)]
        rows.append([*cells, *(places if ranked else verdict if judged else [])])
    return _table(head, rows)


def _checks(report: Report) -> list[str]:
    if not report.checks:
        return []
    parts = ["## Does it pass?"]
    for check in report.checks:
        ranges = zip(check.table["low"], check.table["high"], strict=True)
        style = Style(check.task.metric.in_percent).fitting(ranges)
        parts += [f"### {escaped(check.rule.title)}", escaped(f"{check.words} {check.forecast}".strip())]
        rows = [
            (
                row["group"],
                support(row, check.task.metric.hit),
                style.value(row["mean"]),
                style.range(row["low"], row["high"]),
                row["verdict"],
                chance(row["reaches"], backed=row["backed"]),
            )
            for row in check.table.rows()
        ]
        parts.append(_table(("group", "labels", check.task.metric.name, "range", "verdict", "chance"), rows))
    return parts


def _fairness(report: Report) -> list[str]:
    if report.fairness is None:
        return []
    fair = report.fairness
    parts = ["## How the groups differ", *map(escaped, (fair.compared, *fair.words))]
    for measure, table in readable_fairness(fair.groups).items():
        rows = [[NONE if value is None else value for value in row.values()] for row in table.rows()]
        parts += [f"### {escaped(measure.capitalize())}", _table(list(table.columns), rows)]
    return parts


def _confusions(report: Report) -> list[str]:
    if not report.confusions:
        return []
    rows = [(pair.group, pair.true, pair.words) for pair in report.confusions]
    return ["## Classes confused", _table(("it says", "true class", "how often, when it says so"), rows)]


def _judges(report: Report) -> list[str]:
    if not len(report.judges):
        return []
    rows = judge_rows(report.judges)
    return ["## How good the judge is", *map(escaped, in_words(report.judges)), _table(rows[0], rows[1:])]


def _mistakes(report: Report) -> list[str]:
    if not report.mistakes:
        return []
    rows = [
        (m.id, m.predicted, NONE if m.confidence is None else percent(m.confidence), m.label, m.text or "")
        for m in report.mistakes
    ]
    return ["## Some of its mistakes", _table(("item", "predicted", "confidence", "true class", "content"), rows)]


def _learned(report: Report) -> list[str]:
    if not report.learned:
        return []
    style = Style(share=True).fitting((band.low, band.high) for band in report.learned)
    rows = [
        (
            f"{percent(band.said_from)} – {percent(band.said_to)}",
            f"{band.items:,}",
            style.value(band.said),
            style.spread(band.mean, band.low, band.high),
        )
        for band in report.learned
    ]
    items = sum(band.items for band in report.learned)
    intro = f"What the classifier's confidence turned out to mean, for all {counted(items, 'item')}:"
    return [intro, _table(("confidence", "items", "average confidence", "right"), rows)]
