"""A checkpoint: what a ledger knows at one place of each log, as bytes, so that the next reader reads only what is new.

It is kept in the store beside the log, with the number and the hash of the event up to which it counts; the places in
the other logs of the pool are inside. It is thrown away if such an event is not in its log, if its bytes changed, if
different assessments count now, or if another version of fewlabels wrote it. Counts that depend on metric and groups
are not in it: they are computed from the labels when it is read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fewlabels.errors import StoreError
from fewlabels.labelling.vote_columns import Names, from_times, to_times
from fewlabels.store.chain import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.votes import Who
    from fewlabels.store import Store

    Columns = dict[str, NDArray[Any]]

_FORM = "fewlabels ledger 3"
"""The number is raised whenever a ledger adds up the same log in a different way; a test compares them."""
_FEWEST = 1_000  # new events that make a new checkpoint worth writing
_SHARE = 50  # and at least one in this many of all events
_NOTHING = Mark(0, b"")  # of the assessment's own log


def catch_up(ledger: Ledger, store: Store, name: str, *, keeps: bool = True) -> None:
    """Read what is new in a log, beginning at its checkpoint if nothing was read yet; the checkpoint is kept up to
    date.

    A ledger that reads labels other than the assessment's own writes no checkpoint, since the assessment could not use
    it.

    >>> import fewlabels as fl
    >>> from fewlabels.labelling.ledger import Ledger
    >>> store = fl.Store(None)
    >>> audit = fl.create(store, "pets", fl.read_pool([[0.9, 0.1], [0.2, 0.8]]))
    >>> audit.tell({item: "0" for item in audit.ask(2).ids})
    2
    >>> ledger = Ledger(audit.pool, fl.Accuracy(), fl.Accuracy().cells(audit.pool, audit.groups), name="pets")
    >>> catch_up(ledger, store, "pets")
    >>> ledger.seq, ledger.labelled
    (4, 2)
    """
    if ledger.events or not _from_checkpoint(ledger, store, name):
        ledger.read(store.shared(name, ledger.seen))
    if keeps:
        keep(ledger, store, name)


def keep(ledger: Ledger, store: Store, name: str) -> None:
    """Write a checkpoint if enough has happened since the last one."""
    if ledger.events - ledger.kept >= max(_FEWEST, ledger.events // _SHARE):
        ledger.kept = ledger.events  # even if it cannot be written: do not try again and again
        store.keep_checkpoint(name, ledger.seen.get(name, _NOTHING), packed(ledger))


def _from_checkpoint(ledger: Ledger, store: Store, name: str) -> bool:
    """Restore a ledger from the checkpoint of a log and what came after it, if there is one that fits."""
    begins = ledger.seen.get(name)
    stored = store.checkpoint(name, begins and begins.hash)
    if stored is None:
        return False
    mark, data = stored
    kept = _opened(data)
    if kept is None:
        return False
    about = kept.about
    seen = ledger.seen | {of: Mark(seq, bytes.fromhex(last)) for of, seq, last in about["seen"]}
    if seen.get(name, _NOTHING) != mark or any(ledger.drawn.reads(of) != read for of, read in about["reads"].items()):
        return False
    try:
        new = store.shared(name, seen)
    except StoreError:
        return False  # it does not fit: the error is reported when the whole log is read
    ledger.is_torn = True
    fits = _restored(ledger, kept)
    if fits:
        ledger.seen = seen
        ledger.kept = ledger.events
    ledger.is_torn = False
    if not fits:
        return False
    ledger.read(new)
    return True


def packed(ledger: Ledger) -> bytes:
    """The state of a ledger as bytes: a line of JSON about the columns, and the columns, compressed."""
    names = Names()
    columns: Columns = {}
    flags = ("asked", "strange", "withdrawn")
    for flag in flags:
        columns[flag] = np.packbits(getattr(ledger, flag))
    columns["labelled"], columns["true"] = ledger.labels()
    ledger.votes.freeze()
    columns |= ledger.votes.columns(names)
    _put(columns, names, "answered", {who: (items, None) for who, items in ledger.answered.items()})
    _put(columns, names, "held", {who: (items, items.values()) for who, items in ledger.held.items()})
    _put(columns, names, "lost", {who: (sorted(items), None) for who, items in ledger.lost.items()})
    columns["disputed"] = np.fromiter(ledger.disputed, np.int64)
    columns["disputed_at"] = from_times(ledger.disputed.values())
    columns["queue"] = np.array(ledger.line.items, dtype=np.int64)
    past = ledger.past.packed()
    columns["past"] = np.frombuffer(b"".join(small for _, small in past), np.uint8)
    about = {
        "past": [(rows, len(small)) for rows, small in past],
        "past_texts": ledger.past.texts,
        "columns": [(name, array.dtype.str, len(array)) for name, array in columns.items()],
        "texts": names.texts,
        "seen": [(name, mark.seq, mark.hash.hex()) for name, mark in ledger.seen.items()],
        "reads": ledger.drawn.readable,
        "numbers": [ledger.changes, ledger.drawn.step, ledger.drawn.turn],
        "last_step": ledger.drawn.last,
        "skips": list(ledger.skips.items()),
        "decisions": list(ledger.decisions.items()),
        "shared": sorted(ledger.shared),
        "items": len(ledger.true),
    }
    body = b"".join([json.dumps(about).encode(), b"\n", *(array.tobytes() for array in columns.values())])
    small = pa.compress(body, codec="zstd", asbytes=True)
    return f"{_FORM}\n{len(body)}\n".encode() + small


class _Kept(NamedTuple):
    """What `packed` wrote: the line about the columns, and the columns, which begin at a place in the bytes."""

    about: dict[str, Any]
    body: bytes
    at: int


def _opened(data: bytes) -> _Kept | None:
    """What `packed` wrote; None if another version wrote it."""
    if not data.startswith(f"{_FORM}\n".encode()):
        return None
    _, size, small = data.split(b"\n", 2)
    body: bytes = pa.decompress(small, int(size), codec="zstd", asbytes=True)
    end = body.index(b"\n")
    return _Kept(json.loads(body[:end]), body, end + 1)


def _restored(ledger: Ledger, kept: _Kept) -> bool:
    """Restore an empty ledger; returns False, and leaves it empty, if the checkpoint belongs to another pool."""
    about, body, at = kept
    columns: Columns = {}
    for name, dtype, length in about["columns"]:
        columns[name] = np.frombuffer(body, dtype, length, at)
        at += columns[name].nbytes
    if about["items"] != len(ledger.true) and not (ledger.grows and about["items"] < len(ledger.true)):
        return False
    texts: list[str | None] = about["texts"]
    for flag in ("asked", "strange", "withdrawn"):
        getattr(ledger, flag)[: about["items"]] = np.unpackbits(columns[flag], count=about["items"]).astype(bool)
    ledger.votes.restore(columns, texts)
    ledger.answered = {who: dict.fromkeys(items) for who, items, _ in _get(columns, texts, "answered")}
    ledger.held = {who: dict(zip(items, times, strict=True)) for who, items, times in _get(columns, texts, "held")}
    ledger.lost = {who: set(items) for who, items, _ in _get(columns, texts, "lost")}
    ledger.disputed = dict(zip(columns["disputed"].tolist(), to_times(columns["disputed_at"]), strict=True))
    ledger.line.append(columns["queue"].tolist())
    ledger.changes, ledger.drawn.step, ledger.drawn.turn = about["numbers"]
    ledger.drawn.last = None if about["last_step"] is None else (about["last_step"][0], about["last_step"][1])
    ledger.skips, ledger.decisions = dict(about["skips"]), dict(about["decisions"])
    ledger.shared = set(about["shared"])
    past = columns["past"].tobytes()
    ends = np.cumsum([size for _, size in about["past"]], dtype=np.int64).tolist()
    packed_rows = [(rows, past[end - size : end]) for (rows, size), end in zip(about["past"], ends, strict=True)]
    ledger.past.restore(packed_rows, about["past_texts"])
    asker = columns["asker"]
    # Not `np.unique`: it makes NumPy import its masked arrays, which takes a tenth of the time of a command.
    drew = {number: texts[number] for number in np.flatnonzero(np.bincount(asker)).tolist()}
    counts = [number for number, name in drew.items() if name is not None and ledger.drawn.reads(name)]
    others = [number for number in counts if drew[number] != ledger.name]
    taken, away = np.isin(asker, counts), np.flatnonzero(np.isin(asker, others))
    askers = [str(drew[number]) for number in asker[away].tolist()]
    ledger.drawn.elsewhere = dict(zip(columns["item"][away].tolist(), askers, strict=True))
    ledger.place_all(columns["labelled"], columns["true"], columns["item"][taken])
    return True


def _put(columns: Columns, names: Names, what: str, rows: dict[Who, tuple[Iterable[int], Any]]) -> None:
    """Add the items of each person as columns: the people, how many items each has, the items, and their times."""
    columns[f"{what}_who"] = np.array([names[who] for who in rows], dtype=np.int32)
    columns[f"{what}_n"] = np.array([len(list(items)) for items, _ in rows.values()], dtype=np.int64)
    columns[f"{what}_items"] = np.fromiter((item for items, _ in rows.values() for item in items), np.int64)
    columns[f"{what}_at"] = from_times(at for _, times in rows.values() for at in (times or ()))


def _get(columns: Columns, texts: list[str | None], what: str) -> Iterable[tuple[Who, list[int], list[Any]]]:
    ends = np.cumsum(columns[f"{what}_n"]).tolist()
    items, times = columns[f"{what}_items"].tolist(), to_times(columns[f"{what}_at"])
    for who, start, end in zip(columns[f"{what}_who"].tolist(), [0, *ends], ends, strict=False):
        yield texts[who], items[start:end], times[start:end]
