"""Rope: the difference of two groups against the region of practical equivalence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.findings.measures import Measure, shortened
from fewlabels.plots.drawing.densities import curve_panel, density
from fewlabels.plots.drawing.picture import Box, Key, Line, Picture, number, precision
from fewlabels.plots.plot import Plot
from fewlabels.tasks import Compare
from fewlabels.tasks.compare import REGIONS

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.picture import Mark


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
        Points (Δ, density); none where it is known exactly.
    """

    name: ClassVar[str] = "rope"
    title: ClassVar[str] = "Difference of the two groups"

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
        """Where two groups are not compared."""
        return "" if isinstance(audit.spec.task, Compare) else "it does not compare two groups"

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """From `answer()` and `draws()`."""
        audit, task = reading.audit, reading.audit.spec.task
        assert isinstance(task, Compare)
        row = next(reading.answer.table.rows())
        a, b = (audit.groups.position(name) for name in (task.a, task.b))
        points = density(reading.values[:, a] - reading.values[:, b])
        numbers = {name: row[name] for name in (*REGIONS, "mean", "low", "high")}
        return cls(reading.measure, task.a, task.b, task.rope, reading.level, **numbers, density=points)

    def caption(self) -> str:
        """How to read it."""
        a, b, name = shortened(self.a, 60), shortened(self.b, 60), self.measure.name
        return (
            f"How probable each difference is: {name} of {a} minus that of {b}. Differences in the grey band are none "
            f"in practice. Below it {self.less:.0%}, inside {self.equal:.0%}, above it {self.more:.0%}."
        )

    def picture(self) -> Picture:
        """A density over the rope."""
        share = self.measure.share
        digits = precision((self.low, self.high), share=share)
        ends = [number(value, share=share, digits=digits) for value in (self.mean, self.low, self.high)]
        tip = f"difference {ends[0]}, {self.level:.0%} interval {ends[1]} to {ends[2]}"
        edge = number(self.rope, share=share, digits=1 if share else 3)
        band = f"between −{edge} and {edge} is none in practice: probability {self.equal:.1%}"
        also: list[Mark] = [
            Box((-self.rope, self.rope), (0, 1), band, "muted", 0.25),
            Line(((0, 0), (0, 1)), "no difference", "muted", dashed=True, width=1.2),
        ]
        first = shortened(self.a, 24)
        keys = (
            Key(f"{first} lower: {self.less:.0%}", "ink", "none"),
            Key(f"about equal: {self.equal:.0%}", "muted", "box"),
            Key(f"{first} higher: {self.more:.0%}", "ink", "none"),
        )
        label = f"{self.measure.name} of {shortened(self.a, 40)} − {shortened(self.b, 40)}"
        reach = 1.4 * self.rope
        within = (-1.0, 1.0) if share else None
        spread = (self.mean, self.low, self.high)
        panel = curve_panel(
            self.density, spread, tip, label, share=share, within=within, also=also, keys=keys, holds=(-reach, reach)
        )
        return Picture((panel,))
