"""Texts as annotators can read them best: Markdown, JSON, conversations and code, as a tree of a few harmless elements.

No HTML is made here. A tree has texts and elements of `TAGS`. Whoever shows it (static/rich.js, templates/parts.html)
creates elements of these names and puts texts in as texts. So nothing in a text can become markup, whatever it says.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from fewlabels.web.colouring import coloured, language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    Node = str | dict[str, Any]

TAGS = frozenset(
    {"p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s", "a", "hr", "br"}
    | {"table", "thead", "tbody", "tr", "th", "td", "span", "section"}
)
"""The elements of a tree. An element has `tag` and `children`; a link also `href`, and a span or section its `kind`."""
MOST = 50_000
"""Texts with more characters are shown as they are: nobody could wait for the browser otherwise."""
_DEEPEST = 40
_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
_MARKS = (
    _FENCE,
    re.compile(r"^#{1,6} \S", re.MULTILINE),
    re.compile(r"\*\*[^*\n]+\*\*"),
    re.compile(r"`[^`\n]+`"),
    re.compile(r"\[[^\[\]\n]+\]\(https?://[^\s()]+\)"),
    re.compile(r"^\|?[ :]*-{3,}[ :]*\|[ :|-]*$", re.MULTILINE),  # the second line of a table
)
_LIST = re.compile(r"^ {0,3}(?:[-*+]|\d{1,3}[.)]) +\S", re.MULTILINE)
_CODE_NAMES = {"code", "source", "snippet", "diff", "patch", "sql", "program", "traceback", "stack_trace", "stacktrace"}
_CODE_FIRST = re.compile(
    r"(diff --git |#!/|<\?(php|xml)|<!doctype |<html|Traceback \(most recent call last\)|#include\b|def \w+\(|"
    r"class \w+[:({]|import \w|from [\w.]+ import |package \w|function \w*\(|(public|private) \w+ |select\s.+\sfrom\s)",
    re.IGNORECASE,
)
CODE_ENDINGS = (
    *(".py", ".js", ".ts", ".java", ".c", ".h", ".cpp", ".cs", ".go", ".rs", ".rb", ".php", ".sql", ".sh", ".r"),
    *(".diff", ".patch", ".xml", ".html", ".css", ".yaml", ".yml", ".toml", ".ini", ".log"),
)


class _Number(NamedTuple):
    """A number or constant of JSON, as it is written: 1.10 stays 1.10."""

    written: str


def tree_of(text: str, name: str = "", *, file: str = "") -> list[Node] | None:
    """The tree of a text, by what it looks like; None if it is best shown as it is.

    `name` is the column and `file` the name of the file that it comes from: both can say that it is code.

    >>> tree_of("It **is**.")
    [{'tag': 'p', 'children': ['It ', {'tag': 'strong', 'children': ['is']}, '.']}]
    >>> tree_of("It is.") is None
    True
    """
    if len(text) > MOST:
        return None
    return _tree(text, name.casefold() in _CODE_NAMES or file.lower().endswith(CODE_ENDINGS), name, file)


@lru_cache(maxsize=512)
def _tree(text: str, is_code: bool, name: str = "", file: str = "") -> list[Node] | None:
    tree = _json(text)
    if tree is not None:
        return tree
    if is_code or ("\n" in text.strip() and _CODE_FIRST.match(text.lstrip()) and not _FENCE.search(text)):
        named = name.casefold() if name.casefold() in {"sql", "diff", "patch"} else ""
        return [_code(text.strip("\n"), named, file)]
    if any(mark.search(text) for mark in _MARKS) or len(_LIST.findall(text)) > 1:
        return markdown(text)
    return None


def _element(tag: str, children: Sequence[Node], **more: str) -> dict[str, Any]:
    assert tag in TAGS, tag
    return {"tag": tag, "children": list(children), **more}


def _code(text: str, language: str, file: str = "") -> Node:
    """Code, with its colours if the language is known."""
    pieces = coloured(text, language_of(text, language, file))
    nodes = [piece if kind is None else _element("span", [piece], kind=kind) for piece, kind in pieces]
    return _element("pre", [_element("code", nodes)])


# --- Markdown


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # HTML in a text is text, and so are pictures: they would be loaded from wherever the text says.
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable("image")


def markdown(text: str) -> list[Node]:
    r"""The tree of a Markdown text. Headings begin at the third level, below those of the page.

    >>> markdown("# One\n<b>no</b> [x](javascript:alert(1))")
    [{'tag': 'h3', 'children': ['One']}, {'tag': 'p', 'children': ['<b>no</b> [x](javascript:alert(1))']}]
    """
    try:
        return _grouped(iter(_reader().parse(text[:MOST])))
    except RecursionError:  # hundreds of nested emphases: no page could show them
        return [_element("p", _lines(text[:MOST]))]


def _grouped(tokens: Iterator[Token], depth: int = 0) -> list[Node]:
    """The tree of a flat row of tokens, up to the one that closes what the caller has opened."""
    if depth > _DEEPEST:
        raise RecursionError
    nodes: list[Node] = []
    for token in tokens:
        if token.nesting < 0:
            break
        if token.nesting > 0:
            children = _grouped(tokens, depth + 1)
            nodes += children if token.hidden else [_opened(token, children)]  # paragraphs of a tight list are hidden
        elif token.type == "inline":
            nodes += _grouped(iter(token.children or []), depth + 1)
        else:
            nodes += _single(token)
    return _joined(nodes)


def _opened(token: Token, children: list[Node]) -> Node:
    tag = token.tag
    if tag == "a":
        href = str(token.attrs.get("href", ""))
        return _element("a", children, href=href) if is_web(href) else _element("span", children)
    if re.fullmatch("h[1-6]", tag):
        tag = f"h{min(6, int(tag[1]) + 2)}"
    return _element(tag if tag in TAGS else "span", children)


def _single(token: Token) -> list[Node]:
    """The nodes of a token that opens nothing."""
    if token.type in {"fence", "code_block"}:
        language = token.info.strip().partition(" ")[0].lower()
        inside = _json(token.content) if language in {"json", ""} else None
        return inside or [_code(token.content.rstrip("\n"), language)]
    if token.type == "code_inline":
        return [_element("code", [token.content])]
    if token.type in {"softbreak", "hardbreak"}:
        return [_element("br", [])]
    if token.type == "hr":
        return [_element("hr", [])]
    return [token.content] if token.content else []


def _joined(nodes: Iterable[Node]) -> list[Node]:
    """The nodes, with texts that follow each other as one."""
    joined: list[Node] = []
    for node in nodes:
        if isinstance(node, str) and joined and isinstance(joined[-1], str):
            joined[-1] += node
        else:
            joined.append(node)
    return joined


def is_web(address: str) -> bool:
    """Whether an address is a web address, to which a page may link.

    >>> is_web("https://example.com"), is_web("javascript:alert(1)"), is_web("//example.com")
    (True, False, False)
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


# --- JSON


def _json(text: str) -> list[Node] | None:
    """The tree of a JSON object or list, indented; None if the text is neither. Order and numbers stay as written."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in {"{}", "[]"}:
        return None
    try:
        value = json.loads(
            stripped, object_pairs_hook=tuple, parse_float=_Number, parse_int=_Number, parse_constant=_Number
        )
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate cannot be sent: it is shown as written
        if not value or (isinstance(value, list) and len(value) == 1 and isinstance(value[0], _Number)):
            return None  # {}, [], or a footnote such as [1]
        turns = _turns(value)
        return turns or [_element("pre", [_element("code", _joined(_value(value, 0)))])]
    except (ValueError, RecursionError):
        return None


def _value(value: Any, depth: int) -> Iterator[Node]:
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, _Number):
        yield _element("span", [value.written], kind="number")
    elif isinstance(value, str):
        yield _element("span", [json.dumps(value, ensure_ascii=False)], kind="string")
    elif isinstance(value, (tuple, list)):
        yield from _inside(value, depth)
    else:
        yield _element("span", [{None: "null", True: "true", False: "false"}[value]], kind="constant")


def _inside(value: tuple[Any, ...] | list[Any], depth: int) -> Iterator[Node]:
    """The lines of an object, which is a tuple of pairs here, or of a list."""
    is_object = isinstance(value, tuple)
    begin, end = "{}" if is_object else "[]"
    if not value:
        yield begin + end
        return
    yield begin
    for i, part in enumerate(value):
        yield ("," if i else "") + "\n" + "  " * (depth + 1)
        if is_object:
            yield _element("span", [json.dumps(part[0], ensure_ascii=False)], kind="key")
            yield ": "
        yield from _value(part[1] if is_object else part, depth + 1)
    yield "\n" + "  " * depth + end


def _turns(value: Any) -> list[Node] | None:
    """The tree of a conversation, a list of roles and texts as chat models take it; None for other values."""
    if not isinstance(value, list) or not all(type(entry) is tuple for entry in value):  # a _Number is one too
        return None
    turns: list[Node] = []
    for entry in value:
        members = dict(entry)
        role, text = members.get("role", members.get("from")), members.get("content", members.get("value"))
        if len(members) != 2 or not isinstance(role, str) or not isinstance(text, str):
            return None
        inside = _tree(text, False) or [_element("p", _lines(text))]
        turns.append(_element("section", [_element("strong", [role]), *inside], kind="turn"))
    return turns


def _lines(text: str) -> list[Node]:
    """A text with its line breaks."""
    first, *others = text.split("\n")
    return [first, *(node for line in others for node in (_element("br", []), line))]
