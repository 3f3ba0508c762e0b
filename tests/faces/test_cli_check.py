"""`fewlabels check`, and --certify and --guarantee of the other commands."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import as_options, cli
from fewlabels.planning import Forecast
from tests.support.reports import CLASSES, told_exactly

GOOD = dict.fromkeys(CLASSES, (60, 2))


@pytest.fixture
def database(tmp_path):
    """An assessment in which all classes are good but coat, which is bad or open."""

    def make(coat: tuple[int, int] = (60, 2), **more) -> str:
        path = tmp_path / "audit.db"
        told_exactly({**GOOD, "coat": coat}, where=path, **{"asked": True} | more).close()
        return str(path)

    return make


def run(*words: str):
    return CliRunner().invoke(cli, words, standalone_mode=False)


def code(result) -> int:
    return result.return_value if isinstance(result.return_value, int) else 0


@pytest.mark.parametrize(("coat", "wanted"), [((60, 2), 0), ((20, 30), 3), ((9, 2), 4)])
@pytest.mark.parametrize("more", [(), ("--guarantee", "anytime")])
def test_the_exit_code_is_the_verdict(database, coat, wanted: int, more) -> None:
    result = run("check", database(coat), "--every", "accuracy >= 80%", "--no-forecast", *more)
    assert result.exception is None
    assert code(result) == wanted
    assert result.stdout.startswith({0: "Pass", 3: "Fail", 4: "Not enough evidence"}[wanted])


@pytest.mark.slow
def test_a_program_ends_with_the_code(database) -> None:
    words = [sys.executable, "-m", "fewlabels", "check", database((20, 30)), "--every"]
    assert subprocess.run([*words, "accuracy >= 0.8"], capture_output=True, check=False).returncode == 3
    wrong = subprocess.run([*words, "accuracy"], capture_output=True, check=False, text=True)
    assert wrong.returncode == 2
    assert "is not a rule" in wrong.stderr


def test_the_worst_of_several_rules_counts(database, tmp_path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nevery = "accuracy >= 0.8"\nname = "All classes"\n')
    report = tmp_path / "report.xml"
    words = ("--every", "accuracy >= 0.1", "--overall", "accuracy >= 0.1", "--rules", str(rules))
    result = run("check", database((20, 30)), *words, "--junit", str(report), "--json")
    assert code(result) == 3
    said = json.loads(result.stdout)
    assert said["verdict"] == "fail"
    assert [one["verdict"] for one in said["rules"]] == ["pass", "pass", "fail"]
    assert said["rules"][2]["rule"] == "All classes"
    assert "<failure" in report.read_text()


def test_groups_can_be_named(database) -> None:
    address = database((20, 30))
    assert code(run("check", address, "--every", "accuracy >= 0.8", "--group", "bag", "--group", "boot")) == 0
    assert code(run("check", address, "--every", "accuracy >= 0.5", "--groups", "column:place")) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "was not made with --certify"),
        (("--sure", "0.9"), "Add a rule"),
        (("--every", "recall:sock >= 0.5"), "the metric 'recall:sock': there is no class 'sock'"),
        (("--overall", "accuracy >= 0.5", "--group", "bag"), "are about --every"),
        (("--every", "speed >= 0.5"), "is not known"),
        (("--every", "accuracy >= 0.5", "--rules", "none.toml"), "cannot read the rules"),
        (
            ("--every", "accuracy >= 0.5", "--every", "f1:x >= 1"),
            "the rule 'every: f1:x >= 1': 'f1:x >= 1': the metric",
        ),
    ],
)
def test_what_makes_no_sense_is_an_error(database, words, said: str) -> None:
    assert said in str(run("check", database(), *words).exception)


def test_an_assessment_that_certifies_has_a_rule_of_its_own(database) -> None:
    task = fl.Certify(fl.Accuracy(), at_least=0.8, only=("coat", "bag"), sure=0.9)
    result = run("check", database((20, 30), task=task), "--json")
    assert code(result) == 3
    (said,) = json.loads(result.stdout)["rules"]
    assert said["rule"] == "every: accuracy >= 0.8"
    assert {row["group"] for row in said["rows"]} == {"coat", "bag"}
    assert said["settings"]["sure"] == 0.9


def test_only_a_pass_that_does_not_last_is_said_to_be_for_one_look(database) -> None:
    address = database()
    assert "one look" not in run("check", address, "--every", "accuracy >= 0.5").output
    other = run("check", address, "--every", "accuracy >= 0.5", "--groups", "column:place")
    assert code(other) == 0
    assert "This pass is meant for one look" in other.output
    both = run("check", address, "--every", "accuracy >= 0.5", "--overall", "accuracy >= 0.5").output
    assert "The pass of 'overall: accuracy >= 0.5' is meant for one look" in both


def test_adopted_labels_are_no_ground_for_a_guarantee(database) -> None:
    result = run("check", database(asked=False), "--every", "accuracy >= 0.8", "--guarantee", "anytime")
    assert "came from elsewhere" in str(result.exception)


def test_a_refused_guarantee_names_options(database) -> None:
    """And in Python the arguments."""
    words = ("--overall", "accuracy >= 0.8", "--guarantee", "anytime")
    address = database()
    error = run("check", address, *words).exception
    assert isinstance(error, fl.SpecError)
    said = error.spelt(as_options)
    assert said.startswith("--guarantee anytime holds in the groups")
    assert said.endswith("with --policy items.")
    assert str(error).endswith("with policy=UniformItems().")
    together = run("show", address, "--together").exception
    assert isinstance(together, fl.SpecError)
    assert together.spelt(as_options).startswith("--together is about a guarantee. Say --guarantee anytime as well")


def test_where_all_items_are_not_enough_the_option_is_named(database, monkeypatch) -> None:
    ahead = partial(Forecast, None, 1, 2, 0.1, 9, 20, fl.Stop(probability=0.95), True, "Never.", all_items=True)
    monkeypatch.setattr("fewlabels.planning.forecast", lambda *_, **__: ahead())
    address = database((9, 2))
    assert (
        "If only exactly these items matter, begin with --target pool: "
        in run("check", address, "--every", "accuracy >= 0.8").stdout
    )
    with fl.load(address) as audit:
        assert "begin with the target 'pool'" in audit.check("accuracy >= 0.8", foresee=True).forecast


def test_show_with_a_guarantee(database) -> None:
    address = database()
    usual, sure = (
        json.loads(run("show", address, "--json", *more).stdout) for more in ((), ("--guarantee", "anytime"))
    )
    assert sure["settings"]["guarantee"] == "anytime"
    assert all(one["low"] < other["low"] for one, other in zip(sure["rows"], usual["rows"], strict=True))
    assert "headline" not in sure
    together = run("show", address, "--guarantee", "anytime", "--together")
    assert "However often you look, all true values are" in together.output
    assert "together=True is about a guarantee" in str(run("show", address, "--together").exception)


@pytest.fixture
def predictions(tmp_path) -> str:
    file = tmp_path / "predictions.csv"
    lines = [f"{i},{'ab'[i % 2]},0.9,{'ab'[i % 2] if i % 10 else 'b'}" for i in range(200)]
    file.write_text("\n".join(["id,predicted,confidence,label", *lines]))
    return str(file)


def test_an_assessment_that_certifies_is_begun(predictions: str, tmp_path) -> None:
    address = str(tmp_path / "audit.db")
    words = ("--certify", "accuracy >= 90%", "--sure", "0.9", "--guarantee", "anytime", "--group", "a")
    assert run("new", address, "c", predictions, *words).exception is None
    wanted = fl.Certify(fl.Accuracy(), at_least=0.9, only=("a",), sure=0.9, guarantee="anytime")
    audit = fl.load(address, "c")
    assert audit.spec.task == wanted
    audit.close()
    assert run("new", address, "w", predictions, "--stop-width", "0.2", "--guarantee", "anytime").exception is None
    audit = fl.load(address, "w")
    assert audit.spec.stop == fl.Stop(width=0.2, guarantee="anytime")
    audit.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--task", "certify"), "needs a line"),
        (("--certify", "accuracy >= 0.9", "--lowest", "1"), "does not go with --lowest"),
        (("--certify", "accuracy >= 0.9", "--task", "estimate"), "does not go with --task estimate"),
        (("--certify", "accuracy >= 0.9", "--metric", "calibration"), "names the metric itself"),
        (("--sure", "0.9"), "are about --certify"),
        (("--guarantee", "anytime"), "--guarantee is about"),
    ],
)
def test_options_that_do_not_go_together_are_refused(predictions: str, tmp_path, words, said: str) -> None:
    assert said in str(run("new", str(tmp_path / "a.db"), predictions, *words).exception)


def test_certifying_is_simulated(predictions: str) -> None:
    words = ("--certify", "accuracy >= 0.5", "--methods", "uniform+thompson", "--budgets", "40", "--runs", "2")
    result = run("simulate", predictions, "--labels", "label", *words, "--jobs", "1")
    assert result.exception is None, result.exception
    assert "right" in result.stdout


@pytest.mark.slow
def test_a_report_shows_the_verdicts_of_rules(database, tmp_path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\nname = "usable <b>"\nevery = "accuracy >= 0.8"\n[[rule]]\noverall = "accuracy >= 50%"\n'
    )
    path = database((20, 30))
    page, text, data = (tmp_path / f"gate.{ending}" for ending in ("html", "md", "json"))
    for file in (page, text, data):
        told = run("report", path, "--rules", str(rules), "--no-forecast", "-o", str(file))
        assert told.exception is None, told.output
    checks = json.loads(data.read_text(encoding="utf-8"))["checks"]
    assert [one["verdict"] for one in checks] == ["fail", "pass"]
    for written in (page.read_text(encoding="utf-8"), text.read_text(encoding="utf-8")):
        assert "Does it pass?" in written
        assert "20 of 50 right" in written
        assert checks[0]["words"].split(":")[0] == "Fail"
    assert "usable &lt;b&gt;" in page.read_text(encoding="utf-8")
    assert 'class="v-fail"' in page.read_text(encoding="utf-8")
    assert "| coat | 20 of 50 right |" in text.read_text(encoding="utf-8")


def test_the_progress_and_the_forecast_speak_of_a_verdict(database) -> None:
    task = fl.Certify(fl.Accuracy(), at_least=0.8)
    shown = run("show", database((9, 2), task=task, stop=fl.Stop(probability=0.9)), "--no-forecast")
    # At 0.9 there is no verdict: what is wanted is what Certify wants.
    assert "there is no verdict yet (wanted 95%)" in shown.output
    assert "the answer is right" not in shown.output
