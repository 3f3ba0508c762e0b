"""A pool whose items stay in a table gives the numbers of the same items in memory, and naming items changes none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import fewlabels as fl
from fewlabels.engines.columns import Columns
from fewlabels.io.tables import read_table
from tests.support.memory_table import MemoryTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.assessment import Assessment
    from fewlabels.table import Table

ITEMS, LABELS = 3_000, 60
# Few confidences, each alone in its bin of a table: then a unit is as sure as its items, and the numbers are the same.
SURE = (0.55, 0.7, 0.8, 0.9, 0.97)


def columns() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    place = rng.random(ITEMS) < 0.3
    yes = rng.random(ITEMS) < np.where(place, 0.3, 0.6)
    return {
        "id": [f"i{n}" for n in range(ITEMS)],
        "predicted": np.where(yes, "yes", "no").tolist(),
        "confidence": rng.choice(SURE, ITEMS).tolist(),
        "place": np.where(place, "north", "south").tolist(),
        "judge": np.where(rng.random(ITEMS) < 0.8, "pass", "fail").tolist(),
    }


def begun(*, in_memory: bool, **settings: Any) -> Assessment:
    """An assessment with the same labels, whatever holds its items; adopted, so that nothing depends on asking."""
    data = columns()
    if in_memory:
        pool = fl.read_pool(pa.table(data), columns=["place", "judge"], evidence=["judge"])
    else:
        kept = Columns("id", "predicted", "confidence", keep=("place", "judge"))
        pool = read_table(MemoryTable(**data), kept, named=30, evidence=["judge"])
    audit = fl.create(None, "alike", pool, policy=fl.UniformItems(), **settings)
    rng = np.random.default_rng(5)
    for person in ("ann", "bob") if settings.get("noisy") else ("ann",):
        asked = np.random.default_rng(1).choice(ITEMS, LABELS, replace=False)
        wrong = rng.random(LABELS) < 0.25
        labels = np.where(wrong, "yes", np.array(data["predicted"])[asked])
        audit.tell(
            {f"i{n}": label for n, label in zip(asked, labels.tolist(), strict=True)}, annotator=person, adopt=True
        )
    return audit


def numbers_of(table: Table, *names: str) -> list[float]:
    return [float("nan") if value is None else float(value) for name in names for value in table[name]]


ENDS = ("n", "mean", "low", "high")
READINGS: dict[str, Callable[[Assessment], list[float]]] = {
    "estimates": lambda a: numbers_of(a.estimates(), *ENDS),
    "all items": lambda a: numbers_of(a.estimates(groups="whole"), *ENDS),
    "calibration": lambda a: numbers_of(a.estimates(metric="calibration", groups="column:place"), *ENDS),
    "reliability": lambda a: numbers_of(a.reliability(4), *ENDS, "confidence"),
    "classes": lambda a: numbers_of(a.classes().classes, "precision", "recall", "f1", "f1_low", "f1_high"),
    "fairness": lambda a: numbers_of(
        a.fairness("column:place", positive="yes").groups, "n", "value", "value_low", "value_high"
    ),
    "judges": lambda a: numbers_of(a.judges(), "k", "of", "mean", "low", "high"),
}


@pytest.fixture(scope="module")
def pair() -> tuple[Assessment, Assessment]:
    """The same items and labels: in memory, and in a table."""
    return begun(in_memory=True), begun(in_memory=False)


@pytest.mark.parametrize("reading", READINGS)
def test_a_table_has_the_numbers_of_its_items_and_naming_them_changes_none(
    pair: tuple[Assessment, Assessment], reading: str
) -> None:
    in_memory, in_table = pair
    expected = READINGS[reading](in_memory)
    assert READINGS[reading](in_table) == pytest.approx(expected, abs=1e-6, nan_ok=True)
    before = in_table.pool.rows
    in_table.look_up([f"i{n}" for n in range(list(READINGS).index(reading), ITEMS, 40)])
    assert in_table.pool.rows > before
    assert READINGS[reading](in_table) == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_where_labels_may_be_wrong_naming_items_changes_no_number() -> None:
    """Here the sampler meets the items of a table in another order than those in memory; its error is below 0.1."""

    def read(audit: Assessment) -> list[float]:
        people = audit.annotators()
        return [people.low, people.floor, people.high, *numbers_of(audit.estimates(groups="whole"), *ENDS)]

    in_memory, in_table = begun(in_memory=True, noisy=True), begun(in_memory=False, noisy=True)
    before = read(in_table)
    assert before == pytest.approx(read(in_memory), abs=0.1)
    sure = np.argsort(columns()["confidence"])
    in_table.look_up([f"i{n}" for n in sure[:600]])  # the least sure, so that the mean over rows is another one
    assert read(in_table) == pytest.approx(before, abs=1e-6)
