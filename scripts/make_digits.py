"""Make the demo data: handwritten digits and a real, imperfect classifier's scores for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TARGET = Path(__file__).parents[1] / "src" / "fewlabels" / "data" / "digits.npz"


def make_digits(trained_on: int = 150, seed: int = 0) -> dict[str, np.ndarray]:
    """The arrays of digits.npz, by name.

    Gaussian naive Bayes takes the 64 pixels to be independent. They are not, so it is far too sure of
    itself, and with few images to learn from it mixes up some digits much more than others: a classifier
    as one meets them. The images it was trained on are left out.
    """
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    train, test = order[:trained_on], np.sort(order[trained_on:])
    model = GaussianNB(var_smoothing=1e-3).fit(digits.data[train], digits.target[train])
    return {
        "scores": model.predict_proba(digits.data[test]).astype(np.float32),
        "labels": np.array(NAMES)[digits.target[test]],
        "classes": np.array(NAMES),
        "ids": np.array([f"digit-{row:04d}" for row in test]),
        "images": np.round(digits.images[test] * (255 / 16)).astype(np.uint8),
    }


def main() -> None:
    """Write the file and say what is in it."""
    arrays = make_digits()
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    predicted = arrays["classes"][arrays["scores"].argmax(axis=1)]
    right = predicted == arrays["labels"]
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1000:.0f} kB, {len(right)} items")
    print(f"accuracy {right.mean():.3f}, mean confidence {arrays['scores'].max(axis=1).mean():.3f}")
    for name in arrays["classes"]:
        group = predicted == name
        print(f"predicted {name:5}  {group.sum():4d} items, {right[group].mean():.3f} right")


if __name__ == "__main__":
    main()
