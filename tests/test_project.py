"""The files about the project agree with each other: versions, lower bounds, what is shipped, what is tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import fewlabels
from hatch_build import LINK, for_index
from scripts.lowest import lowest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert [fewlabels.__version__] == cited == [PROJECT["version"]]


def test_every_dependency_of_users_has_a_lower_bound() -> None:
    pins = {re.split(r"[\[=>]", line)[0]: line for line in lowest(PROJECT)}
    assert pins["numpy"] == "numpy==2.0"
    assert tuple(map(int, pins["click"].partition("==")[2].split("."))) >= (8, 2), "with 8.1 every error is a crash"
    assert pins["psycopg"].startswith("psycopg[binary]==")
    assert pins["pytest"].startswith("pytest>=")  # a tool, not pinned
    with pytest.raises(SystemExit, match="'numpy' has no single lower bound"):
        lowest({"dependencies": ["numpy"], "optional-dependencies": {"dev": []}})


def test_everything_that_is_shipped_exists() -> None:
    for name in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / name).exists(), name


def test_the_workflow_tests_every_python_that_is_named() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(f'"{version}"' for version in named)


def test_the_readme_and_continuous_integration_run_the_same_tests() -> None:
    for file in ("README.md", ".ci/run"):
        assert re.search(r"^make test\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), file


def test_the_readme_of_a_package_index_has_no_link_into_a_folder() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for picture, _, path in LINK.findall(text):
        assert (ROOT / path.partition("#")[0]).exists()
        assert path.endswith(".png") == bool(picture)
    for source in (None, "https://example.org/fewlabels"):
        assert not LINK.findall(for_index(text, source, "1.2.3"))
    shown = for_index("![A page](docs/a.png) [read](docs/b.md#c), [far](https://x.org), [here](#d)", source, "1.2.3")
    assert shown == (
        "![A page](https://example.org/fewlabels/raw/v1.2.3/docs/a.png) "
        "[read](https://example.org/fewlabels/blob/v1.2.3/docs/b.md#c), [far](https://x.org), [here](#d)"
    )
    assert for_index("![A page](docs/a.png) [read](docs/b.md)", None, "1.2.3") == "A page read"
