"""Test runs of DeepEval (DEEPEVAL_RESULTS_FOLDER, or .deepeval/.latest_test_run.json): tried with deepeval 4.3.1."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fewlabels.interop.samples import Evaluation, Sample, worded
from fewlabels.interop.shapes import a_text, an_object, objects

_FIX = "Run the evaluation again with DEEPEVAL_RESULTS_FOLDER set."


def is_run(data: object) -> bool:
    """Whether a JSON value is a test run of DeepEval."""
    inner = data.get("testRunData", data) if isinstance(data, dict) else None
    return isinstance(inner, dict) and "testCases" in inner and "metricsScores" in inner


def from_json(data: dict[str, Any], name: str) -> Evaluation:
    """Read the test cases, with one turn or with several; each metric is a scorer."""
    run = data.get("testRunData", data)
    cases = objects(run["testCases"], f"the test cases of {name}", _FIX)
    cases = cases + objects(run.get("conversationalTestCases") or [], f"the conversations of {name}", _FIX)
    named = Counter(case.get("name") for case in cases if isinstance(case.get("name"), str))
    samples = []
    for number, case in enumerate(cases, 1):
        called = case.get("name")
        own = called if isinstance(called, str) and named[called] == 1 else f"case {number}"
        samples.append(_sample(case, own, f"test case {number} of {name}"))
    return Evaluation("test run of DeepEval", worded(samples, "pass", "fail"))


def _sample(case: dict[str, Any], own: str, where: str) -> Sample:
    metrics = objects(case.get("metricsData") or [], f"the metrics of {where}", _FIX)
    # A metric that failed with an error has given no verdict.
    verdicts = {str(metric.get("name")): None if metric.get("error") else metric.get("success") for metric in metrics}
    return Sample(
        id=own,
        input=a_text(case.get("input")) or a_text(case.get("turns")) or a_text(case.get("scenario")),
        answer=a_text(case.get("actualOutput")),
        target=a_text(case.get("expectedOutput")) or a_text(case.get("expectedOutcome")),
        verdicts=verdicts,
        others={
            **{f"{metric.get('name')} score": metric.get("score") for metric in metrics},
            **an_object(case.get("metadata") or case.get("additionalMetadata") or {}, f"the metadata of {where}", _FIX),
        },
    )
