"""The table that every result is: reading, printing, and the way into frames."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fewlabels as fl
from tests.support.pools import zoo

TABLE = fl.Table(
    {"group": ["ant", "bee", "fox"], "n": [1200, 3, 0], "mean": [0.25, 1.0, None], "sure": [True, False, None]},
    {"level": 0.9},
)


def test_prints_text_left_and_numbers_right_and_a_dash_for_what_is_not_there() -> None:
    assert str(TABLE).splitlines() == [
        "group      n   mean  sure",
        "ant    1,200  0.250   yes",
        "bee        3  1.000    no",
        "fox        0      –     –",
    ]
    assert repr(TABLE) == str(TABLE)


def test_nothing_is_minus_nothing() -> None:
    shown = str(fl.Table({"group": ["a", "b", "c"], "mean": [-0.0001, 0.0001, -0.001]}))
    assert "-0.000" not in shown
    assert shown.count(" 0.000") == 2
    assert "-0.001" in shown


def test_reads_by_column_and_by_row() -> None:
    assert len(TABLE) == 3
    assert TABLE["n"] == [1200, 3, 0]
    assert list(TABLE.rows())[2] == {"group": "fox", "n": 0, "mean": None, "sure": None}
    some = TABLE.where(group="bee")
    assert (some["n"], some.settings) == ([3], {"level": 0.9})
    assert len(TABLE.where(group="bee", n=4)) == 0
    assert "mean" in TABLE
    assert "ant" not in TABLE


def test_equal_tables_are_equal() -> None:
    same = fl.Table({name: list(column) for name, column in TABLE.columns.items()}, {"level": 0.9})
    assert same == TABLE
    assert same.with_settings(level=0.8) != TABLE
    assert same.take([1, 0, 2]) != TABLE


def test_what_is_not_in_a_table_is_said() -> None:
    for call in (lambda: TABLE["meen"], lambda: TABLE.where(meen=1), lambda: TABLE.sorted("meen")):
        with pytest.raises(KeyError) as missing:
            call()
        assert isinstance(missing.value, fl.InputError)
        assert "no column 'meen'. Did you mean 'mean'? The columns are 'group', 'n'" in str(missing.value)
    for place in (0, slice(2)):
        with pytest.raises(fl.InputError, match=r"columns by name: 'group', .*table\.head\(n\)"):
            TABLE[place]  # type: ignore[index]
    with pytest.raises(fl.InputError, match="has 3 rows, and none at the position 3"):
        TABLE.take([0, 3])
    with pytest.raises(fl.InputError, match="'b' has 1 value and 'a' has 2"):
        fl.Table({"a": [1, 2], "b": [1]})


def test_reading_a_column_cannot_change_the_table() -> None:
    TABLE["n"].append(7)
    assert TABLE["n"] == [1200, 3, 0]


@pytest.mark.parametrize(("rows", "most", "shown"), [(5, 5, 5), (6, 5, 5), (100, 5, 5), (3, 2, 2), (100, 40, 40)])
def test_a_long_table_is_cut_in_the_middle_and_says_so(rows: int, most: int, shown: int) -> None:
    lines = fl.Table({"n": list(range(rows))}).text(most).splitlines()[1:]
    note = [line for line in lines if "more row" in line]
    assert len(lines) - len(note) == shown
    assert lines[0].strip() == "0"
    assert lines[-1].strip() == str(rows - 1)
    assert note == ([f"... {rows - shown} more {'row' if rows == shown + 1 else 'rows'} ..."] if rows > shown else [])


def test_an_empty_table_prints_its_header() -> None:
    assert str(fl.Table({"group": [], "mean": []})) == "group  mean"
    assert len(fl.Table({})) == 0


def test_goes_to_every_frame() -> None:
    arrow, pandas, polars = TABLE.to_arrow(), TABLE.to_pandas(), TABLE.to_polars()
    assert arrow.to_pydict() == dict(TABLE.columns)
    assert list(pandas.columns) == list(TABLE.columns)
    assert pandas["mean"].isna().tolist() == [False, False, True]
    assert polars.to_dict(as_series=False) == dict(TABLE.columns)
    # Whatever takes an Arrow stream reads it without knowing us.
    assert pl.DataFrame(TABLE).equals(polars)
    assert pa.table(TABLE).equals(arrow)


def test_the_results_of_an_assessment_go_to_frames_with_numbers_as_numbers() -> None:
    known = zoo()
    audit = fl.create(None, "frames", known.pool, task=fl.Identify(fl.Accuracy(), lowest=1))
    audit.tell(known.labels(audit.ask(5).ids))
    for table in (audit.estimates(), audit.answer(draws=100).table, audit.reliability(draws=100), audit.log()):
        frame = table.to_pandas()
        assert len(frame) == len(table)
        for name in {"mean", "low", "high", "chance", "n", "labelled"} & set(frame.columns):
            assert pd.api.types.is_numeric_dtype(frame[name]), name
    audit.close()


def test_rows_are_taken_sorted_and_added_to_without_changing_the_table() -> None:
    assert [row["group"] for row in TABLE] == ["ant", "bee", "fox"]
    assert TABLE.take([2, 0]).columns == {
        "group": ["fox", "ant"],
        "n": [0, 1200],
        "mean": [None, 0.25],
        "sure": [None, True],
    }
    assert (TABLE.head(2)["n"], len(TABLE.head(9)), len(TABLE.head(0))) == ([1200, 3], 3, 0)
    assert TABLE.sorted("n")["group"] == ["fox", "bee", "ant"]
    assert TABLE.sorted("mean", reverse=True)["group"] == ["bee", "ant", "fox"]
    assert TABLE.sorted([2, None, 1])["group"] == ["fox", "ant", "bee"]
    wider = TABLE.with_column("note", ["", "few", ""])
    assert (list(wider.columns)[-1], wider["note"]) == ("note", ["", "few", ""])
    assert TABLE.with_column("n", [1, 2, 3])["n"] == [1, 2, 3]
    assert TABLE.with_settings(seed=3).settings == {"level": 0.9, "seed": 3}
    assert all(made.settings == {"level": 0.9} for made in (TABLE.take([0]), TABLE.sorted("n"), wider, TABLE.head(1)))
    assert (TABLE["n"], list(TABLE.columns)) == ([1200, 3, 0], ["group", "n", "mean", "sure"])
    with pytest.raises(fl.InputError, match="'note' has 2 values, but the table has 3 rows"):
        TABLE.with_column("note", ["", ""])
