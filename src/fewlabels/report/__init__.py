"""The report: an assessment as one HTML, Markdown or JSON file, for readers who know no statistics."""

from fewlabels.findings.outlook import outlook
from fewlabels.report.content import FORMAT, Gist, Report, gist, gist_of, read
from fewlabels.report.writing import FORMATS, format_of, rendered, write

__all__ = [
    "FORMAT",
    "FORMATS",
    "Gist",
    "Report",
    "format_of",
    "gist",
    "gist_of",
    "outlook",
    "read",
    "rendered",
    "write",
]
