"""The report: an assessment as one HTML, Markdown or JSON file, for readers without statistics."""

from fewlabels.findings.outlook import outlook
from fewlabels.report.content import FORMAT, Report, read
from fewlabels.report.writing import FORMATS, format_of, rendered, write

__all__ = [
    "FORMAT",
    "FORMATS",
    "Report",
    "format_of",
    "outlook",
    "read",
    "rendered",
    "write",
]
