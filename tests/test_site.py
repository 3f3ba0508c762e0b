"""The documentation site: pages are made ready as they should be, and the whole is built and needs no network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import fewlabels as fl
from fewlabels import plots

nbformat = pytest.importorskip("nbformat", reason="the extra docs is not installed")
pytest.importorskip("mkdocs", reason="the extra docs is not installed")
from scripts import notebooks, site  # noqa: E402  (they need the extra)

ROOT = Path(__file__).parents[1]


def test_pages_are_made_ready() -> None:
    text = (
        "See [the rules](SECURITY.md), [a page](docs/web.md#people), [code](src/fewlabels/pool.py), [it](#here),\n"
        "[a notebook](docs/notebooks/quick-start.ipynb), [docs/web.md](docs/web.md#people).\n"
        "Words:\n- one\n- two\n\n```csv answers.csv\na,[b](c)\n```\n\n```python no-run\nx\n```\n"
    )
    assert site.page(text, ROOT, {"SECURITY.md": "Security", "web.md": "In the browser"}) == (
        "See [the rules](SECURITY.md), [a page](web.md#people), code (`src/fewlabels/pool.py`), [it](#here),\n"
        "[a notebook](notebooks/quick-start.md), [In the browser](web.md#people).\n"
        'Words:\n\n- one\n- two\n\n```csv title="answers.csv"\na,[b](c)\n```\n\n```python\nx\n```\n'
    )


def test_a_number_stays_on_one_line_with_its_error() -> None:
    assert site.page("| 97 ± 2, 96 ± 2 | (± 3) |\n\n```text\n1 ± 2\n```\n", ROOT, {}) == (
        "| 97\xa0±\xa02, 96\xa0±\xa02 | (± 3) |\n\n```text\n1 ± 2\n```\n"
    )


def test_the_first_page_leads_on() -> None:
    page = site.landing("# fewlabels\n\nWords.\n\n| report | page |\n|---|---|\n")
    assert "\n---\n# fewlabels\n\nWords.\n\n[From your file to an answer](tutorial.md){ .md-button " in page
    assert page.endswith("(gallery.md){ .md-button }\n\n| report | page |\n|---|---|\n")


def test_notebooks_are_kept_without_output_and_shown_with_it() -> None:
    files = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
    assert len(files) >= 2
    for file in files:
        notebook = nbformat.read(file, as_version=4)
        nbformat.validate(notebook)
        assert not any(cell.outputs or cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    table = nbformat.v4.new_output("execute_result", {"text/plain": "t", "text/html": "<p>one</p>\n\n<p>two</p>"})
    cells = [
        nbformat.v4.new_markdown_cell("# Title\n\nWords."),
        nbformat.v4.new_code_cell("x", outputs=[table, nbformat.v4.new_output("stream", text="said\n")]),
    ]
    assert notebooks.page(nbformat.v4.new_notebook(cells=cells), "one") == (
        "# Title\n\n*This page is the notebook `docs/notebooks/one.ipynb`, run by the current code.*\n\nWords.\n\n"
        '```python\nx\n```\n\n<div class="output">\n<p>one</p>\n<p>two</p>\n</div>\n\n```text\nsaid\n```\n'
    )


def test_every_page_that_is_named_exists() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w/-]+\.md", text)) - {"index.md", "gallery.md", "mini.md"}
    there = {path.name for path in [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]}
    there |= {f"notebooks/{path.stem}.md" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")}
    assert named <= there


class Links(HTMLParser):
    """What a page links to, what it loads, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.places |= {value for key in ("id", "name") if (value := values.get(key))}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
        loaded = values.get("src") or (values.get("href") if tag == "link" else None)
        if loaded:
            self.loads.append(loaded)


@pytest.mark.slow
def test_the_site_is_built_and_needs_no_network(tmp_path: Path) -> None:
    first = site.build(tmp_path)
    folder = first.parent
    pages = {path: Links(path) for path in folder.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 40
    for path, found in pages.items():
        for loaded in found.loads:
            assert not urlsplit(loaded).netloc, f"{path.name} loads {loaded}"
            assert (path.parent / unquote(urlsplit(loaded).path)).exists(), f"{path.name}: {loaded}"
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages and parts.fragment != "__tabbed":
                assert unquote(parts.fragment) in pages[target].places, f"{path.name}: {link}"
    gallery = (folder / "gallery.html").read_text(encoding="utf-8")
    assert all(f'src="gallery/{kind}.svg"' in gallery for kind in plots.PLOTS)
    for notebook in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        shown = (folder / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert shown.count('<div class="output">') >= 3, notebook.name  # tables and pictures of cells that were run
    described = "".join(path.read_text(encoding="utf-8") for path in (folder / "api").glob("*.html"))
    for name in fl.__all__:
        thing = getattr(fl, name)
        assert f'id="{thing.__module__}.{thing.__qualname__}"' in described, name
    assert 'id="fewlabels.assessment.Assessment.tell"' in described
