"""Reading what the owner tells annotators: guidelines from a text file, and what classes mean from a table."""

from __future__ import annotations

import csv
import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from fewlabels.errors import InputError, quoted
from fewlabels.io.labels import as_classes
from fewlabels.io.opening import open_source
from fewlabels.io.spellings import as_typed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

_CLASS = {"class", "label", "name", "category", "intent"}
_MEANING = {"description", "meaning", "definition", "text", "explanation"}


def read_guidelines(path: str | os.PathLike[str]) -> str:
    """Read guidelines, Markdown or plain text in UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the guidelines in {path}: {error}. Save them as UTF-8 text.") from None


def read_descriptions(path: str | os.PathLike[str], classes: Sequence[str]) -> dict[str, str]:
    """Read what classes mean, from a table with a column of classes and one of descriptions.

    A description must be of one of the classes; not every class needs one.
    """
    source = open_source(path)
    names = list(source.columns)
    kind = next((name for name in names if as_typed(name) in _CLASS), None)
    meaning = next((name for name in names if as_typed(name) in _MEANING and name != kind), None)
    if kind is None or meaning is None:
        raise InputError(
            f"{source.name} needs the columns class and description. It has {', '.join(map(repr, names[:8]))}."
        )
    columns = source.table([kind, meaning]).to_pydict()
    pairs = [
        (str(name), "" if text is None else str(text))
        for name, text in zip(columns[kind], columns[meaning], strict=True)
        if name is not None
    ]
    return described(pairs, classes, source.name)


def descriptions_in(text: str, classes: Sequence[str]) -> dict[str, str]:
    r"""Read lines as a spreadsheet writes them, `class,description`; a first line with these words is left out.

    >>> descriptions_in('cat,"It purrs, mostly."\ndog,It barks.', ["cat", "dog"])
    {'cat': 'It purrs, mostly.', 'dog': 'It barks.'}
    """
    try:
        rows = [row for row in csv.reader(text.splitlines()) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"the list cannot be read: {error}. Write a line for each class: class,description.") from None
    if rows and as_typed(rows[0][0]) in _CLASS and as_typed(rows[0][-1]) in _MEANING and rows[0][0] not in classes:
        rows = rows[1:]
    # Whoever types a description by hand does not quote its commas.
    return described([(row[0].strip(), ",".join(row[1:]).strip()) for row in rows], classes, "the list")


def as_lines(descriptions: Mapping[str, str], classes: Iterable[str]) -> str:
    r"""Write descriptions as `descriptions_in` reads them, a line for each class.

    >>> as_lines({"cat": "It purrs, mostly."}, ["cat", "dog"])
    'cat,"It purrs, mostly."\ndog,\n'
    """
    import io

    lines = io.StringIO()
    # A line break within a description would need a reader of whole files.
    rows = ((name, " ".join(descriptions.get(name, "").split())) for name in classes)
    csv.writer(lines, lineterminator="\n").writerows(rows)
    return lines.getvalue()


def described(pairs: Iterable[tuple[str, str]], classes: Sequence[str], where: str) -> dict[str, str]:
    """The descriptions by class, as the pool writes its names; an InputError if one is of no class, or of one twice."""
    exact, meant = set(classes), as_classes(classes)
    texts: dict[str, str] = {}
    for name, text in pairs:
        known = name if name in exact else meant.get(as_typed(name))
        if known is None:
            near = difflib.get_close_matches(name, classes, 1)
            hint = f"Did you mean {near[0]!r}?" if near else "Use the names of the classes as the pool has them."
            raise InputError(f"{where} describes {quoted(name)}, which is not a class of the pool. {hint}")
        if texts.setdefault(known, text) != text:
            raise InputError(f"{where} describes {quoted(known)} twice. Keep one of the two.")
    return {name: text for name, text in texts.items() if text.strip()}
