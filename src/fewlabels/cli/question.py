"""Options for the question about the classifier: groups, metric, task, and when there are enough labels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.stopping import Stop
    from fewlabels.tasks import Certify, Task

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_GROUPS = (
    "predicted, score:BINS (equal width), weight:BINS, column:NAME, map:FILE, whole; commas cross several.  "
    "[default: predicted, or whole for a question about several models]"
)
_VERDICT = (
    "Column of a judge's verdicts, pass or fail: how many would people pass, and how good is the judge? NAME=WORD says "
    "which verdict passes; further columns after commas are evidence."
)
_METRICS = "For one class: f1:CLASS, and so on."
_TASKS = "[default: what the other options imply]"
_BY = click.Choice(["neyman", "information", "confidence"])
_PRIORS = "With a strength: informed:10."
_POLICIES = (
    "items and groups choose at random.  [default: boundary to find groups by their accuracy with the learned prior, "
    "else thompson]"
)
_CERTIFY = 'Does every group reach a line, such as "accuracy >= 0.9"?'
_GUARANTEE = "With --certify, --stop-width or --stop-probability: hold however often you look."
_ROPE = "Differences up to this do not matter.  [default: 0.05, or 0.01 for models]"
_TARGETS = click.Choice(["population", "pool"])
_ABOUT = "The classifier on items like these, or on exactly these."
_OF_MODELS = ("best", "compare-models")  # the tasks about several models, by their names
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


class PartOption(click.Option):
    """An option that names a metric, task, policy or prior; its help begins with the registered names.

    Making the list imports every part, which takes half a second. So the help shows the one in `part_names`, unless
    there may be parts of somebody else's: imported ones, or those of an installed package.
    """

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option, and its help with the names before it."""
        from fewlabels.cli.part_names import NAMES

        names = living(self.name) if _may_be_others() else NAMES[str(self.name)]
        record = super().get_help_record(ctx)
        return None if record is None else (record[0], f"{names}. {record[1]}")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a part."""
        from click.shell_completion import CompletionItem

        from fewlabels.parts import registered

        family: Any = self.name
        return [CompletionItem(name) for name in registered(family) if name.startswith(incomplete)]


def living(family: Any) -> str:
    """List the parts of a family that are registered now."""
    from fewlabels.parts import listed, registered

    return ", ".join(registered(family)) if family == "task" else listed(family)


def _may_be_others() -> bool:
    from importlib.metadata import entry_points

    return "fewlabels.parts" in sys.modules or bool(entry_points(group="fewlabels.parts"))


def question_options(command: Decorated) -> Decorated:
    """Add the options --groups, --task, --metric, --lowest, --highest, --compare, --rope, --by, --certify and so on."""
    for option in reversed((
        click.option("--groups", metavar="HOW", help=_GROUPS),
        click.option("--task", cls=PartOption, metavar="NAME", help=_TASKS),
        click.option("--metric", cls=PartOption, default="accuracy", metavar="NAME", show_default=True, help=_METRICS),
        click.option("--verdict", metavar="NAME", help=_VERDICT),
        click.option("--lowest", type=click.IntRange(1), metavar="M", help="Find the M groups with the lowest metric."),
        click.option("--highest", type=click.IntRange(1), metavar="M", help="Find the M groups with the highest."),
        click.option("--compare", metavar="A,B", help="Compare two groups."),
        click.option("--best", is_flag=True, help="Of several models: find the best."),
        click.option("--compare-models", metavar="A,B", help="Of several models: is A better than B?"),
        click.option("--model", metavar="NAME", help="Of several models: the one that any other question is about."),
        click.option("--rope", type=float, metavar="X", help=_ROPE),
        click.option("--by", type=_BY, help="How a comparison chooses items.  [default: neyman]"),
        click.option("--certify", metavar="RULE", help=_CERTIFY),
        click.option("--group", "only", multiple=True, metavar="NAME", help="With --certify: only this group; again."),
        click.option("--sure", type=_SHARE, metavar="P", help="With --certify: how sure to be.  [default: 0.95]"),
        click.option("--guarantee", type=click.Choice(["anytime"]), help=_GUARANTEE),
    )):  # fmt: skip
        command = option(command)
    return command


def method_options(command: Decorated) -> Decorated:
    """Add the options --prior, --policy and --target."""
    for option in reversed((
        click.option("--prior", cls=PartOption, default="learned", metavar="NAME", show_default=True, help=_PRIORS),
        click.option("--policy", cls=PartOption, metavar="NAME", help=_POLICIES),
        click.option("--target", type=_TARGETS, default="population", show_default=True, help=_ABOUT),
    )):  # fmt: skip
        command = option(command)
    return command


def stop_options(command: Decorated) -> Decorated:
    """Add the options --stop-labels, --stop-probability, --stop-width and --stop-overall."""
    for option in reversed((
        click.option("--stop-labels", type=click.IntRange(1), metavar="N", help="Enough: this many labels."),
        click.option("--stop-probability", type=_SHARE, metavar="P", help="Enough: the answer is this probable."),
        click.option("--stop-width", type=float, metavar="W", help="Enough: no group's interval is wider."),
        click.option("--stop-overall", type=float, metavar="W", help="Enough: the average's interval is no wider."),
    )):  # fmt: skip
        command = option(command)
    return command


def asked_about(options: dict[str, Any], pool: Pool) -> Pool:
    """Return the pool that the question is about: that of the model which --model names, or the whole."""
    from fewlabels.errors import SpecError
    from fewlabels.io.source import listed

    if options["model"] is not None:
        return pool.of(options["model"])
    others = [name for name in ("lowest", "highest", "compare", "certify") if options[name] is not None]
    if pool.models and (others or options["task"] not in (None, *_OF_MODELS)):
        raise SpecError(
            f"{f'--{others[0]}' if others else '--task ' + options['task']} is about one model, and there are "
            f"{len(pool.models):,}: {listed(pool.models)}. Add --model NAME; or ask --best or --compare-models A,B."
        )
    return pool


def verdict_columns(options: dict[str, Any]) -> tuple[list[str], str | None]:
    """The columns that --verdict names, and the verdict that passes if it says so."""
    names, _, word = (options.get("verdict") or "").partition("=")
    return [name.strip() for name in names.split(",") if name.strip()], word.strip() or None


def about_verdicts(options: dict[str, Any], pool: Pool) -> dict[str, Any]:
    """The metric and the groups of a question about verdicts, where the options do not name others."""
    from fewlabels.errors import SpecError
    from fewlabels.io.source import listed
    from fewlabels.opposites import passing

    _, word = verdict_columns(options)
    good = passing(pool.choices) if word is None else word
    if good is None or good not in pool.choices:
        raise SpecError(
            f"it is not clear which of the verdicts {listed(pool.choices)} means pass. Say so, as in: --verdict "
            f"{(options['verdict'] or '').partition('=')[0]}={pool.choices[-1]}"
        )
    metric = f"prevalence:{good}" if options["metric"] == "accuracy" else options["metric"]
    return {"metric": metric, "groups": options["groups"] or "whole"}


def question(options: dict[str, Any], pool: Pool) -> tuple[Partition, Task]:
    """Return the groups and the task that the options describe, for the pool that the question is about."""
    from fewlabels.cli import parsing
    from fewlabels.errors import SpecError
    from fewlabels.named import groups_from, metric_from

    if options["verdict"] is not None:
        options = options | about_verdicts(options, pool)
    metric = metric_from(options["metric"], pool)
    if pool.models or options["best"] or options["compare_models"] is not None or options["task"] in _OF_MODELS:
        task = parsing.task_of_models(options, metric, pool)
        return groups_from(options["groups"] or "whole", pool), task
    groups = groups_from(options["groups"] or "predicted", pool)
    chosen = {name: options[name] for name in ("lowest", "highest", "compare", "rope", "by")}
    certify = _certify(options, pool)
    if certify is not None or options["task"] == "certify":
        others = [f"--{name}" for name, value in chosen.items() if value is not None]
        return groups, parsing.certified(options["task"], certify, others)
    task = parsing.task_from(options["task"], metric, groups, **chosen, pool=pool)
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
