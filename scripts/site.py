"""Build the documentation site into build/site: the pages of docs/, a gallery of every plot, and the API.

    python -m scripts.site [--out build]

The pages are copied to build/docs, and links that leave docs/ are put right there, so that the originals read well on a
code host too. The pictures of the gallery are drawn, and the notebooks are run, by the current code. MkDocs checks
every link (--strict), and needs no network.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fewlabels as fl
from fewlabels import plots
from fewlabels.plots.drawing.markup import NARROW, standalone
from scripts import notebooks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
OTHERS = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")  # pages beside docs/
_FENCE = re.compile(r"^(```+)(\w+) (\S+)$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_LIST = re.compile(r"^(?![ \t]*(?:[-*|>]|\d+\.)\s)(\S[^\n]*)\n(?=(?:[-*]|\d+\.) )", re.MULTILINE)

_PLUS_MINUS = re.compile(r"(?<=\d) ± (?=\d)")  # a number and its error stay on one line of a narrow table

_POOL = """import fewlabels as fl

digits = fl.load_digits()
pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
truth = dict(zip(digits.ids, digits.labels))
"""
_LABELS = """for _ in range(15):
    audit.tell({item: truth[item] for item in audit.ask(20).ids})
"""
_MODELS = """import fewlabels as fl

digits = fl.load_digits()
first = [digits.classes[k] for k in digits.scores.argmax(axis=1)]
second = ["eight" if i % 9 == 0 else name for i, name in enumerate(first)]
pool = fl.read_pool({"id": digits.ids, "first": first, "second": second}, models=["first", "second"])
truth = dict(zip(digits.ids, digits.labels))
"""
_CREATE = 'audit = fl.create(None, "digits", pool, {})\n'
EXAMPLES = {  # assessments to draw, each as the code that makes it
    "the worst two": _POOL + _CREATE.format("task=fl.Identify(fl.Accuracy(), lowest=2), seed=7") + _LABELS,
    "does each pass": _POOL + _CREATE.format("task=fl.Certify(fl.Accuracy(), at_least=0.8), seed=7") + _LABELS,
    "two groups": _POOL
    + _CREATE.format('task=fl.Compare(fl.Accuracy(), "eight", "nine"), policy=fl.UniformGroups(), seed=7')
    + _LABELS,
    "two models": _MODELS
    + """audit = fl.create(None, "models", pool, task=fl.Best(fl.Accuracy()), seed=7)
audit.tell({item: truth[item] for item in audit.ask(40).ids})
""",
    "one model or the other": _MODELS
    + """audit = fl.create(None, "models", pool, task=fl.CompareModels(fl.Accuracy(), "first", "second"), seed=7)
audit.tell({item: truth[item] for item in audit.ask(40).ids})
""",
}


def prepare(folder: Path) -> None:
    """Write every page and picture of the site."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "pictures", folder / "pictures")
    shutil.copy(ROOT / "docs" / "site.css", folder)
    pages = {path.name: path for path in sorted((ROOT / "docs").glob("*.md"))}
    pages |= {name: ROOT / name for name in OTHERS} | {"index.md": ROOT / "README.md"}
    titles = {name: path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for name, path in pages.items()}
    for name, path in pages.items():
        (folder / name).write_text(page(path.read_text(encoding="utf-8"), path.parent, titles), encoding="utf-8")
    (folder / "index.md").write_text(landing((folder / "index.md").read_text(encoding="utf-8")), encoding="utf-8")
    made(EXAMPLES["the worst two"]).report(folder / "example-report.html")
    code = (ROOT / "examples" / "mini.py").read_text(encoding="utf-8")
    (folder / "mini.md").write_text(f"# The method in a page of NumPy\n\n```python\n{code}```\n", encoding="utf-8")
    (folder / "gallery.md").write_text(gallery(folder / "gallery"), encoding="utf-8")
    (folder / "notebooks").mkdir()
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as work:
            text = notebooks.page(notebooks.run(path, Path(work)), path.stem)
        (folder / "notebooks" / f"{path.stem}.md").write_text(text, encoding="utf-8")
    api(folder / "api")


def page(text: str, folder: Path, pages: Mapping[str, str]) -> str:
    """A page as MkDocs wants it: fences with one word, lists after an empty line, and links within the site.

    `pages` has the title of each page of the site.
    """
    blocks = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for place, block in enumerate(blocks):
        if place % 2:
            blocks[place] = _FENCE.sub(_fence, block, count=1)
        else:
            linked = _LINK.sub(lambda found: _link(found, folder, pages), block)
            blocks[place] = _PLUS_MINUS.sub("\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}", _LIST.sub(r"\1\n\n", linked))
    return "".join(blocks)


_BUTTONS = (
    "[From your file to an answer](tutorial.md){ .md-button .md-button--primary }\n"
    "[A whole report](example-report.html){ .md-button }\n"
    "[Every plot](gallery.md){ .md-button }\n\n"
)


def landing(text: str) -> str:
    """The first page: the README, with buttons above its first picture."""
    before, table, after = text.partition("\n| ")
    # Without a list of its headings there is room for lines of code.
    return f"---\nhide:\n  - toc\n---\n{before}\n{_BUTTONS}{table[1:]}{after}"


def _fence(found: re.Match[str]) -> str:
    """The opening of a block: a file's name is its title, and other words are for the tests."""
    fence, language, word = found.groups()
    return f'{fence}{language} title="{word}"' if "." in word else f"{fence}{language}"


def _link(found: re.Match[str], folder: Path, pages: Mapping[str, str]) -> str:
    """A link within the site; one to a file that is not in it becomes plain text, since the project has no address.

    A link that only names its file gets the title of the page.
    """
    picture, words, target = found.groups()
    if re.match(r"[a-z]+:|#", target):
        return found[0]
    file, mark, anchor = target.partition("#")
    path = (folder / file).resolve()
    inside = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else file
    name = {"README.md": "index.md", "examples/mini.py": "mini.md"}.get(inside, inside.removeprefix("docs/"))
    name = re.sub(r"^(notebooks/.*)\.ipynb$", r"\1.md", name)
    if words in {name, inside} and name in pages:
        words = pages[name]
    if name in pages or name == "mini.md" or name.startswith(("pictures/", "notebooks/")):
        return f"{picture}[{words}]({name}{mark}{anchor})"
    return words if words.strip("`") == inside else f"{words} (`{inside}`)"


def drawings() -> Iterator[tuple[str, Any, str]]:
    """Every plot by name, drawn by the current code, with the code of its example."""
    audits = {name: made(code) for name, code in EXAMPLES.items()}
    for kind, plot in plots.PLOTS.items():
        name = next((name for name, audit in audits.items() if plot.suits(audit)), None)
        if name is None:
            raise SystemExit(f"no example of scripts/site.py suits the plot {kind!r}: add one")
        yield kind, audits[name].plot(kind), EXAMPLES[name]


def gallery(folder: Path) -> str:
    """Every plot, drawn by the current code, with the code that draws it."""
    folder.mkdir()
    parts = ["# Gallery\n\nEvery plot, with the code that draws it. [Plots](plots.md) says what each is for.\n"]
    for kind, drawn, example in drawings():
        drawn.save(folder / f"{kind}.svg")
        (folder / f"{kind}-narrow.svg").write_text(standalone(drawn.numbers, NARROW), encoding="utf-8")
        title, code = drawn.numbers.title, f'{example}audit.plot("{kind}").save("{kind}.svg")\n'
        narrow = f'<source media="(max-width: 45em)" srcset="gallery/{kind}-narrow.svg">'
        shown = f'<picture>{narrow}<img src="gallery/{kind}.svg" alt="{title}"></picture>'
        parts.append(f"## {kind}\n\n{shown}\n\n```python\n{code}```\n")
    return "\n".join(parts)


def made(code: str) -> Any:
    """Run an example and return its assessment."""
    space: dict[str, Any] = {}
    exec(code, space)  # noqa: S102  (the text is above)
    return space["audit"]


_INHERITING = "    options:\n      inherited_members: true\n"  # ask and tell are in classes of their own


def api(folder: Path) -> None:
    """A page for each family of public names, from their docstrings."""
    folder.mkdir()
    families: dict[str, list[str]] = {}
    for name in fl.__all__:
        thing = getattr(fl, name)
        families.setdefault(thing.__module__.split(".")[1], []).append(f"{thing.__module__}.{thing.__qualname__}")
    for family, names in families.items():
        entries = "\n".join(f"::: {name}\n{_INHERITING * name.endswith('.Assessment')}" for name in names)
        (folder / f"{family}.md").write_text(f"# {family}\n\n{entries}", encoding="utf-8")


def configuration(out: Path) -> str:
    """mkdocs.yml, with the pages of the API, and with pages that it does not name at the end of "How to"."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w./-]+\.md", text))
    new = sorted(path.name for path in (out / "docs").glob("*.md") if path.name not in named)
    more = "".join(f"      - {name}\n" for name in new)
    pages = "".join(f"          - api/{path.name}\n" for path in sorted((out / "docs" / "api").glob("*.md")))
    text = text.replace("  - Gallery: gallery.md\n", f"{more}  - Gallery: gallery.md\n")
    text = text.replace("      - reference.md\n", f"      - reference.md\n      - Python:\n{pages}")
    return text.replace(" build/", f" {out.as_posix()}/").replace("[src]", f"[{(ROOT / 'src').as_posix()}]")


def build(out: Path) -> Path:
    """Prepare the pages, build the site, and return its first page."""
    prepare(out / "docs")
    file = out / "mkdocs.yml"
    file.write_text(configuration(out), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(file)]
    # Material prints an announcement about MkDocs unless this is set.
    subprocess.run(command, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})  # noqa: S603
    return out / "site" / "index.html"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "build")
    print(f"wrote {build(parser.parse_args().out.resolve())}")
