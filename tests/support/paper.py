"""Small pools in the place of the paper's data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from click.testing import CliRunner

from fewlabels.cli.paper import paper
from fewlabels.paper.pools import SCORED, SOURCES, PaperPool, load
from fewlabels.paper.superclasses import SUPERCLASS

if TYPE_CHECKING:
    from pathlib import Path

# Classes and items of the made-up pools: enough for the paper's budgets of the first rows, and for its top-m.
SIZES = {
    "cifar100": (100, 620),
    "imagenet": (13, 2_100),
    "svhn": (10, 320),
    "newsgroups": (20, 320),
    "dbpedia": (14, 320),
}


def make_pool(path: Path, names: list[str], items: int, *, scores: bool, seed: int) -> None:
    """A pool of a fairly good classifier that is surer than it should be, every class predicted at least once."""
    rng = np.random.default_rng(seed)
    k = len(names)
    predicted = np.concatenate([np.arange(k), rng.integers(k, size=items - k)]).astype(np.int32)
    confidence = (0.4 + 0.6 * rng.beta(3, 1, size=items)).astype(np.float32)
    wrong = rng.random(items) > confidence * (0.7 + 0.25 * predicted / k)
    labels = np.where(wrong, (predicted + rng.integers(1, k, size=items)) % k, predicted).astype(np.int32)
    arrays: dict[str, Any] = {"labels": labels, "classes": np.array(names)}
    if scores:
        rest = ((1 - confidence) / (k - 1))[:, None]
        arrays["scores"] = np.where(np.arange(k) == predicted[:, None], confidence[:, None], rest).astype(np.float32)
    else:
        arrays |= {"predicted": predicted, "confidence": confidence}
    np.savez(path, **arrays)


def make_pools(folder: Path) -> None:
    """A small pool under each name that the program looks for."""
    for seed, (name, (classes, items)) in enumerate(SIZES.items()):
        names = sorted(SUPERCLASS) if classes == 100 else [f"{i:04d}" for i in range(classes)]
        make_pool(folder / f"{name}.npz", names, items, scores=name in {"svhn", "newsgroups"}, seed=seed)
    make_pool(folder / "cifar100_wrn.npz", sorted(SUPERCLASS), 620, scores=True, seed=9)


def pool_of(folder: Path, name: str) -> PaperPool:
    return load(next(source for source in (*SOURCES, SCORED) if source.file == name), folder)


def run(*arguments: object) -> str:
    done = CliRunner().invoke(paper, [str(one) for one in arguments])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout
