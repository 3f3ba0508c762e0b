"""Annotators as processes, to be killed or to work at once. Run by test_faults.py.

A program of its own that imports everything once and then forks: an interpreter per annotator would be slow, and
the test's own process has threads, which do not survive a fork. Children open the database after the fork.
Each reports on standard output what a call returned, after it returned: a line is one write, which no signal cuts.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from functools import partial
from typing import TYPE_CHECKING

import fewlabels as fl
from fewlabels.beginning import load
from fewlabels.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable


def say(*words: str) -> None:
    os.write(1, ("\t".join(words) + "\n").encode())


def fork(work: Callable[[], None]) -> int:
    """Start a process that does the work and nothing else."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:  # noqa: BLE001  (a forked child must not return into its parent's code)
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def warm_up(url: str, name: str) -> None:
    """Have every module imported before the first fork, or each child would do it again."""
    load(url, name).close()
    audit = fl.create(None, "warm", fl.read_pool([[0.9, 0.1], [0.2, 0.8]]), task=fl.Identify(fl.Accuracy(), lowest=1))
    audit.tell(dict.fromkeys(audit.ask(1).ids, "0"))
    audit.close()


def label_for_ever(url: str, name: str, reports: int) -> None:
    """Ask for three, tell one and then two, and again."""
    os.dup2(reports, 1)
    audit = load(url, name)
    while True:
        first, *rest = asked = audit.ask(3).ids
        say("asked", *asked)
        for ids in ([first], rest):
            audit.tell(dict.fromkeys(ids, "right"))
            say("told", *ids)


def kill(url: str, name: str, kills: int) -> None:
    """Kill a labelling process at a random moment, again and again.

    The moment is a random time after a random number of reports, and that time is up to twice what a call
    takes here: so that a slow machine is killed in the same places as a fast one.
    """
    warm_up(url, name)
    moments = random.Random(kills)
    call = 0.05  # seconds: a first guess
    for i in range(kills):
        reader, writer = os.pipe()
        pid = fork(partial(label_for_ever, url, name, writer))
        os.close(writer)
        for report in range(moments.randrange(6)):
            began = time.monotonic()
            os.write(1, os.read(reader, 4096))  # empty, at once, if the child failed
            if report:
                call += 0.1 * (time.monotonic() - began - call)
        time.sleep(moments.uniform(0, 2 * call))
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        while rest := os.read(reader, 4096):
            os.write(1, rest)
        os.close(reader)
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            sys.exit(f"process {i} ended by itself, with status {status}")


def label_some(url: str, name: str, annotator: str, labels: int) -> None:
    audit = load(url, name)
    for _ in range(labels // 5):
        for item in audit.ask(5, annotator=annotator).ids:
            audit.tell({item: "right"}, annotator=annotator)
            say("told", annotator, item)
    audit.close()


def open_new(url: str, number: int, starting: int) -> None:
    os.read(starting, 1)  # returns when the parent closes its end: all start together
    store = Store(url)
    store.create(f"number {number}", {}, fl.read_pool([[0.9, 0.1], [0.2, 0.8]]))
    store.close()


def together(works: list[Callable[[], None]]) -> None:
    """Do all the work at once, each in its own process."""
    statuses = [os.waitpid(pid, 0)[1] for pid in [fork(work) for work in works]]
    if any(statuses):
        sys.exit(f"processes ended with status {statuses}")


def open_together(url: str, processes: int) -> None:
    reader, writer = os.pipe()

    def work(number: int) -> None:
        os.close(writer)
        open_new(url, number, reader)

    pids = [fork(partial(work, number)) for number in range(processes)]
    os.close(writer)
    statuses = [os.waitpid(pid, 0)[1] for pid in pids]
    if any(statuses):
        sys.exit(f"processes ended with status {statuses}")


def fork_with_open_store(url: str) -> None:
    """A child that uses its parent's store is refused, and the parent's connection survives."""
    store = Store(url)

    def work() -> None:
        try:
            store.names()
        except fl.StoreError as error:
            say("child", str(error))

    os.waitpid(fork(work), 0)
    say("parent", *store.names())
    store.close()


def main(what: str, url: str, *arguments: str) -> None:
    if what == "kill":
        name, kills = arguments
        kill(url, name, int(kills))
    elif what == "annotate":
        name, annotators, labels = arguments
        warm_up(url, name)
        together([partial(label_some, url, name, f"a{a}", int(labels)) for a in range(int(annotators))])
    elif what == "open":
        open_together(url, int(arguments[0]))
    elif what == "fork":
        fork_with_open_store(url)
    else:
        sys.exit(f"unknown: {what}")


if __name__ == "__main__":
    main(*sys.argv[1:])
