"""A backup, a copy or a migration that is killed leaves the source as it was, and half of nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fewlabels.store import Store

DRIVER = Path(__file__).parents[1] / "support" / "kill_driver.py"
FEW, SOME, MANY = 6, 24, 60


def drive(*arguments: object) -> tuple[int, int]:
    """Run the driver; how many were killed at work, and how many had come to their end."""
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", DRIVER, *map(str, arguments)],
        env=os.environ
        | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    stopped, complete = map(int, ended.stdout.split())
    return stopped, complete


@pytest.mark.parametrize(
    "kills", [FEW, pytest.param(SOME, marks=pytest.mark.slow), pytest.param(MANY, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("what", ["backup", "copy", "migrate"])
def test_killed_at_any_moment(what: str, kills: int, tmp_path: Path) -> None:
    stopped, complete = drive(what, tmp_path, kills)
    assert stopped + complete >= kills
    if kills > FEW:
        assert stopped > kills // 4, "otherwise nothing was tested"
    store = Store(tmp_path / "source.sqlite", existing=True)
    store.backup(tmp_path / "last.db")  # removes what the killed ones have left behind
    store.close()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
def test_a_copy_to_a_server_that_is_killed(tmp_path: Path, postgres_url: str) -> None:
    stopped, _ = drive("server", tmp_path, MANY // 2, postgres_url)
    assert stopped >= 3, "otherwise nothing was tested"  # a busy server is seldom caught at work
