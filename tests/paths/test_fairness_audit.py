"""An auditor: is a classifier of applicants as good for everybody, by sex and race together, and is that a gate?"""

from __future__ import annotations

import csv
import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.paths import fill, misses, read, run

if TYPE_CHECKING:
    from pathlib import Path

SEX, RACE = ("Female", "Male"), ("Asian", "Black", "White", "")
WORSE = "Male × Black"


@pytest.fixture
def applicants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], dict[tuple[str, str], float]]:
    """The file in the present folder; what each applicant is, and the true rates of each group."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    n = 3_000
    sex, race = rng.choice(SEX, n), rng.choice(RACE, n, p=[0.15, 0.3, 0.54, 0.01])
    group = np.array([f"{s} × {r or '(missing)'}" for s, r in zip(sex, race, strict=True)])
    true = rng.random(n) < 0.45
    said = rng.random(n) < np.where(true, 0.8, np.where(group == WORSE, 0.45, 0.15))
    # y_prob is the probability of yes, and not of the answer that was given.
    score = np.where(said, 0.5 + 0.5 * rng.beta(2, 1.5, n), 0.5 * rng.beta(1.5, 2, n)).clip(0.01, 0.99)
    with (tmp_path / "applicants.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["applicant", "sex", "race", "age", "y_prob", "decision"])
        for i in range(n):
            age = rng.integers(18, 80)
            writer.writerow([f"A{i:05}", sex[i], race[i], age, f"{score[i]:.3f}", "yes" if said[i] else "no"])
    rates = {}
    for name in np.unique(group):
        here = group == name
        rates["accuracy", name] = (said == true)[here].mean()
        rates["true positive rate", name] = said[here & true].mean()
        rates["false positive rate", name] = said[here & ~true].mean()
        rates["precision", name] = true[here & said].mean()
        rates["selection rate", name] = said[here].mean()
    return {f"A{i:05}": "yes" if true[i] else "no" for i in range(n)}, rates


@pytest.mark.slow
def test_a_fairness_audit(applicants: tuple[dict[str, str], dict[tuple[str, str], float]], tmp_path: Path) -> None:
    truth, rates = applicants
    understood = run(
        "new", "loans.db", "applicants.csv", "--predicted", "decision", "--groups", "column:sex,column:race"
    ).stderr
    assert "id          column 'applicant'" in understood
    assert "'y_prob' is the probability of 'yes'" in understood
    run("ask", "loans.db", "-n", 400, "-o", "batch.csv")
    fill(tmp_path / "batch.csv", truth)
    run("tell", "loans.db", "batch.csv")

    found = read("fairness", "loans.db", "--positive", "YES")
    rows = {(row["measure"], row["group"]): row for row in found["groups"]}
    assert {group for _, group in rows} == {f"{s} × {r or '(missing)'}" for s, r in itertools.product(SEX, RACE)}
    estimated = {key: row for key, row in rows.items() if key[0] != "selection rate"}
    outside, allowed = misses((row["value_low"], rates[key], row["value_high"]) for key, row in estimated.items())
    assert outside <= allowed
    for key in rows.keys() - estimated.keys():
        assert rows[key]["value"] == pytest.approx(rates[key])  # counted, and not estimated
    worse = rows["false positive rate", WORSE]
    assert worse["difference_low"] > 0
    assert any("false positive rate" in words and WORSE in words for words in found["words"])

    # What is counted of a few items is told in the table, and not as the largest gap.
    sizes = {row["group"]: row["n"] for row in found["groups"]}
    (gap,) = (row for row in found["gaps"] if row["measure"] == "selection rate")
    assert min(sizes[gap["lowest"]], sizes[gap["highest"]]) >= 30 > min(sizes.values())
    assert "with fewer than 30 items" in found["words"][-1]
    assert "--stop-width 0.2" in run("fairness", "loans.db").output

    # A group by name, as it is typed; and the same labels by sex alone.
    against = read("fairness", "loans.db", "--reference", "male x black")
    assert against["settings"]["reference"] == WORSE
    by_sex = read("fairness", "loans.db", "--groups", "column:sex")
    assert {row["group"] for row in by_sex["groups"]} == set(SEX)

    # The gate: exit codes and the group by its name.
    failed = run("check", "loans.db", "--every", "fpr <= 0.2", "--junit", "gate.xml", code=3)
    assert WORSE in failed.output
    assert WORSE in (tmp_path / "gate.xml").read_text(encoding="utf-8")
    assert read("check", "loans.db", "--every", "accuracy >= 0.6", "--groups", "column:sex")["verdict"] == "pass"
