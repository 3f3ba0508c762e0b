"""Tables that were written again, moved or joined by other files since an assessment began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fewlabels as fl
from fewlabels.engines.columns import Columns
from fewlabels.engines.opening import open_table
from fewlabels.errors import PoolChangedError
from fewlabels.io.tables import read_table
from fewlabels.store import Store
from tests.support.table_rows import bugs, told

if TYPE_CHECKING:
    from pathlib import Path


COLUMNS = Columns("id", "predicted", "confidence", keep=("place",))


def test_files_that_were_written_again_are_noticed_by_the_next_ask(tmp_path: Path) -> None:
    def write(name: str, seed: int, text: str = "text") -> None:
        data = bugs(seed=seed) | {"text": [text] * 300}
        pq.write_table(pa.table(data), tmp_path / "predictions" / name)

    (tmp_path / "predictions").mkdir()
    write("a.parquet", 0)
    pool = read_table(open_table(tmp_path / "predictions"), Columns("id", "predicted", "confidence"))
    fl.create(tmp_path / "audit.db", "bugs", pool).close()
    with fl.load(tmp_path / "audit.db", "bugs") as audit:  # it has no content: nothing else looks at the table
        told(audit, audit.ask(3).ids)
    write("a.parquet", 0, "the same predictions, with other texts")
    with fl.load(tmp_path / "audit.db", "bugs") as audit:
        told(audit, audit.ask(3).ids)
    write("a.parquet", 1)
    with fl.load(tmp_path / "audit.db", "bugs") as audit:
        with pytest.raises(PoolChangedError, match="has changed since it was read"):
            audit.ask(3)
        assert len(audit.labels()) == 6
    write("a.parquet", 0)
    with fl.load(tmp_path / "audit.db", "bugs") as audit:
        assert len(audit.ask(3)) == 3


def test_a_table_that_has_moved_is_read_where_it_is_now(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    pq.write_table(pa.table(bugs()), tmp_path / "here" / "a.parquet")
    named: dict[str, Any] = {"columns": ["place"], "content": "text"}
    fl.create(tmp_path / "audit.db", "bugs", fl.read_pool(tmp_path / "here" / "*.parquet", **named)).close()
    (tmp_path / "here").rename(tmp_path / "there")
    with (
        fl.load(tmp_path / "audit.db") as audit,
        pytest.raises(fl.StoreError, match=r"If it has moved, .* load\(\.\.\., pool=read_pool\(\.\.\.\)\)"),
    ):
        audit.ask(3)
    with fl.load(tmp_path / "audit.db", pool=fl.read_pool(tmp_path / "there" / "*.parquet", **named)) as audit:
        assert [request.content[:5] for request in audit.ask(3)] == ["text "] * 3
    pq.write_table(pa.table(bugs(330)), tmp_path / "there" / "a.parquet")  # a tenth more
    with pytest.raises(PoolChangedError, match="300 items before, 330 now"):
        fl.load(tmp_path / "audit.db", pool=fl.read_pool(tmp_path / "there" / "*.parquet", **named))


def test_the_command_line_says_where_a_table_is_now(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from fewlabels.cli.main import cli

    def relocate(place: str, *words: str) -> str:
        result = CliRunner().invoke(cli, ["relocate", str(tmp_path / "audit.db"), *words, str(tmp_path / place)])
        return f"{result.exit_code}: {result.output}"

    (tmp_path / "here").mkdir()
    pq.write_table(pa.table(bugs()), tmp_path / "here" / "a.parquet")
    pool = fl.read_pool(tmp_path / "here" / "*.parquet", columns=["place"], content="text")
    with fl.create(tmp_path / "audit.db", "bugs", pool) as audit:
        told(audit, audit.ask(3).ids)
        first = audit.labels()
    (tmp_path / "here").rename(tmp_path / "there")
    assert relocate("there/*.parquet", "bugs").startswith("0: 'bugs' finds its predictions in ")
    with fl.load(tmp_path / "audit.db") as audit:
        assert audit.labels() == first
        assert [request.content[:5] for request in audit.ask(3)] == ["text "] * 3
        audit.look_up(["i299"])  # items that are named later do not lead back to the old place
    pq.write_table(pa.table(bugs(330)), tmp_path / "other.parquet")
    assert "300 items before, 330 now" in relocate("oth*.parquet")
    with fl.load(tmp_path / "audit.db") as audit:
        assert len(audit.ask(3)) == 3
    assert fl.Store(tmp_path / "audit.db").verify().ok


def test_every_pool_of_a_table_moves_with_it(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from fewlabels.cli.main import cli

    store = Store(tmp_path / "audit.db")
    for name, place, columns in (("one", "here", []), ("two", "here", ["place"]), ("beside", "elsewhere", ["place"])):
        (tmp_path / place).mkdir(exist_ok=True)
        pq.write_table(pa.table(bugs(330 if place == "elsewhere" else 300)), tmp_path / place / "a.parquet")
        fl.create(store, name, fl.read_pool(tmp_path / place / "*.parquet", columns=columns))
    (tmp_path / "here").rename(tmp_path / "there")
    words = ["relocate", str(tmp_path / "audit.db"), "one", str(tmp_path / "there" / "*.parquet")]
    output = CliRunner().invoke(cli, words).output
    assert "'one' finds its predictions" in output
    assert "'two' finds its predictions" in output
    assert "beside" not in output
    for name, place in (("one", "there"), ("two", "there"), ("beside", "elsewhere")):
        reserve = fl.load(store, name).whole.reserve
        assert reserve is not None
        assert f"/{place}/" in reserve.table["table"]
    store.close()


@pytest.mark.parametrize("source", ["answers/*.parquet", "answers"])
def test_files_that_are_added_to_a_folder_are_not_part_of_what_was_begun(tmp_path: Path, source: str) -> None:
    (tmp_path / "answers").mkdir()
    pq.write_table(pa.table(bugs()), tmp_path / "answers" / "monday.parquet")
    pool = read_table(open_table(tmp_path / source), Columns("id", "predicted", "confidence"), named=30)
    fl.create(tmp_path / "audit.db", "bugs", pool, policy=fl.UniformItems()).close()
    more = bugs(seed=1) | {"id": [f"later {i}" for i in range(300)]}
    pq.write_table(pa.table(more), tmp_path / "answers" / "tuesday.parquet")
    with fl.load(tmp_path / "audit.db") as audit:
        asked = audit.ask(200).ids
        assert len(asked) == 200, "queues are read further"
        assert not any(item.startswith("later") for item in asked)
    pq.write_table(pa.table(bugs(seed=2)), tmp_path / "answers" / "monday.parquet")
    with fl.load(tmp_path / "audit.db") as audit, pytest.raises(PoolChangedError, match="fewlabels relocate"):
        audit.ask(1)
