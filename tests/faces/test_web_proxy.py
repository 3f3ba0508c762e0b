"""A browser that reaches the server through a proxy and under a path: nginx as the documentation sets it up, if there
is one, and a small proxy that removes the path.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import fewlabels as fl
from tests.support.browser import PATIENCE, all_saved, answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browser import House
    from tests.support.web import Site

SERVING = Path(__file__).parents[2] / "docs" / "serving.md"
NGINX = os.environ.get("FEWLABELS_NGINX") or shutil.which("nginx")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def nginx(server: int, folder: Path) -> Iterator[int]:
    """nginx with the part of its configuration that the documentation shows; its port."""
    if NGINX is None:
        pytest.skip("there is no nginx here")
    (shown,) = re.findall(r"```nginx\n(.*?)```", SERVING.read_text(encoding="utf-8"), re.DOTALL)
    port = free_port()
    inside = shown.replace("127.0.0.1:8000", f"127.0.0.1:{server}")
    temporary = "\n".join(
        f"{kind}_temp_path {folder};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # Started by root it would work as somebody else, who may not write uploads into the folder of a test.
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}}\n"
        f"http {{ access_log off; {temporary}\nserver {{ listen 127.0.0.1:{port};\n{inside} }} }}\n"
    )
    process = subprocess.Popen(
        [NGINX, "-p", str(folder), "-e", str(folder / "errors"), "-c", str(folder / "nginx.conf")]
    )
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def stripping(server: int, _folder: Path) -> Iterator[int]:
    """A proxy that removes the path before it passes a request on."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            if not self.path.startswith("/lab/"):
                self.send_error(404)
                return
            away = suppress(OSError, http.client.HTTPException)  # one of the two ends is gone
            with closing(http.client.HTTPConnection("127.0.0.1", server, timeout=60)) as connection, away:
                self.pass_on(connection)

        def pass_on(self, connection: http.client.HTTPConnection) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {**dict(self.headers.items()), "x-forwarded-for": self.client_address[0]}
            connection.request(self.command, self.path.removeprefix("/lab"), body, headers)
            answer = connection.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "connection", "date"}:
                    self.send_header(name, value)
            self.end_headers()
            while part := answer.read1():
                self.wfile.write(part)
                self.wfile.flush()

        do_GET = do_POST = handle_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    thread = threading.Thread(target=proxy.serve_forever)
    thread.start()
    try:
        yield proxy.server_address[1]
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


class Behind:
    """The address of a server as people see it through a proxy."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}/lab"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("proxy", "site"),
    [(proxy, {"task": fl.Identify(fl.Accuracy(), lowest=1), "name": proxy.__name__}) for proxy in (nginx, stripping)],
    indirect=["site"],
)
def test_everything_works_behind_a_path(house: House, site: Site, proxy, tmp_path: Path) -> None:
    with house.serving("--root-path", "/lab") as inner, proxy(inner.server.port, tmp_path) as port:
        outer = replace(inner, server=cast("Any", Behind(port)))
        page = outer.label(site, site.ann)
        said = {answer(page, "1", n): "class 0" for n in range(1, 6)}
        all_saved(page)
        assert site.audit().labels() == said
        page.click("button:has-text('Sign out')")
        page.wait_for_selector("#sign-in")
        assert page.url == f"{outer.server.address}/"

        owner = outer.come(site.owner, f"/dashboard/{site.name}")
        owner.wait_for_selector(".tile >> text=labels", timeout=PATIENCE)
        owner.wait_for_function("() => document.querySelector('.tile b').textContent === '5'")
        audit = site.audit()
        audit.tell(dict.fromkeys(audit.ask(2).ids, "class 0"))
        owner.wait_for_function(
            "() => document.querySelector('.tile b').textContent === '7'"
        )  # the stream gets through
        owner.click("a:has-text('People')")
        owner.wait_for_load_state()  # with the script of the page
        owner.fill("input[name=name]", f"new {proxy.__name__}")
        owner.click("button:has-text('Invite')")
        owner.wait_for_selector("#invited >> visible=true")
        assert owner.input_value("#link").startswith(f"{outer.server.address}/sign-in#")

        file = tmp_path / "tickets.csv"  # larger than what a proxy lets through by itself
        file.write_text("id,predicted,text\n" + "".join(f"t{i},{'ab'[i % 2]},{'word ' * 20}\n" for i in range(15_000)))
        assert file.stat().st_size > 1.5 * 2**20
        owner.goto(f"{outer.server.address}/new")
        owner.get_by_label("File of predictions").set_input_files(file)
        owner.get_by_role("button", name="Upload and look at it").click()
        owner.wait_for_url(f"{outer.server.address}/new/*")
        assert "15,000 items" in owner.inner_text(".lead")


@pytest.mark.slow
def test_items_come_with_the_answers(house: House, site: Site) -> None:
    """The page asks when it begins; after that each answer brings the next item."""
    page = house.label(site, site.ann)
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url.rpartition("/")[2]))
    said = {}
    for n in range(1, 11):
        said[answer(page, "2", n)] = "class 1"
        all_saved(page)
    assert calls.count("tell") == 10
    assert calls.count("ask") <= 1
    assert len(said) == 10
    assert site.audit().labels() == said
