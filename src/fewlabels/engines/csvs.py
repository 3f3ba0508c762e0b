"""CSV files that DuckDB reads: how, and what is wrong with one that it cannot read."""

from __future__ import annotations

import csv
import io
import re
from contextlib import closing
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import pyarrow as pa

from fewlabels.engines.dialects import literal
from fewlabels.errors import InputError, Place, quoted
from fewlabels.wording import counted

if TYPE_CHECKING:
    import _csv
    from collections.abc import Iterator, Sequence

SEPARATOR = re.compile("(?i)sep=(?P<gap>[,;\t|])")
"""Excel's own first line, which names the delimiter."""
# What is set here DuckDB does not guess from the first rows: a quote that comes later would be part of the text.
_ALWAYS = "quote = '\"', header = true, comment = ''"
_ENDS = {"\n": "LF, as on Linux", "\r\n": "CR LF, as on Windows", "\r": "CR, as on very old Macs"}


class Start(NamedTuple):
    """How a file begins: its delimiter, and how many lines are above its header."""

    delimiter: str
    above: int


def delimiter_of(header: str, name: str) -> str:
    """Whichever of , ; tab and | the header has most of.

    >>> delimiter_of('id;"a,b,c";score', "a.csv")
    ';'
    """
    unquoted = "".join(header.split('"')[::2])
    return max("\t,;|" if ".tsv" in name else ",;\t|", key=unquoted.count)


def options_for(names: Sequence[str]) -> str:
    """What DuckDB need not guess about files: all if they begin alike."""
    starts = {_start(name) for name in names}
    start = starts.pop() if len(starts) == 1 else None
    return f"delim = {literal(start.delimiter)}, skip = {start.above}, {_ALWAYS}" if start else _ALWAYS


def fault_in(names: Sequence[str]) -> InputError | None:
    """What is wrong with the first of some files that is at fault, and on which line; None if nothing is found.

    Every line is looked at by Python's reader. That is slow, but only done when DuckDB has given up.
    """
    return next((fault for name in names if (fault := _fault(name))), None)


def ragged(columns: Sequence[str], fields: int, delimiter: str, at: Place) -> InputError:
    """A row that has more or fewer fields than the header has columns."""
    where = f"column {quoted(columns[fields])} and after" if fields < len(columns) else "the end"
    what = "missing" if fields < len(columns) else "too many"
    return InputError(
        f"{counted(fields, 'field')}, but the header has {len(columns):,} columns; {what} at {where}. "
        f"Correct the row; a text that contains {delimiter!r} must be in double quotes.",
        at=at,
    )


def _start(name: str) -> Start | None:
    try:
        with closing(_opened(name)) as stream:
            for above, line in enumerate(stream):
                if separator := SEPARATOR.fullmatch(line.strip()):
                    return Start(separator["gap"], above + 1)
                if line.strip():
                    return Start(delimiter_of(line, name), above)
    except OSError:
        pass  # DuckDB says what is wrong with the file
    return None


def _fault(name: str) -> InputError | None:
    start = _start(name)
    if start is None:
        return None
    with closing(_opened(name)) as stream:
        lines = _Lines(stream)
        rows = csv.reader(lines, delimiter=start.delimiter, strict=True)
        try:
            return _wrong_row(name, rows, lines, start)
        except UnicodeEncodeError as error:
            return _not_text(error, Place(name, lines=(rows.line_num + 1,)))
        except (csv.Error, OSError):  # a field longer than this reader takes, or marks that DuckDB may take
            return None


def _wrong_row(name: str, rows: _csv.Reader, lines: _Lines, start: Start) -> InputError | None:
    """The first row with more or fewer fields than the header, or with a different end."""
    columns, end, line, row = list[str](), "", 1, 0
    try:
        for fields in rows:
            if line > start.above and fields:
                at = Place(name, (row,) if row else (), (line,))
                columns, end, row = columns or fields, end or lines.end, row + 1
                if lines.end not in {end, ""}:
                    return _other_end(lines.end, end, at)
                if len(fields) != len(columns):
                    return ragged(columns, len(fields), start.delimiter, at)
            line = rows.line_num + 1
    except csv.Error as error:
        if not is_open_quote(str(error)):
            raise
        return InputError(
            "a quote that opens here is never closed. Correct the row; a quote inside a quoted text is written twice.",
            at=Place(name, (row,), (line,)),
        )
    return None


def is_open_quote(words: str) -> bool:
    """Whether Python's reader says that a file ends within quotes.

    >>> is_open_quote("unexpected end of data")
    True
    """
    return "unexpected end" in words


class _Lines:
    """The lines of a file for Python's reader, which takes them one by one: `end` is how the last one ended."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.end = ""

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            if not line.isascii():
                line.encode()  # UnicodeEncodeError where a byte was not UTF-8
            self.end = line[len(line.rstrip("\r\n")) :]
            yield line


def _opened(name: str) -> IO[str]:
    """A file as text, unpacked. Bytes that are not UTF-8 stay in it, so that their line can be found."""
    stream = cast("IO[bytes]", pa.input_stream(name, compression="detect"))
    return io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _other_end(this: str, above: str, at: Place) -> InputError:
    return InputError(
        f"this line ends in {_ENDS[this]}, and those above in {_ENDS[above]}. Perhaps another program has appended to "
        "the file. Write it again with one kind of line end, as dos2unix does.",
        at=at,
    )


def _not_text(error: UnicodeEncodeError, at: Place) -> InputError:
    part = error.object[max(error.start - 10, 0) : error.start + 10]
    shown = part.encode("utf-8", "surrogateescape").decode("latin-1").strip()
    return InputError(
        f"not UTF-8 text near {shown!r} (perhaps Latin-1 or Windows-1252). Save the file as UTF-8.",
        at=at,
    )
