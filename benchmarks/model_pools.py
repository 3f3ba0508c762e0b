"""Make pools of several classifiers that were not chosen for this project: ordinary ones, of scikit-learn.

python benchmarks/model_pools.py DIR [--only experts,shy] [--lots 60]
python benchmarks/models.py --data DIR --what best,honest,compare --pools models_digits,models_kin

Needs scikit-learn, and nothing from the network: the digits that come with it, and tables that it makes. Each file
has the answers of 2 to 40 classifiers to the same items, with their confidences, with words for them, or alone:

digits    twelve unlike classifiers that learned from few digits, with confidences
trees     twelve unlike classifiers on 5 classes, answers only
kin       thirty forests and boosters that differ in their seeds and little else, answers only: near ties
words     six classifiers on 2 classes, which say how sure they are in five words
many      eight classifiers on 40 classes, with confidences
crowd     fifteen relatives that make the same mistakes, and five others of which some are ten points better
crowd_in  the same without the two best: what is left is nearly a tie
herd      the same kinds as in crowd on another table of 4 classes, twelve relatives: looked at once, as is flock
flock     ten nearest-neighbour relatives and six others, on 2 classes
line      forty linear models, on 2 classes, answers only
two       two classifiers on 4 classes, answers only
experts   nine classifiers that each see 7 of 20 numbers, on 3 classes, answers only: looked at once, as is shy
shy       eight classifiers on 4 classes that give no answer where they are unsure, some of them oftener than others
tuned     twelve networks on 3 classes, tuned a little further from one common start, answers only: looked at once, as
          are standout and parted
standout  one classifier on 4 classes that learned from many rows, and nine equals that learned from few each
parted    nine classifiers on 3 classes, each silent on a quarter of the items, that say in five words how sure they are

`--lots 60` makes lot_0 to lot_59 instead: 2 to 20 classifiers by lot on a table by lot, with relatives or without, with
confidences or without. So many that nobody has looked at any of them when constants were chosen.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_ITEMS = 3000
# What a language model says instead of a number: unlikely, perhaps, probably, very probably, certainly.
_WORDS = np.array([0.2, 0.5, 0.7, 0.9, 0.99])


class Contest(NamedTuple):
    """Classifiers, each with how many rows it learns from, on a table; how they say how sure they are, and are silent.

    `silent`: how sure a classifier has to be to answer, from the first to the last. `misses`: the share of the items
    that each of them leaves out, at random.
    """

    name: str
    table: tuple[NDArray[np.float64], NDArray[np.int64]]
    models: list[tuple[Any, int]]
    sure: str = ""
    silent: tuple[float, float] = (0.0, 0.0)
    misses: float = 0.0


def made(classes: int, seed: int, **more: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A table of numbers with classes in clusters, some of them given to the wrong class."""
    from sklearn.datasets import make_classification

    settings: dict[str, Any] = {"n_features": 20, "n_informative": 10, "n_clusters_per_class": 2, "flip_y": 0.05}
    found: tuple[NDArray[np.float64], NDArray[np.int64]] = make_classification(
        _ITEMS + 5000, n_classes=classes, random_state=seed, **(settings | more)
    )
    return found


def unlike(learns: int) -> list[tuple[Any, int]]:
    """Twelve classifiers of different kinds."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    kinds: list[Any] = [
        *(RandomForestClassifier(60, random_state=0), ExtraTreesClassifier(60, random_state=0)),
        *(LogisticRegression(max_iter=300), LogisticRegression(C=0.01, max_iter=300)),
        *(GaussianNB(), LinearDiscriminantAnalysis(), NearestCentroid()),
        *(KNeighborsClassifier(1), KNeighborsClassifier(9)),
        *(MLPClassifier((40,), max_iter=300, random_state=0), SVC(), DecisionTreeClassifier(random_state=0)),
    ]
    return [(kind, learns) for kind in kinds]


def kin(count: int, learns: int) -> list[tuple[Any, int]]:
    """Forests that differ in their seeds and a little in their depth."""
    from sklearn.ensemble import RandomForestClassifier

    return [(RandomForestClassifier(20, max_depth=8 + s % 3, random_state=s), learns) for s in range(count)]


def crowd() -> list[tuple[Any, int]]:
    """Fifteen that learn the same from the same rows, and five others."""
    from sklearn.naive_bayes import GaussianNB

    return [(GaussianNB(var_smoothing=10.0 ** (-9 + s / 2)), 1000 + 20 * s) for s in range(15)] + unlike(2000)[:5]


def flock() -> list[tuple[Any, int]]:
    """Ten that ask the same neighbours, and six others."""
    from sklearn.neighbors import KNeighborsClassifier

    return [(KNeighborsClassifier(5 + 2 * s), 900 + 30 * s) for s in range(10)] + unlike(1200)[:6]


def tuned() -> list[tuple[Any, int]]:
    """Twelve networks that learn the same from the first rows, and then a little more from others, drawn for each."""
    from sklearn.neural_network import MLPClassifier

    def fit(self: Any, x: NDArray[np.float64], y: NDArray[np.int64]) -> Any:
        MLPClassifier.fit(self, x[:1500], y[:1500])
        for _ in range(8):
            self.partial_fit(x[self.more], y[self.more])
        return self

    kind = type("Tuned", (MLPClassifier,), {"fit": fit})

    def network(seed: int) -> Any:
        twice: Any = kind((30,), max_iter=200, random_state=0)
        twice.more = 1500 + np.random.default_rng(seed).permutation(1000)[: 100 + 70 * seed]
        return twice

    return [(network(seed), 2500) for seed in range(12)]


def standout() -> list[tuple[Any, int]]:
    """One that learned from 5,000 rows, and nine trees that learned from about 700."""
    from sklearn.ensemble import RandomForestClassifier

    return [(RandomForestClassifier(15, random_state=s), 680 + 5 * s) for s in range(1, 10)] + [
        (unlike(0)[10][0], 5000)
    ]


def experts() -> list[tuple[Any, int]]:
    """Nine classifiers, each of which sees seven of the twenty numbers."""
    from sklearn.base import clone
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(3)
    sees = [np.sort(rng.permutation(20)[:7]).tolist() for _ in range(9)]
    kinds = [kind for kind, _ in unlike(0)][:3] * 3
    return [
        (make_pipeline(ColumnTransformer([("sees", "passthrough", mine)]), clone(kind)), 2500)
        for kind, mine in zip(kinds, sees, strict=True)
    ]


def linear(count: int) -> list[tuple[Any, int]]:
    """Linear models that learn from 60 to 4,000 rows."""
    from sklearn.linear_model import LogisticRegression

    rows = np.geomspace(60, 4000, count).astype(int).tolist()
    return [(LogisticRegression(C=10.0 ** (s % 4 - 3), max_iter=300), learns) for s, learns in enumerate(rows)]


def contests() -> Iterator[Contest]:
    """All pools."""
    from sklearn.datasets import load_digits

    yield Contest("digits", load_digits(return_X_y=True), unlike(120), "numbers")
    yield Contest("trees", made(5, 1), unlike(1500))
    yield Contest("kin", made(4, 2), kin(30, 1200))
    yield Contest("words", made(2, 3, flip_y=0.1), unlike(600)[:6], "words")
    forty = made(40, 4, n_clusters_per_class=1, n_features=30, n_informative=14)
    yield Contest("many", forty, unlike(3000)[:8], "numbers")
    yield Contest("crowd", made(3, 5, class_sep=1.5), crowd())
    yield Contest("crowd_in", made(3, 5, class_sep=1.5), crowd()[:15] + crowd()[17:])
    yield Contest("herd", made(4, 11, class_sep=1.3), crowd()[3:])
    yield Contest("flock", made(2, 12, flip_y=0.1), flock())
    yield Contest("line", made(2, 6, n_clusters_per_class=3), linear(40))
    yield Contest("two", made(4, 7), [unlike(1500)[0], unlike(1000)[1]])
    yield Contest("experts", made(3, 13), experts())
    can_say = [each for each in unlike(1200) if hasattr(each[0], "predict_proba")][:8]
    yield Contest("shy", made(4, 14), can_say, silent=(0.3, 0.6))
    yield Contest("tuned", made(3, 21, class_sep=1.2), tuned())
    yield Contest("standout", made(4, 22, class_sep=1.3), standout())
    yield Contest("parted", made(3, 23, flip_y=0.1), unlike(900)[:9], "words", misses=0.25)


def lot(seed: int) -> Contest:
    """A pool by lot: its classes, its classifiers and how many rows each learns from, and what they say."""
    rng = np.random.default_rng([seed, 15])
    kinds = [kind for kind, _ in unlike(0)] + [kind for kind, _ in flock()[:4]] + [kind for kind, _ in kin(4, 0)]
    count, classes = int(rng.integers(2, 21)), int(rng.integers(2, 9))
    # One kind may come often, as relatives that learned from more or fewer of the same rows.
    odds = rng.dirichlet(np.full(len(kinds), rng.choice([0.1, 1.0])))
    chosen = rng.choice(len(kinds), count, p=odds)
    most = int(rng.choice([400, 1500, 4000]))
    models = [(kinds[k], int(rng.integers(most // 3, most))) for k in chosen.tolist()]
    table = made(classes, 1000 + seed, class_sep=float(rng.uniform(0.7, 1.8)), flip_y=float(rng.uniform(0, 0.15)))
    can_say = all(hasattr(kind, "predict_proba") for kind, _ in models)
    return Contest(f"lot_{seed}", table, models, str(rng.choice(["", "", "words", "numbers"])) if can_say else "")


def pool_of(contest: Contest) -> dict[str, Any]:
    """Train the classifiers on some rows, and let them judge others."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = contest.table
    order = np.random.default_rng(0).permutation(len(y))
    most = max(learns for _, learns in contest.models)
    rest = order[most:][:_ITEMS]
    said, sure, bars = [], [], np.linspace(*contest.silent, len(contest.models))
    for bar, (model, learns) in zip(bars.tolist(), contest.models, strict=True):
        fitted = make_pipeline(StandardScaler(), model).fit(x[order[:learns]], y[order[:learns]])
        known = _confidence(fitted, x[rest]) if contest.sure or bar else np.ones(len(rest))
        said.append(np.where(known < bar, -1, fitted.predict(x[rest])))
        if contest.sure:
            sure.append(known)
    answers = np.column_stack(said)
    answers[np.random.default_rng(1).random(answers.shape) < contest.misses] = -1
    found: dict[str, Any] = {
        "predicted": answers,
        "labels": y[rest],
        "models": [f"{type(model).__name__} {k}" for k, (model, _) in enumerate(contest.models)],
        "classes": [f"class {k}" for k in range(int(y.max()) + 1)],
    }
    if contest.sure:
        every = np.column_stack(sure)
        in_words = _WORDS[np.abs(every[..., None] - _WORDS).argmin(axis=2)]
        found["confidence"] = in_words if contest.sure == "words" else every
    return found


def _confidence(model: Any, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """How sure a classifier is of its answers; one that cannot say is missing."""
    says: Callable[..., Any] | None = getattr(model, "predict_proba", None)
    return np.full(len(x), np.nan) if says is None else says(x).max(axis=1)


def main() -> None:
    """Write the pools."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files are written")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--lots", type=int, default=0, help="make so many pools by lot instead")
    given = parser.parse_args()
    folder, only = given.folder, [name for name in given.only.split(",") if name]
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for contest in map(lot, range(given.lots)) if given.lots else contests():
        if only and contest.name not in only:
            continue
        pool = pool_of(contest)
        np.savez(folder / f"models_{contest.name}.npz", **pool)
        right = np.sort((pool["predicted"] == pool["labels"][:, None]).mean(axis=0))[::-1]
        apart = (pool["predicted"] != pool["predicted"][:, :1]).any(axis=1).mean()
        print(
            f"{contest.name:9} {len(pool['labels']):,} items, differ on {apart:.0%}; right: {np.round(right, 3)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
