"""Results to MLflow and Weights & Biases: what is logged, and with the real libraries where they are installed."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli import export
from fewlabels.cli.main import cli
from fewlabels.errors import InputError
from fewlabels.interop.tracking import TRACKERS, results
from tests.support.bridges import COUNT, TEAMS, said, team


def has(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


def audit_of_tickets(labels: int = COUNT, name: str = "ticket's") -> fl.Assessment:
    columns = {"id": [f"t{i}" for i in range(COUNT)], "predicted": [said(i) for i in range(COUNT)]}
    audit = fl.create(None, name, fl.read_pool(columns, classes=TEAMS), task=fl.Identify(fl.Accuracy(), lowest=1))
    audit.tell({f"t{i}": team(i) for i in range(labels)}, adopt=True)
    return audit


class Recorder:
    """A library that notes the calls it gets, with the names that MLflow and Weights & Biases have for them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.run = None
        self.info = SimpleNamespace(run_id="run-1")
        self.id = "run-1"
        self.config = self.summary = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any, **options: Any) -> Any:
            self.calls.append((name, args[0] if args else options))
            return {"active_run": None, "start_run": self, "init": self}.get(name)

        return call

    def of(self, name: str) -> list[Any]:
        return [what for called, what in self.calls if called == name]


def test_the_numbers_are_those_of_the_assessment() -> None:
    audit = audit_of_tickets()
    found = results(audit)
    table = {row["group"]: row for row in audit.estimates().rows()}
    assert found.numbers["ticket_s/labels"] == COUNT  # an apostrophe is not taken in the names of MLflow
    for group in TEAMS:
        for end in ("mean", "low", "high"):
            assert found.numbers[f"ticket_s/accuracy/{group}/{end}"] == pytest.approx(table[group][end], abs=0.02)
    assert 0 < found.numbers["ticket_s/answer/probability"] <= 1
    low, mean, high = (found.numbers[f"ticket_s/overall/{end}"] for end in ("low", "mean", "high"))
    assert low <= mean <= high
    assert found.report.startswith("<!")
    assert "ticket_s/question" in found.words


def test_groups_whose_names_a_tracker_cannot_tell_apart_are_logged_apart() -> None:
    audit = fl.create(None, "x", fl.read_pool({"predicted": ["a:b", "a?b"] * 8}))
    audit.tell({str(item): "a:b" for item in range(16)}, adopt=True)
    numbers = results(audit).numbers
    assert numbers["x/accuracy/a_b/mean"] > 0.5 > numbers["x/accuracy/a_b 2/mean"]


def test_what_labels_do_not_show_is_not_logged() -> None:
    found = results(audit_of_tickets(0))
    assert found.numbers == {"ticket_s/labels": 0, "ticket_s/items": COUNT}
    columns = {"id": list(range(200)), "predicted": [f"c{i % 100}" for i in range(200)]}
    many = fl.create(None, "many", fl.read_pool(columns))
    many.tell({str(i): f"c{i % 100}" for i in range(200)}, adopt=True)
    assert not any("/c7/" in name for name in results(many).numbers)  # a hundred groups are in the table alone


def test_what_mlflow_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", library := Recorder())
    assert fl.log_results(audit_of_tickets(name="tickets"), to="mlflow") == "run-1"
    assert [name for name, _ in library.calls] == [
        *("active_run", "start_run", "log_metrics", "log_params", "set_tags", "log_dict", "log_text", "end_run")
    ]
    assert library.of("log_metrics")[0]["tickets/labels"] == COUNT
    (table,) = library.of("log_dict")
    assert {row[table["columns"].index("group")] for row in table["data"]} == set(TEAMS)


def test_what_wandb_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", library := Recorder())
    assert fl.log_results(audit_of_tickets(name="tickets"), to="wandb") == "run-1"
    assert [name for name, _ in library.calls] == ["init", "update", "Table", "Html", "log", "update", "finish"]
    assert library.of("log")[0]["tickets/labels"] == COUNT


@pytest.mark.skipif(not (has("mlflow") and has("alembic")), reason="mlflow or alembic, for its SQLite, is missing")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what MLflow itself uses
def test_mlflow_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    audit = audit_of_tickets(30)
    with mlflow.start_run() as run:
        assert fl.log_results(audit, to="mlflow") == run.info.run_id
        audit.tell({f"t{i}": team(i) for i in range(30, COUNT)}, adopt=True)
        fl.log_results(audit, to="mlflow")
    client = mlflow.MlflowClient()
    history = client.get_metric_history(run.info.run_id, "ticket_s/accuracy/billing/mean")
    assert [one.step for one in history] == [30, 50]
    assert history[-1].value == pytest.approx(results(audit).numbers["ticket_s/accuracy/billing/mean"])
    file = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="ticket_s/estimates.json")
    assert len(json.loads(Path(file).read_text())["data"]) == 3
    assert "estimates.json" in [Path(one.path).name for one in client.list_artifacts(run.info.run_id, "ticket_s")]


@pytest.mark.skipif(not has("wandb"), reason="wandb is not installed")
def test_wandb_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    with wandb.init(project="tickets", dir=str(tmp_path)) as run:
        audit = audit_of_tickets(name="tickets")
        assert fl.log_results(audit, to="wandb") == run.id
        assert run.summary["tickets/accuracy/billing/mean"] == results(audit).numbers["tickets/accuracy/billing/mean"]
        assert run.summary["tickets/question"] == results(audit).words["tickets/question"]


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(InputError, match=r"logging to wandb needs the package wandb.*\.\[wandb\]"):
        fl.log_results(audit_of_tickets(), to="wandb")
    with pytest.raises(InputError, match="must be one of mlflow, wandb"):
        fl.log_results(audit_of_tickets(), to="other")


def test_the_command_line_exports_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "mlflow", Recorder())
    assert tuple(TRACKERS) == export.TRACKERS
    Path("p.csv").write_text("id,predicted\n" + "".join(f"t{i},{said(i)}\n" for i in range(COUNT)))

    def run(*args: str, code: int = 0) -> Any:
        result = CliRunner().invoke(cli, args)
        assert result.exit_code == code, result.stderr
        return result

    run("new", "a.db", "p.csv")
    run("tell", "a.db", "t1=billing", "--adopt")
    rows = dict(line.split(",") for line in run("export", "a.db", "results").stdout.splitlines()[1:])
    assert (float(rows["p/labels"]), float(rows["p/items"])) == (1, COUNT)
    assert "'p' are in the run run-1 of mlflow" in run("export", "a.db", "results", "--to", "mlflow").stderr
    assert "--to logs the results" in run("export", "a.db", "labels", "--to", "mlflow", code=2).stderr
