"""Options for the question about the classifier: groups, metric, task, and when there are enough labels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_GROUPS = (
    "How items are grouped: predicted, score:BINS (equal width), weight:BINS, column:NAME, column:NAME:BINS "
    "(numbers, dates: 4 bins, or 30/60 or 40/ where they begin), map:FILE, whole; commas cross several.  "
    "[default: predicted, or whole for a question about several models]"
)
_VERDICT = (
    "Column of a judge's verdicts, pass or fail: how many would people pass, and how good is the judge? NAME=WORD says "
    "which verdict passes; further columns after commas are evidence."
)
_PROBABILITY = "Stop when the answer is right with this probability."
_HIGHEST = "Find the M groups with the highest metric."
_LABELS = "Stop at this many labels, including earlier ones of the pool."
_METRICS = "For one class: f1:CLASS, and so on."
_TASKS = "[default: what the other options imply]"
_BY = click.Choice(["neyman", "information", "confidence"])
_PRIORS = "What is assumed before the first label; with a strength: informed:10."
_POLICIES = (
    "items and groups choose at random.  [default: boundary to find groups by their accuracy and neyman for one number "
    "over all items with the learned prior, else thompson]"
)
_ONLY = "With --certify: only this group. Repeatable."
_CERTIFY = 'Does every group reach a line, such as "accuracy >= 0.9"?'
_GUARANTEE = "With --certify, --stop-width or --stop-probability: hold however often you look."
_ROPE = "Differences up to this do not matter.  [default: 0.05, or 0.01 for models]"
_TARGETS = click.Choice(["population", "pool"])
_ABOUT = "Judge the classifier on items like these (population), or on exactly these (pool)."
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_WIDTH = click.FloatRange(0, min_open=True)


class PartOption(click.Option):
    """An option that names a metric, task, policy or prior; its help begins with the registered names.

    Making the list imports every part, which takes half a second. So the help shows the one in `part_names`, unless
    there may be other parts: imported ones, or those of an installed package.
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
    from fewlabels.parts import names_of, registered

    return ", ".join(registered(family)) if family == "task" else names_of(family)


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
        click.option("--highest", type=click.IntRange(1), metavar="M", help=_HIGHEST),
        click.option("--compare", metavar="A,B", help="Compare two of the groups."),
        click.option("--best", is_flag=True, help="Find the best model."),
        click.option("--compare-models", metavar="A,B", help="Is model A better than model B?"),
        click.option("--model", metavar="NAME", help="The model that any other question is about."),
        click.option("--rope", type=float, metavar="X", help=_ROPE),
        click.option("--by", type=_BY, help="How a comparison chooses items.  [default: neyman]"),
        click.option("--certify", metavar="RULE", help=_CERTIFY),
        click.option("--group", "only", multiple=True, metavar="NAME", help=_ONLY),
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
        click.option("--stop-labels", type=click.IntRange(1), metavar="N", help=_LABELS),
        click.option("--stop-probability", type=_SHARE, metavar="P", help=_PROBABILITY),
        click.option("--stop-width", type=_WIDTH, metavar="W", help="Stop when no group's interval is wider."),
        click.option("--stop-overall", type=_WIDTH, metavar="W", help="Stop when the average's interval is no wider."),
    )):  # fmt: skip
        command = option(command)
    return command
