"""One finding, many faces: the same sentence, the same numbers and the same evidence, wherever they are shown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import fewlabels as fl
from fewlabels.cli import common
from fewlabels.cli.main import cli
from fewlabels.findings.finding import Finding, find
from fewlabels.findings.tables import readable
from fewlabels.report import Report, read
from fewlabels.report.markdown import escaped
from fewlabels.table import _cell
from fewlabels.web.pages import environment
from fewlabels.web.views import dashboard
from fewlabels.wording import Style
from tests.support.reports import pool, told, told_exactly

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.table import Table


def whole() -> fl.Assessment:
    items, truth = pool()
    audit = fl.create(None, "whole", items, fl.whole(items), seed=3)
    audit.tell({item: truth[item] for item in audit.ask(80).ids})
    return audit


TEN: dict[str, Callable[[], fl.Assessment]] = {
    "estimate": lambda: told(120),
    "lowest": lambda: told(120, task=fl.Identify(fl.Accuracy(), lowest=2)),
    "highest": lambda: told(60, task=fl.Identify(fl.Accuracy(), highest=1), policy=fl.TopTwo()),
    "compare": lambda: told(120, task=fl.Compare(fl.Accuracy(), "north", "south"), place=True),
    "whole": whole,
    "confusion": lambda: told(120, task=fl.Estimate(fl.Confusion())),
    "cost": lambda: told(120, task=fl.Identify(fl.Cost([[0, 1, 1, 9]] * 4), highest=1)),
    "calibration": lambda: told(120, task=fl.Estimate(fl.CalibrationError()), place=True),
    "recall": lambda: told(120, task=fl.Estimate(fl.Recall()), place=True),
    "nothing": lambda: told(0, task=fl.Identify(fl.Accuracy(), lowest=1)),
    "pool": lambda: told(100, target="pool", prior=fl.Learned()),
}


@cache
def audit_of(name: str) -> fl.Assessment:
    return TEN[name]()


@cache
def finding_of(name: str) -> Finding:
    return find(audit_of(name))


@cache
def report_of(name: str) -> Report:
    return read(audit_of(name), foresee=False)


@cache
def live(name: str) -> str:
    """The dashboard, as the browser gets it."""
    return environment().get_template("live.html").render(view=dashboard(audit_of(name)), name=name)


def cells_of(page: str) -> list[list[str]]:
    """The rows of all tables of a page, without the notes that stand below names on a phone."""
    page = re.sub(r'<span class="noted">.*?</span>', "", page)
    return [
        [unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)
    ]


def as_text(table: Table) -> list[list[str]]:
    """The rows of a table as they are printed."""
    return [re.split(r"  +", line.strip()) for line in table.text(most=len(table)).splitlines()]


def run(audit: fl.Assessment, monkeypatch: pytest.MonkeyPatch, *args: str) -> Result:
    monkeypatch.setattr(common, "open_assessment", lambda *_: audit)
    result = CliRunner().invoke(cli, [*args, "audit.db"], catch_exceptions=False)
    assert result.exit_code == 0
    return result


def sentences(finding: Finding) -> list[str]:
    return [sentence for sentence in (finding.question, finding.headline, finding.basis, *finding.doubts) if sentence]


@pytest.mark.parametrize("name", TEN)
def test_show_has_the_sentence_and_the_numbers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audit, finding = audit_of(name), finding_of(name)
    printed = run(audit, monkeypatch, "show", "--no-forecast", "--sort", "group")
    head, _, table = re.split(r"(with a probability of 95%|counted, not estimated)\.\n", printed.stdout)
    words = " ".join(head.split())
    assert all(sentence in words for sentence in sentences(finding))
    rows = [re.split(r"  +", line.strip()) for line in table.splitlines()]
    assert sorted(rows) == sorted(as_text(readable(finding.estimates, finding.task)))
    data = json.loads(run(audit, monkeypatch, "show", "--no-forecast", "--json").stdout)
    assert [data[part] for part in ("question", "headline", "basis")] == [
        finding.question,
        finding.headline,
        finding.basis,
    ]
    assert sorted(data["rows"], key=str) == sorted(finding.estimates.rows(), key=str)


@pytest.mark.parametrize("name", TEN)
def test_answer_has_the_sentence_and_the_numbers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audit, finding = audit_of(name), finding_of(name)
    printed = run(audit, monkeypatch, "answer")
    first, *lines = printed.stdout.splitlines()
    assert first == finding.headline
    words = " ".join(" ".join(lines).split())
    if not finding.labels.labelled:  # no answer, and no table that looks like one
        assert len(lines) == 1
        assert words.startswith("Next: fewlabels label ")
    else:
        table = as_text(readable(finding.answer_table, finding.task))
        rows = [re.split(r"  +", line.strip()) for line in lines]
        first_row = rows.index(table[0])
        assert rows[first_row : first_row + len(table)] == table
        assert finding.basis in words
        assert all(doubt in words for doubt in finding.doubts)
    data = json.loads(run(audit, monkeypatch, "answer", "--json").stdout)
    assert (data["question"], data["headline"], data["basis"], data["doubts"]) == (
        finding.question,
        finding.headline,
        finding.basis,
        list(finding.doubts),
    )
    assert data["rows"] == list(finding.answer_table.rows())
    assert data["probability"] == finding.answer.probability


@pytest.mark.parametrize("name", TEN)
def test_the_report_has_the_sentence_and_the_numbers(name: str) -> None:
    finding, report = finding_of(name), report_of(name)
    data, page, text = report.to_json(), report.html(), report.markdown()
    shared = finding.to_json()
    assert {part: data[part] for part in shared} == shared
    for sentence in sentences(finding):
        assert sentence in unescape(page)
        assert escaped(sentence) in text
    style = finding.style
    if len(finding.groups) == 1:  # the headline and the cards have its numbers
        assert '<table id="table"' not in page
        assert style.range(finding.overall.low, finding.overall.high).replace(" – ", " and ") in unescape(page)
        return
    rows: dict[str, list[str]] = {}
    for cells in cells_of(page[page.index('<table id="table"') :]):
        if len(cells) > 4:
            rows.setdefault(cells[0], cells)
    lines = {line.split(" | ")[0][2:]: line[2:-2].split(" | ") for line in text.splitlines() if line.count("|") > 4}
    for row in finding.groups:
        spread = style.range(row.low, row.high)
        assert rows[row.group][2] == lines[row.group][2] == row.support
        if row.is_known:
            assert f"<b>{style.value(row.mean)}</b>" in rows[row.group][3]
            assert lines[row.group][3].startswith(style.value(row.mean))
            assert rows[row.group][4] == lines[row.group][4] == spread


@pytest.mark.parametrize("name", TEN)
def test_the_dashboard_has_the_sentence_and_the_numbers(name: str) -> None:
    finding, page = finding_of(name), unescape(live(name))
    assert all(sentence in page for sentence in sentences(finding) if sentence != finding.question)
    rows = {tuple(cells) for cells in cells_of(live(name))}
    if not finding.labels.labelled:
        assert not rows  # guesses are not shown as results
        return
    shown = readable(finding.table, finding.task)
    if len(shown) == 1 and not rows:  # the plot has them
        row = next(shown.rows())
        assert f"{row['mean']} ({row['low']} – {row['high']})" in page
        return
    for row in shown.rows():
        hits = row.get("seen", row.get("right"))
        of = f"{row['labelled']:,}" if hits is None else f"{hits:,} of {row['labelled']:,}"
        ends = "–" if row["low"] is None else f"{row['low']} – {row['high']}"
        group = (row["group"], *([row["true"]] if "true" in row else []))
        cells = (*group, f"{row['n']:,}", of if row["labelled"] else "0", row["mean"] or "–", ends)
        assert cells in {shown[: len(cells)] for shown in rows}


@pytest.mark.parametrize("name", TEN)
def test_a_notebook_has_the_sentence_and_the_numbers(name: str) -> None:
    audit, finding = audit_of(name), finding_of(name)
    page, answer = audit._repr_html_(), audit.answer()
    assert all(sentence in unescape(page) for sentence in sentences(finding))
    shown = readable(finding.table, finding.task)
    assert cells_of(page) == [list(shown.columns), *([_cell(value) for value in row.values()] for row in shown)]
    assert repr(answer) == f"{finding.headline}\n\n{answer.table}"
    assert finding.headline in unescape(answer._repr_html_())
    shown = readable(finding.answer_table, finding.task)
    assert cells_of(answer._repr_html_()) == cells_of(shown._repr_html_())
    assert repr(finding) == f"<Finding {audit.name!r}: {finding.headline}>"


def test_an_answer_says_the_same_when_labels_have_come_in_and_when_the_log_is_closed() -> None:
    audit = told(40)
    headline, answer = find(audit).headline, audit.answer()
    audit.tell(dict.fromkeys(audit.ask(1).ids, "coat"))
    audit.close()
    assert answer.headline == headline != answer.words
    assert repr(answer).startswith(headline)


# --- evidence


@pytest.mark.parametrize("name", ["estimate", "lowest", "compare", "whole", "confusion", "calibration", "pool"])
def test_right_of_labelled_are_the_raw_counts(name: str) -> None:
    audit = audit_of(name)
    truth, groups = audit.labels(), audit.groups
    for row in finding_of(name).groups:
        items = [i for i in truth if groups.names[groups.group[audit.pool.positions([i])[0]]] == row.group]
        at = audit.pool.positions(items)
        right = sum(audit.pool.classes[audit.pool.predicted[p]] == truth[i] for i, p in zip(items, at, strict=True))
        assert (row.labelled, row.right) == (len(items), right)


@pytest.mark.parametrize("name", ["cost", "recall"])
def test_labels_that_show_more_than_right_or_wrong_are_only_counted(name: str) -> None:
    finding = finding_of(name)
    assert all(row.right is None and row.support == f"{row.labelled:,}" for row in finding.groups)
    assert "right" not in finding.estimates.columns
    assert finding.basis == "Based on 120 labels."


def test_the_share_of_the_prior_is_its_share_of_the_counts() -> None:
    finding = find(told_exactly({"coat": (6, 2), "boot": (20, 0)}))
    share = {row.group: row.prior for row in finding.groups}
    assert share["coat"] == pytest.approx(2 / 10)  # Beta(1, 1) and eight labels
    assert share["boot"] == pytest.approx(2 / 22)
    assert share["bag"] == 1
    of_pool = find(told_exactly({"coat": (6, 2)}, target="pool"))
    assert {row.group: row.prior for row in of_pool.groups}["coat"] == pytest.approx(0.2 * 92 / 100)


# --- honesty


def test_what_is_uncertain_is_never_printed_as_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"shirt": (0, 60), "coat": (60, 0), "bag": (60, 0), "boot": (60, 0)}
    for task in (fl.Identify(fl.Accuracy(), lowest=1), fl.Compare(fl.Accuracy(), "shirt", "coat")):
        audit = told_exactly(counts, task=task)
        assert audit.answer().probability == pytest.approx(1)
        report = read(audit, foresee=False)
        shown = [
            run(audit, monkeypatch, "show", "--no-forecast").stdout.replace("; 100% is best", ""),
            run(audit, monkeypatch, "answer").stdout,
            report.headline,
            report.answer.words,
            audit.standing().words,
            "".join(row for row in report.markdown().splitlines() if row.startswith(("| ", "- Answer"))),
            "".join(re.findall(r'<div class="tile">.*?</div>', live_of(audit))),
        ]
        for text in shown:
            assert not re.search(r"\b100%|\b1\.00|(?<![\d.])0%", text), text
        assert "We are over 99% sure" in report.headline
        assert "with probability over 99%" in report.answer.words


def live_of(audit: fl.Assessment) -> str:
    return environment().get_template("live.html").render(view=dashboard(audit), name="n")


def test_a_group_without_labels_is_never_settled() -> None:
    """The scores alone may make it nearly certain; it takes labels of its own to act on it."""
    items, truth = pool()
    task = fl.Identify(fl.Accuracy(), lowest=1)
    audit = fl.create(None, "unlabelled", items, task=task, seed=1)
    audit.tell({item: truth[item] for item in audit.ask(60).ids})
    report = read(audit, foresee=False)
    named = report.grounds.named[0]
    answer = fl.tasks.Answer(report.answer.words, 0.99, report.answer.table, report.answer.groups)
    for labelled, settled in ((0, False), (1, False), (4, False), (5, True)):
        rows = tuple(
            type(row)(
                **{**vars(row), "labelled": labelled, "backed": labelled >= 5, "evidence": "scores", "chance": 0.99}
            )
            if row is named
            else row
            for row in report.groups
        )
        grounds = replace(report.grounds, rows=rows, read_answer=lambda: answer)
        assert ("settled enough to act on. " in task.next_steps(grounds, fl.tasks.grounds.Ahead())[0]) == settled
        assert (" is probably " in task.headline(grounds)) != settled
        assert ("too few labels of its own to be sure" in task.headline(grounds)) != settled


def test_numbers_are_not_said_to_come_from_scores_where_there_are_none() -> None:
    names = [f"class number {i % 60}" for i in range(180)]
    items = fl.read_pool({"id": [str(i) for i in range(180)], "predicted": names})
    audit = fl.create(None, "many", items)
    audit.tell({str(i): names[i] for i in range(180) if i % 60}, adopt=True)
    report = read(audit, foresee=False)
    assert {row.note for row in report.groups} == {"mostly from other classes"}
    for text in (report.html(), report.markdown()):
        assert "from scores" not in text
        assert "classifier's scores" not in text
    assert find(audit).overall.confidence is None


@pytest.mark.slow
def test_every_face_writes_a_value_in_the_same_way() -> None:
    assert Style(share=True).value(0.62) == "62%"
    for name in TEN:
        page = report_of(name).html() + live(name) + report_of(name).markdown()
        assert not re.search(r"\d[ \N{NO-BREAK SPACE}]%", page)
