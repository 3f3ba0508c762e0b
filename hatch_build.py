"""The README as a package index shows it, made when sdist and wheel are built.

A code host resolves links that begin in the project's folder; a package index cannot. So they become absolute. The
address is written once, as `Source` in `[project.urls]` of pyproject.toml. As long as there is none, a link becomes its
words, and a picture its description.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)")


class IndexReadme(MetadataHookInterface):
    """Writes the README into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text; `readme` is dynamic for that reason."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text, source, metadata["version"])}


def for_index(text: str, source: str | None, version: str) -> str:
    """The text with absolute links to the files of a version, or without links if there is no address."""

    def absolute(link: re.Match[str]) -> str:
        picture, words, path = link.groups()
        if source is None:
            return words
        return f"{picture}[{words}]({source}/{'raw' if picture else 'blob'}/v{version}/{path})"

    return LINK.sub(absolute, text)
