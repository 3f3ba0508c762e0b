"""Files that the server shows: those of its folder and no others, by their address, and hosts of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.io.pictures import file_of
from fewlabels.web import Settings
from fewlabels.web.guard import seal
from tests.support.web import bearer, client_of, make_site

if TYPE_CHECKING:
    from pathlib import Path

ONE = "/api/v1/assessments/audit"
PNG = bytes.fromhex("89504e470d0a1a0a")


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
    assert file_of(str(folder / name), folder) == found  # a whole path into the folder is fine as well


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
    assert file_of(f"{folder}/{name}", folder) is None


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
        for other in (site.bob, site.owner):  # it was handed to ann
            assert client.get(part["a"]["value"], headers=bearer(other)).status_code == 404
        assert good.content == PNG
        assert good.headers["content-type"] == "image/png"
        assert "sandbox" in good.headers["content-security-policy"]
        for item in "abcdf":
            query = {"id": item, "column": "file" if item != "a" else "scores"}
            query["seal"] = seal(site.ann, "content", "audit", item)
            assert client.get(f"{ONE}/content", params=query, headers=bearer(site.ann)).status_code == 404


@pytest.mark.parametrize(
    "origin", ["images.example.com", "https://a.com/x", "https://a.com; script-src *", "ftp://a.com", "https://*.com"]
)
def test_an_image_host_must_be_an_origin(origin: str) -> None:
    with pytest.raises(InputError, match="is not an origin"):
        Settings(image_hosts=(origin,))
