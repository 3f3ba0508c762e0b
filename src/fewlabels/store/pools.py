"""Pools in the database: their bytes in parts, which are only added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from fewlabels.store.archive import pack_pool, unpack_pool
from fewlabels.store.archived_reserve import pack_named
from fewlabels.store.schema import pool_parts, pools

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from fewlabels.pool import Pool

_PART = 16 * 2**20  # bytes of a pool per row: far below the limits of either database


def has_pool(connection: Connection, fingerprint: str) -> bool:
    return connection.scalar(sa.select(pools).where(pools.c.fingerprint == fingerprint)) is not None


def keep_pool(connection: Connection, pool: Pool) -> None:
    """Store the pool unless it is stored already: assessments of the same pool share it."""
    if has_pool(connection, pool.fingerprint):
        return
    connection.execute(pools.insert().values(fingerprint=pool.fingerprint))
    _add_parts(connection, pool.fingerprint, pack_pool(pool), 0)


def stored_pool(connection: Connection, fingerprint: str) -> Pool:
    """A pool as it was stored, with all items that were named since."""
    rows = sa.select(pool_parts.c.data).where(pool_parts.c.fingerprint == fingerprint)
    return unpack_pool(b"".join(connection.scalars(rows.order_by(pool_parts.c.part))))


def keep_named(connection: Connection, before: Pool, after: Pool) -> None:
    """Store the items that were named since, and where the table is, if that is another place."""
    assert after.reserve is not None and before.reserve is not None  # noqa: PT018
    moved = after.reserve.table != before.reserve.table
    if moved or after.rows > before.rows or not np.array_equal(after.reserve.reach, before.reserve.reach):
        last = sa.select(sa.func.max(pool_parts.c.part)).where(pool_parts.c.fingerprint == before.fingerprint)
        data = pack_named(after, before.rows - before.units, moved=moved)
        _add_parts(connection, before.fingerprint, data, int(connection.scalar(last) or 0) + 1)


def _add_parts(connection: Connection, fingerprint: str, data: bytes, first: int) -> None:
    for part, start in enumerate(range(0, len(data), _PART), first):
        piece = data[start : start + _PART]
        connection.execute(pool_parts.insert().values(fingerprint=fingerprint, part=part, data=piece))
