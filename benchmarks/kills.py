"""Thousands of kills, lost power and full disks: is every label that was told there, and once?

    python benchmarks/kills.py                                             a hundred of each, in some minutes
    python benchmarks/kills.py --kills 4000 --what killed                  labelling processes, killed at any moment
    python benchmarks/kills.py --kills 4000 --what killed --address postgresql://user@host/empty
    python benchmarks/kills.py --kills 500 --what cut --address postgresql://user@host/empty
    python benchmarks/kills.py --kills 500 --what power,full               needs Linux, and the right to mount

killed  a process that asks and tells is killed at a random moment, and the next one goes on where it was.
cut     all connections to PostgreSQL are cut at a random moment, and the labelling process repeats each call until it
        succeeds, with the same key.
power   the database is on a file system of its own. After the kill its device is copied as it is, so that whatever was
        only in the page cache is gone, and the copy is mounted and read. After each kill a small file is written and
        not synced: in how many copies it is missing says whether the cache was really lost. With `--control` the
        database does not sync either, and the run has to find that labels are lost.
full    the disk is full at a random moment: a small file system in memory, or a limit on the size of files.

The run ends at the first label that is missing or counted twice.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))

import fewlabels as fl  # noqa: E402
from fewlabels.store import Store, database  # noqa: E402
from fewlabels.store.database import _set_up_sqlite  # noqa: E402
from tests.support.fault_driver import fork, label_for_ever, say, warm_up  # noqa: E402

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

T = TypeVar("T")
EACH = 400  # kills on one assessment
IMAGE = 24 * 2**20  # bytes of a file system that loses its power
ITEMS = 15 * EACH


def new(address: str, items: int = ITEMS) -> None:
    """An assessment with many groups, on which asking does some work."""
    right = np.random.default_rng(items).uniform(0.5, 1, items)
    columns = {"id": [f"item {i}" for i in range(items)], "scores": np.column_stack([right, 1 - right])}
    pool = fl.read_pool(columns, classes=["right", "wrong"])
    task = fl.Identify(fl.Accuracy(), lowest=3)
    fl.create(address, "audit", pool, fl.by_score(pool, bins=20), task=task, prior=fl.Uniform(), seed=1).close()


class Reports:
    """What a labelling process reported through a pipe: the items that it was handed, and those that were taken."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.told: list[str] = []

    def read(self, text: bytes) -> None:
        for line in text.decode().splitlines():
            what, *items = line.split("\t")
            (self.told if what == "told" else self.asked).extend(items)

    def check(self, address: str) -> None:
        """End with an error if a label was lost or doubled, an item was asked twice, or the file is damaged."""
        store = Store(address, existing=True)
        verified = store.verify()
        log = store.events("audit")
        store.close()
        kept = Counter(event.item for event in log if event.kind == "label")
        asked = Counter(event.item for event in log if event.kind == "request")
        lost = set(self.told) - set(kept)
        doubled = [item for item, n in (kept + asked).items() if max(kept[item], asked[item]) > 1]
        counted = len(self.told) - len(set(self.told)) + len(self.asked) - len(set(self.asked))
        if lost or doubled or counted or not verified.ok:
            sys.exit(f"{len(lost)} lost, {len(doubled)} doubled, {counted} handed out again. {verified.words}")

    def check_after_room(self, ballast: Path | None, address: str) -> None:
        """Check what a full disk left, and that labelling goes on as soon as there is room."""
        if ballast is not None:
            ballast.unlink()
        audit = fl.load(address, "audit")
        for item in audit.ask(1).ids:
            audit.tell({item: "right"})
            self.told.append(item)
        audit.close()
        self.check(address)


def kill_one(address: str, reports: Reports, moments: random.Random) -> None:
    """Kill a labelling process at a random moment; what it reported until then is read."""
    reader, writer = os.pipe()
    pid = fork(partial(label_for_ever, address, "audit", writer))
    os.close(writer)
    for _ in range(1 + moments.randrange(5)):
        reports.read(os.read(reader, 65536))
    time.sleep(moments.uniform(0, 0.02))
    os.kill(pid, signal.SIGKILL)
    if not os.WIFSIGNALED(os.waitpid(pid, 0)[1]):
        sys.exit("the labelling process ended by itself")
    while rest := os.read(reader, 65536):
        reports.read(rest)
    os.close(reader)


def killed(folder: Path, kills: int, address: str | None) -> str:
    told = done = 0
    moments = random.Random(kills)
    while done < kills:
        here = address or str(folder / f"{done}.db")
        new(here)
        warm_up(here, "audit")
        reports = Reports()
        for _ in range(min(EACH, kills - done)):
            kill_one(here, reports, moments)
            done += 1
        reports.check(here)
        told += len(reports.told)
        print(f"killed: {done:,} of {kills:,} so far, {told:,} labels told, 0 lost, 0 doubled", flush=True)
        if address:
            break  # a server has one database; start again with another one
    return f"killed: {done:,} kills, {told:,} labels told, 0 lost, 0 doubled"


def persisted(call: Callable[[], T]) -> T:
    """The result of a call that is repeated while the database is away."""
    for _ in range(500):
        try:
            return call()
        except fl.StoreError:
            time.sleep(0.01)
    sys.exit("the database did not come back")


def label_through_cuts(address: str, reports: int) -> None:
    os.dup2(reports, 1)
    audit = persisted(lambda: fl.load(address, "audit"))
    while True:
        for item in persisted(lambda: audit.ask(2)).ids:
            once = partial(audit.tell, {item: "right"}, key=secrets.token_hex(8))
            persisted(once)
            say("told", item)


def cut(kills: int, address: str) -> str:
    import psycopg

    new(address, 30 * kills)
    reports, moments = Reports(), random.Random(kills)
    reader, writer = os.pipe()
    pid = fork(partial(label_through_cuts, address, writer))
    os.close(writer)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid != %s"
    with psycopg.connect(address, autocommit=True) as admin:
        for _ in range(kills):
            reports.read(os.read(reader, 65536))
            time.sleep(moments.uniform(0, 0.03))
            admin.execute(others, [admin.info.backend_pid])
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while rest := os.read(reader, 65536):
        reports.read(rest)
    os.close(reader)
    reports.check(address)
    return f"cut: {kills:,} times, {len(reports.told):,} labels told, 0 lost, 0 doubled"


@contextmanager
def mounted(place: Path, *words: str) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", *words, str(place)], check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def power(folder: Path, kills: int) -> str:
    image, copy = folder / "disk.img", folder / "copy.img"
    with image.open("wb") as file:
        file.truncate(IMAGE)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    reports, moments, missing = Reports(), random.Random(kills), 0
    with mounted(folder / "disk", "-o", "loop", str(image)) as disk:
        address = str(disk / "audit.db")
        new(address, 15 * kills)
        os.sync()
        warm_up(address, "audit")
        for i in range(kills):
            kill_one(address, reports, moments)
            (disk / f"unsynced {i}").write_text("gone with the power", encoding="utf-8")
            shutil.copyfile(image, copy)
            with mounted(folder / "after", "-o", "loop", str(copy)) as after:
                missing += not (after / f"unsynced {i}").exists()
                reports.check(str(after / "audit.db"))
            (disk / f"unsynced {i}").unlink()
    return (
        f"power: lost {kills:,} times, {len(reports.told):,} labels told, 0 lost, 0 doubled; what was not synced was "
        f"gone {missing:,} times"
    )


def label_until_full(address: str, reports: int, most: int | None) -> None:
    """Label until the disk is full, which must be said in plain words."""
    os.dup2(reports, 1)
    if most is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        audit = fl.load(address, "audit")
        while ids := audit.ask(3).ids:
            for item in ids:
                audit.tell({item: "right"})
                say("told", item)
        sys.exit("every item is labelled, and the disk is not full")
    except fl.StoreError:
        return


def fill(address: str, reports: Reports, most: int | None = None) -> None:
    reader, writer = os.pipe()
    pid = fork(partial(label_until_full, address, writer, most))
    os.close(writer)
    while text := os.read(reader, 65536):
        reports.read(text)
    os.close(reader)
    if status := os.waitpid(pid, 0)[1]:
        sys.exit(f"a full disk ended the labelling process with status {status}")


def full(folder: Path, fills: int, *, mounts: bool) -> str:
    moments, told = random.Random(fills), 0
    for i in range(fills):
        reports, room = Reports(), moments.randrange(20_000, 150_000)
        if mounts and i % 2:
            with mounted(folder / "small", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as small:
                address = str(small / "audit.db")
                new(address, 3000)
                free = shutil.disk_usage(small).free
                (small / "ballast").write_bytes(bytes(max(free - room, 0)))
                fill(address, reports)
                reports.check_after_room(small / "ballast", address)
        else:
            address = str(folder / f"full {i}.db")
            new(address, 3000)
            fill(address, reports, Path(address).stat().st_size + room)
            reports.check_after_room(None, address)
        told += len(reports.told)
    return f"full: {fills:,} times, {told:,} labels told, 0 lost, 0 doubled"


def without_syncs(connection: sqlite3.Connection, record: object) -> None:
    _set_up_sqlite(connection, record)
    connection.execute("PRAGMA synchronous = OFF")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="How often, of each kind.")
    parser.add_argument("--what", default="killed,power,full")
    parser.add_argument("--address", help="An empty PostgreSQL database, for `killed`; new SQLite files if not given.")
    parser.add_argument("--folder", help="Where the files are made; a temporary folder if not given.")
    parser.add_argument("--control", action="store_true", help="Do not sync, and see that `power` finds losses.")
    options = parser.parse_args()
    if options.control:
        database._set_up_sqlite = without_syncs  # type: ignore[assignment]  # noqa: SLF001
    mounts = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("mkfs.ext4") is not None
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        kinds: dict[str, Callable[[], str]] = {
            "killed": lambda: killed(folder, options.kills, options.address),
            "cut": lambda: cut(options.kills, options.address) if options.address else "cut: needs --address; not done",
            "power": lambda: power(folder, options.kills) if mounts else "power: needs the right to mount; not done",
            "full": lambda: full(folder, options.kills, mounts=mounts),
        }
        for what in options.what.split(","):
            print(kinds[what](), flush=True)


if __name__ == "__main__":
    main()
