"""Results of promptfoo (promptfoo eval -o results.json): version 3 of the output, tried with promptfoo 0.123.1."""

from __future__ import annotations

from typing import Any

from fewlabels.interop.samples import Evaluation, Sample, worded
from fewlabels.interop.shapes import a_name, a_text, an_object, objects

_FIX = "Write it again with: promptfoo eval -o results.json"


def is_results(data: object) -> bool:
    """Whether a JSON value is the output of promptfoo."""
    inner = data.get("results") if isinstance(data, dict) else None
    return (
        isinstance(inner, dict)
        and isinstance(inner.get("results"), list)
        and {"stats", "version"} & inner.keys() != set()
    )


def from_json(data: dict[str, Any], name: str) -> Evaluation:
    """Read the results; each provider with a prompt is a model."""
    results = data["results"]
    rows = objects(results["results"], f"the results of {name}", _FIX)
    wheres = [f"result {number} of {name}" for number in range(1, len(rows) + 1)]
    models = _models(rows, wheres)
    seen: dict[tuple[str, str], int] = {}
    samples = []
    for row, where in zip(rows, wheres, strict=True):
        model = models[_column(row)]
        test = a_name(row.get("testIdx"), where, _FIX)
        again = seen[test, model] = seen.get((test, model), 0) + 1  # with --repeat a test is run several times
        samples.append(_sample(row, where, test if again == 1 else f"{test} (repeat {again})", model))
    about = data.get("metadata")
    made = f", promptfoo {about['promptfooVersion']}" if isinstance(about, dict) and "promptfooVersion" in about else ""
    return Evaluation(f"results of promptfoo, version {results.get('version')}{made}", worded(samples, "pass", "fail"))


def _sample(row: dict[str, Any], where: str, test: str, model: str) -> Sample:
    response = row.get("response")
    answer = a_text(response.get("output")) if isinstance(response, dict) else None
    values = an_object(row.get("vars") or {}, f"the variables of {where}", _FIX)
    target = _target(row)
    prompt = row.get("prompt")
    return Sample(
        id=test,
        input=a_text(prompt.get("raw")) if isinstance(prompt, dict) else a_text(values),
        answer=answer,
        target=target,
        verdicts={"verdict": None if answer is None else row.get("success")},
        others={key: value for key, value in values.items() if value != target},
        model=model,
    )


def _target(row: dict[str, Any]) -> str | None:
    """The class that the answer must equal, if the test says just that."""
    test = row.get("testCase")
    checks = test.get("assert") if isinstance(test, dict) else None
    equal = (
        [check.get("value") for check in checks if isinstance(check, dict) and check.get("type") == "equals"]
        if isinstance(checks, list)
        else []
    )
    return equal[0] if len(equal) == 1 and isinstance(equal[0], str) else None


def _column(row: dict[str, Any]) -> str:
    """What tells the answers to one test apart: the place of the prompt with its provider."""
    return str(row.get("promptIdx", row.get("promptId")))


def _models(rows: list[dict[str, Any]], wheres: list[str]) -> dict[str, str]:
    """The name of each provider with a prompt: that of the provider, and more where that is not enough."""
    providers, prompts = {}, {}
    for row, where in zip(rows, wheres, strict=True):
        provider, prompt = row.get("provider"), row.get("prompt")
        called = (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider
        providers[_column(row)] = a_name(called, where, _FIX)
        prompts[_column(row)] = str(prompt.get("label")) if isinstance(prompt, dict) else ""
    names: dict[str, str] = {}
    for place, provider in providers.items():
        name = provider if list(providers.values()).count(provider) == 1 else f"{provider} | {prompts[place]}"
        alike = sum(other == name or other.startswith(f"{name} (") for other in names.values())
        names[place] = name if not alike else f"{name} ({alike + 1})"
    return names
