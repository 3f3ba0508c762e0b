"""Who gets in, and what nobody gets: files outside the folder, other origins, secrets, too much, too often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.web import Settings
from fewlabels.web.content import file_of
from fewlabels.web.guard import COOKIE, Rates, csrf_token
from tests.web import bearer, client_of, events_of, make_site

if TYPE_CHECKING:
    from pathlib import Path

ONE = "/api/v1/assessments/audit"
PNG = bytes.fromhex("89504e470d0a1a0a")


def test_strangers_learn_nothing_but_that_they_are_strangers() -> None:
    site = make_site()
    with client_of(site, attempts=1000) as client:
        for headers in ({}, bearer("wrong"), bearer(""), {"cookie": f"{COOKIE}=wrong"}, {"cookie": ";;=;"}):
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
        for header in ({}, {"x-csrf-token": "wrong"}, {"x-csrf-token": csrf_token(site.bob)}):
            assert client.post(f"{ONE}/ask", json={}, headers=header).status_code == 403
        good = {"x-csrf-token": csrf_token(site.ann)}
        assert client.post(f"{ONE}/ask", json={}, headers=good).status_code == 200
        page = client.get("/label/audit").text
        assert csrf_token(site.ann) in page
        assert site.ann not in page
        assert client.post("/sign-out", data={"csrf": "wrong"}).status_code == 403
        assert client.post("/sign-out", data={"csrf": csrf_token(site.ann)}, follow_redirects=False).status_code == 303
        assert client.get("/api/v1/me").status_code == 401
    assert len(events_of(site)) == 1


def test_secure_cookies_when_the_server_speaks_https() -> None:
    site = make_site()
    with client_of(site, secure=True) as client:
        assert "secure" in client.post("/sign-in", json={"token": site.ann}).headers["set-cookie"].lower()


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
        for path in ("/", "/label/audit", "/decide/audit", "/dashboard/audit", "/dashboard/audit/live", "/people"):
            text = client.get(path, headers=bearer(site.owner)).text
            for forbidden in (" style=", "<style", " onclick=", " onload=", "javascript:", "http://", "//cdn"):
                assert forbidden not in text, (path, forbidden)


@pytest.mark.parametrize("body", [b'{"n": 1}' + b" " * 2000, b"x" * 2000])
def test_large_bodies_are_refused_with_and_without_their_length(body: bytes) -> None:
    site = make_site()

    def parts() -> object:
        yield body[:500]
        yield body[500:]

    with client_of(site, largest=1000) as client:
        for content in (body, parts()):
            answer = client.post(f"{ONE}/ask", content=content, headers=bearer(site.ann))
            assert answer.status_code == 413
    assert events_of(site) == []


def test_failed_attempts_run_out_and_come_back() -> None:
    site = make_site()
    with client_of(site, attempts=3) as client:
        codes = [client.post("/sign-in", json={"token": "wrong"}).status_code for _ in range(5)]
        assert codes == [401, 401, 401, 429, 429]
        assert client.get("/api/v1/me", headers=bearer("wrong")).status_code == 429


def test_one_person_cannot_ask_for_ever() -> None:
    site = make_site()
    with client_of(site, rate=0.5) as client:  # ten seconds' worth at once: five
        codes = [client.get("/api/v1/me", headers=bearer(site.ann)).status_code for _ in range(6)]
        assert codes == [200] * 5 + [429]
        assert client.get("/api/v1/me", headers=bearer(site.bob)).status_code == 200


def test_rates_come_back_with_time_and_stay_bounded() -> None:
    rates = Rates(2.0, 3, most=10)
    assert [rates.take("a", now=0.0) for _ in range(4)] == [True, True, True, False]
    assert rates.spent("a", now=0.4)
    assert rates.take("a", now=0.5)
    for i in range(1000):
        rates.take(str(i), now=1.0)
    assert len(rates._buckets) == 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "content"
    (inside / "deep").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(PNG + b"secret")
    (tmp_path / "content-other").mkdir()
    (tmp_path / "content-other" / "x.png").write_bytes(PNG + b"secret")
    (inside / "a.png").write_bytes(PNG)
    (inside / "deep" / "b.png").write_bytes(PNG)
    (inside / "page.html").write_text("<script>1</script>")
    (inside / "text.txt").write_text("a text")
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    (inside / "out").symlink_to(tmp_path)
    (inside / "loop.png").symlink_to("loop.png")
    (inside / "good.png").symlink_to("a.png")
    return inside


@pytest.mark.parametrize("name", ["a.png", "deep/b.png", "./a.png", "good.png", "deep//b.png"])
def test_files_of_the_folder_are_found(folder: Path, name: str) -> None:
    found = file_of(name, folder)
    assert found is not None
    assert found.read_bytes() == PNG


@pytest.mark.parametrize(
    "name",
    [
        "../secret.png",
        "deep/../../secret.png",
        "link.png",
        "out/secret.png",
        "loop.png",
        "..",
        ".",
        "",
        "deep",
        "%2e%2e/secret.png",
        "..%2fsecret.png",
        "..\\secret.png",
        "a.png\x00",
        "../content-other/x.png",
        "/etc/passwd",
        "a" * 2000,
        "none.png",
        "~/secret.png",
        "file:///etc/passwd",
        "C:\\secret.png",
    ],
)
def test_nothing_outside_the_folder_is_ever_found(folder: Path, name: str) -> None:
    assert file_of(name, folder) is None
    assert file_of(str(folder.parent / "secret.png"), folder) is None


def test_content_over_http(folder: Path) -> None:
    names = ["a.png", "../secret.png", "link.png", "page.html", "text.txt", "https://elsewhere.example/x.png"]
    pool = fl.read_pool(
        {"id": list("abcdef"), "scores": [[0.9, 0.1]] * 6, "file": names}, columns=["file"], content="file"
    )
    site = make_site(pool=pool)
    with client_of(site, content=folder) as client:
        asked = client.post(f"{ONE}/ask", json={"n": 6}, headers=bearer(site.ann)).json()["requests"]
        part = {one["id"]: one["parts"][0] for one in asked}
        assert {key: value["kind"] for key, value in part.items()} == {
            "a": "image", "b": "text", "c": "text", "d": "text", "e": "text", "f": "link",
        }  # fmt: skip
        assert part["e"]["value"] == "a text"
        good = client.get(part["a"]["value"], headers=bearer(site.ann))
        assert good.content == PNG
        assert good.headers["content-type"] == "image/png"
        assert "sandbox" in good.headers["content-security-policy"]
        for item in "bcdf":
            assert client.get(f"{ONE}/content?id={item}&column=file", headers=bearer(site.ann)).status_code == 404
        assert client.get(f"{ONE}/content?id=a&column=scores", headers=bearer(site.ann)).status_code == 404


@pytest.mark.parametrize(
    "origin", ["images.example.com", "https://a.com/x", "https://a.com; script-src *", "ftp://a.com", "https://*.com"]
)
def test_an_image_host_must_be_an_origin(origin: str) -> None:
    with pytest.raises(InputError, match="is no origin"):
        Settings(image_hosts=(origin,))


def test_texts_that_a_spreadsheet_would_run_are_made_harmless() -> None:
    site = make_site()
    audit = site.audit()
    audit.skip(audit.ask(1, annotator="ann").ids, reason="=HYPERLINK(1)", annotator="ann")
    with client_of(site) as client:
        text = client.get("/dashboard/audit/log.csv", headers=bearer(site.owner)).text
    assert "'=HYPERLINK(1)" in text


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
