"""Evidence columns: how they are read, kept in a database, and refused."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.errors import InputError, PoolChangedError
from fewlabels.store.archive import pack_pool, unpack_pool

ANSWERS = {
    "predicted": ["a", "b", "c", "a"],
    "judge": ["good", "bad", None, "good"],
    "stars": [1, 5, 3, 4],
    "why": ["w", "x", "y", "z"],
}


def test_it_survives_packing_and_is_part_of_the_fingerprint():
    plain, known = fl.read_pool(ANSWERS), fl.read_pool(ANSWERS, evidence=["judge", "stars"])
    again = unpack_pool(pack_pool(known))
    assert again.evidence == ("judge", "stars")
    np.testing.assert_array_equal(again.known, known.known)
    assert again.fingerprint == known.fingerprint != plain.fingerprint
    assert plain.differences(known) == "the evidence was none and is 'judge', 'stars'"
    assert pack_pool(plain).startswith(b"fewlabels pool 1\n")
    assert dataclasses.replace(known, evidence=()).fingerprint == plain.fingerprint


def test_it_is_kept_in_a_database(tmp_path):
    pool = fl.read_pool(ANSWERS, evidence=["judge"])
    with_it = fl.create(tmp_path / "a.db", "x", pool, fl.whole(pool))
    with_it.tell(dict.fromkeys(with_it.ask(2).ids, "a"))
    before = with_it.estimates()
    with_it.close()
    again = fl.load(tmp_path / "a.db", "x")
    assert again.pool.evidence == ("judge",)
    assert list(again.estimates().rows()) == list(before.rows())
    with pytest.raises(PoolChangedError, match="the evidence was 'judge' and is none"):
        fl.load(tmp_path / "a.db", "x", pool=fl.read_pool(ANSWERS))
    again.close()


def test_kept_columns_need_not_name_it():
    pool = fl.read_pool(ANSWERS, columns=["why"], evidence=["stars"])
    assert pool.columns.column_names == ["why", "stars"]


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (["juge"], "has no column 'juge', named by evidence=. Did you mean 'judge'"),
        ("judge", r"evidence= must be a list of names. Write evidence=\['judge'\]"),
        (["predicted"], "'predicted' is the prediction itself"),
    ],
)
def test_what_cannot_be_evidence_is_refused(evidence, words):
    with pytest.raises(InputError, match=words):
        fl.read_pool(ANSWERS, evidence=evidence)


def test_texts_of_all_kinds_are_refused():
    many = {"predicted": ["a", "b"] * 20, "why": [f"reason {i}" for i in range(40)]}
    with pytest.raises(InputError, match=r"'why' has 40 different texts, and evidence must be numbers or up to 20"):
        fl.read_pool(many, evidence=["why"])


def test_it_is_about_one_model():
    two = {"old": {"id": [1, 2], "predicted": ["a", "b"]}, "new": {"id": [1, 2], "predicted": ["b", "a"]}}
    with pytest.raises(InputError, match="there are several models here"):
        fl.read_pool(two, evidence=["judge"])


def test_lines_of_json_with_flags_and_gaps(tmp_path):
    lines = [{"id": i, "predicted": "ab"[i % 2], "judge": [True, False, None][i % 3]} for i in range(9)]
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    pool = fl.read_pool(file, classes=["a", "b", "c"], evidence=["judge"])
    assert pool.known.shape == (9, 2)
    assert pool.known[2, 0] == 0
