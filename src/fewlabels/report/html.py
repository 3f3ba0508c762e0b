"""The report as one HTML file: it loads nothing, and everything that comes from data is escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fewlabels import plots
from fewlabels.findings.classes import readable_averages, readable_classes
from fewlabels.findings.evidence import HEADINGS
from fewlabels.findings.fairness import readable_fairness
from fewlabels.findings.groups import behind, place
from fewlabels.findings.judge_words import in_words, judge_sheet
from fewlabels.findings.key_figures import key_figures
from fewlabels.gate.checking import support
from fewlabels.parts import cli_name
from fewlabels.plots.verdicts import Verdicts
from fewlabels.report.settings import settings
from fewlabels.tasks.certify_words import chance
from fewlabels.wording import NONE, Style, percent, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fewlabels.findings.key_figures import KeyFigure
    from fewlabels.gate import Check
    from fewlabels.report.content import Report
    from fewlabels.tasks.grounds import GroupRow

FOLD = 25
"""A longer table shows this many rows on a screen until a button is pressed; in print it always shows all."""
# Characters that a page cannot contain even when escaped.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


# The measure of fairness that a metric is; its table is open.
_MEASURE = {"accuracy": "accuracy", "precision": "precision", "fpr": "false positive rate"}


@cache
def _environment() -> Environment:
    """The templates, compiled once."""
    environment = Environment(
        loader=PackageLoader("fewlabels.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters |= {"percent": percent, "probability": probability, "shortened": shortened}
    environment.filters |= {"support": support, "chance": _chance}
    environment.filters |= {"key": _key, "kept": _kept}
    return environment


def html(report: Report) -> str:
    """Return the whole report. Its content policy allows only this script and these styles, and no loading."""
    environment = _environment()
    source = environment.loader
    assert source is not None
    own = [source.get_source(environment, name)[0].strip() for name in ("report.js", "taking.js")]
    script = "\n".join([*own, plots.script().strip()])
    style = f"{plots.stylesheet()}\n{source.get_source(environment, 'report.css')[0].strip()}"
    known = [row for row in report.groups if row.is_known]
    figures = key_figures(report)
    others = {head: [row for row in report.groups if row.evidence == kind] for kind, head in HEADINGS.items()}
    return environment.get_template("report.html").render(
        report=report,
        words=report.words,
        style=report.style,
        known=known,
        unknown={head: rows for head, rows in others.items() if rows},
        named=report.named,
        # Without labels there is no answer, and chances would look like one.
        ranked=any(row.chance is not None for row in report.groups) and report.labels.labelled > 0,
        placed=any(place(row, len(report.groups)) != NONE for row in report.groups),
        apart=any(row.behind is not None for row in report.groups),
        judged=any(row.verdict is not None for row in report.groups),
        said=report.answer.settings.get("verdict") if report.labels.labelled else None,
        checks=[_checked(check) for check in report.checks],
        place={row.group: place(row, len(report.groups)) for row in report.groups},
        behind={row.group: behind(row) for row in report.groups},
        key_figures=figures,
        remarked=_remarks(report, figures),
        shares={"learned": _fitting(report.learned), "mistakes": _fitting(report.confusions)},
        classes=None if report.classes is None else readable_classes(report.classes.classes),
        averages=None if report.classes is None else readable_averages(report.classes.averages),
        fairness={} if report.fairness is None else readable_fairness(report.fairness.groups),
        opened=_opened(report),
        settings=settings(report),
        **_drawings(report),
        judges=in_words(report.judges),
        judge_rows=judge_sheet(report.judges) if len(report.judges) else (),
        fold=FOLD,
        version=report.version,
        css=Markup(style),  # noqa: S704  (a file of the package)
        script=Markup(script),  # noqa: S704  (a file of the package)
        policy=_policy(script, style),
    )


def _policy(script: str, style: str) -> str:
    """The content policy of a report: its own script and styles, pictures that are part of it, and nothing else."""
    own = f"script-src '{_digest(script)}'; style-src '{_digest(style)}'"
    return f"default-src 'none'; {own}; img-src data:; base-uri 'none'; form-action 'none'"


def _opened(report: Report) -> str:
    """The table of fairness that is not folded: that with the clearest gap, or the question's own if none is clear."""
    gaps = [] if report.fairness is None else list(report.fairness.gaps.rows())
    clear = [(gap["low"], gap["measure"]) for gap in gaps if gap["low"] is not None and gap["low"] > 0]
    own = _MEASURE.get(cli_name(type(report.task.metric)), "true positive rate")
    return max(clear)[1] if clear else own


def _drawings(report: Report) -> dict[str, Any]:
    """Return the plot that shows the answer, or none, and the others."""
    drawn = [(plot, Markup(plots.figure(plot))) for plot in report.plots.values()]  # noqa: S704
    first = [entry for entry in drawn if entry[0].name == report.main_plot]
    return {"main": first[0] if first else None, "drawings": [entry for entry in drawn if entry not in first]}


def _fitting(rows: Iterable[Any]) -> Style:
    """The style of a table of shares with ranges: all have as many digits."""
    return Style(share=True).fitting((row.low, row.high) for row in rows)


def _remarks(report: Report, figures: list[KeyFigure]) -> list[tuple[str, str]]:
    """Remarks on key figures, beyond their range, that are not among the doubts."""
    remarks = []
    for figure in figures:
        words = figure.about.partition("; ")[2]
        if not words or any(words in doubt for doubt in report.doubts):
            continue
        corrected = words == report.overall.rests and not report.overall.doubt
        remarks.append((figure.name, f"{words}, and the number is corrected by these" if corrected else words))
    return remarks


def _kept(value: str) -> Markup:
    """A number with its range, in which a line may be broken only before the range.

    >>> str(_kept("+4 points (−6 to +11)"))
    '+4 points <span class="w">(−6 to +11)</span>'
    """
    number, bracket, spread = value.partition(" (")
    return escape(number) + (Markup(' <span class="w">({}</span>').format(spread) if bracket else "")


def _key(value: float | None) -> str:
    """Return a number by which a column is sorted."""
    return "" if value is None else f"{value:.4g}"


def _chance(row: GroupRow | Mapping[str, Any]) -> str:
    """Return the chance that a group reaches the line, from a row of the report or of a rule's table."""
    if isinstance(row, Mapping):
        return chance(row["reaches"], backed=row["backed"])
    return chance(row.reaches, backed=row.backed)


def _checked(check: Check) -> dict[str, Any]:
    """Return what the page shows about a rule."""
    metric = check.task.metric
    labels = {row["group"]: support(row, metric.hit) for row in check.table.rows()}
    plot = Verdicts.of_table(check.table, metric.name, metric.in_percent, labels)
    return {
        "said": check,
        "metric": metric.name,
        "style": Style(metric.in_percent).fitting(zip(check.table["low"], check.table["high"], strict=True)),
        "drawing": Markup(plots.figure(plot)),  # noqa: S704
        "caption": plot.caption(),
    }


def _digest(text: str) -> str:
    """Return the name of a text in a content policy: the base64 of its SHA-256."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _finalized(value: object) -> object:
    """Return a value for a page: a text loses the characters that no page can contain."""
    return _UNFIT.sub("\ufffd", value) if type(value) is str else value
