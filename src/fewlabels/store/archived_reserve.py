"""A pool whose items stay in a table, as bytes: its units once, and the items that were named, as often as some were.

Each piece of bytes has a first line, its length, a SHA-256 of the rest, and one or two Arrow streams. Pieces are added
and never changed, so that rows keep their places.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fewlabels.arrow import column_of, numbers_of
from fewlabels.pool import Pool
from fewlabels.reserve import Reserve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAGIC = b"fewlabels pool 3\n"
_ABOUT = b"fewlabels"
_HEAD = len(MAGIC) + 8 + hashlib.sha256().digest_size


def pack_units(pool: Pool) -> bytes:
    """Pack a pool whose items stay in a table, with the items that are named."""
    reserve = pool.reserve
    assert reserve is not None
    first = slice(pool.units)
    columns: dict[str, Any] = {
        "predicted": pool.predicted[first],
        "size": reserve.size,
        "stratum": reserve.stratum,
        "bin": reserve.bin.astype(np.int16),
    }
    if pool.confidence is not None:
        columns["confidence"] = pool.confidence[first]
    arrays = [column_of(values) for values in columns.values()]
    names = list(columns)
    if pool.columns is not None:
        arrays += [column.combine_chunks()[first] for column in pool.columns.columns]
        names += pool.columns.column_names
    about = {
        "classes": pool.classes,
        "content": pool.content,
        "source": pool.source,
        "confidence": pool.confidence is not None,
        "columns": pool.columns is not None,
        "seed": reserve.seed,
        "fingerprint": reserve.fingerprint,
        "table": reserve.table,
        "evidence": pool.evidence,
        "score_sums": None if pool.score_sums is None else pool.score_sums.tolist(),
    }
    units = pa.Table.from_arrays(arrays, names=names).replace_schema_metadata({_ABOUT: json.dumps(about)})
    return _framed(units) + pack_named(pool, 0)


def pack_named(pool: Pool, after: int, *, moved: bool = False) -> bytes:
    """Pack the items that are named after the first `after` ones, and how far all of them are.

    With `moved` it also has where the table is found from now on.
    """
    reserve = pool.reserve
    assert reserve is not None
    columns: dict[str, Any] = {
        "id": pool.id_column[pool.units + after :],
        "unit": column_of(reserve.unit[after:]),
        "key": column_of(reserve.key[after:]),
    }
    if reserve.said is not None:
        columns["said"] = column_of(reserve.said[after:])
    about = {_ABOUT: json.dumps({"table": reserve.table})} if moved else None
    named = pa.table(columns).replace_schema_metadata(about)
    return _framed(named, pa.table({"reach": column_of(reserve.reach)}))


def unpack_pieces(data: bytes) -> Pool | None:
    """Unpack the pool that such pieces make; None if their bytes are not those that were written."""
    pieces = list(_pieces(data))
    if len(pieces) < 2 or None in pieces:
        return None
    units, *named = (_streams(piece) for piece in pieces if piece is not None)
    pool = _of_units(units[0])
    ids = pa.concat_arrays([pool.id_column, *(chunk for part, _ in named for chunk in part.column(0).chunks)])
    rows = pa.concat_tables([part for part, _ in named])
    assert pool.reserve is not None
    reserve = replace(
        pool.reserve,
        unit=numbers_of(rows["unit"]),
        key=numbers_of(rows["key"]),
        said=numbers_of(rows["said"]) if "said" in rows.column_names else None,
        reach=numbers_of(named[-1][1]["reach"]),
        table=_last_place(pool.reserve.table, [part for part, _ in named]),
    )
    return pool.with_rows(ids, reserve)


def _last_place(first: Mapping[str, Any], named: Sequence[pa.Table]) -> Mapping[str, Any]:
    """Where the table was found last: it may have moved since the pool was made."""
    moved = [about for part in named if (about := (part.schema.metadata or {}).get(_ABOUT))]
    return dict(json.loads(moved[-1])["table"]) if moved else first


def _of_units(units: pa.Table) -> Pool:
    about = json.loads((units.schema.metadata or {})[_ABOUT])
    own = 5 if about["confidence"] else 4
    size = numbers_of(units.column(1)).astype(np.int64)
    others = units.select(list(range(own, units.num_columns))).replace_schema_metadata(None)
    sums = about["score_sums"]
    return Pool(
        id_column=pa.nulls(len(size), pa.string()),
        predicted=numbers_of(units.column(0)),
        classes=tuple(about["classes"]),
        confidence=numbers_of(units.column(4)) if about["confidence"] else None,
        score_sums=None if sums is None else np.array(sums),
        columns=others if about["columns"] else None,
        content=about["content"],
        source=about["source"],
        evidence=tuple(about.get("evidence", ())),
        reserve=Reserve(
            size=size,
            stratum=numbers_of(units.column(2)).astype(np.int64),
            bin=numbers_of(units.column(3)).astype(np.int64),
            unit=np.empty(0, dtype=np.int64),
            key=np.empty(0, dtype=np.uint64),
            said=None,
            reach=np.zeros(len(size), dtype=np.uint64),
            seed=about["seed"],
            fingerprint=about["fingerprint"],
            table=about["table"],
        ),
    )


def _framed(*tables: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    return b"".join((MAGIC, len(data).to_bytes(8, "little"), hashlib.sha256(data).digest(), data))


def _pieces(data: bytes) -> Iterator[memoryview | None]:
    """The body of each piece; None for one that is damaged, which is the last."""
    view = memoryview(data)
    while view:
        length = int.from_bytes(view[len(MAGIC) : len(MAGIC) + 8], "little")
        body = view[_HEAD : _HEAD + length]
        whole = bytes(view[: len(MAGIC)]) == MAGIC and len(body) == length
        if not whole or hashlib.sha256(body).digest() != bytes(view[len(MAGIC) + 8 : _HEAD]):
            yield None
            return
        yield body
        view = view[_HEAD + length :]


def _streams(body: memoryview) -> list[pa.Table]:
    source = pa.BufferReader(pa.py_buffer(body))
    tables = []
    while source.tell() < len(body):
        with pa.ipc.open_stream(source) as reader:
            tables.append(reader.read_all())
    return tables
