"""The documentation is true: examples run, public names are described, links lead somewhere."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import fewlabels

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<info>[^\n`]*)$")
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, the text, and the line of its first line of text."""

    info: tuple[str, ...]
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a Markdown text, in order; a block that never ends is a ValueError."""
    found: list[Block] = []
    opened: tuple[str, tuple[str, ...], int] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _FENCE.match(line)
        if opened is None and match:
            opened, inside = (match["fence"], tuple(match["info"].split()), number + 1), []
        elif opened and match and match["fence"].startswith(opened[0]) and not match["info"].strip():
            found.append(Block(opened[1], "".join(f"{one}\n" for one in inside), opened[2]))
            opened = None
        elif opened:
            inside.append(line)
    if opened:
        raise ValueError(f"the block before line {opened[2]} never ends")
    return found


def python_blocks(text: str) -> list[Block]:
    """The Python blocks that are meant to run: all but those marked no-run."""
    return [b for b in blocks(text) if b.info and b.info[0] == "python" and "no-run" not in b.info]


def run_blocks(text: str, name: str) -> None:
    """Run the Python blocks of a text as one program; errors point at the line of the text."""
    space = {"__name__": "__main__"}
    for block in python_blocks(text):
        # As a reader would run it: without the future imports of this file.
        code = compile("\n" * (block.line - 1) + block.text, name, "exec", dont_inherit=True)
        exec(code, space)


def prose(text: str) -> str:
    """A Markdown text without its fenced blocks."""
    lines = text.splitlines()
    for block in blocks(text):
        count = block.text.count("\n")
        lines[block.line - 1 : block.line - 1 + count] = [""] * count
    return "\n".join(lines)


def links(text: str) -> list[str]:
    """Where the links of a Markdown text point, those inside code left out."""
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(text)))


def headings(text: str) -> set[str]:
    """The anchors of the headings of a Markdown text, as code hosts make them."""
    titles = re.findall(r"^#+\s+(.*?)\s*#*$", prose(text), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


def broken_links(path: Path) -> list[str]:
    """The relative links of a Markdown file that lead to no file, or to no heading of one."""
    broken = []
    for link in links(path.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z+.-]*:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file) if file else path
        there = target.exists()
        if there and anchor and target.suffix == ".md":
            there = anchor in headings(target.read_text(encoding="utf-8"))
        if not there:
            broken.append(link)
    return broken


def project_texts() -> dict[str, str]:
    """The text files of the project by their path in it; what tools leave behind is not looked at."""
    folders = ["src", "tests", "docs", "examples", "scripts", "benchmarks", ".ci"]
    paths = [path for path in ROOT.iterdir() if path.suffix in {".md", ".toml", ".yaml"} or path.name == "Makefile"]
    paths += [path for folder in folders for path in (ROOT / folder).rglob("*")]
    paths = [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
    contents = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    return {name: data.decode("utf-8") for name, data in contents.items() if b"\0" not in data}


PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
LONG = {"README.md"}  # pages whose examples take several seconds
# Pages whose commands and code are one path: tests/faces/test_cli_docs.py runs both, and compares what they print.
WALKED = ("tickets.md", "big-tables.md", "judges.md", "fairness.md", "gate.md", "models.md", "planning.md", "noise.md")
RUNNING = [p for p in PAGES if p.name not in WALKED and python_blocks(p.read_text(encoding="utf-8"))]


def needs_example(name: str) -> bool:
    """Functions and classes need one; exceptions and constants speak for themselves."""
    thing = getattr(fewlabels, name)
    is_error = isinstance(thing, type) and issubclass(thing, BaseException)
    return not is_error and (inspect.isclass(thing) or inspect.isroutine(thing))


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", sorted(fewlabels.__all__))
def test_every_public_name_exists_and_is_in_the_reference(name: str) -> None:
    assert hasattr(fewlabels, name)
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{re.escape(name)}\b", reference), f"docs/reference.md does not mention {name}"


def signatures() -> list[tuple[str, str]]:
    """The calls in the first column of the reference, as name and arguments; `.name(...)` is of the class before it."""
    found, owner = [], ""
    for line in (ROOT / "docs" / "reference.md").read_text(encoding="utf-8").splitlines():
        for span in re.findall(r"`([^`]+)`", line.split(" | ")[0]) if line.startswith("| `") else ():
            if call := re.fullmatch(r"([\w.]+)\((.*)\)", span):
                name = owner + call[1] if call[1].startswith(".") else call[1]
                found.append((name, call[2]))
            owner = span.partition(".")[0] if span[:1].isupper() else owner
    return found


@pytest.mark.parametrize(("name", "arguments"), signatures())
def test_signatures_in_the_reference_are_those_of_the_code(name: str, arguments: str) -> None:
    thing: Any = fewlabels
    for part in name.split("."):
        thing = getattr(thing, part, None)
    if thing is None:  # of a pool, a batch: named by what it is, and not by its class
        assert name[0].islower(), f"there is no {name}"
        return
    known = {key: one for key, one in inspect.signature(thing).parameters.items() if key != "self"}
    if any(one.kind is one.VAR_POSITIONAL for one in known.values()):
        return
    written = [part.strip() for part in arguments.split(",") if part.strip()]
    if "..." not in written:
        first = next((key for key, one in known.items() if one.kind is one.KEYWORD_ONLY), None)
        wanted = [word for key in known for word in (("*", key) if key == first else (key,))]
        assert [part.partition("=")[0] for part in written] == wanted, f"the arguments of {name} are {wanted}"
        said = [part.split("=") for part in written if "=" in part]
        assert all(known[key].default == ast.literal_eval(value) for key, value in said), f"the defaults of {name}"
    assert {part.partition("=")[0] for part in written} - {"*", "..."} <= set(known), f"{name} lacks one of these"


# Methods for other modules of the package, which the reference leaves out. This list may only become shorter.
INTERNAL = {
    "Assessment": {
        "cells", "drawn_from_all", "events", "is_random_sample", "majority_items", "possible_labels", "replay",
    },
    "Store": {
        "checked_parts", "checkpoint", "defined", "ends", "ends_of_pool", "events", "grow_pool", "keep_checkpoint",
        "names_in", "open", "pool_in", "shared", "since", "since_all", "transaction",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", INTERNAL)
def test_every_method_is_in_the_reference_or_internal(name: str) -> None:
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", reference))))
    public = {one for one in dir(getattr(fewlabels, name)) if not one.startswith("_")}
    assert public - words == INTERNAL[name]


def test_a_signature_is_written_once() -> None:
    whole = [name for name, arguments in signatures() if "..." not in arguments]
    assert len(whole) > 60
    assert sorted(set(whole)) == sorted(whole)


@pytest.mark.parametrize("name", [name for name in sorted(fewlabels.__all__) if needs_example(name)])
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    thing = getattr(fewlabels, name)
    # The thing's own docstring: one inherited from its base describes something else.
    text = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert text, f"{name} has no docstring"
    space = dict(vars(sys.modules[thing.__module__]))
    example = doctest.DocTestParser().get_doctest(text, space, name, thing.__module__, 0)
    assert example.examples, f"the docstring of {name} has no example"
    said: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed = doctest.DocTestRunner(optionflags=flags, verbose=False).run(example, out=said.append).failed
    assert not failed, "".join(said)


def test_public_names_are_sorted_out() -> None:
    """`__all__` has no name twice, and nothing public of the package is left out of it."""
    assert len(set(fewlabels.__all__)) == len(fewlabels.__all__)
    public = {
        name
        for name, thing in vars(fewlabels).items()
        if not name.startswith("_") and getattr(thing, "__module__", "").startswith("fewlabels.")
    }
    assert public <= set(fewlabels.__all__)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page.name in LONG else []) for page in RUNNING],
    ids=named,
)
@pytest.mark.usefixtures("registry")
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_blocks(page.read_text(encoding="utf-8"), named(page))


def test_the_readme_has_code_to_run() -> None:
    assert ROOT / "README.md" in RUNNING


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_no_path_of_a_machine_in_the_project() -> None:
    machine = re.compile(r"(?<![\w.])/(?:home|work|Users|root|tmp)/\w")
    found = [f"{name}: {match.group()}" for name, text in project_texts().items() if (match := machine.search(text))]
    assert found == []


def test_the_tools_find_blocks_and_links(tmp_path: Path) -> None:
    text = (
        "# One word\n\nSee [it](a.md), [here](#one-word), [there](b.md#two) and `[not](this)`.\n\n"
        "```python\nx = 1\n```\n\n```python no-run\nboom\n```\n\n"
        "```sh\nls [a](b)\n```\n\n```python\nassert x == 1\n```\n"
    )
    assert [block.text for block in python_blocks(text)] == ["x = 1\n", "assert x == 1\n"]
    assert [block.line for block in python_blocks(text)] == [6, 18]
    run_blocks(text, "page.md")
    assert links(text) == ["a.md", "#one-word", "b.md#two"]
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    (tmp_path / "b.md").write_text("# Three\n", encoding="utf-8")
    assert broken_links(page) == ["a.md", "b.md#two"]
    with pytest.raises(ValueError, match="never ends"):
        blocks("```python\nx = 1\n")
    with pytest.raises(NameError) as caught:
        run_blocks("text\n\n```python\nunknown\n```\n", "page.md")
    assert caught.traceback[-1].lineno == 3  # counted from 0: the error points at line 4 of the page
