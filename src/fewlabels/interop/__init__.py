"""Exchange with other programs: evaluations, labelling programs, estimators, ArviZ."""

from fewlabels.interop.annotations import Annotation, tell_annotations
from fewlabels.interop.arviz import to_datatree
from fewlabels.interop.estimator import pool_from_estimator
from fewlabels.interop.label_studio import read_label_studio, write_label_studio
from fewlabels.interop.labelling_programs import read_annotations, write_tasks
from fewlabels.interop.tracking import log_results

__all__ = [
    "Annotation",
    "log_results",
    "pool_from_estimator",
    "read_annotations",
    "read_label_studio",
    "tell_annotations",
    "to_datatree",
    "write_label_studio",
    "write_tasks",
]
