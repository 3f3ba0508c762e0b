"""A browser, a server on this machine, and people who come to it: what the tests of the pages share."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pytest

import fewlabels as fl
from fewlabels.store import Store
from fewlabels.store.people import People
from tests.support.web import Site, pool_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
QUIET += ["--disable-sync", "--no-first-run", "--disable-quic"]
PATIENCE = 60_000  # milliseconds: on a busy machine a page takes its time
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d4944415478da63fccfc0500f00048401803d2b6e8b0000000049454e44ae426082"
)
PICTURE = "a b#%.png"  # in the content folder


def browser_of_this_machine() -> str | None:
    """The Chromium to drive: the one that FEWLABELS_BROWSER names, or the one that is installed."""
    named = os.environ.get("FEWLABELS_BROWSER")
    return named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Server:
    """`fewlabels serve` in a process of its own, which can be killed and started again."""

    def __init__(self, database: Path, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.database = database
        self._command = [sys.executable, "-m", "fewlabels", "serve", str(database), *options]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen([*self._command, "--port", str(self.port)], stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.address}/healthz", timeout=5).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ends(self) -> int:
        """Ask it to end, as Ctrl-C and every service manager do; how it ended."""
        assert self._process is not None
        self._process.terminate()
        code = self._process.wait(timeout=60)  # with a live view that kept it up, ten minutes
        self._process = None
        return code


@contextmanager
def running(database: Path, *options: str) -> Iterator[Server]:
    """A server, for as long as the block."""
    server = Server(database, *options)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextmanager
def built_in(folder: Path) -> Iterator[tuple[Store, Server, dict[str, str]]]:
    """A database in a folder, the server over it, and the tokens of an owner and two annotators."""
    content = folder / "content"
    content.mkdir()
    (content / PICTURE).write_bytes(PNG)
    store = Store(folder / "audit.db")
    people = People(store)
    tokens = {name: people.invite(name, "owner" if name == "boss" else "annotator") for name in ("boss", "ann", "bob")}
    fl.create(store, "another", pool_of_texts(4, 2))  # so that "/" is always the list
    with running(folder / "audit.db", "--content", str(content)) as server:
        yield store, server, tokens
    store.close()


@dataclass
class House:
    """One server for all tests, over a database in which each test makes an assessment of its own."""

    store: Store
    server: Server
    tokens: dict[str, str]
    browser: Browser
    opened: list[BrowserContext] = field(default_factory=list)

    @property
    def content(self) -> Path:
        """The folder with the picture."""
        return self.server.database.parent / "content"

    def site(self, name: str, pool: fl.Pool, **spec: Any) -> Site:
        """A new assessment, to which the owner and the two annotators can come."""
        # Labels belong to a pool: a column with the test's own name makes it one of its own.
        named = (pool.columns or pa.table({})).append_column("test", pa.array([name] * len(pool)))
        fl.create(self.store, name, replace(pool, columns=named), **spec)
        return Site(self.store, name, self.tokens["boss"], self.tokens["ann"], self.tokens["bob"])

    def link(self, token: str) -> str:
        return f"{self.server.address}/sign-in#{token}"

    def come(self, token: str, path: str = "/", **options: Any) -> Page:
        """Follow a personal link in a browser of one's own; every error of a script fails the test."""
        context = self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        self.opened.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: pytest.fail(f"an error on the page: {error}"))
        page.goto(self.link(token))
        page.wait_for_selector("header .right")
        page.goto(self.server.address + path)
        return page

    def label(self, site: Site, token: str, **options: Any) -> Page:
        """The labelling page of somebody, with an item on it."""
        page = self.come(token, f"/label/{quote(site.name, safe='')}", **options)
        page.wait_for_selector("#item >> visible=true")
        return page

    @contextmanager
    def serving(self, *options: str) -> Iterator[House]:
        """The same house behind another server, with options of its own."""
        with running(self.server.database, *options) as server:
            yield replace(self, server=server)


def all_saved(page: Page) -> None:
    page.wait_for_selector('#saved[data-waiting="0"]')


def has_done(page: Page, n: int) -> None:
    page.wait_for_function("n => document.getElementById('done').textContent === `${n} answered`", arg=n)


def item_shown(page: Page) -> str:
    """The id of the item on the page, by its text; on a busy machine the next may take a moment."""
    page.wait_for_selector("#item >> visible=true")
    number = int(page.inner_text("#item").split()[-1])
    return f"item-{number:03}"


def answer(page: Page, key: str, n: int) -> str:
    """Answer the item shown by a key, as the n-th on this page; which item it was."""
    item = item_shown(page)
    page.keyboard.press(key)
    has_done(page, n)
    return item
