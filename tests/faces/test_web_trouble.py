"""The server in trouble: load, a lost database, and connections that bring no request."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any
from unittest import mock

import anyio.to_thread
import pytest

import fewlabels as fl
from fewlabels.errors import LabelError
from fewlabels.labelling.beliefs import Beliefs
from fewlabels.store import Store
from fewlabels.web import connections, create_app
from tests.support.web import PNG_FILE, bearer, client_of, make_site, pool_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE = "/api/v1/assessments/audit"


# --- load


def test_health_is_answered_while_every_thread_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    site, at_work, go_on = make_site(), threading.Semaphore(0), threading.Event()

    def slow(*_arguments: Any, **_settings: Any) -> None:
        at_work.release()
        go_on.wait(30)
        raise LabelError("nothing is asked here")

    monkeypatch.setattr(fl.Assessment, "ask", slow)
    with client_of(site) as client:

        async def few_threads() -> None:
            anyio.to_thread.current_default_thread_limiter().total_tokens = 2

        assert client.portal is not None
        client.portal.call(few_threads)
        crowd = [
            threading.Thread(target=client.post, args=[f"{ONE}/ask"], kwargs={"json": {}, "headers": bearer(site.ann)})
            for _ in range(4)
        ]
        for one in crowd:
            one.start()
        assert at_work.acquire(timeout=20)
        assert at_work.acquire(timeout=20)  # both threads have work, and two requests wait
        began = time.monotonic()
        assert client.get("/healthz").status_code == 200
        took = time.monotonic() - began
        go_on.set()
        for one in crowd:
            one.join()
    assert took < 10


def test_what_the_first_request_needs_is_computed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site()
    service = create_app(site.store).state.service
    before = site.store.head("audit")
    service.warm_up()
    assert site.store.head("audit") == before
    fitted = mock.create_autospec(Beliefs._computed, side_effect=Beliefs._computed)
    monkeypatch.setattr(Beliefs, "_computed", fitted)
    assert len(service.audit("audit").ask(1, annotator="ann")) == 1
    fitted.assert_not_called()
    create_app(site.store).state.service.audit("audit").ask(1, annotator="bob")  # without a warm-up it is fitted now
    fitted.assert_called()


def test_a_database_that_is_away_at_the_start_is_no_trouble(tmp_path: Path) -> None:
    store = Store(tmp_path / "audit.db")
    service = create_app(store).state.service
    store.close()
    (tmp_path / "audit.db").unlink()
    service.warm_up()


def test_a_part_that_fails_at_the_start_does_not_keep_the_others_from_being_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody's own metric can fail in any way; that thread would have ended with a traceback."""
    site = make_site()
    audit = site.audit()
    fl.create(site.store, "newer", audit.pool)
    service = create_app(site.store).state.service
    assert service.names()[-1] == "newer"
    ready = []

    def belief(assessment: fl.Assessment) -> None:
        if assessment.name == "newer":
            raise ZeroDivisionError("a metric of somebody's own")
        ready.append(assessment.name)

    monkeypatch.setattr(fl.Assessment, "belief", belief)
    service.warm_up()
    assert ready == ["audit"]


# --- a lost database


@pytest.mark.parametrize("remember", [0.0, 600.0], ids=["at the door", "inside"])
def test_while_the_database_is_gone_the_answer_is_503_and_then_all_is_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, remember: float
) -> None:
    """Whoever is remembered comes as far as the route, which has no database either."""
    site = make_site(tmp_path / "audit.db")
    with client_of(site, remember=remember) as client:
        item = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["id"]
        engine = site.store.database._engine
        connect, engine.pool = engine.pool._creator, engine.pool.recreate()
        engine.pool._creator = connect
        (tmp_path / "away").mkdir()
        site.store.database._engine.dispose()
        for file in tmp_path.glob("audit.db*"):
            file.rename(tmp_path / "away" / file.name)
        tmp_path.joinpath("audit.db").mkdir()  # nothing can be opened there
        said = {"labels": [{"id": item, "label": "class 1"}], "key": "key-00001"}
        assert client.get("/api/v1/me", headers=bearer(site.ann)).status_code == (200 if remember else 503)
        for answer in (
            client.get("/api/v1/assessments", headers=bearer(site.ann)),
            client.post(f"{ONE}/tell", json=said, headers=bearer(site.ann)),
            client.get("/label/audit", headers=bearer(site.ann) | {"accept": "text/html"}),
        ):
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "5"
            assert str(tmp_path) not in answer.text  # what the owner's log says is not for annotators
        assert client.get("/healthz").status_code == 200
        tmp_path.joinpath("audit.db").rmdir()
        for file in tmp_path.joinpath("away").iterdir():
            file.rename(tmp_path / file.name)
        assert client.post(f"{ONE}/tell", json=said, headers=bearer(site.ann)).json()["taken"] == 1
    lines = [record.getMessage() for record in caplog.records if record.name == "fewlabels.web.errors"]
    assert len(lines) == (3 if remember else 4)
    assert not any("\n" in line or "Traceback" in line for line in lines)
    assert not any(record.exc_info for record in caplog.records)
    assert site.audit().labels() == {item: "class 1"}


def test_postgresql_goes_away_and_comes_back(
    postgres_server: str, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    import psycopg
    import sqlalchemy as sa

    name = sa.make_url(postgres_url).database
    site = make_site(postgres_url)
    with client_of(site) as client, psycopg.connect(postgres_server, autocommit=True) as admin:

        def allow(connections: bool) -> None:
            admin.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS {connections}')
            if not connections:
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

        asked = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"]
        for i in range(3):
            said = {"labels": [{"id": asked[0]["id"], "label": "class 1"}], "key": f"key-{i:05}", "next": 1}
            allow(connections=False)
            for headers in (bearer(site.ann), bearer(site.bob)):
                assert client.post(f"{ONE}/tell", json=said, headers=headers).status_code == 503
                assert client.get("/api/v1/me", headers=headers).status_code in {200, 503}  # remembered for a second
            assert client.get("/healthz").status_code == 200
            allow(connections=True)
            asked = client.post(f"{ONE}/tell", json=said, headers=bearer(site.ann)).json()["requests"]
    assert not any(record.exc_info for record in caplog.records)  # one line each, and no traceback
    assert len(site.audit().labels()) == 3
    site.store.close()


# --- connections


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server in a thread with little patience for connections that say nothing, and room for few; its port."""
    import uvicorn

    monkeypatch.setattr(connections, "_PATIENCE", 0.5)
    monkeypatch.setattr(connections, "MOST", 20)
    site = make_site()
    config = uvicorn.Config(create_app(site.store), log_level="critical", http=connections.Connection, lifespan="off")
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(30)


def is_closed(connection: socket.socket, seconds: float = 10) -> bool:
    connection.settimeout(seconds)
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def is_healthy(port: int) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/healthz")
        return json.loads(connection.getresponse().read()) == {"ok": True}


def test_silent_connections_give_way_and_are_closed(short: int) -> None:
    silent = [socket.create_connection(("127.0.0.1", short)) for _ in range(60)]
    assert is_healthy(short)  # three times as many as there is room for, and everybody is still served
    assert all(is_closed(one) for one in silent)
    assert is_healthy(short)
    for one in silent:
        one.close()


def test_the_connections_that_have_waited_longest_give_way(short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before anybody's patience ends: otherwise the newest would find no room."""
    monkeypatch.setattr(connections, "_PATIENCE", 600)
    silent = [socket.create_connection(("127.0.0.1", short)) for _ in range(60)]
    assert is_healthy(short)
    # There is room for twenty, and one of them was the request's.
    assert all(is_closed(one) for one in silent[:41])
    assert not any(is_closed(one, 0.01) for one in silent[-15:])
    for one in silent:
        one.close()


def test_a_head_that_comes_drop_by_drop_is_not_waited_for(short: int) -> None:
    with socket.create_connection(("127.0.0.1", short)) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert slow.recv(1000).startswith(b"HTTP/1.1 200")
        closed = False
        for letter in b"GET /healthz HTTP/1.1\r\nx-" + b"a" * 100:  # the second request of the connection
            try:
                slow.sendall(bytes([letter]))
                slow.settimeout(0.05)
                closed = slow.recv(100) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                closed = True
            if closed:
                break
        assert closed


def test_ranges_are_not_served_so_that_thousands_of_them_cost_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG_FILE)
    pool = fl.read_pool({"id": ["1", "2"], "predicted": ["x", "y"], "picture": ["a.png"] * 2}, content="picture")
    site = make_site(pool=pool)
    many = {"range": "bytes=" + ",".join(f"{i}-{i}" for i in range(0, 60, 2))}
    with client_of(site, content=tmp_path) as client:
        asked = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]
        for path in (asked["parts"][0]["value"], "/static/style.css"):
            answer = client.get(path, headers=bearer(site.ann) | many)
            assert answer.status_code == 200
            assert "multipart" not in answer.headers["content-type"]


# --- an assessment that is removed and begun again while the server runs


def test_an_assessment_that_was_begun_again_is_opened_anew(tmp_path: Path) -> None:
    site = make_site(tmp_path / "audit.db", pool_of_texts(classes=2))
    other = fl.read_pool({"id": [f"item-{i:03}" for i in range(60)], "predicted": ["u", "v"] * 30, "text": ["t"] * 60})
    fl.create(site.store, "beside", pool_of_texts(classes=2))
    ann = bearer(site.ann)
    with client_of(site) as client, Store(tmp_path / "audit.db") as elsewhere:
        beside = client.post("/api/v1/assessments/beside/ask", json={}, headers=ann).json()["requests"][0]["id"]
        assert client.post(f"{ONE}/ask", json={}, headers=ann).json()["requests"][0]["id"] == beside
        page = client.get("/label/audit", headers=ann).text
        (pool,) = re.findall(r'data-pool="(\w+)"', page)
        elsewhere.remove("audit")
        assert client.post(f"{ONE}/ask", json={}, headers=ann).status_code == 503
        assert client.post(f"{ONE}/ask", json={}, headers=ann).status_code == 404
        fl.create(elsewhere, "audit", other, prior=fl.Uniform())
        assert client.get(f"{ONE}/classes", headers=ann).json()["classes"] == ["u", "v"]
        elsewhere.remove("audit")
        fl.create(elsewhere, "audit", pool_of_texts(classes=3), prior=fl.Uniform())
        answer = {"labels": [{"id": beside, "label": "class 1"}], "key": "key-00001"}
        seen = [client.post(f"{ONE}/tell", json=answer, headers=ann | {"x-pool": pool}) for _ in range(2)]
        assert [each.status_code for each in seen] == [503, 409]  # a page sends it again, and then keeps it apart
        assert "begun again with other items since this page was opened" in seen[1].json()["error"]["message"]
        # Somebody who has that item of the new one by now cannot mix them up either.
        have = client.post(f"{ONE}/ask", json={"n": 60}, headers=ann).json()["requests"]
        assert beside in {item["id"] for item in have}
        for verb, body in {"tell": answer, "skip": {"ids": [beside], "reason": "?"}, "ask": {}}.items():
            assert client.post(f"{ONE}/{verb}", json=body, headers=ann | {"x-pool": pool}).status_code == 409
        form = {"id": beside, "answer": "class 1", "pool": pool}
        assert client.post("/form/label/audit", data=form, headers=ann).status_code == 409
        (now,) = re.findall(r'data-pool="(\w+)"', client.get("/label/audit", headers=ann).text)
        assert client.post(f"{ONE}/tell", json=answer, headers=ann | {"x-pool": now}).json()["taken"] == 1
        assert elsewhere.labels("audit") == {beside: "class 1"}
    site.store.close()


def test_results_of_a_removed_assessment_are_not_those_of_the_next_one() -> None:
    site = make_site(pool=pool_of_texts(classes=2), prior=fl.Uniform())
    with client_of(site) as client:
        groups = []
        for classes in (2, 3):
            rows = client.get(f"{ONE}/estimates", headers=bearer(site.owner)).json()["rows"]
            groups.append([row["group"] for row in rows])
            site.store.remove("audit")
            fl.create(site.store, "audit", pool_of_texts(classes=classes + 1), prior=fl.Uniform())
            assert client.get("/guide/audit", headers=bearer(site.owner)).status_code == 503
        assert groups == [["class 0", "class 1"], ["class 0", "class 1", "class 2"]]
