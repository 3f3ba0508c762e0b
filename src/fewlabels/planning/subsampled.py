"""A game with several models on a part of the items, if they differ on so many that each look takes long."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.cells import ModelCells
from fewlabels.outcomes import Outcomes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.planning.asking import Game

# A forecast takes seconds up to this amount of work: items on which models differ, times the number of models plus a
# constant for the work that does not depend on it.
_WORK, _ANYWAY = 250_000, 100
# A fourth of the items of the part on which models differ may get labels. Then the part is known 13% better than all
# items would be from as many labels: √(3/4).
_SHARE = 4
# A part is used if the question asks about at least this share of the items on which models differ.
_NEARLY = 0.9


def fitting(models: int) -> int:
    """The most items on which models may differ, for a forecast that takes seconds."""
    return _WORK // (models + _ANYWAY)


def has_room(contested: int, asks: int, models: int, labels: int) -> bool:
    """Whether a forecast takes seconds: all items are few enough, or a part of them is many times the labels so far.

    Models differ on `contested` items, and the question asks about `asks` of them. If these are much fewer, as where
    two of many models are compared, a part of all items would have hardly any of them.

    >>> has_room(2_000, 2_000, 7, 1_500), has_room(8_000, 8_000, 2, 300), has_room(8_000, 8_000, 2, 800)
    (True, True, False)
    >>> has_room(8_000, 300, 5, 50)
    False
    """
    most = fitting(models)
    return contested <= most or (labels < most // _SHARE and asks >= _NEARLY * contested)


def thinned(game: Game, rng: np.random.Generator) -> tuple[Game, int]:
    """Reduce a game to a part of the items that takes seconds; with it, the most labels that can be tried there.

    The part is drawn at random from each group, beside the items that are labelled or asked for. As long as labels are
    few compared with the items of the part, they say as much about it as about all items.
    """
    cells = game.cells
    assert isinstance(cells, ModelCells)
    differ, asks = int((cells.said != cells.said[:, :1]).any(axis=1).sum()), int(game.spec.task.asks(cells).sum())
    most, labels = fitting(len(cells.models)), len(game.known.items)
    if differ <= most or not has_room(differ, asks, len(cells.models), labels):
        return game, game.open
    taken = np.concatenate([game.known.items, game.pending])
    pick = _part(cells.home, taken, most / differ, rng)
    place = np.full(len(cells.cell), -1, dtype=np.int64)
    place[pick] = np.arange(len(pick))
    some, known = cells.some(pick), game.known
    outcomes = Outcomes.of(some, place[known.items], known.shown, known.right)
    return replace(game, cells=some, known=outcomes, pending=place[game.pending]), most // _SHARE - labels


def _part(
    group: NDArray[np.int64], taken: NDArray[np.int64], share: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The items that are taken and this share of each group, at least one item of it, in increasing order."""
    key = rng.random(len(group))
    key[taken] = -1.0
    kept = [taken]
    for g in np.unique(group).tolist():
        here = np.flatnonzero(group == g)
        kept.append(here[np.argsort(key[here], kind="stable")[: max(round(share * len(here)), 1)]])
    return np.unique(np.concatenate(kept))
