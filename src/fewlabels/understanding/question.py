"""The question about the classifier, and when there are enough labels: from options to groups, task and rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fewlabels.understanding import tasks
from fewlabels.understanding.options import OF_MODELS

if TYPE_CHECKING:
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.stopping import Stop
    from fewlabels.tasks import Certify, Task
    from fewlabels.understanding.options import QuestionOptions


def asked_about(options: QuestionOptions, pool: Pool) -> Pool:
    """Return the pool that the question is about: that of the model which --model names, or the whole."""
    from fewlabels.errors import SpecError
    from fewlabels.wording import some_of

    if options.model is not None:
        return pool.of(options.model)
    if pool.models and (options.of_groups or options.task not in (None, *OF_MODELS)):
        what = options.of_groups[0] if options.of_groups else f"--task {options.task}"
        raise SpecError(
            f"{what} is about one model, and there are {len(pool.models):,}: {some_of(pool.models)}. Add --model NAME; "
            "or ask --best or --compare-models A,B. If they are not models, name the column of predicted classes with "
            "--predicted NAME."
        )
    return pool


def verdict_columns(verdict: str | None) -> tuple[list[str], str | None]:
    """The columns that --verdict names, and the verdict that passes if it says so."""
    names, _, word = (verdict or "").partition("=")
    return [name.strip() for name in names.split(",") if name.strip()], word.strip() or None


def pass_rate(verdict: str, pool: Pool) -> str:
    """The name of the metric that says how many items people would pass."""
    from fewlabels.errors import SpecError
    from fewlabels.opposites import passing
    from fewlabels.wording import some_of

    _, word = verdict_columns(verdict)
    if word is None:
        good = passing(pool.choices)
    else:  # in the pool's own spelling, if there is one
        alike = [name for name in pool.choices if name.casefold() == word.casefold()]
        good = alike[0] if len(alike) == 1 else word
    if good is None or good not in pool.choices:
        raise SpecError(
            f"it is not clear which of the verdicts {some_of(pool.choices)} means pass. Say so, as in: --verdict "
            f"{verdict.partition('=')[0]}={pool.choices[-1]}"
        )
    return f"prevalence:{good}"


def question(options: QuestionOptions, pool: Pool, usual: Partition | None = None) -> tuple[Partition, Task]:
    """Return the groups and the task that the options describe, for the pool that the question is about.

    Where the options name no groups, `usual` are meant, and without these the predicted classes.

    >>> import fewlabels as fl
    >>> from fewlabels.understanding.options import QuestionOptions
    >>> pool = fl.read_pool({"predicted": ["cat", "dog", "owl"] * 5})
    >>> question(QuestionOptions(lowest=1), pool)[1]
    Identify(metric=Accuracy(), lowest=1, highest=None)
    """
    from fewlabels.errors import SpecError
    from fewlabels.named import groups_from, metric_from

    if options.verdict is not None:
        passed = pass_rate(options.verdict, pool)
        metric_asked = passed if options.metric == "accuracy" else options.metric
        options = replace(options, metric=metric_asked, groups=options.groups or "whole")
    metric = metric_from(options.metric, pool)
    if pool.models or options.of_models:
        task = tasks.task_of_models(options, metric, pool)
        return groups_from(options.groups or "whole", pool), task
    groups = usual if usual is not None and options.groups is None else groups_from(options.groups or "predicted", pool)
    certify = _certify(replace(options, only=tuple(groups.called(name) or name for name in options.only)), pool)
    if certify is not None or options.task == "certify":
        return groups, tasks.certified(options, certify)
    task = tasks.task_from(options, metric, groups, pool)
    if options.guarantee and options.stop_width is None and options.stop_probability is None:
        raise SpecError("--guarantee is about --certify, --stop-width or --stop-probability. Add one, or leave it out.")
    return groups, task


def _certify(options: QuestionOptions, pool: Pool) -> Certify | None:
    """The task that --certify describes; None without it."""
    from fewlabels.errors import SpecError
    from fewlabels.gate import certify_from

    if options.certify is None:
        if options.only or options.sure is not None:
            raise SpecError("--group and --sure are about --certify. Add it, or leave them out.")
        return None
    if options.metric != "accuracy":
        raise SpecError('--certify names the metric itself, as in "recall:spam >= 0.8". Leave out --metric.')
    sure = 0.95 if options.sure is None else options.sure
    return certify_from(options.certify, pool, only=options.only, sure=sure, guarantee=options.guarantee)


def stop_rule(options: QuestionOptions) -> Stop:
    """Return the stopping rules that the options describe."""
    from fewlabels.stopping import Stop

    promised = options.stop_width is not None or options.stop_probability is not None
    return Stop(
        options.stop_labels,
        options.stop_probability,
        options.stop_width,
        options.stop_overall,
        guarantee=options.guarantee if promised else None,
    )
