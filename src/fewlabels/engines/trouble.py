"""What can be wrong with a table of predictions, each as one InputError with counts and an example."""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fewlabels.engines.texts import is_fraction, is_text
from fewlabels.errors import Argument, InputError, one_line, quoted
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.engines.columns import Columns
    from fewlabels.engines.texts import Texts

_MOST = 8  # columns that a message names


def sentence_of(error: BaseException) -> str:
    """What an engine says about a failure, as a sentence.

    >>> sentence_of(ValueError("no such table")), sentence_of(ValueError("is the server running?"))
    ('no such table.', 'is the server running?')
    """
    words = one_line(error)
    return words if words.endswith(("?", "!")) else f"{words}."


def need(name: str, schema: pa.Schema, column: str, role: str) -> None:
    """InputError unless the table has a column."""
    if column in schema.names:
        return
    near = difflib.get_close_matches(column, schema.names, 1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    more = f" and {len(schema.names) - _MOST:,} more" if len(schema.names) > _MOST else ""
    raise InputError(
        f"{name} has no column {column!r}, named by ",
        Argument(role),
        f". {hint}The columns are {', '.join(map(quoted, schema.names[:_MOST]))}{more}.",
    )


def check_columns(name: str, schema: pa.Schema, columns: Columns, *, untyped: bool) -> None:
    """InputError unless every column is there, and of a type that can be used in its role."""
    roles = [("id", columns.id), ("predicted", columns.predicted), ("confidence", columns.confidence)]
    roles += [("columns", column) for column in (*columns.keep, *columns.carried)]
    for role, column in roles:
        if column is not None:
            need(name, schema, column, role)
    for role, column in (("id", columns.id), ("predicted", columns.predicted), *(("keep", k) for k in columns.keep)):
        if column not in columns.bins and not _has_text(kind := schema.field(column).type):
            raise InputError(
                f"{name}: the column {column!r} holds {kind}, not text or whole numbers, and cannot be used as "
                f"{'groups' if role == 'keep' else role}. Convert it in a view, or name another column."
            )
    if columns.confidence is None or untyped:
        return
    if not _is_number(kind := schema.field(columns.confidence).type):
        raise InputError(
            f"{name}: the column {columns.confidence!r} holds {kind}, not numbers, and cannot be the confidence. "
            "Convert it in a view, or name another column with ",
            Argument("confidence"),
            ".",
        )


def check_whole(name: str, texts: Texts, ask: Callable[[str], pa.Table]) -> None:
    """InputError if a column of numbers that is to be text has numbers that are not whole."""
    columns = texts.columns
    for column in dict.fromkeys((columns.id, columns.predicted, *columns.keep)):
        if column not in (*columns.stepped, *columns.bins) and is_fraction(texts.schema.field(column).type):
            count, first = _first(ask(texts.broken(column)))
            if count:
                raise InputError(
                    f"{name}: {counted(int(count), 'value')} of the column {column!r} {'is' if count == 1 else 'are'} "
                    f"neither text nor a whole number, such as {_number(first)}. Convert it to text in a view, or name "
                    "another column."
                )


def check_summary(name: str, columns: Columns, summary: pa.Table, example: Callable[[str], pa.Table]) -> None:
    """InputError if rows have no id, no prediction, or a confidence that is not between 0 and 1."""
    import pyarrow.compute as pc  # which takes a tenth of a command that asks the table nothing

    if not summary.num_rows:
        raise InputError(f"{name} has columns but no rows. A pool needs at least one item; check how it was written.")
    check_ids_there(name, columns.id, _total(summary, "no_id"))
    gaps = summary.filter(pc.is_null(summary["predicted"]))
    if not columns.gaps and (missing := _total(gaps, "count")):
        raise InputError(
            f"{name}: {counted(missing, 'item')} without a prediction, in the column {columns.predicted!r}, such as "
            f"the item {quoted(_first(example('predicted'))[0])}. If the classifier gave no answer, make that a class "
            "of its own such as '(none)': it counts as an error."
        )
    trimmed = pc.utf8_trim(summary["predicted"].cast(pa.string()), characters=" \t\r\n")
    blank = summary.filter(pc.equal(trimmed, pa.scalar("")))
    if not columns.gaps and (empty := _total(blank, "count")):
        raise InputError(
            f"{name}: {counted(empty, 'item')} with an empty prediction, in the column {columns.predicted!r}. If the "
            "classifier gave no answer, make that a class of its own such as '(none)': it counts as an error."
        )
    if wrong := _total(summary.filter(pc.less(summary["bin"], pa.scalar(0))), "count"):
        item, value = _first(example("confidence"))
        raise InputError(
            f"{name}: {counted(wrong, 'confidence')} in the column {columns.confidence!r} "
            f"{'does' if wrong == 1 else 'do'} not lie between 0 and 1, such as that of the item "
            f"{quoted(item)} ({_number(value)}). Correct them, or divide percentages by 100 in a view."
        )


def check_ids_there(name: str, column: str, missing: int) -> None:
    """InputError if rows have no id."""
    if missing:
        raise InputError(
            f"{name}: {counted(missing, 'row')} without an id, in the column {column!r}. Every item needs one; "
            "leave such rows out in a view, or name another column with ",
            Argument("id"),
            ".",
        )


def check_repeated(name: str, repeated: pa.Table) -> None:
    """InputError if ids occur more than once."""
    count, first = _first(repeated)
    if count:
        raise InputError(
            f"{name}: {counted(int(count), 'id')} {'occurs' if count == 1 else 'occur'} more than once, such as "
            f"{quoted(first)}. Every item needs an id of its own.",
            items=[str(first)],
        )


def check_once(name: str, ids: pa.ChunkedArray[Any], different: int) -> None:
    """InputError if some of the ids that were looked up occur more than once."""
    if different < len(ids):
        counts = ids.value_counts()
        repeated = [row["values"].as_py() for row in counts if row["counts"].as_py() > 1]
        raise InputError(
            f"{name}: {counted(len(repeated), 'id')} {'occurs' if len(repeated) == 1 else 'occur'} more than once, "
            f"such as {quoted(repeated[0])}. Every item needs an id of its own.",
            items=repeated,
        )


def _has_text(kind: pa.DataType) -> bool:
    """Whether values of a type have the same text on every engine."""
    if isinstance(kind, pa.DictionaryType):
        return _has_text(kind.value_type)
    if pa.types.is_null(kind):  # no value among those that the type was learnt from
        return True
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)
    return whole or is_text(kind) or is_fraction(kind) or pa.types.is_decimal(kind) or isinstance(kind, pa.UuidType)


def _is_number(kind: pa.DataType) -> bool:
    whole = pa.types.is_integer(kind) or pa.types.is_null(kind)
    return whole or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _total(table: pa.Table, column: str) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(table[column]).as_py() or 0)


def _first(table: pa.Table) -> list[Any]:
    return [column[0].as_py() for column in table.columns]


def _number(value: float | None) -> str:
    return "missing or not a number" if value is None or math.isnan(value) else f"{value:g}"
