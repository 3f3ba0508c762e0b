"""Texts with structure: Markdown, JSON, conversations and code, and nothing in them that a browser would run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fewlabels.web import colouring
from fewlabels.web.colouring import KINDS, LONGEST, coloured, language_of
from fewlabels.web.rich import MOST, TAGS, markdown, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# What people have tried in Markdown, JSON and addresses elsewhere.
PAYLOADS = [
    "<script>window.hacked = true</script>",
    "<img src=x onerror='window.hacked = true'>",
    "**x** <svg/onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](//evil.example/a)",
    "[x](/sign-out)",
    '[x](https://example.com "onmouseover=alert(1)")',
    '[x](<https://example.com/" onclick=alert(1)>)',
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    "<https://example.com/<script>>",
    "<javascript:alert(1)>",
    "`<script>alert(1)</script>`",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "[x]: javascript:alert(1)\n\n[x] **y**",
    "# <iframe src=javascript:alert(1)>",
    "> <style>*{display:none}</style>\n\n**x**",
    "&lt;script&gt; **&amp;** &#60;script&#62;",
    '{"</script><script>alert(1)</script>": "<img src=x onerror=alert(1)>"}',
    '[{"role": "<b>user</b>", "content": "[x](javascript:alert(1)) **y**"}]',
]


def elements(nodes: list[Any]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        if isinstance(node, dict):
            yield node
            yield from elements(node["children"])


def words(nodes: list[Any]) -> str:
    return "".join(node if isinstance(node, str) else words(node["children"]) for node in nodes)


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_tree_has_harmless_elements_and_addresses_of_the_web(text: str) -> None:
    for tree in (tree_of(text) or [], markdown(text)):
        for one in elements(tree):
            assert one["tag"] in TAGS
            assert set(one) <= {"tag", "children", "href", "kind"}
            if "href" in one:
                assert one["tag"] == "a"
                assert one["href"].startswith("https://")
            assert one.get("kind", "key") in {"key", "constant", "turn", *KINDS}
    assert not TAGS & {"script", "style", "img", "iframe", "svg", "form", "input", "button", "object", "link", "base"}


def test_markdown_says_all_that_is_written() -> None:
    text = (
        "# Title\n\nOne\ntwo **three** `four`\n\n1. five\n2. six\n\n- a\n- b\n\n```\nx = 1\n```\n\n> seven\n\n~~eight~~"
    )
    tree = tree_of(text)
    assert tree is not None
    tags = [one["tag"] for one in elements(tree)]
    assert {"h3", "p", "br", "strong", "code", "ol", "ul", "li", "pre", "blockquote", "s"} <= set(tags)
    for word in ("Title", "One", "two", "three", "four", "five", "six", "x = 1", "seven", "eight"):
        assert word in words(tree)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "It is.",
            "a * b * c",
            "snake_case_name and __init__",
            "5 > 3",
            "1. Only one",
            "- one dash",
            "#hashtag",
            "[1]",
        ),
        *("{}", "a | b", "C:\\temp", "He said [sic] so", "$5 and *5", "----", "x" * (MOST + 1) + "**b**"),
    ],
)
def test_plain_texts_stay_as_they_are(text: str) -> None:
    assert tree_of(text) is None


def test_json_is_indented_and_stays_exact() -> None:
    text = '{"b": 1.10, "a": [1e400, 12345678901234567890, true, null, "\\u00e9\\n"], "a": {}, "é": []}'
    tree = tree_of(text)
    assert tree is not None
    shown = words(tree)
    assert shown.splitlines()[:3] == ["{", '  "b": 1.10,', '  "a": [']
    for exact in ("1e400", "12345678901234567890", '"é\\n"', '"a": {}', '"é": []'):
        assert exact in shown
    kinds = [one["kind"] for one in elements(tree) if "kind" in one]
    assert kinds == ["key", "number", "key", "number", "number", "constant", "constant", "string", "key", "key"]
    assert json.loads(words(tree_of('{"x": [1, {"y": "z"}]}') or [])) == {"x": [1, {"y": "z"}]}


@pytest.mark.parametrize("text", ["[100, 200]", "[12, 34]", "[1, 2, 3]", '[0.5, {"a": 1}]', '[{"a": 1}, 0.5]'])
def test_a_list_of_numbers_is_json(text: str) -> None:
    assert json.loads(words(tree_of(text) or [])) == json.loads(text)


@pytest.mark.parametrize("text", ["[" * 5000 + "]" * 5000, '{"a":' * 60 + "1" + "}" * 60, '{"a": }', "[1, 2", "{a: 1}"])
def test_json_that_is_broken_or_too_deep_is_text(text: str) -> None:
    assert tree_of(text) is None


def test_a_conversation_has_its_turns() -> None:
    said = [{"role": "user", "content": "Hi\nthere"}, {"role": "assistant", "content": "It is **fine**."}]
    tree = tree_of(json.dumps(said))
    assert tree is not None
    assert [(one["tag"], one["kind"]) for one in tree if isinstance(one, dict)] == [("section", "turn")] * 2
    assert words(tree) == "userHithereassistantIt is fine."
    more = [{"role": "user", "content": "Hi", "id": 3}]  # nothing is left out: what has more is shown as JSON
    assert '"id": 3' in words(tree_of(json.dumps(more)) or [])


def test_code_is_known_by_its_column_its_file_or_its_first_line() -> None:
    for tree in (
        tree_of("x = *a* + `b`", "code"),
        tree_of("x = 1", "text", file="a.py"),
        tree_of("def f(x):\n    return **x**"),
        tree_of("<html>\n<b>no</b>"),
    ):
        assert tree is not None
        assert [one["tag"] for one in elements(tree) if one["tag"] != "span"] == ["pre", "code"]
    assert tree_of("import duties are high") is None


def kinds_of(tree: list[Any]) -> dict[str, str]:
    """The coloured pieces of code, with their kinds."""
    return {words(one["children"]): one["kind"] for one in elements(tree) if "kind" in one}


def test_code_has_colours_where_its_language_is_known() -> None:
    text = 'def f(x):\n    return 1.5 + x  # "one"\n'
    by_file, fenced = tree_of(text, file="a.py") or [], tree_of(f"It is:\n```py\n{text}```") or []
    for tree in (by_file, fenced, tree_of(text) or []):
        assert kinds_of(tree) == {
            "def": "keyword",
            "f": "name",
            "return": "keyword",
            "1.5": "number",
            '# "one"': "comment",
        }
    assert words(by_file) == text.strip("\n")
    diff = tree_of("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n") or []
    assert {kinds_of(diff)["+new"], kinds_of(diff)["-old"]} == {"added", "removed"}  # the last line too
    assert kinds_of(tree_of("select id from t\nwhere a = 'b'") or [])["'b'"] == "string"
    assert kinds_of(tree_of("def x end", "code", file="a.xyz") or []) == {}
    assert kinds_of(tree_of("```brainfuck\n+[-]\n```") or []) == {}


@pytest.mark.parametrize("language", ["python", "bash", "sql", "php", "html", "yaml", "diff", "ruby", "pytb"])
@pytest.mark.parametrize("text", ["", "\n\n", "\r\nx\r\n", "\ufeffx", "'" * 300, '"""', "<" * 300, "é\t\0", "(" * 500])
def test_no_colour_changes_a_text(language: str, text: str) -> None:
    assert "".join(piece for piece, _ in coloured(text, language)) == text
    assert {kind for _, kind in coloured(text, language)} <= {None, *KINDS}


def test_long_code_has_no_colours() -> None:
    assert coloured("x = 1\n" * LONGEST, "python") == [("x = 1\n" * LONGEST, None)]
    assert language_of("x", "unknown-language") is None
    assert coloured(f"x{' ' * 400}", "python") == [(f"x{' ' * 400}", None)]


def test_a_lexer_that_takes_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colouring, "_PATIENCE", 0.0)
    text = "return 1\n" * 100
    assert coloured(text, "python") == [("return", "keyword"), (text.removeprefix("return"), None)]


@pytest.mark.parametrize(
    "text",
    ['{"text": "cut off \\ud83d"}', "`x` " + "*" * 600 + "a" + "*" * 600, "**a " * 600 + "a**" * 600, "> " * 500 + "a"],
    ids=["half a character", "stars", "emphases", "quotations"],
)
def test_every_text_can_be_sent(text: str) -> None:
    for tree in (tree_of(text), markdown(text)):
        assert len(json.dumps(tree, ensure_ascii=False).encode()) > 3
