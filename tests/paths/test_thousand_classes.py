"""A catalogue: 1,000 classes, three of them bad, and 500 labels for all of them together."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.paths import fill, misses, read, run

if TYPE_CHECKING:
    from pathlib import Path

BAD = (17, 333, 777)


def name_of(k: int) -> str:
    """A comma in the name of a class, as catalogues have it."""
    return f"sku {k:04} {('bolt', 'nut', 'screw, long', 'washer')[k % 4]}"


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], dict[str, float]]:
    """The file in the present folder; what each product is, and how often each prediction is right."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    accuracy = rng.beta(12, 2, 1_000)
    accuracy[list(BAD)] = 0.1
    said = np.concatenate([np.repeat(np.arange(1_000), 8), rng.integers(0, 1_000, 2_000)])
    right = rng.random(len(said)) < accuracy[said]
    # Class 17 is always taken for its neighbour, and the others for anything.
    wrong = np.where(said == 17, 18, (said + rng.integers(1, 1_000, len(said))) % 1_000)
    true = np.where(right, said, wrong)
    sure = np.clip(0.6 * rng.beta(6, 2, len(said)) + 0.35 * accuracy[said] + 0.05 * right, 0.05, 0.995)
    with (tmp_path / "products.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "title", "prediction", "probability"])
        for i, (k, t) in enumerate(zip(said, true, strict=True)):
            writer.writerow([f"r{i}", f"product {i}: {name_of(t)}", name_of(k), f"{sure[i]:.3f}"])
    rates = {name_of(k): float(right[said == k].mean()) for k in range(1_000)} | {"": float(right.mean())}
    return {f"r{i}": name_of(t) for i, t in enumerate(true)}, rates


@pytest.mark.slow
def test_a_thousand_classes(catalogue: tuple[dict[str, str], dict[str, float]], tmp_path: Path) -> None:
    truth, rates = catalogue
    bad = {name_of(k) for k in BAD}
    begun = run("new", "big.db", "products.csv", "--lowest", 3, "--target", "pool").stderr
    assert "and 990 more" in begun  # the terminal does not run over
    run("ask", "big.db", "-n", 500, "-o", "batch.xlsx")
    fill(tmp_path / "batch.xlsx", truth)
    assert len(run("tell", "big.db", "batch.xlsx").stderr.splitlines()) < 8

    answer = read("answer", "big.db")
    named = set(answer["groups"])
    assert answer["probability"] < 0.8 or named == bad
    assert len(named & bad) >= 2
    shown = read("show", "big.db")
    # Where no label is, the range comes from scores and neighbours: it must be said, and it must hold all the same.
    labelled = [row for row in shown["rows"] if row["labelled"]]
    assert all(row["note"] for row in shown["rows"] if not row["labelled"])
    for rows in (labelled, shown["rows"]):
        outside, allowed = misses((row["low"], rates[row["group"]], row["high"]) for row in rows)
        assert outside <= allowed
    assert shown["rows"][0]["group"] in bad
    assert "no label" not in shown["headline"]
    # The headline names only classes that have labels.
    with_labels = {row["group"] for row in labelled}
    assert {name for name in rates if name and name in shown["headline"]} <= with_labels
