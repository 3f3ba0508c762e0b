"""Backups, copies and migrations, killed at any moment. Run by test_kills.py.

A program of its own that imports everything once and then forks, as fault_driver.py. After each kill it looks at what
is there: the source is as it was, and the target is complete or absent.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fewlabels.store import Event, Store
from tests.support.fault_driver import fork, say
from tests.support.old_databases import write_old

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = 3_000


def killed(work: Callable[[], None], wait: float) -> bool:
    """Start the work in a process and kill it after a while; whether it was still at work."""
    pid = fork(work)
    time.sleep(wait)
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        sys.exit(f"the work failed by itself, with status {status}")
    return os.WIFSIGNALED(status)


def repeat(kills: int, work: Callable[[Path], None], look: Callable[[Path], bool], folder: Path) -> None:
    """Kill the work again and again, at moments spread over the time that it takes, and look at what it left."""
    moments, stopped, complete = random.Random(kills), 0, 0
    began = time.monotonic()
    work(folder / "first.db")
    takes = time.monotonic() - began
    if not look(folder / "first.db"):
        sys.exit("the work itself does nothing")
    for i in range(kills):
        path = folder / f"{i}.db"
        stopped += killed(partial(work, path), moments.uniform(0, 1.5 * takes))
        complete += look(path)
    say(str(stopped), str(complete))


def good(path: Path, events: int) -> bool:
    """Whether a target is there, which must then be complete; nobody can see half of one."""
    if not path.exists():
        return False
    store = Store(path, existing=True)
    assert store.verify().ok, store.verify().words
    assert store.head("old").seq == events, store.head("old")
    store.close()
    return True


def write(address: str, how: str, to: Path | str) -> None:
    store = Store(address, existing=True)
    store.backup(to) if how == "backup" else store.copy(to)
    store.close()


def filled_server(url: str) -> bool:
    """Whether a server has everything; if it has nothing, that is right too."""
    store = Store(url)
    names = store.names()
    assert not names or (store.verify().ok and store.head("old").seq == EVENTS)
    store.close()
    if names:
        engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
        engine.dispose()
    return bool(names)


def main(what: str, folder: str, kills: str, url: str = "") -> None:
    here = Path(folder)
    source = here / "source.sqlite"
    engine = sa.create_engine(f"sqlite:///{source}")
    log = [Event("request", f"z{i % 30:02d}", step=i) for i in range(1, EVENTS + 1)]
    write_old(engine, 2, log)
    engine.dispose()
    if what == "migrate":

        def migrate(path: Path) -> None:
            if not path.exists():  # the copy is not what is killed, so nobody sees half of it
                Path(shutil.copy(source, path.with_suffix(".copy"))).rename(path)
            Store(path).close()

        repeat(int(kills), migrate, lambda path: good(path, EVENTS), here)
    elif what == "server":
        Store(source).close()
        repeat(int(kills), lambda _: write(str(source), "copy", url), lambda _: filled_server(url), here)
    else:
        Store(source).close()
        before = source.read_bytes()
        repeat(int(kills), lambda path: write(str(source), what, path), lambda path: good(path, EVENTS), here)
        assert source.read_bytes() == before


if __name__ == "__main__":
    main(*sys.argv[1:])
