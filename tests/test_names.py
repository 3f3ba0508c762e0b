"""Names that say nothing must become fewer: a variable is called by a noun for what it holds.

`python -m tests.test_names` lists every place.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "fewlabels"
EMPTY = {"one", "found", "said", "there", "told"}
MOST = 40
"""How many there may be. The number may only fall: lower it when you have renamed some."""


def empty_names(source: str) -> list[tuple[int, str]]:
    """The lines in which a variable or an argument gets a name that says nothing, with the name."""
    places = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in EMPTY:
            places.append((node.lineno, node.id))
        elif isinstance(node, ast.arg) and node.arg in EMPTY:
            places.append((node.lineno, node.arg))
    return sorted(places)


def places() -> list[str]:
    """Every place in the package, as file, line and name."""
    return [
        f"{path.relative_to(PACKAGE.parents[1])}:{line} {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in empty_names(path.read_text(encoding="utf-8"))
    ]


def test_names_that_say_nothing_become_fewer() -> None:
    count = len(places())
    assert count <= MOST, f"{count} variables are called {', '.join(sorted(EMPTY))}: call yours by a noun"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("found = 1", ["found"]),
        ("for one in two: pass", ["one"]),
        ("[one for one in two]", ["one"]),
        ("if (said := f()): pass", ["said"]),
        ("def f(there): return there", ["there"]),
        ("lambda one: one", ["one"]),
        ("items = found()", []),
        ("self.found = 1", []),
    ],
)
def test_a_name_that_says_nothing_is_seen_where_it_is_given(source: str, names: list[str]) -> None:
    assert [name for _, name in empty_names(source)] == names


if __name__ == "__main__":
    print("\n".join(places()))
