"""The web app over a table that stays where it is: what annotators see, several of them, and queues that run low."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fewlabels as fl
from fewlabels.io import tables
from fewlabels.labelling import supply
from tests.support.web import bearer, client_of, make_site

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb")
ONE = "/api/v1/assessments/audit"


def read_big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fl.Pool:
    """A pool of 400 items that stay in a file; 20 of each class are named."""
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
    return fl.read_pool(tmp_path / "*.parquet", content="text")


def test_people_label_a_table_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = read_big(tmp_path, monkeypatch)
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


@pytest.mark.parametrize("trouble", ["away", "changed"])
def test_labels_are_taken_while_the_table_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    monkeypatch.setattr(supply, "_EVERY", 0.0)
    pool = read_big(tmp_path, monkeypatch)
    assert pool.reserve is not None
    pool.reserve.link.close()
    site = make_site(tmp_path / "audit.db", pool)
    file, kept = tmp_path / "a.parquet", tmp_path / "kept"
    with client_of(site, columns=("text", "note")) as client:
        ann = bearer(site.ann)
        asked = client.post(f"{ONE}/ask", json={"n": 3}, headers=ann).json()["requests"]
        told = [
            {"labels": [{"id": one["id"], "label": "ant"}], "key": f"label-key-{i}", "next": 40}
            for i, one in enumerate(asked)
        ]
        file.rename(kept)
        if trouble == "changed":
            pq.write_table(pq.read_table(kept).slice(100), file)
        for body in told[:2]:
            answer = client.post(f"{ONE}/tell", json=body, headers=ann)
            assert (answer.status_code, answer.json()) == (200, {"taken": 1, "requests": []})
        skipped = {"ids": [asked[2]["id"]], "reason": "unclear", "key": "skip-key-2", "next": 40}
        assert client.post(f"{ONE}/skip", json=skipped, headers=ann).json() == {"taken": 1, "requests": []}
        assert client.post(f"{ONE}/ask", json={"n": 40}, headers=ann).status_code == 503
        kept.replace(file)
        again = client.post(f"{ONE}/tell", json=told[1], headers=ann).json()
        assert again["taken"] == 1
        assert len(again["requests"]) == 40, "the table is back, and the label was not taken twice"
    assert site.store.labels("audit") == {one["id"]: "ant" for one in asked[:2]}
    site.store.close()


def test_a_browser_without_scripts_hears_that_its_answer_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "_AHEAD", 0)
    pool = read_big(tmp_path, monkeypatch)
    assert pool.reserve is not None
    pool.reserve.link.close()
    site = make_site(tmp_path / "audit.db", pool)
    with client_of(site, columns=("text", "note")) as client:
        ann = bearer(site.ann)
        (one,) = client.post(f"{ONE}/ask", json={"n": 1}, headers=ann).json()["requests"]
        (tmp_path / "a.parquet").rename(tmp_path / "kept")
        shown = client.post("/form/label/audit", data={"id": one["id"], "answer": "bee"}, headers=ann)
        assert shown.status_code == 200
        assert "Your answer is saved. The next item cannot be read" in shown.text
        assert "Try again" in shown.text
        assert "nothing left" not in shown.text
    assert site.store.labels("audit")[one["id"]] == "bee"
    site.store.close()
