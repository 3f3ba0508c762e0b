"""Writing rows to a file or to stdout, in the format given by the file name or an option."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from fewlabels.wording import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fewlabels.io.writing import Style

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "xlsx")
_ENDINGS = {f".{name}": name for name in _FORMATS} | {".ndjson": "jsonl"}


def output_options(command: Decorated) -> Decorated:
    """Add the options -o/--output, --format and --excel."""
    for option in reversed((
        click.option("-o", "--output", metavar="FILE", help="Where to write.  [default: stdout]", type=click.Path()),
        click.option("--format", "format_", type=click.Choice(_FORMATS), help="[default: by FILE's ending, or csv]"),
        click.option("--excel", is_flag=True, help="CSV for Excel: accents are shown, and no text runs as a formula."),
    )):  # fmt: skip
        command = option(command)
    return command


def check_output(output: str | None, format_: str | None) -> str:
    """Return the format to write, or raise an error before any work if it cannot be written."""
    from fewlabels.errors import InputError

    if output is None or output == "-":
        if format_ in ("parquet", "xlsx"):
            raise InputError(f"{format_} cannot be printed: name a file with -o FILE.{format_}.")
        return format_ or "csv"
    path = Path(output)
    if not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {output}: there is no directory {path.parent}. Make it first.")
    if path.is_dir():
        raise InputError(f"cannot write {output}: it is a directory. Name a file in it.")
    if format_ is None and path.suffix.lower() not in _ENDINGS:
        raise InputError(
            f"the ending of {output} is not a known format. End it in {', '.join(_ENDINGS)}, or add --format."
        )
    return format_ or _ENDINGS[path.suffix.lower()]


def write(
    columns: Mapping[str, Sequence[Any]],
    output: str | None,
    style: str,
    *,
    excel: bool = False,
    choices: Sequence[str] = (),
) -> None:
    """Write columns in a format from `check_output`; a workbook offers the choices in its column "label"."""
    from fewlabels.io.excel import workbook
    from fewlabels.io.saving import save
    from fewlabels.io.writing import write_columns

    target: Any = sys.stdout if output is None or output == "-" else output
    if style == "parquet":
        save(_parquet(columns), target)
        return
    if style == "xlsx":
        save(workbook(columns, choices), target)
        return
    if target is sys.stdout and sys.stdout.isatty():  # a terminal would obey control characters; a pipe does not
        shown = io.StringIO()
        write_columns(columns, shown, style=cast("Style", style), excel=excel)
        click.echo(harmless(shown.getvalue()), nl=False)
        return
    write_columns(columns, target, style=cast("Style", style), excel=excel)


def _parquet(columns: Mapping[str, Sequence[Any]]) -> bytes:
    from io import BytesIO

    import pyarrow as pa
    from pyarrow import parquet

    out = BytesIO()
    parquet.write_table(pa.table({name: pa.array(column) for name, column in columns.items()}), out)
    return out.getvalue()
