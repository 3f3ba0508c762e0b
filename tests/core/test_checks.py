"""The checks of numbers: NumPy's count wherever Python's do, and are stored as Python's."""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.checks import number_in, whole_number
from fewlabels.errors import InputError, SpecError
from fewlabels.spec import to_json

SOURCE = Path(__file__).parents[2] / "src" / "fewlabels"
POOL = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), np.int32(3)])
def test_whole_numbers_are_of_python_or_of_numpy(value: Any) -> None:
    assert type(whole_number(value, "The 'n'")) is int
    parts = [
        fl.Stop(labels=value),
        fl.Identify(fl.Accuracy(), lowest=value),
        fl.CalibrationError(bins=value),
        fl.Thompson(plays=value),
    ]
    assert all("3" in json.dumps(to_json(part)) for part in parts)
    audit = fl.create(None, "pets", POOL, seed=value, overlap=value)
    assert (audit.spec.seed, audit.spec.overlap) == (3, 3)
    assert len(audit.ask(value, annotator="ann")) == 3
    assert fl.by_score(POOL, bins=value).recipe["bins"] == 3


@pytest.mark.parametrize("value", [True, np.True_, 2.0, np.float64(2), "2", None, 0, -1, np.int64(0), Fraction(5, 2)])
def test_what_is_not_a_whole_number_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"^The 'n' must be a whole number of at least 1\. Got .* instead\.$"):
        whole_number(value, "The 'n'")


def test_a_whole_number_can_be_too_large() -> None:
    assert whole_number(10, "The 'n'", most=10) == 10
    with pytest.raises(InputError, match=r"^The 'n' must be at most 10\. Got 11 instead\.$"):
        whole_number(11, "The 'n'", most=10)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_numbers_are_of_python_or_of_numpy(value: Any) -> None:
    assert number_in(value, "The 'x'", high=1, hint="such as 0.9") == 0.5
    assert json.dumps(to_json(fl.Stop(probability=value, width=value))).count("0.5") == 2


@pytest.mark.parametrize("value", [True, 0, 1, -0.1, 1.5, 10**400, float("nan"), float("inf"), "0.5", None])
def test_what_is_not_inside_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^The 'x' must lie between 0 and 1, such as 0\.9\. Got .* instead\.$"):
        number_in(value, "The 'x'", high=1, hint="such as 0.9")
    with pytest.raises((SpecError, TypeError)):
        fl.UCB(quantile=value)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_whole_numbers_are_checked_in_one_place(path: Path) -> None:
    """`isinstance(x, bool) or not isinstance(x, int)` is written once."""
    if path.name == "checks.py":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.BoolOp):
            kinds = [ast.unparse(call.args[1]) for call in ast.walk(node) if _is_isinstance(call)]  # type: ignore[attr-defined]
            assert not ("bool" in kinds and len(kinds) > 1), f"{path.name}:{node.lineno}: use fewlabels.checks"


def _is_isinstance(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
