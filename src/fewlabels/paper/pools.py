"""The labelled pools that the tables are run on, under the paper's names for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.errors import InputError
from fewlabels.io import read_pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from fewlabels.pool import Pool

_OTHER_MODEL = "not the paper's model, so its numbers need not agree with the paper's"


@dataclass(frozen=True)
class Dataset:
    """A data set of the paper: its name there, the file here, the m of its top-m tables, and a note on it."""

    dataset: str
    file: str
    top: int
    note: str = ""


SOURCES = (
    Dataset("CIFAR-100", "cifar100", 10),
    Dataset("ImageNet", "imagenet", 10),
    Dataset("SVHN", "svhn", 3),
    Dataset("20 News", "newsgroups", 3, _OTHER_MODEL),
    Dataset("DBpedia", "dbpedia", 3, f"{_OTHER_MODEL}, and 10,000 of its 70,000 items"),
)
"""The five of the paper."""

SCORED = Dataset("CIFAR-100", "cifar100_wrn", 10, f"a WideResNet-16-4 with score vectors: {_OTHER_MODEL}")
"""The replacement for the authors' CIFAR-100 pool, which has no score vectors, where these are needed."""


@dataclass(frozen=True, eq=False)
class PaperPool:
    """A pool, and the true class of each item, shape (items,)."""

    source: Dataset
    pool: Pool
    labels: NDArray[np.int64]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each item's predicted class is the true one, shape (items,)."""
        return np.asarray(self.pool.predicted == self.labels)


def chosen(names: Iterable[str] | None) -> tuple[Dataset, ...]:
    """The data sets of the paper that are asked for, in the paper's order; all for None.

    Upper and lower case, spaces and hyphens do not matter, and the file's name will do.

    >>> [source.dataset for source in chosen(["svhn", "CIFAR-100"])]
    ['CIFAR-100', 'SVHN']
    """
    if names is None:
        return SOURCES
    wanted = [_plain(name) for name in names]
    known = {_plain(word): source for source in SOURCES for word in (source.dataset, source.file)}
    for word in wanted:
        if word not in known:
            listed = ", ".join(source.dataset for source in SOURCES)
            raise InputError(f"the paper has no data set {word!r}. It has {listed}.")
    return tuple(source for source in SOURCES if source in {known[word] for word in wanted})


def load(source: Dataset, folder: str | Path) -> PaperPool:
    """Read a pool and its labels from `folder`; a missing file is an InputError that says what it must contain."""
    path = Path(folder) / f"{source.file}.npz"
    if not path.is_file():
        raise InputError(
            f"the file {path} does not exist, but {source.dataset} needs it. The data are not part of fewlabels: give "
            "--data the folder with the pools. Each is an .npz file with the keys labels and classes, and scores or "
            "predicted and confidence."
        )
    with np.load(path, allow_pickle=False) as arrays:
        missing = [key for key in ("labels", "classes") if key not in arrays]
        if missing:
            raise InputError(f"{path} has no key {missing[0]!r}, without which nothing can be replayed.")
        labels, classes = np.asarray(arrays["labels"], dtype=np.int64), arrays["classes"]
        if "scores" in arrays:
            pool = read_pool(path)
        else:
            # By name, because the classes of ImageNet are called 0000, 0001, ...: numbers that are not positions.
            named = {"predicted": classes[arrays["predicted"]], "confidence": arrays["confidence"]}
            pool = read_pool(named, classes=classes.tolist())
    if len(labels) != len(pool) or labels.min() < 0 or labels.max() >= len(pool.classes):
        raise InputError(f"the labels in {path} must be one position in its classes for each of {len(pool):,} items.")
    return PaperPool(source, pool, labels)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "").replace(" ", "").replace("_", "")
