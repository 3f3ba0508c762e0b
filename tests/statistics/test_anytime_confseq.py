"""The wealth of bets beside that of the package confseq, on cases of both, which scripts/confseq_cases.py made."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from fewlabels.anytime import Bets, evidence_above, pool_sequence, population_sequence
from fewlabels.special import gammaln

CASES = Path(__file__).parents[1] / "fixtures" / "confseq.csv"
ALPHA = 0.05


def cases(kind: str) -> dict[str, np.ndarray]:
    with CASES.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row.pop("kind") == kind]
    assert len(rows) >= 15
    return {name: np.array([float(row[name] or 0) for row in rows]) for name in rows[0]}


def given(case: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, Bets]:
    """Right and wrong labels, and bets by one Beta."""
    right, wrong = (case[name].astype(np.int64) for name in ("right", "wrong"))
    return right, wrong, Bets(case["a"][:, None], case["b"][:, None], np.ones(1))


def test_wealth_against_a_share() -> None:
    case = cases("both")
    right, wrong, bets = given(case)
    against = right * np.log(case["share"]) + wrong * np.log1p(-case["share"])
    assert bets.log_wealth(right, wrong) - against == pytest.approx(case["log_wealth"], abs=1e-9)
    # A share is outside the interval if and only if these bets have won twenty times the stake.
    low, high = population_sequence(right, wrong, bets, 1 - ALPHA)
    refuted = case["log_wealth"] >= np.log(1 / ALPHA)
    assert 5 < refuted.sum() < len(refuted) - 5
    assert ((case["share"] < low) | (case["share"] > high)).tolist() == refuted.tolist()


def test_wealth_against_a_line() -> None:
    case = cases("above")
    right, wrong, bets = given(case)
    found = [
        evidence_above(line, right[i : i + 1], wrong[i : i + 1], Bets(bets.a[i : i + 1], bets.b[i : i + 1], bets.share))
        for i, line in enumerate(case["share"].tolist())
    ]
    assert np.concatenate(found) == pytest.approx(case["log_wealth"], rel=1e-9, abs=1e-9)


def test_wealth_without_replacement() -> None:
    case = cases("pool")
    right, wrong, bets = given(case)
    size = case["size"].astype(np.int64)
    total = np.rint(case["share"] * size).astype(np.int64)
    # The probability of the labels in their order: [R]_r [N − R]_w / [N]_(r+w).
    against = gammaln(total + 1) - gammaln(total - right + 1) + gammaln(size - total + 1)
    against += gammaln(size - right - wrong + 1) - gammaln(size - total - wrong + 1) - gammaln(size + 1)
    assert bets.log_wealth(right, wrong) - against == pytest.approx(case["log_wealth"], rel=1e-7, abs=1e-7)
    low, high = pool_sequence(right, wrong, size, bets, 1 - ALPHA)
    refuted = case["log_wealth"] >= np.log(1 / ALPHA)
    assert refuted.any()
    assert not refuted.all()
    assert ((total < np.rint(low * size)) | (total > np.rint(high * size))).tolist() == refuted.tolist()
