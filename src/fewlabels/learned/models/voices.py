"""Who is right where models differ: a crowd, and voices of their own, averaged over who these are.

For an item with options 1..J (the distinct answers) and "none of them":

    log-odds of option j = t·(share of models that say j) + d·(their mean confidence, in logits) + Σ_v (a_v + e_v·x_v),
    v over the voices that say j,    and c for "none of them".

The crowd weighs t ≥ 0 however many models are in it, so a hundred relatives that repeat each other count for little
more than ten. Who the voices are is not known: the posterior is an average over guesses, each with its evidence
(Laplace). Either all models are voices, a_v ~ N(0, τ²) with one of a few spreads τ: a small one means that they are
nearly alike, and relatives share what is learned about one of them. Or one model alone is, and the others say nothing
beyond the crowd: if its weight is taken as known, that is Model Selector's model (Okanovic et al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.learned.models.cloud import MOST, Cloud, Seen, gather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fewlabels.learned.models.answers import Answers

# Prior mean and sd of: the weight of the crowd, of "none of them", of a confidence in the crowd, of one of a voice.
CROWD, NONE, CROWD_SLOPE, VOICE_SLOPE = (3.0, 3.0), (0.0, 1.5), (1.0, 1.0), (0.3, 0.4)
# The spreads τ if all models are voices, and the mean and sd of the weight of one that is a voice alone.
SPREADS, ALONE = (0.1, 0.3, 1.0), (1.5, 2.0)
# Of two models that somebody compares, neither is likely to be far better, or the question would not be asked. But one
# can be: a new model and a weak baseline, say. The spreads τ of a pair, and their probabilities.
PAIR = {0.25: 0.2, 1.0: 0.3, 3.0: 0.5}
# How much the weight of a voice differs between groups, as a standard deviation, and how many such effects there are.
BETWEEN, _EFFECTS = 0.5, 240
# Labels of real items tell less than independent ones, since items come in kinds that no answer shows. So the width of
# the posterior is that of WIDER² times fewer labels where these are steered by it: with answers only, and with
# confidences (docs/models-method.md).
WIDER = (1.5, 3.0)
# Newton's least gain, and the weight of a guess, beside the best, that is left out.
ENOUGH, NEGLIGIBLE = 1e-9, 1e-3
# Numbers in the array of features of one piece of items.
_PIECE = 4_000_000


@dataclass(frozen=True, eq=False)
class Guess:
    """Who the voices are: their weights have this prior mean and sd; `log_prior` is the guess's own."""

    voices: NDArray[np.int64]
    weight: tuple[float, float]
    log_prior: float


@dataclass(frozen=True, eq=False)
class Point:
    """A guess after the labels: the mode of the parameters, a root R of their covariance R Rᵀ, its weight.

    `split` are the voices that have an effect for each group as well. With a `cloud`, draws come from it and not from
    the Gaussian.
    """

    voices: NDArray[np.int64]
    mode: NDArray[np.float64]
    root: NDArray[np.float64]
    weight: float
    split: NDArray[np.int64]
    cloud: Cloud | None = None

    def draw(self, normals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draw parameters, one row for each row of standard normals, shape (draws, at least the parameters)."""
        if self.cloud is not None:
            return self.cloud.draw(normals)
        return np.asarray(self.mode + normals[:, : len(self.mode)] @ self.root.T)


def guesses(models: int, pair: tuple[int, ...] = ()) -> list[Guess]:
    """All guesses at who the voices are: all models, with each spread, and each model alone.

    If two are compared, the `pair` are the voices, with each spread of a pair. The others are only in the crowd: as
    voices they would make the difference of the two no more exact, and too small where these are far apart.
    """
    if pair:
        return [Guess(np.array(pair), (0.0, spread), float(np.log(share))) for spread, share in PAIR.items()]
    every, share = np.arange(models), float(np.log(0.5 / len(SPREADS)))
    made = [Guess(every, (0.0, spread), share) for spread in SPREADS]
    return made + [Guess(every[h : h + 1], ALONE, float(np.log(0.5 / models))) for h in every]


class Features:
    """What the log-odds of the options of some items are made of, for any voices.

    Parameters
    ----------
    answers
        The answers of all models.
    items
        The items it is about, shape (items,).
    group
        The group of each of these items, and how many groups there are.
    """

    def __init__(self, answers: Answers, items: NDArray[np.int64], group: NDArray[np.int64], groups: int) -> None:
        option, width = answers.option[items], answers.width
        n, models = option.shape
        place = np.arange(width + 1)
        self.option, self.width, self.group, self.groups = option, width, group, groups
        # "None of them" has the last place of all, so that it is the same for every item.
        self.barred = np.where(place < answers.options[items][:, None], 0.0, -np.inf)
        self.barred[:, width] = np.where(answers.others[items], 0.0, -np.inf)
        self.x = None if answers.x is None else answers.x[items]
        base = [_by_option(option, width) / models, np.tile((place == width).astype(float), (n, 1))]
        if self.x is not None:
            base.append(_by_option(option, width, self.x) / models)
        self.base = np.stack(base, axis=2)

    def __len__(self) -> int:
        return len(self.option)

    @property
    def size(self) -> int:
        """The number of parameters if all models are voices, without effects of groups."""
        return self.base.shape[2] + self.option.shape[1] * (1 if self.x is None else 2)

    def says(self, rows: slice = slice(None)) -> NDArray[np.bool_]:
        """Which models choose each option, shape (items, options + none, models); none chooses the last."""
        return self.option[rows, None, :] == np.arange(self.width + 1)[:, None]

    def pieces(self, size: int) -> Iterator[slice]:
        """The items in pieces, so that an array of this many numbers for each option is not large."""
        step = max(_PIECE // max(size * (self.width + 1), 1), 1)
        return (slice(start, start + step) for start in range(0, len(self), step))

    def of(
        self, voices: NDArray[np.int64], split: NDArray[np.int64] | None = None, rows: slice = slice(None)
    ) -> NDArray[np.float64]:
        """The features for sets of voices of one size, (sets, k), as (sets, items, options + none, features)."""
        own = np.moveaxis(self._own(voices, rows), 2, 0)
        base = self.base[rows]
        parts = [np.broadcast_to(base, (len(voices), *base.shape)), own]
        if self.x is not None:
            parts.append(own * np.moveaxis(self.x[rows][:, voices], 1, 0)[:, :, None, :])
        if split is not None and len(split):
            here = (self.group[rows, None] == np.arange(self.groups)).astype(float)
            effects = self._own(split, rows)[..., None] * here[:, None, None, :]
            flat = effects.reshape(*effects.shape[:2], len(split) * self.groups)
            parts.append(np.broadcast_to(flat, (len(voices), *flat.shape)))
        return np.concatenate(parts, axis=3)

    def _own(self, voices: NDArray[np.int64], rows: slice) -> NDArray[np.float64]:
        places = np.arange(self.width + 1).reshape(-1, *[1] * voices.ndim)
        return (self.option[rows][:, voices][:, None] == places).astype(float)

    def prior(
        self, size: int, weight: tuple[float, float], split: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Prior mean and precision of the parameters, if this many voices have this prior of their weights."""
        scored = self.x is not None
        rows = [CROWD, NONE, *([CROWD_SLOPE] * scored), *([weight] * size), *([VOICE_SLOPE] * size * scored)]
        rows += [(0.0, BETWEEN)] * (split * self.groups)
        mean, sd = np.array(rows).T
        return mean, 1 / sd**2


def _by_option(option: NDArray[np.int16], width: int, values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """How many models choose each option, or the sum of their values, shape (items, options + none)."""
    out = np.zeros((len(option), width + 1))
    for h in range(option.shape[1]):
        rows = np.flatnonzero(option[:, h] >= 0)
        out[rows, option[rows, h]] += 1.0 if values is None else values[rows, h]
    return out


class Fits(NamedTuple):
    """Laplace for several sets of voices: modes, precisions and log evidences."""

    mode: NDArray[np.float64]
    precision: NDArray[np.float64]
    evidence: NDArray[np.float64]


def fit_sets(
    features: Features,
    shown: NDArray[np.int64],
    voices: NDArray[np.int64],
    weight: tuple[float, float],
    split: NDArray[np.int64] | None = None,
) -> Fits:
    """Fit sets of voices, shape (sets, k), to labels: `shown` is the option that each label showed.

    Damped Newton steps for all sets at once; the log posterior is concave, so they converge.
    """
    f = features.of(voices, split)
    sets, labels, _, size = f.shape
    mean, precision = features.prior(voices.shape[1], weight, 0 if split is None else len(split))
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
        if float((slope * step).sum(axis=1).max(initial=0.0)) < ENOUGH:
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
    return Fits(theta, curve, evidence)


def listen(
    features: Features, shown: NDArray[np.int64], *, pair: tuple[int, ...] = (), wider: float = 1.0
) -> list[Point]:
    """The posterior over guesses, from the options that the labels of the features' items showed.

    `pair`: the two models that are compared. `wider`: how much wider what labels say is than by Laplace.
    """
    all_ = guesses(features.option.shape[1], pair)
    fits = _fitted(features, shown, all_)
    evidence = np.array([fit.evidence[0] for fit in fits]) + [guess.log_prior for guess in all_]
    kept = np.flatnonzero(evidence > evidence.max() + np.log(NEGLIGIBLE)).tolist()
    splits = [np.empty(0, dtype=np.int64)] * len(all_)
    if features.groups > 1:
        for k in kept:
            splits[k] = _split(features, shown, all_[k].voices)
            fits[k] = fit_sets(features, shown, all_[k].voices[None], all_[k].weight, splits[k])
            evidence[k] = fits[k].evidence[0] + all_[k].log_prior
    points = []
    for k in kept:
        prior = features.prior(len(all_[k].voices), all_[k].weight, len(splits[k]))
        root = _inverse_root(_softened(fits[k].precision[0], prior[1], wider))
        point = Point(all_[k].voices, fits[k].mode[0], root, 1.0, splits[k])
        if pair and wider == 1.0 and 0 < len(shown) <= MOST:
            own, first = features.of(point.voices[None], point.split)[0], features.base.shape[2]
            seen = Seen(own, features.barred, shown, *prior)
            cloud, exact = gather(seen, point.mode, root, (first, first + 1))
            point, evidence[k] = replace(point, cloud=cloud), exact + all_[k].log_prior
        points.append(point)
    weight = np.exp(evidence[kept] - evidence[kept].max())
    weight /= weight.sum()
    return [replace(point, weight=float(w)) for point, w in zip(points, weight, strict=True)]


def _softened(precision: NDArray[np.float64], before: NDArray[np.float64], wider: float) -> NDArray[np.float64]:
    """The precision if what labels add to that of the prior, shape (parameters,), is `wider`² times less.

    So the posterior is never wider than the prior, as it would be if its own width were multiplied.
    """
    return np.asarray(precision / wider**2 + np.diag(before * (1 - 1 / wider**2)))


def _fitted(features: Features, shown: NDArray[np.int64], all_: list[Guess]) -> list[Fits]:
    """A fit of each guess; those of one voice at once."""
    fits = [fit_sets(features, shown, guess.voices[None], guess.weight) for guess in all_ if guess.weight != ALONE]
    alone = np.array([guess.voices for guess in all_ if guess.weight == ALONE], dtype=np.int64)
    if len(alone):
        batch = fit_sets(features, shown, alone, ALONE)
        fits += [Fits(*(part[h : h + 1] for part in batch)) for h in range(len(alone))]
    return fits


def _split(features: Features, shown: NDArray[np.int64], voices: NDArray[np.int64]) -> NDArray[np.int64]:
    """The voices that get an effect for each group: those that are right most often, as many as can be afforded."""
    most = max(_EFFECTS // features.groups, 2)
    right = (features.option[:, voices] == shown[:, None]).sum(axis=0)
    return np.sort(voices[np.argsort(-right, kind="stable")[:most]])


def _inverse_root(precision: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix R with R Rᵀ = the inverse of the precision."""
    lower = np.linalg.cholesky(precision)
    return np.asarray(np.linalg.solve(lower.T, np.eye(len(lower))))


class Drawn(NamedTuple):
    """Draws of the parameters of one guess: which of all draws they are, and the parameters, (draws, features)."""

    point: Point
    rows: NDArray[np.int64]
    theta: NDArray[np.float64]


def draw_parameters(points: list[Point], start: float, normals: NDArray[np.float64]) -> list[Drawn]:
    """Draws from the posterior, one for each row of standard normals, shape (draws, at least the parameters).

    Guesses are taken in turn by their weights, beginning at a place between 0 and 1, so that each has its share.
    """
    edges = np.cumsum([point.weight for point in points])
    n = len(normals)
    pick = np.minimum(np.searchsorted(edges, (np.arange(n) + start) / n), len(points) - 1)
    drawn = []
    for k in np.unique(pick).tolist():
        rows, point = np.flatnonzero(pick == k), points[k]
        theta = point.draw(normals[rows])
        # A crowd does not speak against what it says: such a draw becomes one of all other parameters given t = 0.
        with_crowd = point.root @ point.root[0]
        theta -= np.minimum(theta[:, :1], 0.0) * (with_crowd / with_crowd[0])
        drawn.append(Drawn(point, rows, theta))
    return drawn


def most_parameters(points: list[Point]) -> int:
    """The largest number of parameters of a guess."""
    return max(len(point.mode) for point in points)


def chances(features: Features, drawn: list[Drawn], rows: slice) -> NDArray[np.float32]:
    """P(each option) of some items in each draw, "none of them" last: shape (items, options + none, draws).

    In single precision, which takes a third of the time, and is far more exact than draws are.
    """
    n = sum(len(part.rows) for part in drawn)
    out = np.empty((len(features.option[rows]), features.width + 1, n), dtype=np.float32)
    for point, at, theta in drawn:
        own = features.of(point.voices[None], point.split, rows)[0].astype(np.float32)
        out[:, :, at] = own @ theta.T.astype(np.float32)
    out += features.barred[rows, :, None].astype(np.float32)
    out -= out.max(axis=1, keepdims=True, initial=-1e30)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


def draw_chances(features: Features, points: list[Point], rng: np.random.Generator, n: int) -> NDArray[np.float32]:
    """n draws of P(each option), with "none of them" in the last place: shape (items, options + none, n)."""
    drawn = draw_parameters(points, rng.random(), rng.standard_normal((n, most_parameters(points))))
    return chances(features, drawn, slice(None))
