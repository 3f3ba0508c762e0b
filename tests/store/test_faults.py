"""What was told is never lost and nothing is asked twice: killed processes, and many at once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import fewlabels as fl

DRIVER = Path(__file__).parents[1] / "support" / "fault_driver.py"
FEW, SOME, MANY = 12, 60, 200
ANNOTATORS = 8


def drive(*arguments: object) -> list[list[str]]:
    """Run the driver; what its processes reported, a list of words each."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", DRIVER, *map(str, arguments)],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return [line.split("\t") for line in ended.stdout.splitlines()]


def new_assessment(url: str, items: int, overlap: int = 1) -> None:
    rng = np.random.default_rng(items)
    right = rng.uniform(0.5, 1, items)
    pool = fl.read_pool(
        {"id": [f"item {i}" for i in range(items)], "scores": np.column_stack([right, 1 - right])},
        classes=["right", "wrong"],
    )
    groups = fl.by_score(pool, bins=20)
    task = fl.Identify(fl.Accuracy(), lowest=3)
    fl.create(url, "audit", pool, groups, task=task, seed=1, overlap=overlap).close()


def check_log(audit: fl.Assessment) -> fl.Table:
    """The log has no gap, nobody was asked for an item twice, and no label came before its request."""
    log = audit.log()
    assert log["seq"] == list(range(1, len(log["seq"]) + 1))
    asked: set[tuple[str, str | None]] = set()
    for kind, item, who in zip(log["kind"], log["item"], log["annotator"], strict=True):
        assert (kind == "label") == ((item, who) in asked)
        asked.add((item, who))
    assert max(Counter(item for item, _ in asked).values()) <= audit.spec.overlap
    return log


def check_file(url: str) -> None:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.close()


@pytest.mark.parametrize(
    "kills", [FEW, pytest.param(SOME, marks=pytest.mark.slow), pytest.param(MANY, marks=pytest.mark.long)]
)
def test_killed_at_any_moment_loses_no_label_and_asks_nothing_twice(shared_store_url: str, kills: int) -> None:
    new_assessment(shared_store_url, items=8_000)
    said = drive("kill", shared_store_url, "audit", kills)
    asked = [item for what, *items in said if what == "asked" for item in items]
    told = [item for what, *items in said if what == "told" for item in items]
    assert len(told) > kills // 2  # of about 3 in the mean: otherwise nothing was tested
    assert kills == FEW or len(asked) > len(told)  # some were killed between
    assert max(Counter(asked).values()) == 1

    audit = fl.load(shared_store_url, "audit")
    check_log(audit)
    assert audit._journal.store.verify().ok
    assert set(told) <= audit.labels().keys()
    assert set(asked) <= audit.labels().keys() | set(audit.pending())
    assert not set(audit.ask(10).ids) & set(asked)
    audit.close()
    check_file(shared_store_url)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overlap", "labels"), [(1, 150), (2, 75), *(pytest.param(n, 500, marks=pytest.mark.long) for n in (1, 2))]
)
def test_eight_annotators_at_once_have_every_label_once(shared_store_url: str, overlap: int, labels: int) -> None:
    new_assessment(shared_store_url, 6_000, overlap)
    said = drive("annotate", shared_store_url, "audit", ANNOTATORS, labels)
    told = [(item, annotator) for _, annotator, item in said]
    assert len(told) == len(set(told)) == ANNOTATORS * labels

    audit = fl.load(shared_store_url, "audit")
    log = check_log(audit)
    labelled = [
        (item, annotator)
        for kind, item, annotator in zip(log["kind"], log["item"], log["annotator"], strict=True)
        if kind == "label"
    ]
    assert sorted(labelled) == sorted(told)
    assert set(Counter(annotator for _, annotator in told).values()) == {labels}
    assert len(audit.held()) == 0
    votes = Counter(item for item, _ in told)
    assert sorted(audit.pending()) == sorted(item for item, n in votes.items() if n < overlap)
    assert len(audit.labels()) + len(audit.pending()) == len(votes)
    # They did work at once: one after the other they would take seven turns. How many they take is up to the system.
    turns = sum(a[1] != b[1] for a, b in pairwise(labelled))
    assert turns > 2 * ANNOTATORS
    audit.close()
    check_file(shared_store_url)


@pytest.mark.slow
def test_processes_that_open_a_new_database_at_once(shared_store_url: str) -> None:
    drive("open", shared_store_url, 8)
    from fewlabels.store import Store

    store = Store(shared_store_url)
    assert sorted(store.names()) == [f"number {i}" for i in range(8)]
    fingerprint = store.open("number 0").fingerprint
    assert store.pool(fingerprint).fingerprint == fingerprint
    store.close()


def test_a_store_is_not_used_across_a_fork(store_url: str) -> None:
    child, parent = drive("fork", store_url)
    assert "Load the assessment in each process" in child[1]
    assert parent == ["parent"]
