"""Samples of lm-evaluation-harness (--log_samples), as JSON lines: tried with lm_eval 0.4.13."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from fewlabels.checks import is_count
from fewlabels.errors import InputError
from fewlabels.interop.samples import Evaluation, Sample, worded
from fewlabels.interop.shapes import a_name, a_text, an_object
from fewlabels.io.finder.names import CONTENT, TRUTH, bare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FIX = "Run the evaluation again with --log_samples."
_KEYS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps"}


def is_samples(data: object) -> bool:
    """Whether JSON values are samples of lm-evaluation-harness."""
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and data[0].keys() >= _KEYS


def from_json(data: Sequence[object], name: str) -> Evaluation:
    """Read samples; where the harness took answers out of a text in several ways, those of the first way."""
    rows = [an_object(row, f"line {number} of {name}", _FIX) for number, row in enumerate(data, 1)]
    ways = list(dict.fromkeys(str(row.get("filter", "none")) for row in rows))
    first = [row for row in rows if str(row.get("filter", "none")) == ways[0]]
    wheres = [f"sample {row.get('doc_id')!r} of {name}" for row in first]
    choices = _choices(first)
    kept = _kept(first)
    samples = [_sample(row, where, choices, kept) for row, where in zip(first, wheres, strict=True)]
    other = f" (filter {ways[0]!r}; not read: {', '.join(map(repr, ways[1:]))})" if len(ways) > 1 else ""
    return Evaluation(f"samples of lm-evaluation-harness{other}", worded(samples, "correct", "incorrect"), choices)


def _sample(row: dict[str, Any], where: str, choices: tuple[str, ...] | None, kept: Sequence[str]) -> Sample:
    document = an_object(row["doc"], f"the document of {where}", _FIX)
    metrics = row.get("metrics")
    names = metrics if isinstance(metrics, list) else []
    scores = None if choices is None else _probabilities(row, where, choices)
    target = a_text(row.get("target"))
    if choices is not None and target is not None and is_count(target) and int(target) < len(choices):
        target = choices[int(target)]
    filtered = row.get("filtered_resps")
    answer = filtered[0] if isinstance(filtered, list) and filtered else None
    raw = row.get("resps")
    first = raw[0] if isinstance(raw, list) and raw else None
    return Sample(
        id=a_name(row["doc_id"], where, _FIX),
        input=_question(document, row),
        answer=a_text(answer) if scores is None else max(scores, key=scores.__getitem__),
        whole=a_text(first[0] if isinstance(first, list) and first else first) if scores is None else None,
        target=target,
        verdicts={str(key): row.get(str(key)) for key in names},
        others={key: document.get(key) for key in kept},
        scores=scores,
    )


def _question(document: dict[str, Any], row: dict[str, Any]) -> str | None:
    """What a person should see: the question in the document, or else the prompt, which may have examples before it."""
    for key, value in document.items():
        if bare(key) in CONTENT and isinstance(value, str) and value:
            return value
    return a_text(_arguments(row)[0][0]) if _arguments(row) else None


def _arguments(row: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Context and continuation of every request about a sample, in their order."""
    requests = row.get("arguments")
    listed = list(requests.values()) if isinstance(requests, dict) else requests if isinstance(requests, list) else []
    pairs = [_pair(request) for request in listed]
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]


def _pair(request: object) -> tuple[Any, ...]:
    """Context and continuation of a request, which is an object or a list; less if it has none."""
    if isinstance(request, dict):
        return request.get("arg_0"), request.get("arg_1")
    return tuple(request)[:2] if isinstance(request, list) else ()


def _choices(rows: Sequence[dict[str, Any]]) -> tuple[str, ...] | None:
    """The classes, if every sample has a likelihood for each of several choices: the texts of these if they are always
    the same, and else their places.
    """
    if not all(_is_choice(row) for row in rows):
        return None
    texts = [[str(continuation).strip() for _, continuation in _arguments(row)] for row in rows]
    most = max(len(row["filtered_resps"]) for row in rows)
    same = len({json.dumps(choices) for choices in texts}) == 1 and len(set(texts[0])) == len(texts[0]) == most
    return tuple(texts[0]) if same and all(texts[0]) else tuple(map(str, range(most)))


def _is_choice(row: dict[str, Any]) -> bool:
    answers = row.get("filtered_resps")
    return (
        isinstance(answers, list)
        and len(answers) > 1
        and all(isinstance(answer, list) and answer for answer in answers)
    )


def _probabilities(row: dict[str, Any], where: str, choices: Sequence[str]) -> Mapping[str, float]:
    """Likelihoods of the choices, divided by their sum: exp(l_k) / Σ exp(l_j). The largest is the harness's answer."""
    try:
        logs = [float(answer[0]) for answer in row["filtered_resps"]]
    except (TypeError, ValueError):
        raise InputError(f"{where} has likelihoods that are not numbers. {_FIX}") from None
    top = max(logs)
    if not math.isfinite(top):
        raise InputError(f"{where} has no choice with a likelihood. {_FIX}")
    weights = [math.exp(log - top) for log in logs]
    if not all(map(math.isfinite, weights)):
        raise InputError(f"{where} has likelihoods that are not numbers. {_FIX}")
    return {choice: weight / sum(weights) for choice, weight in zip(choices, weights, strict=False)}


def _kept(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The columns of the documents that say nothing about the target: a pool never holds labels."""
    documents = [row["doc"] if isinstance(row["doc"], dict) else {} for row in rows]
    keys = dict.fromkeys(key for document in documents for key in document)
    telling = {key for key in keys if bare(key) in TRUTH or "answer" in bare(key) or bare(key) in CONTENT}
    telling |= {
        key
        for key in keys
        if all(str(document.get(key)) == str(row.get("target")) for document, row in zip(documents, rows, strict=True))
    }
    return [key for key in keys if key not in telling]
