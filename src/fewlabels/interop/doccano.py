"""doccano: batches as JSONL for a project of text or image classification, and its export back as labels.

Written from the source of doccano 1.8.4, whose pipeline needs a running server.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fewlabels.errors import LabelError
from fewlabels.interop.annotations import Annotation, shown_of
from fewlabels.interop.shapes import a_name, an_object
from fewlabels.io.saving import save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fewlabels.labelling.batch import Batch

_FIX = "Export it again from doccano as JSONL."
_KEYS = "123456789"
_COLOURS = (
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#17becf",
)


def write(batch: Batch, path: Path, classes: Sequence[str]) -> Path:
    """Write texts with the id as metadata, and beside them the label types of the project, whose path is returned."""
    rows = [{"text": content, "label": [], "item_id": item} for item, content in shown_of(batch)]
    save("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), path)
    keys = [*_KEYS, *[None] * max(0, len(classes) - len(_KEYS))]
    types = [
        {"text": name, "suffix_key": key, "background_color": _COLOURS[place % len(_COLOURS)]}
        for place, (name, key) in enumerate(zip(classes, keys, strict=False))
    ]
    return save(json.dumps(types, ensure_ascii=False, indent=1), path.with_suffix(".labels.json"))


def is_export(data: object) -> bool:
    """Whether JSON values are an export of doccano: a list of labels, and the id that we gave as metadata."""
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and "item_id" in first and isinstance(first.get("label"), list) and "id" in first


def read(data: Sequence[object], name: str) -> list[Annotation]:
    """Read an export; a text without a label has not been answered yet. doccano does not say who answered."""
    annotations = []
    for number, row in enumerate(data, 1):
        where = f"line {number} of {name}"
        example = an_object(row, where, _FIX)
        if (label := _label(example, where)) is not None:
            annotations.append(Annotation(a_name(example.get("item_id"), f"{where} (item_id)", _FIX), label, None))
    return annotations


def _label(row: dict[str, Any], where: str) -> str | None:
    labels = row.get("label")
    if labels in (None, []):
        return None
    if not isinstance(labels, list) or len(labels) > 1:
        raise LabelError(f"{where} has several labels at once. Allow a single label in the project's settings.")
    return a_name(labels[0], where, _FIX)
