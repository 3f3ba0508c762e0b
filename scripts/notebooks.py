"""Run the notebooks of docs/notebooks, and turn them into pages of the site with what they have put out.

The files have no output, so that a change of one is a change of its text. The site shows what the current code puts
out. Why not mkdocs-jupyter or nbconvert: their pages load scripts and styles of their own, some from elsewhere, and
ours need no network. What our notebooks put out is text, tables and pictures in SVG, which a page can have as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import nbformat
from nbclient import NotebookClient

if TYPE_CHECKING:
    from pathlib import Path

    from nbformat import NotebookNode


def run(path: Path, folder: Path) -> NotebookNode:
    """Run a notebook from its first cell in a folder; an error in it is an error here."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def page(notebook: NotebookNode, name: str) -> str:
    """A notebook with its output, in Markdown; a line under the title says which file it is."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts += [f"```python\n{cell.source}\n```", *map(shown, cell.outputs)]
    title, first, *rest = parts[0].partition("\n") if parts else ("", "")
    made = f"*This page is the notebook `docs/notebooks/{name}.ipynb`, run by the current code.*"
    return "\n\n".join([title, made, "".join([first, *rest]).strip(), *parts[1:]]) + "\n"


def shown(output: NotebookNode) -> str:
    """One output of a cell: HTML and pictures as they are, and everything else as text."""
    data = output.get("data", {})
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            # Markdown ends a block of HTML at an empty line.
            return f'<div class="output">\n{re.sub(chr(10) + "{2,}", chr(10), data[kind]).strip()}\n</div>'
    text = output.get("text") or data.get("text/plain", "")
    return f"```text\n{text.rstrip()}\n```"
