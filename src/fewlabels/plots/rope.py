"""Rope: the difference between two groups, against the region of practical equivalence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.plots.drawing.densities import curve_panel, density
from fewlabels.plots.drawing.picture import Box, Key, Line, Picture, in_points
from fewlabels.plots.plot import Plot
from fewlabels.tasks.compare import REGIONS
from fewlabels.wording import Style, chosen, probability, shortened

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.measures import Measure
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.picture import Mark

LONG = 40
"""The most letters of a label below an axis: on a phone, more would be cut within the names, which the heading has."""


@dataclass(frozen=True)
class Rope(Plot):
    """The density of Δ = θ_a − θ_b, and the probabilities that it is below, inside and above the rope.

    Parameters
    ----------
    measure
        The metric.
    a, b
        The two groups.
    rope
        ε, half the width of the region.
    level
        The probability of the interval.
    less, equal, more
        μ: P(Δ < −ε), P(|Δ| ≤ ε), P(Δ > ε).
    mean, low, high
        Δ and its interval.
    density
        Points (Δ, density); none if the difference is known exactly.
    """

    name: ClassVar[str] = "rope"
    title: ClassVar[str] = "Difference between the two groups"

    measure: Measure
    a: str
    b: str
    rope: float
    level: float
    less: float
    equal: float
    more: float
    mean: float
    low: float
    high: float
    density: tuple[tuple[float, float], ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: the answer is not a difference between two groups."""
        if audit.spec.task.main_plot != cls.name:
            return "it does not compare two groups"
        known = audit.spec.task.metric.marginal or audit.answer().table["mean"][0] is not None
        return "" if known else "one of the two groups has no number"

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the answer, and the density of the difference from the draws."""
        assert reading.pair is not None
        row = next(reading.answer.table.rows())
        rope = reading.answer.settings["rope"]
        a, b = (reading.audit.groups.position(name) for name in reading.pair)
        difference = reading.values[:, a] - reading.values[:, b]
        points = density(difference[~np.isnan(difference)])
        numbers = {name: row[name] for name in (*REGIONS, "mean", "low", "high")}
        return cls(reading.measure, *reading.pair, rope, reading.level, **numbers, density=points)

    def caption(self) -> str:
        """Explain how to read the plot."""
        a, b, name = shortened(self.a, 60), shortened(self.b, 60), self.measure.name
        return (
            f"How probable each difference is: {name} of {a} minus that of {b}. Differences within the grey band do "
            f"not matter in practice. The difference is below the band with probability {probability(self.less)}, "
            f"inside it with {probability(self.equal)}, and above it with {probability(self.more)}."
        )

    def finding(self) -> str:
        """The difference with its interval."""
        style = Style(self.measure.share)
        by = style.moved(self.mean, self.low, self.high)
        name = f"{self.measure.name[0].upper()}{self.measure.name[1:]}"
        return f"{name} of {shortened(self.a, 40)} minus {shortened(self.b, 40)}: {by}"

    def picture(self) -> Picture:
        """Draw a density over the rope."""
        share = self.measure.share
        style = Style(share)
        ends = [style.difference(value, self.low, self.high) for value in (self.mean, self.low, self.high)]
        tip = f"difference {ends[0]}, {chosen(self.level)} interval {ends[1]} to {ends[2]}"
        band = f"at most {style.within(self.rope)}, no difference in practice: probability {probability(self.equal)}"
        also: list[Mark] = [
            Box((-self.rope, self.rope), (0, 1), band, "muted", 0.25),
            Line(((0, 0), (0, 1)), "no difference", "muted", dashed=True, width=1.2),
        ]
        first = shortened(self.a, 24)
        keys = (
            Key(f"{first} lower: {probability(self.less)}", "ink", "none"),
            Key(f"about equal: {probability(self.equal)}", "muted", "box"),
            Key(f"{first} higher: {probability(self.more)}", "ink", "none"),
        )
        label = f"{self.measure.name} of {self.a} − {self.b}"
        if len(label) > LONG:
            label = f"difference in {self.measure.name}"
        label += ", points" * share
        reach = 1.4 * self.rope
        within = (-1.0, 1.0) if share else None
        spread = (self.mean, self.low, self.high)
        panel = curve_panel(
            self.density,
            spread,
            tip,
            label,
            share=share,
            within=within,
            also=also,
            keys=keys,
            holds=(-reach, reach),
        )
        if share:  # a difference between shares is in points
            panel = replace(panel, x=in_points(panel.x))
        return Picture((panel,))
