"""The paper's own numbers, replayed through the public face: counts typed in here, or whole pools if they are there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl

if TYPE_CHECKING:
    from fewlabels.tasks import Task

# Right and all predictions of ResNet-110 on the CIFAR-100 test set, by predicted superclass and class.
SUPERCLASSES = {"people": (279, 481), "trees": (350, 511)}
PAIR = {"woman": (60, 109), "man": (52, 78)}
LOWEST = {
    "lizard": (51, 119),
    "seal": (52, 104),
    "otter": (48, 95),
    "shrew": (57, 110),
    "boy": (49, 93),
    "bear": (61, 111),
    "woman": (60, 109),
    "couch": (61, 108),
    "shark": (61, 107),
    "baby": (64, 111),
    "squirrel": (76, 131),
}
DRAWS = 40_000


def labelled(counts: dict[str, tuple[int, int]], task: Task, *, prior: fl.Uniform | None = None) -> fl.Assessment:
    """An assessment that was told every label: the first ones of each class are right, the others of another class."""
    names = list(counts)
    predicted = [name for name, (_, n) in counts.items() for _ in range(n)]
    other = {name: names[i - 1] for i, name in enumerate(names)}
    true = [name if i < right else other[name] for name, (right, n) in counts.items() for i in range(n)]
    pool = fl.read_pool({"predicted": predicted}, classes=names)
    audit = fl.create(None, "replay", pool, task=task, prior=prior or fl.Uniform())
    assert audit.tell(dict(zip(pool.ids.to_pylist(), true, strict=True)), adopt=True) == len(predicted)
    return audit


def test_people_are_less_accurate_than_trees() -> None:
    answer = labelled(SUPERCLASSES, fl.Compare(fl.Accuracy(), "people", "trees", rope=0.05)).answer()
    assert answer.probability == pytest.approx(0.963, abs=5e-4)
    assert answer.table["less"] == [answer.probability]
    assert "people is below that of trees" in answer.words


@pytest.mark.parametrize(
    ("rope", "prior", "expected"),
    [
        (0.05, fl.Uniform(), 0.814),  # Beta(1, 1), as the supplement says
        (0.05, fl.Uniform(strength=1e-6), 0.824),  # the prior behind the paper's tables: its 82 %
        (0.0, fl.Uniform(), 0.944),  # less accurate at all, by however little
    ],
)
def test_woman_is_less_accurate_than_man(rope: float, prior: fl.Uniform, expected: float) -> None:
    # The paper's 82 % counts only differences beyond its rope of 0.05, and comes with a prior of no weight.
    audit = labelled(PAIR, fl.Compare(fl.Accuracy(), "woman", "man", rope=rope), prior=prior)
    assert audit.answer().probability == pytest.approx(expected, abs=5e-4)


def lowest_exactly(name: str) -> float:
    """P(θ of this class is the smallest) = ∫ f(x) Π (1 − F_other(x)) dx, for the classes of LOWEST."""
    x = np.linspace(0, 1, 20_001)
    beta = {key: stats.beta(1 + right, 1 + n - right) for key, (right, n) in LOWEST.items()}
    above = np.prod([b.sf(x) for key, b in beta.items() if key != name], axis=0)
    return float(np.trapezoid(beta[name].pdf(x) * above, x))


@pytest.mark.slow
def test_lizard_is_the_least_accurate() -> None:
    audit = labelled(LOWEST, fl.Identify(fl.Accuracy(), lowest=1))
    answer = audit.answer(draws=DRAWS)
    assert answer.groups == ("lizard",)
    # 51 of 119 is .429; the mean counts one more right and one more wrong.
    assert audit.estimates().where(group="lizard")["mean"] == [52 / 121]
    # Among all 100 classes it is .680: the 89 that are not typed in here, the lowest at 60 of 103, take .005 of it.
    exact = lowest_exactly("lizard")
    assert exact == pytest.approx(0.6853, abs=5e-5)
    error = np.sqrt(exact * (1 - exact) / DRAWS)
    assert abs(answer.probability - exact) < 4.5 * error
    assert answer.table["chance"][0] == answer.probability
    # The chances of the others, too, and the order of the posterior means is that of the table.
    for row in answer.table.rows():
        chance = lowest_exactly(row["group"])
        assert abs(row["chance"] - chance) < 4.5 * np.sqrt(chance * (1 - chance) / DRAWS)
    means = dict(zip(audit.estimates()["group"], audit.estimates()["mean"], strict=True))
    assert sorted(means, key=means.__getitem__) == list(LOWEST)


# --- whole pools: FEWLABELS_DATA=folder pytest tests/test_replays.py

DATA = os.environ.get("FEWLABELS_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="FEWLABELS_DATA names no folder with the public prediction files")


def replay(name: str, task: Task, *, whole: bool = False, target: str = "population") -> fl.Assessment:
    """An assessment of a public pool that was told every label."""
    with np.load(Path(str(DATA)) / f"{name}.npz") as file:
        keys = [key for key in ("scores", "predicted", "confidence") if key in file.files]
        data = {key: file[key] for key in keys}
        classes, labels = file["classes"].tolist(), file["labels"]
    if "predicted" in data:
        data["predicted"] = np.array(classes)[data["predicted"]]
    pool = fl.read_pool(data, classes=classes)
    groups = fl.whole(pool) if whole else None
    audit = fl.create(None, name, pool, groups, task=task, target=target)  # type: ignore[arg-type]
    audit.tell(dict(zip(pool.ids.to_pylist(), np.array(classes)[labels].tolist(), strict=True)), adopt=True)
    return audit


@needs_data
@pytest.mark.parametrize(("name", "ece"), [("cifar100", 0.098696), ("imagenet", 0.050077), ("svhn", 0.0109505)])
def test_calibration_error_of_whole_pools(name: str, ece: float) -> None:
    table = replay(name, fl.Estimate(fl.CalibrationError(bins=10)), whole=True, target="pool").estimates(draws=10)
    # All digits given, of which the last may be cut instead of rounded, and no uncertainty left.
    assert table["mean"][0] == pytest.approx(ece, abs=1e-6)
    assert table["low"][0] == pytest.approx(table["high"][0], abs=1e-12)


@needs_data
def test_lizard_among_all_classes() -> None:
    audit = replay("cifar100", fl.Identify(fl.Accuracy(), lowest=1))
    answer = audit.answer(draws=DRAWS)
    assert answer.groups == ("lizard",)
    assert abs(answer.probability - 0.68) < 0.005 + 4.5 * np.sqrt(0.68 * 0.32 / DRAWS)
    rows = sorted(audit.estimates().rows(), key=lambda row: row["mean"])[: len(LOWEST)]
    assert [row["group"] for row in rows] == list(LOWEST)
    for row, (right, n) in zip(rows, LOWEST.values(), strict=True):
        assert row["mean"] == pytest.approx((right + 1) / (n + 2))


@needs_data
def test_order_of_the_digits_of_svhn() -> None:
    table = replay("svhn", fl.Estimate(fl.Accuracy()), target="pool").estimates()
    assert "".join(row["group"] for row in sorted(table.rows(), key=lambda row: row["mean"])) == "9360158742"
