"""Files in the formats of other programs, which `interop` reads: recognised by their content, where that is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from fewlabels.io.limits import Limits
    from fewlabels.io.source import Source


def foreign(data: object, name: str) -> Source | None:
    """A JSON value, or the values of a file of JSON lines, as a source in the format of another program; None if it is
    a plain table.
    """
    from fewlabels.interop.evaluations import from_json

    return from_json(data, name)


def open_archive(path: Path, name: str, within: Limits) -> Source:
    """Open a log of Inspect that ends in .eval."""
    from fewlabels.interop.inspect_log import from_archive

    return from_archive(path, name, within).source(name)


def open_folder(path: Path, name: str, within: Limits) -> Source:
    """Open a folder: a dataset that the library datasets has saved to disk."""
    from fewlabels.interop.saved_dataset import from_folder

    return from_folder(path, name, within)
