"""The colours of code: pieces of a text, each with what it is. Pygments finds them; pages show them as spans.

A language is named by the fence around the code, by the ending of its file, or by how the code begins. It is never
guessed from the whole text: that is slow, and often wrong. Code in another language is shown without colours.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygments.lexer import Lexer
    from pygments.token import _TokenType

LONGEST = 20_000
"""Characters of code that are coloured. Longer ones are shown without."""
KINDS = ("keyword", "string", "number", "comment", "name", "added", "removed")
"""What a piece can be; a page has a colour for each."""
# The languages that are coloured, by the names of Pygments: others have lexers that nobody has looked at.
_LANGUAGES = {
    *("python", "pytb", "pycon", "javascript", "typescript", "java", "c", "cpp", "csharp", "go", "rust", "ruby", "php"),
    *("sql", "bash", "r", "diff", "xml", "html", "css", "yaml", "toml", "ini", "json"),
}
_CALLED = {"py": "python", "python3": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript"}
_CALLED |= {"tsx": "typescript", "h": "c", "c++": "cpp", "cs": "csharp", "c#": "csharp", "golang": "go", "rs": "rust"}
_CALLED |= {"rb": "ruby", "sh": "bash", "shell": "bash", "zsh": "bash", "patch": "diff", "yml": "yaml", "cfg": "ini"}
_CALLED |= {"postgresql": "sql", "mysql": "sql", "sqlite": "sql", "htm": "html", "svg": "xml"}
_BEGINS = {
    "diff": re.compile(r"diff --git |--- \S+.*\n\+\+\+ "),
    "pytb": re.compile(r"Traceback \(most recent call last\)"),
    "php": re.compile(r"<\?php"),
    "xml": re.compile(r"<\?xml"),
    "html": re.compile(r"(?i)<!doctype html|<html"),
    "bash": re.compile(r"#!.*sh\b"),
    "cpp": re.compile(r"#include\b"),
    "sql": re.compile(r"(?is)(select\s.+\sfrom|insert\s+into|create\s+table|with\s+\w+\s+as\s*\()\s"),
    "python": re.compile(
        r"#!.*python|(async )?def \w+\(.*:\s*$|from [\w.]+ import |import [\w.]+\s*$|@\w|class \w+.*:\s*$", re.MULTILINE
    ),
    "java": re.compile(r"package [\w.]+;|(public|private) (static |final )*(class|interface) "),
    "javascript": re.compile(r"(async )?function \w*\(|(const|let) \w+ = |import .* from ['\"]"),
}


def language_of(text: str, named: str = "", file: str = "") -> str | None:
    r"""The language of code: as it is named, by the ending of its file, or by how it begins; None if none of them says.

    >>> language_of("x = 1", "py"), language_of("x", file="a.rs"), language_of("def f(x):\n    return x")
    ('python', 'rust', 'python')
    """
    ending = file.rpartition(".")[2] if "." in file else ""
    if called := (named.strip() or ending).lower():
        name = _CALLED.get(called, called)
        return name if name in _LANGUAGES else None
    begins = text.lstrip()[:2_000]
    return next((name for name, pattern in _BEGINS.items() if pattern.match(begins)), None)


def coloured(text: str, language: str | None) -> list[tuple[str, str | None]]:
    """The pieces of code, each with its kind, or None where it has no colour; together they are the text.

    >>> coloured("return 1  # one", "python")
    [('return', 'keyword'), (' ', None), ('1', 'number'), ('  ', None), ('# one', 'comment')]
    """
    if language is None or len(text) > LONGEST:
        return [(text, None)]
    pieces = list(_pieces(text, language))
    # A lexer may change the ends of lines: then the text is shown as it is.
    return pieces if "".join(piece for piece, _ in pieces) == text else [(text, None)]


def _pieces(text: str, language: str) -> Iterator[tuple[str, str | None]]:
    """The pieces, with neighbours of one kind as one."""
    so_far, last = "", None
    for _, token, value in _lexer(language).get_tokens_unprocessed(text):
        kind = _kind(token)
        if kind != last and so_far:
            yield so_far, last
            so_far = ""
        so_far, last = so_far + value, kind
    if so_far:
        yield so_far, last


@cache
def _lexer(language: str) -> Lexer:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language)


def _kind(token: _TokenType) -> str | None:
    from pygments.token import Comment, Generic, Keyword, Name, Number, String

    kinds = {Comment: "comment", Keyword: "keyword", String: "string", Number: "number", Generic.Inserted: "added"}
    kinds |= {Generic.Deleted: "removed", Generic.Subheading: "keyword", Generic.Heading: "keyword"}
    kinds |= {Name.Function: "name", Name.Class: "name", Name.Tag: "name", Name.Attribute: "name"}
    return next((name for family, name in kinds.items() if token in family), None)
