"""The built-in demo data: a real classifier's scores for handwritten digits, and the true labels."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Digits:
    """Handwritten digits with a classifier's scores, for demos and tests; made by `load_digits`.

    Parameters
    ----------
    ids
        A name for each item, shape (items,).
    scores
        The classifier's probability of each class, shape (items, classes).
    labels
        The name of the true class, shape (items,). A pool never gets these: they play the annotator.
    classes
        The names of the classes, in the order of the columns of `scores`.
    images
        Grey values from 0 (paper) to 255 (ink), shape (items, 8, 8).

    Examples
    --------
    >>> from fewlabels.data import load_digits
    >>> digits = load_digits()
    >>> digits
    <Digits: 1,647 items, 10 classes>
    >>> digits.ids[0], digits.labels[0], digits.images[0].shape
    ('digit-0000', 'zero', (8, 8))
    """

    ids: tuple[str, ...]
    scores: NDArray[np.float32]
    labels: tuple[str, ...]
    classes: tuple[str, ...]
    images: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<Digits: {len(self):,} items, {len(self.classes)} classes>"


def load_digits() -> Digits:
    """The demo data: 1,647 images of digits and the scores of a naive Bayes classifier that saw 150 others.

    `README.md` beside the data says where they come from and under which licence.

    >>> from fewlabels.data import load_digits
    >>> digits = load_digits()
    >>> predicted = [digits.classes[k] for k in digits.scores.argmax(axis=1)]
    >>> right = sum(p == label for p, label in zip(predicted, digits.labels, strict=True))
    >>> f"{right / len(digits):.3f} right, and it says {digits.scores.max(axis=1).mean():.3f} itself"
    '0.826 right, and it says 0.989 itself'
    """
    with (files(__name__) / "digits.npz").open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return Digits(
            ids=tuple(stored["ids"].tolist()),
            scores=stored["scores"],
            labels=tuple(stored["labels"].tolist()),
            classes=tuple(stored["classes"].tolist()),
            images=stored["images"],
        )
