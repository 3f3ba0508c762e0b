"""The SQL texts for each dialect are those that were looked at: sqlglot may not change them unnoticed.

`python -m tests.engines.test_texts` writes them again, to be read before they are committed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fewlabels.engines import Columns
from fewlabels.engines.dialects import DIALECTS, check_dialect, table_name, translated, values
from fewlabels.engines.queues import Queues
from fewlabels.engines.texts import Texts, limit_names
from fewlabels.errors import InputError

FOLDER = Path(__file__).parent / "texts"
COLUMNS = Columns("id", 'the "class"', "confidence", keep=("new user", "50% off"), carried=("other",))
FIELDS: list[pa.Field] = [
    pa.field("id", pa.int64()),
    pa.field('the "class"', pa.string()),
    pa.field("confidence", pa.float64()),
    pa.field("new user", pa.bool_()),
    pa.field("50% off", pa.float64()),
    pa.field("other", pa.float32()),
    pa.field("text", pa.string()),
    pa.field("sent", pa.timestamp("us", "UTC")),
    pa.field("day", pa.date32()),
]
SCHEMA = pa.schema(FIELDS)
BINS: dict[str, dict[str, Any]] = {
    "sent": {"edges": [19_723], "kind": "date"},
    "day": {"edges": [19_723], "kind": "date"},
    "text": {"edges": [19_723], "kind": "date"},
    "other": {"edges": [-1.5, 20], "kind": "number"},
    "50% off": {"edges": [7], "kind": "whole", "count": 4},
}
SUMMARY = pa.table(
    {
        "predicted": ["it's a \\ cat", "dog"],
        "keep.new user": ["True", None],
        "keep.50% off": ["7", "7"],
        "bin": [3, 254],
        "count": [10**6, 5],
        "confidence": [0, 0],
        "hash": [0, 0],
    }
)


def written(dialect: str) -> str:
    """All texts of a dialect, as they are stored."""
    texts = Texts(dialect, table_name("ml.predictions"), COLUMNS, SCHEMA)
    rows = zip(*(column.to_pylist() for column in Queues.of(COLUMNS, SUMMARY, 200).limits().columns), strict=True)
    limits = values(rows, limit_names(COLUMNS, strips=False))
    strips = values([(0, "dog", "-", "=7", "g", 0, 99)], limit_names(COLUMNS, strips=True))
    named = {
        "head": texts.head(dialect, texts.source, 100),
        "summary": texts.summary(),
        "reserve": texts.reserve(7, limits, strips=False),
        "strips": texts.reserve(7, strips, strips=True),
        "repeated ids": texts.repeated(),
        "example": texts.example("confidence"),
        "numbers that are not whole": texts.broken("50% off"),
        "lookup": texts.lookup(2),
        "content": texts.content(2, ["text"]),
        "number of rows": texts.counted(),
        "spread of numbers": texts.spread("50% off"),
        "different values": texts.different("text", 22),
        "steps": Texts(dialect, texts.source, replace(COLUMNS, steps=(("50% off", -1.5, 0.5),)), SCHEMA).summary(),
        "bins": Texts(dialect, texts.source, replace(COLUMNS, keep=(*BINS,), bins=BINS), SCHEMA).summary(),
        "values": texts.values("50% off", 7, "8000000000000"),
        "sample": texts.sample(7, "8000000000000"),
    }
    return "\n".join(f"-- {name}\n{text};\n" for name, text in named.items())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_texts_are_the_stored_ones(dialect: str) -> None:
    assert written(dialect) == (FOLDER / f"{dialect}.sql").read_text(encoding="utf-8")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_texts_can_be_read_back(dialect: str) -> None:
    import sqlglot

    assert len(sqlglot.parse(written(dialect), read=dialect)) == 16


@pytest.mark.parametrize(
    ("dialect", "why"),
    [("tsql", "its MD5 gives bytes"), ("mysql", "ignore case"), ("sqlite", "no MD5"), ("oracle", "never tried")],
)
def test_other_dialects_are_refused(dialect: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        check_dialect(dialect)


@pytest.mark.parametrize("name", ["", ".", "a..b", 'a"b', '"a', ".a", "a.", '"a"b'])
def test_what_is_not_the_name_of_a_table_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="is not the name of a table"):
        table_name(name)


def test_names_of_tables() -> None:
    assert table_name("p-1.ml.`my table`") == '"p-1".ml."my table"'
    assert table_name('"a ""b"".c"') == '"a ""b"".c"'
    assert translated(f"SELECT 1 FROM {table_name('p-1.ml.t')}", "bigquery") == "SELECT 1 FROM `p-1`.ml.t"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for one in DIALECTS:
        (FOLDER / f"{one}.sql").write_text(written(one), encoding="utf-8")
