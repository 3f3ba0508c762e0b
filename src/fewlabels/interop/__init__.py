"""Exchange with other programs: evaluations, labelling programs, estimators, ArviZ.

Each is imported when it is first used: `tell` looks at exports of labelling programs, and needs none of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewlabels.interop.annotations import Annotation as Annotation
    from fewlabels.interop.annotations import tell_annotations as tell_annotations
    from fewlabels.interop.arviz import to_datatree as to_datatree
    from fewlabels.interop.estimator import pool_from_estimator as pool_from_estimator
    from fewlabels.interop.label_studio import write_label_studio as write_label_studio
    from fewlabels.interop.labelling_programs import read_annotations as read_annotations
    from fewlabels.interop.labelling_programs import read_label_studio as read_label_studio
    from fewlabels.interop.labelling_programs import write_tasks as write_tasks
    from fewlabels.interop.tracking import log_results as log_results

_PLACES = {
    "Annotation": "annotations",
    "log_results": "tracking",
    "pool_from_estimator": "estimator",
    "read_annotations": "labelling_programs",
    "read_label_studio": "labelling_programs",
    "tell_annotations": "annotations",
    "to_datatree": "arviz",
    "write_label_studio": "label_studio",
    "write_tasks": "labelling_programs",
}
__all__ = [*_PLACES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"fewlabels.interop.{_PLACES[name]}"), name)
