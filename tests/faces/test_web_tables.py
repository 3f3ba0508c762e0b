"""The web app over a table that stays where it is: what annotators see, several of them, and queues that run low."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fewlabels as fl
from fewlabels.io import tables
from tests.support.web import bearer, client_of, make_site

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb")
ONE = "/api/v1/assessments/audit"


def test_people_label_a_table_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST", 20)
    count = range(400)
    data: dict[str, list[Any]] = {
        "id": [f"i{n}" for n in count],
        "predicted": [["ant", "bee"][n % 2] for n in count],
        "confidence": [0.5 + (n % 97) / 200 for n in count],
        "text": [f"text {n}" for n in count],
        "note": [f"note {n}" for n in count],
    }
    pq.write_table(pa.table(data), tmp_path / "a.parquet")
    pool = fl.read_pool(tmp_path / "*.parquet", content="text")
    assert pool.reserve is not None
    assert len(pool.reserve.unit) == 40
    site = make_site(tmp_path / "audit.db", pool)
    with client_of(site, columns=("text", "note")) as client:

        def label(token: str) -> list[str]:
            seen = []
            for _ in range(6):
                asked = client.post(f"{ONE}/ask", json={"n": 5}, headers=bearer(token)).json()["requests"]
                for one in asked:
                    number = one["id"].removeprefix("i")
                    assert [part["value"] for part in one["parts"]] == [f"text {number}", f"note {number}"]
                    seen.append(one["id"])
                labels = [{"id": one["id"], "label": "ant"} for one in asked]
                assert client.post(f"{ONE}/tell", json={"labels": labels}, headers=bearer(token)).json()["taken"] == 5
            return seen

        with ThreadPoolExecutor(2) as threads:
            ann, bob = threads.map(label, (site.ann, site.bob))
        assert len({*ann, *bob}) == 60, "more than were named at first, and nobody got the same item"
        shown = client.get(f"{ONE}/estimates", headers=bearer(site.owner)).json()["rows"]
    assert [row["n"] for row in shown] == [200, 200]
    assert sum(row["labelled"] for row in shown) == 60
    pool.reserve.link.close()
    site.store.close()
