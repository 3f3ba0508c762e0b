"""The built-in demo data: pictures with a real classifier's scores for them, and the true labels."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Pictures:
    """Pictures with a classifier's scores, for demos and tests; made by `load_fashion` and `load_digits`.

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
        Grey values from 0 (paper) to 255 (ink), shape (items, height, width).

    Examples
    --------
    >>> from fewlabels.data import load_digits
    >>> digits = load_digits()
    >>> digits
    <Pictures: 1,647 items, 10 classes>
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
        return f"<Pictures: {len(self):,} items, {len(self.classes)} classes>"

    def addresses(self) -> list[str]:
        """Each picture as a data: address, for the column that an annotator looks at.

        >>> from fewlabels.data import load_digits
        >>> load_digits().addresses()[0][:26]
        'data:image/png;base64,iVBO'
        """
        return [f"data:image/png;base64,{base64.b64encode(png(image)).decode()}" for image in self.images]


def png(image: NDArray[np.uint8]) -> bytes:
    r"""A picture as a PNG file; grey values from 0 (paper) to 255 (ink) of shape (height, width).

    >>> import numpy as np
    >>> png(np.zeros((2, 3), np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    height, width = image.shape
    # Every row begins with the number of its filter: 0, none.
    rows = np.column_stack([np.zeros(height, np.uint8), 255 - image])
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    file = b"\x89PNG\r\n\x1a\n"
    for kind, data in parts:
        file += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return file


def load_digits() -> Pictures:
    """1,647 images of handwritten digits and the scores of a naive Bayes classifier that saw 150 others.

    `README.md` beside the data says where they come from and under which licence.

    >>> from fewlabels.data import load_digits
    >>> digits = load_digits()
    >>> predicted = [digits.classes[k] for k in digits.scores.argmax(axis=1)]
    >>> right = sum(p == label for p, label in zip(predicted, digits.labels, strict=True))
    >>> f"{right / len(digits):.3f} right, and it says {digits.scores.max(axis=1).mean():.3f} itself"
    '0.826 right, and it says 0.989 itself'
    """
    return _loaded("digits.npz")


def load_fashion() -> Pictures:
    """3,971 pictures of clothes from Fashion-MNIST and the scores of a small network: the data of `fewlabels demo`.

    `README.md` beside the data says where they come from and under which licence.

    >>> from fewlabels.data import load_fashion
    >>> fashion = load_fashion()
    >>> fashion, fashion.images.shape
    (<Pictures: 3,971 items, 10 classes>, (3971, 28, 28))
    """
    return _loaded("fashion.npz")


def _loaded(name: str) -> Pictures:
    with (files(__name__) / name).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return Pictures(
            ids=tuple(stored["ids"].tolist()),
            scores=stored["scores"],
            labels=tuple(stored["labels"].tolist()),
            classes=tuple(stored["classes"].tolist()),
            images=stored["images"],
        )
