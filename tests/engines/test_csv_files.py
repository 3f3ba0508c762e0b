"""CSV files that DuckDB reads: as their header says, and what is wrong in them is said with the line."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels.engines.csvs import fault_in, options_for
from fewlabels.engines.opening import open_table
from fewlabels.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "id,predicted,confidence\n"
FEW, MANY = 50, 25_000  # DuckDB looks at 20,480 rows before it begins to read


def lines(first: int, last: int, end: str = "\n", more: str = "") -> str:
    """Rows of a CSV file."""
    return "".join(f"i{i},{'ab'[i % 2]},{0.5 + i % 50 / 100:.2f}{more}{end}" for i in range(first, last))


@pytest.mark.parametrize("before", [FEW, MANY])
@pytest.mark.parametrize(
    ("added", "said"),
    [
        (lines(0, 9, "\r\n"), "this line ends in CR LF, as on Windows, and those above in LF"),
        (lines(0, 9, "\r"), "this line ends in CR, as on very old Macs, and those above in LF"),
        (lines(0, 9, more=",x"), "4 fields, but the header has 3 columns; too many at the end"),
        ("j0,a\nj1,b\n", "2 fields, but the header has 3 columns; missing at column 'confidence' and after"),
        ("j0;a;0.5\nj1;b;0.5\n", "1 field, but the header has 3 columns; missing at column 'predicted' and after"),
        ('j0,"a,0.5\nj1,b,0.5\n', "a quote that opens here is never closed"),
        ("j0,\udce9t\udce9,0.5\n", "not UTF-8 text near"),
    ],
)
def test_a_file_that_was_appended_to(tmp_path: Path, before: int, added: str, said: str) -> None:
    """Whether or not it begins in the part that DuckDB looks at, one sentence says what is wrong, and on which line."""
    text = HEAD + lines(100, 100 + before) + added
    (tmp_path / "a.csv").write_bytes((HEAD + "x,a,0.5\n").encode())
    (tmp_path / "b.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        fl.read_pool(tmp_path / "*.csv")
    assert str(caught.value).startswith(f"{tmp_path / 'b.csv'}, ")
    assert caught.value.at is not None
    assert caught.value.at.lines == (before + 2,)
    assert said in str(caught.value)


def test_lines_of_windows_below_others(tmp_path: Path) -> None:
    """The end of the header is that of the file, and ends inside quotes are text."""
    (tmp_path / "a.csv").write_bytes(
        (HEAD + 'x,"a\nb",0.5\n' + lines(0, 9)).replace("\n", "\r\n").encode() + b"y,a,1\n"
    )
    fault = fault_in([str(tmp_path / "a.csv")])
    assert str(fault).startswith(f"{tmp_path / 'a.csv'}, row 11 (line 13): this line ends in LF, as on Linux")
    (tmp_path / "a.csv").write_bytes((HEAD + lines(0, 9)).replace("\n", "\r\n").encode() + b'y,"a\nb",1')
    assert fault_in([str(tmp_path / "a.csv")]) is None


def test_a_packed_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((HEAD + lines(0, MANY) + "j0,a\n").encode()))
    with pytest.raises(InputError, match=r"a\.csv\.gz, row 25,001 \(line 25,002\): 2 fields"):
        fl.read_pool(tmp_path / "*.csv.gz")


def test_quotes_that_come_late_are_quotes(tmp_path: Path) -> None:
    """DuckDB takes them for part of the text if it sees none among the first rows."""
    late = 'j0,"a",0.5\nj1,"b",0.5\nj2,"c ""d"", e",0.5\n'
    (tmp_path / "a.csv").write_text(HEAD + lines(0, MANY) + late)
    assert fl.read_pool(tmp_path / "*.csv").classes == ("a", "b", 'c "d", e')


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "#1,a,0.5\nb,b,0.5\n",
        "\ufeff" + HEAD + "#1,a,0.5\nb,b,0.5\n",
        "\n\n" + HEAD + "#1,a,0.5\nb,b,0.5\n",
        "sep=;\n" + HEAD.replace(",", ";") + "#1;a;0.5\nb;b;0.5\n",
        '"id"\t"predicted"\t"confidence"\n#1\ta\t0.5\n\nb\tb\t0.5\n',
        "id|predicted|confidence\n#1|a|0.5\nb|b|0.5",
    ],
)
def test_the_header_says_how_a_file_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    pool, in_memory = fl.read_pool(tmp_path / "*.csv"), fl.read_pool(tmp_path / "a.csv")
    named = [str(item) for item in pool.ids.to_pylist() if item is not None]
    assert sorted(named) == sorted(map(str, in_memory.ids.to_pylist())) == ["#1", "b"]
    assert pool.classes == in_memory.classes == ("a", "b")


def test_files_with_different_delimiters(tmp_path: Path) -> None:
    """Each is read by its own, as DuckDB finds it."""
    (tmp_path / "a.csv").write_text(HEAD + lines(0, FEW))
    (tmp_path / "b.csv").write_text((HEAD + lines(100, 100 + FEW)).replace(",", ";"))
    assert options_for([str(tmp_path / "a.csv")]).startswith("delim = ','")
    assert "delim" not in options_for([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    with open_table(tmp_path / "*.csv") as table:
        assert table.head(200).num_rows == 2 * FEW
    assert fl.read_pool(tmp_path / "*.csv").count.sum() == 2 * FEW
