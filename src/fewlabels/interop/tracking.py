"""Results to MLflow and Weights & Biases: the numbers with their intervals, the answer, and the report.

Tried with mlflow 3.17.2 and wandb 0.31.0. Where the run goes (server, project, run) is what these libraries are told,
by their own settings such as MLFLOW_TRACKING_URI or WANDB_PROJECT.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fewlabels.errors import Argument, InputError, needs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.table import Table

_MOST = 50  # groups with numbers of their own; all are in the table
_UNTAKEN = re.compile(r"[^\w./ -]")  # MLflow refuses other characters in names


@dataclass(frozen=True)
class Results:
    """What an assessment shows now, as trackers of experiments want it.

    Parameters
    ----------
    name
        The assessment, which is the first part of every name.
    numbers
        The numbers by name, such as "worst/accuracy/cat/low". A number that the labels do not support is not there.
    settings
        What the assessment is, by name; it never changes.
    words
        The question, the answer and the caveats.
    estimates
        The table of all groups.
    report
        The report as one HTML page.
    """

    name: str
    numbers: Mapping[str, float]
    settings: Mapping[str, str]
    words: Mapping[str, str]
    estimates: Table
    report: str


def results(audit: Assessment, *, level: float = 0.95) -> Results:
    """Collect the results of an assessment.

    >>> import fewlabels as fl
    >>> audit = fl.create(None, "pets", fl.read_pool({"id": list("abcd"), "predicted": ["cat", "dog"] * 2}))
    >>> _ = audit.tell({"a": "cat", "b": "cat", "c": "cat"}, adopt=True)
    >>> [name for name in results(audit).numbers if name.startswith("pets/accuracy/cat")]
    ['pets/accuracy/cat/mean', 'pets/accuracy/cat/low', 'pets/accuracy/cat/high', 'pets/accuracy/cat/labels']
    """
    from fewlabels.findings.finding import find
    from fewlabels.report.content import read

    audit = audit.snapshot()  # numbers and report are about the same labels
    finding, spec = find(audit, level), audit.spec
    metric = spec.task.metric
    measure, vector = type(metric).__name__.casefold(), metric.vector
    numbers: dict[str, float] = {"labels": finding.labels.labelled, "items": finding.items}
    if finding.labels.labelled and finding.answer.probability is not None:
        numbers["answer/probability"] = finding.answer.probability
    if finding.overall.enough and not spec.task.of_models:
        numbers |= {f"overall/{end}": getattr(finding.overall, end) for end in ("mean", "low", "high")}
    shown = [row for row in finding.estimates.rows() if row["labelled"] and row["mean"] is not None]
    if len(shown) <= _MOST and not vector:
        for row, group in zip(shown, _apart([row["group"] for row in shown]), strict=True):
            ends = {"mean": row["mean"], "low": row["low"], "high": row["high"], "labels": row["labelled"]}
            numbers |= {f"{measure}/{group}/{end}": value for end, value in ends.items()}
    settings = {
        "task": repr(spec.task),
        "prior": repr(spec.prior),
        "policy": repr(spec.policy),
        "target": spec.target,
        "level": f"{level:g}",
        "pool": audit.whole.fingerprint,
    }
    words = {"question": finding.question, "answer": finding.headline, "caveats": " ".join(finding.doubts)}
    return Results(
        name=audit.name,
        numbers={_UNTAKEN.sub("_", f"{audit.name}/{name}"): float(value) for name, value in numbers.items()},
        settings={_UNTAKEN.sub("_", f"{audit.name}/{name}"): value for name, value in settings.items()},
        words={_UNTAKEN.sub("_", f"{audit.name}/{name}"): text for name, text in words.items() if text},
        estimates=finding.estimates,
        report=read(audit, level=level).html(),
    )


def _apart(names: Sequence[str]) -> list[str]:
    """Names as trackers take them; those that would be the same get a number.

    >>> _apart(["a:b", "cat", "a?b"])
    ['a_b', 'cat', 'a_b 2']
    """
    plain = [_UNTAKEN.sub("_", name) for name in names]
    return [name if name not in plain[:k] else f"{name} {plain[:k].count(name) + 1}" for k, name in enumerate(plain)]


def log_results(audit: Assessment, to: str, *, level: float = 0.95) -> str:
    """Log what an assessment shows now to a tracker of experiments; returns the id of its run.

    The numbers are logged at the step of the number of labels, so that logging again after more labels makes a curve.
    The active run is used, or else one is made and ended.

    Parameters
    ----------
    audit
        The assessment.
    to
        "mlflow" or "wandb", which must be installed: the extra of the same name.
    level
        The probability of each interval.

    Examples
    --------
    >>> import fewlabels as fl
    >>> audit = fl.create(None, "pets", fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"]))
    >>> fl.log_results(audit, to="mlflow")  # doctest: +SKIP
    '0a4eb3a3c4c14ac4b3b8bc28d6f1a1c0'
    """
    if to not in TRACKERS:
        raise InputError(Argument("to"), f" must be one of {', '.join(TRACKERS)}. Got {to!r} instead.")
    library = _library(to)
    return TRACKERS[to](library, results(audit, level=level))


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(needs(f"logging to {name}", f"the package {name}", name)) from error


def _to_mlflow(mlflow: Any, results: Results) -> str:
    """Metrics, parameters and tags of a run, with the table and the report as artifacts."""
    active = mlflow.active_run()
    run = active or mlflow.start_run(run_name=f"fewlabels {results.name}")
    try:
        labels = int(next(iter(results.numbers.values())))
        mlflow.log_metrics(dict(results.numbers), step=labels)
        mlflow.log_params({name: value[:6000] for name, value in results.settings.items()})  # MLflow's own limit
        mlflow.set_tags(dict(results.words))
        folder = _UNTAKEN.sub("_", results.name)
        mlflow.log_dict(
            {
                "columns": list(results.estimates.columns),
                "data": [list(row.values()) for row in results.estimates.rows()],
            },
            f"{folder}/estimates.json",
        )
        mlflow.log_text(results.report, f"{folder}/report.html")
    finally:
        if active is None:
            mlflow.end_run()
    return str(run.info.run_id)


def _to_wandb(wandb: Any, results: Results) -> str:
    """Numbers in the history of a run, the rest in its configuration and summary."""
    active = wandb.run
    run = active or wandb.init(name=f"fewlabels {results.name}", job_type="evaluation")
    try:
        run.config.update(dict(results.settings), allow_val_change=True)
        table = wandb.Table(
            columns=list(results.estimates.columns), data=[list(row.values()) for row in results.estimates.rows()]
        )
        run.log({
            **results.numbers,
            f"{results.name}/estimates": table,
            f"{results.name}/report": wandb.Html(results.report, inject=False),
        })  # fmt: skip
        run.summary.update(dict(results.words))
    finally:
        if active is None:
            run.finish()
    return str(run.id)


TRACKERS: dict[str, Callable[[Any, Results], str]] = {"mlflow": _to_mlflow, "wandb": _to_wandb}
"""How to log to each tracker, by its name and that of its library."""
