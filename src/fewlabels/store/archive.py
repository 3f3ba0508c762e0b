"""Packing a pool into bytes, to store it beside its assessments, and unpacking it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pyarrow as pa

from fewlabels.arrow import column_of, numbers_of
from fewlabels.errors import PoolChangedError
from fewlabels.pool import Pool, Predictions
from fewlabels.store.archived_reserve import MAGIC as RESERVE_MAGIC
from fewlabels.store.archived_reserve import pack_units, unpack_pieces

if TYPE_CHECKING:
    from typing import Any

_MAGIC = b"fewlabels pool 1\n"
_SEVERAL = b"fewlabels pool 2\n"  # of several models, or with missing answers: older versions must not misread it
_EVIDENCE = b"fewlabels pool 4\n"  # with evidence columns, so the same
_DIGEST = hashlib.sha256().digest_size
_ABOUT = b"fewlabels"


def pack_pool(pool: Pool) -> bytes:
    """Pack a pool into bytes: a first line, a SHA-256 of the rest, and one or more compressed Arrow streams.

    The first stream has a row per item: id, then predicted and confidence (if known) of each model, then further
    columns. For each model with score vectors follows a stream of their sums per class. Unpacking gives a pool with
    the same fingerprint.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.store.archive import pack_pool, unpack_pool
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"])
    >>> unpack_pool(pack_pool(pool)).fingerprint == pool.fingerprint
    True
    """
    if pool.reserve is not None:
        return pack_units(pool)
    # Read back by position, because the further columns may have any name, "id" among them.
    columns: list[Any] = [pool.id_column]
    names = ["id"]
    each = (Predictions(pool.predicted, pool.confidence, pool.score_sums), *pool.rest)
    for part in each:
        columns.append(column_of(part.predicted))
        names.append("predicted")
        if part.confidence is not None:
            columns.append(column_of(part.confidence))
            names.append("confidence")
    if pool.columns is not None:
        columns.extend(pool.columns.columns)
        names.extend(pool.columns.column_names)
    several = bool(pool.models) or pool.unanswered
    about: dict[str, Any] = {
        "classes": pool.classes,
        "confidence": pool.confidence is not None,
        "score_sums": pool.score_sums is not None,
        "columns": pool.columns is not None,
        "content": pool.content,
        "source": pool.source,
    }
    if several:
        rest = [{"confidence": part.confidence is not None, "score_sums": part.score_sums is not None} for part in each]
        about |= {"models": pool.models, "unanswered": pool.unanswered, "rest": rest[1:]}
    if pool.evidence:
        about["evidence"] = pool.evidence
    if pool.positive is not None:
        about["positive"] = pool.positive
    items = pa.Table.from_arrays(columns, names=names)
    sink = pa.BufferOutputStream()
    _write(sink, items.replace_schema_metadata({_ABOUT: json.dumps(about)}))
    for part in each:
        if part.score_sums is not None:
            _write(sink, pa.table({"score_sums": column_of(part.score_sums.ravel())}))
    data = sink.getvalue()
    first = _EVIDENCE if pool.evidence else _SEVERAL if several else _MAGIC
    return b"".join((first, hashlib.sha256(data).digest(), data))


def unpack_pool(data: bytes) -> Pool:
    """Unpack the pool that `pack_pool` packed. Any other bytes are a PoolChangedError.

    The digest is compared before anything is read, so damaged bytes never reach the Arrow reader.

    Examples
    --------
    >>> from fewlabels.store.archive import unpack_pool
    >>> unpack_pool(b"something else")
    Traceback (most recent call last):
    fewlabels.errors.PoolChangedError: the stored pool is damaged: ...
    """
    head = len(_MAGIC) + _DIGEST
    if data.startswith(RESERVE_MAGIC):
        if (pool := unpack_pieces(data)) is None:
            raise _damaged()
        return pool
    body = memoryview(data)[head:]
    if not data.startswith((_MAGIC, _SEVERAL, _EVIDENCE)) or hashlib.sha256(body).digest() != data[len(_MAGIC) : head]:
        raise _damaged()
    source = pa.BufferReader(pa.py_buffer(body))
    items = _read(source)
    about = json.loads((items.schema.metadata or {})[_ABOUT])
    predictions, taken = _predictions(items, source, about)
    others = items.select(list(range(taken, items.num_columns))).replace_schema_metadata(None)
    return Pool(
        id_column=items.column(0).combine_chunks(),
        predicted=predictions[0].predicted,
        classes=tuple(about["classes"]),
        confidence=predictions[0].confidence,
        score_sums=predictions[0].score_sums,
        columns=others if about["columns"] else None,
        content=about["content"],
        source=about["source"],
        models=tuple(about.get("models", ())),
        rest=tuple(predictions[1:]),
        unanswered=about.get("unanswered", False),
        evidence=tuple(about.get("evidence", ())),
        positive=about.get("positive"),
    )


def _damaged() -> PoolChangedError:
    return PoolChangedError(
        "the stored pool is damaged: its bytes are not those that were written. Restore the database "
        "from a backup, or begin again in another database, from the file of predictions."
    )


def _predictions(items: pa.Table, source: pa.BufferReader, about: dict[str, Any]) -> tuple[list[Predictions], int]:
    """The predictions of each model, and how many columns came before the further ones."""
    size, column = len(about["classes"]), 1
    models = []
    for has in (about, *about.get("rest", ())):
        predicted, confidence = numbers_of(items.column(column)), None
        column += 1
        if has["confidence"]:
            confidence = numbers_of(items.column(column))
            column += 1
        sums = numbers_of(_read(source).column(0)).reshape(size, size) if has["score_sums"] else None
        models.append(Predictions(predicted, confidence, sums))
    return models, column


def _write(sink: pa.BufferOutputStream, table: pa.Table) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)


def _read(source: pa.BufferReader) -> pa.Table:
    with pa.ipc.open_stream(source) as reader:
        return reader.read_all()
