"""The formats of evaluations in JSON: which one a value is in, by keys that no plain table has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewlabels.interop import deepeval, inspect_log, lm_eval, mlflow_records, promptfoo

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.interop.samples import Evaluation
    from fewlabels.io.source import Source

_FORMATS: tuple[tuple[Callable[[object], bool], Callable[[Any, str], Evaluation]], ...] = (
    (inspect_log.is_log, inspect_log.from_json),
    (lm_eval.is_samples, lm_eval.from_json),
    (promptfoo.is_results, promptfoo.from_json),
    (deepeval.is_run, deepeval.from_json),
    (mlflow_records.is_traces, mlflow_records.from_traces),
    (mlflow_records.is_table, mlflow_records.from_table),
)


def from_json(data: Any, name: str) -> Source | None:
    """The source that a JSON value of another program is; None if no format recognises it."""
    for recognises, read in _FORMATS:
        if recognises(data):
            return read(data, name).source(name)
    return mlflow_records.from_split(data, name) if mlflow_records.is_split(data) else None
