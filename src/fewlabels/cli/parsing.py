"""Parsing of options into labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fewlabels.errors import InputError
from fewlabels.io import read_labels
from fewlabels.io.columns import as_text
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.io.source import Source


def labels_from(given: str | None, source: Source) -> Mapping[str, str] | list[object]:
    """Return the label of every item: from a column or key of the pool's own file, or from a file with id and label.

    If no name is given, it is the column or key "labels" or "label".
    """
    usual = [name for name in ("labels", "label") if name in source.columns]
    name = given if given is not None else usual[0] if usual else None
    if name is None:
        raise InputError(
            f"{source.name} has no labels: there is no column 'labels' or 'label' among {some_of(source.columns)}. "
            "A simulation needs the label of every item: name the column or a file with --labels."
        )
    if name in source.columns:
        return list(as_text(source, name, source.table([name])[name]).to_pylist())
    if Path(name).is_file():
        return read_labels(name)
    raise InputError(
        f"--labels {name!r} is neither a column of {source.name} (which has {some_of(source.columns)}) nor a file."
    )
