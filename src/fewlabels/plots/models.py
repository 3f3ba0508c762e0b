"""Models: how often each model is right, with its interval, and the probability that it is the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.plots.drawing.picture import Key, Picture, scale
from fewlabels.plots.drawing.row_panel import Entry, rows_panel
from fewlabels.plots.plot import Plot
from fewlabels.tasks import Best
from fewlabels.tasks.best_words import is_likely
from fewlabels.wording import Style, chosen, counted, listed, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading

_NAMED = 3  # groups whose best model a heading names


@dataclass(frozen=True)
class ModelRow:
    """One model in one group: its share right with an interval, P(best), and how far it is behind the leader.

    `behind` is the difference to the model with the highest mean, with its interval.
    """

    name: str
    mean: float
    low: float
    high: float
    chance: float
    behind: float
    behind_low: float
    behind_high: float
    right: int
    labelled: int


@dataclass(frozen=True)
class Models(Plot):
    """The models as rows, the most probable best first.

    Parameters
    ----------
    level
        The probability of each interval.
    rows
        A row for each model, group by group.
    named
        The rows that the answer names as best.
    """

    name: ClassVar[str] = "models"
    title: ClassVar[str] = "Models with intervals"
    of_models: ClassVar[bool] = True

    level: float
    rows: tuple[ModelRow, ...]
    named: tuple[str, ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: there are no items."""
        return "" if len(audit.pool) else "the pool has no items"

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the estimates and the joint draws."""
        estimates, ranked = reading.estimates, reading.ranked or _ranked(reading)
        models = len(reading.audit.pool.models)
        rows: list[ModelRow] = []
        named = []
        for first in range(0, len(estimates["group"]), models):
            here = []
            for at in range(first, first + models):
                name = estimates["group"][at]
                own = {column: estimates[column][at] for column in ("mean", "low", "high", "labelled")}
                more = {column: ranked[name][column] for column in ("chance", "behind", "behind_low", "behind_high")}
                right = 0 if reading.right is None else reading.right[name]
                here.append(ModelRow(name=name, right=right, **own, **more))
            named.append(next(name for name in ranked if name in {row.name for row in here}))
            rows += sorted(here, key=lambda row: (row.name != named[-1], -row.chance, -row.mean))
        return cls(reading.level, tuple(rows), tuple(named))

    def caption(self) -> str:
        """Explain how to read the plot."""
        most = max(row.chance for row in self.rows)
        rather = len(self.named) == 1 and probability(most) != probability(self.rows[0].chance)
        return (
            f"Each line is the {chosen(self.level)} range of how often a model is right; the dot is the best guess. "
            "Beside it is the probability that no other model is better. It is at most what the first model's record "
            "against each rival allows, so these can add up to less than 100%. "
            + (
                "The first is expected to be right most often, though another is more probably the best. "
                if rather
                else ""
            )
            + "Point at a row, or touch it, to see how far it is behind the first. Models whose lines overlap can "
            "still be ranked: where they agree, they share the same uncertainty."
        )

    def finding(self) -> str:
        """The model that is best so far, and how probable that is; of several groups, those where one is probable."""
        if len(self.named) > 1:
            return self._of_groups()
        first = self.rows[0]
        name, sure = shortened(first.name, 40), probability(first.chance)
        if not is_likely(first.chance):
            return f"It is too early to name the best model; the best guess is {name}, with a probability of {sure}"
        return f"{name} is the best so far, with a probability of {sure}"

    def _of_groups(self) -> str:
        likely = [row for row in self.rows if row.name in self.named and is_likely(row.chance)]
        if not likely:
            return f"It is too early to name the best model in any of the {len(self.named):,} groups"
        each = [f"{shortened(row.name, 40)} ({probability(row.chance)})" for row in likely[:_NAMED]]
        each += [f"{len(likely) - _NAMED:,} more"] if len(likely) > _NAMED else []
        rest = len(self.named) - len(likely)
        return f"Best so far: {listed(each)}" + (f"; too early to say in {counted(rest, 'group')}" if rest else "")

    def picture(self) -> Picture:
        """Draw a row for each model."""
        x = scale(
            min(row.low for row in self.rows), max(row.high for row in self.rows), share=True, label="share right"
        )
        keys = (
            Key("the best so far", "accent"),
            Key("other models"),
            Key("at the edge: chance to be best", "ink", "none"),
        )
        return Picture((rows_panel([self._entry(row) for row in self.rows], x, keys=keys),))

    def _entry(self, row: ModelRow) -> Entry:
        style, first = Style(share=True), row.name in self.named
        sure = probability(row.chance)
        by = style.moved(row.behind, row.behind_low, row.behind_high).removeprefix("+")
        behind = "" if first else f", behind by {by}"
        tip = (
            f"{shortened(row.name)}: right {style.spread(row.mean, row.low, row.high)}; "
            f"best: {sure}{behind}; {row.right:,} of {counted(row.labelled, 'label')} right"
        )
        return Entry(row.name, row.mean, row.low, row.high, tip, "accent" if first else "main", aside=sure)


def _ranked(reading: Reading) -> Mapping[str, Mapping[str, Any]]:
    """What the labels of another question about the models say about the best of them."""
    audit = reading.audit
    answer = audit.answer(Best(audit.spec.task.metric), audit.groups, level=reading.level, draws=reading.draws)
    return {row["group"]: row for row in answer.table.rows()}
