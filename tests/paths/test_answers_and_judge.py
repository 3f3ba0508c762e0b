"""Answers of a language model in free text, a judge that says pass or fail of each, and 100 labels of people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.paths import fill, misses, read, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], dict[str, float]]:
    """The answers in the present folder; what people would say of each, and how good the judge is over all."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    n = 1_500
    good = rng.random(n) < 0.78
    passed = rng.random(n) < np.where(good, 0.9, 0.3)
    with (tmp_path / "runs.jsonl").open("w", encoding="utf-8") as file:
        for i in range(n):
            wrong = "" if i % 40 == 0 else "I'm sorry, I cannot help." if i % 5 == 0 else f"Buy another one than {i}."
            row = {
                "trace_id": f"tr-{i:05}",
                "prompt": f"How do I reset device {i}?\nIt shows *error* <b>{i % 7}</b>.",
                "response": f"Hold the button of {i}.\n\n```sh\nreset --hard\n```" if good[i] else wrong,
                "model": ("small", "large")[i % 2],
                "judge_verdict": "PASS" if passed[i] else "FAIL",
                "judge_reason": "It follows the manual of the device, as far as that says anything about it.",
            }
            print(json.dumps(row), file=file)
    people = {f"tr-{i:05}": "pass" if good[i] else "fail" for i in range(n)}
    return people, {
        "says pass": float(passed.mean()),
        "true pass rate": float(good.mean()),
        "agreement": float((good == passed).mean()),
        "TPR": float(passed[good].mean()),
        "TNR": float(1 - passed[~good].mean()),
    }


@pytest.mark.slow
def test_answers_and_a_judge(runs: tuple[dict[str, str], dict[str, float]], tmp_path: Path) -> None:
    people, truth = runs
    # A newcomer names nothing: free text is not taken for a class, and the way on is named.
    said = run("new", "judge.db", "runs.jsonl", code=2).stderr
    assert "'judge_verdict' says whether each answer passes, add --verdict 'judge_verdict'" in said
    understood = run("new", "judge.db", "runs.jsonl", "--verdict", "judge_verdict").stderr
    assert "columns 'prompt', 'response'" in understood  # the question and the answer, and not the judge's reason
    said = run("show", "judge.db", "--judges").output
    assert "How good it is cannot be said yet: no label shows it." in said
    assert "agrees with people" not in said

    sheet = run("ask", "judge.db", "-n", 100, "-o", "batch.csv")
    assert "'FAIL', 'PASS'" in sheet.stderr
    assert "manual" not in (tmp_path / "batch.csv").read_text(encoding="utf-8")
    fill(tmp_path / "batch.csv", people)
    assert "100 labels taken. 100 so far, 0 pending." in run("tell", "judge.db", "batch.csv").stderr

    (row,) = read("show", "judge.db")["rows"]
    assert row["low"] <= truth["true pass rate"] <= row["high"]
    judged = {one["measure"]: one for one in read("show", "judge.db", "--judges")["judges"] if one["group"] == "all"}
    assert judged["says pass"]["mean"] == pytest.approx(truth["says pass"])
    outside, allowed = misses((judged[name]["low"], truth[name], judged[name]["high"]) for name in truth)
    assert outside <= allowed
    assert (judged["true pass rate"]["mean"], judged["true pass rate"]["low"]) == (row["mean"], row["low"])
    assert judged["TPR"]["of"] + judged["TNR"]["of"] == 100

    # A gate, in the words that people type.
    assert read("check", "judge.db", "--overall", "prevalence:pass >= 0.6")["verdict"] == "pass"
    assert read("check", "judge.db", "--overall", "prevalence:pass >= 0.9", code=3)["verdict"] == "fail"
    run("report", "judge.db", "-o", "judge.html")
    page = (tmp_path / "judge.html").read_text(encoding="utf-8")
    assert "People would pass" in page
    assert "<b>" + "0</b>" not in page  # what the model wrote is text
