"""Many groups on a screen: what does not fit should matter least."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from fewlabels.cli.main import cli

GROUPS = 60


@pytest.fixture
def many(tmp_path, monkeypatch):
    """Sixty classes; the items of every seventh were found to be wrong."""
    monkeypatch.chdir(tmp_path)
    rows = [f"i{i},c{i % GROUPS:02d},0.97\n" for i in range(GROUPS * 10)]
    (tmp_path / "items.csv").write_text("id,predicted,confidence\n" + "".join(rows))
    told = [f"i{i},c{(i + (i // GROUPS + 1) * (i % GROUPS % 7 == 0)) % GROUPS:02d}\n" for i in range(GROUPS * 5)]
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(told))
    for words in (("new", "a.db", "items.csv"), ("tell", "a.db", "labels.csv", "--adopt")):
        assert CliRunner().invoke(cli, words).exit_code == 0
    return {f"c{i:02d}" for i in range(0, GROUPS, 7)}


def shown(*words: str, screen: bool = False) -> list[str]:
    """The groups in the order in which a command shows them."""
    with pytest.MonkeyPatch.context() as patch:
        if screen:
            patch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
        result = CliRunner().invoke(cli, [*words, "a.db"])
    assert result.exit_code == 0, result.output
    starts = (line.split(" ")[0] for line in result.stdout.replace("\x1b[0m", "").splitlines())
    return [start for start in starts if (start[:1] == "c" and start[1:].isdigit()) or start == "..."]


@pytest.mark.parametrize("command", ["show", "classes"])
def test_the_worst_come_first_where_not_all_are_shown(many, command) -> None:
    assert set(shown(command, "--top", "9")) == many
    on_screen = shown(command, screen=True)
    assert len(on_screen) == 41
    assert on_screen[20] == "..."
    assert set(on_screen[:9]) == many
    # All of them, as a file has them, are in the order of the classes; and so is what somebody sorts.
    assert shown(command) == sorted(f"c{i:02d}" for i in range(GROUPS))
    by_name = "group" if command == "show" else "class"
    assert shown(command, "--sort", by_name, screen=True)[:3] == ["c00", "c01", "c02"]


def test_a_metric_that_is_bad_when_high_begins_with_the_highest(many) -> None:
    said = CliRunner().invoke(cli, ["show", "a.db", "--metric", "calibration", "--top", "9", "--json"])
    rows = json.loads(said.stdout)["rows"]
    means = [row["mean"] for row in rows]
    assert means == sorted(means, reverse=True)
    assert {row["group"] for row in rows} == many
