"""The question about the classifier, and when there are enough labels: from options to groups, task and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewlabels.understanding import tasks

if TYPE_CHECKING:
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.stopping import Stop
    from fewlabels.tasks import Certify, Task

OF_MODELS = ("best", "compare-models")  # the tasks about several models, by their names


def asked_about(options: dict[str, Any], pool: Pool) -> Pool:
    """Return the pool that the question is about: that of the model which --model names, or the whole."""
    from fewlabels.errors import SpecError
    from fewlabels.io.source import listed

    if options["model"] is not None:
        return pool.of(options["model"])
    others = [name for name in ("lowest", "highest", "compare", "certify") if options[name] is not None]
    if pool.models and (others or options["task"] not in (None, *OF_MODELS)):
        raise SpecError(
            f"{f'--{others[0]}' if others else '--task ' + options['task']} is about one model, and there are "
            f"{len(pool.models):,}: {listed(pool.models)}. Add --model NAME; or ask --best or --compare-models A,B."
        )
    return pool


def verdict_columns(verdict: str | None) -> tuple[list[str], str | None]:
    """The columns that --verdict names, and the verdict that passes if it says so."""
    names, _, word = (verdict or "").partition("=")
    return [name.strip() for name in names.split(",") if name.strip()], word.strip() or None


def pass_rate(verdict: str, pool: Pool) -> str:
    """The name of the metric that says how many items people would pass."""
    from fewlabels.errors import SpecError
    from fewlabels.io.source import listed
    from fewlabels.opposites import passing

    _, word = verdict_columns(verdict)
    good = passing(pool.choices) if word is None else word
    if good is None or good not in pool.choices:
        raise SpecError(
            f"it is not clear which of the verdicts {listed(pool.choices)} means pass. Say so, as in: --verdict "
            f"{verdict.partition('=')[0]}={pool.choices[-1]}"
        )
    return f"prevalence:{good}"


def question(options: dict[str, Any], pool: Pool) -> tuple[Partition, Task]:
    """Return the groups and the task that the options describe, for the pool that the question is about."""
    from fewlabels.errors import SpecError
    from fewlabels.named import groups_from, metric_from

    if options["verdict"] is not None:
        passed = pass_rate(options["verdict"], pool)
        metric_asked = passed if options["metric"] == "accuracy" else options["metric"]
        options = options | {"metric": metric_asked, "groups": options["groups"] or "whole"}
    metric = metric_from(options["metric"], pool)
    if pool.models or options["best"] or options["compare_models"] is not None or options["task"] in OF_MODELS:
        task = tasks.task_of_models(options, metric, pool)
        return groups_from(options["groups"] or "whole", pool), task
    groups = groups_from(options["groups"] or "predicted", pool)
    chosen = {name: options[name] for name in ("lowest", "highest", "compare", "rope", "by")}
    certify = _certify(options, pool)
    if certify is not None or options["task"] == "certify":
        others = [f"--{name}" for name, value in chosen.items() if value is not None]
        return groups, tasks.certified(options["task"], certify, others)
    task = tasks.task_from(options["task"], metric, groups, **chosen, pool=pool)
    stops = any(options.get(f"stop_{name}") is not None for name in ("width", "probability"))
    if options["guarantee"] and not stops:
        raise SpecError("--guarantee is about --certify, --stop-width or --stop-probability. Add one, or leave it out.")
    return groups, task


def _certify(options: dict[str, Any], pool: Pool) -> Certify | None:
    """The task that --certify describes; None without it."""
    from fewlabels.errors import SpecError
    from fewlabels.gate import certify_from

    if options["certify"] is None:
        if options["only"] or options["sure"] is not None:
            raise SpecError("--group and --sure are about --certify. Add it, or leave them out.")
        return None
    if options["metric"] != "accuracy":
        raise SpecError('--certify names the metric itself, as in "recall:spam >= 0.8". Leave out --metric.')
    sure = 0.95 if options["sure"] is None else options["sure"]
    return certify_from(options["certify"], pool, only=options["only"], sure=sure, guarantee=options["guarantee"])


def stop_rule(options: dict[str, Any]) -> Stop:
    """Return the stopping rules that the options describe."""
    from fewlabels.stopping import Stop

    rules = {name: options[f"stop_{name}"] for name in ("labels", "probability", "width", "overall")}
    promised = rules["width"] is not None or rules["probability"] is not None
    return Stop(**rules, guarantee=options["guarantee"] if promised else None)
