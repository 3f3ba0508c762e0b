"""Fit the model of items: the mode of its effects by Newton's method, then the effect of each level by quadrature.

An item of a strip is right with probability σ(η), where η = (shared effects)·(column of the design) + u. The shared
effects (a, b, g, h, v) are Gaussian beforehand, and so is the u of each level of the first factor, with sd τ. All is
done at each point of a grid, which has a kind of classifier, a τ, and where they matter an ω and a scale of the
evidence; the evidence of the labels then weighs the points.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.learned.items.differing import TAUS, WILD_TAU, crossed_sds, omega_grid, tau_prior, wild_shares
from fewlabels.learned.items.evidence_terms import SCALE_PRIOR, SCALES
from fewlabels.learned.items.model import Trust
from fewlabels.learned.items.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.items.strips import Strips

# Newton's steps to the mode of a wild u; the sum around it forgives what is left.
_WILD_STEPS = 4
# A kind and a τ that are together less probable than this beforehand are left out; so are a kind, a τ and an ω where
# factors are crossed; and so, where these have so many effects that each point takes long, are those below the last
# number.
_RARE, _RARE_IF_CROSSED, _MANY, _RARE_IF_MANY = 0.006, 0.002, 60, 0.02
# With evidence there are three times as many points, each with a part of the probability.
_RARE_IF_BESIDE = 0.004
# Nodes of the quadrature in each cell; seven would change nothing.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
# A Newton step that gains less than this in log posterior is the last one: the next would gain about its square.
_ENOUGH = 1e-5
_MOST_STEPS = 200  # a fit that does not converge ends anyway
# Numbers in the largest array of several fits at once.
_BLOCK = 2**20


def learn(strips: Strips, right: NDArray[np.float64], labels: NDArray[np.float64]) -> Trust:
    """Fit the model to labels: right answers and labels of each strip, two of shape (strips,).

    Damped Newton steps on (a, b, g, h, v) and u at all points of the grid at once; the log posterior is concave, so
    they converge.
    """
    seen = np.flatnonzero(labels)
    return Fit(strips, right[seen], labels[seen], seen).converged().posterior()


def learn_several(strips: Strips, right: NDArray[np.float64], labels: NDArray[np.float64]) -> list[Trust]:
    """Fit the model to several versions of the same labels: `right` has shape (versions, strips).

    This is what `learn` finds for each, to the precision of Newton's steps, in a fraction of the time: the versions
    differ little, so all begin at the modes of their mean, and their steps are taken together.
    """
    seen = np.flatnonzero(labels)
    mean = Fit(strips, right[:, seen].mean(axis=0), labels[seen], seen).converged()
    block = max(1, _BLOCK // max(mean.shared.size * len(seen), 1))
    trusts = []
    for start in range(0, len(right), block):
        fit = Fit(strips, right[start : start + block, seen], labels[seen], seen)
        trusts += fit.begun(mean).converged().posteriors()
    return trusts


class Integrals(NamedTuple):
    """The u of each level integrated out, given the shared effects.

    Parameters
    ----------
    log_size
        The logarithm of the integral of likelihood × prior, shape (points, levels).
    mean, variance
        Of u, two of shape (points, levels).
    lean
        How the mean moves against the shared effects, shape (points, shared, levels).
    chance
        E P(right) in each strip, shape (points, strips).
    """

    log_size: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    lean: NDArray[np.float64]
    chance: NDArray[np.float64]

    def or_else(self, other: Integrals, share: NDArray[np.float64], part: Part) -> Integrals:
        """Mix these with the integrals under another prior of u, in some levels.

        `share` is the probability of that other prior before the labels, shape (levels of the part,).
        """
        levels, strips = part.levels, part.strips
        mixed = Integrals(*(values.copy() for values in self))
        usual, unusual = np.log1p(-share) + self.log_size[:, levels], np.log(share) + other.log_size
        mixed.log_size[:, levels] = np.logaddexp(usual, unusual)
        p, apart = np.exp(unusual - mixed.log_size[:, levels]), other.mean - self.mean[:, levels]
        mixed.mean[:, levels] += p * apart
        mixed.variance[:, levels] += p * (other.variance - self.variance[:, levels] + (1 - p) * apart**2)
        mixed.lean[..., levels] += p[:, None] * (other.lean - self.lean[..., levels])
        mixed.chance[:, strips] += p[:, part.at] * (other.chance - self.chance[:, strips])
        return mixed


class Part(NamedTuple):
    """Some levels of a fit, and their strips.

    `levels` and `strips` are places among those that have labels, shapes (levels,) and (strips,); `at` is the place in
    `levels` of each strip's level, shape (strips,).
    """

    levels: NDArray[np.intp]
    strips: NDArray[np.intp]
    at: NDArray[np.intp]

    @classmethod
    def of(cls, levels: NDArray[np.intp], at: NDArray[np.intp]) -> Part:
        """Some levels in increasing order; `at` is the level of every strip."""
        strips = np.flatnonzero(np.isin(at, levels))
        return cls(levels, strips, np.searchsorted(levels, at[strips]))


class Fit:
    """The arrays of one fit: grid points along the first axis, strips or levels that have labels along the last.

    With several versions of the labels, `right` of shape (versions, strips), the points are repeated for each.
    """

    def __init__(
        self, strips: Strips, right: NDArray[np.float64], labels: NDArray[np.float64], seen: NDArray[np.intp]
    ) -> None:
        self.strips = strips
        self.right, self.labels, self.design = right, labels, strips.design[:, seen]
        self.levels, self.at = np.unique(strips.effect[seen], return_inverse=True)
        self.total = Sums(self.at)
        beside, more = len(strips.evidence), len(self.design) - strips.own  # evidence, crossed effects
        omegas, omega_prior = omega_grid(len(strips.crossed))
        scales = SCALE_PRIOR if beside else np.ones(1)
        prior = (strips.kinds[:, :1] * tau_prior(strips, crossed=more > 0))[..., None, None]
        prior = prior * omega_prior[:, None] * scales
        rare = _RARE_IF_BESIDE if beside else _RARE_IF_CROSSED if more else _RARE
        kind, tau, omega, scale = np.nonzero(prior > (rare if more < _MANY else _RARE_IF_MANY))
        self.tau = strips.scale[0] * TAUS[tau]
        self.log_prior = np.log(prior[kind, tau, omega, scale])
        self.mean = np.pad(strips.kinds[kind, 1::2], ((0, 0), (0, beside + more)))
        self.mean[:, 0] += strips.lift[kind, scale] if beside else 0.0
        sd = crossed_sds(strips, omegas)[omega]
        beside_sd = np.repeat(SCALES[scale, None], beside, axis=1)
        self.inverse = 1 / np.column_stack([strips.kinds[kind, 2::2], beside_sd, sd]) ** 2
        self.wild = wild_shares(strips)
        self.versions = right.shape[0] if right.ndim == 2 else 1
        if right.ndim == 2:
            self.right = np.repeat(right, len(self.tau), axis=0)
            self.tau, self.log_prior = (np.tile(part, self.versions) for part in (self.tau, self.log_prior))
            self.mean, self.inverse = (np.tile(part, (self.versions, 1)) for part in (self.mean, self.inverse))
        self.shared = self.mean.copy()
        self.u = np.zeros((len(self.tau), len(self.levels)))
        self._place()

    def _place(self) -> None:
        self.chance, fits = self.look(self.shared, self.u)
        self.value = self.log_posterior(fits, self.shared, self.u)

    def begun(self, other: Fit) -> Fit:
        """Begin each version at the modes of another fit of the same points and strips."""
        self.shared, self.u = (np.tile(part, (self.versions, 1)) for part in (other.shared, other.u))
        self._place()
        return self

    def converged(self) -> Fit:
        """Take steps until they gain next to nothing."""
        for _ in range(_MOST_STEPS):
            if self.step() <= _ENOUGH:
                break
        return self

    def look(
        self, shared: NDArray[np.float64], u: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """P(right) and the log likelihood of each strip, two of shape (..., points, strips)."""
        eta = shared @ self.design + u[..., self.at]
        small = np.exp(-np.abs(eta))
        chance = np.where(eta > 0, 1.0, small) / (1 + small)
        return chance, self.right * eta - self.labels * (np.maximum(eta, 0) + np.log(1 + small))

    def log_posterior(
        self, fits: NDArray[np.float64], shared: NDArray[np.float64], u: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The log posterior at each point, up to its constants; shape (points,)."""
        distance = (self.inverse * (shared - self.mean) ** 2).sum(axis=1) + (u**2).sum(axis=1) / self.tau**2
        return fits.sum(axis=1) - distance / 2

    def step(self) -> float:
        """One Newton step, halved at the points where it overshoots; returns the largest gain in log posterior."""
        step_shared, step_u = self.newton()
        scale = np.ones((len(self.value), 1))
        for _ in range(40):
            shared, u = self.shared + scale * step_shared, self.u + scale * step_u
            chance, fits = self.look(shared, u)
            value = self.log_posterior(fits, shared, u)
            worse = value < self.value - 1e-12 * np.abs(self.value)
            if not worse.any():
                break
            scale = np.where(worse[:, None], scale / 2, scale)
        gain = float((value - self.value).max())
        self.shared, self.u, self.chance, self.value = shared, u, chance, value
        return gain

    def curvature(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The blocks of the log posterior's curvature that a Newton step needs.

        They are the precision D of each u, shape (points, levels); C/D, where C couples the shared effects with each u,
        shape (points, shared, levels); and A − C D⁻¹ Cᵀ, the precision of the shared effects with u integrated out,
        shape (points, shared, shared).
        """
        weight = self.labels * self.chance * (1 - self.chance)
        moved = weight[:, None] * self.design
        coupling = self.total(moved)
        own = coupling[:, 0] + 1 / self.tau[:, None] ** 2
        lean = coupling / own[:, None]
        corner = moved @ self.design.T + self.inverse[:, :, None] * np.eye(len(self.design))
        return own, lean, corner - lean @ coupling.swapaxes(1, 2)

    def slope(self, rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derivative by the shared effects, shape (points, shared), from right − expected right of each strip."""
        return rest @ self.design.T - self.inverse * (self.shared - self.mean)

    def newton(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The Newton step of the shared effects and of u. With u eliminated, it follows from that of the others."""
        rest = self.right - self.labels * self.chance
        own, lean, schur = self.curvature()
        slope_u = self.total(rest) - self.u / self.tau[:, None] ** 2
        step = np.linalg.solve(schur, self.slope(rest)[..., None] - lean @ slope_u[..., None])
        return step[..., 0], slope_u / own - (lean * step).sum(axis=1)

    def posterior(self) -> Trust:
        """The posterior from the only version of the labels."""
        return self.posteriors()[0]

    def posteriors(self) -> list[Trust]:
        """The Gaussians at the modes (Laplace), corrected level by level, and the evidence for each point.

        Given (a, b, g, h, v) the u are independent, so the integral over each is one-dimensional (`integrated`). The
        mode of (a, b, g, h, v) is then moved by one Newton step of the likelihood with u integrated out. With one label
        in each of 30 cells and τ = 1.8, Laplace alone is wrong by up to 0.026 in a cell's mean and by e^0.8 in the
        evidence; this by 0.002 and e^0.06.
        """
        own, lean, schur = self.curvature()
        each = self.integrated(self.u, own, lean, 1 / self.tau[:, None] ** 2)
        wild = np.flatnonzero(self.wild[self.levels])
        if len(wild):
            part = Part.of(wild, self.at)
            each = each.or_else(self.only(part).let_loose(), self.wild[self.levels[wild]], part)
        slope = self.slope(self.right - self.labels * each.chance)
        step = np.linalg.solve(schur, slope[..., None])
        log_weight = self.log_prior - (self.inverse * (self.shared - self.mean) ** 2).sum(axis=1) / 2
        log_weight += each.log_size.sum(axis=1) + (slope * step[..., 0]).sum(axis=1) / 2
        log_weight += (np.log(self.inverse).sum(axis=1) - np.linalg.slogdet(schur)[1]) / 2
        effect = each.mean - (each.lean * step).sum(axis=1)
        unseen = np.sqrt(
            self.tau[:, None] ** 2 * (1 - self.wild) + np.maximum(self.tau, WILD_TAU)[:, None] ** 2 * self.wild
        )
        parts = (log_weight, unseen, self.shared + step[..., 0], schur, effect, each.variance, each.lean)
        return [self._trust(*of_one) for of_one in zip(*(np.split(part, self.versions) for part in parts), strict=True)]

    def only(self, part: Part) -> Fit:
        """The fit as it stands, of some levels alone."""
        kept = copy(self)
        kept.right, kept.labels, kept.design = (
            values[..., part.strips] for values in (self.right, self.labels, self.design)
        )
        kept.levels, kept.at, kept.total = self.levels[part.levels], part.at, Sums(part.at)
        kept.u = self.u[:, part.levels]
        return kept

    def let_loose(self) -> Integrals:
        """What is known about each u if its level is wild; the shared effects stay where they are."""
        u, hold = self.u, 1 / np.maximum(self.tau, WILD_TAU)[:, None] ** 2
        for _ in range(_WILD_STEPS):
            weight, rest = self._at_modes(u)
            u = u + np.clip((self.total(rest) - u * hold) / (self.total(weight) + hold), -1, 1)
        weight, _ = self._at_modes(u)
        own = self.total(weight) + hold
        return self.integrated(u, own, self.total(weight[:, None] * self.design) / own[:, None], hold)

    def _at_modes(self, u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The precision that labels give and right − expected right of each strip, two of shape (points, strips)."""
        chance, _ = self.look(self.shared, u)
        return self.labels * chance * (1 - chance), self.right - self.labels * chance

    def integrated(
        self, mode: NDArray[np.float64], own: NDArray[np.float64], lean: NDArray[np.float64], hold: NDArray[np.float64]
    ) -> Integrals:
        """Each u integrated out by a Gauss-Hermite sum around its mode; `hold` is the precision of its prior."""
        sd, nodes = 1 / np.sqrt(own), _NODES[:, None, None]
        u = mode + nodes * sd
        chance, fits = self.look(self.shared, u)
        height = self.total(fits) - u**2 * hold / 2 + nodes**2 / 2
        top = height[len(_NODES) // 2].copy()
        mass = np.exp(height - top) * (_WEIGHTS / _WEIGHTS.sum())[:, None, None]
        size = mass.sum(axis=0)
        mass /= size
        middle = (nodes * mass).sum(axis=0)
        variance = ((nodes - middle) ** 2 * mass).sum(axis=0) / own
        log_size = top + np.log(size * sd) + np.log(hold) / 2
        return Integrals(log_size, mode + sd * middle, variance, lean, (mass[..., self.at] * chance).sum(axis=0))

    def _trust(
        self,
        log_weight: NDArray[np.float64],
        tau: NDArray[np.float64],
        mode: NDArray[np.float64],
        schur: NDArray[np.float64],
        *of_levels: NDArray[np.float64],
    ) -> Trust:
        """The posterior from the parts of one version."""
        weight = np.exp(log_weight - log_weight.max())
        mean = np.sqrt((tau**2).mean(axis=1))
        return Trust(self.strips, weight / weight.sum(), mean, mode, schur, *self.everywhere(tau, *of_levels))

    def everywhere(
        self,
        tau: NDArray[np.float64],
        effect: NDArray[np.float64],
        spread: NDArray[np.float64],
        lean: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Effects, spreads and leans of all levels: those without labels keep their prior, with these sds."""
        effects, leans = np.zeros(tau.shape), np.zeros((len(tau), len(self.design), tau.shape[1]))
        spreads = tau**2
        effects[:, self.levels], spreads[:, self.levels], leans[..., self.levels] = effect, spread, lean
        return effects, spreads, leans
