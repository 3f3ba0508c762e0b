"""Reading predictions and labels, and writing batches: the only modules that know file formats.

The readers are imported when they are first used: a command that only loads an assessment needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewlabels.io.writing import write_rows

if TYPE_CHECKING:
    from fewlabels.io.labels import read_labels as read_labels
    from fewlabels.io.predictions import read_pool as read_pool

__all__ = ["read_labels", "read_pool", "write_rows"]

_PLACES = {"read_labels": "fewlabels.io.labels", "read_pool": "fewlabels.io.predictions"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
