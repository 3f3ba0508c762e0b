"""The answers of several models to the same items: who says the same, and how sure each is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Confidences nearer to 0 or 1 than this tell nothing more.
_EDGE = 1e-4


@dataclass(frozen=True, eq=False)
class Answers:
    """For each item the distinct answers, in the order of the first model that gives them: its options 0, 1, 2, ...

    Parameters
    ----------
    option
        The option that each model chooses, shape (items, models); −1 where it has no answer.
    options
        The number of distinct answers to each item, shape (items,).
    others
        Whether the truth can be a class that no model names, shape (items,).
    said
        The answer as a position among the classes, shape (items, models); −1 where there is none.
    x
        logit of the confidence, less its mean for that model, shape (items, models); 0 where there is none; or None.
    """

    option: NDArray[np.int16]
    options: NDArray[np.int64]
    others: NDArray[np.bool_]
    said: NDArray[np.int32]
    x: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.option)

    @property
    def models(self) -> int:
        """The number of models."""
        return self.option.shape[1]

    @cached_property
    def width(self) -> int:
        """The largest number of options of an item, at least 1."""
        return int(self.options.max(initial=1))

    @cached_property
    def contested(self) -> NDArray[np.bool_]:
        """The items on which models differ; one without an answer differs from all that have one."""
        return (self.options > 1) | ((self.options == 1) & (self.option < 0).any(axis=1))

    def shown(self, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """The option that is the true class of some items; the number of options where no model names it."""
        hit = self.said[items] == true[:, None]
        first = np.take_along_axis(self.option[items], hit.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(hit.any(axis=1), first, self.options[items]).astype(np.int64)


def compare_answers(said: NDArray[np.int32], classes: int, confidences: NDArray[np.float64] | None = None) -> Answers:
    """Sort the answers of models, shape (items, models), into the options of each item.

    >>> import numpy as np
    >>> found = compare_answers(np.array([[2, 2, 0], [1, 1, 1]], dtype=np.int32), classes=3)
    >>> found.option.tolist(), found.options.tolist(), found.contested.tolist()
    ([[0, 0, 1], [0, 0, 0]], [2, 1], [True, False])
    """
    option = np.full(said.shape, -1, dtype=np.int16)
    options = np.zeros(len(said), dtype=np.int64)
    for h in range(said.shape[1]):
        fresh = (option[:, h] < 0) & (said[:, h] >= 0)
        rows = np.flatnonzero(fresh)
        same = said[rows] == said[rows, h : h + 1]
        option[rows] = np.where(same, options[rows, None], option[rows])
        options[rows] += 1
    x = None
    if confidences is not None:
        known = np.isfinite(confidences)
        x = logit(np.clip(np.where(known, confidences, 0.5), _EDGE, 1 - _EDGE))
        mean = np.where(known, x, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        x = np.where(known, x - mean, 0.0)
    return Answers(option, options, options < classes, said, x)
