"""Phrases that must not come back: what users and readers of the code meet is plain English.

`python -m tests.test_english` lists every place.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fewlabels"
LONGEST = 160  # characters in a line of Markdown, outside tables and code

PHRASES = {
    # "is not a database", not "is no database". "There is no file" and "is no longer needed" are plain English.
    "is no ...": re.compile(
        r"(?<!there )\b(?:is|are) no (?!longer|more|less|fewer|wider|better|worse|doubt|need|reason)", re.IGNORECASE
    ),
    "so many labels": re.compile(r"\bso (?:many|few) (?:labels|items|votes|people|groups|runs)\b", re.IGNORECASE),
    "holds the truth": re.compile(r"\bhold(?:s|ing)? the truth\b", re.IGNORECASE),
    "does as well": re.compile(r"\bdo(?:es)? as well\b(?! as)", re.IGNORECASE),
    "those of these": re.compile(r"\bthose of these\b|\bof these the ones\b", re.IGNORECASE),
    "waits for you": re.compile(r"\bwaits? for you\b", re.IGNORECASE),
    "Kept is": re.compile(r"\bKept (?:is|are)\b"),
    "nobody needs to be waited for": re.compile(r"\bnobody needs to be waited for\b", re.IGNORECASE),
    "May it stop": re.compile(r"\bmay it stop\b", re.IGNORECASE),
    "How it stands": re.compile(r"\bhow it stands\b", re.IGNORECASE),
    # "is corrected by the anchors", "known for every item", "represents all items", "uninformative".
    "held against": re.compile(r"\bheld against\b", re.IGNORECASE),
    "known of every": re.compile(r"\bknown of (?:all|each|every)\b", re.IGNORECASE),
    "speaks for all": re.compile(r"\bspeaks? for (?:all|them|the others?)\b", re.IGNORECASE),
    "tells nothing": re.compile(r"\btells? (?:nothing|next to nothing)\b", re.IGNORECASE),
    "put to the labels": re.compile(r"\bput(?:s|ting)? (?:[\w' ]{0,40} )?to the labels\b", re.IGNORECASE),
    "labels that are there": re.compile(r"\blabels that are there\b", re.IGNORECASE),
    # "a metric other than the question's"
    "another ... than that of": re.compile(r"\b(?:an)?other [a-z]+ than (?:that|those|the one)\b", re.IGNORECASE),
    "lets expect": re.compile(r"\blets? (?:one )?expect\b", re.IGNORECASE),
    "for every truth": re.compile(r"\bfor every truth\b", re.IGNORECASE),
    "know no statistics": re.compile(r"\bknows? no statistics\b", re.IGNORECASE),
    "all is copied or nothing": re.compile(r"\ball is \w+ or nothing\b", re.IGNORECASE),
    # "a different number of items", "an engine other than DuckDB", "occurs twice", "is running", "not a number".
    "another number of": re.compile(r"\banother number of\b", re.IGNORECASE),
    "another ... than": re.compile(r"\banother \w+ than\b(?! (?:that|those|the one)\b)", re.IGNORECASE),
    "is there twice": re.compile(r"\bis there twice\b", re.IGNORECASE),
    "server runs": re.compile(r"\bserver runs\b", re.IGNORECASE),
    "or no number": re.compile(r"\bor no number\b", re.IGNORECASE),
    # "is read-only", "that you can write to", "permission to".
    "may not be written": re.compile(r"\bmay not be written\b", re.IGNORECASE),
    "that you may write": re.compile(r"\bthat you may write\b", re.IGNORECASE),
    "the right to read": re.compile(r"\bthe right to (?:read|create|write)\b", re.IGNORECASE),
    # "in increasing order", "computed again", "a single share", "named like an id", "from this many groups on".
    "ascending": re.compile(r"(?:, |; |\bin )ascending\b"),
    "anew": re.compile(r"\banew\b", re.IGNORECASE),
    "one share": re.compile(r"\b(?:is|are) (?:not )?one share\b(?! of)", re.IGNORECASE),
    "called like": re.compile(r"\bcalled like\b", re.IGNORECASE),
    "from which on": re.compile(r"\bfrom (?:which|so many \w+) on\b", re.IGNORECASE),
    "the state of now": re.compile(r"\b(?:belief|state|that|those) of now\b", re.IGNORECASE),
    # "a few hundred", "what percentage", "held for 15 minutes", "to a width of 7 points".
    "some hundred": re.compile(r"\bsome (?:hundred|thousand|million)s?\b", re.IGNORECASE),
    "how many percent": re.compile(r"\bhow many percent\b", re.IGNORECASE),
    "leased": re.compile(r"\bleased\b", re.IGNORECASE),
    "until N points": re.compile(r"\buntil \d[\d.]* points\b", re.IGNORECASE),
    "that is right": re.compile(r"\bThat is (?:right|wrong):"),
}
# Pages of measurements: a paragraph says what was found, then how it was measured. Headings and titles may ask.
MEASURED = ("measured.md", "method.md", "honest.md", "statistics.md", "scale.md", "serving.md", "learned-prior.md")
QUESTION = re.compile(
    r"(?:[-*]+ ?|\*\*)*(?:What|How|Why|When|Where|Which|Do|Does|Did|Is|Are|Can|Should)\b[^.:`]*\?(?:\*\*)? "
)
ENDS = (".", "?", "!", ":", ";", ")", "`")  # of the first paragraph of a docstring
FRAGMENT = re.compile(r"(?:Of|That|From|As|The same|Without)\b")


class Place(NamedTuple):
    folder: str
    """A room of the package, "top" for its own modules, or a folder of the repository."""
    where: str
    rule: str
    text: str


def _phrases(folder: str, where: str, text: str) -> Iterator[Place]:
    text = " ".join(text.split())
    for rule, pattern in PHRASES.items():
        for match in pattern.finditer(text):
            yield Place(folder, where, rule, text[max(0, match.start() - 30) : match.end() + 30])


def in_code(path: Path, folder: str) -> Iterator[Place]:
    """The strings of a module, and docstrings that are not sentences of their own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = path.relative_to(ROOT).as_posix()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _phrases(folder, f"{name}:{node.lineno}", node.value)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = ast.get_docstring(node) or "."
            first = words.partition("\n\n")[0].rstrip()
            fault = "begins as a fragment" if FRAGMENT.match(words) else "breaks off in its first sentence"
            if FRAGMENT.match(words) or not first.endswith(ENDS):
                yield Place(folder, f"{name}:{node.body[0].lineno}", f"a docstring {fault}", first)


def in_markdown(path: Path, folder: str) -> Iterator[Place]:
    """The prose of a page, paragraph by paragraph; code blocks and tables only for their phrases."""
    name, fenced = path.relative_to(ROOT).as_posix(), False
    measured = path.name.endswith(MEASURED)
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if line and (not number or not lines[number - 1])]
    for start, end in itertools.zip_longest(starts, starts[1:], fillvalue=len(lines)):
        paragraph = " ".join(lines[start:end])
        yield from _phrases(folder, f"{name}:{start + 1}", paragraph)
        if measured and QUESTION.match(paragraph):
            yield Place(folder, f"{name}:{start + 1}", "begins with a question: say what was found", paragraph[:60])
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif len(line) > LONGEST and not fenced and not line.lstrip().startswith("|"):
            yield Place(folder, f"{name}:{number}", f"more than {LONGEST} characters", line[:60])


def in_notebook(path: Path) -> Iterator[Place]:
    """The prose of a notebook, cell by cell."""
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], 1):
        if cell["cell_type"] == "markdown":
            yield from _phrases("docs", f"{path.relative_to(ROOT).as_posix()}, cell {number}", "".join(cell["source"]))


@cache
def places() -> tuple[Place, ...]:
    """Every place with something that must not be there."""
    every: list[Place] = []
    for path in sorted(PACKAGE.rglob("*")):
        parts = path.relative_to(PACKAGE).parts
        folder = parts[0] if len(parts) > 1 else "top"
        if path.suffix == ".py":
            every += in_code(path, folder)
        elif path.suffix in {".html", ".js"}:
            name = path.relative_to(ROOT).as_posix()
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                every += _phrases(folder, f"{name}:{number}", line)
    for folder in ("scripts", "benchmarks", "examples"):
        for path in sorted((ROOT / folder).glob("*.py")):
            every += in_code(path, folder)
    for path in sorted((ROOT / "docs").glob("*.md")):
        every += in_markdown(path, "docs")
    for path in sorted(ROOT.glob("*.md")):
        every += in_markdown(path, "pages")
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        every += in_notebook(path)
    return tuple(every)


@pytest.mark.slow
def test_no_phrase_comes_back() -> None:
    text = "\n".join(f"{place.where}: {place.rule}: {place.text}" for place in places())
    assert not text, f"these sentences must be rewritten:\n{text}"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("'x.csv' is no database", "is no ..."),
        ("after so many labels", "so many labels"),
        ("the interval holds the truth", "holds the truth"),
        ("Kept is its hash", "Kept is"),
        ("May it stop?", "May it stop"),
        ("the number is held against the anchors", "held against"),
        ("columns that are known of every item", "known of every"),
        ("put another question to the labels", "put to the labels"),
        ("another metric than that of the question", "another ... than that of"),
        ("they have another number of items", "another number of"),
        ("on another engine than DuckDB", "another ... than"),
        ("the key 'label' is there twice", "is there twice"),
        ("Check that the server runs.", "server runs"),
        ("missing, or no number", "or no number"),
        ("its folder may not be written", "may not be written"),
        ("a folder that you may write", "that you may write"),
        ("Ask for the right to create tables", "the right to read"),
        ("the budgets, ascending", "ascending"),
        ("the log is read anew", "anew"),
        ("needs a metric that is one share, such as accuracy", "one share"),
        ("a column that is called like an id", "called like"),
        ("the size from which on it pays", "from which on"),
        ("the belief of now", "the state of now"),
        ("That is wrong: it is bag.", "that is right"),
        ("Write some hundred thousand rows", "some hundred"),
        ("How many percent of runs are right", "how many percent"),
        ("Each item is leased for a quarter of an hour", "leased"),
        ("6 of 6 for clothes until 7 points", "until N points"),
    ],
)
def test_a_phrase_is_seen(text: str, rule: str) -> None:
    assert [place.rule for place in _phrases("top", "here", text)] == [rule]


@pytest.mark.parametrize(
    "text",
    [
        "there is no file 'x.csv'",
        "a lease is no longer needed",
        "so many reasons",
        "a metric other than the question's",
        "nobody else said anything",
        "none, or no numbers",
        "it is another, rather than the first",
        "the answer is one share of all items",
        "some 200 items, and some of the thousand",
        "--lease: how long a person holds an item",
    ],
)
def test_plain_english_passes(text: str) -> None:
    assert not list(_phrases("top", "here", text))


def test_fragments_and_long_lines_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    code, page = tmp_path / "a.py", tmp_path / "a.md"
    broken = '\ndef g():\n    """A thing. It\n\n    breaks off."""\n'
    code.write_text(f'"""Of a thing."""\n\ndef f():\n    """Offer a thing."""\n{broken}')
    long = "word " * 40
    page.write_text(f"{long}\n| {long} |\n```\n{long}\n```\n\nA thing is\nno thing.\n")
    assert [place.where for place in in_code(code, "top")] == ["a.py:1", "a.py:7"]
    assert sorted(place.where for place in in_markdown(page, "docs")) == ["a.md:1", "a.md:7"]


def test_notebooks_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    cells = [
        {"cell_type": "code", "source": ["anew = 1"]},
        {"cell_type": "markdown", "source": ["it is read\n", "anew"]},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    assert [(place.where, place.rule) for place in in_notebook(tmp_path / "a.ipynb")] == [("a.ipynb, cell 2", "anew")]


def test_a_page_of_measurements_says_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    text = "# How good?\n\nHow often does it hold? In 95%.\n\n**What does it cost?** Little.\n\nIt holds. Why?\n"
    for name in ("a-measured.md", "a.md"):
        (tmp_path / name).write_text(text)
    assert [place.where for place in in_markdown(tmp_path / "a-measured.md", "docs")] == [
        "a-measured.md:3", "a-measured.md:5",
    ]  # fmt: skip
    assert not list(in_markdown(tmp_path / "a.md", "docs"))


if __name__ == "__main__":
    for place in places():
        print(f"{place.where}: {place.rule}: {place.text}")
