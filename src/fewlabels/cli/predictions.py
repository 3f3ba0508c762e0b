"""Options that name the columns of a file of predictions, and reading the pool with them and with guesses."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fewlabels.errors import FewlabelsError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fewlabels.io.source import Source
    from fewlabels.pool import Pool
    from fewlabels.understanding.options import QuestionOptions, ReadOptions
    from fewlabels.understanding.words import Understood

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_MODELS = "The columns of the models, the column that says which model a row is of, or names for the files."
_POSITIVE = "Two classes, one column of probabilities: the class that they are about."
_SAMPLE = "For a table: read N random items into memory, for several models, scores or a simulation."
# Bytes: a larger file is left where it is, if DuckDB is installed. A text has some eight times the bytes of Parquet.
_LARGE = {".parquet": 250_000_000, ".pq": 250_000_000, ".csv": 2_000_000_000, ".tsv": 2_000_000_000}
_UNLISTED = "Whether an answer that is not in --classes is refused or counts as wrong.  [default: refuse]"
_SPELLING = 'Read "Yes." as the class yes: case, spaces and punctuation do not matter.'
_SENTENCES = 'Read "It is spam." as the class spam: an answer is the one class of --classes that it names.'
_NEVER = "An answer that is never right, such as \"I'm sorry*\" or '' for none at all. Repeatable."
_NORMALIZE = "Scores are percentages or weights: divide them by their sum."
_EVIDENCE = "Columns known for every item that help to tell right from wrong, such as a judge's verdicts or a score."


any_size_option = click.option("--any-size", is_flag=True, help="Read a file even if it unpacks to a very large size.")


def pool_options(command: Decorated) -> Decorated:
    """Add the options that name columns, models and classes, and say how numbers are to be read."""
    for option in reversed((
        click.option("--id", metavar="NAME", help="Column of ids."),
        click.option("--scores", metavar="NAMES", help="Scores: 'p_*', names with commas, or a column of vectors."),
        click.option("--predicted", metavar="NAME", help="Column of predicted classes."),
        click.option("--confidence", metavar="NAME", help="Column of confidences (none: do not use any)."),
        click.option("--classes", metavar="NAMES|FILE", help="All classes, with commas, or a file with one per line."),
        click.option("--models", metavar="NAMES", help=_MODELS),
        click.option("--table", metavar="NAME", help="The table or view, if FILE is a database; it stays there."),
        click.option("--sample", type=click.IntRange(1), metavar="N", help=_SAMPLE),
        click.option("--unlisted", type=click.Choice(["refuse", "wrong"]), default="refuse", help=_UNLISTED),
        click.option("--any-spelling", is_flag=True, help=_SPELLING),
        click.option("--in-sentences", is_flag=True, help=_SENTENCES),
        click.option("--positive", metavar="CLASS", help=_POSITIVE),
        click.option("--never-right", multiple=True, metavar="TEXT", help=_NEVER),
        click.option("--evidence", metavar="NAMES", help=_EVIDENCE),
        click.option("--normalize", is_flag=True, default=None, help=_NORMALIZE),
        click.option("--logits", is_flag=True, default=None, help="Scores are logits."),
        any_size_option,
    )):  # fmt: skip
        command = option(command)
    return command


def read_options(typed: Mapping[str, Any]) -> ReadOptions:
    """What the options of `pool_options` say, and --groups, --verdict and --seed where a command has them."""
    from fewlabels.understanding.options import ReadOptions

    return ReadOptions(**_of(ReadOptions, typed))


def asked_options(typed: Mapping[str, Any]) -> QuestionOptions:
    """What the options of `question_options` and `stop_options` say, those of them that a command has.

    >>> asked_options({"lowest": 2, "seed": 7, "compare": None}).lowest
    2
    """
    from fewlabels.understanding.options import QuestionOptions

    return QuestionOptions(**_of(QuestionOptions, typed))


def _of(kind: Any, typed: Mapping[str, Any]) -> dict[str, Any]:
    """The options that belong to a dataclass, of all that were typed."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in typed.items() if name in names and value is not None}


def read_predictions(
    file: str | Source | Sequence[str | Source],
    options: ReadOptions,
    *,
    content: Sequence[str] | None = None,
    columns: list[str] | None = None,
    to_ask: bool = True,
) -> tuple[Pool, list[Understood]]:
    """Read the pool in a file ("-" is stdin) with the options of `pool_options`, or else guesses, and report both.

    Several files are those of several models. `content` names the columns that annotators see: several become one
    text. An empty list means none. `to_ask` is whether items will be asked for: a table need not name any otherwise.
    """
    from fewlabels.arrow import leave_pandas_out
    from fewlabels.io.source import Source
    from fewlabels.understanding.models import model_names
    from fewlabels.understanding.options import split_names
    from fewlabels.understanding.predictions import understood_in, with_verdict

    leave_pandas_out()  # it would take a third of a second
    if not isinstance(file, (str, Source)) and len(file) == 1:
        file = file[0]
    if options.sample:
        from fewlabels.cli.tables import drawn

        drawn_ones = drawn([file] if isinstance(file, (str, Source)) else file, options)
        file = drawn_ones[0] if len(drawn_ones) == 1 else drawn_ones
    any_size = options.any_size
    if isinstance(file, Source):
        return understood_in(file, options, content=content, columns=columns)
    if not isinstance(file, str):
        names = model_names(
            [source if isinstance(source, str) else source.name for source in file], split_names(options.models)
        )
        sources = {
            name: opened(source, any_size=any_size) if isinstance(source, str) else source
            for name, source in zip(names, file, strict=True)
        }
        return understood_in(sources, options, content=content, columns=columns)
    if stays_put(file, options):
        from fewlabels.cli.tables import read_table_predictions

        return read_table_predictions(file, with_verdict(options), content=content, to_ask=to_ask)
    try:
        return understood_in(opened(file, any_size=any_size), options, content=content, columns=columns)
    except FewlabelsError:
        _refuse_labels(file)
        raise


def _refuse_labels(file: str) -> None:
    """Say so if a file that cannot be read as predictions is an export of a labelling program."""
    from pathlib import Path

    from fewlabels.interop.labelling_programs import of_export
    from fewlabels.io.jsons import read_values

    path = Path(file)
    if path.suffix.lower() not in (".json", ".jsonl", ".ndjson") or not path.is_file():
        return
    try:
        program = of_export(read_values(path, file))
    except FewlabelsError:
        return
    if program is not None:
        raise InputError(
            f"{file} is an export of {program.title}: it has people's labels, and predictions are needed here. Begin "
            f"with the file of predictions; then: fewlabels tell DATABASE {file}"
        )


def stays_put(file: str, options: ReadOptions) -> bool:
    """Whether a file is left where it is, and asked what is needed: a pattern, folder or address, or a large file."""
    from importlib.util import find_spec
    from pathlib import Path

    from fewlabels.io.table_roles import is_table

    if is_table(file, options.table):
        return True
    path = Path(file)
    large = path.is_file() and path.stat().st_size > _LARGE.get(path.suffix.lower(), math.inf)
    only_in_memory = options.models or options.scores or options.normalize or options.logits
    return large and not only_in_memory and find_spec("duckdb") is not None


def opened(file: str, *, any_size: bool = False) -> Source:
    """Open a file as a source of rows; "-" is stdin, whose format is detected."""
    import sys
    import tempfile
    from pathlib import Path

    from fewlabels.io.files import open_file
    from fewlabels.io.limits import limits
    from fewlabels.io.opening import open_source

    if file != "-":
        return open_source(file, any_size=any_size)
    data = sys.stdin.buffer.read()
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    # A source reads its file more than once, so what comes through a pipe is kept until the command ends.
    folder = tempfile.TemporaryDirectory(prefix="fewlabels-")
    if context := click.get_current_context(silent=True):
        context.call_on_close(folder.cleanup)
    path = Path(folder.name) / ("stdin.json" if start in (b"{", b"[") else "stdin.csv")
    path.write_bytes(data)
    return open_file(path, "standard input", limits(any_size))
