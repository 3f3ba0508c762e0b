"""What the tests of whole paths share: commands, sheets that somebody fills in, and ranges beside the truth."""

from __future__ import annotations

import csv
import itertools
import json
from typing import TYPE_CHECKING, Any

import openpyxl
from click.testing import CliRunner
from scipy.stats import binom

from fewlabels.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from click.testing import Result


def run(*arguments: object, code: int = 0) -> Result:
    """A command, which must end with the code."""
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


def read(*arguments: object, code: int = 0) -> dict[str, Any]:
    """What a command prints as JSON."""
    found: dict[str, Any] = json.loads(run(*arguments, "--json", code=code).stdout)
    return found


def spellings() -> Iterator[Any]:
    """How people type the names of classes: as they are, in capitals, in small letters, with spaces."""
    return itertools.cycle([str, str.upper, str.lower, lambda name: f" {name} ", lambda name: name.replace("_", " ")])


def fill(sheet: Path, truth: Mapping[str, str], *, semicolons: bool = False) -> None:
    """Fill in the column label of a sheet, as its classes are typed."""
    typed = spellings()
    if sheet.suffix == ".xlsx":
        book = openpyxl.load_workbook(sheet)
        rows = book["items"]
        last = rows.max_column
        assert rows.cell(1, last).value == "label"
        for row in range(2, rows.max_row + 1):
            rows.cell(row, last).value = next(typed)(truth[str(rows.cell(row, 1).value)])
        book.save(sheet)
        return
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        found = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        # As a spreadsheet writes it where the comma is the decimal sign.
        writer = csv.DictWriter(file, list(found[0]), delimiter=";" if semicolons else ",")
        writer.writeheader()
        writer.writerows([row | {"label": next(typed)(truth[row["id"]])} for row in found])


def misses(said: Iterable[tuple[float, float, float]]) -> tuple[int, int]:
    """How many of the ranges (low, truth, high) leave out the truth, and how many of them may.

    If each range of 95% held with exactly that probability, independently, more than these would leave it out in one of
    a thousand worlds.
    """
    ranges = list(said)
    assert ranges
    outside = sum(not low <= true <= high for low, true, high in ranges)
    return outside, int(binom.isf(0.001, len(ranges), 0.05))
