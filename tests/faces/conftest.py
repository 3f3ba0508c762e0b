"""Fixtures of the tests of the web app."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where uploaded files go in this test."""
    place = tmp_path / "uploads"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place
