"""Shared parts of the commands: opening an assessment, printing tables, messages on stderr, and common options."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fewlabels.wording import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.store import Store
    from fewlabels.table import Table

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# Control characters that JSON may contain unescaped, and marks that change the direction of writing.
_UNSHOWN = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

PROGRAMS = ("label-studio", "argilla", "prodigy", "doccano")  # as in interop, which is slow to import

# --- options and arguments that look the same everywhere

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
level_option = click.option(
    "--level",
    default=0.95,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    show_default=True,
    metavar="P",
    help="Probability that an interval contains the true value.",
)


def assessment_arguments(command: Decorated) -> Decorated:
    """Add the arguments `address` and `name` (None if left out): which assessment in which database."""
    command = click.argument("name", required=False, metavar="[NAME]", shell_complete=complete_names)(command)
    return click.argument("address", metavar="DATABASE", shell_complete=_complete_files)(command)


def complete_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the names of the assessments in the database named before, for the shell."""
    from fewlabels.errors import StoreError

    address = ctx.params.get("address")
    if not address or "://" in address:  # a server may be slow to answer, and completion must not be
        return []
    try:
        with open_store(address) as store:
            return [name for name in store.names() if name.startswith(incomplete)]
    except StoreError:
        return []


def _complete_files(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


# --- assessments


@contextlib.contextmanager
def open_store(address: str) -> Iterator[Store]:
    """Open an existing database. If there is none, a NoFileError says how to begin."""
    from fewlabels.store import Store
    from fewlabels.store.address import NoFileError

    try:
        store = Store(address, existing=True)
    except NoFileError:
        begin = f"fewlabels new {shown(address)} predictions.csv"
        raise NoFileError(f"there is no file {address}. Begin with: {begin}") from None
    with contextlib.closing(store):
        yield store


def names_in(address: str) -> list[str]:
    """Return the names of the assessments in a database, oldest first. If there is none, an error says how to begin."""
    from fewlabels.errors import StoreError

    with open_store(address) as store:
        names = store.names()
    if not names:
        raise StoreError(
            f"{shown(address)} has no assessment yet. Begin with: fewlabels new {shown(address)} predictions.csv"
        )
    return names


def open_assessment(address: str, name: str | None = None) -> Assessment:
    """Open an assessment until the command ends. The name may be left out if the database has only one."""
    from fewlabels.arrow import leave_pandas_out
    from fewlabels.beginning import load

    leave_pandas_out()  # a driver of a table hands Arrow values, which takes a second with pandas
    audit = load(address, resolve(address, name))
    if context := click.get_current_context(silent=True):
        context.call_on_close(audit.close)
    return audit


def resolve(address: str, name: str | None) -> str:
    """Return the name of the assessment that is meant, or raise an error that lists the existing names."""
    import difflib

    from fewlabels.errors import StoreError
    from fewlabels.store.rows import meant
    from fewlabels.wording import some_of

    names = names_in(address)
    if name is not None and (known := meant(name, names)) is not None:
        return known
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        raise StoreError(
            f"{shown(address)} has {len(names):,} assessments: {some_of(names)}. Name one of them, as in "
            f"{shown(address)} {quoted(names[0])}. See: fewlabels list {shown(address)}"
        )
    near = difflib.get_close_matches(name, names, 1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise StoreError(
        f"there is no assessment {name!r} in {shown(address)}. {hint}It has {some_of(names)}. "
        f"See: fewlabels list {shown(address)}"
    )


def name_and_rest(address: str, words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Split words into the name of an assessment, if the first word is one, and the rest."""
    from fewlabels.store.rows import meant

    name = meant(words[0], names_in(address)) if words else None
    return name, list(words if name is None else words[1:])


def contents(audit: Assessment, ids: Sequence[str]) -> list[Any]:
    """Return what an annotator sees of each item: the values of the content column, None if there is no such column."""
    pool = audit.pool
    if pool.content is None:
        return [None] * len(ids)
    return [row[pool.content] for row in audit.shown(pool.positions(ids).tolist())]


def shown(address: str) -> str:
    """Return an address for messages and commands: without its password, and quoted for the shell if needed."""
    if "://" not in address:
        return quoted(address)
    from fewlabels.store.address import shown as plain

    return quoted(plain(address))


def quoted(text: str) -> str:
    """Quote a word for the shell if it needs it."""
    import shlex

    return shlex.quote(text)


def program() -> str:
    """Return what to type for `fewlabels` in this shell: its path, if its environment is not active."""
    import shutil
    from pathlib import Path

    python, on_path = Path(sys.executable), shutil.which("fewlabels")
    if on_path is not None and Path(on_path).absolute().parent == python.parent:
        return "fewlabels"
    beside = python.with_name("fewlabels")
    path = beside if beside.exists() else python
    here = Path.cwd()
    near = quoted(str(path.relative_to(here) if path.is_relative_to(here) else path))
    return near if path is beside else f"{near} -m fewlabels"


# --- output: tables on stdout, talk on stderr


def talk(message: str) -> None:
    """Print a message that is not part of the result, on stderr."""
    click.echo(harmless(message), err=True)


def say(message: str) -> None:
    """Print a sentence that belongs to the result on stdout, so that a saved table keeps its caveats."""
    click.echo(harmless(message))


def filled(parts: Sequence[str], width: int, gap: str = "  ") -> list[str]:
    """Fill lines with as many whole parts as fit; a part that is too wide gets a line of its own.

    >>> filled(["[1] cat", "[2] wild dog", "[3] eel"], 22)
    ['[1] cat  [2] wild dog', '[3] eel']
    """
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(gap) + len(part) <= width:
            lines[-1] += gap + part
        else:
            lines.append(part)
    return lines or [""]


def emit(table: Table, as_json: bool, *, most: int | None = None) -> None:
    """Print a table on stdout: as JSON `{"rows": [...], "settings": {...}}`, or as text.

    The text has at most `most` rows (all by default); the column names are bold on a terminal.
    """
    if as_json:
        emit_json({"rows": list(table.rows()), "settings": dict(table.settings)})
        return
    head, *rows = table.text(most=len(table) if most is None else most).split("\n")
    click.echo("\n".join([click.style(head, bold=True), *rows]))


def emit_json(data: object) -> None:
    """Print one JSON document on stdout. Times are written as ISO 8601."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, default=_plain)
    click.echo(_UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _plain(value: Any) -> Any:
    """Convert values that JSON does not know: times, and the numbers and arrays of NumPy."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


class Bar:
    """Shows the progress of long work, which calls `bar(done, total)`, and `bar.say(words)` when a new part begins."""

    def __call__(self, done: int, total: int) -> None:
        """Note how much of the work is done."""

    def say(self, words: str) -> None:
        """Say what begins now; if no bar is drawn, print a line on stderr."""
        talk(words)


@contextlib.contextmanager
def progress(words: str = "working") -> Iterator[Bar]:
    """Show a progress bar on stderr if it is a terminal; otherwise draw nothing."""
    if not sys.stderr.isatty():
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task(words, total=None)

        class Drawn(Bar):
            described = words

            def __call__(self, done: int, total: int) -> None:
                drawn.update(task, completed=done, total=total, description=self.described)

            def say(self, words: str) -> None:
                self.described = words
                drawn.update(task, description=words, completed=0)

        yield Drawn()
