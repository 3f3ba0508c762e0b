"""What somebody reads in the first hour: slips are answered in words that help, and tables say what they are."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.common import program
from fewlabels.cli.demo import next_steps
from fewlabels.cli.main import cli
from fewlabels.report import gist

CLASSES = ("billing", "refund", "spam")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with predictions of tickets, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    rows = [
        f"T-{i:03},{CLASSES[i % 3]},{v:.3f},{'de' if i % 2 else 'en'}\n" for i, v in enumerate(rng.uniform(0.4, 1, 60))
    ]
    (tmp_path / "tickets.csv").write_text("id,predicted,confidence,lang\n" + "".join(rows) + "T-060,spam,0.5,pl\n")
    return tmp_path


def run(*arguments: object, code: int = 0):
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def audit(folder):
    """An assessment with 30 labels."""
    run("new", "audit.db", "tickets.csv", "--lowest", 1)
    audit = fl.load("audit.db", "tickets")
    audit.tell({item: CLASSES[int(item[2:]) % 3 if int(item[2:]) % 4 else 0] for item in audit.ask(30).ids})
    return audit


def test_an_unknown_item_is_not_answered_with_classes(audit) -> None:
    said = run("tell", "audit.db", "T-999=billing", code=2).stderr
    assert "unknown item 'T-999'" in said
    assert "It could be" not in said
    assert "unknown class 'bill'. Nothing was changed. Did you mean 'billing'?" in (
        run("tell", "audit.db", "T-001=bill", code=2).stderr
    )
    assert "exactly" not in run("tell", "audit.db", "T-001=bill", code=2).stderr
    run("ask", "audit.db", "-n", 1)
    (item,) = audit.pending()
    Path("labels.csv").write_text(f"id,label\n{item}, REFUND \n")
    assert "' REFUND ' was taken as 'refund' (once)." in run("tell", "audit.db", "labels.csv").stderr


def test_two_classes_that_a_label_may_mean_are_named(folder) -> None:
    (folder / "letters.csv").write_text("id,predicted\n1,ä b\n2,Ä B\n")
    run("new", "audit.db", "letters.csv", "--classes", "ä b,Ä B")
    run("ask", "audit.db", "-n", 2)
    assert "It could be 'ä b' or 'Ä B': write it exactly so." in run("tell", "audit.db", "1=Ä b", code=2).stderr


def test_asking_names_the_classes_and_knows_the_budget(folder) -> None:
    run("new", "audit.db", "tickets.csv", "--stop-labels", 20)
    asked = run("ask", "audit.db", "-n", 15)
    assert asked.stderr.splitlines()[-1] == "The classes to choose from: 'billing', 'refund', 'spam'"
    assert "budget" not in asked.stderr
    said = run("ask", "audit.db", "-n", 10).stderr
    assert "The budget of 20 labels has room for 20 more, 15 items handed out before: these are more" in said


@pytest.mark.parametrize("words", [["new", "tickets.csv", "audit.db"], ["show", "tickets.csv"], ["ask", "tickets.csv"]])
def test_a_file_in_place_of_the_database_is_said(folder, words: list[str]) -> None:
    said = run(*words, code=2).stderr
    assert "tickets.csv is no database of fewlabels but a file of another kind. The database comes first" in said
    assert "sqlite:///" not in said


@pytest.mark.parametrize("command", [["new", "b.db", "tickets.csv"], ["show", "audit.db"]])
def test_a_mistyped_class_of_a_metric_is_said_without_python(audit, command: list[str]) -> None:
    said = run(*command, "--groups", "whole", "--metric", "recall:refnd", code=2).stderr
    assert "--metric recall:refnd: there is no class 'refnd'. Did you mean recall:refund?" in said
    assert "()" not in said


def test_a_table_says_what_it_is_about(audit) -> None:
    own, headline = run("show", "audit.db").stderr, gist(audit).headline
    assert "Accuracy by predicted class; 1 is best." in own
    assert headline in own
    other = run("show", "audit.db", "--metric", "calibration", "--groups", "whole")
    assert "Calibration error (the whole pool); 0 is best." in other.stderr
    assert "with a probability of 0.95." in other.stderr
    assert len(other.stderr.splitlines()) == 4  # the question, how far it is, a blank line and the title
    assert headline not in other.stderr


def test_numbers_from_few_labels_are_marked(audit) -> None:
    lines = run("show", "audit.db", "--groups", "column:lang").stdout.splitlines()
    assert lines[0].split()[-1] == "note"
    assert [line.split()[0] for line in lines[1:] if line.endswith("too few labels")] == ["pl"]
    audit.tell({item: "spam" for item in audit.pool.ids.to_pylist() if item not in audit.labels()}, adopt=True)
    assert "note" not in run("show", "audit.db").stdout
    run("new", "audit.db", "fresh", "tickets.csv")
    assert "note" not in run("show", "audit.db", "fresh").stdout


def test_a_comparison_explains_its_columns(folder) -> None:
    run("new", "audit.db", "tickets.csv", "--groups", "column:lang", "--compare", "de,en")
    said = run("answer", "audit.db").stderr
    assert "less, equal, more: the chances that the accuracy of de is lower than that of en, about the same" in said
    assert "(within 0.05), or higher." in said


def test_the_demo_says_what_to_type_where_the_environment_is_not_active(tmp_path, monkeypatch) -> None:
    programs = tmp_path / "my env" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "fewlabels"):
        (programs / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == f"'{programs}/fewlabels'"
    monkeypatch.chdir(tmp_path)
    assert program() == "'my env/bin/fewlabels'"
    assert next_steps(None, program())[1].startswith("  'my env/bin/fewlabels' new audit.db")
    monkeypatch.setenv("PATH", str(programs))
    assert program() == "fewlabels"
    (programs / "fewlabels").unlink()
    assert program() == "'my env/bin/python' -m fewlabels"
