"""Who is right where models differ: a crowd, and a few voices of their own, averaged over who these are.

For an item with options 1..J (the distinct answers) and "none of them":

    log-odds of option j = t·(share of models that say j) + d·(their mean confidence, in logits) + Σ_v (a_v + e_v·x_v),
    v over the voices that say j,    and c for "none of them".

The crowd weighs t however many models are in it, so a hundred relatives that repeat each other count for little more
than ten. A voice has a weight of its own, which may be negative. Who the voices are is not known: the posterior is an
average over sets of them, each with its evidence (Laplace). A set is a guess at how many independent voices there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.models.answers import Answers

# Prior mean and sd of: the weight of the crowd, of "none of them", of a confidence in the crowd, of one of a voice.
CROWD, NONE, CROWD_SLOPE, VOICE_SLOPE = (3.0, 3.0), (0.0, 1.5), (1.0, 1.0), (0.3, 0.4)
# Two kinds of voices: models that are nearly alike, and models of which some are far better. Mean and sd of a weight.
VOICES = ((0.0, 0.4), (1.5, 2.0))
# Of two models that somebody compares, neither is far better, or the question would not be asked.
PAIR = ((0.0, 0.25), (0.0, 0.7))
# How much the weight of a voice differs between groups, as a standard deviation.
_BETWEEN = 0.5
# One voice more is this much less probable. With at most so many models, all of them may be voices at once.
_MORE, _ALL = 0.5, 12
# The search: sets that are extended, new members tried for each, the largest set; and a Newton step's least gain.
_BEAM, _TRIED, _MOST, _ENOUGH = 6, 4, 5, 1e-5
_NEGLIGIBLE = 1e-3
# Larger sets are not looked at where the best one of a size has this little of the weight of the best so far (log).
_HOPELESS = -6.0
# With groups, only so many of the best sets get effects of the groups.
_REFINED = 8


@dataclass(frozen=True, eq=False)
class Point:
    """One set of voices: its members, the mode of the parameters, a root R of their covariance R Rᵀ, its weight.

    `grouped` says whether each voice has an effect of each group as well.
    """

    voices: NDArray[np.int64]
    mode: NDArray[np.float64]
    root: NDArray[np.float64]
    weight: float
    grouped: bool = False


class Features:
    """What the log-odds of the options of some items are made of, for any set of voices.

    Parameters
    ----------
    answers
        The answers of all models.
    items
        The items it is about, shape (items,).
    group
        The group of each of these items, and how many groups there are.
    pair
        Whether two models are compared, and not the best looked for.
    """

    def __init__(
        self,
        answers: Answers,
        items: NDArray[np.int64],
        group: NDArray[np.int64],
        groups: int,
        *,
        pair: bool = False,
    ) -> None:
        self.kinds = PAIR if pair else VOICES
        option, width = answers.option[items], answers.width
        n, models = option.shape
        place = np.arange(width + 1)
        self.option, self.width, self.group, self.groups = option, width, group, groups
        # "None of them" has the last place of all, so that it is the same for every item.
        self.barred = np.where(place < answers.options[items][:, None], 0.0, -np.inf)
        self.barred[:, width] = np.where(answers.others[items], 0.0, -np.inf)
        self.says = option[:, None, :] == place[:, None]
        self.says[:, width] = False
        self.x = None if answers.x is None else answers.x[items]
        base = [self.says.sum(axis=2) / models, np.tile((place == width).astype(float), (n, 1))]
        if self.x is not None:
            base.append(np.einsum("nsh,nh->ns", self.says, self.x) / models)
        self.base = np.stack(base, axis=2)

    def of(self, voices: NDArray[np.int64], *, grouped: bool = False) -> NDArray[np.float64]:
        """The features for sets of voices of one size, (sets, k), as (sets, items, options + none, features)."""
        own = np.moveaxis(self.says[:, :, voices], 2, 0).astype(float)
        parts = [np.broadcast_to(self.base, (len(voices), *self.base.shape)), own]
        if self.x is not None:
            parts.append(own * np.moveaxis(self.x[:, voices], 1, 0)[:, :, None, :])
        if grouped:
            here = (self.group[:, None] == np.arange(self.groups)).astype(float)
            effects = own[..., None] * here[None, :, None, None, :]
            parts.append(effects.reshape(*own.shape[:3], own.shape[3] * self.groups))
        return np.concatenate(parts, axis=3)

    def prior(self, size: int, kind: int, *, grouped: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Prior mean and precision of the parameters for a set of this many voices."""
        scored = self.x is not None
        rows = [CROWD, NONE, *([CROWD_SLOPE] * scored), *([self.kinds[kind]] * size), *([VOICE_SLOPE] * size * scored)]
        rows += [(0.0, _BETWEEN)] * (size * self.groups * grouped)
        mean, sd = np.array(rows).T
        return mean, 1 / sd**2


@dataclass(frozen=True, eq=False)
class Fits:
    """Laplace for several sets of one size: modes, precisions, log evidences, and P of each option of each label."""

    mode: NDArray[np.float64]
    precision: NDArray[np.float64]
    evidence: NDArray[np.float64]
    chance: NDArray[np.float64]


def fit_sets(
    features: Features, shown: NDArray[np.int64], voices: NDArray[np.int64], kind: int, *, grouped: bool = False
) -> Fits:
    """Fit sets of voices, shape (sets, k), to labels: `shown` is the option that each label showed.

    Damped Newton steps for all sets at once; the log posterior is concave, so they converge.
    """
    f = features.of(voices, grouped=grouped)
    sets, labels, _, size = f.shape
    mean, precision = features.prior(voices.shape[1], kind, grouped=grouped)
    at, diagonal = np.arange(labels), np.arange(size)
    seen = f[:, at, shown].sum(axis=1)
    flat = f.reshape(sets, -1, size)

    def look(theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        eta = np.matmul(flat, theta[:, :, None]).reshape(f.shape[:3]) + features.barred
        eta -= eta.max(axis=2, keepdims=True, initial=-1e300)
        p = np.exp(eta)
        total = p.sum(axis=2, keepdims=True)
        fits = (eta[:, at, shown] - np.log(total[:, :, 0])).sum(axis=1)
        return p / total, fits - (precision * (theta - mean) ** 2).sum(axis=1) / 2

    theta = np.repeat(mean[None], sets, axis=0)
    p, value = look(theta)
    while True:
        middle = np.matmul(p[:, :, None, :], f)[:, :, 0]
        root = ((f - middle[:, :, None]) * np.sqrt(p)[..., None]).reshape(sets, -1, size)
        curve = np.matmul(root.swapaxes(1, 2), root)
        curve[:, diagonal, diagonal] += precision
        slope = seen - middle.sum(axis=1) - precision * (theta - mean)
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        if float((slope * step).sum(axis=1).max(initial=0.0)) < _ENOUGH:
            break
        scale = np.ones((sets, 1))
        for _ in range(40):
            p, new = look(theta + scale * step)
            worse = new < value - 1e-9
            if not worse.any():
                break
            scale = np.where(worse[:, None], scale / 2, scale)
        theta, value = theta + scale * step, new
    evidence = value + (np.log(precision).sum() - np.linalg.slogdet(curve)[1]) / 2
    return Fits(theta, curve, evidence, p)


def listen(features: Features, shown: NDArray[np.int64], focus: tuple[int, ...] = ()) -> list[Point]:
    """The posterior over sets of voices, from the options that the labels of the features' items showed.

    Sets are searched for: the best of each size are extended by the members that the labels speak for most. Models in
    `focus`, and both of two models, are always voices.
    """
    focus = (0, 1) if features.option.shape[1] == 2 else focus
    found: list[_Found] = []
    for kind in range(len(features.kinds)):
        found += _search(features, shown, kind, focus)
    best = max(one.weight for one in found)
    kept = sorted((one for one in found if one.weight > best + np.log(_NEGLIGIBLE)), key=lambda one: -one.weight)
    if features.groups > 1:
        kept = [_by_group(features, shown, one) for one in kept[:_REFINED]]
        best = max(one.weight for one in kept)
    weight = np.exp([one.weight - best for one in kept])
    weight /= weight.sum()
    return [
        Point(one.voices, one.mode, _inverse_root(one.precision), float(w), features.groups > 1)
        for one, w in zip(kept, weight, strict=True)
    ]


class _Found(NamedTuple):
    """A set of voices of one kind, with its log weight, mode and precision."""

    weight: float
    voices: NDArray[np.int64]
    kind: int
    mode: NDArray[np.float64]
    precision: NDArray[np.float64]


def _inverse_root(precision: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix R with R Rᵀ = the inverse of the precision."""
    lower = np.linalg.cholesky(precision)
    return np.asarray(np.linalg.solve(lower.T, np.eye(len(lower))))


def _fitted(features: Features, fit: Fits, voices: NDArray[np.int64], kind: int, prior: float) -> list[_Found]:
    rows = zip(fit.evidence.tolist(), voices, fit.mode, fit.precision, strict=True)
    return [_Found(evidence + prior, members, kind, mode, curve) for evidence, members, mode, curve in rows]


def _by_group(features: Features, shown: NDArray[np.int64], one: _Found) -> _Found:
    """Fit the set again, with effects of the groups."""
    fit = fit_sets(features, shown, one.voices[None], one.kind, grouped=True)
    prior = _log_prior(features.option.shape[1], len(one.voices))
    return _fitted(features, fit, one.voices[None], one.kind, prior)[0]


def _search(features: Features, shown: NDArray[np.int64], kind: int, focus: tuple[int, ...]) -> list[_Found]:
    """Sets of voices of one kind: all that were looked at."""
    models = features.option.shape[1]
    voices = np.array([sorted(focus)], dtype=np.int64)
    fit = fit_sets(features, shown, voices, kind)
    found = _fitted(features, fit, voices, kind, _log_prior(models, len(focus)))
    for size in range(len(focus) + 1, min(_MOST, models) + 1):
        best = np.argsort(-fit.evidence)[:_BEAM]
        voices = _extended(features, shown, voices[best], fit.chance[best], kind)
        fit = fit_sets(features, shown, voices, kind)
        larger = _fitted(features, fit, voices, kind, _log_prior(models, size))
        found += larger
        if max(one.weight for one in larger) < max(one.weight for one in found) + _HOPELESS:
            break
    if _MOST < models <= _ALL:
        every = np.arange(models)[None]
        found += _fitted(features, fit_sets(features, shown, every, kind), every, kind, _log_prior(models, 2))
    return found


def _extended(
    features: Features, shown: NDArray[np.int64], voices: NDArray[np.int64], p: NDArray[np.float64], kind: int
) -> NDArray[np.int64]:
    """Each set with one voice more: those with which one Newton step from weight 0 would gain most."""
    sd = features.kinds[kind][1]
    chance = np.einsum("cns,nsh->cnh", p, features.says.astype(float))
    slope = ((features.option == shown[:, None]) - chance).sum(axis=1)
    gain = slope**2 / (2 * ((chance * (1 - chance)).sum(axis=1) + 1 / sd**2))
    np.put_along_axis(gain, voices, -np.inf, axis=1)
    tried = min(_TRIED if len(voices) > 1 else 4 * _BEAM, gain.shape[1] - voices.shape[1])
    best = np.argsort(-gain, axis=1)[:, :tried]
    sets = np.concatenate([np.repeat(voices, tried, axis=0), best.reshape(-1, 1)], axis=1)
    return np.unique(np.sort(sets, axis=1), axis=0)


def _log_prior(models: int, size: int) -> float:
    """log of the prior probability of one set of this size, up to a constant."""
    k = np.arange(size)
    return float(size * np.log(_MORE) - (np.log(models - k) - np.log(k + 1)).sum())


def draw_chances(features: Features, points: list[Point], rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """n draws of P(each option), with "none of them" in the last place: shape (n, items, options + none)."""
    pick = np.sort(rng.choice(len(points), size=n, p=[point.weight for point in points]))
    out = np.empty((n, len(features.option), features.width + 1))
    for k in np.unique(pick):
        rows = np.flatnonzero(pick == k)
        point = points[k]
        theta = point.mode + rng.standard_normal((len(rows), len(point.mode))) @ point.root.T
        f = features.of(point.voices[None], grouped=point.grouped)[0]
        eta = np.moveaxis(f @ theta.T, 2, 0) + features.barred
        eta -= eta.max(axis=2, keepdims=True, initial=-1e300)
        np.exp(eta, out=eta)
        out[rows] = eta / eta.sum(axis=2, keepdims=True)
    return out
