"""The index of ids: the same position however many ids are looked up at once, and whatever their hashes are."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from fewlabels import index
from fewlabels.index import Index

# Ids of every length around those of one and two words of memory, which end alike.
LONG = [f"{'x' * n}{end}" for n in range(20) for end in ("", "y", "ends alike", "ends in sixteen bytes")]
IDS = [*(f"item {i}" for i in range(300)), None, "", "Zoë", *LONG[1:]]
WANTED = ["item 7", "", "item 300", "Zoë", "item 299", "nobody", "Zoe"]


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("block", [7, 10_000], ids=["in blocks", "at once"])
@pytest.mark.parametrize("scans", [0, 1_000], ids=["by the index", "by a look at every id"])
def test_few_ids_and_many_are_found_alike(same: bool, block: int, scans: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_BLOCK", block)
    monkeypatch.setattr(index, "_LARGE", 0)
    monkeypatch.setattr(index, "_SCANS", scans)
    if same:  # every id shares its hash with many others
        monkeypatch.setattr(index, "hash", lambda text: len(text or "") % 3, raising=False)
    ids = Index(pa.array(IDS, pa.string()))
    truth = [IDS.index(text) if text in IDS else -1 for text in WANTED]
    assert ids.find(WANTED).tolist() == truth
    assert ids.find(WANTED * 3).tolist() == truth * 3
    assert ids.find([]).tolist() == []
    everything = [text for text in IDS if text is not None]
    at = np.array([i for i, text in enumerate(IDS) if text is not None])
    np.testing.assert_array_equal(ids.find(everything), at)
    np.testing.assert_array_equal([ids.find([text])[0] for text in everything], at)


@pytest.mark.parametrize("scans", [0, 1_000], ids=["by the index", "by a look at every id"])
def test_a_search_needs_little_memory_beside_the_ids(scans: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at every id makes numbers of some ids at a time, and the index is 16 bytes for each."""
    monkeypatch.setattr(index, "_SCANS", scans)
    count = 100_000
    ids = Index(pa.array([f"item-{i:09}" for i in range(count)], pa.string()))
    tracemalloc.start()
    try:
        assert ids.find(["item-000000007", f"item-{count - 1:09}", "item-9"]).tolist() == [7, count - 1, -1]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 32 * count if scans else 48 * count


def test_a_look_at_a_large_pool_does_not_load_pandas() -> None:
    """Arrow's own `array` would, which takes a second of every command."""
    code = """
import sys
from fewlabels import index
from fewlabels.arrow import text_column
index._LARGE = 0
found = index.Index(text_column(["a", "b", "Zoë"])).find(["Zoë", "c", "Zoë", "\\ud800"])
sys.exit("pandas" in sys.modules or found.tolist() != [2, -1, 2, -1])
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0
