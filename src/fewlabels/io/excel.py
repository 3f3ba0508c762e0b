"""Excel workbooks: the first sheet as a source, and rows as a workbook with the classes to choose from."""

from __future__ import annotations

import io
import itertools
import warnings
import zipfile
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

import pyarrow as pa

from fewlabels.errors import InputError, needs, one_line
from fewlabels.io.limits import Counter
from fewlabels.io.source import Source, no_rows, table_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from fewlabels.io.limits import Limits

_LONGEST = 32_767  # characters in a cell
_MOST_ROWS = 2**20
_PART = 2**16  # bytes that are read at once
_CELL = 8  # bytes of an empty cell in memory
_MOST_TITLES = 5  # rows above the names of the columns
_CHOICES = "classes"  # the sheet with the classes
# What openpyxl raises about a damaged workbook, beside what every reader of files expects.
_DAMAGED = (AttributeError, IndexError, AssertionError, UnicodeError, RuntimeError, UserWarning)


def _openpyxl() -> ModuleType:
    try:
        import openpyxl
    except ImportError:
        raise InputError(needs("an Excel workbook", "openpyxl", "excel") + ". Or save it as CSV in UTF-8.") from None
    return openpyxl


def open_excel(path: Path, name: str, within: Limits) -> Source:
    """Open the first sheet that has rows; the names of the columns are in its first row, below any titles."""
    with zipfile.ZipFile(path) as archive:
        within.check_bytes(path, name, sum(member.file_size for member in archive.infolist()))
    excel = _openpyxl()
    try:
        with path.open("rb") as file:  # openpyxl leaves a file open that it refuses
            _check_declarations(file, name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about styles and lists of choices, which are not read
                warnings.filterwarnings("error", "File contains an invalid specification")  # a sheet would be left out
                book = excel.load_workbook(file, read_only=True, data_only=True)
            try:
                room = Counter(path, name, within)
                sheets = (_rows(sheet, name, within, room) for sheet in book.worksheets if sheet.title != _CHOICES)
                numbered = next((rows for rows in sheets if rows), [])
            finally:
                book.close()
    except _DAMAGED as error:
        raise InputError(f"{name} is not a complete .xlsx file: {one_line(error)}. Save it again.") from None
    numbered = numbered[_titles([row for _, row in numbered]) :]
    places, rows = [number for number, _ in numbered], [row for _, row in numbered]
    if len(rows) < 2:
        raise no_rows(name)
    width = max(map(len, rows))
    head = [_text(value) for value in [*rows[0], *[None] * width][:width]]
    named = [i for i, column in enumerate(head) if column]
    columns = {i: [row[i] if i < len(row) else None for row in rows[1:]] for i in range(width)}
    nameless = [i for i, values in columns.items() if i not in named and any(value is not None for value in values)]
    if nameless:
        raise InputError(
            f"{name}: column {nameless[0] + 1} has values but no name in the first row. Give it one, or delete the "
            "rows above the names of the columns."
        )
    if len({head[i] for i in named}) < len(named):
        twice = next(head[i] for i in named if head.count(head[i]) > 1)
        raise InputError(f"{name} has two columns called {twice!r}. Rename one of them.")
    source = table_source(name, pa.table({str(head[i]): _column(columns[i], str(head[i])) for i in named}))
    return replace(source, line=places.__getitem__, sheet=True)


def _check_declarations(workbook: IO[bytes], name: str) -> None:
    """Refuse a workbook whose XML declares a document type: no program writes one.

    It can define entities that expand to far more text than the size of the file suggests, or name files of this
    computer.
    """

    def declares(*_: object) -> None:
        raise InputError(f"{name} declares texts of its own (DOCTYPE), which no workbook does. Save it again.")

    def begins(*_: object) -> None:
        raise _BeginsError

    with zipfile.ZipFile(workbook) as archive:
        for member in archive.infolist():
            parser = expat.ParserCreate()
            parser.StartDoctypeDeclHandler, parser.StartElementHandler = declares, begins
            with archive.open(member) as file, suppress(_BeginsError, expat.ExpatError):  # the first element ends it
                while part := file.read(_PART):
                    parser.Parse(part)


class _BeginsError(Exception):
    """The first element of an XML file: what may be declared stands before it."""


def _titles(rows: Sequence[Sequence[Any]]) -> int:
    """How many rows with a single cell, such as the titles of reports, are above the names of the columns.

    Names are different texts, one for each column that has values below, and no value there is the same. Otherwise, or
    if a title could be a name itself, the first row has the names: nothing that may be an item is skipped.
    """
    from fewlabels.io.finder import names  # which opens files, with this module

    usual = (*names.IDS, *names.FILES, *names.PREDICTED, *names.CONFIDENCE, *names.TRUTH)
    cells = ({i: value for i, value in enumerate(row) if value not in (None, "")} for row in rows)
    above = [*itertools.islice(itertools.takewhile(lambda row: len(row) == 1, cells), _MOST_TITLES + 1)]
    if not 0 < len(above) <= _MOST_TITLES or len(above) == len(rows):
        return 0
    titles = [str(value) for row in above for value in row.values()]
    named = {i: value for i, value in enumerate(rows[len(above)]) if value not in (None, "")}
    below = {(i, value) for row in rows[len(above) + 1 :] for i, value in enumerate(row) if value not in (None, "")}
    are_names = all(isinstance(value, str) for value in named.values()) and len({*named.values()}) == len(named)
    is_head = are_names and {i for i, _ in below} <= {*named} and not below & {*named.items()}
    return len(above) if is_head and not any(names.bare(title) in usual for title in titles) else 0


def _rows(sheet: Any, name: str, within: Limits, room: Counter) -> list[tuple[int, Sequence[Any]]]:
    """The rows that have a value, each up to its last one, with their numbers.

    A row reaches to its last cell, and a row that says it is the millionth implies all rows before it: a few bytes can
    ask for any number of cells. So each row is checked as it is read.
    """
    sheet.reset_dimensions()  # the size that the file gives need not be true
    kept = []
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > _MOST_ROWS:
            raise InputError(f"{name} has a row beyond {_MOST_ROWS:,}, the last of Excel. Save it again, or as CSV.")
        width = next((i for i in range(len(row), 0, -1) if row[i - 1] is not None), 0)
        within.check_columns(name, width)
        room.add(_CELL * width)
        if any(value is not None and value != "" for value in row[:width]):
            kept.append((number, row[:width]))
    return kept


def _column(values: list[Any], name: str) -> pa.Array[Any]:
    """The values with the type that all of them share: numbers, times or true and false; else as text."""
    filled = [value for value in values if value is not None]
    kinds = {type(value) for value in filled}
    if kinds == {str} and (numbers := _written_out(values, name)) is not None:
        return numbers
    if kinds <= {int} or kinds <= {bool} or kinds <= {int, float} or kinds <= {datetime}:
        try:
            return pa.array([float(v) if kinds == {int, float} and v is not None else v for v in values])
        except (pa.ArrowException, OverflowError):  # whole numbers of more than 64 bits
            pass
    return pa.array([_text(value) for value in values], pa.string())


def _written_out(values: list[str | None], name: str) -> pa.Array[Any] | None:
    """A column of texts such as 91,5 % or 0,915 as numbers, as it is read from CSV; None if any is something else.

    Classes are names, whatever they look like.
    """
    from fewlabels.io.columns import numbers
    from fewlabels.io.csvs import spelling
    from fewlabels.io.finder import names

    if names.bare(name) in (*names.TRUTH, *names.PREDICTED):
        return None
    texts = [value.strip() if value else None for value in values]
    comma, signed = spelling([name], [[text] for text in texts if text])
    if not (comma or signed):
        return None
    try:
        return numbers(pa.array([text or None for text in texts], pa.string()), comma=comma, percent=bool(signed))
    except pa.ArrowInvalid:
        return None


def _text(value: object) -> str | None:
    """A cell as the text that a person sees: 7 for 7.0."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, (date, time)) else str(value).strip()


def workbook(columns: Mapping[str, Sequence[object]], choices: Sequence[str] = ()) -> bytes:
    """A workbook with the columns. With `choices`, the column "label" offers them in a list.

    A text that begins with = stays a text: nothing in a workbook of ours runs as a formula.
    """
    excel = _openpyxl()
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    from openpyxl.worksheet.datavalidation import DataValidation

    book = excel.Workbook(write_only=True)
    sheet = book.create_sheet("items")
    sheet.freeze_panes = "A2"

    def cell(value: Any) -> Any:
        if isinstance(value, datetime):
            value = value.isoformat()
        text = isinstance(value, str)
        made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", str(value))[:_LONGEST] if text else value)
        if text:
            made.data_type = "s"
        return made

    for place, name in enumerate(columns, 1):
        sheet.column_dimensions[excel.utils.get_column_letter(place)].width = 60 if name == "content" else 18
    if choices and "label" in columns:
        letter = excel.utils.get_column_letter(list(columns).index("label") + 1)
        allowed = DataValidation("list", f"={_CHOICES}!$A$1:$A${len(choices)}", allow_blank=True)
        allowed.error, allowed.errorTitle = "Choose one of the classes, or write (skip).", "Not a class"
        allowed.errorStyle = "warning"  # a mark such as (skip: too dark) can be typed
        allowed.add(f"{letter}2:{letter}{len(columns['label']) + 1}")
        sheet.data_validations.append(allowed)
    for row in itertools.chain([list(columns)], zip(*columns.values(), strict=True)):
        sheet.append(list(map(cell, row)))
    if choices:
        listed = book.create_sheet(_CHOICES)
        for name in choices:
            listed.append([cell(name)])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()
