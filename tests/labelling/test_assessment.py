"""Asking and telling: what is handed out, what is taken, what the log keeps, and going on after a stop."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fewlabels as fl
from fewlabels.errors import InputError, LabelError, PoolChangedError, StoreError
from tests.support.contracts import POLICIES
from tests.support.pools import CLASSES, Known, zoo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fewlabels.io.labels import Labels
    from fewlabels.policies import Policy

KNOWN = zoo()
TASK = fl.Identify(fl.Accuracy(), lowest=2)


@pytest.fixture
def audit() -> Iterator[fl.Assessment]:
    made = fl.create(None, "audit", KNOWN.pool, task=TASK, seed=5)
    yield made
    made.close()


def _log(audit: fl.Assessment) -> list[tuple[object, ...]]:
    table = audit.log()
    return [tuple(row.values()) for row in table.rows()]


# --- going on where one stopped


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_loaded_assessment_makes_the_identical_next_requests(tmp_path: Path, policy: Policy) -> None:
    """Stopped with labels, with requests still pending and one withdrawn, it goes on as if it had not been."""
    file = tmp_path / "audit.db"
    audit = fl.create(file, "audit", KNOWN.pool, task=TASK, policy=policy, seed=9)
    twin = fl.create(None, "audit", KNOWN.pool, task=TASK, policy=policy, seed=9)
    for a in (audit, twin):
        first = a.ask(5)
        a.tell(KNOWN.labels(first.ids[1:4]))
        a.withdraw(first.ids[4:])
        a.ask(2)
    audit.close()
    loaded = fl.load(file, "audit", pool=KNOWN.pool)
    assert loaded.spec == twin.spec
    assert (loaded.labels(), loaded.pending()) == (twin.labels(), twin.pending())
    assert loaded.estimates(draws=50).columns == twin.estimates(draws=50).columns
    for _ in range(3):
        batch = twin.ask(3)
        assert list(loaded.ask(3)) == list(batch)
        for a in (loaded, twin):
            a.tell(KNOWN.labels(batch.ids))
    loaded.close()


def test_two_objects_on_one_file_see_each_other(tmp_path: Path) -> None:
    one = fl.create(tmp_path / "audit.db", "audit", KNOWN.pool, task=TASK)
    two = fl.load(tmp_path / "audit.db", "audit")
    asked: list[str] = []
    while batch := (one if len(asked) % 2 == 0 else two).ask(3):
        asked += batch.ids
        assert sorted(one.pending()) == sorted(two.pending()) == sorted(batch.ids)
        two.tell(KNOWN.labels(batch.ids[:1]))
        one.tell(KNOWN.labels(batch.ids[1:]))
        assert one.labels() == two.labels() == {i: KNOWN.truth[i] for i in sorted(asked)}
        assert one.estimates().columns == two.estimates().columns
    assert sorted(asked) == list(KNOWN.truth)
    assert (len(one.ask(4)), len(two.ask(4))) == (0, 0)
    one.close()
    two.close()


def test_a_changed_pool_is_refused_with_what_changed(tmp_path: Path) -> None:
    fl.create(tmp_path / "audit.db", "audit", KNOWN.pool).close()
    other = zoo(seed=4)
    with pytest.raises(PoolChangedError, match=r"'audit' was made with.*scores changed.*load without pool=") as refused:
        fl.load(tmp_path / "audit.db", "audit", pool=other.pool)
    assert "Create a new assessment" in str(refused.value)
    fl.load(tmp_path / "audit.db", "audit", pool=zoo().pool).close()


# --- telling


def test_the_answers_to_a_batch_come_in_any_order(audit: fl.Assessment) -> None:
    twin = fl.create(None, "audit", KNOWN.pool, task=TASK, seed=5)
    batch = audit.ask(3)
    assert twin.ask(3).ids == batch.ids
    for item in batch.ids[::-1]:
        assert audit.tell({item: KNOWN.truth[item]}) == 1
    assert twin.tell(KNOWN.labels(batch.ids)) == 3
    assert audit.labels() == twin.labels()
    assert audit.ask(3).ids == twin.ask(3).ids


@pytest.mark.parametrize("adopt", [False, True])
def test_an_error_leaves_the_log_untouched(audit: fl.Assessment, adopt: bool) -> None:
    first, second, never = (*audit.ask(2).ids, next(i for i in KNOWN.truth if i not in audit.pending()))
    audit.tell({first: "ant"})
    before, labels = _log(audit), audit.labels()
    bad = [
        ({"z99": "ant"}, "unknown item 'z99'.*own ids, such as 'z00'"),
        ({second: "yak"}, "unknown class 'yak'.*The classes are 'ant'"),
        ({second: "Antt"}, "unknown class 'Antt'. Nothing was changed. Did you mean 'ant'"),
        ({second: "bee", first: "cow", "z99": "ant"}, "unknown item 'z99'"),
        ({second: "bee", first: "yak"}, "unknown class 'yak'"),
    ]
    if not adopt:
        reason = f"cannot tell '{never}': it was never asked for. Nothing was changed.*adopt=True"
        bad += [({never: "ant"}, reason), ({second: "bee", never: "ant"}, reason)]
    for told, reason in bad:
        with pytest.raises(LabelError, match=reason):
            audit.tell(told, adopt=adopt)
        assert _log(audit) == before
        assert audit.labels() == labels
        assert audit.pending() == [second]


def test_labels_collected_elsewhere_are_adopted_when_asked_to(audit: fl.Assessment) -> None:
    told = dict(list(KNOWN.truth.items())[:10])
    assert audit.tell(told, adopt=True, note="last year") == 10
    assert audit.labels() == told
    assert set(audit.log()["note"]) == {"last year"}
    rest: list[str] = []
    while batch := audit.ask(4):
        rest += batch.ids
    assert sorted(rest) == sorted(KNOWN.truth.keys() - told.keys())
    assert audit.tell({"z00": "cow"}) == 1, "an adopted label can be corrected"


def test_a_second_label_replaces_the_first_and_the_log_keeps_both(audit: fl.Assessment) -> None:
    (item,) = audit.ask(1).ids
    audit.tell({item: "ant"}, annotator="eve", note="quick look")
    audit.tell({item: "cow"}, annotator="ann")
    assert audit.labels() == {item: "cow"}
    assert audit.belief().counts.sum() == 1
    rows = list(audit.log().rows())
    assert [row["kind"] for row in rows] == ["request", "label", "label"]
    assert [row["label"] for row in rows] == [None, "ant", "cow"]
    assert [row["annotator"] for row in rows] == [None, "eve", "ann"]
    assert [row["note"] for row in rows] == [None, "quick look", None]
    assert [row["seq"] for row in rows] == [1, 2, 3]
    assert rows == sorted(rows, key=lambda row: row["at"])


def test_requests_and_labels_can_be_withdrawn(audit: fl.Assessment) -> None:
    asked, told = audit.ask(2).ids
    audit.tell({told: "ant"})
    assert audit.withdraw([asked, told], annotator="eve", note="blurred") == 2
    assert (audit.labels(), audit.pending()) == ({}, [])
    assert audit.belief().counts.sum() == 0
    assert [row["kind"] for row in audit.log().rows()][-2:] == ["withdraw", "withdraw"]
    assert audit.tell({asked: "ant"}) == 1, "it was asked for once, so a late answer is taken"
    again: list[str] = []
    while batch := audit.ask(7):
        again += batch.ids
    assert sorted([*again, asked]) == list(KNOWN.truth), "what was withdrawn is asked for again"


def test_what_is_not_out_cannot_be_withdrawn(audit: fl.Assessment) -> None:
    out = audit.ask(1).ids[0]
    free = next(i for i in KNOWN.truth if i != out)
    before = _log(audit)
    with pytest.raises(LabelError, match=f"cannot withdraw '{free}': it is neither pending nor labelled"):
        audit.withdraw([out, free])
    with pytest.raises(LabelError, match="unknown item 'z99'"):
        audit.withdraw(["z99"])
    with pytest.raises(InputError, match=r"write \['z01'\]"):
        audit.withdraw("z01")
    assert _log(audit) == before


@pytest.mark.parametrize("shape", ["csv", "pandas", "series", "polars", "columns", "mapping"])
def test_labels_come_in_many_shapes(audit: fl.Assessment, tmp_path: Path, shape: str) -> None:
    told = KNOWN.labels(audit.ask(4).ids)
    columns = {"id": list(told), "label": list(told.values())}
    path = tmp_path / "labels.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    shapes: dict[str, Labels] = {"csv": path, "polars": pl.DataFrame(columns), "columns": columns, "mapping": told}
    shapes |= {"pandas": pd.DataFrame(columns), "series": pd.Series(told)}
    assert audit.tell(shapes[shape]) == 4
    assert audit.labels() == dict(sorted(told.items()))


def test_numpy_ids_and_labels_are_as_good_as_text() -> None:
    pool = fl.read_pool({"id": np.arange(5, 9), "predicted": np.array([0, 1, 0, 1])})
    audit = fl.create(None, "numbers", pool, target="pool")
    asked = audit.ask(np.int64(4))  # type: ignore[arg-type]
    assert audit.tell({np.int64(item): np.int32(1) for item in asked.ids}) == 4
    assert audit.labels() == dict.fromkeys(["5", "6", "7", "8"], "1")
    assert audit.estimates()["mean"] == [0, 1]
    assert audit.withdraw(np.arange(5, 7)) == 2


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_ask_wants_a_number_of_items(audit: fl.Assessment, n: object) -> None:
    with pytest.raises(InputError, match=r"whole number of at least 1\. Got"):
        audit.ask(n)  # type: ignore[arg-type]
    assert _log(audit) == []


@pytest.mark.parametrize(("setting", "value"), [("level", 95), ("level", 0), ("level", 1), ("draws", 0)])
def test_results_refuse_senseless_settings(audit: fl.Assessment, setting: str, value: float) -> None:
    for read in (audit.estimates, audit.answer):
        with pytest.raises(InputError, match=f"Got {value} instead"):
            read(**{setting: value})  # type: ignore[arg-type]


# --- batches for annotators


def test_a_batch_for_annotators_has_no_prediction_and_no_group(audit: fl.Assessment, tmp_path: Path) -> None:
    batch = audit.ask(6)
    assert [request.content for request in batch] == [f"animal number {int(item[1:])}" for item in batch.ids]
    assert all(request.group in CLASSES for request in batch)
    assert all(request.why.split(" ", 2)[2] in ("of Boundary", "at random from all") for request in batch)
    batch.write(tmp_path / "batch.csv")
    frame = pd.read_csv(tmp_path / "batch.csv", dtype=str, keep_default_na=False)
    assert list(frame.columns) == ["id", "content", "label"]
    assert frame["id"].tolist() == batch.ids
    assert set(frame["label"]) == {""}
    written = (tmp_path / "batch.csv").read_text()
    assert not any(name in written for name in (*CLASSES, "step", "Boundary"))
    # Half filled in, the same file is told, and not written over.
    frame.loc[:2, "label"] = [KNOWN.truth[item] for item in batch.ids[:3]]
    frame.to_csv(tmp_path / "batch.csv", index=False)
    with pytest.raises(fl.InputError, match=r"already exists.*overwrite=True"):
        batch.write(tmp_path / "batch.csv")
    assert audit.tell(tmp_path / "batch.csv") == 3
    batch.write(tmp_path / "batch.csv", overwrite=True)
    assert audit.pending() == sorted(batch.ids[3:])


def test_an_empty_batch_says_so_and_is_still_a_file_of_labels(audit: fl.Assessment, tmp_path: Path) -> None:
    audit.ask(30)
    batch = audit.ask(1)
    assert repr(batch) == "<Batch: no items>"
    batch.write(tmp_path / "batch.csv")
    assert (tmp_path / "batch.csv").read_text() == "id,label\n"


# --- many at once


def test_threads_share_an_assessment(audit: fl.Assessment) -> None:
    """Four threads ask, tell and read on one object: every item once, and every label kept."""

    def work(_: int) -> list[str]:
        mine: list[str] = []
        while batch := audit.ask(2):
            mine += batch.ids
            audit.tell(KNOWN.labels(batch.ids))
            audit.estimates()
        return mine

    with ThreadPoolExecutor(4) as threads:
        handed = [item for mine in threads.map(work, range(4), timeout=60) for item in mine]
    assert sorted(handed) == list(KNOWN.truth)
    assert audit.labels() == KNOWN.truth
    assert audit.pending() == []
    # The log says the same as what the object added up.
    assert audit.log()["seq"] == list(range(1, 61))


def test_the_views_agree_where_they_must() -> None:
    """Labels asked at random are counted as they are; the groups of asking are read as they are."""
    audit = fl.create(None, "views", KNOWN.pool, prior=fl.Uniform(), policy=fl.UniformItems())
    audit.tell(KNOWN.labels(audit.ask(12).ids))
    own = audit.estimates()
    assert audit.estimates(groups=fl.by_predicted(KNOWN.pool)).columns == own.columns
    assert audit.estimates(metric=fl.Accuracy()).columns == own.columns
    right = sum(KNOWN.pool.classes[k] == t for k, t in _predicted_and_told(audit, KNOWN))
    assert audit.estimates(groups=fl.whole(KNOWN.pool))["mean"] == [pytest.approx((1 + right) / 14)]
    assert audit.draws(50, groups=fl.whole(KNOWN.pool)).shape == (50, 1)
    with pytest.raises(InputError, match="belong to another pool"):
        audit.estimates(groups=fl.whole(fl.read_pool([[0.9, 0.1], [0.2, 0.8]])))


def test_groups_of_a_pool_of_the_same_size_are_refused() -> None:
    """Groups of the same items in another order, or by other predictions, would be numbers about nothing."""
    columns = {"predicted": ["ant", "bee"] * 20, "site": ["a", "a", "b", "b"] * 10}
    pool, other = fl.read_pool(columns), fl.read_pool({name: values[::-1] for name, values in columns.items()})
    audit = fl.create(None, "views", pool)
    for groups in (
        fl.by_column(other, "site"),
        fl.by_predicted(other),
        fl.cross(fl.whole(pool), fl.by_predicted(other)),
    ):
        with pytest.raises(InputError, match="this pool gives other groups"):
            audit.estimates(groups=groups)
        with pytest.raises(InputError, match="this pool gives other groups"):
            fl.plan(pool, groups, budgets=[5], runs=2)
    assert len(audit.estimates(groups=fl.by_column(fl.read_pool(columns), "site"))) == 2


def test_groups_by_one_model_may_be_read_of_another() -> None:
    models = fl.read_pool({"old": ["a", "b", "a", "b"], "new": ["a", "a", "b", "b"]}, models=["old", "new"])
    audit = fl.create(None, "old", models, model="old")
    assert len(audit.estimates(groups=fl.by_predicted(models.of("old")), model="new")) == 2
    assert len(audit.estimates(groups=fl.by_predicted(models), model="new")) == 2


@pytest.mark.parametrize("policy", [fl.UniformItems(), fl.Thompson()], ids=repr)
def test_a_comparison_of_two_groups_says_nothing_of_the_others(policy: Policy) -> None:
    """Labels came from two groups only, so the whole pool is weighted by groups, the others at their prior mean."""
    audit = fl.create(
        None, "pair", KNOWN.pool, task=fl.Compare(fl.Accuracy(), "ant", "bee"), prior=fl.Uniform(), policy=policy
    )
    audit.tell(KNOWN.labels(audit.ask(16).ids))
    mean = audit.estimates()["mean"]
    expected = sum(m * n for m, n in zip(mean, audit.groups.sizes, strict=True) if n) / 30
    assert audit.estimates(groups=fl.whole(KNOWN.pool))["mean"] == [pytest.approx(expected)]
    assert mean[2:5] == [0.5, 0.5, 0.5]


def _predicted_and_told(audit: fl.Assessment, known: Known) -> list[tuple[int, str]]:
    labels = audit.labels()
    return [
        (int(known.pool.predicted[i]), t) for i, t in zip(known.pool.positions(labels), labels.values(), strict=True)
    ]


def test_the_reliability_diagram_has_a_row_for_each_bin_and_its_confidence(audit: fl.Assessment) -> None:
    audit.tell(KNOWN.truth, adopt=True)
    table = audit.reliability(5, draws=100)
    bins = fl.by_score(KNOWN.pool, 5)
    assert table["n"] == bins.sizes.tolist()
    for b, row in enumerate(table.rows()):
        inside = KNOWN.pool.confidence[bins.group == b]
        assert row["confidence"] == (pytest.approx(inside.mean()) if len(inside) else None)
        assert (row["mean"] is None) == (len(inside) == 0)
    by_place = audit.reliability(5, groups=fl.by_column(KNOWN.pool, "place"), draws=100)
    assert sum(by_place["n"]) == 30


def test_loading_a_file_that_is_not_there_makes_none(tmp_path) -> None:
    with pytest.raises(fl.StoreError, match=r"there is no file .*typo\.db.*create\(\) makes a new one"):
        fl.load(tmp_path / "typo.db", "audit")
    assert not (tmp_path / "typo.db").exists()


def test_what_is_no_pool_and_no_groups_is_named() -> None:
    with pytest.raises(InputError, match=r"must be a pool, such as read_pool.*Got 'predictions.csv'"):
        fl.create(None, "file", "predictions.csv")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"such as by_predicted\(pool\). Got \['predicted'\]"):
        fl.create(None, "list", KNOWN.pool, ["predicted"])  # type: ignore[arg-type]


def test_the_only_assessment_needs_no_name(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no file"):
        fl.load(tmp_path / "a.db")
    fl.create(tmp_path / "a.db", "one", KNOWN.pool).close()
    with closing(fl.load(tmp_path / "a.db")) as audit:
        assert audit.name == "one"
    fl.create(tmp_path / "a.db", "two", KNOWN.pool).close()
    with pytest.raises(StoreError, match=r"has 2 assessments: 'one', 'two'\. Name one of them"):
        fl.load(tmp_path / "a.db")


def test_numbers_of_numpy_are_taken(tmp_path: Path) -> None:
    """Where a number is stored or written as JSON, it is one of Python by then."""
    noisy, seed, level = np.array([True])[0], np.array([3])[0], np.array([0.9], np.float32)[0]
    audit = fl.create(tmp_path / "a.db", "numbers", KNOWN.pool, noisy=noisy, seed=seed)
    assert audit.spec.noisy is True
    path = audit.report(tmp_path / "r.json", level=level)
    assert json.loads(path.read_text(encoding="utf-8"))["level"] == pytest.approx(0.9)
    assert type(audit.estimates(level=level).settings["level"]) is float


def test_results_print_as_sentences() -> None:
    """As docs/reference.md says: nobody wants to see how they are made."""
    audit = fl.create(None, "words", KNOWN.pool, prior=fl.Uniform(), stop=fl.Stop(labels=5), overlap=2)
    for person in ("ann", "bob"):
        audit.tell(KNOWN.labels(audit.ask(3, annotator=person).ids), annotator=person)
    assert repr(audit.standing()) == audit.standing().words
    assert repr(fl.forecast(audit)) == fl.forecast(audit).words
    assert repr(audit.agreement()) == f"{audit.agreement().words}\n\n{audit.agreement().pairs}"
