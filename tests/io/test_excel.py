"""Workbooks: a batch goes out with its classes and comes back filled in, and predictions are read."""

from __future__ import annotations

import io
import re
import tracemalloc
import zipfile
from datetime import datetime
from typing import TYPE_CHECKING

import openpyxl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.errors import InputError
from fewlabels.io import limits
from fewlabels.io.excel import workbook

if TYPE_CHECKING:
    from pathlib import Path

DAYS = [datetime.fromisoformat(f"2026-01-0{day}") for day in range(1, 7)]
PREDICTIONS = [{"id": f"t{i}", "predicted": ["password_reset", "Billing"][i % 2], "confidence": 0.9} for i in range(8)]


def saved(path: Path, rows: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_predictions_are_read(tmp_path: Path) -> None:
    rows: list[list[object]] = [["id", "predicted", "confidence", "when", "n"]]
    rows += [[i, "ab"[i % 2], 0.5 + i / 20, DAYS[i], 1.0] for i in range(6)]
    pool = fl.read_pool(saved(tmp_path / "p.xlsx", [*rows, [None] * 5]))
    assert pool.ids.to_pylist() == [str(i) for i in range(6)]
    assert pool.confidence == pytest.approx([0.5 + i / 20 for i in range(6)])
    assert pool.column("when")[1].as_py() == DAYS[1]


def test_numbers_that_are_texts_are_read_as_from_csv(tmp_path: Path) -> None:
    """A column of texts such as 91,5 % was no confidence in a workbook, and the same in CSV was one."""
    rows: list[list[object]] = [["id", "predicted", "confidence", "share", "rating"]]
    rows += [[i, ("10 %", "20 %")[i % 2], f"{50 + i},5 %", f"0,{i + 1}", "3 %" if i else "?"] for i in range(6)]
    path = saved(tmp_path / "p.xlsx", rows)
    pool = fl.read_pool(path, columns=["share", "rating"])
    assert pool.confidence == pytest.approx([0.505 + i / 100 for i in range(6)])
    assert pool.column("share").to_pylist() == pytest.approx([(i + 1) / 10 for i in range(6)])
    assert pool.classes == ("10 %", "20 %")  # names, whatever they look like
    assert pool.column("rating").to_pylist() == ["?", *["3 %"] * 5]


def test_titles_above_the_names_of_the_columns_are_passed_over(tmp_path: Path) -> None:
    rows: list[list[object]] = [["Report of March"], [], ["by the help desk"], ["id", "predicted", "team"]]
    pool = fl.read_pool(saved(tmp_path / "p.xlsx", [*rows, *([i, "ab"[i % 2], "N"] for i in range(6))]))
    assert pool.ids.to_pylist() == [str(i) for i in range(6)]
    # A file of one column has no titles.
    assert len(fl.read_pool(saved(tmp_path / "q.xlsx", [["predicted"], ["a"], ["b"]]))) == 2


@pytest.mark.parametrize("rows", [
    [["predicted"], *([said, f"text {i}"] for i, said in enumerate(["cat", "dog"] * 4))],  # a name is missing
    [["kind"], *([said, f"text {i}"] for i, said in enumerate(["cat", "dog"] * 4))],
    [["predicted"], *([said] for said in "abab"), ["a", "a stray note"], ["b"]],
    [["kind"], *([said] for said in "abababab"), ["c", "a stray note"], ["b"]],
    [["Report"], ["id", "predicted"], ["1", "a", "x"], ["2", "b", "y"]],
])  # fmt: skip
def test_rows_that_may_be_items_are_no_titles(tmp_path: Path, rows: list[list[object]]) -> None:
    with pytest.raises(InputError, match="has values but no name in the first row"):
        fl.read_pool(saved(tmp_path / "p.xlsx", rows))


def test_a_batch_there_and_back(tmp_path: Path) -> None:
    pool = fl.read_pool({name: [row[name] for row in PREDICTIONS] for name in PREDICTIONS[0]})
    address, file = f"{tmp_path}/a.db", tmp_path / "batch.xlsx"
    fl.create(address, "tickets", pool).close()
    assert CliRunner().invoke(cli, ["ask", address, "-n", "4", "-o", str(file)]).exit_code == 0
    book = openpyxl.load_workbook(file)
    sheet = book["items"]
    (allowed,) = sheet.data_validations.dataValidation
    assert [row[0].value for row in book["classes"]] == list(pool.choices)
    assert (allowed.formula1, str(allowed.sqref)) == ("=classes!$A$1:$A$2", "B2:B5")
    written = ["Password Reset", "BILLING", "password-reset", "(skip: no idea)"]
    for row, label in enumerate(written, 2):
        sheet.cell(row, 2).value = label
    book.save(file)
    told = CliRunner().invoke(cli, ["tell", address, str(file)])
    assert told.exit_code == 0, told.output
    audit = fl.load(address, "tickets")
    assert sorted(audit.labels().values()) == ["Billing", "password_reset", "password_reset"]
    audit.close()


def test_a_text_is_never_a_formula() -> None:
    made = workbook({"id": ["=1+1"], "label": ["\x07bell"]})
    sheet = openpyxl.load_workbook(io.BytesIO(made))["items"]
    assert (sheet["A2"].value, sheet["A2"].data_type) == ("=1+1", "s")
    assert sheet["B2"].value == "bell"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["id", "predicted"]], "no rows"),
        ([["id", "id"], [1, 2]], "two columns called 'id'"),
        ([["id", None], [1, 2]], "column 2 has values but no name"),
    ],
)
def test_what_is_wrong_is_said(rows: list[list[object]], said: str, tmp_path: Path) -> None:
    with pytest.raises(fl.InputError, match=said):
        fl.read_pool(saved(tmp_path / "p.xlsx", rows))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "p.xlsx", [["id", "predicted"], ["a", "b"]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * 1_000_000)
    monkeypatch.setattr(limits, "LIMITS", limits.Limits(unpacked=100_000, ratio=10))
    with pytest.raises(fl.InputError, match="unpacks to"):
        fl.read_pool(path)


ROWS = {
    "rows that are said to be wide": (b'<dimension ref="A1:XFD1048576"/>', b'<row r="%d"/>', range(2, 3000), "no rows"),
    "a cell at the far end": (b"", b'<row r="%d"><c r="XFD2"><v>1</v></c></row>', (2,), "16,384 columns"),
    "empty cells": (b"", b'<row r="%d"><c r="LXX2"><v>1</v></c></row>', range(2, 3000), "unpacks to"),
    "a row at the far end": (b"", b'<row r="%d"><c r="A1"><v>1</v></c></row>', (10**12,), "a row beyond 1,048,576"),
}


@pytest.mark.parametrize("what", ROWS)
def test_a_few_bytes_cannot_ask_for_any_number_of_cells(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, row, numbers, said = ROWS[what]
    head = b'<row r="1"><c t="inlineStr"><is><t>id</t></is></c><c t="inlineStr"><is><t>predicted</t></is></c></row>'
    space = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    data = b"<sheetData>%s%s</sheetData>" % (head, b"".join(row % number for number in numbers))
    path, sheet = tmp_path / "p.xlsx", b"<worksheet %s>%s%s</worksheet>" % (space, size, data)
    with zipfile.ZipFile(io.BytesIO(SOUND)) as archive, zipfile.ZipFile(path, "w") as made:
        for name in archive.namelist():
            made.writestr(name, sheet if name.endswith("sheet1.xml") else archive.read(name))
    monkeypatch.setattr(limits, "LIMITS", limits.Limits(unpacked=10**8, ratio=100))
    tracemalloc.start()
    try:
        with pytest.raises(fl.InputError, match=said):
            fl.read_pool(path)
        assert tracemalloc.get_traced_memory()[1] < 2 * 10**8
    finally:
        tracemalloc.stop()


def test_a_sheet_that_openpyxl_would_leave_out_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "p.xlsx"
    with zipfile.ZipFile(io.BytesIO(SOUND)) as archive, zipfile.ZipFile(path, "w") as made:
        for name in archive.namelist():
            made.writestr(name, archive.read(name).replace(b'r:id="rId1"', b'r:id=""'))
    with pytest.raises(fl.InputError, match="invalid specification"):
        fl.read_pool(path)


@pytest.mark.parametrize("member", ["xl/worksheets/sheet1.xml", "xl/workbook.xml", "[Content_Types].xml"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_texts_that_stand_for_others_are_refused(member: str, encoding: str, tmp_path: Path) -> None:
    # Three entities, each ten times the one before: expat alone allows a hundred times what a file has.
    path, made_of = tmp_path / "p.xlsx", "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in ("ab", "bc", "cd"))
    dtd = f'<!DOCTYPE x [<!ENTITY a "much">{made_of}]>'
    with zipfile.ZipFile(io.BytesIO(SOUND)) as archive, zipfile.ZipFile(path, "w") as made:
        for name in archive.namelist():
            text = re.sub(r"^<\?xml.*?\?>", "", archive.read(name).decode()).strip()
            first = f'<?xml version="1.0" encoding="{encoding}"?><!-- {"long " * 40_000}-->'
            hostile = (first + dtd + text.replace("item", "&d;", 1)).encode(encoding)
            made.writestr(name, hostile if name == member else archive.read(name))
    with pytest.raises(fl.InputError, match="declares texts of its own"):
        fl.read_pool(path)


SOUND = workbook({name: [row[name] for row in PREDICTIONS] for name in ("id", "predicted", "confidence")})


@settings(max_examples=150)
@given(at=st.integers(0, len(SOUND) - 1), byte=st.integers(0, 255), cut=st.booleans())
def test_damage_is_an_input_error(at: int, byte: int, cut: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.xlsx"
    path.write_bytes(SOUND[:at] if cut else SOUND[:at] + bytes([byte]) + SOUND[at + 1 :])
    try:
        pool = fl.read_pool(path)
    except fl.InputError as error:
        assert path.name in str(error)  # noqa: PT017
    else:
        assert len(pool) == len(PREDICTIONS)


def test_two_classes_that_look_alike_are_not_mixed_up() -> None:
    audit = fl.create(None, "x", fl.read_pool({"predicted": ["A b", "a_b", "c"] * 3}))
    ids = audit.ask(3).ids
    with pytest.raises(fl.LabelError, match="It could be 'A b' or 'a_b'"):
        audit.tell({ids[0]: "a-b"})
    assert audit.tell({ids[0]: "A b", ids[1]: " C "}) == 2
    assert set(audit.labels().values()) == {"A b", "c"}
