"""A metric in a user's own file, through the whole life of an assessment, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

METRIC = '''
from dataclasses import dataclass

import fewlabels as fl
import numpy as np
from fewlabels.metrics.accuracy import RightOrWrong
from fewlabels.metrics.base import right_or_wrong


@dataclass(frozen=True)
class ErrorRate(RightOrWrong):
    """The share of wrong predictions, times a factor."""

    factor: float = 1.0

    takes = "NUMBER"
    phrase = "the share of items for which the classifier is wrong"
    linear = True
    high_is_bad = True

    def cells(self, pool, partition):
        return right_or_wrong(pool, partition)

    def value(self, theta, cells):
        return self.factor * cells.total(theta[..., 1])

    def gradient(self, theta, cells):
        return np.tile([0.0, self.factor], (len(cells), 1))
'''
CREATE = """
import fewlabels as fl
from my_metrics import ErrorRate

pool = fl.read_pool({"id": ["1", "2", "3", "4"], "predicted": ["cat", "dog", "cat", "dog"]})
audit = fl.create("audit.db", "pets", pool, task=fl.Estimate(ErrorRate()), seed=1)
audit.tell({item: "cat" for item in audit.ask(3).ids})
audit.close()
"""


def run(folder: Path, *args: str, code: int = 0, installed: bool = False) -> subprocess.CompletedProcess[str]:
    """A new Python in a folder, which may also be where packages are installed; it must end with this code."""
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(folder) if installed else None]))
    done = subprocess.run(
        [sys.executable, "-W", "error", *args],
        cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done


def fewlabels(folder: Path, *args: str, code: int = 0, installed: bool = False) -> subprocess.CompletedProcess[str]:
    """The command; as where it is installed, the folder it is called in is not on Python's path."""
    return run(folder, "-P", "-m", "fewlabels", *args, code=code, installed=installed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder: a file with a registered metric, and predictions."""
    (tmp_path / "my_metrics.py").write_text(f"{METRIC}\n\nfl.register(ErrorRate)\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("id,predicted\n1,cat\n2,dog\n3,cat\n4,dog\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_created_labelled_ended_loaded_shown_and_exported(folder: Path) -> None:
    run(folder, "-c", CREATE)
    shown = run(
        folder,
        "-c",
        "import my_metrics, fewlabels as fl\n"
        "audit = fl.load('audit.db', 'pets')\n"
        "print(audit.spec.task, len(audit.labels()), audit.answer().table['metric'], len(audit.ask(4)))",
    )
    assert shown.stdout == "Estimate(metric=ErrorRate(factor=1.0)) 3 ['ErrorRate'] 1\n"
    assert json.loads(fewlabels(folder, "show", "audit.db", "--import", "my_metrics.py", "--json").stdout)["rows"]
    assert "error rate" in fewlabels(folder, "--import", "my_metrics", "answer", "audit.db").stdout
    fewlabels(folder, "report", "audit.db", "-o", "report.md", "--import=my_metrics.py")
    assert "the classifier is wrong" in (folder / "report.md").read_text(encoding="utf-8").lower()
    # Without the file: a reason, and the labels all the same.
    (folder / "my_metrics.py").unlink()
    refused = fewlabels(folder, "show", "audit.db", code=2).stderr
    assert "needs the part 'ErrorRate' from my_metrics, which is not registered here" in refused
    assert "fewlabels --import my_metrics" in refused
    labels = fewlabels(folder, "export", "audit.db").stdout.splitlines()
    assert labels[0] == "id,label"
    assert len(labels) == 4
    log = fewlabels(folder, "export", "audit.db", "pets", "log").stdout.splitlines()
    assert len(log) == 1 + 3 + 3 + 1  # with a head, and the request of the second process
    listed = fewlabels(folder, "list", "audit.db", "--json")
    assert json.loads(listed.stdout)["rows"][0]["labels"] == 3
    assert "ErrorRate" in listed.stderr
    read = "import fewlabels as fl; print(len(fl.Store('audit.db').labels('pets')))"
    assert run(folder, "-c", read).stdout == "3\n"


@pytest.mark.slow
def test_an_unregistered_metric_is_refused_before_there_is_a_file(folder: Path) -> None:
    (folder / "my_metrics.py").write_text(METRIC, encoding="utf-8")
    refused = run(folder, "-c", CREATE, code=1).stderr
    assert "fl.register(ErrorRate)" in refused
    assert not (folder / "audit.db").exists()


@pytest.mark.slow
def test_it_is_named_on_the_command_line(folder: Path) -> None:
    fewlabels(folder, "new", "a.db", "p.csv", "--metric", "error-rate:0.5", "--import", "my_metrics.py")
    fewlabels(folder, "tell", "a.db", "1=dog", "--adopt", "--import", "my_metrics.py")
    settings = json.loads(fewlabels(folder, "show", "a.db", "--json", "--import", "my_metrics.py").stdout)["settings"]
    assert settings["metric"] == "ErrorRate(factor=0.5)"
    assert "error-rate" in fewlabels(folder, "--import", "my_metrics.py", "new", "--help").stdout
    unknown = fewlabels(folder, "new", "b.db", "p.csv", "--metric", "error-rate", code=2).stderr
    assert "--metric error-rate is not known" in unknown


@pytest.mark.slow
def test_an_entry_point_needs_no_import(folder: Path) -> None:
    (folder / "my_metrics.py").write_text(METRIC, encoding="utf-8")
    about = folder / "my_metrics-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-metrics\nVersion: 1.0\n", encoding="utf-8")
    points = "[fewlabels.parts]\nerror-rate = my_metrics:ErrorRate\n"
    (about / "entry_points.txt").write_text(points, encoding="utf-8")
    run(folder, "-c", CREATE)
    assert json.loads(fewlabels(folder, "show", "audit.db", "--json", installed=True).stdout)["rows"]
    assert "error-rate" in fewlabels(folder, "new", "--help", installed=True).stdout
    # A package that is broken is named where its part is missing, and breaks nothing else.
    (folder / "my_metrics.py").write_text("import no_such_module\n", encoding="utf-8")
    refused = fewlabels(folder, "show", "audit.db", code=2, installed=True).stderr
    assert "error-rate (my_metrics:ErrorRate) could not be loaded (ModuleNotFoundError: No module named" in refused
    fewlabels(folder, "new", "other.db", "p.csv", "--prior", "uniform", installed=True)


@pytest.mark.parametrize(
    ("what", "text", "said"),
    [
        ("nowhere.py", None, "there is no such file"),
        ("no_such_module", None, "could not be imported (ModuleNotFoundError"),
        ("broken.py", "1 / 0", "could not be imported (ZeroDivisionError: division by zero)"),
        ("json.py", "", "there is another module called 'json'. Give your file another name"),
    ],
)
def test_what_cannot_be_imported_is_told_in_a_line(folder: Path, what: str, text: str | None, said: str) -> None:
    if text is not None:
        (folder / what).write_text(text, encoding="utf-8")
    assert said in fewlabels(folder, "list", "audit.db", "--import", what, code=2).stderr
