"""The view of an assessment in a notebook: the beginning of the report."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fewlabels.findings.finding import find
from fewlabels.findings.tables import readable

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment


def notebook(audit: Assessment) -> str:
    """Return the question, the headline, its basis, the doubts, and the groups with their estimates, as HTML.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> notebook(fl.create(None, "pets", pool))
    '<p><b>pets</b>: How often is the classifier right, in each class?</p><p>Nothing can be said yet: ...'
    """
    finding = find(audit)
    sentences = [finding.headline, finding.basis, *finding.doubts]
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence)
    table = readable(finding.table, finding.task)._repr_html_()
    return f"<p><b>{escape(finding.name)}</b>: {escape(finding.question)}</p>{paragraphs}{table}"
