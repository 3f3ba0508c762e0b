"""Prodigy: batches as tasks of its choice interface, and `prodigy db-out` back as labels.

Not tried with Prodigy itself, which is sold: written after the commonly known tasks of its choice interface.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fewlabels.errors import LabelError
from fewlabels.interop.annotations import Annotation, kind_of, shown_of
from fewlabels.interop.shapes import a_name, an_object
from fewlabels.io.saving import save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fewlabels.labelling.batch import Batch

_FIX = "Write it again with: prodigy db-out DATASET > export.jsonl"


def write(batch: Batch, path: Path, classes: Sequence[str]) -> None:
    """Write tasks with a list of options, and nothing about the model: labelling must stay blind."""
    kind, options = kind_of(batch), [{"id": name, "text": name} for name in classes]
    tasks = [{kind: content, "options": options, "item_id": item} for item, content in shown_of(batch)]
    save("".join(f"{json.dumps(task, ensure_ascii=False)}\n" for task in tasks), path)


def is_export(data: object) -> bool:
    """Whether JSON values are annotations of Prodigy."""
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and "answer" in first and ("_task_hash" in first or "_input_hash" in first)


def read(data: Sequence[object], name: str) -> list[Annotation]:
    """Read annotations; what was ignored or rejected is a skip."""
    return [
        _annotation(an_object(row, f"line {n} of {name}", _FIX), f"line {n} of {name}") for n, row in enumerate(data, 1)
    ]


def _annotation(row: dict[str, Any], where: str) -> Annotation:
    item = a_name(row.get("item_id"), f"{where} (item_id)", _FIX)
    who = row.get("_annotator_id") or row.get("_session_id")
    annotator = None if who is None else a_name(who, where, _FIX)
    chosen = row.get("accept", [row["label"]] if "label" in row else [])
    chosen = chosen if isinstance(chosen, list) else [chosen]
    if row.get("answer") != "accept" or not chosen:
        return Annotation(item, None, annotator)
    if len(chosen) > 1:
        raise LabelError(
            f"{where} has several labels at once. Use the tasks that fewlabels wrote, with one choice each."
        )
    return Annotation(item, a_name(chosen[0], where, _FIX), annotator)
