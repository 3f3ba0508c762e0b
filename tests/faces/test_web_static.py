"""What can be read off the web app's files: what its code imports, and whether its colours can be read."""

from __future__ import annotations

import ast
import re
from itertools import product
from pathlib import Path

import pytest

import fewlabels.web

WEB = Path(fewlabels.web.__file__).parent
CSS = (WEB / "static" / "style.css").read_text()
# create_app contains no SQL and no statistics: assessments have both.
FORBIDDEN = {
    "sqlalchemy",
    "sqlite3",
    "psycopg",
    "numpy",
    "scipy",
    "pandas",
    "fewlabels.special",
    "fewlabels.store.schema",
    "fewlabels.store.database",
}
ALLOWED = {"fewlabels.special.warm_up"}  # it computes nothing


def forbidden_in(source: str) -> set[str]:
    """What a source text imports of the forbidden modules, or from inside them."""
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{name.name}" for name in node.names}
    return {module for module in FORBIDDEN for name in imported - ALLOWED if f"{name}.".startswith(f"{module}.")}


@pytest.mark.parametrize("file", sorted(WEB.rglob("*.py")), ids=lambda file: file.name)
def test_the_web_app_has_no_sql_and_no_statistics(file: Path) -> None:
    assert forbidden_in(file.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("module", sorted(FORBIDDEN))
def test_a_forbidden_import_is_found(module: str) -> None:
    package, _, last = module.rpartition(".")
    assert forbidden_in(f"def late():\n    import {module}") == {module}
    assert forbidden_in(f"from {module} import anything") == {module}
    assert not package or forbidden_in(f"from {package} import {last}") == {module}
    assert forbidden_in(f"import {module}_more") == set()


def scheme(dark: bool) -> dict[str, str]:
    """The colours by name; those of the dark scheme replace the light ones."""
    light, night = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", light + night if dark else light))


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_can_be_read(dark: bool) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    colours = scheme(dark)
    texts = set(re.findall(r"(?<![a-z-])color: var\(--([a-z-]+)\)", CSS)) - {"on-accent"}
    papers = set(re.findall(r"background: var\(--([a-z-]+)\)", CSS)) - {"accent"}
    assert {"ink", "soft", "accent", "bad", "warn"} <= texts
    assert papers == {"paper", "card"}
    pairs = [*product(texts, papers), ("on-accent", "accent")]
    faint = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in faint.items() if ratio < 4.5} == {}
    assert min(contrast(colours["focus"], colours[paper]) for paper in papers) >= 3  # what is no text needs less


def test_every_colour_is_one_of_the_scheme() -> None:
    others = re.sub(r":root \{.*?\}", "", CSS, flags=re.DOTALL)
    assert re.findall(r":[^;{}]*#[0-9a-f]{3,8}\b", others) == []
