"""Fixtures of the tests of the paper's tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def paper_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small pool under each name that the program looks for. Nobody writes to it."""
    from tests.support.paper import make_pools

    made = tmp_path_factory.mktemp("pools")
    make_pools(made)
    return made
