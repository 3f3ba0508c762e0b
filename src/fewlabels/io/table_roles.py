"""Which sources are tables that stay where they are, and which of their columns hold what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewlabels.errors import Argument, InputError
from fewlabels.io.finder import find_roles
from fewlabels.io.source import check_names, table_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.engines.columns import Columns
    from fewlabels.engines.table import Table
    from fewlabels.io.finder.roles import Roles
    from fewlabels.io.source import Source
    from fewlabels.pool import Pool

_SAMPLE = 1_000  # rows by which columns are recognised
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
        return "://" in text or ((pattern or _of_files(Path(text))) and not Path(text).is_file())
    package = type(source).__module__.partition(".")[0]
    if package in {"duckdb", "_duckdb"}:
        return hasattr(source, "register")  # a relation is a frame
    return package in _SESSIONS or (callable(getattr(source, "cursor", None)) and not hasattr(source, "__array__"))


def _of_files(path: Path) -> bool:
    """Whether a path is a folder of files with predictions, and not of a dataset that another program has saved."""
    return path.is_dir() and not any((path / name).is_file() for name in ("state.json", "dataset_dict.json"))


def sample_of(table: Table) -> Source:
    """Some rows of a table as a source, by which its columns are recognised."""
    check_names(table.name, table.schema.names)
    return replace(table_source(table.name, table.head(_SAMPLE)), untyped=table.untyped)


def columns_from(source: Source, roles: Roles, keep: Sequence[str]) -> Columns:
    """The columns that engines need, from the roles that were found."""
    from fewlabels.engines.columns import Columns

    if roles.scores:
        raise InputError(
            f"{source.name} has scores of every class, and a table needs the predicted class and its score. Add two "
            "columns to it, or a view that has them, and name them with ",
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
    return Columns(roles.id, roles.predicted, roles.confidence, keep=tuple(dict.fromkeys(keep)))


def read_from(source: object, table: str | None, asked: dict[str, Any], seed: int, refused: dict[str, Any]) -> Pool:
    """Read a pool from a table, with the arguments of `read_pool`; what only files have is refused."""
    from fewlabels.engines.opening import open_table
    from fewlabels.io.tables import read_table

    for name, value in refused.items():
        if value:
            raise InputError(
                "a table that stays where it is cannot be read with ",
                Argument(name),
                ". Make a view of it that has the predicted class and a confidence from 0 to 1, and read that.",
            )
    opened = open_table(source, table=table)
    sample = sample_of(opened)
    keep = tuple(asked["columns"] or ())
    roles = find_roles(sample, **asked | {"columns": keep})
    return read_table(
        opened,
        columns_from(sample, roles, keep),
        classes=roles.classes,
        content=asked["content"],
        seed=seed,
    )
