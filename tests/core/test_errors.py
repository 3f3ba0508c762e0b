"""Errors carry fields, go between processes, and nobody reads their messages to find out what is wrong."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

import fewlabels as fl
from fewlabels.errors import Argument, Call, FewlabelsError, InputError, LabelError, Place, StoreError

SOURCE = Path(__file__).parents[2] / "src" / "fewlabels"
CUTS = {"removeprefix", "removesuffix", "replace", "partition", "rpartition", "split", "startswith", "endswith"} | {
    "strip", "lstrip", "rstrip", "find", "index", "count",
}  # fmt: skip


def test_a_message_is_put_together_from_its_parts() -> None:
    call = Call("read_pool", (Argument("scores", "p_*"), Argument("logits", value=True)))
    error = InputError("say ", call, " or ", Argument("id"), ".", at=Place("a.csv", (2,), (3,), ("x",)), items=["7"])
    assert str(error) == "a.csv, row 2 (line 3), column 'x': say read_pool(..., scores='p_*', logits=True) or id=."
    assert [argument.name for argument in error.arguments] == ["scores", "logits", "id"]
    assert error.at is not None
    assert (error.at.rows, error.at.columns, error.items) == ((2,), ("x",), ("7",))
    assert error.spelt(lambda part: "-") == "a.csv, row 2 (line 3), column 'x': say - or -."


@pytest.mark.parametrize("kind", [FewlabelsError, InputError, LabelError, StoreError])
def test_an_error_comes_back_from_another_process(kind: type[FewlabelsError]) -> None:
    error = kind("pass ", Argument("id"), ".", at=Place("a.csv", (2,)), items=["7"])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.at, again.items, again.args) == (str(error), error.at, error.items, error.args)


def test_errors_say_in_fields_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("id,predicted\na,cat\n,dog\n,cat\n")
    with pytest.raises(InputError, match="the id is missing") as refused:
        fl.read_pool(path)
    assert refused.value.at == Place(str(path), (2, 3), (3, 4), ("id",))
    assert refused.value.arguments == (Argument("id"),)
    audit = fl.create(None, "pets", fl.read_pool({"id": ["a", "b"], "predicted": ["cat", "dog"]}))
    with pytest.raises(LabelError, match="never asked for") as unasked:
        audit.tell({"b": "cat", "a": "dog"})
    assert unasked.value.items == ("b", "a")
    with pytest.raises(LabelError, match="unknown item") as unknown:
        audit.tell({"c": "cat"})
    assert unknown.value.items == ("c",)


def parsed(source: str) -> list[int]:
    """The lines on which a source text takes a message apart: that of a caught error, or a sentence (`x.words`)."""
    tree = ast.parse(source)
    errors = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    errors |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg) and _is_error(node.annotation)}

    def is_message(node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
            return isinstance(node.args[0], ast.Name) and node.args[0].id in errors
        if isinstance(node, ast.Attribute) and node.attr in ("args", "msg"):
            return isinstance(node.value, ast.Name) and node.value.id in errors
        return isinstance(node, ast.Attribute) and node.attr in ("words", "sentence")

    lines = []
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if (isinstance(node, ast.Attribute) and node.attr in CUTS) or isinstance(node, ast.Subscript):
            parts = [node.value]
        elif isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            parts = node.args if of_re or node.func.attr in ("match", "search", "fullmatch", "sub") else []
        lines += [node.lineno for part in parts if is_message(part)]  # type: ignore[attr-defined]
    return sorted(lines)


def _is_error(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).rsplit(".")[-1].endswith(("Error", "Exception"))


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_message_is_parsed(path: Path) -> None:
    assert parsed(path.read_text(encoding="utf-8")) == [], f"{path.name} reads a message; give the error a field"


@pytest.mark.parametrize(
    "line",
    [
        'if "locked" in str(error): pass',
        'x = str(error).partition(" Nothing")[2]',
        're.match("cannot", str(error))',
        "x = _IN_PYTHON.sub(option, str(error))",
        "x = error.args[0]",
        'x = forecast.words.removeprefix("No rule. ")',
        'x = now.words.replace("Enough:", "By a usual one:")',
    ],
)
def test_a_parsed_message_is_found(line: str) -> None:
    assert parsed(f"try:\n    pass\nexcept ValueError as error:\n    {line}\n") == [4]


def test_a_message_that_is_shown_is_let_through() -> None:
    assert parsed("try:\n    pass\nexcept ValueError as error:\n    show(f'{error}', str(error), x.words)\n") == []
