"""The plugin for pytest: one test a rule, and nothing at all where it is not used."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from tests.support.reports import CLASSES, told_exactly

pytest_plugins = ["pytester"]
# Where this version is installed its entry point loads the plugin.
INSTALLED = any(point.value == "fewlabels.pytest_plugin" for point in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "fewlabels.pytest_plugin")
RULES = """
[[rule]]
name = "bags"
every = "accuracy >= 0.8"
only = ["bag"]

[[rule]]
name = "coats"
every = "accuracy >= 0.8"
only = ["coat"]

[[rule]]
name = "boots"
every = "accuracy >= 0.8"
only = ["boot"]
"""


@pytest.fixture
def project(pytester):
    """A project with a test of its own, rules, and labels: bag is good, coat is bad, and boot has no label."""
    counts = dict.fromkeys(CLASSES, (60, 2)) | {"coat": (20, 30), "boot": (0, 0)}
    told_exactly(counts, asked=True, where=pytester.path / "audit.db").close()
    pytester.makepyfile("def test_own(): pass")
    (pytester.path / "rules.toml").write_text(RULES)
    return pytester


def run(project, *words: str):
    return project.runpytest_subprocess(*PLUGIN, "-W", "error", "-rs", "-p", "no:cacheprovider", *words)


@pytest.mark.slow
def test_each_rule_is_a_test(project) -> None:
    result = run(project, "-v", "--fewlabels-rules", "rules.toml", "--fewlabels-db", "audit.db")
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    text = result.stdout.str()
    assert "Fail: coat does not have an accuracy of at least 80%" in text
    assert "Not enough evidence" in text
    assert "Traceback" not in text
    assert "bags PASSED" in text


@pytest.mark.slow
def test_without_its_options_nothing_happens(project) -> None:
    result = run(project)
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_what_is_missing_is_said(project) -> None:
    result = run(project, "--fewlabels-rules", "rules.toml")
    assert "add --fewlabels-db" in result.stderr.str()
    result = run(project, "--fewlabels-rules", "none.toml", "--fewlabels-db", "audit.db")
    assert "cannot read the rules" in result.stderr.str()
    result = run(project, "--fewlabels-rules", "rules.toml", "--fewlabels-db", "none.db")
    result.assert_outcomes(passed=1, failed=3)
    assert "there is no file none.db" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert "address.py" not in result.stdout.str()


def test_the_plugin_imports_nothing_heavy() -> None:
    code = "import sys, fewlabels.pytest_plugin; print({'numpy', 'pyarrow', 'sqlalchemy', 'click'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
