"""Make pools of classifiers that break what most classifiers keep to, trained here on made data.

python benchmarks/unseen.py DIR
python benchmarks/honest.py --data DIR --pools shifted,rare --runs 16 --budgets 50,200 --others

Needs scikit-learn, and writes an NPZ file for each of eight classifiers: trained on other shares of classes than it
meets, on a class that is rare, sure far away from all it was trained on, with two classes, with 500, with confidences
that are one of three, with confidences of 1 where none was known, and with groups of very different sizes. Each item
has columns (`lang` with eight levels, the largest a hundred times the smallest, and `tier` with two), and in one
language the features are noisy, so that the classifier is worse there than it knows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_FEATURES = 12
_LANGUAGES = np.array([0.5, 0.2, 0.12, 0.08, 0.05, 0.03, 0.015, 0.005])
_NOISY = 4  # the language with noisy features


class Task(NamedTuple):
    """A classifier, how many classes and clusters of each, the shares that it learns from and meets, and its items."""

    name: str
    model: Any
    classes: int
    learns: NDArray[np.float64]
    meets: NDArray[np.float64]
    trained: int = 1500
    items: int = 6000
    apart: float = 1.6
    far: float = 0.0


def even(classes: int) -> NDArray[np.float64]:
    """Equal shares."""
    return np.full(classes, 1 / classes)


def tasks() -> Iterator[Task]:
    """The eight classifiers."""
    from sklearn.ensemble import HistGradientBoostingClassifier as Boosting
    from sklearn.ensemble import RandomForestClassifier as Forest
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier

    logistic = LogisticRegression(max_iter=500)
    rare, zipf = np.array([0.98, 0.02]), 1 / np.arange(1, 7)
    yield Task("shifted", logistic, 2, even(2), rare)
    yield Task("rare", Boosting(max_iter=60, random_state=0), 2, rare, rare, 4000)
    network = MLPClassifier((40,), max_iter=600, random_state=0)
    yield Task("uneven", network, 6, even(6), zipf / zipf.sum(), 600, apart=1.2)
    yield Task("far", LogisticRegression(max_iter=500), 5, even(5), even(5), far=0.3)
    yield Task("two", Forest(80, random_state=0), 2, even(2), np.array([0.7, 0.3]), 300, 3000, apart=0.8)
    yield Task("many", GaussianNB(), 500, even(500), even(500), 10_000, 12_000, apart=3.0)
    yield Task("rounded", GaussianNB(), 4, even(4), even(4), 400, apart=1.0)
    yield Task("partly", Forest(60, min_samples_leaf=3, random_state=0), 8, even(8), even(8), 800, apart=1.2)


def drawn(
    task: Task, rng: np.random.Generator, shares: NDArray[np.float64], items: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features and classes: three clusters for each class, at the same places whatever the shares."""
    centres = np.random.default_rng(7).normal(0, task.apart, (task.classes, 3, _FEATURES))
    true = rng.choice(task.classes, items, p=shares)
    return centres[true, rng.integers(3, size=items)] + rng.normal(0, 1.5, (items, _FEATURES)), true


def pool_of(task: Task) -> dict[str, Any]:
    """Train the classifier on some items, and let it judge others."""
    rng = np.random.default_rng(8)
    features, truth = drawn(task, rng, task.learns, task.trained)
    task.model.fit(features, truth)
    features, truth = drawn(task, rng, task.meets, task.items)
    lang, tier = rng.choice(8, task.items, p=_LANGUAGES), rng.integers(2, size=task.items)
    features[lang == _NOISY] += rng.normal(0, 2.5, (int((lang == _NOISY).sum()), _FEATURES))
    away = rng.random(task.items) < task.far
    features[away] *= -4.0
    kept = np.isin(truth, task.model.classes_)
    scores = task.model.predict_proba(features[kept])
    classes = np.array([f"class {k}" for k in task.model.classes_])
    columns = {"lang": np.array([f"l{k}" for k in lang[kept]]), "tier": np.array([f"t{k}" for k in tier[kept]])}
    outputs: dict[str, Any] = {"scores": scores.astype(np.float32)}
    if task.name in ("rounded", "partly"):
        confidence = scores.max(axis=1)
        if task.name == "rounded":
            confidence = np.array([0.5, 0.9, 0.99])[np.searchsorted([0.8, 0.97], confidence)]
        else:
            confidence[rng.random(len(confidence)) < 0.4] = 1.0  # what was missing was filled in
        outputs = {"predicted": scores.argmax(axis=1), "confidence": confidence}
    return outputs | {"labels": np.searchsorted(task.model.classes_, truth[kept]), "classes": classes} | columns


def main() -> None:
    """Write the pools."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files are written")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks():
        pool = pool_of(task)
        np.savez(folder / f"{task.name}.npz", **pool)
        predicted = pool["scores"].argmax(axis=1) if "scores" in pool else pool["predicted"]
        confidence = pool["scores"].max(axis=1) if "scores" in pool else pool["confidence"]
        right = predicted == pool["labels"]
        sizes = np.bincount(predicted, minlength=len(pool["classes"]))
        print(
            f"{task.name:8} {len(right):,} items, {len(sizes)} classes of {sizes.min()} to {sizes.max()}: right "
            f"{right.mean():.1%}, says {confidence.mean():.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
