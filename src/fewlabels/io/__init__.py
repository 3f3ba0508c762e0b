"""Reading predictions and labels, and writing batches: the only modules that know file formats."""

from __future__ import annotations

from fewlabels.io.labels import read_labels
from fewlabels.io.predictions import read_pool
from fewlabels.io.writing import write_rows

__all__ = ["read_labels", "read_pool", "write_rows"]
