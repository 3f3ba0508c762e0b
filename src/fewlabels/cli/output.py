"""Writing rows to a file or to stdout, in the format that the name or an option says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fewlabels.io.writing import Style

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_FORMATS = ("csv", "tsv", "json", "jsonl", "parquet")
_ENDINGS = {f".{name}": name for name in _FORMATS} | {".ndjson": "jsonl"}


def output_options(command: Decorated) -> Decorated:
    """-o/--output, --format and --excel."""
    for option in reversed((
        click.option("-o", "--output", metavar="FILE", help="Where to write.  [default: stdout]", type=click.Path()),
        click.option("--format", "format_", type=click.Choice(_FORMATS), help="[default: by FILE's ending, or csv]"),
        click.option("--excel", is_flag=True, help="CSV for Excel: all letters right, and no text run as a formula."),
    )):  # fmt: skip
        command = option(command)
    return command


def check_output(output: str | None, format_: str | None) -> str:
    """The format to write; an error, before anything is done, if it cannot be written."""
    from fewlabels.errors import InputError

    if output is None or output == "-":
        if format_ == "parquet":
            raise InputError("parquet goes into a file, not to the screen: name one with -o FILE.parquet.")
        return format_ or "csv"
    path = Path(output)
    if not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {output}: there is no directory {path.parent}. Make it first.")
    if path.is_dir():
        raise InputError(f"cannot write {output}: it is a directory. Name a file in it.")
    if format_ is None and path.suffix.lower() not in _ENDINGS:
        raise InputError(
            f"the ending of {output} does not say how to write it. End it in {', '.join(_ENDINGS)}, or say --format."
        )
    return format_ or _ENDINGS[path.suffix.lower()]


def write(
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    output: str | None,
    style: str,
    *,
    excel: bool = False,
) -> None:
    """Write rows in a format that `check_output` gave."""
    from fewlabels.io import write_rows
    from fewlabels.io.saving import save

    target: Any = sys.stdout if output is None or output == "-" else output
    if style == "parquet":
        save(_parquet(rows, columns), target)
        return
    write_rows(rows, target, columns=columns, style=cast("Style", style), excel=excel)


def _parquet(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> bytes:
    from io import BytesIO

    import pyarrow as pa
    from pyarrow import parquet

    values: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in columns}
    out = BytesIO()
    parquet.write_table(pa.table({name: pa.array(column) for name, column in values.items()}), out)
    return out.getvalue()
