"""The picture of verdicts: colour and shape say the same, and the numbers are those of the answer."""

from __future__ import annotations

import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.plots.drawing.picture import Line, Point
from fewlabels.plots.verdicts import Verdicts
from fewlabels.report import read
from tests.support.reports import told_exactly

COUNTS = {"shirt": (20, 30), "coat": (9, 2), "bag": (60, 2), "boot": (62, 0)}


def drawn(guarantee=None, **line) -> tuple[fl.Assessment, Verdicts]:
    task = fl.Certify(fl.Accuracy(), guarantee=guarantee, **line or {"at_least": 0.8})
    audit = told_exactly(COUNTS, asked=True, task=task)
    return audit, Verdicts.of(audit)


def points(plot: Verdicts) -> list[Point]:
    return [mark for mark in plot.picture().panels[0].marks if isinstance(mark, Point)]


@pytest.mark.parametrize("guarantee", [None, "anytime"])
def test_each_verdict_has_a_colour_and_a_shape_of_its_own(guarantee) -> None:
    audit, plot = drawn(guarantee)
    assert [row.group for row in plot.rows][:2] == ["shirt", "coat"]
    assert [row.verdict for row in plot.rows] == ["fail", "open", "pass", "pass"]
    looks = [(point.tone, point.hollow, point.diamond) for point in points(plot)]
    assert looks[0] == ("accent", False, True)
    assert looks[1] == ("muted", True, False)
    assert looks[2] == looks[3] == ("main", False, False)
    keys = [(key.text, key.sign) for key in plot.picture().panels[0].keys]
    assert keys == [("fail", "diamond"), ("open: not enough evidence", "hollow"), ("pass", "dot"), ("the line", "dash")]
    (line,) = [mark for mark in plot.picture().panels[0].marks if isinstance(mark, Line)]
    assert {x for x, _ in line.points} == {0.8}
    table = audit.answer().table
    assert [row.low for row in plot.rows] == table["low"]
    svg = plots.figure(plot)
    assert "fail: 40%" in svg or "fail: 41%" in svg
    assert "9 of 11 right" in svg


def test_guaranteed_intervals_are_drawn_where_the_verdict_is_guaranteed() -> None:
    usual, promised = drawn()[1], drawn("anytime")[1]
    assert all(p.high - p.low > u.high - u.low for p, u in zip(promised.rows, usual.rows, strict=True))
    assert "however often you look" in promised.caption()
    assert "however often you look" not in usual.caption()


def test_the_other_side_of_the_line() -> None:
    plot = drawn(at_most=0.9)[1]
    assert not plot.at_least
    assert "at most 90%" in plot.caption()
    assert {row.group: row.verdict for row in plot.rows}["boot"] == "fail"
    assert {row.group: row.verdict for row in plot.rows}["shirt"] == "pass"


def test_it_takes_the_place_of_the_forest() -> None:
    audit, _ = drawn()
    assert plots.main_kind(audit) == "verdicts"
    assert "forest" not in plots.suited(audit)
    with pytest.raises(fl.SpecError, match="'verdicts' shows the same"):
        audit.plot("forest")
    with pytest.raises(fl.SpecError, match="not whether groups reach a line"):
        told_exactly(COUNTS).plot("verdicts")


def test_a_group_with_few_labels_has_no_chance_beside_it() -> None:
    task = fl.Certify(fl.Accuracy(), at_least=0.3)
    audit = told_exactly({**COUNTS, "boot": (3, 0)}, asked=True, task=task, prior=fl.Learned())
    report = read(audit, foresee=False)
    line = next(line for line in report.markdown().splitlines() if line.startswith("| boot"))
    assert line.endswith("| open | – |")
    assert "chance that it reaches the line: –" in plots.svg(report.plots["verdicts"])


def test_why_a_group_is_open_beside_the_line_is_said() -> None:
    """Its interval is below the line, and its own labels do not show that with all groups looked at."""
    task = fl.Certify(fl.Accuracy(), at_least=0.8)
    near = told_exactly({"shirt": (14, 10), "coat": (16, 2), "bag": (20, 1), "boot": (24, 1)}, asked=True, task=task)
    plot = Verdicts.of(near)
    aside = {row.group: row.high for row in plot.rows if row.is_open_aside(0.8)}
    assert aside["shirt"] < 0.8
    assert "with all 4 classes looked at, do not show that surely enough." in plot.caption()
    assert "surely enough" not in drawn()[1].caption()
