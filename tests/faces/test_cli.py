"""The command line: what it prints, how it ends, and that its numbers are those of Python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.cli.parsing import labels_from
from fewlabels.io.opening import open_source
from fewlabels.named import groups_from, metric_from
from fewlabels.simulation.study import simulate
from fewlabels.understanding.options import QuestionOptions
from fewlabels.understanding.tasks import task_from

CLASSES = ("ant", "bee", "cat")
QUICK = ["--budgets", "5,10", "--runs", "4", "--jobs", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the same labelled pool in several forms."""
    folder = tmp_path_factory.mktemp("pool")
    rng = np.random.default_rng(8)
    scores = rng.dirichlet([0.5] * 3, size=60)
    predicted = scores.argmax(axis=1)
    labels = np.where(rng.random(60) < 0.7, predicted, (predicted + 1) % 3)
    sex = np.array(["f", "m"])[rng.integers(0, 2, 60)]
    np.savez(folder / "pool.npz", scores=scores, labels=labels, classes=np.array(CLASSES), sex=sex)
    rows = [
        f"i{i},{','.join(map(repr, row.tolist()))},{CLASSES[k]},{who}"
        for i, (row, k, who) in enumerate(zip(scores, labels, sex, strict=True))
    ]
    head = "id," + ",".join(f"p_{name}" for name in CLASSES)
    (folder / "pool.csv").write_text(f"{head},truth,sex\n" + "\n".join(rows) + "\n")
    lines = [f"i{i},{CLASSES[k]}" for i, k in enumerate(labels)]
    (folder / "labels.csv").write_text("id,label\n" + "\n".join(reversed(lines)) + "\n")
    (folder / "cost.csv").write_text("true,bee,ant,cat\ncat,1,2,0\nant,5,0,1\nbee,0,1,1\n")
    (folder / "map.csv").write_text("class,group\nant,insects\nbee,insects\ncat,beasts\n")
    return folder


def run(*arguments: object):
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def rows_of(result) -> list[dict]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["rows"]


@pytest.mark.slow
def test_json_has_the_rows_and_the_settings(folder) -> None:
    result = run("simulate", folder / "pool.npz", *QUICK, "--methods", "uniform+items,informed+thompson", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert set(told) == {"rows", "settings"}
    scores = ("rmse", "overall-error", "coverage", "overall-coverage")
    assert [(row["method"], row["budget"], row["score"]) for row in told["rows"]] == [
        (method, budget, score)
        for score in scores
        for method in ("uniform+items", "informed+thompson")
        for budget in (5, 10)
    ]
    for row in told["rows"]:
        assert set(row) == {"method", "budget", "score", "mean", "se", "q10", "q50", "q90", "p", "best"}
        assert (row["best"] is None) == row["score"].endswith("coverage")
        if row["score"] != "rmse":
            continue
        assert 1 < row["mean"] < 100  # percent
        assert row["se"] > 0
    assert told["settings"]["runs"] == 4
    assert told["settings"]["seed"] == 0
    begun = [line.partition(";")[0] for line in result.stderr.splitlines()]
    assert begun == ["simulating uniform+items (1 of 2)", "simulating informed+thompson (2 of 2)"]


@pytest.mark.slow
def test_the_numbers_are_those_of_python(folder) -> None:
    pool = fl.read_pool(folder / "pool.npz")
    labels = np.load(folder / "pool.npz")["labels"].tolist()
    task = fl.Identify(fl.Accuracy(), lowest=1)
    table = simulate(pool, labels, task=task, methods="uniform+groups", budgets=[5, 10], runs=4, seed=9)
    rows = rows_of(
        run(
            "simulate", folder / "pool.npz", *QUICK, "--lowest", 1, "--methods", "uniform+groups", "--seed", 9, "--json"
        )
    )
    assert rows == list(table.rows())


@pytest.mark.parametrize(
    "where",
    [
        ["pool.csv", "--labels", "truth"],
        ["pool.csv", "--labels", "labels.csv"],
        ["pool.npz", "--labels", "labels"],
        ["pool.npz"],
    ],
)
def test_labels_come_from_a_column_or_a_file(folder, where: list[str]) -> None:
    file, *options = where
    options = [str(folder / one) if one.endswith(".csv") else one for one in options]
    how = [*QUICK, "--methods", "uniform+items", "--json"]
    rows = rows_of(run("simulate", folder / file, *options, *how))
    assert rows == rows_of(run("simulate", folder / "pool.npz", *how))


def test_labels_of_other_items_are_mentioned(folder, tmp_path) -> None:
    labels = (folder / "labels.csv").read_text()
    (tmp_path / "more.csv").write_text(f"{labels}x7,ant\nx8,bee\n")
    how = [*QUICK, "--methods", "uniform+items", "--labels", tmp_path / "more.csv"]
    said = run("simulate", folder / "pool.csv", *how).stderr
    assert said.startswith("2 labels not used: the predictions have no such item. The first is 'x7'.\n")
    (tmp_path / "more.csv").write_text(labels.replace("i7,", "x7,"))
    said = run("simulate", folder / "pool.csv", *how).stderr
    assert "1 label not used: the predictions have no such item. The first is 'x7'." in said
    assert "1 labels too few for 60 items: such as 'i7'" in said
    default = create_defaults()
    assert default in run("simulate", "--help").stdout


def create_defaults() -> str:
    """The method of an assessment that is made without options, as the simulator calls it."""
    audit = fl.create(None, "it", fl.read_pool([[0.9, 0.1], [0.2, 0.8]]))
    names = {type(one).__name__.lower() for one in (audit.spec.prior, audit.spec.policy)}
    assert audit.spec.target == "population"
    return "+".join(sorted(names))


OVERALL = ("overall-error", "coverage", "overall-coverage")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "scores"),
    [
        ([], {"rmse", *OVERALL}),
        (["--groups", "score:4"], {"rmse", "ece-error", *OVERALL}),
        (["--groups", "weight:4", "--metric", "accuracy"], {"rmse", "ece-error", *OVERALL}),
        (["--task", "estimate", "--metric", "confusion"], {"rmse"}),
        (["--groups", "column:sex", "--metric", "f1:cat"], {"rmse", *OVERALL}),
        (["--groups", "whole", "--metric", "calibration:5"], {"rmse", *OVERALL}),
        (["--groups", "column:sex,predicted"], {"rmse", *OVERALL}),
        (["--task", "identify", "--lowest", "2"], {"mrr", "labels-to-identify"}),
        (["--metric", "calibration", "--highest", "1"], {"mrr", "labels-to-identify"}),
        (["--metric", "cost:{cost.csv}", "--highest", "1"], {"mrr", "labels-to-identify"}),
        (["--compare", "ant,cat", "--rope", "0.1"], {"success", "labels-to-decide"}),
        (["--groups", "map:{map.csv}", "--compare", "beasts,insects"], {"success", "labels-to-decide"}),
        (
            ["--groups", "column:sex", "--task", "compare", "--compare", "f,m", "--by", "information"],
            {"success", "labels-to-decide"},
        ),
    ],
)
def test_every_question_has_its_scores(folder, options: list[str], scores: set[str]) -> None:
    options = [one.replace("{", f"{folder}/").replace("}", "") for one in options]
    rows = rows_of(run("simulate", folder / "pool.npz", *QUICK, "--methods", "uniform+thompson", *options, "--json"))
    assert {row["score"] for row in rows} == scores


def test_a_table_is_printed_whole(folder) -> None:
    budgets = ",".join(map(str, range(60)))
    result = run(
        "simulate", folder / "pool.npz", "--runs", 2, "--jobs", 1, "--methods", "uniform+items", "--budgets", budgets
    )
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["method", "budget", "score", "mean", "se", "q10", "q50", "q90", "p", "best"]
    scores = 4  # rmse, overall-error, coverage and overall-coverage
    assert len(lines) == 1 + 60 * scores


@pytest.mark.slow
def test_jobs_and_processes_change_nothing(folder) -> None:
    """Two jobs with a method that has no kernel: the command uses processes then."""
    how = [
        "simulate",
        folder / "pool.npz",
        "--budgets",
        "5",
        "--runs",
        "3",
        "--json",
        "--methods",
        "uniform+ucb+pool,uniform+items",
    ]
    assert rows_of(run(*how, "--jobs", 2)) == rows_of(run(*how, "--jobs", 1))


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_plot_is_written(folder, tmp_path, monkeypatch, ending: str) -> None:
    if ending == "svg":
        monkeypatch.setattr(
            import_module("fewlabels.plots.drawing.display"), "find_spec", lambda _: None
        )  # matplotlib is missing
    else:
        pytest.importorskip("matplotlib")
    picture = tmp_path / f"curve.{ending}"
    result = run("simulate", folder / "pool.npz", *QUICK, "--groups", "score:3", "--plot", picture)
    assert result.exit_code == 0, result.output
    data = picture.read_bytes()
    if ending == "png":
        assert data.startswith(b"\x89PNG")
    else:
        assert b"<svg" in data
        assert b"uniform+items" in data


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.npz"], "there is no file nowhere.npz"),
        (
            ["pool.npz", "--methods", "foo+items"],
            "Priors are uniform, informed, learned; policies are default, boundary, thompson",
        ),
        (["pool.npz", "--budgets", "5,many"], "numbers of labels"),
        (["pool.npz", "--budgets", ","], "no budget was named"),
        (["pool.npz", "--budgets", "1000"], "more than the 60 items"),
        (["pool.npz", "--groups", "sex"], "--groups sex is not known"),
        (["pool.npz", "--groups", "column:age"], "has no column 'age'"),
        (["pool.npz", "--groups", "score:many"], "needs a whole number"),
        (["pool.npz", "--metric", "auc"], "--metric auc is not known"),
        (["pool.npz", "--metric", "f1"], "each group here has only one predicted class"),
        (["pool.npz", "--metric", "cost:nowhere.csv"], "there is no file nowhere.csv"),
        (["pool.npz", "--task", "identify"], "needs --lowest M or --highest M"),
        (["pool.npz", "--task", "estimate", "--lowest", "1"], "--lowest does not go with --task estimate"),
        (["pool.npz", "--task", "compare"], "needs --compare A,B"),
        (["pool.npz", "--compare", "ant,eel"], "The groups are 'ant', 'bee', 'cat'"),
        (["pool.npz", "--rope", "0.1"], "--rope and --by are only for comparing"),
        (["pool.npz", "--labels", "truth"], "neither a column of"),
        (["pool.csv"], "no labels: there is no column 'labels' or 'label'"),
        (["pool.npz", "--runs", "0"], "0 is not in the range"),
        (["pool.npz", "--frobnicate"], "No such option"),
        (["pool.npz", "--plot", "curve.xyz"], "the name of a picture must end in .png"),
        (["pool.npz", "--plot", "nowhere/curve.png"], "there is no directory nowhere"),
        ([], "Missing argument"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, monkeypatch, arguments: list[str], said: str) -> None:
    monkeypatch.chdir(folder)
    result = run("simulate", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr
    assert result.stderr.startswith("fewlabels: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_an_unreachable_dask_cluster_is_said(folder) -> None:
    pytest.importorskip("distributed")
    result = run("simulate", folder / "pool.npz", *QUICK, "--dask", "nonsense://nowhere")
    assert result.exit_code == 2
    assert "no Dask scheduler answers there" in result.stderr


@pytest.mark.slow
def test_a_dask_cluster_does_the_work(folder) -> None:
    distributed = pytest.importorskip("distributed")
    how = ["simulate", folder / "pool.npz", *QUICK, "--methods", "uniform+items", "--json"]
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        assert rows_of(run(*how, "--dask", cluster.scheduler_address)) == rows_of(run(*how))


def test_words_become_what_they_mean(folder) -> None:
    pool = fl.read_pool(folder / "pool.npz")
    assert metric_from(f"cost:{folder / 'cost.csv'}", pool) == fl.Cost([[0, 5, 1], [1, 0, 1], [2, 1, 0]])
    assert metric_from("fpr:ant", pool) == fl.FalsePositiveRate("ant")
    assert metric_from("calibration:20", pool) == fl.CalibrationError(20)
    assert groups_from("weight:3", pool).recipe == fl.by_score(pool, 3, "weight").recipe
    sexes = groups_from("column:sex", pool)
    assert task_from(QuestionOptions(), fl.Accuracy(), sexes) == fl.Estimate(fl.Accuracy())
    both = fl.Partition(("a, b", "c"), np.zeros(60, np.int32), {"by": "whole"})
    wanted = fl.Compare(fl.Accuracy(), "a, b", "c", 0.0)
    assert task_from(QuestionOptions(compare="a, b,c", rope=0.0), fl.Accuracy(), both) == wanted
    labels = labels_from(str(folder / "labels.csv"), open_source(folder / "pool.csv"))
    assert isinstance(labels, Mapping)
    assert labels["i3"] in CLASSES


@pytest.mark.parametrize(
    "text",
    ["true,ant,bee\nant,0,1\nbee,1,0\n", "true,ant,bee,cat\nant,0,1,1\nbee,1,0,1\n"],
)
def test_a_cost_matrix_needs_every_class(folder, tmp_path, text: str) -> None:
    file = tmp_path / "cost.csv"
    file.write_text(text)
    with pytest.raises(fl.InputError, match="'cat' is missing"):
        metric_from(f"cost:{file}", fl.read_pool(folder / "pool.npz"))


def test_help_and_version() -> None:
    said = run("simulate", "--help").stdout
    for word in ("--labels", "--budgets", "informed+thompson", "Examples", "fewlabels simulate predictions.npz"):
        assert word in said
    assert "simulate" in run("--help").stdout
    assert run("--version").stdout == f"fewlabels {fl.__version__}\n"
    assert run().exit_code == 2
    assert "Usage" in run().output


@pytest.mark.slow
def test_as_a_program_of_its_own(folder) -> None:
    command = [sys.executable, "-W", "error", "-m", "fewlabels", "simulate", str(folder / "pool.npz"), *QUICK]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (0, 4)  # a line for each method that begins
    methods = json.loads(done.stdout)["settings"]["methods"]
    assert methods == ["uniform+items", "informed+items", "informed+thompson", "learned+default"]
    done = subprocess.run([*command, "--metric", "auc"], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fewlabels: --metric auc is not known.")


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from fewlabels.cli.main import cli; cli.main(['simulate', '--help'], standalone_mode=False); "
    )
    program += (
        "print([name for name in ('numba', 'matplotlib', 'rich', 'distributed', 'scipy.stats') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
