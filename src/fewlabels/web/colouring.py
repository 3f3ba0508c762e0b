"""The colours of code: pieces of a text, each with its kind. Pygments finds them; pages show them as spans.

A language is named by the fence around the code, by the ending of its file, or by how the code begins. It is never
guessed from the whole text: that is slow, and often wrong. Code in another language is shown without colours.
"""

from __future__ import annotations

import re
from functools import cache
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygments.lexer import Lexer
    from pygments.token import _TokenType

LONGEST = 10_000
"""Code with more characters than this is shown without colours."""
_PATIENCE = 0.1  # seconds of computing: for a hostile text, a lexer's time can grow with the square of its length
KINDS = ("keyword", "string", "number", "comment", "name", "added", "removed")
"""What a piece can be; a page has a colour for each."""
# The languages that are coloured, by the names of Pygments. The lexers of C and of ini files are not among them: with a
# run of blanks they take seconds for one match, which nothing can interrupt.
_LANGUAGES = {
    *("python", "pytb", "pycon", "javascript", "typescript", "java", "go", "rust", "ruby", "php", "sql", "bash", "r"),
    *("diff", "xml", "html", "css", "yaml", "toml", "json"),
}
_CALLED = {"py": "python", "python3": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript"}
_CALLED |= {"tsx": "typescript", "golang": "go", "rs": "rust", "rb": "ruby", "sh": "bash", "shell": "bash"}
_CALLED |= {"zsh": "bash", "patch": "diff", "yml": "yaml", "postgresql": "sql", "mysql": "sql", "sqlite": "sql"}
_CALLED |= {"htm": "html", "svg": "xml"}
_RUN = re.compile(r"\s{300}")  # no code has this many blanks in a row, and lexers are slow with them
_BEGINS = {
    "diff": re.compile(r"diff --git |--- \S+.*\n\+\+\+ "),
    "pytb": re.compile(r"Traceback \(most recent call last\)"),
    "php": re.compile(r"<\?php"),
    "xml": re.compile(r"<\?xml"),
    "html": re.compile(r"(?i)<!doctype html|<html"),
    "bash": re.compile(r"#!.*sh\b"),
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
    if language is None or len(text) > LONGEST or _RUN.search(text):
        return [(text, None)]
    # A lexer that takes too long is stopped, and the rest has no colours.
    pieces = list(_pieces(text, language))
    rest = text[sum(len(piece) for piece, _ in pieces) :]
    return [*pieces, (rest, None)] if rest else pieces


def _pieces(text: str, language: str) -> Iterator[tuple[str, str | None]]:
    """The pieces, with neighbours of one kind as one."""
    so_far, last, end, left = "", None, thread_time() + _PATIENCE, len(text)
    # Some lexers recognise a line only by its end, so a line end is added, and removed again.
    for _, token, lexed in _lexer(language).get_tokens_unprocessed(f"{text}\n"):
        value, kind = lexed[:left], _kind(token)
        if not value:
            continue
        left -= len(value)
        if kind != last and so_far:
            yield so_far, last
            so_far = ""
        so_far, last = so_far + value, kind
        if thread_time() > end:
            break
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
