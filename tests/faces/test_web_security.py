"""Who gets in, and what nobody gets: files outside the folder, other origins, secrets, too much, too often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from fewlabels.assessment import Assessment
from fewlabels.errors import PoolChangedError, SpecError, StoreError
from fewlabels.store.people import People
from fewlabels.store.sessions import Sessions
from fewlabels.web import create_app
from fewlabels.web.guard import Rates, csrf_token
from fewlabels.web.live import Streams
from tests.support.web import bearer, client_of, events_of, make_site, streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ONE = "/api/v1/assessments/audit"


def test_strangers_learn_nothing_but_that_they_are_strangers() -> None:
    site = make_site()
    with client_of(site, attempts=1000) as client:
        for headers in ({}, bearer("wrong"), bearer(""), {"cookie": "fewlabels=wrong"}, {"cookie": ";;=;"}):
            for path in ("me", "assessments", "assessments/audit/classes", "assessments/none/x", "nowhere"):
                assert client.get(f"/api/v1/{path}", headers=headers).status_code == 401
            assert client.post(f"{ONE}/ask", content=b"{not json", headers=headers).status_code == 401
            page = client.get("/dashboard/audit", headers=headers, follow_redirects=False)
            assert (page.status_code, page.headers["location"]) == (303, "/")
    assert events_of(site) == []


def test_a_cookie_needs_the_pages_own_token() -> None:
    site = make_site()
    with client_of(site) as client:
        answer = client.post("/sign-in", json={"token": site.ann})
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert client.get("/api/v1/me").json()["name"] == "ann"
        for header in ({}, {"x-csrf-token": "wrong"}, {"x-csrf-token": csrf_token(site.ann)}):
            assert client.post(f"{ONE}/ask", json={}, headers=header).status_code == 403
        session = next(iter(client.cookies.values()))
        good = {"x-csrf-token": csrf_token(session)}
        assert client.post(f"{ONE}/ask", json={}, headers=good).status_code == 200
        page = client.get("/label/audit").text
        assert csrf_token(session) in page
        assert site.ann not in page
        assert session not in page
        client.post("/sign-out", data={"csrf": "wrong"})
        assert client.get("/api/v1/me").status_code == 200  # still signed in
        assert client.post("/sign-out", data={"csrf": csrf_token(session)}, follow_redirects=False).status_code == 303
        assert client.get("/api/v1/me").status_code == 401
    assert len(events_of(site)) == 1


def test_signing_out_ends_the_cookie_and_not_the_link() -> None:
    site = make_site()
    with client_of(site) as client:
        client.post("/sign-in", json={"token": site.ann})
        stolen = {"cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
        assert site.ann not in stolen["cookie"]
        session = next(iter(client.cookies.values()))
        client.cookies.clear()
        assert client.get("/api/v1/me", headers=stolen).json()["name"] == "ann"
        assert client.get("/api/v1/me", headers=bearer(session)).status_code == 401  # it is good for a cookie only
        client.post("/sign-out", data={"csrf": csrf_token(session)}, headers=stolen)
        assert client.get("/api/v1/me", headers=stolen).status_code == 401
        assert client.post("/sign-in", json={"token": site.ann}).status_code == 200
        assert client.get("/api/v1/me").json()["name"] == "ann"
    with client_of(site) as client:  # after the server was started again
        assert client.get("/api/v1/me", headers=stolen).status_code == 401


@pytest.mark.parametrize(
    "other",
    [
        'x={"a": 1}',
        "a=b c",
        "theme=[dark]",
        "p=a,b",
        "u=zo\u00eb",
        "_xsrf=2|a|1",
        'u="2|1:0|10:17=|a"',
        "@foo=1",
        "=bad",
        "x",
    ],
)
def test_a_cookie_of_another_program_locks_nobody_out(other: str) -> None:
    """Browsers send the cookies of every program on this host, and some programs set what no standard allows."""
    site = make_site()
    with client_of(site) as client:
        session = Sessions(site.store).begin(site.ann)
        for cookies in (f"{other}; fewlabels={session}", f"fewlabels={session}; {other}"):
            answer = client.get("/api/v1/me", headers={b"cookie": cookies.encode("latin-1")})
            assert answer.json() == {"name": "ann", "role": "annotator"}, cookies


def test_secure_cookies_when_the_server_speaks_https() -> None:
    site = make_site()
    with client_of(site, secure=True) as client:
        cookie = client.post("/sign-in", json={"token": site.ann}).headers["set-cookie"]
    assert cookie.startswith("__Host-")  # which no neighbouring host can set
    assert "secure" in cookie.lower()


def test_every_answer_has_the_headers() -> None:
    site = make_site()
    with client_of(site, image_hosts=("https://images.example.com",)) as client:
        answers = [client.get(path, headers=bearer(site.owner)) for path in ("/", "/people", "/static/label.js", "/x")]
        answers.append(client.get("/api/v1/me"))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "img-src 'self' data: https://images.example.com" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_pages_hold_no_inline_script_or_style() -> None:
    site = make_site()
    audit = site.audit()
    audit.skip(audit.ask(1, annotator="ann").ids, annotator="ann")
    with client_of(site) as client:
        for path in ("/", "/label/audit", "/decide/audit", "/dashboard/audit", "/part/live/audit", "/people"):
            text = client.get(path, headers=bearer(site.owner)).text
            for forbidden in (" style=", "<style", " onclick=", " onload=", "javascript:", "http://", "//cdn"):
                assert forbidden not in text, (path, forbidden)


@pytest.mark.parametrize("body", [b'{"n": 1}' + b" " * 2000, b"x" * 2000])
def test_large_bodies_are_refused_with_and_without_their_length(body: bytes) -> None:
    site = make_site()

    def parts() -> Iterator[bytes]:
        yield body[:500]
        yield body[500:]

    with client_of(site, largest=1000) as client:
        for content in (body, parts()):
            answer = client.post(f"{ONE}/ask", content=content, headers=bearer(site.ann))
            assert answer.status_code == 413
    assert events_of(site) == []


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "1e3", "\u00b2"])
def test_a_length_that_is_none_is_refused_in_words(length: str) -> None:
    """Python reads no number of more than 4,300 digits."""
    site = make_site()
    with client_of(site) as client:
        headers: Any = bearer(site.ann) | {"content-length": length.encode("latin-1")}
        answer = client.post(f"{ONE}/ask", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too-large")
    assert events_of(site) == []


def test_failed_attempts_run_out_and_lock_out_nobody_else() -> None:
    site = make_site()
    with client_of(site, attempts=3) as client:
        codes = [client.post("/sign-in", json={"token": "wrong"}).status_code for _ in range(5)]
        assert codes == [401, 401, 401, 429, 429]
        assert client.get("/api/v1/me", headers=bearer("wrong")).status_code == 429
        # Others may share the address: a proxy's, or an office's.
        assert client.get("/api/v1/me", headers=bearer(site.ann)).status_code == 200
        assert client.post("/sign-in", json={"token": site.ann}).status_code == 200


@pytest.mark.parametrize("origin", ["cross-site", "same-site"])
def test_other_sites_cannot_sign_anybody_in_or_out_or_answer(origin: str) -> None:
    site = make_site()
    with client_of(site) as client:
        elsewhere = {"sec-fetch-site": origin}
        refused = client.post("/sign-in", json={"token": site.bob}, headers=elsewhere)
        assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
        client.post("/sign-in", json={"token": site.ann}, headers={"sec-fetch-site": "same-origin"})
        assert client.post("/sign-out", data={"csrf": csrf_token(site.ann)}, headers=elsewhere).status_code == 403
        with_csrf = elsewhere | {"x-csrf-token": csrf_token(site.ann)}
        assert client.post(f"{ONE}/ask", json={}, headers=with_csrf).status_code == 403
        assert client.get("/api/v1/me").json()["name"] == "ann"
    assert events_of(site) == []


def test_a_sign_in_without_a_content_type_is_not_read() -> None:
    site = make_site()
    with client_of(site) as client:
        for kind in ({}, {"content-type": "text/plain"}):
            answer = client.post("/sign-in", content=f'{{"token": "{site.ann}"}}', headers=kind)
            assert answer.status_code == 422


def test_servers_on_two_ports_keep_their_own_cookies() -> None:
    one, other = make_site(), make_site()
    with client_of(one) as client, client_of(other) as second:
        first = client.post("/sign-in", json={"token": one.ann}, headers={"host": "localhost:8000"})
        both = second.post("/sign-in", json={"token": other.ann}, headers={"host": "localhost:8001"})
        cookies = "; ".join(answer.headers["set-cookie"].split(";")[0] for answer in (first, both))
        for reader, port in ((client, 8000), (second, 8001)):
            headers = {"host": f"localhost:{port}", "cookie": cookies}
            assert reader.get("/api/v1/me", headers=headers).status_code == 200


def test_a_cookie_that_is_valid_no_more_is_taken_back() -> None:
    site = make_site()
    with client_of(site) as client:
        client.post("/sign-in", json={"token": site.ann})
        People(site.store).revoke("ann")
        answer = client.get("/")
    assert 'id="sign-in"' in answer.text
    assert "max-age=0" in answer.headers["set-cookie"].lower()


def test_one_person_cannot_ask_for_ever() -> None:
    site = make_site()
    with client_of(site, rate=0.5) as client:  # ten seconds' worth at once: five
        codes = [client.get("/api/v1/me", headers=bearer(site.ann)).status_code for _ in range(6)]
        assert codes == [200] * 5 + [429]
        assert client.get("/api/v1/me", headers=bearer(site.bob)).status_code == 200


def test_rates_come_back_with_time_and_stay_bounded() -> None:
    rates = Rates(2.0, 3, most=10)
    assert [rates.take("a", now=0.0) for _ in range(4)] == [True, True, True, False]
    assert not rates.take("a", now=0.4)
    assert rates.take("a", now=0.5)
    for i in range(1000):
        rates.take(str(i), now=1.0)
    assert len(rates._buckets) == 10


def test_texts_that_a_spreadsheet_would_run_are_made_harmless() -> None:
    site = make_site()
    audit = site.audit()
    audit.skip(audit.ask(1, annotator="ann").ids, reason="=HYPERLINK(1)", annotator="ann")
    with client_of(site) as client:
        text = client.get("/download/log/audit", headers=bearer(site.owner)).text
    assert "'=HYPERLINK(1)" in text


def test_what_is_wrong_with_the_database_is_for_its_owner_only(caplog: pytest.LogCaptureFixture) -> None:
    site = make_site()
    secret = "cannot open /srv/boss/audit.db on db.example.com"
    with client_of(site) as client, pytest.MonkeyPatch.context() as patch:
        for error in (StoreError(secret), PoolChangedError(secret)):
            patch.setattr(Assessment, "ask", _raising(error))
            answer = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann))
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
            assert secret not in answer.text
    assert secret in caplog.text


def test_names_that_are_taken_or_unknown_are_the_visitors_to_correct(caplog: pytest.LogCaptureFixture) -> None:
    site = make_site()
    wrong = {"people": {"name": "ann"}, "people/again": {"name": "nobody"}, "people/revoke": {"name": "nobody"}}
    with client_of(site) as client:
        for route, body in wrong.items():
            answer = client.post(f"/api/v1/{route}", json=body, headers=bearer(site.owner))
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
            assert body["name"] in answer.json()["error"]["message"]
        answer = client.post("/api/v1/assessments/nothing/ask", json={}, headers=bearer(site.ann))
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not-found")
        # Two owners invite the same new person at once: one of them is told.
        sent = [client.post("/api/v1/people", json={"name": "zoë"}, headers=bearer(site.owner)) for _ in range(2)]
        assert [answer.status_code for answer in sent] == [201, 409]
    assert caplog.text == ""  # the database is well


def test_parts_that_do_not_go_together_are_the_visitors_to_correct_but_an_unknown_part_is_not() -> None:
    site = make_site()
    with client_of(site) as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr("fewlabels.web.service.load", _raising(SpecError("there is no metric 'Mine'")))
        answer = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann))
        assert (answer.status_code, "Mine" in answer.text) == (503, False)
        patch.undo()
        patch.setattr(Assessment, "ask", _raising(SpecError("leave the guarantee out")))
        answer = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann))
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "leave the guarantee out")


def test_even_a_crash_has_the_shape_of_an_error() -> None:
    site = make_site()
    app = create_app(site.store)
    with TestClient(app, raise_server_exceptions=False) as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Assessment, "ask", _raising(ZeroDivisionError("a secret")))
        answer = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann))
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "error")
    assert "a secret" not in answer.text


def _raising(error: Exception) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_who_looks_at_a_page_gets_errors_as_pages() -> None:
    site = make_site()
    with client_of(site) as client:
        headers = bearer(site.ann) | {"accept": "text/html,*/*"}
        for path, status in (("/label/%3Cb%3E", 404), ("/dashboard/audit", 403), ("/nowhere", 404)):
            answer = client.get(path, headers=headers)
            assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
            assert "<b>" not in answer.text
        assert client.get("/api/v1/nowhere", headers=headers).json()["error"]["code"] == "not-found"


def test_nobody_is_sent_to_the_host_that_a_request_names() -> None:
    site = make_site()
    with client_of(site) as client:
        for path in ("/people/", "//evil.example/", "/label//evil.example", "/api/v1/me/"):
            headers = bearer(site.owner) | {"host": "evil.example"}
            assert "evil" not in client.get(path, headers=headers, follow_redirects=False).headers.get("location", "")


def test_live_views_are_bounded_for_all_and_for_each() -> None:
    views = Streams(most=50)
    for _ in range(20):
        views.begin("ann")
    with pytest.raises(HTTPException, match="too many pages"):
        views.begin("ann")
    for i in range(30):  # who has many keeps nobody else out, as long as there is room at all
        views.begin(f"person {i % 5}")
    with pytest.raises(HTTPException, match="too many pages"):
        views.begin("bob")
    views.end("ann")
    views.begin("bob")
    assert views.open.total() == 50


@streams
def test_streams_are_bounded_and_end_for_who_is_locked_out() -> None:
    site = make_site()
    with client_of(site) as client:
        service = cast("Any", client.app).state.service
        with client.stream("GET", f"{ONE}/live", headers=bearer(site.owner)) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: change"
            assert service.streams.open == {"boss": 1}
            People(site.store).revoke("boss")
            assert "change" not in "".join(list(lines)[2:])  # and it ends
        assert service.streams.open == {}
        for i in range(100):
            service.streams.begin(f"owner {i // 20}")
        headers = bearer(People(site.store).invite("boss", "owner"))
        assert client.get(f"{ONE}/live", headers=headers).status_code == 503
        service.streams.end("owner 1")
        service.streams.begin("owner 2" if "owner 2" not in service.streams.open else "boss")
        assert client.get(f"{ONE}/live", headers=headers).status_code == 503


def test_what_is_kept_stays_bounded() -> None:
    site = make_site()
    with client_of(site) as client:
        for level in (0.5, 0.6, 0.7):
            for verb in ("estimates", "answer"):
                params = {"level": level}
                assert client.get(f"{ONE}/{verb}", params=params, headers=bearer(site.owner)).status_code == 200
        assert len(cast("Any", client.app).state.service._kept) == 1  # one finding serves both


def test_no_secret_is_kept_or_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    site = make_site(tmp_path / "audit.db")
    with caplog.at_level("DEBUG"), client_of(site) as client:
        client.post("/sign-in", json={"token": site.ann})
        client.get("/", headers=bearer(site.owner))
    site.store.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for token in (site.ann, site.bob, site.owner):
        assert token.encode() not in kept
        assert token not in caplog.text
