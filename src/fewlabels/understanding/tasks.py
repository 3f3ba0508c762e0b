"""The task that the options of a question describe."""

from __future__ import annotations

import difflib
import shlex
from typing import TYPE_CHECKING

from fewlabels.errors import SpecError
from fewlabels.parts import registered
from fewlabels.tasks import Certify, Compare, Estimate, Identify, Task
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.understanding.options import QuestionOptions


def task_from(options: QuestionOptions, metric: Metric, partition: Partition, pool: Pool | None = None) -> Task:
    """Return the task that the options describe; `--task` may be left out if the others imply it."""
    kind = _kind(options)
    if kind == "identify":
        lowest, highest = options.lowest, options.highest
        if lowest is None and highest is None:
            raise SpecError("--task identify needs --lowest M or --highest M, the number of groups to find.")
        _some_are_left(lowest or highest or 0, "--lowest" if lowest else "--highest", partition)
        return Identify(metric, lowest, highest)
    if kind == "estimate":
        return Estimate(metric)
    if kind != "compare":
        return _other_task(kind, metric)
    if options.compare is None:
        raise SpecError("--task compare needs --compare A,B: the names of two groups.")
    a, b = _pair(options.compare, partition, pool)
    return Compare(metric, a, b, 0.05 if options.rope is None else options.rope, options.by or "neyman")


def _kind(options: QuestionOptions) -> str:
    """The name of the task; SpecError if two options do not go together."""
    lowest, compare = options.lowest is not None, options.compare is not None
    ranked = lowest or options.highest is not None
    if lowest and options.highest is not None:
        raise SpecError("--lowest does not go with --highest. Leave out one.")
    if ranked and compare:
        raise SpecError(f"--compare does not go with {'--lowest' if lowest else '--highest'}. Leave out one.")
    kind = options.task or ("compare" if compare else "identify" if ranked else "estimate")
    if (ranked and kind != "identify") or (compare and kind != "compare"):
        given = "--compare" if compare else "--lowest" if lowest else "--highest"
        raise SpecError(f"{given} does not go with --task {kind}. Leave out one of them.")
    if kind != "compare" and (options.rope is not None or options.by is not None):
        raise SpecError(f"--rope and --by are only for comparing. With --task {kind}, leave them out.")
    return kind


def task_of_models(options: QuestionOptions, metric: Metric, pool: Pool) -> Task:
    """Return the task about several models that the options describe: which is best, or is one better than another."""
    pair = options.compare_models
    if len(pool.models) < 2:
        raise SpecError(
            f"{'--best' if options.best else '--compare-models'} needs a pool of several models: give a file for each, "
            "as in old.csv new.csv, or name the columns of one file with --models a,b; and leave out --model."
        )
    if options.best and pair is not None:
        raise SpecError("--best does not go with --compare-models. Leave out one.")
    kind = options.task or ("best" if pair is None else "compare-models")
    if (kind == "best") != (pair is None):
        raise SpecError(
            "--task compare-models needs --compare-models A,B: the names of two models; --task best does not."
        )
    if options.by is not None:
        raise SpecError("--by is about comparing groups. Leave it out.")
    known = registered("task")
    if pair is not None:
        settings = {} if options.rope is None else {"rope": options.rope}
        return known["compare-models"](metric, *_two_models(pair, pool), **settings)
    if options.rope is not None:
        raise SpecError("--rope is only for comparing. With --best, leave it out.")
    return known["best"](metric)


def _two_models(text: str, pool: Pool) -> tuple[str, str]:
    """Split a text into the names of two models, ignoring case; names may contain commas."""
    known = f"The models are {some_of(pool.models)}."
    pairs = _pairs(text)
    pair = _found(pairs, lambda name: _called(name, pool.models))
    if pair is None and len(pairs) != 1:
        raise SpecError(f"--compare-models {text!r} does not name two models, separated by a comma, as in A,B. {known}")
    if pair is None:
        unknown = next(name for name in pairs[0] if _called(name, pool.models) is None)
        near = difflib.get_close_matches(unknown, pool.models, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise SpecError(f"--compare-models {text}: there is no model {unknown!r}. {hint}{known}")
    a, b = pair
    if a == b:
        raise SpecError(f"--compare-models {text} names one model twice. Name two. {known}")
    return a, b


def certified(options: QuestionOptions, certify: Certify | None) -> Certify:
    """The task of --certify; an error if it is missing, or another option names another task."""
    if certify is None:
        raise SpecError('--task certify needs a line, as in --certify "accuracy >= 0.9".')
    names = ("lowest", "highest", "compare", "rope", "by")
    others = [f"--{name}" for name in names if getattr(options, name) is not None]
    if others or options.task not in (None, "certify"):
        raise SpecError(
            f"--certify does not go with {others[0] if others else f'--task {options.task}'}. Leave out one."
        )
    return certify


def _other_task(kind: str, metric: Metric) -> Task:
    """Build a task that somebody else has registered, from a metric alone."""
    known = registered("task")
    if kind not in known:
        raise SpecError(f"--task {kind!r} is not known. Use one of {', '.join(known)}.")
    try:
        return known[kind](metric)
    except TypeError:
        raise SpecError(
            f"--task {kind} needs more settings than the command line can give. "
            f"Create the assessment in Python, with {known[kind].__name__}(...)."
        ) from None


def _some_are_left(wanted: int, option: str, partition: Partition) -> None:
    """Raise an error if the task looks for all groups that have items."""
    count = int((partition.sizes > 0).sum())
    if wanted >= count > 1:
        raise SpecError(
            f"{option} {wanted} of {count} groups is all of them. Use {option} {count - 1} or less, as in {option} 1; "
            "or leave it out, to see each group with its interval."
        )


def _pair(text: str, partition: Partition, pool: Pool | None) -> tuple[str, str]:
    """Split a text into the names of two groups, typed as `Partition.called` reads them; names may contain commas."""
    pairs = _pairs(text)
    if (pair := _found(pairs, partition.called)) is not None:
        return pair
    known = f"The groups are {some_of(partition.names)}."
    if len(pairs) != 1:
        raise SpecError(f"--compare {text!r} does not name two groups, separated by a comma, as in A,B. {known}")
    unknown = next(name for name in pairs[0] if partition.called(name) is None)
    near = difflib.get_close_matches(unknown, partition.names, 1)
    hint = ("" if pool is None else _elsewhere(pairs[0], pool)) or (f"Did you mean {near[0]!r}? " if near else "")
    raise SpecError(f"--compare {text}: there is no group {unknown!r}. {hint}{known}")


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return every way to cut a text at one of its commas.

    >>> _pairs("a,b"), _pairs("a, new,b")
    ([('a', 'b')], [('a', 'new,b'), ('a, new', 'b')])
    """
    parts = text.split(",")
    return [(",".join(parts[:i]).strip(), ",".join(parts[i:]).strip()) for i in range(1, len(parts))]


def _found(pairs: list[tuple[str, str]], called: Callable[[str], str | None]) -> tuple[str, str] | None:
    """Return the names that are meant by the first pair of which both mean something; None if there is none."""
    for first, second in pairs:
        a, b = called(first), called(second)
        if a is not None and b is not None:
            return a, b
    return None


def _called(name: str, names: Sequence[str]) -> str | None:
    """Return the name that is meant, ignoring case; None if there is no such name, or more than one."""
    alike = [name] if name in names else [other for other in names if other.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _elsewhere(wanted: Sequence[str], pool: Pool) -> str:
    """Say which groups would have these names, for a message; empty if none would."""
    ways: dict[str, tuple[str, Sequence[object]]] = {"predicted": ("classes", pool.classes)}
    if pool.columns is not None:
        for name in pool.columns.column_names:
            ways[f"column:{name}"] = (f"values of the column {name!r}", pool.column(name).to_pylist())
    for groups, (what, values) in ways.items():
        if {name.casefold() for name in wanted} <= {str(value).casefold() for value in values}:
            return f"These are {what}: add --groups {shlex.quote(groups)}. "
    return ""
