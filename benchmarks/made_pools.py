"""Pools made for benchmarks, whose labels are known: columns with effects, and classes in unequal or other shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, softmax

import fewlabels as fl

if TYPE_CHECKING:
    from pathlib import Path

    from fewlabels.pool import Pool


def made(effect: float, seed: int = 3) -> tuple[Pool, list[int]]:
    """A pool of eight classes with columns whose effects on the log-odds of being right have this deviation."""
    rng = np.random.default_rng(seed)
    items = 6000
    lang, tier = rng.choice(6, items, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05]), rng.choice(3, items)
    predicted, s = rng.integers(8, size=items), rng.beta(6, 1.5, items)
    odds = -0.3 + 0.8 * logit(s) + rng.normal(0, effect, 6)[lang] + rng.normal(0, effect, 3)[tier]
    right = rng.random(items) < expit(odds + rng.normal(0, 0.43, 8)[predicted])
    columns = {"lang": [f"l{k}" for k in lang], "tier": [f"t{k}" for k in tier]}
    pool = fl.read_pool({"predicted": [str(k) for k in predicted], "confidence": s} | columns, classes=list("01234567"))
    return pool, np.where(right, predicted, (predicted + 1) % 8).tolist()


def rare(classes: int) -> tuple[Pool, list[int]]:
    """A pool in which the last class is seldom there, and seldom right where it is predicted: its items are others'.

    Classes are less and less frequent. Confidences say how hard an item is, and nothing about the class that it is
    mistaken for, which is mostly the next one.
    """
    rng, items, names = np.random.default_rng([classes, 4]), 3000, [f"c{k:02d}" for k in range(classes)]
    share = np.exp(-3.4 * np.arange(classes) / classes)
    mean = np.append(np.clip(rng.normal(0.9, 0.06, classes - 1), 0.6, 0.98), 0.4)
    true = rng.choice(classes, items, p=share / share.sum())
    chance = np.clip(rng.beta(6 * mean[true] + 0.2, 6 * (1 - mean[true]) + 0.2), 0.01, 0.999)
    other = (true + np.where(rng.random(items) < 0.6, 1, rng.integers(1, classes, items))) % classes
    predicted = np.where(rng.random(items) < chance, true, other)
    s = np.clip(expit(logit(chance) + rng.normal(1, 0.7, items)), 1 / classes, 0.9999)
    return fl.read_pool({"predicted": [names[k] for k in predicted], "confidence": s}, classes=names), true.tolist()


def unequal(groups: int) -> tuple[Pool, list[int]]:
    """A pool of 8,000 items in classes of very different size (Zipf), each with an effect of its own."""
    rng, items = np.random.default_rng([1, groups, 99]), 8000
    share = 1 / np.arange(1, groups + 1) ** 1.1
    predicted = rng.choice(groups, items, p=rng.permutation(share / share.sum()))
    s = np.clip(expit(rng.normal(rng.normal(1.2, 0.4, groups)[predicted], 1.2)), 0.3, 0.999)
    odds = -0.3 + 0.85 * logit(s) + rng.normal(0, 0.5, groups)[predicted]
    right = rng.random(items) < expit(odds)
    classes = [f"c{k}" for k in range(groups)]
    pool = fl.read_pool({"predicted": [classes[k] for k in predicted], "confidence": s}, classes=classes)
    return pool, np.where(right, predicted, (predicted + 1) % groups).tolist()


def shares(classes: int, *, equal: bool) -> tuple[Pool, list[int]]:
    """A pool whose most frequent class comes 16 times as often as the rarest.

    The scores are those of the best classifier there is if classes come in equal shares, or in those of the pool.
    """
    rng, items, names = np.random.default_rng([classes, 7]), 4000, [f"c{k}" for k in range(classes)]
    share = 16.0 ** -(np.arange(classes) / (classes - 1))
    share /= share.sum()
    centre = rng.normal(0, 0.7, (classes, 6))
    true = rng.choice(classes, items, p=share)
    seen = centre[true] + rng.normal(size=(items, 6))
    fits = -((seen[:, None] - centre) ** 2).sum(axis=2) / 2 + (0 if equal else np.log(share))
    return fl.read_pool({"scores": softmax(fits, axis=1)}, classes=names), true.tolist()


def reshared(path: Path, spec: str) -> tuple[Pool, list[int]]:
    """Some classes of a file with scores, in other shares: "0=97+1=3" has 97 items of class 0 for three of class 1.

    Items are left out at random, so what the classifier makes of those of a class stays as it is.
    """
    rng, parts = np.random.default_rng(9), sorted(tuple(map(int, part.split("="))) for part in spec.split("+"))
    kept, share = np.array(parts).T
    with np.load(path, allow_pickle=False) as file:
        scores, true = file["scores"][:, kept].astype(float), file["labels"]
    each = int(min((true == k).sum() / part for k, part in parts) * share.sum()) / share.sum()
    items = [rng.permutation(np.flatnonzero(true == k))[: round(each * part)] for k, part in parts]
    found = np.maximum(scores[np.concatenate(items)], 1e-9)
    pool = fl.read_pool({"scores": found / found.sum(axis=1, keepdims=True)}, classes=[f"c{k}" for k in kept])
    return pool, np.repeat(np.arange(len(kept)), [len(some) for some in items]).tolist()
