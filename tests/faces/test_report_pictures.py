"""Pictures of items: found, small, inside the page, and never from outside the folder."""

from __future__ import annotations

import base64
import re
import struct
import sys
import zlib
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from PIL import Image

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.io.cards import with_card
from fewlabels.io.pictures import folder_of, pictured
from fewlabels.report import read
from fewlabels.report.pictures import thumbnail
from tests.support.web import bearer, client_of, make_site

if TYPE_CHECKING:
    from pathlib import Path


def noisy(side: int) -> Image.Image:
    """A picture that is hard to compress."""
    return Image.effect_noise((side, side), 100).convert("RGB")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "photos"
    made.mkdir()
    for k in range(12):
        noisy(400).save(made / f"{k}.png")
    return made


def audited(folder: Path, names: list[str] | None = None) -> fl.Assessment:
    """An assessment of pictures with captions, in which the classifier is always wrong."""
    names = names or [f"{k}.png" for k in range(12)]
    table = {"predicted": ["cat", "dog"] * 6, "image": names, "caption": [f"Number {k}" for k in range(12)]}
    pool = with_card(fl.read_pool(table, columns=["image", "caption"]), ["image", "caption"])
    audit = fl.create(None, "photos", pool)
    audit.tell({item: ["dog", "cat"][int(item) % 2] for item in audit.ask(12).ids})
    return audit


@pytest.mark.slow
def test_a_report_has_small_pictures_of_its_examples(folder: Path) -> None:
    audit = audited(folder)
    without = read(audit, foresee=False).html()
    assert "data:image/jpeg" not in without
    assert "image: 3.png caption: Number 3" in without
    html = read(audit, foresee=False, content=folder).html()
    found = re.findall(r'<img src="data:image/jpeg;base64,([^"]+)"', html)
    assert len(found) == 12
    assert len(html) - len(without) < 300_000
    for data in found:
        assert max(Image.open(BytesIO(base64.b64decode(data))).size) <= 224
    assert "<blockquote>caption: Number 3</blockquote>" in html
    assert "3.png" not in html


@pytest.mark.slow
def test_nothing_outside_the_folder_and_nothing_broken_is_taken(folder: Path, tmp_path: Path) -> None:
    noisy(8).save(tmp_path / "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    (folder / "text.png").write_text("<script>alert(1)</script>")
    (folder / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    odd = ["../secret.png", str(tmp_path / "secret.png"), "link.png", "broken.png", "text.png", "drawing.svg"]
    html = read(audited(folder, [*odd, *odd]), foresee=False, content=folder).html()
    assert 'src="data:image' not in html
    assert "<script>alert" not in html


def test_a_thumbnail_forgets_what_the_camera_noted(tmp_path: Path) -> None:
    notes = Image.Exif()
    notes[0x010E] = "where I live"
    notes[0x0112] = 6  # turned by the camera
    picture = Image.new("RGB", (300, 100), "red")
    picture.save(tmp_path / "a.jpg", exif=notes)
    made = thumbnail(tmp_path / "a.jpg")
    assert made is not None
    data = base64.b64decode(made.partition(",")[2])
    assert b"where I live" not in data
    assert Image.open(BytesIO(data)).size == (75, 224)
    Image.new("P", (20, 20)).save(tmp_path / "b.gif")
    Image.new("RGBA", (20, 20), (0, 0, 0, 0)).save(tmp_path / "c.png")
    for name in ("b.gif", "c.png"):
        assert (thumbnail(tmp_path / name) or "").startswith("data:image/jpeg")


def test_a_picture_of_too_many_pixels_is_not_opened(tmp_path: Path) -> None:
    Image.new("1", (8_000, 6_000)).save(tmp_path / "bomb.png")
    assert thumbnail(tmp_path / "bomb.png") is None


def test_a_picture_that_no_memory_holds_is_left_out(tmp_path: Path) -> None:
    """One row of 39 million wide pixels: Pillow raises a MemoryError before it reads the first of them."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 39_000_000, 1, 16, 6, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(9)))]
    data = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in [*chunks, (b"IEND", b"")]
    )
    (tmp_path / "thin.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    assert thumbnail(tmp_path / "thin.png") is None


def test_a_large_photograph_is_decoded_no_larger_than_needed(tmp_path: Path) -> None:
    Image.new("RGB", (9_000, 7_000), "red").save(tmp_path / "photo.jpg")
    assert (thumbnail(tmp_path / "photo.jpg") or "").startswith("data:image/jpeg")


def test_without_pillow_only_what_is_small_already(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (20, 20)).save(folder / "small.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert thumbnail(folder / "0.png") is None
    assert (thumbnail(folder / "small.png") or "").startswith("data:image/png;base64,")


@pytest.mark.slow
def test_the_servers_report_has_the_pictures_that_it_shows(folder: Path) -> None:
    audit = audited(folder)
    site = make_site(pool=audit.pool)
    site.audit().tell(audit.labels(), adopt=True)
    with client_of(site, content=folder) as client:
        page = client.get("/download/report/audit", headers=bearer(site.owner)).text
    assert page.count("data:image/jpeg") == 12


@pytest.mark.slow
def test_the_command_line_finds_the_pictures_and_says_what_the_server_needs(folder: Path, tmp_path: Path) -> None:
    rows = [f"{k},{k}.png,{'cat' if k % 2 else 'dog'},Number {k}" for k in range(12)]
    (tmp_path / "pets.csv").write_text("\n".join(["id,image,predicted,caption", *rows]))
    database = str(tmp_path / "audit.db")

    def run(*words: str) -> str:
        made = CliRunner().invoke(cli, list(words), prog_name="fewlabels", catch_exceptions=False)
        assert made.exit_code == 0
        return made.stderr

    said = run("new", database, str(tmp_path / "pets.csv"), "--content", "image,caption")
    assert "columns 'image', 'caption'" in said
    assert f"Column 'image' has paths of pictures, which are in {str(folder)!r}." in said
    assert f"--content {folder}" in said
    audit = fl.load(database)
    audit.tell(dict.fromkeys(audit.ask(12).ids, "cat"))
    audit.close()
    for options in ((), ("--content", str(folder))):
        run("report", database, "-o", str(tmp_path / "pets.html"), "--no-forecast", *options)
        assert (tmp_path / "pets.html").read_text().count("data:image/jpeg") == 6


def test_columns_that_name_pictures(folder: Path) -> None:
    by_path = pictured("image", ["a.png", "b/c.JPG", None, ""])
    assert by_path is not None
    assert (by_path.by, by_path.example) == ("path", "a.png")
    for paths, common in (
        ([f"{folder}/1.png", f"{folder}/deep/2.png"], folder),
        ([f"{folder}/1.png", "2.png"], None),
        (["/nowhere/1.png"], None),
        (["/1.png", "/2.png"], None),  # the server must not be told to show the whole computer
    ):
        found = pictured("image", paths)
        assert found is not None
        assert found.folder == common
    by_address = pictured("image", ["https://x.org/a.png", "https://y.org/b.webp?w=1", "https://x.org/c.png"])
    assert by_address is not None
    assert (by_address.by, by_address.hosts) == ("address", ("https://x.org", "https://y.org"))
    for values in (["a.png", "no picture", "none either"], [], [None, 3], ["https://x.org/page"]):
        assert pictured("text", values) is None


def test_a_folder_is_found_beside_or_right_below(folder: Path, tmp_path: Path) -> None:
    assert folder_of("3.png", [tmp_path]) == folder
    assert folder_of("photos/3.png", [tmp_path]) == tmp_path
    assert folder_of("99.png", [tmp_path]) is None
    assert folder_of("../photos/3.png", [folder]) is None
