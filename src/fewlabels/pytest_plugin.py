"""A plugin for pytest: one test for each rule of a TOML file, on the labels of an assessment.

    pytest --fewlabels-rules rules.toml --fewlabels-db audit.db [--fewlabels-name NAME]

A rule that passes is a test that passes, and one that fails fails. Where there is not enough evidence the test is
skipped with the reason. Without --fewlabels-rules the plugin does nothing, and imports nothing.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewlabels.assessment import Assessment
    from fewlabels.gate import Rule


def pytest_addoption(parser: pytest.Parser) -> None:
    """--fewlabels-rules, --fewlabels-db and --fewlabels-name."""
    group = parser.getgroup("fewlabels", "does a classifier pass?")
    group.addoption("--fewlabels-rules", metavar="FILE", help="TOML file with rules: one test for each.")
    group.addoption("--fewlabels-db", metavar="DATABASE", help="The database with the labels.")
    group.addoption("--fewlabels-name", metavar="NAME", help="The assessment, if the database has several.")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for each rule."""
    path = config.getoption("--fewlabels-rules")
    if path is None:
        return
    from fewlabels.errors import FewlabelsError
    from fewlabels.gate import read_rules

    address = config.getoption("--fewlabels-db")
    if address is None:
        raise pytest.UsageError("--fewlabels-rules needs the labels: add --fewlabels-db audit.db.")
    try:
        rules = read_rules(path)
    except FewlabelsError as error:
        raise pytest.UsageError(str(error)) from None
    file = RulesFile.from_parent(session, path=Path(path).absolute())
    file.address, file.assessment = address, config.getoption("--fewlabels-name")
    items += [RuleItem.from_parent(file, name=rule.title, rule=rule) for rule in rules]


class RulesFile(pytest.File):
    """The file of rules. It opens the assessment when the first rule is run, and closes it after the last one."""

    address: str
    assessment: str | None

    def collect(self) -> Iterator[pytest.Item]:
        """Nothing by itself: the rules are added after the collection."""
        return iter(())

    @cached_property
    def audit(self) -> Assessment:
        """The assessment, opened for the first rule: what is wrong with it is then said without a traceback."""
        from fewlabels.beginning import load
        from fewlabels.errors import StoreError
        from fewlabels.store import Store

        store = Store(self.address, existing=True)
        self.addfinalizer(store.close)
        names = store.names()
        if self.assessment is None and len(names) != 1:
            raise StoreError(f"{self.address} has {len(names)} assessments. Say which one with --fewlabels-name.")
        return load(store, self.assessment or names[0])


class RuleItem(pytest.Item):
    """One rule as a test."""

    def __init__(self, *, rule: Rule, **more: Any) -> None:
        super().__init__(**more)
        self.rule = rule

    def runtest(self) -> None:
        """Check the rule against the labels."""
        assert isinstance(self.parent, RulesFile)
        check = self.parent.audit.check(self.rule)
        if check.verdict == "open":
            pytest.skip(check.words)
        if check.verdict == "fail":
            raise RuleFailedError(check.words)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The verdict in words, without a traceback."""
        from fewlabels.errors import FewlabelsError

        if isinstance(excinfo.value, RuleFailedError | FewlabelsError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the rule is, for messages."""
        return self.path, 0, self.name


class RuleFailedError(AssertionError):
    """A rule failed."""
