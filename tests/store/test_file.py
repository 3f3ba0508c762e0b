"""A file of SQLite that is no longer the one that was opened, and a log beside it that is not its own."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import fewlabels as fl
from fewlabels.errors import StoreError
from fewlabels.store import Store, database
from fewlabels.store import file as file_module
from fewlabels.store.file import DatabaseFile
from tests.support.annotators import new_audit


def over(source: Path, target: Path) -> None:
    """Copy a file over another, as `cp` does: it stays the same file, with another content.

    In a process of its own: closing a file ends all locks that a process has on it.
    """
    code = "import shutil, sys; shutil.copyfile(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", code, str(source), str(target)], check=True)


def told(audit: fl.Assessment, n: int = 2) -> list[str]:
    ids = audit.ask(n).ids
    audit.tell(dict.fromkeys(ids, "ant"))
    return ids


@pytest.mark.parametrize("what", ["an older state", "another database"])
def test_a_file_that_is_copied_over_one_in_use_is_noticed(tmp_path: Path, what: str) -> None:
    """Otherwise SQLite mixes the pages of both, and the labels told from then on are lost."""
    audit = new_audit(1, tmp_path / "audit.db")
    told(audit)
    if what == "an older state":
        Store(tmp_path / "audit.db").backup(tmp_path / "backup.db")
    else:
        new_audit(2, tmp_path / "backup.db").close()
    told(audit)
    time.sleep(0.5)  # what was told is in the file itself
    over(tmp_path / "backup.db", tmp_path / "audit.db")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"another file was copied over .*audit\.db while it was in use"):
            told(audit)
    audit.close()


def test_an_older_state_whose_log_goes_on_is_the_newest_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log beside it has everything since: nothing is missing, and nothing needs to be refused."""
    path = tmp_path / "audit.db"
    audit = new_audit(1, path)
    time.sleep(0.5)
    monkeypatch.setattr(database, "_FLUSH", 1e9)  # from now on, the file stays behind
    done = told(audit)
    audit._journal.store.backup(tmp_path / "backup.db")
    done += told(audit)
    over(tmp_path / "backup.db", path)
    done += told(audit)
    audit.close()
    store = Store(path)
    assert store.verify().ok
    assert sorted(store.labels("audit")) == sorted(done)
    store.close()


def test_a_file_that_is_emptied_while_it_is_in_use_is_noticed(tmp_path: Path) -> None:
    audit = new_audit(1, tmp_path / "audit.db")
    told(audit)
    time.sleep(0.5)
    os.truncate(tmp_path / "audit.db", 0)
    with pytest.raises(StoreError, match="another file was copied over"):
        told(audit)
    audit.close()


def killed(path: Path, rounds: int) -> None:
    """Label in a process that is killed, so that the write-ahead log stays beside the file."""
    code = (
        "import os, signal, sys, time, fewlabels as fl; audit = fl.load(sys.argv[1], 'audit')\n"
        f"for _ in range({rounds}): audit.tell(dict.fromkeys(audit.ask(1).ids, 'ant'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size > 0


def test_a_backup_beside_the_log_of_the_file_it_replaces_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    new_audit(1, path).close()
    with Store(path) as store:
        store.backup(tmp_path / "backup.db")
    told(fl.load(path, "audit"))
    killed(path, 3)
    before = path.with_name("before.db")
    shutil.copy(path, before)
    shutil.copy(f"{path}-wal", f"{before}-wal")
    shutil.copy(tmp_path / "backup.db", path)
    with pytest.raises(StoreError, match=r"audit\.db-wal does not belong to .*audit\.db.*another folder"):
        Store(path)
    assert path.read_bytes() == (tmp_path / "backup.db").read_bytes(), "nothing was written into it"
    Path(f"{path}-wal").unlink()
    Path(f"{path}-shm").unlink(missing_ok=True)
    assert fl.load(path, "audit").labels() == {}
    assert len(fl.load(before, "audit").labels()) == 5, "file and log that belong together are opened as ever"


def test_a_log_of_another_database_is_refused(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.db", tmp_path / "other.db"
    for path in (mine, other):
        new_audit(1, path).close()
    killed(other, 3)
    shutil.copy(f"{other}-wal", f"{mine}-wal")
    with pytest.raises(StoreError, match=r"mine\.db-wal does not belong"):
        Store(mine)


def test_only_what_writes_is_counted_and_nothing_counts_backwards(tmp_path: Path) -> None:
    audit = new_audit(1, tmp_path / "audit.db")
    store = audit._journal.store

    def count() -> int:
        with store.database.reading() as connection:
            return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())

    counts = [count()]
    assert 0 < counts[0] < 2**30 + 10
    audit.labels()
    audit.held("ann")
    with store.database.writing():
        pass
    assert count() == counts[0]
    for _ in range(3):
        told(audit)
        counts.append(count())
    assert counts == sorted(set(counts))
    file = DatabaseFile(tmp_path / "audit.db", "audit.db")
    assert 0 < (file._stored() or 0) <= counts[-1], "it may be a little behind"
    file.release()
    audit.close()


def test_a_file_is_opened_once_and_closed_with_its_last_database(tmp_path: Path) -> None:
    """Closing any descriptor of a file would end the locks that SQLite has on it."""
    path = tmp_path / "audit.db"
    before = set(file_module._open)
    first, second = Store(path), Store(path)
    (held,) = set(file_module._open) - before
    assert file_module._open[held].users == 2
    descriptor = file_module._open[held].descriptor
    first.close()
    first.close()
    os.fstat(descriptor)
    second.close()
    assert held not in file_module._open
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_processes_that_were_forked_do_not_disturb_each_other(tmp_path: Path) -> None:
    """They share the place in an open file: whoever moves it would make the others read something else."""
    path = tmp_path / "audit.db"
    store = Store(path)
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads, of newer Pythons
        children = [context.Process(target=look_often, args=(path,)) for _ in range(2)]
        for child in children:
            child.start()
    look_often(path)
    for child in children:
        child.join()
        assert child.exitcode == 0
    store.close()


def look_often(path: Path) -> None:
    file = DatabaseFile(path, "audit.db")
    file.watch()
    assert file._count > 0
    for _ in range(20_000):
        file.check()


def test_what_a_failed_transaction_left_in_the_log_is_no_other_file(tmp_path: Path) -> None:
    """Its pages may lie behind those of later transactions, with an older count: the disk was full, then it was not."""
    path = tmp_path / "audit.db"
    new_audit(1, path).close()
    count = DatabaseFile(path, "audit.db")._stored()
    assert count is not None
    page, salt = 4096, b"salt" * 2

    def frame(counted: int) -> bytes:
        head = file_module._COUNT.pack(counted)
        return file_module._FRAME.pack(1, salt) + head + b"\0" * (page - len(head))

    log = Path(f"{path}-wal")
    head = file_module._LOG.pack(page, salt).ljust(file_module._LOG_SIZE, b"\0")
    log.write_bytes(head + frame(count) + frame(count - 1))
    DatabaseFile(path, "audit.db").release()
    log.write_bytes(head + frame(count - 2) + frame(count - 1))
    with pytest.raises(StoreError, match=r"audit\.db-wal does not belong to audit\.db"):
        DatabaseFile(path, "audit.db")
