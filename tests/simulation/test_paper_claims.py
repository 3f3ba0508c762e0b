"""The page about the paper's claims is made from the stored results, and its numbers are those of the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import paper_claims

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == paper_claims.page()


def test_numbers_are_those_of_the_files() -> None:
    numbers = paper_claims.table("comparison")
    assert numbers["SVHN", "", "labels-to-decide"]["IPrior+TS"] == 154.239
    assert paper_claims.table("comparison", "se")["SVHN", "", "labels-to-decide"]["IPrior"] == 7.39787
    assert paper_claims.fewer(numbers, "IPrior+TS", "UPrior") == (4, 4)
    assert paper_claims.ratios(numbers, "UPrior", "IPrior+TS")[-1] == pytest.approx(399.222 / 154.239)
    lowest = paper_claims.first_rows(paper_claims.table("accuracy"))
    assert sorted(int(budget) for _, budget, _ in lowest) == [20, 28, 40, 200, 2000]


@pytest.mark.parametrize(("good", "of", "said"), [(4, 4, "holds"), (2, 4, "holds in part"), (1, 4, "does not hold")])
def test_verdicts(good: int, of: int, said: str) -> None:
    assert paper_claims.verdict(good, of) == said
