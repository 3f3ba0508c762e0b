"""Databases that earlier versions of this package wrote themselves: each opens, and keeps every event and every label.

`tests/fixtures/databases` has one for each version of the tables before the present one, written by the last code that
made it, and beside it what that code said: the labels and the log of two assessments of one pool. There are withdrawn,
retracted, skipped and decided items among them, and names and notes outside ASCII.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import fewlabels as fl
from fewlabels.store import schema

FILES = Path(__file__).parents[1] / "fixtures" / "databases"


def test_there_is_one_of_each_earlier_version() -> None:
    assert len([*FILES.glob("version-*.db.gz")]) == schema.VERSION - 1


@pytest.fixture(params=range(1, schema.VERSION))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of an old database, and what the code that made it said."""
    file = tmp_path / "old.db"
    file.write_bytes(gzip.decompress((FILES / f"version-{request.param}.db.gz").read_bytes()))
    return file, json.loads((FILES / f"version-{request.param}.json").read_text(encoding="utf-8"))


def test_every_event_and_every_label_is_kept(old: tuple[Path, dict[str, Any]]) -> None:
    file, said = old
    with fl.Store(file) as store:
        assert store.verify().ok
        for name, before in said.items():
            rows = [list(row) for row in zip(*(store.log(name)[column] for column in _COLUMNS), strict=True)]
            assert rows == before["log"]
            labels = fl.load(store, name).labels()
            assert {item: labels.get(item) for item in before["labels"]} == before["labels"]


def test_a_new_question_begins_with_all_of_them(old: tuple[Path, dict[str, Any]]) -> None:
    file, said = old
    with fl.Store(file) as store:
        pool = fl.load(store, "worst").pool
        new = fl.create(store, "new", pool, fl.whole(pool))
        there = said["worst"]["labels"] | said["places"]["labels"]
        assert new.labels() == there
        asked = new.ask(20, annotator="Zoë").ids
        assert not {*asked} & {*there}
        new.tell(dict.fromkeys(asked, "Hund"), annotator="Zoë")
        assert store.verify().ok
    assert len(fl.load(file, "new").labels()) == len(there) + 20


_COLUMNS = ("seq", "kind", "item", "label", "annotator", "note")
