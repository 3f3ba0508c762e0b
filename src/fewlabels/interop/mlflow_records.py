"""Traces and tables of MLflow: traces of schema 3 as JSON lines, and tables of evaluations; tried with mlflow 3.17.2.

Traces are written by `trace.to_json()`, one on each line. Tables are what `mlflow.log_table` writes, such as
eval_results_table.json, and the table of results of `mlflow.genai.evaluate`, written as JSON.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fewlabels.errors import InputError
from fewlabels.interop.samples import Evaluation, Sample, worded
from fewlabels.interop.shapes import a_name, a_text, an_object, objects
from fewlabels.io.arrays import from_arrays
from fewlabels.io.finder.names import TRUTH, bare
from fewlabels.io.source import no_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.io.source import Source

_FIX = "Write it again with MLflow."
_SPLIT = ({"columns", "data"}, {"columns", "data", "index"})
_INPUTS = ("inputs", "input", "request", "question", "prompt", "message", "text")
_OUTPUTS = ("outputs", "predictions", "response", "output", "prediction", "answer")
_TARGETS = (*TRUTH, "targets", "expectedresponse", "expectations", "expectedoutput")
_SCORES = ("/value", "/score")


def is_traces(data: object) -> bool:
    """Whether JSON values are traces of MLflow."""
    first = data[0] if isinstance(data, list) and data else None
    info = first.get("info") if isinstance(first, dict) else None
    return isinstance(info, dict) and "trace_id" in info and isinstance(first, dict) and "data" in first


def is_table(data: object) -> bool:
    """Whether a JSON value is a table that MLflow has logged."""
    if isinstance(data, dict):
        return is_split(data) and (_first(data["columns"], _OUTPUTS) is not None or bool(_scorers(data["columns"])))
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and "trace_id" in first and any(key.endswith(_SCORES) for key in first)


def is_split(data: object) -> bool:
    """Whether a JSON value is a table in pandas' split form, as MLflow logs every table."""
    return (
        isinstance(data, dict)
        and data.keys() in _SPLIT
        and isinstance(data["columns"], list)
        and isinstance(data["data"], list)
        and all(isinstance(column, str) for column in data["columns"])
    )


def from_split(data: dict[str, Any], name: str) -> Source:
    """Read a table that is not one of an evaluation: its columns are found as in any other file."""
    rows = _rows(data, name)
    if not rows:
        raise no_rows(name)
    columns = {key: [row[key] for row in rows] for key in data["columns"]}
    return replace(from_arrays(name, columns, strict=True, classes=False), told="table in pandas' split form")


def from_traces(data: Sequence[object], name: str) -> Evaluation:
    """Read traces: the feedback of judges are verdicts, that of people are labels."""
    traces = [an_object(trace, f"trace {number} of {name}", _FIX) for number, trace in enumerate(data, 1)]
    samples = [_trace(trace, f"trace {number} of {name}") for number, trace in enumerate(traces, 1)]
    return Evaluation("traces of MLflow", worded(samples, "yes", "no"))


def _trace(trace: dict[str, Any], where: str) -> Sample:
    info = an_object(trace.get("info"), f"the info of {where}", _FIX)
    given = objects(info.get("assessments") or [], f"the assessments of {where}", _FIX)
    verdicts: dict[str, Any] = {}
    people: dict[str, Any] = {}
    targets = []
    for assessment in given:
        source, called = assessment.get("source"), str(assessment.get("assessment_name"))
        by_person = isinstance(source, dict) and source.get("source_type") == "HUMAN"
        if isinstance(assessment.get("feedback"), dict) and assessment.get("valid") is not False:
            (people if by_person else verdicts)[called] = assessment["feedback"].get("value")
        elif isinstance(assessment.get("expectation"), dict):
            targets.append(assessment["expectation"].get("value"))
    root = _root(trace)
    tags = info.get("tags") if isinstance(info.get("tags"), dict) else {}
    return Sample(
        id=a_name(info.get("trace_id"), where, _FIX),
        input=_said(root.get("mlflow.spanInputs", info.get("request_preview"))),
        answer=_said(root.get("mlflow.spanOutputs", info.get("response_preview"))),
        target=a_text(targets[0]) if len(targets) == 1 else None,
        verdicts=verdicts,
        people={scorer: a_text(value) for scorer, value in people.items()},
        others={"state": info.get("state")} | {k: v for k, v in (tags or {}).items() if not k.startswith("mlflow.")},
    )


def _root(trace: dict[str, Any]) -> dict[str, Any]:
    """The attributes of the first span without a parent; empty if the spans are not there."""
    data = trace.get("data")
    spans = data.get("spans") if isinstance(data, dict) else None
    for span in spans if isinstance(spans, list) else []:
        if isinstance(span, dict) and not span.get("parent_span_id") and isinstance(span.get("attributes"), dict):
            return dict(span["attributes"])
    return {}


def _said(text: object) -> str | None:
    """What a span got or gave, which is JSON in a text; a single value without its name."""
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return a_text(text)
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return a_text(value)


def from_table(data: Any, name: str) -> Evaluation:
    """Read a table of an evaluation: columns of inputs, outputs and targets, and a column for each scorer."""
    rows = _rows(data, name)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    asked, answered, right = (_first(columns, names) for names in (_INPUTS, _OUTPUTS, _TARGETS))
    scorers = _scorers(columns)
    identifier = next((key for key in ("trace_id", "id", "request_id") if key in columns), None)
    used = {asked, answered, right, identifier, *scorers}
    samples = [
        Sample(
            id=str(number) if identifier is None else a_name(row.get(identifier), f"row {number} of {name}", _FIX),
            input=_said(row.get(asked)) if asked else None,
            answer=_said(row.get(answered)) if answered else None,
            target=_said(row.get(right)) if right else None,
            verdicts={scorer: row.get(key) for key, scorer in scorers.items()},
            others={key: value for key, value in row.items() if key not in used},
        )
        for number, row in enumerate(rows, 1)
    ]
    return Evaluation("table of MLflow", worded(samples, "yes", "no"))


def _scorers(columns: Sequence[str]) -> dict[str, str]:
    """The columns of verdicts, with the names of their scorers."""
    return {key: key.removesuffix("/value").removesuffix("/score") for key in columns if key.endswith(_SCORES)}


def _rows(data: Any, name: str) -> list[dict[str, Any]]:
    if isinstance(data, list):
        return objects(data, f"the rows of {name}", _FIX)
    columns = [a_name(column, f"a column of {name}", _FIX) for column in data["columns"]]
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data["data"]):
        raise InputError(f"{name} has rows that are not as long as its list of columns. {_FIX}")
    if len(set(columns)) < len(columns):
        raise InputError(f"{name} has two columns of the same name. {_FIX}")
    return [dict(zip(columns, row, strict=True)) for row in data["data"]]


def _first(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """The column whose name stands first in a list of names."""
    return next((column for name in names for column in columns if bare(column) == name), None)
