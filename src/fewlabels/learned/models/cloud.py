"""Draws of the parameters of a guess from the posterior itself, instead of from the Gaussian at its mode.

If one of two models is right nearly wherever they differ, the log-odds of being right have a long tail upwards, which
no Gaussian has: differences would come out too small, and their intervals too. So the Gaussian, with wider tails, only
proposes, and each proposal is weighted by the posterior (importance sampling).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.special import gammaln, ndtr

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Proposals, and their generator: the same labels give the same draws.
_PROPOSALS, _SEED = 2_000, 0x636C6F7564
# Degrees of freedom of the tails of proposals, beside one for each parameter.
_TAILS = 4
MOST = 1_000
"""With more labels than this the posterior is as good as Gaussian, and proposals would take long."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Weighted draws from a posterior.

    Parameters
    ----------
    theta
        The parameters, shape (proposals, parameters), in the order of what they say about the two that are compared.
    edges
        The cumulated weights, shape (proposals,), up to 1.
    """

    theta: NDArray[np.float64]
    edges: NDArray[np.float64]

    def draw(self, normals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draw parameters, one row for each row of standard normals, of which the first number decides."""
        return self.theta[np.searchsorted(self.edges, ndtr(normals[:, 0])).clip(max=len(self.theta) - 1)]


class Seen(NamedTuple):
    """What is known about the parameters of a guess.

    Parameters
    ----------
    features
        Of the labelled items, shape (labels, options + none, parameters).
    barred
        −∞ for options that an item has not, otherwise 0, shape (labels, options + none).
    shown
        The option that each label showed, shape (labels,).
    mean, precision
        The prior of each parameter.
    """

    features: NDArray[np.float64]
    barred: NDArray[np.float64]
    shown: NDArray[np.int64]
    mean: NDArray[np.float64]
    precision: NDArray[np.float64]

    def fits(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log of prior and likelihood of some parameters, shape (sets, parameters), without (2π)^(−k/2)."""
        labels, options, size = self.features.shape
        eta = np.matmul(self.features.reshape(-1, size), theta.T).reshape(labels, options, -1) + self.barred[..., None]
        top = eta.max(axis=1, initial=-1e300)
        chosen = eta[np.arange(labels), self.shown] - top - np.log(np.exp(eta - top[:, None]).sum(axis=1))
        prior = np.log(self.precision) - self.precision * (theta - self.mean) ** 2
        return np.asarray(chosen.sum(axis=0) + prior.sum(axis=1) / 2)


def gather(
    seen: Seen, mode: NDArray[np.float64], root: NDArray[np.float64], apart: tuple[int, int]
) -> tuple[Cloud, float]:
    """The posterior of the parameters and its log evidence, from proposals around the mode.

    `root`: the covariance of the Gaussian at the mode is root·rootᵀ. `apart`: the two parameters whose difference says
    which model is better.
    """
    size = len(mode)
    rng, tails = np.random.default_rng([_SEED, size]), _TAILS + size
    z = rng.standard_normal((_PROPOSALS, size)) * np.sqrt(tails / rng.chisquare(tails, _PROPOSALS))[:, None]
    theta = mode + z @ root.T
    height = gammaln((tails + size) / 2) - gammaln(tails / 2) - size / 2 * np.log(tails / 2)
    proposed = height - np.linalg.slogdet(root)[1] - (tails + size) / 2 * np.log1p((z**2).sum(axis=1) / tails)
    fits = seen.fits(theta) - proposed
    weight = np.exp(fits - fits.max())
    order = np.argsort(theta[:, apart[0]] - theta[:, apart[1]], kind="stable")
    edges = np.cumsum(weight[order])
    return Cloud(theta[order], edges / edges[-1]), float(fits.max() + np.log(weight.mean()))
