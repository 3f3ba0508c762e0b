"""Exchange with other tools: labelling programs, estimators, ArviZ."""

from fewlabels.interop.arviz import to_datatree
from fewlabels.interop.estimator import pool_from_estimator
from fewlabels.interop.label_studio import read_label_studio, write_label_studio

__all__ = ["pool_from_estimator", "read_label_studio", "to_datatree", "write_label_studio"]
