"""A log of 200,000 events: what a command costs with the checkpoint of the ledger, and by reading the whole log.

Both in one run, each command in a process of its own, in seconds of CPU (the least of `--runs` with the checkpoint),
and beside them what it costs to import the libraries that a command needs. Then, but for `--commands`, the first page
of the dashboard and a forecast; checking, backing up and copying the same file; and how far a plain copy of the file is
behind while somebody labels.

    python benchmarks/long_log.py --old ../before/src     the commands by an earlier version and by this one, in turn

`--old` names the folder `src` in a checkout of an earlier commit that can open the same database.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl
from fewlabels.store import Event, Store

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(fl.__file__).parent.parent
CLASSES = [f"class {k}" for k in range(10)]
COMMANDS = (
    *(
        ("list",),
        ("show",),
        ("answer",),
        ("export", "labels", "-o", "labels.csv"),
        ("export", "log", "-o", "log.csv"),
        ("ask", "-n", "1", "-o", "batch.csv"),
        ("tell", "item 000001=class 1", "--adopt"),
    ),
    ("report", "-o", "report.html"),
)
# Reads the whole log, as every command did before there were checkpoints.
WHOLE = "from fewlabels.store import Store; Store.checkpoint = lambda *_: None; Store.keep_checkpoint = lambda *_: None"
RUN = "from fewlabels.cli.main import main; import sys; sys.argv[0] = 'fewlabels'; main()"
LIBRARIES = "import numpy, pyarrow, sqlalchemy, click"
# In a server that runs already.
PAGES = {
    "the dashboard, first page": "views.dashboard(audit)",
    "the dashboard, who labels": "work.Pace().catch_up(audit)",  # in the background when a server starts
    "a forecast": "forecast(audit, stop=fl.Stop(width=0.01))",
}
PAGE = """
import sys, time
import fewlabels as fl
from fewlabels.planning import forecast
from fewlabels.web import service, views, work
began = time.process_time()
audit = fl.load(sys.argv[1], "long")
{}
print(time.process_time() - began)
"""


def make(path: Path, events: int) -> None:
    """Half requests, half labels, of ten people, on a pool a fifth larger than the number of labels; 85% are right."""
    rng = np.random.default_rng(0)
    items = int(events * 0.6)
    ids = [f"item {i:06d}" for i in range(items)]
    pool = fl.read_pool({"id": ids, "scores": rng.dirichlet(np.full(10, 0.3), items)}, classes=CLASSES)
    fl.create(path, "long", pool).close()
    began, store = datetime.now(UTC) - timedelta(days=30), Store(path)
    asked = rng.permutation(items)[: events // 2].tolist()
    with store.transaction("long") as log:
        for i, item in enumerate(asked):
            who, at = f"person {i % 10}", began + timedelta(seconds=10 * i)
            label = CLASSES[pool.predicted[item] if rng.random() < 0.85 else rng.integers(10)]
            given = Event("label", ids[item], label=label, annotator=who, at=at + timedelta(seconds=5))
            log.append([Event("request", ids[item], step=i + 1, annotator=who, at=at), given])
    store.close()


def cpu_of(code: str, *arguments: str, folder: Path, source: Path = SOURCE) -> float:
    """Seconds of CPU of a Python process, with compiled modules, as after an installation."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept |= {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONPATH": str(source.resolve())}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, check=True, capture_output=True, env=kept)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    for left in (*folder.glob("*.csv"), *folder.glob("*.html")):
        left.unlink()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(folder: Path, long: Path, short: Path, runs: int) -> None:
    print(f"{'':28}{'whole log':>11}{'checkpoint':>12}{'short log':>11}   seconds of CPU; start included")
    cpu_of(LIBRARIES, folder=folder)
    libraries = min(cpu_of(LIBRARIES, folder=folder) for _ in range(runs))
    print(f"{'importing the libraries':28}{'':23}{libraries:11.2f}")
    for words in COMMANDS:
        spent = []
        # The first run compiles what is imported.
        for before, path, times in (("", short, 1), (f"{WHOLE}; ", long, 1), ("", long, runs), ("", short, runs)):
            each = [cpu_of(before + RUN, *on(path, words), folder=folder) for _ in range(times)]
            spent.append(min(each))
        print(f"{named(words):28}{spent[1]:11.2f}{spent[2]:12.2f}{spent[3]:11.2f}")


def named(words: tuple[str, ...]) -> str:
    return " ".join(words[:2])


def on(path: Path, words: tuple[str, ...]) -> list[str]:
    """The command with its database."""
    return [words[0], str(path), *words[1:]]


def against(old: Path, folder: Path, long: Path, runs: int) -> None:
    """Each command by both versions in turn, the least of some runs, and how much of the earlier time is left."""
    print(f"{'':28}{'before':>11}{'now':>12}{'ratio':>11}   seconds of CPU; start included")
    for words in COMMANDS:
        spent: dict[Path, list[float]] = {old: [], SOURCE: []}
        for _ in range(runs + 1):  # the first run compiles what is imported
            for source, each in spent.items():
                each.append(cpu_of(RUN, *on(long, words), folder=folder, source=source))
        before, now = (min(each[1:]) for each in spent.values())
        print(f"{named(words):28}{before:11.2f}{now:12.2f}{now / before:11.2f}", flush=True)


def first_pages(path: Path) -> None:
    for name, code in PAGES.items():
        command = [sys.executable, "-c", PAGE.format(code), str(path)]
        ended = subprocess.run(command, check=True, capture_output=True, text=True)
        print(f"{name:28}{'':11}{float(ended.stdout):12.2f}{'':11}   start not included")


def timed(name: str, work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    print(f"{name:28}{time.process_time() - began:11.2f}")


def behind(audit: fl.Assessment, folder: Path) -> int | None:
    """How many events a plain copy of the file lacks; None if it was taken in the middle of a write, and says so."""
    shutil.copy(folder / "live.db", folder / "copy.db")
    copy = Store(folder / "copy.db")
    there = copy.head("live").seq if copy.names() else 0
    ok = copy.verify().ok
    copy.close()
    return audit.seq - there if ok else None


def copies(folder: Path, labels: int) -> None:
    """How many events plain copies of the file lack, while somebody labels without a pause."""
    audit = fl.create(folder / "live.db", "live", fl.read_pool(np.random.default_rng(1).dirichlet([1, 1], 2_000)))
    time.sleep(1)
    found = []
    for _ in range(labels):
        audit.tell(dict.fromkeys(audit.ask(1).ids, "0"))
        found.append(behind(audit, folder))
    lacks = [count for count in found if count is not None]
    time.sleep(1)
    print(
        f"{labels} plain copies while labelling: {np.median(lacks):.0f} events behind (median), {max(lacks)} at most, "
    )
    print(f"  {labels - len(lacks)} taken in the middle of a write; a second later {behind(audit, folder)} behind")
    audit.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3, help="How often each command is run; the least counts.")
    parser.add_argument("--commands", action="store_true", help="Measure the commands alone.")
    parser.add_argument("--old", type=Path, help="The folder with the package of another version.")
    options = parser.parse_args()
    events = options.events
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make(folder / "long.db", events)
        make(folder / "short.db", 1_000)
        fl.load(folder / "long.db", "long").labels()  # the first reader writes the checkpoint
        if options.old is not None:
            against(options.old, folder, folder / "long.db", options.runs)
            return
        compare(folder, folder / "long.db", folder / "short.db", options.runs)
        if options.commands:
            return
        first_pages(folder / "long.db")
        store = Store(folder / "long.db")
        timed("verify", store.verify)
        timed("backup", lambda: store.backup(folder / "backup.db"))
        timed("copy", lambda: store.copy(folder / "second.db"))
        timed("reading the whole log", lambda: store.events("long"))
        with store.database.reading() as connection:
            for pragma in ("quick_check", "integrity_check"):
                check = f"PRAGMA {pragma}"
                timed(f"SQLite's {pragma}", lambda: connection.exec_driver_sql(check).all())  # noqa: B023
        store.close()
        size = (folder / "long.db").stat().st_size / 2**20
        print(f"the file has {size:.0f} MB")
        copies(folder, 200)


if __name__ == "__main__":
    main()
