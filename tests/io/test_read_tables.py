"""`read_pool` of tables that stay where they are: patterns, connections, and what is refused."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import fewlabels as fl
from fewlabels.engines.columns import Columns
from fewlabels.engines.opening import open_table
from fewlabels.engines.table import RemoteTable
from fewlabels.errors import InputError
from fewlabels.io import table_roles, tables
from fewlabels.io.finder import guess
from fewlabels.io.source import table_source
from fewlabels.io.table_roles import is_table
from fewlabels.io.tables import read_table
from fewlabels.reserve import keys_of
from tests.support.table_rows import groups_of, yes_and_no

if TYPE_CHECKING:
    from pathlib import Path

duckdb = pytest.importorskip("duckdb")


def test_a_connection_a_pattern_and_a_frame_are_the_same_pool(tmp_path: Path) -> None:
    table = yes_and_no()
    pq.write_table(table, tmp_path / "a.parquet")
    connection = duckdb.connect()
    connection.register("answers", table)
    named: dict[str, Any] = {"id": "img", "columns": ["sex"]}
    by_pattern = fl.read_pool(tmp_path / "*.parquet", **named)
    by_connection = fl.read_pool(connection, table="answers", **named)
    in_memory = fl.read_pool(table, **named)
    assert by_pattern.fingerprint == by_connection.fingerprint
    assert by_pattern.differences(by_connection) == ""
    assert len(by_pattern) == len(in_memory) == 500
    for by in (fl.whole, fl.by_predicted, fl.by_score, lambda pool: fl.by_column(pool, "sex")):
        np.testing.assert_array_equal(by(by_pattern).sizes, by(in_memory).sizes)
    audit = fl.create(None, "sexes", by_connection, fl.by_column(by_connection, "sex"))
    batch = audit.ask(8)
    audit.tell(dict.fromkeys(batch.ids, "yes"))
    assert sum(audit.estimates()["labelled"]) == 8
    audit.close()
    connection.close()


def test_groups_by_many_columns_with_many_values_stay_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    items, names = 900, [f"c{k}" for k in range(9)]  # 256⁹ combinations are more than 64 bits
    values = {name: [f"v{value}" for value in rng.integers(0, 256, items)] for name in names}
    table = pa.table({"id": [f"i{n}" for n in range(items)], "predicted": ["no", "yes", "maybe"] * 300, **values})
    pq.write_table(table, tmp_path / "a.parquet")
    pool = fl.read_pool(tmp_path / "*.parquet", columns=names)
    assert pool.reserve is not None
    assert pool.reserve.strata == items
    assert fl.by_predicted(pool).sizes.tolist() == [300, 300, 300]
    named = dict(zip(pool.ids.to_pylist()[pool.units :], pool.predicted[pool.units :].tolist(), strict=True))
    assert {item: pool.classes[k] for item, k in named.items()} == dict(
        zip(table["id"].to_pylist(), table["predicted"].to_pylist(), strict=True)
    )


def test_a_column_of_uuids_is_recognised_as_the_ids_and_read_as_text(tmp_path: Path) -> None:
    """DuckDB says that they are text; Arrow, in memory and from PostgreSQL, has a type of its own for them."""
    numbers = [uuid.UUID(int=i << 64) for i in range(1, 41)]
    column = pa.array([number.bytes for number in numbers], pa.binary(16)).cast(pa.uuid())
    table = pa.table({"Item Id": column, "predicted": ["yes", "no"] * 20, "body": ["text"] * 40})
    texts = table.set_column(0, "Item Id", pa.array(list(map(str, numbers))))
    named = 'SELECT * REPLACE ("Item Id"::UUID AS "Item Id") FROM texts'
    file = tmp_path / "a.parquet"
    duckdb.from_arrow(texts).query("texts", named).write_parquet(str(file))
    seen = pq.read_schema(file).field("Item Id").type == pa.uuid()  # Arrow below 21 sees bytes there
    for source in (table, tmp_path / "*.parquet", *[file] * seen):
        pool = fl.read_pool(source)
        assert {*pool.ids.to_pylist()} - {None} == {*map(str, numbers)}
    assert guess(table_source("a table", table)).id == "Item Id"


def test_the_order_depends_on_the_seed_and_nothing_else(tmp_path: Path) -> None:
    table = yes_and_no()
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.take(np.random.default_rng(0).permutation(500)), tmp_path / "b.parquet")
    asked = []
    for file, seed in (("a*.parquet", 0), ("b*.parquet", 0), ("a*.parquet", 1)):
        pool = fl.read_pool(tmp_path / file, id="img", seed=seed)
        asked.append(fl.create(None, "x", pool, policy=fl.UniformItems()).ask(20).ids)
    assert asked[0] == asked[1] != asked[2]


def test_what_a_table_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,predicted\n1,a\n")
    assert not is_table(tmp_path / "a.csv")
    assert not is_table({"predicted": ["a"]})
    assert not is_table(np.zeros((2, 2)))
    assert is_table(tmp_path)
    assert is_table(str(tmp_path / "*.csv"))
    assert is_table("s3://bucket/a.parquet")
    assert fl.read_pool(tmp_path / "*.csv").classes == ("a",)
    (tmp_path / "b.csv").write_text("id,predicted,confidence\n007,a,0.5\n7,b,0.75\n")
    pool = fl.read_pool(tmp_path / "b*.csv")
    assert pool.mean_confidence == pytest.approx(0.625)
    assert {*pool.ids.to_pylist()} == {None, "007", "7"}


def test_what_is_refused(tmp_path: Path) -> None:
    table = yes_and_no()
    pq.write_table(table, tmp_path / "a.parquet")
    pattern = str(tmp_path / "*.parquet")
    for wrong in ({"models": ["a", "b"]}, {"normalize": True}, {"logits": True}, {"unlisted": "wrong"}):
        with pytest.raises(fl.InputError, match="cannot be read with"):
            fl.read_pool(pattern, id="img", **wrong)
    with pytest.raises(fl.InputError, match="needs a column of ids"):
        fl.read_pool(pattern)
    with pytest.raises(fl.InputError, match="'no', which is not one of the classes"):
        fl.read_pool(pattern, id="img", classes=["yes", "maybe"])
    with pytest.raises(fl.InputError, match="no column 'text'"):
        fl.read_pool(pattern, id="img", content="text")
    pq.write_table(pa.table({"id": ["a"], "p_x": [0.5], "p_y": [0.5]}), tmp_path / "b.parquet")
    with pytest.raises(fl.InputError, match="scores of every class"):
        fl.read_pool(tmp_path / "b*.parquet")


def test_a_sample_is_drawn_by_the_ids_and_read_like_a_file(tmp_path: Path) -> None:
    table = yes_and_no(2_000)
    pq.write_table(table, tmp_path / "old.parquet")
    other = table.take(np.random.default_rng(2).permutation(2_000))
    pq.write_table(other.set_column(1, "predicted", [["yes"] * 2_000]), tmp_path / "new.parquet")
    one = fl.read_pool(tmp_path / "ol*.parquet", id="img", sample=300)
    assert one.reserve is None
    assert len(one) == 300
    expected = sorted(map(str, table["img"].to_pylist()), key=lambda item: keys_of([item], 0)[0])[:300]
    assert set(one.ids.to_pylist()) == set(expected)
    both = fl.read_pool({"old": tmp_path / "ol*.parquet", "new": tmp_path / "ne*.parquet"}, id="img", sample=300)
    assert both.models == ("old", "new")
    assert set(both.ids.to_pylist()) == set(expected), "the same items of both tables"
    assert not both.unanswered
    whole = fl.read_pool(tmp_path / "ol*.parquet", id="img", sample=5_000)
    assert len(whole) == 2_000
    with pytest.raises(fl.InputError, match="is about tables"):
        fl.read_pool({"predicted": ["a", "b"]}, sample=5)


def test_a_sample_of_a_csv_file_has_numbers(tmp_path: Path) -> None:
    csv.write_csv(yes_and_no(), tmp_path / "a.csv")
    pool = fl.read_pool(tmp_path / "*.csv", id="img", sample=100)
    assert pool.confidence is not None
    by_id = dict(zip(map(str, yes_and_no()["img"].to_pylist()), yes_and_no()["confidence"].to_pylist(), strict=True))
    assert pool.confidence.tolist() == pytest.approx([by_id[str(item)] for item in pool.ids.to_pylist()])


def test_a_relation_stays_where_it_is_if_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    table = yes_and_no()
    connection = duckdb.connect()
    relation = connection.from_arrow(table).filter("img >= 1100")
    in_memory = fl.read_pool(relation, id="img", columns=["sex"])
    assert in_memory.reserve is None
    monkeypatch.setattr(table_roles, "_RELATION", 100)
    pool = fl.read_pool(relation, id="img", columns=["sex"])
    assert pool.reserve is not None
    assert len(pool) == len(in_memory) == 400
    connection.register("later", table.slice(100))
    assert pool.fingerprint == fl.read_pool(connection, table="later", id="img", columns=["sex"]).fingerprint
    audit = fl.create(None, "sexes", pool, fl.by_column(pool, "sex"))
    audit.tell({"1200": "yes"}, adopt=True)
    audit.tell(dict.fromkeys(audit.ask(150).ids, "yes"))
    assert sum(audit.estimates()["labelled"]) >= 150
    audit.close()
    connection.close()


def judged(items: int = 800) -> pa.Table:
    """Rows with a judge's verdicts, stars from 1 to 5 and a length, some of them missing; no confidences."""
    rng = np.random.default_rng(4)
    stars = rng.integers(1, 6, items).tolist()
    return (
        yes_and_no(items)
        .drop_columns("confidence")
        .append_column("judge", pa.array([["pass", "fail", None][k] for k in rng.choice(3, items, p=[0.6, 0.3, 0.1])]))
        .append_column("stars", pa.array([None if k % 7 == 0 else star for k, star in enumerate(stars)]))
        .append_column("length", pa.array([None if k % 9 == 0 else n for k, n in enumerate(rng.normal(50, 10, items))]))
    )


def test_evidence_of_a_table_is_that_of_the_items_in_memory(tmp_path: Path) -> None:
    table = judged()
    connection = duckdb.connect()
    connection.register("answers", table)
    evidence = ["judge", "stars"]
    full = fl.read_pool(table, id="img", evidence=evidence)
    short = read_table(
        open_table(connection, table="answers"), Columns("img", "predicted"), named=60, evidence=evidence
    )
    named = [item for item in short.ids.to_pylist() if item is not None]
    assert len(named) < 700
    assert full.known is not None
    assert short.known is not None
    np.testing.assert_allclose(short.known[short.positions(named)], full.known[full.positions(named)], atol=1e-12)
    rng = np.random.default_rng(1)
    told, true = rng.permutation(named)[:60], rng.integers(0, 2, 60).astype(np.int32)
    metric, beliefs = fl.Accuracy(), []
    for pool in (full, short):
        cells = metric.cells(pool, fl.by_predicted(pool))
        outcomes = metric.outcomes(pool, cells, pool.positions(told), true)
        beliefs.append(fl.Learned().on(cells, "population").belief(outcomes))
    np.testing.assert_allclose(beliefs[0].mean(), beliefs[1].mean(), atol=1e-9)
    np.testing.assert_allclose(beliefs[0].variance(), beliefs[1].variance(), rtol=1e-7)
    audit = fl.create(tmp_path / "a.db", "judged", short)
    audit.tell(dict.fromkeys(audit.ask(300).ids, "yes"))
    assert len(audit.pool.ids) > len(short.ids), "more items were named on the way"
    audit.close()
    again = fl.load(tmp_path / "a.db", "judged")
    assert again.pool.evidence == ("judge", "stars")
    assert again.pool.fingerprint == short.fingerprint
    assert again.pool.fingerprint != fl.read_pool(connection, table="answers", id="img").fingerprint
    again.close()


def test_numbers_are_evidence_in_steps_of_half_a_standard_deviation() -> None:
    table = judged()
    connection = duckdb.connect()
    connection.register("answers", table)
    full = fl.read_pool(table, id="img", evidence=["length"])
    short = fl.read_pool(connection, table="answers", id="img", evidence=["length"])
    assert full.known is not None
    assert short.known is not None
    named = [item for item in short.ids.to_pylist() if item is not None]
    exact, steps = full.known[full.positions(named), 0], short.known[short.positions(named), 0]
    np.testing.assert_array_equal(exact == 0, steps == 0, "missing ones stay missing")
    inside = np.abs(exact) < 2.5
    assert np.abs(exact - steps)[inside].max() < 0.35  # a quarter for the step, and the moments of steps for all
    assert np.corrcoef(exact, steps)[0, 1] > 0.98
    for wrong, why in (
        ("img", "the prediction itself"),
        ("sex2", "no column 'sex2'"),
        ("text", "more than 20 different texts"),
    ):
        connection.register("answers", table.append_column("text", pa.array([f"t{k}" for k in range(800)])))
        with pytest.raises(fl.InputError, match=why):
            fl.read_pool(connection, table="answers", id="img", evidence=[wrong])
    connection.register("answers", table.set_column(5, "length", pa.array([1.5] * 800)))
    with pytest.raises(fl.InputError, match="one value only"):
        fl.read_pool(connection, table="answers", id="img", evidence=["length"])
    connection.close()


def test_groups_of_one_item_are_refused_wherever_the_items_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = yes_and_no(1_500).append_column("text", pa.array([f"text {n}" for n in range(1_500)]))
    pq.write_table(table, tmp_path / "a.parquet")
    named: dict[str, Any] = {"id": "img", "columns": ["text"]}
    for pool in (fl.read_pool(table, **named), fl.read_pool(tmp_path / "*.parquet", **named)):
        groups = fl.by_column(pool, "text")
        for begin in (
            lambda pool=pool, groups=groups: fl.create(None, "texts", pool, groups),
            lambda pool=pool: fl.create(None, "texts", pool, "column:text"),
            lambda pool=pool, groups=groups: fl.plan(pool, groups),
        ):
            with pytest.raises(fl.InputError, match="1,500 items make 1,500 groups by column 'text', fewer than two"):
                begin()
        whole = fl.create(None, "texts", pool, "whole")
        with pytest.raises(fl.InputError, match="with groups='whole'"):
            whole.estimates(groups="column:text")
        whole.close()
    # Of a table, the values are counted before they are read.
    monkeypatch.setattr(tables, "MOST_GROUPS", 1_000)
    with pytest.raises(fl.InputError, match="the column 'text' has over 1,000 different values"):
        fl.read_pool(tmp_path / "*.parquet", **named)
    few = fl.read_pool(table.slice(0, 900), **named)
    fl.create(None, "texts", few, "column:text").close()


def test_ids_beyond_the_signed_numbers_are_found_again(tmp_path: Path) -> None:
    ids = pa.array([2**63 + n for n in range(500)], pa.uint64())
    pq.write_table(yes_and_no().set_column(0, "img", ids), tmp_path / "a.parquet")
    pool = fl.read_pool(tmp_path / "*.parquet", id="img", content="sex")
    audit = fl.create(None, "huge", pool)
    asked = audit.ask(3)
    assert all(int(item) >= 2**63 for item in asked.ids)
    assert {request.content for request in asked} <= {"f", "m"}
    with pytest.raises(fl.LabelError, match="unknown item '18446744073709551616'"):
        audit.tell({str(2**64): "no"}, adopt=True)
    audit.close()


def test_a_number_that_is_none_is_a_missing_group_as_in_memory(tmp_path: Path) -> None:
    floor = pa.array([[1.0, 2.0, float("nan"), None][n % 4] for n in range(500)])
    table = yes_and_no().append_column("floor", floor)
    pq.write_table(table, tmp_path / "a.parquet")
    pool = fl.read_pool(tmp_path / "*.parquet", id="img", columns=["floor"])
    groups = fl.by_column(pool, "floor")
    assert groups.names == ("1", "2", "(missing)")
    in_memory = fl.by_column(fl.read_pool(table, id="img", columns=["floor"]), "floor")
    assert groups.sizes.tolist() == in_memory.sizes.tolist() == [125, 125, 250]


@pytest.mark.parametrize("blank", ["", "  "])
def test_an_empty_prediction_is_refused_as_in_memory(tmp_path: Path, blank: str) -> None:
    said = pa.array([blank if n % 5 == 0 else "yes" for n in range(500)])
    pq.write_table(yes_and_no().set_column(1, "predicted", said), tmp_path / "a.parquet")
    with pytest.raises(fl.InputError, match="100 items with an empty prediction, in the column 'predicted'"):
        fl.read_pool(tmp_path / "*.parquet", id="img")


@pytest.mark.parametrize("sign", ["%", " %", ""])
def test_confidences_with_commas_and_percent_signs_are_read_as_in_a_file(tmp_path: Path, sign: str) -> None:
    """And numbers that are put into bins have commas alone."""
    said = np.round(np.random.default_rng(3).uniform(0.5, 1, 300) * (100 if sign else 1), 3)
    ages = ["nan" if i % 9 == 0 else 0 if i % 9 < 6 else i / 2 for i in range(300)]  # most are equal
    told = enumerate(zip(said.tolist(), ages, strict=True))
    lines = [f"x{i};{'ab'[i % 2]};{value}{sign};{age}".replace(".", ",") for i, (value, age) in told]
    (tmp_path / "a.csv").write_text("\n".join(["id;Vorhersage;Sicherheit;Alter", *lines]) + "\n", encoding="utf-8")
    named: dict[str, Any] = {"predicted": "Vorhersage", "confidence": "Sicherheit"}
    in_memory = fl.read_pool(tmp_path / "a.csv", **named)
    pool = fl.read_pool(tmp_path / "*.csv", columns=["Alter:3"], **named)
    assert pool.reserve is not None
    assert pool.reserve.said is not None
    assert in_memory.confidence is not None
    assert groups_of(pool, "Alter", "3") == groups_of(in_memory, "Alter", "3")
    places = in_memory.positions(pool.ids.to_pylist()[pool.units :])
    np.testing.assert_array_equal(pool.reserve.said, in_memory.confidence[places])
    audit = fl.create(tmp_path / "audit.db", "x", pool)
    audit.close()
    assert len(fl.load(tmp_path / "audit.db").ask(250).ids) == 250  # what is read further is read in the same way
    drawn = fl.read_pool(tmp_path / "*.csv", sample=1_000, **named)
    assert drawn.confidence is not None
    assert sorted(drawn.confidence) == sorted(in_memory.confidence)


def test_a_percent_sign_that_is_missing_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,predicted,confidence\n1,a,91%\n2,a,1\n", encoding="utf-8")
    with pytest.raises(fl.InputError, match="1 confidence in the column 'confidence' does not lie between 0 and 1"):
        fl.read_pool(tmp_path / "*.csv")


@pytest.mark.parametrize(("name", "stays"), [("a.csv", True), ("a.parquet", True), ("a.xlsx", False), ("b.csv", False)])
def test_large_files_stay_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, stays: bool
) -> None:
    from fewlabels.cli import predictions
    from fewlabels.understanding.options import ReadOptions

    monkeypatch.setattr(predictions, "_LARGE", dict.fromkeys(predictions._LARGE, 5))
    (tmp_path / name).write_text("id,predicted" if name.startswith("a") else "id")
    assert predictions.stays_put(str(tmp_path / name), ReadOptions()) is stays
    assert not predictions.stays_put(str(tmp_path / name), ReadOptions(scores="p_*")), "vectors need memory"


@pytest.mark.parametrize("step", ["summary", "check_ids", "reserve"])
def test_files_that_are_written_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(yes_and_no(), file)
    table = open_table(f"{tmp_path}/*.parquet")
    read = getattr(RemoteTable, step)

    def and_then_written(*given: Any) -> Any:
        found = read(*given)
        other = yes_and_no()
        pq.write_table(other.set_column(0, "img", pa.array(range(5_000, 5_500))), file)
        return found

    monkeypatch.setattr(RemoteTable, step, and_then_written)
    with pytest.raises(InputError, match="written to while it was read"):
        read_table(table, Columns("img", "predicted", "confidence"), named=100)
