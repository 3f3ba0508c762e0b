"""The server under attack and in trouble: silent connections, a lost database, proxies and prefixes, greedy people."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread
import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

import fewlabels as fl
from fewlabels.errors import InputError, LabelError
from fewlabels.labelling import choosing
from fewlabels.labelling.next_items import choose
from fewlabels.store import Store
from fewlabels.store.people import People
from fewlabels.web import Settings, connections, create_app
from fewlabels.web.proxies import Proxied
from tests.support.browser import running
from tests.support.web import PNG_FILE, bearer, client_of, events_of, make_site, pool_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE = "/api/v1/assessments/audit"


# --- an answer brings the next item


def test_an_answer_brings_the_next_items_in_one_transaction() -> None:
    site, twin = make_site(seed=4), fl.create(None, "audit", pool_of_texts(), seed=4)
    with client_of(site) as client:
        here = client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"]
        assert [one["id"] for one in here] == twin.ask(2, annotator="ann").ids
        for i in range(6):
            first = here[0]["id"]
            body: dict[str, Any] = {"next": 2, "key": f"key-{i:05}"}
            verb = "skip" if i == 3 else "tell"
            if verb == "tell":
                body["labels"] = [{"id": first, "label": "class 1"}]
                twin.tell({first: "class 1"}, annotator="ann")
            else:
                body |= {"ids": [first], "reason": "unclear"}
                twin.skip([first], annotator="ann")
            answer = client.post(f"{ONE}/{verb}", json=body, headers=bearer(site.ann)).json()
            again = client.post(f"{ONE}/{verb}", json=body, headers=bearer(site.ann)).json()
            assert answer == again  # sent again since its yes was lost: taken once, and the same items come
            assert answer["taken"] == 1
            here = answer["requests"]
            assert [one["id"] for one in here] == twin.ask(2, annotator="ann", again=True).ids
    kinds = [kind for kind, *_ in events_of(site)]
    assert kinds == ["request"] * 2 + ["label", "request"] * 3 + ["skip", "request"] + ["label", "request"] * 2
    assert site.audit().labels() == twin.labels()


def test_answers_that_are_refused_bring_nothing_and_change_nothing() -> None:
    site = make_site()
    with client_of(site) as client:
        item = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["id"]
        before = events_of(site)
        other = "item-000" if item != "item-000" else "item-001"
        for labels in ([{"id": item, "label": "nothing"}], [{"id": other, "label": "class 0"}]):
            answer = client.post(f"{ONE}/tell", json={"labels": labels, "next": 3}, headers=bearer(site.ann))
            assert answer.status_code == 409
        assert events_of(site) == before


def test_a_choice_that_failed_leaves_the_ledger_as_the_log_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger reads the answer before it is in the log: if the transaction fails, it must forget it again."""
    site = make_site()
    audit = site.audit()
    (item,) = audit.ask(1, annotator="ann").ids

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no more items")

    with monkeypatch.context() as patch:
        patch.setattr(audit, "_chosen", broken)
        with pytest.raises(RuntimeError, match="no more"):
            audit.tell_and_ask({item: "class 1"}, 1, annotator="ann")
    assert audit.labels() == site.audit().labels() == {}
    assert audit.tell_and_ask({item: "class 1"}, 1, annotator="ann")[0] == 1
    assert audit.labels() == site.audit().labels() == {item: "class 1"}


def test_with_slack_the_belief_is_kept_until_a_share_of_the_labels_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = fl.create(None, "audit", pool_of_texts(400), seed=1)
    audit.tell(dict.fromkeys(audit.ask(200).ids, "class 0"))
    fits: list[int] = []
    whole = audit._prior.belief

    class Counted:
        def belief(self, outcomes: Any) -> Any:
            fits.append(1)
            return whole(outcomes)

    monkeypatch.setattr(type(audit), "_prior", property(lambda _: Counted()))
    (item,) = audit.ask(1, annotator="a", slack=0.02).ids
    for _ in range(20):
        _, (request,) = audit.tell_and_ask({item: "class 0"}, 1, annotator="a", slack=0.02)
        item = request.id
    assert 3 <= len(fits) <= 6  # after 4 of 200 labels, each time
    fits.clear()
    for _ in range(5):
        _, (request,) = audit.tell_and_ask({item: "class 0"}, 1, annotator="a")
        item = request.id
    assert len(fits) == 5  # without slack, the choice knows every label
    assert len(audit.labels()) == 225


def test_with_slack_a_label_that_was_taken_back_is_not_waited_for() -> None:
    audit = fl.create(None, "audit", pool_of_texts(400), seed=1)
    told = dict.fromkeys(audit.ask(200, annotator="a").ids, "class 0")
    audit.tell(told, annotator="a")
    first, second = list(told)[:2]
    audit.ask(1, annotator="a", slack=0.5)
    known = audit._believed
    audit.ask(1, annotator="a", slack=0.5)
    assert known is not None
    assert audit._believed is known
    audit.tell({first: "class 1"}, annotator="a")
    audit.ask(1, annotator="a", slack=0.5)
    changed = audit._believed
    assert changed is not known
    audit.retract([second], annotator="a")
    audit.ask(1, annotator="a", slack=0.5)
    assert audit._believed is not changed


@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Learned()])
def test_with_slack_labels_count_for_their_own_group_at_once(prior: fl.Prior, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a fit, the choice knows the counts of every label; for independent groups that is the whole belief."""
    audit = fl.create(None, "audit", pool_of_texts(400), seed=1, prior=prior, policy=fl.Thompson())
    audit.tell(dict.fromkeys(audit.ask(200).ids, "class 0"))
    audit.ask(1, slack=0.5)
    seen: list[fl.Belief] = []

    def watched(*given: Any) -> dict[int, int]:
        seen.append(given[3])
        return choose(*given)

    monkeypatch.setattr(choosing, "choose", watched)
    for _ in range(3):
        audit.tell(dict.fromkeys(audit.ask(20).ids, "class 1"))
        audit.ask(30, slack=0.5)
    assert [belief.labels for belief in seen] == [200, 220, 220, 240, 240, 260]
    assert audit._believed is not None
    exact = audit.spec.prior.on(audit._cells, "population").belief(audit._ledger.outcomes())
    close = np.abs(seen[-1].mean() - exact.mean()).max()
    assert close < (1e-12 if isinstance(prior, fl.Uniform) else 0.15)
    np.testing.assert_array_equal(seen[-1].counts, exact.counts)


def test_items_drawn_ahead_are_never_handed_out_twice(tmp_path: Path) -> None:
    """Two servers of one database, each with items drawn ahead: what one has handed out, the other must not."""
    address = tmp_path / "audit.db"
    fl.create(address, "audit", pool_of_texts(300), task=fl.Identify(fl.Accuracy(), lowest=2), seed=1).close()
    both = [fl.load(address, "audit") for _ in range(2)]
    got: list[str] = []
    for i in range(120):
        one = both[i % 2 if i % 7 else 0]
        (request,) = one.ask(1, annotator=f"person {i % 5}", slack=0.2)
        got.append(request.id)
        if i % 3:
            one.tell({request.id: "class 0"}, annotator=f"person {i % 5}")
    assert len(set(got)) == 120
    for one in both:
        one.close()


# --- one item, two labels; long ids; formulas


def test_two_labels_of_one_item_are_refused_and_the_same_twice_is_fine() -> None:
    site = make_site()
    with client_of(site) as client:
        item = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["id"]
        two = [{"id": item, "label": "class 0"}, {"id": item, "label": "class 1"}]
        for verb, who in (("tell", site.ann), ("decide", site.owner)):
            answer = client.post(f"{ONE}/{verb}", json={"labels": two}, headers=bearer(who))
            assert answer.status_code == 422
            assert "has two labels here, 'class 0' and 'class 1'" in answer.json()["error"]["message"]
        assert site.audit().labels() == {}
        assert client.post(f"{ONE}/tell", json={"labels": two[:1] * 2}, headers=bearer(site.ann)).status_code == 200


def test_ids_of_any_length_can_be_answered() -> None:
    ids = ["a" * 5000, "b" * 1001]
    pool = fl.read_pool({"id": ids, "predicted": ["x", "y"], "text": ["1", "2"]}, content="text")
    site = make_site(pool=pool)
    with client_of(site) as client:
        for one in client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"]:
            body = {"labels": [{"id": one["id"], "label": "x"}]}
            assert client.post(f"{ONE}/tell", json=body, headers=bearer(site.ann)).status_code == 200
    assert set(site.audit().labels()) == set(ids)


def test_formulas_in_ids_are_harmless_in_downloads_and_are_read_back(tmp_path: Path) -> None:
    ids, classes = ["=1+1", "@x", "plain", "'=1+2", "'tis"], ["-a", "b"]
    pool = fl.read_pool({"id": ids, "predicted": classes * 2 + classes[:1]}, classes=classes)
    site = make_site(pool=pool)
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(5, annotator="ann").ids, "-a"), annotator="ann")
    with client_of(site) as client:
        for what in ("labels", "log"):
            text = client.get(f"/download/{what}/audit", headers=bearer(site.owner)).text
            cells = [cell for line in text.removeprefix("\ufeff").splitlines() for cell in line.split(",")]
            assert not any(cell.startswith(("=", "@", "-a")) for cell in cells)
            if what == "labels":
                (tmp_path / "labels.csv").write_text(text)
    other = fl.create(None, "audit", pool)
    assert other.tell(tmp_path / "labels.csv", adopt=True) == 5
    assert other.labels() == audit.labels()
    both = fl.create(None, "audit", fl.read_pool({"id": ["=1", "'=1"], "predicted": ["a", "b"]}))
    with pytest.raises(LabelError, match="shows them alike"):
        both.tell({"'=1": "a"}, adopt=True)


# --- names


@pytest.mark.parametrize("name", [".", ".."])
def test_names_that_an_address_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of an assessment"):
        fl.create(None, name, pool_of_texts())


# --- greedy people


def test_nobody_holds_more_than_their_share() -> None:
    site = make_site()
    with client_of(site, held=5) as client:
        for _ in range(3):
            asked = client.post(f"{ONE}/ask", json={"n": 50}, headers=bearer(site.ann)).json()["requests"]
            assert len(asked) == 5
    assert len(site.audit().held("ann").ids) == 5


def test_one_person_cannot_skip_everything() -> None:
    site = make_site(pool=pool_of_texts(300))
    with client_of(site) as client:
        codes = []
        for _ in range(4):
            asked = client.post(f"{ONE}/ask", json={"n": 60}, headers=bearer(site.ann)).json()["requests"]
            for one in asked:
                body = {"ids": [one["id"]], "reason": "unclear"}
                codes.append(client.post(f"{ONE}/skip", json=body, headers=bearer(site.ann)).status_code)
        assert codes[:100] == [200] * 100
        assert set(codes[100:]) == {409}
        waiting = [item.id for item in site.audit().disputed()]
        assert len(waiting) == 100
        # Labels are taken all the same, and the owner's decisions make room.
        held = site.audit().held("ann").ids[0]
        said = {"labels": [{"id": held, "label": "class 0"}]}
        assert client.post(f"{ONE}/tell", json=said, headers=bearer(site.ann)).status_code == 200
        site.audit().decide(dict.fromkeys(waiting[:1], "class 1"), annotator="boss")
        body = {"ids": [site.audit().held("ann").ids[0]], "reason": "unclear"}
        assert client.post(f"{ONE}/skip", json=body, headers=bearer(site.ann)).status_code == 200


def test_the_owner_can_take_back_everything_of_one_person() -> None:
    site = make_site(overlap=2)
    audit = site.audit()
    for who in ("ann", "bob"):
        audit.tell(dict.fromkeys(audit.ask(4, annotator=who).ids, "class 0"), annotator=who)
    mine = audit.ask(3, annotator="ann").ids
    audit.skip(mine[:1], annotator="ann")
    assert len(audit.labels()) == 4
    with client_of(site) as client:
        body = {"name": "ann", "note": "pressed one key"}
        assert client.post(f"{ONE}/withdraw-person", json=body, headers=bearer(site.bob)).status_code == 403
        answer = client.post(f"{ONE}/withdraw-person", json=body, headers=bearer(site.owner))
        assert answer.json() == {"taken": 7}
        nothing = client.post(f"{ONE}/withdraw-person", json=body, headers=bearer(site.owner))
        assert nothing.status_code == 409
    audit = site.audit()
    assert audit.labels() == {}
    assert audit.held("ann").ids == []
    assert len(audit.answers("bob").columns["id"]) == 4  # nothing of anybody else
    assert set(audit.ask(7, annotator="cat").ids) >= set(mine)  # asked of others before any new item
    notes = [event.note for event in site.store.events("audit") if event.kind == "retract"]
    assert notes == ["taken back by boss: pressed one key"] * 5
    with pytest.raises(LabelError, match="no answers"):
        audit.withdraw_person("nobody")


# --- prefixes and proxies


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


# --- a lost database


def test_while_the_database_is_gone_the_answer_is_503_and_then_all_is_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = make_site(tmp_path / "audit.db")
    with client_of(site, remember=0.0) as client:
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
        for answer in (
            client.get("/api/v1/me", headers=bearer(site.ann)),
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
    assert len(lines) == 3
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


# --- looking people up


def test_a_request_looks_up_one_person_and_the_next_none(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site()
    looked: list[str] = []
    whole = People.who

    def counted(people: People, token: str) -> Any:
        looked.append(token)
        return whole(people, token)

    monkeypatch.setattr(People, "who", counted)
    monkeypatch.setattr(People, "list", lambda _: pytest.fail("reads everybody"))
    with client_of(site, remember=60.0) as client:
        for _ in range(5):
            assert client.get(f"{ONE}/classes", headers=bearer(site.ann)).status_code == 200
        assert looked == [site.ann]
        for _ in range(3):  # strangers are looked up each time: only who is known is remembered
            assert client.get("/api/v1/me", headers=bearer("wrong")).status_code == 401
        assert looked == [site.ann, *["wrong"] * 3]


def test_who_is_locked_out_on_the_page_is_out_at_once_and_elsewhere_within_a_second() -> None:
    site = make_site()
    with client_of(site, remember=1.0) as client:
        assert client.get("/api/v1/me", headers=bearer(site.ann)).status_code == 200
        client.post("/api/v1/people/revoke", json={"name": "ann"}, headers=bearer(site.owner))
        assert client.get("/api/v1/me", headers=bearer(site.ann)).status_code == 401
        assert client.get("/api/v1/me", headers=bearer(site.bob)).status_code == 200
        People(site.store).revoke("bob")  # another process
        time.sleep(1.1)
        assert client.get("/api/v1/me", headers=bearer(site.bob)).status_code == 401


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
