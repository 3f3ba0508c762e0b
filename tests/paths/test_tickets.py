"""A support desk: 5,000 classified tickets in an export of a spreadsheet, labelled in sheets."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import openpyxl
import pytest

from tests.support.paths import fill, misses, read, run

if TYPE_CHECKING:
    from pathlib import Path

CLASSES = ("Billing question", "password_reset", "Delivery", "Complaint", "Cancel subscription", "Other / unclear")
SHARES = (0.3, 0.25, 0.2, 0.08, 0.1, 0.07)
ACCURACY = (0.93, 0.97, 0.9, 0.45, 0.88, 0.7)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], dict[str, float]]:
    """The export in the present folder; what each ticket is really about, and how often each prediction is right."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    said = rng.choice(len(CLASSES), 5_000, p=SHARES)
    right = rng.random(len(said)) < np.array(ACCURACY)[said]
    true = np.where(right, said, (said + rng.integers(1, len(CLASSES), len(said))) % len(CLASSES))
    sure = np.where(right, rng.beta(9, 1.5, len(said)), rng.beta(5, 2.5, len(said)))
    with (tmp_path / "tickets export.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["Ticket No", "Created", "Subject", "Body", "Predicted category", "Score", "Team"])
        for i, (k, t, score) in enumerate(zip(said, true, sure, strict=True)):
            body = f'Hello,\nI write about "{CLASSES[t].lower()}"; no. {i}.\nBest, Zoë'
            percent = f"{100 * score:.1f} %".replace(".", ",")
            team = ("North", "South", "n/a")[i % 3]
            writer.writerow(
                [f"#{100_000 + i}", f"2026-01-{1 + i % 28:02}", "Re: yours", body, CLASSES[k], percent, team]
            )
    truth = {f"#{100_000 + i}": CLASSES[t] for i, t in enumerate(true)}
    return truth, {name: float(right[said == k].mean()) for k, name in enumerate(CLASSES)} | {"": float(right.mean())}


@pytest.mark.slow
def test_tickets_by_spreadsheet(desk: tuple[dict[str, str], dict[str, float]], tmp_path: Path) -> None:
    truth, accuracy = desk
    understood = run("new", "audit.db", "tickets export.csv").stderr
    for line in (
        "id          column 'Ticket No'",
        "predicted   column 'Predicted category'",
        "column 'Score', percent",
    ):
        assert line in understood
    run("ask", "audit.db", "-n", 60, "-o", "batch.xlsx")
    run("ask", "audit.db", "-n", 60, "--excel", "-o", "batch.csv")
    fill(tmp_path / "batch.xlsx", truth)
    fill(tmp_path / "batch.csv", truth, semicolons=True)

    # One slip in the workbook, and nothing of it is taken until it is mended.
    book = openpyxl.load_workbook("batch.xlsx")
    slip, meant = book["items"]["C12"], book["items"]["C12"].value
    slip.value = "pasword reset"
    book.save("batch.xlsx")
    said = run("tell", "audit.db", "batch.xlsx", code=2).stderr
    assert (
        "row 12 of the sheet: unknown class 'pasword reset'. Nothing was changed. Did you mean 'password_reset'?"
        in said
    )
    slip.value = meant
    book.save("batch.xlsx")
    said = run("tell", "audit.db", "batch.xlsx").stderr
    assert "labels were read in the pool's spelling: '" in said
    assert "other spellings." in said
    assert sum("spelling" in line for line in said.splitlines()) == 1
    assert "60 labels taken. 120 so far, 0 pending." in run("tell", "audit.db", "batch.csv").stderr

    shown = read("show", "audit.db")
    outside, allowed = misses((row["low"], accuracy[row["group"]], row["high"]) for row in shown["rows"])
    assert outside <= allowed
    assert all(0 <= row["right"] <= row["labelled"] for row in shown["rows"])
    assert sum(row["labelled"] for row in shown["rows"]) == 120
    lowest = min(shown["rows"], key=lambda row: row["mean"])["group"]
    assert lowest == "Complaint"
    assert f"lowest estimate is {lowest}" in shown["headline"]
    (overall,) = read("answer", "audit.db")["rows"]
    assert overall["low"] <= accuracy[""] <= overall["high"]

    classes = read("classes", "audit.db")
    # One quantity has one number, by whichever command.
    assert [row["precision"] for row in classes["classes"]] == [row["mean"] for row in shown["rows"]]
    assert "Complaint" in classes["words"][0]
    run("report", "audit.db", "-o", "audit.html")
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Complaint" in page
    assert len(page) < 300_000
