"""Plots with matplotlib, the command `fewlabels plot`, and `audit.plot`: drawn on the axes given, written as files."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import fewlabels as fl
from fewlabels import plots
from fewlabels.cli.main import cli
from fewlabels.cli.plot import PLOT_NAMES
from tests.support.pools import zoo

if TYPE_CHECKING:
    from pathlib import Path

TASKS = {
    "estimate": fl.Estimate(fl.Accuracy()),
    "lowest": fl.Identify(fl.Accuracy(), lowest=2),
    "compare": fl.Compare(fl.Accuracy(), "ant", "cow"),
    "certify": fl.Certify(fl.Accuracy(), at_least=0.6),
}


def assessment(task: str = "lowest", address: str | Path | None = None, whole: bool = False) -> fl.Assessment:
    known = zoo()
    groups = fl.whole(known.pool) if whole else None
    audit = fl.create(address, "two worst", known.pool, groups, task=TASKS["estimate" if whole else task], seed=1)
    audit.tell(known.labels(audit.ask(20).ids))
    return audit


def models() -> fl.Assessment:
    """Which of two models is better, after labels of all items on which they differ."""
    answers = {"old": ["a", "b", "a", "b"] * 5, "new": ["a", "a", "b", "b"] * 5}
    audit = fl.create(None, "models", fl.read_pool(answers, models=["old", "new"]), task=fl.Best(fl.Accuracy()), seed=1)
    audit.tell(dict.fromkeys(audit.ask(10).ids, "a"))
    return audit


def compared() -> fl.Assessment:
    """How much two models differ in two groups: "new" is right where they differ in h0, and "old" in h1."""
    said = {"old": ["a", "b"] * 30, "new": ["b", "a"] * 30, "half": ["h0"] * 30 + ["h1"] * 30}
    pool = fl.read_pool(said, models=["old", "new"])
    task = fl.CompareModels(fl.Accuracy(), "new", "old")
    audit = fl.create(None, "compared", pool, fl.by_column(pool, "half"), task=task, seed=1)
    audit.tell({item: said["new" if int(item) < 30 else "old"][int(item)] for item in audit.ask(50).ids})
    return audit


def test_differences_show_for_whom_a_model_is_better() -> None:
    audit = compared()
    assert plots.main_kind(audit) == "differences"
    numbers: Any = audit.plot("differences").numbers
    assert [row.where for row in numbers.rows] == ["all items", "h0", "h1"]
    assert [row.region[0] for row in numbers.rows[1:]] == ["more", "less"]
    for row, told in zip(numbers.rows, audit.answer().table.rows(), strict=True):
        assert (row.mean, row.low, row.high, row.more) == (told["mean"], told["low"], told["high"], told["more"])
    assert numbers.finding() == "Of 2 groups: new is better in 1, old is better in 1"
    picture = plots.svg(numbers)
    assert "better: " in picture
    assert "worse: " in picture
    assert plots.main_kind(models()) == "models"
    with pytest.raises(fl.SpecError, match="it does not compare two models"):
        models().plot("differences")


def all_numbers() -> dict[str, plots.Plot]:
    parts = (assessment("compare"), assessment("certify"), assessment(whole=True), assessment(), models(), compared())
    found = {name: one for audit in parts for name, one in plots.read_all(audit, draws=200).items()}
    assert found.keys() == plots.PLOTS.keys()
    return found


@pytest.mark.slow
def test_every_display_draws_on_the_axes_given_and_returns_itself() -> None:
    for name, numbers in all_numbers().items():
        display = plots.display(numbers)
        assert repr(display) == f"<Display of {name}: {numbers.title}>"
        figure = Figure()
        left, right = figure.subplots(1, 2)
        assert display.plot(ax=right) is display
        assert display.ax_ is right
        assert display.figure_ is figure
        assert not left.has_data()
        inside = [right, *right.child_axes]
        assert sum(len(ax.collections) + len(ax.patches) + len(ax.lines) for ax in inside) > 0
        figure.draw_without_rendering()


def test_a_display_draws_the_numbers_that_it_holds() -> None:
    audit = assessment()
    display = audit.plot("forest", level=0.9).plot()
    numbers: Any = display.numbers
    rows = numbers.rows
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [row.group for row in rows]
    dots = sorted(tuple(at) for one in display.ax_.collections for at in np.asarray(one.get_offsets()).tolist())
    means = sorted((row.mean, place + 0.5) for place, row in enumerate(rows) if row.mean is not None)
    assert np.allclose([d for d in dots if d != (0, 0)], means)


def test_dollars_in_names_are_no_formulas() -> None:
    pool = fl.read_pool({"predicted": ["$x_1$ and $", "$5"] * 20})
    figure = fl.create(None, "money", pool).plot("forest").plot().figure_
    figure.draw_without_rendering()  # a formula that cannot be read would be an error
    assert {label.get_text() for label in figure.axes[0].get_yticklabels()} == {r"\$x_1\$ and \$", r"\$5"}


@pytest.mark.slow
def test_files_by_their_ending(tmp_path) -> None:
    display = assessment().plot("ranking")
    for suffix, begins in ((".svg", b"<svg "), (".PNG", b"\x89PNG"), (".pdf", b"%PDF")):
        assert display.save(tmp_path / f"ranking{suffix}").read_bytes().startswith(begins)
    with pytest.raises(fl.InputError, match=r"must end in .svg, .png, .pdf"):
        display.save(tmp_path / "ranking.gif")


def test_a_notebook_shows_the_drawing_with_tooltips_until_matplotlib_has_drawn() -> None:
    display = assessment().plot("allocation")
    assert ET.fromstring(display._repr_html_() or "").tag.endswith("svg")
    assert display._repr_png_() is None
    display.plot()
    assert display._repr_html_() is None
    assert (display._repr_png_() or b"").startswith(b"\x89PNG")


def test_without_matplotlib_there_is_still_svg(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("fewlabels.plots.drawing.display"), "find_spec", lambda _: None)
    display = assessment().plot("forest")
    assert display.save(tmp_path / "a.svg").exists()
    with pytest.raises(fl.FewlabelsError, match=r"pip install '\.\[plots\]'.*'fewlabels\[plots\]'. Or write an .svg"):
        display.save(tmp_path / "a.png")


@pytest.mark.parametrize(("task", "kind"), [("estimate", "forest"), ("lowest", "forest"), ("compare", "rope")])
def test_the_plot_that_shows_the_answer(task: str, kind: str) -> None:
    assert plots.main_kind(assessment(task)) == kind


# --- the command line


@pytest.fixture
def database(tmp_path) -> str:
    address = str(tmp_path / "audit.db")
    assessment(address=address).close()
    return address


def run(*arguments: object, code: int = 0):
    result = CliRunner().invoke(cli, ["plot", *(str(one) for one in arguments)])
    assert result.exit_code == code, result.output
    return result


def test_the_kinds_of_the_command_are_those_of_the_library() -> None:
    assert tuple(plots.PLOTS) == PLOT_NAMES


def test_plot_without_options_writes_the_answer(database: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(database)
    audit = fl.load(database, "two worst")
    assert result.stderr == f"Wrote two worst-forest.svg: {plots.PLOTS['forest'].of(audit).finding()}.\n"
    audit.close()
    assert result.stdout == ""
    ET.fromstring((tmp_path / "two worst-forest.svg").read_text(encoding="utf-8"))


def test_plot_all_writes_every_plot_that_suits(database: str, tmp_path) -> None:
    run(database, "two worst", "--kind", "all", "-o", tmp_path / "pictures")
    audit = fl.load(database, "two worst")
    assert sorted(p.name for p in (tmp_path / "pictures").iterdir()) == sorted(f"{k}.svg" for k in plots.suited(audit))
    audit.close()


def test_plot_json_has_the_numbers(database: str) -> None:
    audit = fl.load(database, "two worst")
    one = json.loads(run(database, "--kind", "ranking", "--level", "0.8", "--json").stdout)
    assert one == json.loads(json.dumps(plots.PLOTS["ranking"].of(audit, 0.8).to_json()))
    several = json.loads(run(database, "--kind", "all", "--json").stdout)
    assert tuple(several) == plots.suited(audit)
    audit.close()


def test_plot_to_stdout_and_to_a_png(database: str, tmp_path) -> None:
    assert ET.fromstring(run(database, "--kind", "allocation", "-o", "-").stdout).tag.endswith("svg")
    run(database, "--out", tmp_path / "forest.png")
    assert (tmp_path / "forest.png").read_bytes().startswith(b"\x89PNG")
    run(database, "--kind", "ranking", "-o", tmp_path)
    assert (tmp_path / "ranking.svg").exists()


def test_a_kind_in_place_of_the_name_means_the_picture(database: str, tmp_path) -> None:
    assert "which class has the lowest accuracy" in run(database, "ranking", "-o", tmp_path / "a.svg").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kind", "rope"], "the plot 'rope' does not suit this assessment: it does not compare two groups"),
        (["-o", "a.gif"], "the ending of a.gif is not a known format. End it in .svg, .png, .pdf"),
        (["-o", "nowhere/a.svg"], "there is no directory nowhere. Make it first"),
        (["--kind", "all", "-o", "a.svg"], "name a directory with -o"),
        (["--kind", "all", "-o", "-"], "name a directory with -o"),
        (["--kind", "pie"], "'pie' is not one of 'verdicts'"),
    ],
)
def test_plot_says_what_is_wrong_and_writes_nothing(
    database: str, tmp_path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in run(database, *arguments, code=2).stderr
    assert [p.name for p in tmp_path.iterdir()] == ["audit.db"]


def test_long_names_of_classes_are_cut_on_both_sides_of_a_matrix() -> None:
    """Those below it were whole: they pushed the picture beyond its edges, and cut off names and title."""
    classes = [f"a rather long name of a category in the catalogue, number {i}, with its department" for i in range(10)]
    scores = np.random.default_rng(2).dirichlet(np.ones(10), 200)
    pool = fl.read_pool({"id": [f"i{i}" for i in range(200)], "scores": scores}, classes=classes)
    audit = fl.create(None, "long", pool)
    audit.tell(dict.fromkeys(audit.ask(40).ids, classes[0]))
    shown = audit.plot("confusion").plot()
    canvas = FigureCanvasAgg(shown.figure_)
    canvas.draw()
    width, height = canvas.get_width_height()
    for label in (*shown.ax_.get_xticklabels(), *shown.ax_.get_yticklabels()):
        box = label.get_window_extent()
        assert box.x0 >= 0, label
        assert box.y0 >= 0, label
        assert box.x1 <= width, label
        assert box.y1 <= height, label
