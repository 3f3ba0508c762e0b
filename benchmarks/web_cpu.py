"""CPU time of the server for each label: 20 annotators over loopback, this version against another one.

    python benchmarks/web_cpu.py                                       this version alone
    python benchmarks/web_cpu.py --old ../before/src --labels 2000     both in turn, and the ratio
    python benchmarks/web_cpu.py --thought 1 --labels 1000             with a second of thought: latencies

`--old` names the folder `src` in a checkout of an earlier commit, whose benchmarks/web.py makes its database. Its
annotators ask and tell in two calls, as its page did; those of this version tell and get the next item in one call. The
two take turns, so that whatever else the machine does slows both down. Nothing may be lost or doubled.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))
from benchmarks.web import NAME  # noqa: E402


class Annotator(threading.Thread):
    """Labels until their share is done; keeps the times of all calls."""

    def __init__(self, port: int, token: str, share: int, thought: float, *, in_one: bool) -> None:
        super().__init__()
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self._share = share
        self._thought = thought
        self._in_one = in_one
        self.asks: list[float] = []
        self.tells: list[float] = []
        self.told: list[str] = []

    def run(self) -> None:
        rng = np.random.default_rng([ord(letter) for letter in self._headers["authorization"]])
        time.sleep(self._thought * rng.random())  # people who think do not all come in the same moment
        requests = self._ask()
        while requests and len(self.told) < self._share:
            item = requests[0]["id"]
            if self._thought:
                time.sleep(self._thought * (0.5 + rng.random()))
            body: dict[str, Any] = {"labels": [{"id": item, "label": "class 1"}], "key": f"key-{item}-{'x' * 8}"}
            if self._in_one:
                body["next"] = 1
            began = time.perf_counter()
            answer = self._call("tell", body)
            self.tells.append(time.perf_counter() - began)
            self.told.append(item)
            requests = answer["requests"] if self._in_one else self._ask()

    def _ask(self) -> list[dict[str, str]]:
        began = time.perf_counter()
        requests: list[dict[str, str]] = self._call("ask", {"n": 1})["requests"]
        self.asks.append(time.perf_counter() - began)
        return requests

    def _call(self, verb: str, body: object) -> dict[str, Any]:
        self._connection.request("POST", f"/api/v1/assessments/{NAME}/{verb}", json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{verb}: {answer.status} {text!r}")
        return json.loads(text)


def made_by(source: Path, address: str, options: argparse.Namespace) -> list[str]:
    """The tokens of a new database, made by that version: an older one cannot open what a newer one has made."""
    code = (
        "import json, sys; from benchmarks.web import make; "
        "print(json.dumps(make(sys.argv[1], *map(int, sys.argv[2:]))))"
    )
    numbers = map(str, (options.items, options.groups, options.annotators))
    ended = subprocess.run(
        [sys.executable, "-c", code, address, *numbers],
        cwd=source.parent,
        env=os.environ | {"PYTHONPATH": str(source)},
        check=True,
        capture_output=True,
        text=True,
    )
    tokens: list[str] = json.loads(ended.stdout)
    return tokens


def serve(source: Path, address: str, port: int) -> subprocess.Popen[bytes]:
    """The server of a version, once it answers."""
    command = [sys.executable, "-m", "fewlabels", "serve", address, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(source)})
    for _ in range(300):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.2)
        else:
            return process
        finally:
            connection.close()
    raise RuntimeError("the server did not start")


def run(source: Path, options: argparse.Namespace, *, in_one: bool) -> float:
    """Run one version on a new database, print what it did, and return the CPU time of a label in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        address = options.address or str(Path(folder) / "audit.db")
        tokens = made_by(source, address, options)
        server = serve(source, address, options.port)
        try:
            share = options.labels // options.annotators
            crowd = [Annotator(options.port, token, share, options.thought, in_one=in_one) for token in tokens]
            before = psutil.Process(server.pid).cpu_times()
            began = time.perf_counter()
            health = Health(options.port)
            for one in (*crowd, health):
                one.start()
            for one in crowd:
                one.join()
            took = time.perf_counter() - began
            health.ended.set()
            health.join()
            after = psutil.Process(server.pid).cpu_times()
        finally:
            server.terminate()
            server.wait()
        told = Counter(item for one in crowd for item in one.told)
        check(address, told)
    cpu = (after.user + after.system - before.user - before.system) / told.total() * 1000
    rate = told.total() / took
    print(f"{source}: {told.total():,} labels in {took:.0f} s, {rate:.0f} a second; {cpu:.2f} ms CPU a label")
    for name, times in {
        "ask": [t for one in crowd for t in one.asks],
        "tell": [t for one in crowd for t in one.tells],
        "health": health.times,
    }.items():
        p50, p95 = np.quantile(1000 * np.array(times), [0.5, 0.95])
        print(f"  {name:6s} median {p50:6.1f} ms   p95 {p95:6.1f} ms   longest {1000 * max(times):6.1f} ms")
    return cpu


class Health(threading.Thread):
    """Asks five times a second whether the server is running."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self.ended = threading.Event()
        self.times: list[float] = []

    def run(self) -> None:
        while not self.ended.is_set():
            began = time.perf_counter()
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            connection.close()
            self.times.append(time.perf_counter() - began)
            self.ended.wait(0.2)


def check(address: str, told: Counter[str]) -> None:
    """End with an error if the log does not hold just what was told."""
    from fewlabels.store import Store

    store = Store(address, existing=True)
    kept = Counter(event.item for event in store.events(NAME) if event.kind == "label")
    store.close()
    if kept != told or max(kept.values()) > 1:
        sys.exit(f"labels were lost or doubled: {len(told - kept)} lost, {sum(n > 1 for n in kept.values())} doubled")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="The folder with the package of another version.")
    parser.add_argument("--address", help="An empty database; new SQLite files if not given.")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument("--thought", type=float, default=0.0, help="Seconds of thought before each answer, on average.")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--port", type=int, default=8798)
    options = parser.parse_args()
    old, new = [], []
    for _ in range(options.rounds):
        if options.old is not None:
            old.append(run(options.old, options, in_one=False))
        new.append(run(HERE / "src", options, in_one=True))
    if old:
        before, now = float(np.mean(old)), float(np.mean(new))
        print(f"CPU a label: {before:.2f} ms before, {now:.2f} ms now: {before / now:.1f} times less")


if __name__ == "__main__":
    main()
