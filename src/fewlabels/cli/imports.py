"""`--import`: parts that the user has written, from a file or a module that registers them."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

OPTION = "--import"


def first(args: Sequence[str]) -> list[str]:
    """Move every --import to the front of a command line, so that it may stand anywhere.

    >>> first(["show", "audit.db", "--import", "my_metrics.py"])
    ['--import', 'my_metrics.py', 'show', 'audit.db']
    """
    imports: list[str] = []
    others: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            return [*imports, *others, arg, *rest]
        if arg == OPTION:
            imports += [arg, *[value for value in [next(rest, None)] if value is not None]]
        elif arg.startswith(f"{OPTION}="):
            imports.append(arg)
        else:
            others.append(arg)
    return [*imports, *others]


def import_parts(what: str) -> None:
    """Import a module by its name, or a file that ends in .py, for the parts that it registers."""
    path = Path(what)
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise InputError(f"{OPTION} {what}: there is no such file. Name a file that ends in .py, or a module.")
    # At the end, so that no file beside it hides a module that something else needs.
    folder = str(path.resolve().parent) if is_file else str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    name = path.stem if is_file else what
    try:
        module = import_module(name)
    except Exception as error:
        raise InputError(f"{OPTION} {what} could not be imported ({type(error).__name__}: {error}).") from error
    if is_file and Path(module.__file__ or "").resolve() != path.resolve():
        raise InputError(f"{OPTION} {what}: there is another module called {name!r}. Give your file another name.")
