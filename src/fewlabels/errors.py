"""The five kinds of errors. Every message says what was done, what is needed, and what to do.

An error is raised in one statement, with the parts of its message: texts, and the arguments of Python that it mentions.
The place in a file and the items are fields of the error, so that no face has to parse a message. A face that has other
names for the arguments, such as the command line, spells the parts itself.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_NAMED = 10  # rows or items that a message names; it counts the others


@dataclass(frozen=True)
class Argument:
    """An argument of Python that a message mentions, with a value where one is proposed.

    >>> str(Argument("id")), str(Argument("normalize", True)), str(Argument("scores", "p_*"))
    ('id=', 'normalize=True', "scores='p_*'")
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return f"{self.name}={'' if self.value is None else repr(self.value)}"


@dataclass(frozen=True)
class Call:
    """A call that a message proposes, with the arguments that matter.

    >>> str(Call("read_pool", (Argument("scores", "p_*"),)))
    "read_pool(..., scores='p_*')"
    """

    function: str
    arguments: tuple[Argument, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(['...', *map(str, self.arguments)])})"

    @property
    def options(self) -> tuple[Argument, ...]:
        """The arguments by the names of options and fields, where those of `Stop` begin with stop.

        >>> [argument.name for argument in Call("Stop", (Argument("width", 0.2), Argument("guarantee"))).options]
        ['stop_width', 'guarantee']
        """
        if self.function != "Stop":
            return self.arguments
        return tuple(
            each if each.name == "guarantee" else Argument(f"stop_{each.name}", each.value) for each in self.arguments
        )


Piece = str | Argument | Call
"""A piece of a message."""


@dataclass(frozen=True)
class Place:
    """Where something is wrong: a file or frame, and in it rows (from 1, with their lines in a file) and columns.

    >>> print(Place("a.csv", (1, 3), (2, 4), ("score",)))
    a.csv, rows 1, 3 (lines 2, 4), column 'score'
    >>> print(Place("a.csv", tuple(range(1, 13))).inside)
    rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more

    In a workbook the lines are numbered beside it, and the rows are not.

    >>> print(Place("a.xlsx", (1,), (2,), sheet=True))
    a.xlsx, row 2 of the sheet
    """

    source: str
    rows: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    sheet: bool = False

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.source, self.inside)))

    @property
    def inside(self) -> str:
        """The place within its source; empty if the whole source is meant."""
        lines = _numbered("line", self.lines[:MOST_NAMED])
        rows = _numbered("row", self.rows[:MOST_NAMED])
        rows = f"{rows} ({lines})" if rows and lines else rows or lines
        if self.sheet and lines:
            rows = f"{_numbered('row', self.lines[:MOST_NAMED])} of the sheet"
        rows += f" and {len(self.rows) - MOST_NAMED:,} more" if len(self.rows) > MOST_NAMED else ""
        columns = f"column {self.columns[0]!r}" if self.columns else ""
        if len(self.columns) > 1:
            columns = f"columns {self.columns[0]!r} to {self.columns[-1]!r}"
        return ", ".join(filter(None, (rows, columns)))


class FewlabelsError(Exception):
    """The base of every error that fewlabels raises on purpose.

    Parameters
    ----------
    message
        The message, in one or more parts.
    at
        Where the trouble is; the message begins with it.
    items
        The ids of the items that the trouble is about.

    >>> error = InputError("the id is missing. Name another column with ", Argument("id"), ".", at=Place("a.csv", (3,)))
    >>> print(error)
    a.csv, row 3: the id is missing. Name another column with id=.
    >>> print(error.spelt(lambda part: f"--{part.name}"))
    a.csv, row 3: the id is missing. Name another column with --id.
    """

    def __init__(self, *message: Piece, at: Place | None = None, items: Sequence[str] = ()) -> None:
        super().__init__(*message)
        self.at = at
        self.items = tuple(items)

    def __str__(self) -> str:
        return self.spelt(str)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of Python that the message mentions."""
        calls = (part.arguments if isinstance(part, Call) else (part,) for part in self.args)
        return tuple(part for parts in calls for part in parts if isinstance(part, Argument))

    def spelt(self, spell: Callable[[Argument | Call], str]) -> str:
        """The message, with its arguments and calls as `spell` writes them."""
        words = "".join(part if isinstance(part, str) else spell(part) for part in self.args)
        return words if self.at is None else f"{self.at}: {words}"


class InputError(FewlabelsError, ValueError):
    """A file, frame, array or argument cannot be used as it is."""


class SpecError(FewlabelsError, ValueError):
    """Parts do not go together, such as a task with a metric it cannot use."""


class LabelError(FewlabelsError, ValueError):
    """A label cannot be accepted: unknown item, unknown class, or an item nobody asked about."""


class StoreError(FewlabelsError, RuntimeError):
    """The database cannot be used: it is unreachable, has another version, or lacks the assessment."""


class PoolChangedError(StoreError):
    """The pool is not the one the assessment was made with."""


class WrongNameError(StoreError):
    """A name is taken or unknown: the database is fine, and the caller can use another name."""


def needs(what: str, package: str, extra: str) -> str:
    """Say how to install the missing package of an extra, from a copy of the source or from an index of packages.

    >>> needs("drawing", "matplotlib", "plots")
    "drawing needs matplotlib, which is not installed. In the project's folder: pip install '.[plots]'; ..."
    """
    return (
        f"{what} needs {package}, which is not installed. In the project's folder: pip install '.[{extra}]'; "
        f"or, where it is published: pip install 'fewlabels[{extra}]'"
    )


def one_line(text: object, most: int = 300) -> str:
    """What another library says, on one line and without its full stop; what kind of thing it is if it says nothing.

    >>> one_line(ValueError("first  second.")), one_line(KeyError())
    ('first second', 'KeyError')
    """
    return " ".join(str(text).split())[:most].rstrip(".") or type(text).__name__


def quoted(value: object, most: int = 60) -> str:
    """A value as a message shows it: in quotes, on one line, and cut short if it is long.

    >>> quoted("cat"), quoted("a" * 100, 10)
    ("'cat'", "'aaaaaaaaaa'...")
    """
    text = str(value)
    return repr(text) if len(text) <= most else f"{text[:most]!r}..."


def described(value: object, most: int = 60) -> str:
    """What somebody passed, as a message shows it: itself if it is short, otherwise its type and shape.

    >>> described("cat"), described([0.25] * 100), described(ValueError)
    ("'cat'", 'a list of 100', 'the class ValueError')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name, shape = type(value).__name__, getattr(value, "shape", None)
    article = "an" if name[0].lower() in "aeio" or name == "ndarray" else "a"
    if isinstance(shape, tuple):
        return f"{article} {name} of shape {shape}"
    text = repr(value)
    if len(text) <= most and "\n" not in text:
        return text
    return f"{article} {name} of {len(value):,}" if isinstance(value, Sized) else f"{article} {name}"


def sentence(clause: str) -> str:
    """A clause as a sentence; empty if it is empty.

    >>> sentence("did you mean 'cat'?"), sentence("keep one of the two")
    ("Did you mean 'cat'?", 'Keep one of the two.')
    """
    return f"{clause[0].upper()}{clause[1:]}{'' if clause.endswith('?') else '.'}" if clause else ""


def _numbered(noun: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return f"{noun}{'s' * (len(numbers) > 1)} {', '.join(f'{number:,}' for number in numbers)}"
