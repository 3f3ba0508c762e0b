"""How much groups differ beyond what is known about their items: the priors of τ and ω, and groups unlike others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.learned.items.kinds import is_open

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.items.strips import Strips

# How much cells differ beyond their confidences, and how probable that is beforehand: around 0.43 for nearly all of the
# surveyed classifiers. One in sixteen is taken to have cells with nothing in common, so that these are soon found out.
TAUS = np.array([0.1, 0.2, 0.43, 0.9, 2.0])
TAU_PRIOR = np.array([0.04, 0.1, 0.7, 0.1, 0.06])
# Where it is unclear what confidences mean, or there are none, they explain little of what cells differ by.
OPEN_TAU_PRIOR = np.array([0.04, 0.1, 0.36, 0.3, 0.2])
# Groups by columns of the pool, such as sex or site, are often alike beyond their confidences, and sometimes very
# different: a classifier was not made to tell them apart.
COLUMNS_TAU_PRIOR = np.array([0.4, 0.15, 0.2, 0.2, 0.05])
# Where several factors are crossed (the groups of reading with those of asking, or predicted classes with groups), the
# τ is how much they interact. Less is known about columns than about classes, so it is vaguer.
CROSSED_TAU_PRIOR = np.array([0.35, 0.25, 0.25, 0.1, 0.05])
# How much the levels of the crossed factors differ: the first one's, and all others'. They need not be alike: classes
# mostly differ by 0.43, while languages may not differ at all, or much more.
OMEGAS = np.array(
    [[0.1, 0.1], [0.1, 0.43], [0.1, 0.9], [0.43, 0.1], [0.43, 0.43], [0.43, 0.9], [0.43, 1.8], [0.9, 0.43], [0.9, 0.9]]
)
OMEGA_PRIOR = np.array([0.13, 0.1, 0.05, 0.12, 0.27, 0.13, 0.07, 0.07, 0.06])
# The same where only one is crossed.
ONE_OMEGA, ONE_OMEGA_PRIOR = np.array([[0.1], [0.43], [0.9], [1.8]]), np.array([0.25, 0.5, 0.17, 0.08])
# Among few groups, one may be quite unlike the others, which are alike and say so: a class that is seldom predicted, a
# site with another camera. So each of up to five groups is wild with the first probability, and its u has at least the
# sd that follows. Among more groups fewer are (by the cube of their number), since these show by themselves how much
# they differ. Below the last number none is.
_WILD, WILD_TAU, _WILD_GROUPS, _TAME = 0.1, 2.0, 5, 0.01
# That does not hold for groups with at most this part of the items that others have (the median), since a classifier
# has learned little about them: they are wild with the first probability; groups by columns of the pool, which are
# expected to differ more anyway, with the second.
_SMALL, _WILD_IF_SMALL = 0.25, np.array([0.1, 0.05])


def tau_prior(strips: Strips, *, crossed: bool) -> NDArray[np.float64]:
    """The prior of τ for each kind of classifier, shape (kinds, taus)."""
    if crossed or strips.columns:
        prior = CROSSED_TAU_PRIOR if crossed else COLUMNS_TAU_PRIOR
        return np.tile(prior, (len(strips.kinds), 1))
    return np.where(is_open(strips.kinds)[:, None], OPEN_TAU_PRIOR, TAU_PRIOR)


def omega_grid(crossed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much the levels of each crossed factor differ, shape (omegas, crossed), and how probable that is."""
    if crossed == 0:
        return np.empty((1, 0)), np.ones(1)
    if crossed == 1:
        return ONE_OMEGA, ONE_OMEGA_PRIOR
    return OMEGAS[:, [0] + [1] * (crossed - 1)], OMEGA_PRIOR


def wild_shares(strips: Strips) -> NDArray[np.float64]:
    """How probable it is that each group is wild, quite unlike the others, shape (levels,).

    max(0.1·min(1, 5/G)³, w·min(1, n/(4 n_g))²) for the group g of G, with n_g items, and n the median of these; w is
    0.1, and 0.05 for groups by columns. 0 for one group, bins, and crossed factors (`crossed_sds`).
    """
    size = np.bincount(strips.effect, strips.size)
    if len(size) == 1 or len(strips.crossed) or strips.scale[0] < 1:
        return np.zeros(len(size))
    few = _WILD * min(1.0, _WILD_GROUPS / len(size)) ** 3
    small = _WILD_IF_SMALL[int(strips.columns)] * _small(size)
    return np.where((share := np.maximum(few, small)) < _TAME, 0.0, share)


def _small(size: NDArray[Any]) -> NDArray[np.float64]:
    """min(1, n/(4 n_g))² for groups of these sizes: 1 for those with at most a quarter of the median's items."""
    # Not `np.median`: with it NumPy imports its masked arrays, a tenth of a command.
    middle = np.sort(size)[[(len(size) - 1) // 2, len(size) // 2]].mean()
    small: NDArray[np.float64] = np.minimum(1, _SMALL * middle / np.maximum(size, 1)) ** 2
    return small


def crossed_sds(strips: Strips, omegas: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sd of every crossed effect v, shape (omegas, effects), from those of their factors, (omegas, factors).

    It is √((c ω)² + 2² w): c is how much a factor differs compared with groups, and w how probable it is that a level
    is wild, which only small ones are. A v cannot be wild or not, as a u can, since all are fitted at once; so the
    variance is that of the two together. No bin or verdict is wild.
    """
    sds = []
    for levels, scale, each in zip(strips.crossed, strips.scale[1:], omegas.T, strict=True):
        small = _small(np.bincount(levels, strips.size)) if scale == 1 else np.zeros(int(levels.max()) + 1)
        share = _WILD_IF_SMALL[0] * small
        share = np.where(share < _TAME, 0.0, share)
        sds.append(np.hypot(scale * each[:, None], WILD_TAU * np.sqrt(share)))
    return np.concatenate(sds, axis=1) if sds else np.empty((len(omegas), 0))
