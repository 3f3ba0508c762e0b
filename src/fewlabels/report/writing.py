"""Writing a report to a file: its format, and the text in that format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from fewlabels.errors import InputError
from fewlabels.io.saving import save

if TYPE_CHECKING:
    import os

    from fewlabels.report.content import Report

FORMATS = ("html", "md", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that a file name asks for; an InputError if there is no such format.

    >>> format_of("audit.html"), format_of("AUDIT.MD")
    ('html', 'md')
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InputError(
            f"cannot tell the format of a report from the name {str(path)!r}. "
            "Use a name that ends in .html, .md or .json."
        )
    return _SUFFIXES[suffix]


def rendered(report: Report, form: str) -> str:
    """Return the report as text in one of `FORMATS`."""
    if form == "html":
        return report.html()
    if form == "md":
        return report.markdown()
    return json.dumps(report.to_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def write(report: Report, path: str | os.PathLike[str]) -> Path:
    """Write the report to a file, in the format that its name asks for, and return the path."""
    form = format_of(path)  # refuse a wrong name before anything is made
    return save(rendered(report, form), path)
