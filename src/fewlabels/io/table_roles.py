"""Which sources are tables that stay where they are, and which of their columns hold what."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fewlabels.bins import bins_from, column_and_bins, count_of, values_of
from fewlabels.checks import whole_number
from fewlabels.engines.files import is_database
from fewlabels.errors import Argument, InputError
from fewlabels.evidence import MOST_WORDS
from fewlabels.io.columns import numbers as as_floats
from fewlabels.io.finder import find_roles
from fewlabels.io.source import check_names, table_source
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fewlabels.engines.columns import Columns
    from fewlabels.engines.table import RemoteTable
    from fewlabels.io.finder.roles import Roles
    from fewlabels.io.source import Source
    from fewlabels.pool import Pool

_SAMPLE = 1_000  # rows by which columns are recognised
_SAMPLED = 20_000  # values by which even bins are chosen: a share of them is known within 0.7 %
_RELATION = 1_000_000  # a DuckDB relation with more rows than this stays where it is
_SESSIONS = {"pyspark", "sqlalchemy"}
_MARKS = "*?["


def is_table(source: object, table: str | None = None) -> bool:
    """Whether a source is a table that stays where it is: a pattern of files, a folder, an address or a connection.

    >>> is_table("predictions/*.parquet"), is_table("postgresql://db/ml", "predictions"), is_table("predictions.csv")
    (True, True, False)
    """
    if table is not None:
        return True
    if isinstance(source, (str, Path)):
        text = str(source)
        pattern = any(mark in text for mark in _MARKS)
        try:
            iceberg = text.endswith(".metadata.json")  # the metadata of a table's version, which is not a list of items
            if Path(text).is_file():
                return iceberg or is_database(text)
            return iceberg or "://" in text or pattern or _of_files(Path(text))
        except OSError:  # a name that is too long: whoever opens it will say so
            return False
    package = type(source).__module__.partition(".")[0]
    if package in {"duckdb", "_duckdb"}:
        return hasattr(source, "register") or _rows_of(source) > _RELATION  # a smaller relation is a frame
    return package in _SESSIONS or (callable(getattr(source, "cursor", None)) and not hasattr(source, "__array__"))


def _rows_of(relation: Any) -> int:
    return int(relation.count("*").fetchall()[0][0])


def _of_files(path: Path) -> bool:
    """Whether a path is a folder of files with predictions, and not of a dataset that another program has saved."""
    return path.is_dir() and not any((path / name).is_file() for name in ("state.json", "dataset_dict.json"))


def sample_of(table: RemoteTable) -> Source:
    """Some rows of a table as a source, by which its columns are recognised."""
    check_names(table.name, table.schema.names)
    return _spelt(table, table_source(table.name, table.head(_SAMPLE)))


def _spelt(table: RemoteTable, rows: Source) -> Source:
    """Rows of a table; if it has no types, with how their numbers are spelt, as files of such a format have it."""
    if not table.untyped:
        return rows
    from fewlabels.io.csvs import spelling

    head = rows.table(rows.columns).slice(0, 100).to_pylist()
    texts = [["" if value is None else str(value) for value in row.values()] for row in head]
    comma, percent = spelling(rows.columns, texts)
    return replace(rows, untyped=True, comma=comma, percent=percent)


def left_out(table: RemoteTable) -> str:
    """Which files of a folder are not part of the table, in words; empty if all are."""
    if not table.left_out:
        return ""
    count = counted(len(table.left_out), "file")
    return f"{count} of another format left out, such as {table.left_out[0]}"


def columns_from(source: Source, roles: Roles, keep: Sequence[str]) -> Columns:
    """The columns that engines need, from the roles that were found."""
    from fewlabels.engines.columns import Columns

    if roles.scores:
        raise InputError(
            f"{source.name} has scores of every class, and a table needs the predicted class and its score. Add ",
            Argument("sample", 100_000),
            " to read that many items, drawn at random, into memory; or make a view that has the two, and name them "
            "with ",
            Argument("predicted"),
            " and ",
            Argument("confidence"),
            ".",
        )
    if roles.id is None or roles.predicted is None:
        missing, role = ("ids", "id") if roles.id is None else ("predicted classes", "predicted")
        raise InputError(
            f"{source.name} needs a column of {missing}: the rows of a table have no order. Name it with ",
            Argument(role),
            ".",
        )
    spelt = "," * source.comma + "%" * (roles.confidence in source.percent) if source.untyped else ""
    return Columns(roles.id, roles.predicted, roles.confidence, keep=tuple(dict.fromkeys(keep)), spelt=spelt)


def with_bins(table: RemoteTable, columns: Columns, wanted: Mapping[str, str], seed: int) -> Columns:
    """The columns with the bins of some: a number of bins of about equal size, by a random sample of the values."""
    bins = {}
    for name, text in wanted.items():
        if text:
            values, kind = values_of(name, table.values(replace(columns, keep=()), name, seed, _SAMPLED).column(0))
            count = count_of(text)
            bins[name] = bins_from(name, text, values, kind).to_json() | ({"count": count} if count else {})
    return replace(columns, bins=bins)


def with_evidence(table: RemoteTable, columns: Columns, names: Sequence[str]) -> Columns:
    """The columns with those of evidence: words as they are, numbers in steps of half a standard deviation."""
    steps = []
    for name in dict.fromkeys(names):
        if name in (columns.id, columns.predicted, columns.confidence):
            raise InputError(
                f"{name!r} is the prediction itself, its confidence or the id, so it is not further evidence. Leave it "
                "out of ",
                Argument("evidence"),
                ".",
            )
        if name in columns.bins:
            raise InputError(f"{name!r} makes groups in bins, so it cannot be evidence as well. Drop one of the two.")
        spread = table.spread(columns, name)
        if spread is None:
            if table.different(columns, name, MOST_WORDS + 2) > MOST_WORDS + 1:
                raise InputError(
                    f"the column {name!r} of {table.name} has more than {MOST_WORDS} different texts, and evidence "
                    "must be numbers or a few words, such as pass and fail. Name another column."
                )
            continue
        low, high, mean, sd = spread
        if pa.types.is_integer(table.schema.field(name).type) and high - low < MOST_WORDS:
            steps.append((name, 0.0, 0.0))
        elif np.isfinite(mean) and np.isfinite(sd) and sd > 0:
            steps.append((name, float(f"{mean - 3 * sd:.6g}"), float(f"{sd / 2:.3g}")))
        else:
            raise InputError(
                f"the column {name!r} of {table.name} cannot be evidence: it has one value only, or numbers that are "
                "not finite. Leave such values out in a view, or name another column."
            )
    return replace(columns, keep=tuple(dict.fromkeys([*columns.keep, *names])), steps=tuple(steps))


def sampled(
    source: object,
    table: str | None,
    rows: int,
    *,
    id: str | None = None,  # noqa: A002  (as in read_pool)
    seed: int = 0,
    upto: str | None = None,
    dialect: str | None = None,
) -> tuple[Source, str]:
    """Items of a table, drawn at random by their ids, as a source in memory; and the key below which all ids are.

    With them everything can be done that a file can. They are a random sample of the table, so what is found with them
    about the population behind it is what would be found with all; what is found about "the pool" is about the sample.
    """
    from fewlabels.engines.opening import open_table
    from fewlabels.io.finder import guess

    with open_table(source, table=table, dialect=dialect) as opened:
        first = sample_of(opened)
        column = id or guess(first).id
        if column is None:
            raise InputError(
                f"{first.name} needs a column of ids, since rows are drawn by their ids. Name it with ",
                Argument("id"),
                ".",
            )
        drawn = opened.sample(column, whole_number(rows, "The 'sample' of read_pool()"), seed, upto)
        part = f"{drawn.rows.num_rows:,} of {drawn.total:,} rows, drawn at random by {column!r}"
        origin = "a table; all results are about these rows" if drawn.rows.num_rows < drawn.total else "the whole table"
        made = table_source(f"{opened.name} ({part})", drawn.rows)
        if opened.untyped:
            made = _spelt(opened, made)
            made = replace(made, reader=partial(_as_numbers, made))
        return replace(made, told="; ".join(filter(None, [f"{part}, of {origin}", left_out(opened)]))), drawn.upto


def _as_numbers(rows: Source, columns: list[str], numbers: bool) -> Iterable[pa.RecordBatch]:
    """The batches of a file without types; where numbers are wanted, the columns that are numbers as such."""
    for batch in rows.reader(columns, False):
        named = zip(batch.schema.names, batch.columns, strict=True)
        yield pa.record_batch([_number(rows, *column) for column in named], batch.schema.names) if numbers else batch


def _number(rows: Source, name: str, column: pa.Array[Any]) -> pa.Array[Any]:
    try:
        numbers: pa.Array[Any] = as_floats(column, comma=rows.comma, percent=name in rows.percent)
    except pa.ArrowInvalid:
        return column
    return numbers


def read_from(
    source: object,
    table: str | None,
    dialect: str | None,
    asked: dict[str, Any],
    seed: int,
    refused: dict[str, Any],
    evidence: Sequence[str] = (),
) -> Pool:
    """Read a pool from a table, with the arguments of `read_pool`; what only files have is refused."""
    from fewlabels.engines.opening import open_table
    from fewlabels.io.tables import read_table

    for name, value in refused.items():
        if value:
            raise InputError(
                "a table that stays where it is cannot be read with ",
                Argument(name),
                ". Add ",
                Argument("sample", 100_000),
                " to read that many items, drawn at random, into memory; or make a view that has the predicted class "
                "and a confidence from 0 to 1.",
            )
    opened = open_table(source, table=table, dialect=dialect)
    sample = sample_of(opened)
    wanted = dict(column_and_bins(name, sample.columns) for name in asked["columns"] or ())
    keep = tuple(wanted)
    roles = find_roles(sample, **asked | {"columns": keep})
    return read_table(
        opened,
        columns_from(sample, roles, keep),
        classes=roles.classes,
        content=asked["content"],
        seed=seed,
        evidence=evidence,
        bins=wanted,
    )
