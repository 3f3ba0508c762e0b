"""Imports point one way: a module of fewlabels imports only from layers above it in ORDER."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fewlabels"

# The layers from the ground up. A layer is a module, or a folder whose modules may import each other.
ORDER = (
    "errors",
    "checks",
    "wording",
    "opposites",
    "parts",
    "special",
    "undefined",
    "arrow",
    "bins",
    "table",
    "evidence",
    "hashing",
    "index",
    "reserve",
    "pool",
    "changes",
    "recipes",
    "score_bins",
    "partition",
    "belief",
    "alike",
    "cells",
    "outcomes",
    "learned",
    "priors",
    "metrics",
    "beta_binomial",
    "anytime",
    "sample",
    "rectified",
    "noise",
    "estimates",
    "tasks",
    "policies",
    "stopping",
    "standing",
    "spec",
    "engines",
    "io",
    "named",
    "store",
    "labelling",
    "views",
    "results",
    "assessment",
    "beginning",
    "simulation",
    "planning",
    "findings",
    "gate",
    "understanding",
    "plots",
    "report",
    "paper",
    "interop",
    "testing",
    "web",
    "cli",
    "pytest_plugin",
    "__main__",
)
# Beside the order: what these may import of fewlabels. Only `web`, `cli` and the package's own __init__ import them.
ASIDE = {"data": {"errors"}}
# Those that point up, inside a method and for convenience: `pool.differences(...)`, `audit.plot()`, `audit.check(...)`,
# `audit.report(...)` and `store.labels(name)`; and `io.foreign`, which hands files of other programs to their
# readers.
UPWARDS = {
    "pool": {"changes"},
    "io": {"interop"},
    "assessment": {"findings", "gate", "plots", "report"},
    "store": {"labelling"},
}
# The functional core: NumPy in, NumPy out; no files, no clock, no hidden randomness.
PURE = ORDER[: ORDER.index("standing") + 1]
PURE_MAY_IMPORT = {"numpy"}
# Arrow where columns of items are held; frames where a result is handed over.
LAYER_MAY_IMPORT = {
    "parts": {"threading"},  # two threads may be the first to look for parts of other packages
    "hashing": {"pyarrow"},
    "index": {"pyarrow"},
    "special": {"scipy"},
    "arrow": {"pyarrow"},
    "bins": {"pyarrow", "datetime"},  # a date is a date on every machine; nobody asks for the clock
    "evidence": {"pyarrow"},
    "pool": {"pyarrow"},
    "partition": {"pyarrow"},
    "table": {"pyarrow", "pandas", "polars"},
}
IMPURE = (
    {"os", "io", "pathlib", "shutil", "tempfile", "sqlite3", "socket", "logging"}
    | {"subprocess", "threading", "multiprocessing", "asyncio"}
    | {"time", "datetime", "random", "secrets", "uuid"}
)


def layer_of(module: str) -> str:
    """The layer of a dotted module name below fewlabels: 'metrics.accuracy' is in 'metrics'."""
    return module.split(".", maxsplit=1)[0]


def imported(source: str, module: str, is_package: bool) -> set[str]:
    """Every module that a source text imports, in functions and under TYPE_CHECKING too, by absolute name."""
    package = ["fewlabels", *module.split(".")] if module else ["fewlabels"]
    package = package if is_package else package[:-1]
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            # `from fewlabels import pool` names a module, `from fewlabels.pool import Pool` a thing in one.
            whole = stem in {"fewlabels", "scipy"}
            names |= {f"{stem}.{alias.name}" for alias in node.names} if whole else {stem}
    return names


def complaints(source: str, module: str, is_package: bool = False) -> list[str]:
    """What is wrong with the imports of one module, in words; empty if nothing is."""
    if not module:
        return []  # the package's own __init__ may import anything
    layer = layer_of(module)
    if layer not in ORDER and layer not in ASIDE:
        return [f"fewlabels.{layer} is in no layer: add it to ORDER in tests/test_layers.py, where it belongs"]
    allowed = ASIDE.get(layer) or set(ORDER[: ORDER.index(layer)])
    allowed |= UPWARDS.get(layer, set())
    if layer in {"web", "cli"}:
        allowed |= set(ASIDE)
    wrong = []
    for name in sorted(imported(source, module, is_package)):
        top, _, rest = name.partition(".")
        if top == "fewlabels":
            if layer_of(rest) not in allowed | {layer}:
                wrong.append(f"fewlabels.{module} imports {name}, which is not above it")
        elif layer in PURE and not pure_import(name, layer):
            wrong.append(f"fewlabels.{module} is in the pure core and imports {name}")
    return wrong


def pure_import(name: str, layer: str) -> bool:
    """Whether a module of the pure core may import this."""
    top = name.split(".", maxsplit=1)[0]
    may = PURE_MAY_IMPORT | LAYER_MAY_IMPORT.get(layer, set())
    if top in sys.stdlib_module_names and top not in IMPURE:
        return True
    return any(name == one or name.startswith(f"{one}.") for one in may)


def modules() -> dict[str, Path]:
    """Dotted names below fewlabels of all modules there are, with their files."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@pytest.mark.parametrize("module", modules())
def test_imports_point_one_way(module: str) -> None:
    path = modules()[module]
    assert complaints(path.read_text(encoding="utf-8"), module, path.name == "__init__.py") == []


def test_there_are_modules_to_check() -> None:
    assert {"errors", "pool", "partition", "belief"} <= {layer_of(module) for module in modules()}


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("pool", "from fewlabels.partition import Partition", "not above it"),
        ("pool", "from fewlabels import partition", "not above it"),
        ("pool", "import fewlabels", "not above it"),
        ("pool", "from .partition import Partition", "not above it"),
        ("belief", "if TYPE_CHECKING:\n    from fewlabels.metrics.base import Metric", "not above it"),
        ("belief", "def f():\n    import fewlabels.store.log", "not above it"),
        ("metrics.base", "from ..tasks import base", "not above it"),
        ("data", "from fewlabels.pool import Pool", "not above it"),
        ("belief", "import pandas", "pure core"),
        ("belief", "import pyarrow", "pure core"),
        ("belief", "from scipy import stats", "pure core"),
        ("belief", "import scipy.stats", "pure core"),
        ("belief", "from time import time", "pure core"),
        ("novelty", "import numpy", "add it to ORDER"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str, said: str) -> None:
    assert said in complaints(source, module)[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("", "from fewlabels.cli import main"),
        ("partition", "from fewlabels.pool import Pool\nimport pyarrow as pa"),
        ("metrics.accuracy", "from fewlabels.metrics.base import Metric\nfrom .base import Metric"),
        ("belief", "import numpy as np\nfrom fewlabels.special import betainc\nfrom numpy.typing import NDArray"),
        ("special", "from scipy import special\nfrom dataclasses import dataclass"),
        ("store", "import os\nimport sqlalchemy"),
        ("data", "from fewlabels.errors import InputError\nimport numpy"),
        ("cli.demo", "from fewlabels.data import load_digits"),
    ],
)
def test_a_right_import_is_let_through(module: str, source: str) -> None:
    assert complaints(source, module) == []
