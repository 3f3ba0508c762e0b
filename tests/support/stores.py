"""A small pool, and events as this program or another would write them: what the tests of the store share."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fewlabels.pool import Pool
from fewlabels.store import Store
from tests.support.annotators import new_audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fewlabels.store import Event

SPEC = {"task": {"kind": "estimate", "levels": [0.5, 0.95]}, "seed": 7, "Grüße": "犬 \u0000"}


def pool_of(n: int = 3) -> Pool:
    rng = np.random.default_rng(n)
    return Pool(
        pa.array([f"item {i}" for i in range(n)]),
        rng.integers(0, 2, n).astype(np.int32),
        ("cat", "dog"),
        confidence=rng.random(n),
        columns=pa.table({"text": [f"text {i}" for i in range(n)]}),
    )


def filled(address: str | Path) -> Store:
    """Two assessments of two pools, one of them with labels of two people, and somebody with a token."""
    store = Store(address)
    audit = new_audit(2, store)
    for who in ("ann", "bob"):
        ids = audit.ask(5, annotator=who).ids
        audit.tell(dict.fromkeys(ids[:4], "ant"), annotator=who, note="犬", key=who)
    store.create("other", SPEC, pool_of(2000))
    return store


def append(store: Store, *events: Event, name: str = "pets") -> list[Event]:
    with store.transaction(name) as log:
        return log.append(events)


def sql(store: Store, *statements: str) -> None:
    """Run statements as some other program would."""
    with store.database._engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def unprotect(store: Store) -> None:
    """Let events be changed and deleted, as whoever holds the file can."""
    drop = ("DROP TRIGGER events_no_update", "DROP TRIGGER events_no_delete")
    sql(store, *(drop if store.database.is_sqlite else ("ALTER TABLE events DISABLE TRIGGER events_append_only",)))


@contextmanager
def as_anybody() -> Iterator[None]:
    """Permissions bind everybody but the superuser, who may be running this."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
