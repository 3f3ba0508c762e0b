"""Make the data of `fewlabels demo`: pictures of clothes, and a real, imperfect classifier's scores for them."""

from __future__ import annotations

import gzip
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

NAMES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
# From the most to the least frequent: real pools are uneven, and it is rare classes that a random sample hardly sees.
COMMON = ("Trouser", "Sneaker", "Ankle boot", "T-shirt/top", "Bag", "Dress", "Sandal", "Coat", "Pullover", "Shirt")
TARGET = Path(__file__).parents[1] / "src" / "fewlabels" / "data" / "fashion.npz"


def read_idx(path: Path) -> np.ndarray:
    """An array in the IDX format of the original files: two zeros, a type, the number of axes, their lengths, bytes."""
    data = gzip.decompress(path.read_bytes())
    axes = data[3]
    shape = np.frombuffer(data, ">i4", count=axes, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


def thinned(labels: np.ndarray, seed: int) -> np.ndarray:
    """Rows to keep, in increasing order: 1,000 · r^−0.7 random ones of the r-th most common class, shape (kept,)."""
    rng = np.random.default_rng(seed)
    counts = {NAMES.index(name): round(1000 * rank**-0.7) for rank, name in enumerate(COMMON, start=1)}
    return np.sort(np.concatenate([rng.permutation(np.flatnonzero(labels == k))[:n] for k, n in counts.items()]))


def make_fashion(folder: Path, trained_on: int = 20_000, seed: int = 0) -> dict[str, np.ndarray]:
    """The arrays of fashion.npz, by name, from a folder with the four original files.

    The classifier is a network with one hidden layer of 64 units after ten passes over a third of the training
    images, where all classes are equally frequent. The items are images of the test part.
    """
    images, labels = (read_idx(folder / f"train-{kind}.gz") for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    model = MLPClassifier((64,), batch_size=100, max_iter=10, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped early on purpose
        model.fit(images[:trained_on].reshape(trained_on, -1) / 255, labels[:trained_on])
    images, labels = (read_idx(folder / f"t10k-{kind}.gz") for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    rows = thinned(labels, seed)
    return {
        "scores": model.predict_proba(images[rows].reshape(len(rows), -1) / 255).astype(np.float32),
        "labels": np.array(NAMES)[labels[rows]],
        "classes": np.array(NAMES),
        "ids": np.array([f"fashion-{row:04d}" for row in rows]),
        "images": images[rows],
    }


def main() -> None:
    """Write the file and say what is in it."""
    if len(sys.argv) != 2:
        sys.exit(
            "usage: make_fashion.py FOLDER\nFOLDER has the four files train- and t10k-*-ubyte.gz of Fashion-MNIST."
        )
    arrays = make_fashion(Path(sys.argv[1]))
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    predicted = arrays["classes"][arrays["scores"].argmax(axis=1)]
    right = predicted == arrays["labels"]
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1000:.0f} kB, {len(right)} items")
    print(f"accuracy {right.mean():.3f}, mean confidence {arrays['scores'].max(axis=1).mean(dtype=float):.3f}")
    for name in arrays["classes"]:
        group = predicted == name
        print(f"predicted {name:12} {group.sum():4d} items, {right[group].mean():.3f} right")


if __name__ == "__main__":
    main()
