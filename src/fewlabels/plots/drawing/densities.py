"""Densities of draws, and the panel that shows one with its mean and interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.plots.drawing.picture import Area, Axis, Line, Panel, Point, scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.plots.drawing.picture import Key, Mark, Range


def density(
    draws: NDArray[np.float64], within: Range = (-np.inf, np.inf), places: int = 201
) -> tuple[tuple[float, float], ...]:
    """Return a smooth density of draws, shape (draws,), as points (value, density) where it is not close to 0.

    The kernels are Gaussian with width 1.5 · min(sd, IQR/1.34) · n^(−1/5), mirrored at the ends of `within`
    so that no mass leaks out. With Silverman's factor of 0.9, bumps that only these draws have could be seen. They are
    summed on a fine grid, since 10,000 kernels take long. If all draws are equal, there are no points.

    >>> points = density(np.random.default_rng(1).beta(2, 5, 4000), (0, 1))
    >>> x, y = np.array(points).T
    >>> round(float(np.trapezoid(y, x)), 2)
    1.0
    """
    sd, (q1, q3) = float(draws.std()), np.quantile(draws, [0.25, 0.75])
    spread = min(sd, float(q3 - q1) / 1.34) or sd
    if spread < 1e-9:
        return ()
    width = 1.5 * spread * len(draws) ** -0.2
    low = max(float(draws.min()) - 3 * width, within[0])
    high = min(float(draws.max()) + 3 * width, within[1])
    mirrored = np.concatenate([draws] + [2 * end - draws for end in within if np.isfinite(end)])
    fine = np.linspace(low - 5 * width, high + 5 * width, 2001)
    step = fine[1] - fine[0]
    counts, _ = np.histogram(mirrored, np.append(fine - step / 2, fine[-1] + step / 2))
    reach = np.arange(-np.ceil(4 * width / step), np.ceil(4 * width / step) + 1) * step
    kernel = np.exp(-0.5 * (reach / width) ** 2) / (width * np.sqrt(2 * np.pi))
    smooth = np.convolve(counts / len(draws), kernel, mode="same")
    # The ends, where it is close to 0, are cut off, so that all places are where the curve can be seen.
    inside = fine[(smooth > smooth.max() / 500) & (fine >= low) & (fine <= high)]
    at = np.linspace(max(inside[0] - step, low), min(inside[-1] + step, high), places)
    return tuple(zip(at.tolist(), np.interp(at, fine, smooth).tolist(), strict=True))


def curve_panel(
    points: Sequence[Range],
    spread: tuple[float, float, float],
    tip: str,
    label: str,
    *,
    share: bool = True,
    within: Range | None = None,
    also: Sequence[Mark] = (),
    keys: tuple[Key, ...] = (),
    holds: Range | None = None,
) -> Panel:
    """Draw a density with the part between low and high shaded, and mean and interval at its foot.

    `spread` is mean, low, high. The heading says them, so that no words overprint the curve on a phone. `also` are
    marks behind the density, on a height from 0 to 1.
    """
    mean, low, high = spread
    shown = points or ((low, 0.0), (high, 0.0))
    left, right = min(shown[0][0], low), max(shown[-1][0], high)
    if holds is not None:
        left, right = min(left, holds[0]), max(right, holds[1])
    x = scale(left, right, share=share, most=6, label=label, within=within)
    peak = max(y for _, y in shown) or 1.0
    line = tuple((at, 0.08 + 0.87 * y / peak) for at, y in shown)
    marks: list[Mark] = [*also]
    if points:
        inside = [(at, y) for at, y in line if low <= at <= high]
        marks.append(Area(((low, 0.08), *inside, (high, 0.08)), tip, "main", 0.22))
        marks.append(Line(line, tip, "main"))
    marks.append(Point(mean, 0.04, tip, xs=(low, high)))
    return Panel(x, Axis(0, 1), tuple(marks), height=210, keys=keys)
