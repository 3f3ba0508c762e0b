"""Load on the web app over loopback: many annotators at once, nothing lost or doubled, and how long a call takes.

    python benchmarks/web.py                                  20 annotators, 10,000 labels, SQLite
    python benchmarks/web.py --address postgresql://...       the same on a server
    python benchmarks/web.py --items 1000000 --labels 2000    the next item in a large pool

Latencies are those that a browser sees: connection kept open, JSON, sign-in by token, one transaction a call.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import fewlabels as fl
from fewlabels.store import Store
from fewlabels.store.people import People

NAME = "load"


def make(address: str, items: int, groups: int, annotators: int) -> list[str]:
    """A pool of items with texts in a new assessment; returns the tokens of the annotators."""
    rng = np.random.default_rng(1)
    columns: dict[str, pa.Array[Any]] = {
        "id": pa.array([f"item-{i}" for i in range(items)]),
        "predicted": pa.array([f"class {k}" for k in rng.integers(groups, size=items)]),
        "confidence": pa.array(rng.beta(5, 1, size=items)),
        "text": pa.array([f"The text of item {i}" for i in range(items)]),
    }
    pool = fl.read_pool(pa.table(columns), columns=["text"], content="text")
    store = Store(address)
    fl.create(store, NAME, pool, task=fl.Identify(fl.Accuracy(), lowest=min(10, groups - 1)))
    people = People(store)
    tokens = [people.invite(f"annotator {i}") for i in range(annotators)]
    store.close()
    return tokens


class Annotator(threading.Thread):
    """Asks and tells until their share is done, as the page does; keeps the times of both."""

    def __init__(self, port: int, token: str, share: int, label: str) -> None:
        super().__init__()
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self._share = share
        self._label = label
        self.asks: list[float] = []
        self.tells: list[float] = []
        self.told: list[str] = []

    def run(self) -> None:
        while len(self.told) < self._share:
            began = time.perf_counter()
            requests = self._call("ask", {"n": 1})["requests"]
            asked = time.perf_counter()
            if not requests:
                return
            item = requests[0]["id"]
            self._call("tell", {"labels": [{"id": item, "label": self._label}], "key": f"key-{item}".replace(" ", "")})
            self.asks.append(asked - began)
            self.tells.append(time.perf_counter() - asked)
            self.told.append(item)

    def _call(self, verb: str, body: object) -> dict[str, list[dict[str, str]]]:
        self._connection.request("POST", f"/api/v1/assessments/{NAME}/{verb}", json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{verb}: {answer.status} {text!r}")
        return json.loads(text)


def serve(address: str, port: int) -> subprocess.Popen[bytes]:
    """`fewlabels serve` in a process of its own, once it answers."""
    command = [sys.executable, "-m", "fewlabels", "serve", address, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="An empty database; a new SQLite file if not given.")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument("--port", type=int, default=8799)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        address = options.address or str(Path(folder) / "audit.db")
        tokens = make(address, options.items, options.groups, options.annotators)
        server = serve(address, options.port)
        try:
            share = options.labels // options.annotators
            crowd = [Annotator(options.port, token, share, "class 1") for token in tokens]
            began = time.perf_counter()
            for one in crowd:
                one.start()
            for one in crowd:
                one.join()
            took = time.perf_counter() - began
        finally:
            server.terminate()
            server.wait()
        report(address, crowd, took)


def report(address: str, crowd: list[Annotator], took: float) -> None:
    """Check the log against what was told, and print the times."""
    store = Store(address, existing=True)
    told = Counter(item for one in crowd for item in one.told)
    kept = Counter(event.item for event in store.events(NAME) if event.kind == "label")
    store.close()
    lost, doubled = told - kept, [item for item, times in kept.items() if times > 1]
    print(f"{told.total():,} labels by {len(crowd)} annotators in {took:.0f} s ({told.total() / took:.0f} a second)")
    print(f"lost {len(lost)}, doubled {len(doubled)}, handed out twice {sum(n > 1 for n in told.values())}")
    for name in ("asks", "tells"):
        times = 1000 * np.concatenate([getattr(one, name) for one in crowd])
        p50, p95, p99 = np.quantile(times, [0.5, 0.95, 0.99])
        rest = f"p95 {p95:6.1f} ms   p99 {p99:6.1f} ms   longest {times.max():6.1f} ms"
        print(f"{name[:-1]:5s} median {p50:6.1f} ms   {rest}")
    if lost or doubled or told != kept:
        sys.exit("labels were lost or doubled")


if __name__ == "__main__":
    main()
