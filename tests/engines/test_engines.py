"""Every engine gives the same summary and the same items in the same order as hashlib."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewlabels.engines import Columns
from fewlabels.engines.queues import Queues
from fewlabels.errors import InputError, PoolChangedError
from tests.support import tables
from tests.support.tables import BY_REGION, PLAIN, Row, in_clickhouse, in_duckdb, in_postgres, in_spark, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fewlabels.engines import RemoteTable

    Make = Callable[[list[Row]], RemoteTable]

# PostgreSQL has no zero byte in its texts.
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    st.integers().map(str),
    st.sampled_from(
        ["it's", '"quoted"', "a", "A", "ä", "a\u0308", "007", "7", " 7", "7 ", "%s", "%%", "?", "$1", ":x"]
    ),
    st.sampled_from(["\\", "\\'", "--", ";", "{}", "\n", "\t", "NULL", "", "x" * 5000, "日本", "𝔘"]),
)
SCORES = st.one_of(
    st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 239 / 240, 0.99999999, 1 - 2**-53, 1 / 240, 0.1, 2**-33, 1e-300])
)
CLASSES = TEXTS.filter(lambda text: text.strip(" \t\r\n") != "")  # an empty prediction is refused
ROWS = st.lists(
    st.builds(Row, TEXTS, CLASSES, SCORES, st.none() | TEXTS), min_size=1, max_size=40, unique_by=lambda row: row.id
)


def many(count: int, groups: int = 3) -> list[Row]:
    """Rows with ids that need quoting, in groups of very different sizes."""
    names = [f"it's {i}" for i in range(groups)]
    return [
        Row(f"item \\ {i}", names[min(i % 7, groups - 1)], (i * 37 % 1001) / 1000, [None, "north", "South"][i % 3])
        for i in range(count)
    ]


@pytest.fixture
def adbc(postgres_url: str) -> Iterator[Any]:
    """An ADBC connection to a new database in PostgreSQL."""
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="ADBC is not installed")
    with driver.connect(postgres_url, autocommit=True) as connection:
        yield connection


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("sail", "clickhouse")]


@pytest.fixture(params=["duckdb", "postgres", "adbc", *SLOW])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Puts rows into an engine."""
    if request.param == "duckdb":
        return lambda rows: in_duckdb(rows, tmp_path)
    if request.param == "sail":
        session = request.getfixturevalue("spark_session")
        return lambda rows: in_spark(rows, session, tmp_path)
    if request.param == "clickhouse":
        clickhouse = request.getfixturevalue("clickhouse")
        return lambda rows: in_clickhouse(rows, clickhouse)
    url = request.getfixturevalue("postgres_url")
    if request.param == "postgres":
        return lambda rows: in_postgres(rows, url)
    connection = request.getfixturevalue("adbc")
    return lambda rows: in_postgres(rows, url, connection=connection)


def check(table: RemoteTable, rows: list[Row], seed: int = 7, wanted: int = 3) -> None:
    """The summary, the reserve and the items of an engine against their twins."""
    for columns in (PLAIN, BY_REGION):
        found = table.summary(columns)
        assert found.schema == columns.summary
        assert listed(found) == tables.summary(columns, rows)
        reserve = table.reserve(columns, found, seed, wanted)
        assert reserve.column_names == [*columns.items, "key"]
        assert listed(reserve) == tables.reserve(columns, rows, seed, wanted)
    ids = [row.id for row in rows[::-2]]
    assert table.lookup(BY_REGION, [*ids, "no such item"])["id"].to_pylist() == ids
    by_id = {row.id: row for row in rows}
    for row in table.lookup(BY_REGION, ids).to_pylist():
        told = by_id[row["id"]]
        expected = (told.predicted, told.region, told.confidence)
        assert (row["predicted"], row["keep.region"], row["confidence"]) == expected
    content = table.content(PLAIN, ids, ["region", "predicted"])
    assert listed(content) == [(item, by_id[item].region, by_id[item].predicted) for item in ids]
    table.check_ids(PLAIN)
    few = max(len(rows) // 2, 1)
    drawn = table.sample("id", few, seed)
    ids = sorted(by_id, key=lambda item: hashlib.md5(f"{seed}|{item}".encode(), usedforsecurity=False).hexdigest())
    assert (drawn.rows["id"].to_pylist(), drawn.total) == (ids[:few], len(rows))
    assert drawn.rows["predicted"].to_pylist() == [by_id[item].predicted for item in ids[:few]]
    assert table.sample("id", 1, seed, drawn.upto).rows["id"].to_pylist() == ids[:few]


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, seed=st.integers(-(2**63), 2**63))
def test_the_items_are_those_of_hashlib(make: Make, rows: list[Row], seed: int) -> None:
    with make(rows) as table:
        check(table, rows, seed)


def test_many_items(make: Make) -> None:
    """Where a group is much larger than what is wanted, the limit of keys leaves most of it out."""
    rows = many(3000)
    with make(rows) as table:
        check(table, rows, wanted=20)


def test_numbers_in_bins(make: Make) -> None:
    rows = many(600)
    with make(rows) as table:
        columns = Columns("id", "predicted", bins={"confidence": {"edges": [0.3, 0.7], "kind": "number"}})
        values = table.values(columns, "confidence", 1, 10_000).column(0).to_pylist()
        assert sorted(values) == sorted(row.confidence for row in rows)
        assert 100 < len(table.values(columns, "confidence", 1, 200)) < 300
        place = {row.id: str((row.confidence >= 0.3) + (row.confidence >= 0.7)) for row in rows}
        summary = table.summary(replace(columns, keep=("confidence",)))
        found = {(row["predicted"], row["keep.confidence"]): row["count"] for row in summary.to_pylist()}
        assert found == Counter((row.predicted, place[row.id]) for row in rows)


def test_what_is_no_number_and_no_date_has_no_bin(make: Make) -> None:
    days = ["2023-12-31", "2024-01-01 00:00", " 2025-01-01", "", "soon", None]
    rows = [Row(f"i{n}", "a", (0.2, math.nan, 0.9)[n % 3], day) for n, day in enumerate(days)]
    bins: dict[str, dict[str, Any]] = {
        "confidence": {"edges": [0.5], "kind": "number", "count": 2},
        "region": {"edges": [19_723], "kind": "date"},
    }
    with make(rows) as table:
        found = table.lookup(Columns("id", "predicted", keep=(*bins,), bins=bins), [row.id for row in rows])
    assert found["keep.region"].to_pylist() == ["0", "1", "1", None, None, None]
    assert found["keep.confidence"].to_pylist() == ["0", None, "1"] * 2


def test_numbers_in_steps(make: Make) -> None:
    rows = many(600)
    with make(rows) as table:
        columns = Columns("id", "predicted", keep=("confidence",), steps=(("confidence", 0.2, 0.1),))
        steps = {row.id: str(min(11, max(0, math.floor((row.confidence - 0.2) / 0.1)))) for row in rows}
        summary = table.summary(columns)
        found = {(row["predicted"], row["keep.confidence"]): row["count"] for row in summary.to_pylist()}
        assert found == Counter((row.predicted, steps[row.id]) for row in rows)
        for item in table.reserve(columns, summary, 1, 5).to_pylist():
            assert item["keep.confidence"] == steps[item["id"]]
        values = [row.confidence for row in rows]
        moments = (min(values), max(values), statistics.fmean(values), statistics.pstdev(values))
        assert table.spread(columns, "confidence") == pytest.approx(moments)
        assert table.spread(columns, "region") is None
        assert [table.different(columns, "region", most) for most in (2, 9)] == [2, 3]


def test_a_limit_that_was_too_low_is_raised(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Queues.of
    monkeypatch.setattr(Queues, "of", lambda *arguments: replace(of(*arguments), spare=-4.0))
    rows = many(1500)
    with make(rows) as table:
        summary = table.summary(PLAIN)
        asked: list[str] = []
        answer = table._ask

        def ask(step: str, text: str) -> pa.Table:
            asked.append(step)
            return answer(step, text)

        monkeypatch.setattr(table, "_ask", ask)
        assert listed(table.reserve(PLAIN, summary, 1, 50)) == tables.reserve(PLAIN, rows, 1, 50)
        assert asked.count("reserve") > 1


def test_more_of_single_strata_and_strips(make: Make) -> None:
    rows = many(2000)
    with make(rows) as table:
        summary = table.summary(BY_REGION)
        wanted = pa.table(
            {
                "predicted": ["it's 1", "it's 0", "it's 1"],
                "keep.region": pa.array([None, "South", None], pa.string()),
                "wanted": [2, 1000, 3],
                "low": [120, 0, 0],
                "high": [254, 254, 119],
            }
        )
        found = table.reserve(BY_REGION, summary, 5, wanted)
        strata = [("it's 0", "South", 0.0, 1.0, 1000), ("it's 1", None, 0.5, 1.0, 2), ("it's 1", None, 0.0, 0.499, 3)]
        expected = []
        for predicted, region, low, high, count in strata:
            own = [r for r in rows if (r.predicted, r.region) == (predicted, region) and low <= r.confidence <= high]
            expected += tables.reserve(BY_REGION, own, 5, count)
        assert listed(found) == expected


def test_no_confidence(make: Make) -> None:
    columns, rows = replace(PLAIN, confidence=None), many(30)
    with make(rows) as table:
        summary = table.summary(columns)
        assert listed(summary) == tables.summary(columns, rows)
        assert table.reserve(columns, summary, 3, 2)["confidence"].null_count == 6


def test_carried_columns_come_along_and_make_no_groups(make: Make) -> None:
    columns, rows = replace(PLAIN, carried=("region", "confidence")), many(30)
    with make(rows) as table:
        summary = table.summary(columns)
        reserve = table.reserve(columns, summary, 3, 2)
        assert summary.equals(table.summary(PLAIN))
        assert reserve["carried.confidence"].to_pylist() == reserve["confidence"].to_pylist()
        assert table.lookup(columns, [rows[1].id])["carried.region"].to_pylist() == ["north"]


def test_a_model_that_did_not_answer(make: Make) -> None:
    columns = replace(PLAIN, gaps=True)
    rows = [Row("a", "cat", 0.9), Row("b", None, None), Row("c", None, None)]
    with make(rows) as table:
        summary = table.summary(columns)
        assert summary.select(["predicted", "bin", "count"]).to_pylist() == [
            {"predicted": "cat", "bin": 216, "count": 1},
            {"predicted": None, "bin": 0, "count": 2},
        ]
        assert sorted(table.reserve(columns, summary, 1, 5)["id"].to_pylist()) == ["a", "b", "c"]
        with pytest.raises(InputError, match=r"2 items without a prediction, in the column 'predicted', such as"):
            table.summary(PLAIN)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "has columns but no rows"),
        ([Row("a", "cat"), Row(None, "cat"), Row(None, "dog")], "2 rows without an id, in the column 'id'"),
        ([Row("a", None)], "1 item without a prediction, in the column 'predicted', such as the item 'a'"),
        ([Row("a", "cat", None)], "1 confidence in the column 'confidence' does not lie between 0 and 1, such as"),
        # Sail reads a column of Parquet as constant if it has one number beside NaN, hence the third row.
        (
            [Row("a", "cat"), Row("b", "cat", float("nan")), Row("c", "cat", 0.7)],
            "the item 'b' (missing or not a number)",
        ),
        ([Row("a", "cat", float("inf")), Row("b", "cat", 0.2)], "such as that of the item 'a' (inf)"),
        ([Row("a", "cat", -0.25)], "'a' (-0.25)"),
        (
            [Row("a", "cat", 74.6), Row("b", "cat", 80.0)],
            "2 confidences in the column 'confidence' do not lie between",
        ),
    ],
)
def test_what_is_wrong_is_said(make: Make, rows: list[Row], said: str) -> None:
    with make(rows) as table, pytest.raises(InputError) as caught:
        table.summary(PLAIN)
    assert said in str(caught.value)


def test_repeated_ids(make: Make) -> None:
    rows = [Row("a", "cat"), Row("b", "cat"), Row("a", "dog"), Row("b", "dog"), Row("c", "dog")]
    with make(rows) as table:
        with pytest.raises(InputError, match=r"2 ids occur more than once, such as 'a'"):
            table.check_ids(PLAIN)
        with pytest.raises(InputError, match=r"1 id occurs more than once, such as 'b'"):
            table.lookup(PLAIN, ["b", "c"])


def test_missing_columns(make: Make) -> None:
    with make(many(3)) as table:
        with pytest.raises(InputError, match=r"has no column 'regoin', named by columns=. Did you mean 'region'\?"):
            table.summary(replace(PLAIN, keep=("regoin",)))
        with pytest.raises(InputError, match=r"'predicted' holds .*, not numbers, and cannot be the confidence"):
            table.summary(replace(PLAIN, confidence="predicted"))
        with pytest.raises(InputError, match="has no column 'text', named by content="):
            table.content(PLAIN, ["a"], ["text"])


def test_an_item_that_is_gone_is_noticed(make: Make) -> None:
    with make(many(20)) as table:
        summary = table.summary(PLAIN)
    with make(many(19)) as table, pytest.raises(PoolChangedError, match="has changed since it was summarised"):
        table.reserve(PLAIN, summary, 1, 1000)
