"""The app under a path, behind proxies, and mounted in other apps."""

from __future__ import annotations

import asyncio
import http.client
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.store import Store
from fewlabels.web import Settings, create_app
from fewlabels.web.proxies import Proxied
from tests.support.browser import running
from tests.support.web import PNG_FILE, bearer, client_of, make_site

if TYPE_CHECKING:
    from pathlib import Path

ONE = "/api/v1/assessments/audit"


@pytest.mark.parametrize("is_stripped", [True, False])
def test_behind_a_prefix_every_address_has_it(tmp_path: Path, is_stripped: bool) -> None:
    (tmp_path / "a.png").write_bytes(PNG_FILE)
    pool = fl.read_pool({"id": ["1", "2"], "predicted": ["x", "y"], "picture": ["a.png"] * 2}, content="picture")
    site = make_site(pool=pool)
    inner = "" if is_stripped else "/lab"
    with client_of(site, root_path="/lab", content=tmp_path) as client:
        assert client.get(f"{inner}/static/style.css").status_code == 200
        page = client.get(f"{inner}/label/audit", follow_redirects=False)
        assert (page.status_code, page.headers["location"]) == (303, "/lab/")
        signed = client.post(f"{inner}/sign-in", json={"token": site.ann})
        assert signed.json() == {"to": "/lab/"}
        assert "-lab=" in signed.headers["set-cookie"]
        text = client.get(f"{inner}/label/audit").text
        assert 'data-root="/lab"' in text
        assert 'src="/lab/static/label.js"' in text
        for part in text.replace("'", '"').split('"'):
            assert not part.startswith("/") or part.startswith("/lab/") or part == "/lab", part
        asked = client.post(f"{inner}{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]
        address = asked["parts"][0]["value"]
        assert address.startswith("/lab/api/")
        client.cookies.clear()
        image = client.get(address if inner else address.removeprefix("/lab"), headers=bearer(site.ann))
        assert image.content == PNG_FILE


def test_a_prefix_of_our_own_pages_is_refused() -> None:
    for path in ("/static", "/api/x", "lab", "/lab/", "/a b", '/"', "/..", "//evil.example"):
        with pytest.raises(InputError):
            Settings(root_path=path)


@pytest.mark.parametrize("where", ["/static/x", "/sign-in", "/healthz", "/x"])
def test_mounted_anywhere_nothing_is_open_that_was_closed(where: str) -> None:
    site = make_site()
    outer = Starlette(routes=[Mount(where, app=create_app(site.store))])
    closed = ["/api/v1/me", "/api/v1/people", f"{ONE}/classes", f"{ONE}/content?id=a&column=b&seal=c", "/people"]
    with TestClient(outer) as client:
        for path in closed:
            assert client.get(f"{where}{path}", follow_redirects=False).status_code in {401, 303}, path
        assert client.post(f"{where}{ONE}/ask", json={}).status_code == 401
        assert client.get(f"{where}/api/v1/me", headers=bearer(site.ann)).json()["name"] == "ann"
        assert client.get(f"{where}/static/style.css").status_code == 200
        assert f'href="{where}/static/style.css"' in client.get(f"{where}/sign-in").text


def test_without_a_guard_there_is_still_nobody() -> None:
    """The routes themselves refuse a request that no guard has looked at."""
    site = make_site()
    app = create_app(site.store)
    app.user_middleware = []
    with TestClient(app) as client:
        for path in ("/api/v1/me", "/api/v1/people", f"{ONE}/classes", f"{ONE}/estimates"):
            assert client.get(path).status_code == 401
        for verb in ("ask", "tell", "skip"):
            body = {"ask": {}, "tell": {"labels": [{"id": "a", "label": "b"}]}, "skip": {"ids": ["a"], "reason": "x"}}
            assert client.post(f"{ONE}/{verb}", json=body[verb]).status_code == 401


def seen_through(settings: Settings, client: tuple[str, int], **headers: str) -> dict[str, Any]:
    """The request as the app sees it behind the middleware."""
    seen: dict[str, Any] = {}

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.update(scope)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": "/label/a", "headers": raw, "client": client, "root_path": ""}
    asyncio.run(Proxied(app, settings)(scope, cast("Any", None), cast("Any", None)))
    return seen


def test_only_a_trusted_proxy_is_believed() -> None:
    told = {"x_forwarded_for": "9.9.9.9, 1.2.3.4, 10.0.0.7", "x_forwarded_prefix": "/lab"}
    settings = Settings(proxies=("10.0.0.7", "10.0.0.8"))
    seen = seen_through(settings, ("10.0.0.8", 1), **told)
    assert (seen["client"][0], seen["root_path"], seen["path"]) == ("1.2.3.4", "/lab", "/lab/label/a")
    seen = seen_through(settings, ("1.2.3.4", 1), **told)
    assert (seen["client"][0], seen["root_path"], seen["path"]) == ("1.2.3.4", "", "/label/a")
    for odd in ("//evil.example", '/"><script>', "/../..", "lab", "https://evil.example"):
        assert seen_through(settings, ("10.0.0.8", 1), x_forwarded_prefix=odd)["root_path"] == ""
    assert seen_through(Settings(root_path="/own"), ("127.0.0.1", 1), x_forwarded_prefix="/x")["root_path"] == "/own"


@pytest.mark.slow
def test_a_server_behind_a_prefix_says_where_it_is(tmp_path: Path) -> None:
    site = make_site(tmp_path / "audit.db")
    site.store.close()
    with (
        running(tmp_path / "audit.db", "--root-path", "/lab/") as server,
        closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection,
    ):
        connection.request("GET", "/lab/sign-in")
        assert b'data-root="/lab"' in connection.getresponse().read()
    assert Store(tmp_path / "audit.db").names() == ["audit"]
