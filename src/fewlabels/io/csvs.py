"""CSV and TSV files: the delimiter and encoding are detected, and every parse error is explained by its line."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa
from pyarrow import csv as arrow_csv

from fewlabels.engines.csvs import SEPARATOR, delimiter_of, ragged
from fewlabels.errors import InputError, Place
from fewlabels.io.columns import NotANumber, not_a_number
from fewlabels.io.columns import numbers as as_numbers
from fewlabels.io.limits import LIMITS, Counter
from fewlabels.io.source import Source, check_names, no_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fewlabels.io.limits import Limits

_COMMA = re.compile(r"[+-]?(?:0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,}))")
_SIGNED = re.compile(r"\s*[+-]?[0-9]+(?:[.,][0-9]+)?\s*%\s*")
_POINT = re.compile(r"[+-]?[0-9]+\.[0-9]+")


@dataclass(frozen=True)
class _CsvFile:
    path: Path
    name: str
    delimiter: str
    columns: tuple[str, ...]
    header: int  # lines up to and including the column names
    width: int  # characters of the header
    comma: bool = False  # whether numbers have a decimal comma
    percent: frozenset[str] = frozenset()  # columns whose numbers have a percent sign
    within: Limits = LIMITS

    def batches(self, columns: list[str], numbers: bool) -> Iterator[pa.RecordBatch]:
        signed = self.percent.intersection(columns) if numbers else frozenset[str]()
        # A block must hold at least one row: let it grow with the header of very wide files.
        reading = arrow_csv.ReadOptions(
            column_names=list(self.columns), skip_rows=self.header, block_size=max(1 << 22, 64 * self.width)
        )
        converting = arrow_csv.ConvertOptions(
            include_columns=columns,
            column_types={name: pa.float64() if numbers and name not in signed else pa.string() for name in columns},
            null_values=[""],  # "NA" and "null" can be names of classes
            strings_can_be_null=True,
            decimal_point="," if self.comma else ".",
        )
        parsing = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        try:
            with (
                _binary(self.path, self.name, self.within) as stream,
                arrow_csv.open_csv(cast("IO[bytes]", stream), reading, parsing, converting) as reader,
            ):
                for batch in reader:
                    yield self._without_signs(batch, signed) if signed else batch
        except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise self.explained(error, columns if numbers else []) from None

    def _without_signs(self, batch: pa.RecordBatch, signed: frozenset[str]) -> pa.RecordBatch:
        columns = [
            as_numbers(column, comma=self.comma, percent=True) if name in signed else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The line each row starts on, and its fields."""
        with _text(self.path, self.name, self.within) as stream:
            rows = csv.reader(stream, delimiter=self.delimiter)
            begin = 1
            for fields in rows:
                if fields and begin > self.header:
                    yield begin, fields
                begin = rows.line_num + 1

    def line(self, row: int) -> int | None:
        try:
            return next((line for line, _ in islice(self.records(), row - 1, row)), None)
        except csv.Error:  # a field beyond the limit of Python's reader; the row number has to suffice
            return None

    def explained(self, error: Exception, numbers: list[str]) -> InputError:
        """Find what Arrow could not read with Python's slower reader, which knows the line numbers."""
        places = [(self.columns.index(name), name) for name in numbers]
        first: tuple[str, NotANumber] | None = None
        rows: list[tuple[int, int]] = []
        try:
            check_encoding(self.path, self.name, self.within)
            for row, (line, fields) in enumerate(self.records(), 1):
                if len(fields) != len(self.columns):
                    return ragged(self.columns, len(fields), self.delimiter, Place(self.name, (row,), (line,)))
                for place, name in places:
                    wrong = not_a_number(fields[place], self.comma, name in self.percent)
                    if wrong and first is None:
                        first = name, wrong
                    if wrong and first and (name, wrong.what) == (first[0], first[1].what):
                        rows.append((row, line))
            if first is not None:
                at = Place(self.name, tuple(row for row, _ in rows), tuple(line for _, line in rows), (first[0],))
                return InputError(*first[1].message, at=at)
        except (EOFError, zlib.error, gzip.BadGzipFile) as broken:
            return not_unpacked(self.name, broken)
        except csv.Error:
            pass  # then Arrow's own message has to suffice
        return InputError(f"{self.name} cannot be read as CSV: {error}. Look for a quote that is never closed.")


def open_csv(path: Path, name: str, within: Limits) -> Source:
    """Open a CSV or TSV file, plain or gzipped. The delimiter is whichever of , ; tab and | the header has most of."""
    try:
        check_start(path, name, within)
        with _text(path, name, within) as stream:
            first = next((line for line in stream if line.strip()), "")
            stream.seek(0)
            named = SEPARATOR.fullmatch(first.strip())
            delimiter = named["gap"] if named else delimiter_of(first, path.name)
            rows = csv.reader(stream, delimiter=delimiter)
            names = next((fields for fields in rows if fields and not (named and rows.line_num == 1)), [])
            header, empty = rows.line_num, not any(line.strip() for line in stream)
    except UnicodeDecodeError:
        check_encoding(path, name, within)
        raise
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise not_unpacked(name, error) from None
    except csv.Error as error:
        raise InputError(f"{name} cannot be read as CSV: {error}. Is it a table with column names on top?") from None
    names = [column or f"column_{i}" for i, column in enumerate(names, 1)]
    within.check_columns(name, len(names))
    check_names(name, names)
    if empty:
        raise no_rows(name)
    file = _CsvFile(path, name, delimiter, tuple(names), header, len(first), within=within)
    file = _with_spelling(file)
    schema = pa.schema([(column, pa.string()) for column in names])
    return Source(name, schema, file.batches, file.line, untyped=True, comma=file.comma, percent=file.percent)


def _with_spelling(file: _CsvFile) -> _CsvFile:
    """Note how the first rows of a file spell their numbers: with decimal commas, with percent signs.

    Commas are decimal if there are numbers such as 0,85 and none such as 0.85; 1,234 may be one thousand.
    """
    try:
        rows = [row for _, row in islice(file.records(), 100)]
    except (csv.Error, UnicodeDecodeError):
        return file  # reported when the rows are read
    comma, signed = spelling(file.columns, rows)
    return replace(file, comma=comma and file.delimiter != ",", percent=signed)


def spelling(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[bool, frozenset[str]]:
    """Whether the numbers of some rows have decimal commas, and the columns whose numbers have percent signs.

    >>> spelling(["sure", "share"], [["91,1 %", "0,2"], ["75 %", "0,25"]])
    (True, frozenset({'sure'}))
    """
    fields = [field.strip().removesuffix("%").rstrip() for row in rows for field in row]
    comma = any(_COMMA.fullmatch(field) for field in fields) and not any(_POINT.fullmatch(field) for field in fields)
    signed = {name for row in rows for name, field in zip(columns, row, strict=False) if _SIGNED.fullmatch(field)}
    return comma, frozenset(signed)


def not_unpacked(name: str, error: Exception) -> InputError:
    return InputError(f"{name} cannot be unpacked: {error}. Is it a complete gzip file?")


def check_start(path: Path, name: str, within: Limits) -> None:
    """Refuse an empty file, and UTF-16, which other readers would misread."""
    with _binary(path, name, within) as stream:
        start = stream.read(1000)
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(f"{name} is empty: no column names and no rows. Check how it was written.")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start:
        raise InputError("this is UTF-16, or not text at all. Save it as UTF-8.", at=Place(name, lines=(1,)))


def check_encoding(path: Path, name: str, within: Limits) -> None:
    """Refuse a file that is not UTF-8, naming the first line at fault."""
    with _binary(path, name, within) as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                part = line[max(error.start - 10, 0) : error.start + 10].decode("latin-1").strip()
                raise InputError(
                    f"not UTF-8 text near {part!r} (perhaps Latin-1 or Windows-1252). "
                    "Save the file as UTF-8; in Excel that is the type CSV UTF-8, and in a terminal "
                    "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW.",
                    at=Place(name, lines=(number,)),
                ) from None


class _Unpacked(gzip.GzipFile):
    """A gzipped file that counts what it unpacks, and stops at the limit."""

    def __init__(self, path: Path, counter: Counter) -> None:
        super().__init__(path, "rb")
        self._counter = counter

    def read(self, size: int | None = -1) -> bytes:
        return self._counted(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._counted(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._counted(super().readline(size))

    def _counted(self, data: bytes) -> bytes:
        self._counter.add(len(data))
        return data


def _binary(path: Path, name: str, within: Limits) -> BinaryIO:
    if path.suffix.lower() == ".gz":
        return cast("BinaryIO", _Unpacked(path, Counter(path, name, within)))
    return path.open("rb")


def _text(path: Path, name: str, within: Limits) -> io.TextIOWrapper:
    return io.TextIOWrapper(_binary(path, name, within), encoding="utf-8-sig", newline="")
