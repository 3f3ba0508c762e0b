"""Argilla: batches as records with the settings of their dataset, and its records back as labels.

Tried with argilla 2.8.0: `rg.Settings.from_json`, `dataset.records.from_json` and `dataset.records.to_json`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fewlabels.errors import InputError
from fewlabels.interop.annotations import Annotation, kind_of, shown_of
from fewlabels.interop.shapes import a_name, an_object, objects
from fewlabels.io.saving import save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fewlabels.interop.annotations import Kind
    from fewlabels.labelling.batch import Batch

_FIX = "Write it again with dataset.records(with_responses=True).to_json(path)."
_QUESTION = "label"


def write(batch: Batch, path: Path, classes: Sequence[str]) -> Path:
    """Write records, and beside them the settings of the dataset; returns the path of these."""
    kind = kind_of(batch)
    records = [
        {"id": item, "fields": {kind: content}, "metadata": {}, "suggestions": {}, "responses": {}, "vectors": {}}
        for item, content in shown_of(batch)
    ]
    save(json.dumps(records, ensure_ascii=False, indent=1), path)
    return save(json.dumps(_settings(classes, kind), ensure_ascii=False, indent=1), path.with_suffix(".settings.json"))


def _settings(classes: Sequence[str], kind: Kind) -> dict[str, Any]:
    """One field that people see, and one question with the classes."""
    shown = {"type": "image"} if kind == "image" else {"type": "text", "use_markdown": False}
    options = [{"text": name, "value": name} for name in classes]
    question = {"type": "label_selection", "options": options, "visible_options": None}
    return {
        "guidelines": None,
        "questions": [{"name": _QUESTION, "title": _QUESTION, "required": True, "settings": question}],
        "fields": [{"name": kind, "title": kind, "required": True, "settings": shown}],
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "mapping": None,
    }


def is_export(data: object) -> bool:
    """Whether a JSON value is a list of Argilla's records."""
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and {"id", "fields", "responses", "suggestions"} <= first.keys()


def read(data: Sequence[object], name: str) -> list[Annotation]:
    """Read records; a response without a value is a skip."""
    annotations = []
    for number, row in enumerate(data, 1):
        where = f"record {number} of {name}"
        record = an_object(row, where, _FIX)
        item = a_name(record.get("id"), where, _FIX)
        questions = an_object(record.get("responses") or {}, f"the responses of {where}", _FIX)
        if questions and _QUESTION not in questions:
            known = ", ".join(map(repr, questions))
            raise InputError(
                f"{where} has answers to {known}, and none to {_QUESTION!r}. Use the settings that fewlabels wrote."
            )
        for response in objects(questions.get(_QUESTION, []), f"the responses of {where}", _FIX):
            who, value = response.get("user_id"), response.get("value")
            label = None if value is None else a_name(value, where, _FIX)
            annotations.append(Annotation(item, label, None if who is None else a_name(who, where, _FIX)))
    return annotations
