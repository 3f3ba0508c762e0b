"""Columns of any Arrow type as text, as numbers, or in the few types that a pool keeps."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from fewlabels.errors import Argument, InputError, quoted
from fewlabels.io.source import NO_ANSWER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.errors import Piece
    from fewlabels.io.source import Source

ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError)
_LONGEST = 100  # characters of a type in a message
WHOLE = r"^[+-]?[0-9]+$"
_MISSING = frozenset({"na", "n/a", "#n/a", "null", "none", "-", "?", ".", "missing", "unknown"})


def as_text(source: Source, name: str, column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Ids or class names as text: 7, 7.0 and "7" are all "7", but "007" is "007". Missing stays missing.

    A text with the character NUL is refused: no database can store it, so no label of the item could be kept.
    """
    text = _text(source, name, column)
    with_nul = pc.match_substring(text, "\0")
    if pc.any(with_nul).as_py():
        at = source.at([row for row, wrong in enumerate(with_nul.to_pylist(), 1) if wrong], name)
        raise InputError("the text contains the character NUL, which cannot be stored. Take it out.", at=at)
    return text


def _text(source: Source, name: str, column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    column = _decoded(column)
    kind = column.type
    if pa.types.is_boolean(kind):
        words: pa.ChunkedArray[Any] = pc.if_else(column, "True", "False")
        return words
    if pa.types.is_floating(kind):
        return _whole(source, name, column)
    if isinstance(kind, pa.UuidType):  # Arrow has no texts for these
        return pa.chunked_array([pa.array([value and str(value) for value in column.to_pylist()], pa.string())])
    if not pa.types.is_nested(kind) and not _is_binary(kind):
        with contextlib.suppress(*ARROW_ERRORS):  # types that have no text, such as intervals
            return column.cast(pa.string())
    raise InputError(
        f"the column holds {shown(kind)}, not text or whole numbers. Convert it or name another column.",
        at=source.at(column=name),
    )


def shown(kind: pa.DataType) -> str:
    """A type for a message; one with many fields is cut short."""
    text = str(kind)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _whole(source: Source, name: str, column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    values = column.to_numpy().astype(np.float64)
    wrong = np.flatnonzero(~np.isnan(values) & (values != np.rint(values)) | (np.abs(values) >= 2**53))
    if len(wrong):
        at = source.at(int(wrong[0]) + 1, name)
        raise InputError(f"{values[wrong[0]]!s} is neither text nor a whole number. Write it as text.", at=at)
    return pa.chunked_array([pa.array(values, from_pandas=True).cast(pa.int64()).cast(pa.string())])


def as_numbers(source: Source, name: str, column: pa.ChunkedArray[Any]) -> NDArray[np.float64]:
    """A column as numbers, shape (rows,); missing is NaN. Text counts only where the file has no types."""
    column = _decoded(column)
    kind = column.type
    if pa.types.is_string(kind) and source.untyped:
        try:
            return numbers(column, comma=source.comma, percent=name in source.percent).to_numpy()
        except pa.ArrowInvalid as error:
            percent = name in source.percent
            texts = column.to_pylist()
            problems = [not_a_number("" if text is None else text, source.comma, percent) for text in texts]
            wrong = next((problem for problem in problems if problem), None)
            if wrong is None:  # Python knows more spellings of numbers than Arrow
                raise InputError(f"{error}. Write numbers as 0.746.", at=source.at(column=name)) from None
            rows = [row for row, problem in enumerate(problems, 1) if problem and problem.what == wrong.what]
            raise InputError(*wrong.message, at=source.at(rows, name)) from None
    if is_number(kind):
        with contextlib.suppress(*ARROW_ERRORS):  # decimals beyond the range of floats
            return column.cast(pa.float64(), safe=False).to_numpy()
    raise InputError(
        f"the column holds {shown(kind)}, not numbers. Convert it or name another column.", at=source.at(column=name)
    )


def looks_numeric(source: Source, name: str) -> bool:
    """Whether most of the first values of a column are numbers, so that one bad value is reported as an error."""
    kind = source.schema.field(name).type
    if is_number(kind) or not source.untyped:
        return is_number(kind)
    batch = next(iter(source.batches([name], 300)), None)
    values = [] if batch is None else [value for value in batch.column(0).to_pylist() if value is not None]
    return len(values) > 0 and sum(spelt(source, value) is not None for value in values) * 2 >= len(values)


def spelt(source: Source, text: str) -> float | None:
    """The number that a text represents, without its percent sign, in a file without types; None if there is none."""
    text = text.strip().removesuffix("%")
    try:
        return float(text.replace(",", ".") if source.comma else text)
    except ValueError:
        return None


def numbers(column: Any, *, comma: bool, percent: bool) -> Any:
    """Turn text into numbers, 74.6% into 0.746.

    It raises ArrowInvalid if a text is not a number, or if only part of a column has the percent sign.
    """
    column = pc.utf8_trim_whitespace(column)
    if percent:
        if pc.any(pc.invert(pc.ends_with(column, "%"))).as_py():
            raise pa.ArrowInvalid("a percent sign is missing")
        column = pc.utf8_rtrim_whitespace(pc.utf8_rtrim(column, "%"))
    column = _with_points(comma, column).cast(pa.float64())
    return pc.divide(column, 100.0) if percent else column


def _with_points(comma: bool, column: Any) -> Any:
    """Text with decimal points where the file has decimal commas."""
    return pc.replace_substring(column, ",", ".") if comma else column


@dataclass(frozen=True)
class NotANumber:
    """A text that should be a number: what is wrong with it, and what to do."""

    value: str
    what: str
    fix: tuple[Piece, ...]

    @property
    def message(self) -> tuple[Piece, ...]:
        """The parts of a message."""
        return f"{quoted(self.value)} {self.what}. ", *self.fix, "."


def not_a_number(value: str, comma: bool = False, percent: bool = False) -> NotANumber | None:
    """What is wrong with a text that should be a number, in a column with percent signs or without."""
    text = value.strip()
    signed = text.endswith("%")
    plain = text.removesuffix("%").rstrip()
    try:
        float((plain.replace(",", ".") if comma else plain) or "nan")
    except ValueError:
        if text.casefold() in _MISSING:
            fix = (
                "Fill in the number, or do without confidences, with ",
                Argument("confidence", "none"),
                f". {NO_ANSWER}",
            )
            return NotANumber(value, "seems to stand for a missing value", fix)
        point = plain.replace(",", ".")
        if point.count(".") == 1 and point.replace(".", "").isdigit():
            return NotANumber(value, "has a decimal comma", (f"Write {point}, with a decimal point",))
        return NotANumber(value, "is not a number", ("Correct it",))
    if not text or signed == percent:
        return None
    what = (
        "has a percent sign and others in the column have none"
        if signed
        else "has no percent sign and others in the column have one"
    )
    return NotANumber(value, what, ("Write the whole column one way, as 0.746 or as 74.6%",))


def kept(source: Source, column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Convert a further column to one of a few types, so that equal columns are equal whatever file they came from.

    Whole numbers are int64, other numbers float64, text is string; NaN and empty text are missing. In
    a file without types, a column is a number if every value is one (but "007" is text).
    """
    column = _decoded(column)
    kind = column.type
    if source.untyped:
        return _guessed(source, column)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    if pa.types.is_string(kind):
        return _without(column, pc.equal(column, pa.scalar("")))
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        return _without(column, pc.is_nan(column))
    if pa.types.is_temporal(kind):
        _check_calendar(column)
    return column


def _check_calendar(column: pa.ChunkedArray[Any]) -> None:
    """Refuse times that cannot be shown later: Python's calendar has the years 1 to 9999."""
    try:
        pc.min_max(column).as_py()
    except (OverflowError, ValueError, KeyError, *ARROW_ERRORS):
        raise InputError(
            "a column holds times outside the years 1 to 9999, or of a zone that is not known. Correct them, or leave "
            "the column out with ",
            Argument("columns"),
            ".",
        ) from None


def can_keep(kind: pa.DataType) -> bool:
    """Whether a pool keeps columns of this type. Lists, structures and bytes are large, and nothing uses them."""
    if pa.types.is_dictionary(kind):
        return can_keep(_of(kind))
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    is_time = pa.types.is_temporal(kind) and not pa.types.is_interval(kind) and not pa.types.is_duration(kind)
    return is_text or is_time or is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)


def is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_vector(kind: pa.DataType) -> bool:
    """Whether a column holds a list of numbers in each row."""
    return is_list(kind) and is_number(_of(kind))


def is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _of(kind: Any) -> pa.DataType:
    """The type of the values in a list or dictionary."""
    value_type: pa.DataType = kind.value_type
    return value_type


def _decoded(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Remove the dictionary from a column, and give text its one common type."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(_of(column.type))
    if pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    return column


def _without(column: pa.ChunkedArray[Any], mask: Any) -> pa.ChunkedArray[Any]:
    """Make the masked values of a column missing."""
    result: pa.ChunkedArray[Any] = pc.if_else(mask, pa.scalar(None, column.type), column)
    return result


def _guessed(source: Source, column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """A column of text as truth values or numbers, if all of its values can be read as these."""
    some = column.drop_null()
    if len(some) == 0:
        return column
    if pc.all(pc.is_in(some, pa.array(["True", "False", "true", "false"]))).as_py():
        return column.cast(pa.bool_())
    if pc.any(pc.match_substring_regex(some, r"^[+-]?0[0-9]")).as_py():
        return column
    whole = pc.all(pc.match_substring_regex(some, WHOLE)).as_py()
    try:
        made = column.cast(pa.int64()) if whole else _with_points(source.comma, column).cast(pa.float64())
    except pa.ArrowInvalid:
        return column
    return made if whole else _without(made, pc.is_nan(made))
