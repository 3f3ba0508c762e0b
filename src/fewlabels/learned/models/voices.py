"""Who is right where models differ: a crowd, and a few voices of their own, averaged over who these are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.models.answers import Answers

# Prior mean and sd of: the weight of the crowd, of "none of them", of a confidence in the crowd, of one of a voice.
CROWD, NONE, CROWD_SLOPE, VOICE_SLOPE = (3.0, 3.0), (0.0, 1.5), (1.0, 1.0), (0.3, 0.4)
# Two kinds of voices: models that are nearly alike, and models of which some are far better. Mean and sd of a weight.
VOICES = ((0.0, 0.4), (1.5, 2.0))
# One voice more is this much less probable; with so few models all of them may be voices at once.
_MORE, _ALL = 0.5, 12
# The search: sets of voices that are extended, new members tried for each, the largest set, and a last step's gain.
_BEAM, _TRIED, _MOST, _ENOUGH = 12, 6, 6, 1e-3
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class Point:
    """One set of voices: its members, the mode of the parameters, and a root R of their covariance, R Rᵀ."""

    voices: NDArray[np.int64]
    mode: NDArray[np.float64]
    root: NDArray[np.float64]
    weight: float


class Features:
    """What the log-odds of the options of some items are made of: shape (items, options + none, features)."""

    def __init__(self, answers: Answers, items: NDArray[np.int64], width: int) -> None:
        option = answers.option[items]
        self.option = option
        n, models = option.shape
        self.width = width
        count = answers.options[items]
        place = np.arange(width + 1)
        self.barred = np.where(place < count[:, None], 0.0, -np.inf)
        # "None of them" has the last place of all, so that it is the same for every item.
        self.barred[:, width] = np.where(answers.others[items], 0.0, -np.inf)
        says = option[:, None, :] == place[:width, None]
        votes = says.sum(axis=2) / models
        base = [np.column_stack([votes, np.zeros(n)]), np.tile((place == width).astype(float), (n, 1))]
        self.x = None if answers.x is None else answers.x[items]
        if self.x is not None:
            base.append(np.column_stack([(says * self.x[:, None, :]).sum(axis=2) / models, np.zeros(n)]))
        self.base = np.stack(base, axis=2)
        self.says = np.concatenate([says, np.zeros((n, 1, models), dtype=bool)], axis=1)

    def of(self, voices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The features for sets of voices of one size, (sets, k), as (sets, items, options + none, features)."""
        own = np.moveaxis(self.says[:, :, voices], 2, 0).astype(float)  # sets, items, options, k
        sets = len(voices)
        parts = [np.broadcast_to(self.base, (sets, *self.base.shape)), own]
        if self.x is not None:
            slope = (own * np.moveaxis(self.x[:, voices], 1, 0)[:, :, None, :]).sum(axis=3, keepdims=True)
            parts.append(slope)
        return np.concatenate(parts, axis=3)


def prior_of(features: Features, size: int, kind: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Prior mean and precision of the parameters for a set of voices of this size."""
    rows = [CROWD, NONE]
    if features.x is not None:
        rows.append(CROWD_SLOPE)
    rows += [VOICES[kind]] * size
    if features.x is not None:
        rows.append(VOICE_SLOPE)
    mean, sd = np.array(rows).T
    return mean, 1 / sd**2


def fit_sets(
    features: Features, shown: NDArray[np.int64], voices: NDArray[np.int64], kind: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Laplace for all sets of voices of one size at once: modes, precisions, log evidences, and P of each option."""
    f = features.of(voices)
    sets, labels = f.shape[0], f.shape[1]
    mean, precision = prior_of(features, voices.shape[1], kind)
    at = np.arange(labels)
    seen = f[:, at, shown].sum(axis=1)
    theta = np.repeat(mean[None], sets, axis=0)

    def look(theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        eta = np.matmul(f.reshape(sets, -1, f.shape[3]), theta[:, :, None]).reshape(f.shape[:3]) + features.barred
        eta -= eta.max(axis=2, keepdims=True) if labels else 0.0
        p = np.exp(eta)
        total = p.sum(axis=2, keepdims=True)
        fits = (eta[:, at, shown] - np.log(total[:, :, 0])).sum(axis=1)
        return p / total, fits - (precision * (theta - mean) ** 2).sum(axis=1) / 2

    p, value = look(theta)
    for _ in range(50):
        middle = np.matmul(p[:, :, None, :], f)[:, :, 0]
        root = ((f - middle[:, :, None]) * np.sqrt(p)[..., None]).reshape(sets, -1, f.shape[3])
        curve = np.matmul(root.swapaxes(1, 2), root)
        curve[:, np.arange(len(mean)), np.arange(len(mean))] += precision
        slope = seen - middle.sum(axis=1) - precision * (theta - mean)
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        if float((slope * step).sum(axis=1).max(initial=0.0)) < _ENOUGH:
            break
        scale = np.ones((sets, 1))
        for _ in range(30):
            p, new = look(theta + scale * step)
            worse = new < value - 1e-9
            if not worse.any():
                break
            scale = np.where(worse[:, None], scale / 2, scale)
        theta, value = theta + scale * step, new
    evidence = value + (np.log(precision).sum() - np.linalg.slogdet(curve)[1]) / 2
    return theta, curve, evidence, p


def listen(answers: Answers, items: NDArray[np.int64], shown: NDArray[np.int64]) -> list[Point]:
    """The posterior over sets of voices, from labels of contested items: which option each showed (−1 is none of them).

    Sets are searched for: the best are extended by the members that the labels speak for most.
    """
    width = int(answers.options.max(initial=1))
    features = Features(answers, items, width)
    place = np.where(shown < answers.options[items], shown, width)
    found: list[Point] = []
    for kind in range(len(VOICES)):
        found += _search(features, place, kind, answers.models)
    best = max(point.weight for point in found)
    kept = [point for point in found if point.weight > best + np.log(_NEGLIGIBLE)]
    total = sum(np.exp(point.weight - best) for point in kept)
    return [Point(q.voices, q.mode, q.root, float(np.exp(q.weight - best) / total)) for q in kept]


def _search(features: Features, shown: NDArray[np.int64], kind: int, models: int) -> list[Point]:
    found: list[Point] = []
    voices = np.empty((1, 0), dtype=np.int64)
    size = 0
    while True:
        theta, curve, evidence, p = fit_sets(features, shown, voices, kind)
        prior = size * np.log(_MORE) - _log_choose(models, size)
        order = np.argsort(-evidence)
        for i in order:
            found.append(Point(voices[i], theta[i], curve[i], float(evidence[i] + prior)))
        size += 1
        if size > min(_MOST, models):
            break
        voices = _extended(features, shown, voices[order[:_BEAM]], p[order[:_BEAM]], kind)
    if models > _MOST and models <= _ALL:
        every = np.arange(models)[None]
        theta, curve, evidence, _ = fit_sets(features, shown, every, kind)
        found.append(Point(every[0], theta[0], curve[0], float(evidence[0] + np.log(_MORE) * 2)))
    return [Point(q.voices, q.mode, _root(q.root), q.weight) for q in found]


def _extended(
    features: Features, shown: NDArray[np.int64], voices: NDArray[np.int64], p: NDArray[np.float64], kind: int
) -> NDArray[np.int64]:
    """Each set with one voice more: those that a step from the prior mean would gain most with."""
    mean, sd = VOICES[kind]
    hit = features.option == shown[:, None]
    chance = np.einsum("cns,nsh->cnh", p, features.says.astype(float))
    slope = (hit - chance).sum(axis=1)
    curve = (chance * (1 - chance)).sum(axis=1)
    gain = (slope - mean / sd**2 * 0) ** 2 / (2 * (curve + 1 / sd**2))
    np.put_along_axis(gain, voices, -np.inf, axis=1)
    tried = min(_TRIED if len(voices) > 1 else max(_BEAM * 2, _TRIED), gain.shape[1] - voices.shape[1])
    best = np.argsort(-gain, axis=1)[:, :tried]
    sets = np.concatenate([np.repeat(voices, tried, axis=0), best.reshape(-1, 1)], axis=1)
    return np.unique(np.sort(sets, axis=1), axis=0)


def _root(precision: NDArray[np.float64]) -> NDArray[np.float64]:
    lower = np.linalg.cholesky(precision)
    return np.linalg.solve(lower.T, np.eye(len(precision)))


def _log_choose(n: int, k: int) -> float:
    return float(np.sum(np.log(np.arange(n - k + 1, n + 1))) - np.sum(np.log(np.arange(1, k + 1))))


def draw_chances(
    answers: Answers, items: NDArray[np.int64], points: list[Point], rng: np.random.Generator, n: int
) -> NDArray[np.float64]:
    """n draws of P(each option), and of "none of them" in the last place: shape (n, items, options + 1)."""
    width = int(answers.options.max(initial=1))
    features = Features(answers, items, width)
    pick = np.sort(rng.choice(len(points), size=n, p=[q.weight for q in points]))
    out = np.empty((n, len(items), width + 1))
    for k in np.unique(pick):
        rows = np.flatnonzero(pick == k)
        q = points[k]
        theta = q.mode + rng.standard_normal((len(rows), len(q.mode))) @ q.root.T
        f = features.of(q.voices[None])[0]
        eta = np.moveaxis(f @ theta.T, 2, 0) + features.barred
        eta -= eta.max(axis=2, keepdims=True)
        np.exp(eta, out=eta)
        out[rows] = eta / eta.sum(axis=2, keepdims=True)
    return out
