"""What a browser sends to make an assessment: files, forms, and the words of the answers."""

from __future__ import annotations

import csv
import io
import re
from contextlib import contextmanager
from html import unescape
from typing import TYPE_CHECKING, Any

from tests.support.web import Site, client_of, make_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response
    from starlette.testclient import TestClient

ROWS = [
    {"ticket": f"t{i}", "text": f"text {i}", "pred": "ab"[i % 2], "conf": 0.6 + i % 4 / 10, "region": "NSW"[i % 3]}
    for i in range(60)
]


def table(rows: list[dict[str, Any]] = ROWS) -> bytes:
    """Rows as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


@contextmanager
def desk(who: str = "owner", **settings: Any) -> Iterator[tuple[TestClient, Site]]:
    """A browser in which somebody has signed in, at a server with one assessment."""
    site = make_site()
    with client_of(site, **settings) as client:
        client.post("/sign-in", json={"token": getattr(site, who)})
        yield client, site


def csrf(client: TestClient) -> str:
    """The token of a page."""
    found = re.search(r'name="csrf" content="(\w+)"', client.get("/").text)
    assert found
    return found[1]


def upload(client: TestClient, data: bytes | None = None, name: str = "tickets.csv", **fields: str) -> Response:
    """Send a file as a browser does."""
    return upload_all(client, {name: table() if data is None else data}, **fields)


def upload_all(client: TestClient, data: dict[str, bytes], **fields: str) -> Response:
    """Send several files as a browser does."""
    sent = [("file", (name, one)) for name, one in data.items()]
    return client.post("/new/upload", data={"csrf": csrf(client)} | fields, files=sent)


def submit(client: TestClient, path: str, **fields: Any) -> Response:
    """Send a form of our own page."""
    return client.post(path, data={"csrf": csrf(client)} | fields)


def words(answer: Response) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def files(uploads: Path) -> list[Path]:
    return [path for path in uploads.rglob("*") if path.is_file()]


QUESTION = {"task": "estimate", "metric": "accuracy", "groups": "predicted", "target": "population", "name": "tickets"}
