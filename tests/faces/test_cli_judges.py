"""Judges, evidence columns and refusals on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli


def run(*words, code=0):
    result = CliRunner().invoke(cli, [str(word) for word in words])
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def said(output):
    """The output on one line, since lines are broken where they are long."""
    return " ".join(output.split())


def read(name):
    return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """The file runs.jsonl with 400 answers of two systems and two judges; and what people say of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    good = rng.random(400) < 0.7
    judge = np.where(rng.random(400) < 0.15, ~good, good)
    lines = [
        {
            "id": f"q{i}",
            "question": f"What is {i} and {i}?",
            "answer": f"It is {2 * i}",
            "system": "ab"[i % 2],
            "judge_says": "pass" if judge[i] else "fail",
            "judge2": bool(good[i] if i % 5 else not good[i]),
            "stars": int(1 + 2 * good[i] + i % 3),
        }
        for i in range(400)
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return {f"q{i}": "pass" if good[i] else "fail" for i in range(400)}


def label(name, truth, n):
    audit = fl.load("audit.db", name)
    audit.tell({item: truth[item] for item in audit.ask(n).ids})
    audit.close()


def test_a_verdict_chooses_the_question(runs):
    words = run("new", "audit.db", "runs.jsonl", "--verdict", "judge_says,judge2").output
    for line in ("predicted   column 'judge_says'", "evidence    'judge2'", "How many items would people pass?"):
        assert line in words
    label("runs", runs, 80)
    shown = run("show", "audit.db")
    assert "People would pass" in shown.output
    assert "True pass rate" in shown.output
    found = json.loads(run("show", "audit.db", "--judges", "--groups", "column:system", "--json").stdout)["judges"]
    assert {row["judge"] for row in found} == {"predicted", "judge2"}
    assert {row["group"] for row in found} == {"all", "a", "b"}
    table = run("show", "audit.db", "--judges")
    assert "The verdict agrees with people on" in table.output
    assert "passes of what people pass (TPR)" in table.stdout
    run("report", "audit.db", "-o", "audit.md", "--no-forecast")
    report = said(Path("audit.md").read_text(encoding="utf-8"))
    assert "## How good the judge is" in report
    assert "- The verdicts pass: " in report
    assert "evidence columns | judge2" in report


def test_pass_rates_of_two_systems_are_compared(runs):
    run("new", "audit.db", "runs.jsonl", "--verdict", "judge_says", "--groups", "column:system", "--compare", "a,b")
    label("runs", runs, 60)
    assert "true pass rate" in run("answer", "audit.db").output


def test_another_question_is_put_to_the_labels_that_are_there(runs):
    run("new", "audit.db", "runs.jsonl", "--verdict", "judge_says,judge2")
    label("runs", runs, 60)
    told = run("answer", "audit.db", "--groups", "column:system", "--compare", "a,b").output
    assert "Is the true pass rate lower, about equal (within 5 points) or higher for a than for b?" in said(told)
    rows = json.loads(run("answer", "audit.db", "--groups", "column:system", "--json").stdout)["rows"]
    assert rows[0]["low"] < rows[0]["mean"] < rows[0]["high"]
    told = run("answer", "audit.db", "--metric", "accuracy", "--groups", "column:system", "--lowest", 1).output
    assert "accuracy" in said(told)
    told = run("answer", "audit.db", "--certify", "prevalence:pass >= 0.2").output
    assert "at least 20%" in said(told)


def test_which_verdict_passes_must_be_clear(runs):
    lines = [line | {"mood": "sun" if i % 3 else "rain"} for i, line in enumerate(read("runs.jsonl"))]
    Path("moods.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    words = said(run("new", "audit.db", "moods.jsonl", "--verdict", "mood", code=2).output)
    assert "not clear which of the verdicts 'rain', 'sun' means pass. Say so, as in: --verdict mood=sun" in words
    assert "truly sun" in run("new", "audit.db", "moods.jsonl", "--verdict", "mood=sun", "--dry-run").output
    words = said(
        run("new", "audit.db", "runs.jsonl", "--verdict", "judge_says", "--predicted", "answer", code=2).output
    )
    assert "--verdict names the predictions itself" in words


def test_evidence_and_refusals_from_a_messy_file(runs, tmp_path):
    rows = ["id,reply,label,judge,stars,city"]
    for i in range(90):
        reply = ["yes", "no", "no", "yes", "I'm sorry, I can't.", ""][i % 6]
        rows.append(f'm{i},"{reply}",yes,{"good" if i % 4 else ""},{i % 5 + 1},Rome')
    (tmp_path / "messy.csv").write_text("\n".join(rows), encoding="utf-8")
    told = ("--predicted", "reply", "--never-right", "i'm sorry*", "--never-right", "", "--evidence", "judge,stars")
    words = run("new", "audit.db", "messy.csv", *told).output
    assert "evidence    'judge', 'stars'" in words
    assert "uninformative" not in words
    idle = run("new", "other.db", "messy.csv", *told[:-1], "judge,city", "--dry-run").output
    assert "'city': the same for all items, so uninformative" in said(idle)
    assert "no answer   30 items, counted as wrong" in words
    pool = fl.load("audit.db", "messy").pool
    assert pool.choices == ("no", "yes")
    assert pool.evidence == ("judge", "stars")
    told_less = ("--predicted", "reply", "--never-right", "i'm sorry*", "--evidence", "judge")
    assert "--never-right ''" in said(run("new", "audit.db", "more", "messy.csv", *told_less, code=2).output)
    wrong = said(run("new", "audit.db", "more", "messy.csv", *told[:6], "--evidence", "juge", code=2).output)
    assert "no column 'juge', named by --evidence. Did you mean 'judge'?" in wrong


def test_there_is_no_judge_to_show(runs):
    run("new", "audit.db", "runs.jsonl", "--predicted", "judge_says", "--evidence", "stars")
    assert "has no judge" in said(run("show", "audit.db", "--judges", code=2).output)


def test_a_simulation_may_use_evidence(runs, tmp_path):
    lines = read("runs.jsonl")
    for line in lines:
        line["label"] = runs[line["id"]]
    (tmp_path / "known.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    words = (
        "--predicted",
        "judge_says",
        "--methods",
        "learned+items+pool",
        "--budgets",
        "40",
        "--runs",
        "6",
        "--jobs",
        "1",
    )
    errors = []
    for more in ((), ("--evidence", "judge2")):
        rows = json.loads(run("simulate", "known.jsonl", *words, *more, "--jobs", "1", "--json").stdout)["rows"]
        errors.append(next(row["mean"] for row in rows if row["score"] == "rmse"))
    assert errors[1] != errors[0]


def test_a_choice_between_two_answers_shows_both(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        {"id": i, "prompt": f"Write line {i}.", "response_a": f"first {i}", "response_b": f"other {i}", "winner": w}
        for i, w in enumerate(["A", "B", "tie"] * 10)
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    begun = said(run("new", "a.db", "pairs.jsonl").output)
    assert "predicted column 'winner'" in begun
    assert "columns 'prompt', 'response_a', 'response_b'" in begun
    content = run("ask", "a.db", "-n", 1).stdout
    assert "prompt: " in content and "response_a: first" in content and "response_b: other" in content  # noqa: PT018


def test_answers_of_language_models_are_read_in_any_spelling(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [{"id": i, "text": f"film {i}", "response": ["good", "Bad.", "BAD"][i % 3]} for i in range(30)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    refused = run("new", "a.db", "answers.jsonl", "--classes", "good,bad", code=2).output
    assert "--any-spelling" in refused
    begun = said(run("new", "a.db", "answers.jsonl", "--classes", "good,bad", "--any-spelling").output)
    assert "classes 2: 'good', 'bad'" in begun
    # What counts as no answer is shown, since it may be a longer way of saying one of the classes.
    wordy = [line | {"response": ["good", "It is bad", "bad"][i % 3], "verbalized_confidence": 0.7 + i / 200}
             for i, line in enumerate(lines)]  # fmt: skip
    (tmp_path / "wordy.jsonl").write_text("\n".join(map(json.dumps, wordy)), encoding="utf-8")
    begun = said(run("new", "c.db", "wordy.jsonl", "--classes", "good,bad", "--unlisted", "wrong").output)
    assert "no answer 10 items, counted as wrong: 'It is bad' (10×)" in begun
    assert "10 answers are sentences that name one class, and count as wrong, such as 'It is bad' --in-s" in begun
    assert "confidence column 'verbalized_confidence', probabilities" in begun
    begun = said(run("new", "e.db", "wordy.jsonl", "--classes", "good,bad", "--in-sentences").stderr)
    assert "10 answers are sentences that name one class, such as 'It is bad' --in-sentences" in begun
    assert "no answer" not in begun
    # Without the list, the commonest spelling is the class, or the page says what could be meant.
    begun = said(run("new", "d.db", "answers.jsonl", "--any-spelling").output)
    assert "classes 2: 'Bad.', 'good'" in begun
    other = [line | {"response": ["good", "Bad.", "bad"][i % 3]} for i, line in enumerate(lines)]
    (tmp_path / "others.jsonl").write_text("\n".join(map(json.dumps, other)), encoding="utf-8")
    assert "may be one answer --any-spelling" in said(run("new", "b.db", "others.jsonl").output)


def judged(verdicts, words=()):
    """Begin an assessment of a file with these verdicts; what `new` says."""
    rows = "".join(f"q{i},answer {i},{verdict}\n" for i, verdict in enumerate(verdicts))
    Path("judged.csv").write_text(f"id,answer,judge\n{rows}", encoding="utf-8")
    Path("audit.db").unlink(missing_ok=True)
    return said(run("new", "audit.db", "judged.csv", "--verdict", "judge", *words).output)


@pytest.mark.parametrize(
    ("yes", "no", "line"),
    [
        (["pass", "PASS", "pass", "Pass "], ["fail", "FAIL", "fail"], "'PASS' and 'Pass' are read as 'pass'"),
        (["pass", "1", "pass", "True", "YES"], ["fail", "0", "False", "fail"], "'1', 'True' and 'YES' are read as"),
    ],
)
def test_verdicts_in_any_spelling_are_two(yes, no, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert line in judged([*yes, *no] * 10)
    pool = fl.load("audit.db", "judged").pool
    assert pool.classes == ("fail", "pass")
    assert (pool.predicted == 1).sum() == 10 * len(yes)


def test_grades_are_not_taken_for_spellings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"q{i},{['good', 'acceptable', 'bad'][i % 3]}\n" for i in range(30))
    Path("grades.csv").write_text(f"id,grade\n{rows}", encoding="utf-8")
    assert "read as" not in run("new", "audit.db", "grades.csv", "--verdict", "grade=good").output
    assert "3: 'fail', 'pass', 'unsure'" in judged(["pass", "fail", "unsure"] * 10)
    assert "'Fail'" in judged(["Pass", "Fail", "FAIL"] * 10, ["--classes", "Pass,Fail,FAIL"])


def test_a_judge_that_passes_everything(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "2: 'Pass', 'Fail'" in judged(["Pass"] * 40)
    audit = fl.load("audit.db", "judged")
    audit.tell({item: "Fail" if int(item[1:]) % 4 == 0 else "Pass" for item in audit.ask(40).ids})
    assert "The verdicts pass 100%." in said(run("show", "audit.db").output)


def test_missing_verdicts_count_in_what_people_would_pass(tmp_path, monkeypatch):
    """A third has no verdict, and people pass none of them: the rate of all is two thirds of the others'."""
    monkeypatch.chdir(tmp_path)
    begun = judged(["pass", "", "pass"] * 60, ["--classes", "pass,fail", "--target", "pool"])
    assert "no verdict 60 items; judged by people's labels" in begun
    audit = fl.load("audit.db", "judged")
    audit.tell({item: "fail" if int(item[1:]) % 3 == 1 else "pass" for item in audit.ask(180).ids})
    shown = said(run("show", "audit.db").output)
    assert next(iter(audit.estimates().rows()))["mean"] == pytest.approx(2 / 3)
    assert "The verdicts pass 100%." in shown
    assert "The judge gave no verdict on 60 of 180 items. They count in what people would pass, and not in how" in shown
    assert "counted as wrong" not in shown


def test_the_verdict_that_passes_may_be_named_in_any_case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"q{i},{'Happy' if i % 3 else 'sad'}\n" for i in range(60))
    Path("moods.csv").write_text(f"id,mood\n{rows}", encoding="utf-8")
    run("new", "audit.db", "moods.csv", "--verdict", "mood=happy")
    assert fl.load("audit.db", "moods").spec.task.metric == fl.Prevalence("Happy")


def test_answers_of_several_systems_to_the_same_questions(tmp_path, monkeypatch):
    """A long file: the id of a question once for each system. Each answer is an item, and systems can be compared."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    good = rng.random(400) < np.where(np.arange(400) % 2, 0.9, 0.4)
    judge = np.where(rng.random(400) < 0.1, ~good, good)
    rows = [
        {"id": i // 2, "system": "ab"[i % 2], "answer": f"It is {i}", "judge": "pass" if judge[i] else "fail"}
        for i in range(400)
    ]
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    begun = said(run("new", "audit.db", "long.jsonl", "--verdict", "judge").output)
    assert "400 items" in begun
    assert "once for each 'system': 0/a" in begun
    truth = {f"{i // 2}/{'ab'[i % 2]}": "pass" if good[i] else "fail" for i in range(400)}
    label("long", truth, 120)
    answer = said(run("answer", "audit.db", "--groups", "column:system", "--compare", "b,a").output)
    assert "The true pass rate of b is above that of a" in answer
    rows[3] |= {"id": 0}  # b has answered question 0 twice
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert (
        "is already that of row" in run("new", "audit.db", "again", "long.jsonl", "--verdict", "judge", code=2).output
    )


def test_a_judge_is_not_called_a_classifier(runs):
    """Tables, rules and the words of a report are about the judge, where its verdicts are the predictions."""
    run("new", "audit.db", "runs.jsonl", "--verdict", "judge_says")
    label("runs", runs, 80)
    run("report", "audit.db", "-o", "audit.html", "--no-forecast")
    report = Path("audit.html").read_text(encoding="utf-8").split("All settings")[0]
    shown = [report, run("classes", "audit.db").output, run("show", "audit.db").output]
    shown += [run("check", "audit.db", "--overall", "accuracy >= 0.97", code=3).output]
    for words in shown:
        assert "classifier" not in words
    assert "the judge" in shown[3]
    rule = run("check", "audit.db", "--every", "recall:pass >= 0.8", "--groups", "column:system", code=4).output
    assert "labels are asked for in the whole pool, and the rule is about other groups" in said(rule)
