"""Reading a pool from a table that stays on its engine: a summary, and the first items of every queue."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fewlabels.engines.columns import Columns
from fewlabels.engines.files import stamp_of
from fewlabels.errors import Argument, InputError, PoolChangedError
from fewlabels.hashing import column_bytes, framed
from fewlabels.partition import MOST_GROUPS, TOO_MANY
from fewlabels.pool import Pool
from fewlabels.reserve import BINS, EDGES, END, Reserve, bin_of, keys_from, keys_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.engines.table import RemoteTable

NAMED = 100_000
"""How many items are named at first, in all strata together; fewer if some strata are small."""
_MOST, _LEAST = 2_000, 5  # items of one stratum that are named at first
_UNITS = 1_000_000  # more units than this would make every command slow
_SCALE = 2.0**32  # confidences are added up as whole numbers
_KEEP = "keep."
_LARGEST = 2**53  # number of a combination of values: it is multiplied by the number of bins
_COMPARED = 100  # how many of the engine's keys are computed here too
STILL = (
    "The labels so far are about the table as it was, and what they show can still be read. To ask for more items, "
    "bring the old table back, name a place that holds exactly those items (fewlabels relocate), or begin a new "
    "assessment."
)
"""What can be done when a table has changed."""


def read_table(
    table: RemoteTable,
    columns: Columns,
    *,
    classes: Iterable[object] | None = None,
    content: str | None = None,
    seed: int = 0,
    named: int = NAMED,
    evidence: Sequence[str] = (),
    bins: Mapping[str, str] | None = None,
    to_ask: bool = True,
) -> Pool:
    """Read the summary of a table and the first items of every queue. Its rows are never all in memory.

    Parameters
    ----------
    table
        The table, on its engine.
    columns
        Which columns hold what. Groups can be made of `columns.keep` later, and of no other columns.
    classes
        All classes; those that are predicted if not given, sorted.
    content
        The column that an annotator sees. It is read for the items that are asked for.
    seed
        The order in which items are asked for depends on it, and on the ids.
    named
        How many items to name at first.
    evidence
        Columns from which the learned prior may learn. Their values make strata too, and numbers are put into steps.
    bins
        How many bins columns of `columns.keep` are put into, or where those begin, as `--groups column:age:4` says it;
        "" for a column that is not.
    to_ask
        Whether items will be asked for. If not, as in a plan, stand-ins are enough.
    """
    from fewlabels.io.stand_ins import with_stand_ins
    from fewlabels.io.table_roles import with_bins, with_evidence  # not needed by those who only ask and tell

    stamp = _stamp(_described(table))
    columns = with_bins(table, columns, bins or {}, seed)
    if content is not None and content not in table.schema.names:
        raise InputError(f"{table.name} has no column {content!r}, named by ", Argument("content"), ".")
    for name in (name for name in columns.keep if name not in columns.bins):
        if table.different(columns, name, MOST_GROUPS + 1) > MOST_GROUPS:
            raise InputError(f"{table.name}: the column {name!r} has over {MOST_GROUPS:,} different values. {TOO_MANY}")
    columns = with_evidence(table, columns, evidence)
    summary = table.summary(columns)
    if not summary.num_rows:
        raise InputError(f"{table.name} has columns but no rows. A pool needs at least one item.")
    pool = replace(_of_summary(summary, columns, table, classes, content, seed), evidence=tuple(evidence))
    _ = pool.known  # refuse what cannot be evidence here, and not at the first label
    table.check_ids(columns)
    assert pool.reserve is not None
    strata = pool.reserve.strata
    k = max(_LEAST, min(_MOST, named // strata))
    if not to_ask:
        return with_stand_ins(pool, k)
    items = table.reserve(columns, summary, seed, k)
    if _stamp(_described(table)) != stamp:  # what was read before and after may be of different files
        raise InputError(f"{table.name} was written to while it was read. Wait until it is complete, and begin again.")
    return _reaching(pool, items, np.full(strata, k), np.arange(pool.units)).added_to(pool)


def fingerprint_of(summary: pa.Table) -> str:
    """The SHA-256 of a summary, whose rows are sorted: it has a sum of hashes of the ids and confidences."""
    digest = hashlib.sha256()
    for name in summary.column_names:
        digest.update(framed(name.encode()) + framed(column_bytes(summary[name])))
    return digest.hexdigest()


def _of_summary(
    summary: pa.Table,
    columns: Columns,
    table: RemoteTable,
    classes: Iterable[object] | None,
    content: str | None,
    seed: int,
) -> Pool:
    """A pool of units, with no item named yet."""
    import pyarrow.compute as pc

    if summary.num_rows > _UNITS:
        raise InputError(
            f"{table.name} has more than {_UNITS:,} combinations of predicted class, group and confidence. Group by "
            "fewer columns, or by columns with fewer values."
        )
    predictions = summary["predicted"].combine_chunks()
    names = map(str, sorted(predictions.unique().to_pylist(), key=str) if classes is None else classes)
    known = tuple(dict.fromkeys(names))
    predicted = pc.index_in(predictions, value_set=pa.array(known, pa.string()))
    if predicted.null_count:
        odd = predictions.filter(predicted.is_null())[0].as_py()
        raise InputError(
            f"{table.name} predicts {odd!r}, which is not one of the classes named by ", Argument("classes"), "."
        )
    size, bin_ = (summary[name].to_numpy().astype(np.int64) for name in ("count", "bin"))
    mean = None
    if columns.confidence is not None:
        mean = np.clip(summary["confidence"].to_numpy() / _SCALE / size, EDGES[bin_], np.nextafter(EDGES[bin_ + 1], 0))
    kept = summary.select([_KEEP + name for name in columns.keep]).rename_columns(list(columns.keep))
    reserve = Reserve(
        size=size,
        stratum=_codes([predictions, *(column.combine_chunks() for column in kept.columns)])[1],
        bin=bin_,
        unit=np.empty(0, dtype=np.int64),
        key=np.empty(0, dtype=np.uint64),
        said=None if mean is None else np.empty(0),
        reach=np.zeros(len(size), dtype=np.uint64),
        seed=seed,
        fingerprint=fingerprint_of(summary),
        table=_found_again(table, columns),
        link=table,
    )
    return Pool(
        id_column=pa.nulls(len(size), pa.string()),
        predicted=predicted.to_numpy(zero_copy_only=False).astype(np.int32),
        classes=known,
        confidence=mean,
        columns=kept.combine_chunks() if columns.keep else None,
        content=content,
        source=table.name,
        reserve=reserve,
    )


def columns_of(pool: Pool) -> Columns:
    """The columns of the table that a pool was read from."""
    assert pool.reserve is not None
    return Columns.from_json(pool.reserve.table["columns"])


def moved_to(pool: Pool, table: RemoteTable) -> Callable[[Pool], Pool]:
    """A function that makes a stored pool find its table here; it raises PoolChangedError for a different table.

    Here every summary, count and hash is compared, as before a queue is read further.
    """
    assert pool.reserve is not None
    columns = columns_of(pool)
    place = _found_again(table, columns)  # before it is read: what is written from now on is noticed later
    check_same(pool, table, table.summary(columns))

    def moved(stored: Pool) -> Pool:
        assert stored.reserve is not None
        return replace(stored, reserve=replace(stored.reserve, table=place))

    return moved


def _found_again(table: RemoteTable, columns: Columns) -> dict[str, Any]:
    """How to open a table again, which of its columns hold what, and the stamp of its files, if it has any."""
    described = _described(table)
    stamp = _stamp(described)
    return {"table": described, "columns": columns.to_json()} | ({"stamp": stamp} if stamp else {})


def stamp_now(pool: Pool) -> str | None:
    """The stamp that the files of a pool's table have now; None if it has no files, or if they cannot be found."""
    assert pool.reserve is not None
    return _stamp(pool.reserve.table["table"]) if "stamp" in pool.reserve.table else None


def _stamp(described: str) -> str | None:
    about = json.loads(described)
    return stamp_of(about["address"], about.get("files", ())) if "address" in about else None


def _described(table: RemoteTable) -> str:
    """How to open a table again, from whatever folder."""
    about = json.loads(table.describe())
    if "://" not in about.get("address", "://"):
        about["address"] = str(Path(about["address"]).absolute())
    return json.dumps(about)


def check_same(pool: Pool, table: RemoteTable, summary: pa.Table) -> None:
    """Raise PoolChangedError if the table is no longer the one that a pool was read from."""
    assert pool.reserve is not None
    if fingerprint_of(summary) == pool.reserve.fingerprint:
        return
    classes = dict.fromkeys([*pool.classes, *summary["predicted"].unique().to_pylist()])
    now = _of_summary(summary, columns_of(pool), table, classes, pool.content, pool.reserve.seed)
    raise PoolChangedError(f"{table.name} has changed since it was read: {pool.differences(now)}. {STILL}")


def check_items(pool: Pool, table: RemoteTable, ids: Sequence[str]) -> None:
    """Raise PoolChangedError if a named item is gone, or its prediction, confidence or group has changed."""
    reserve = pool.reserve
    assert reserve is not None
    now = table.lookup(columns_of(pool), ids)
    left = [str(item) for item in now["id"].to_pylist()]
    named = pool.positions(left) - pool.units
    same = _units_of(pool, now) == reserve.unit[named]
    if reserve.said is not None:
        same &= now["confidence"].to_numpy().astype(float) == reserve.said[named]
    if wrong := [
        *(item for item, is_same in zip(left, same.tolist(), strict=True) if not is_same),
        *(set(ids) - set(left)),
    ]:
        raise _has_changed(pool, wrong[0])


def _has_changed(pool: Pool, item: str) -> PoolChangedError:
    return PoolChangedError(
        f"{pool.source} has changed since it was read: item {item!r} is gone, or has a different prediction, "
        f"confidence or group than before. {STILL}"
    )


@dataclass(frozen=True, eq=False)
class Named:
    """Items of a table that are to be named in a pool, and the key up to which all items of their units are included.

    Parameters
    ----------
    items
        The items, as engines return them.
    unit, key
        The unit and the key of each item, two of shape (items,).
    reach
        The largest key of each unit, 0 where nothing is known, shape (units,).
    """

    items: pa.Table
    unit: NDArray[np.int64]
    key: NDArray[np.uint64]
    reach: NDArray[np.uint64]

    @classmethod
    def of(cls, pool: Pool, items: pa.Table) -> Named:
        """Items of the table of a pool, of which nothing else is known."""
        assert pool.reserve is not None
        ids, seed = [str(item) for item in items["id"].to_pylist()], pool.reserve.seed
        written = [str(key) for key in items["key"].to_pylist()] if "key" in items.column_names else []
        keys = keys_from(written) if written else keys_of(ids, seed)
        if written and not np.array_equal(keys[:_COMPARED], keys_of(ids[:_COMPARED], seed)):
            raise InputError(f"{pool.source}: its engine computes an unusual MD5, so it cannot be used.")
        return cls(items, _units_of(pool, items), keys, np.zeros(pool.units, dtype=np.uint64))

    def added_to(self, pool: Pool) -> Pool:
        """The pool with these items as further rows; those that are named already stay where they are."""
        reserve = pool.reserve
        assert reserve is not None
        new = ~pool.has(self.items["id"].to_pylist()) if len(reserve.unit) else np.full(len(self.unit), fill_value=True)
        items = self.items.filter(pa.array(new)) if len(new) else self.items
        ids = items["id"].combine_chunks().cast(pa.string())
        confidences = None
        if reserve.said is not None:
            confidences = np.concatenate([reserve.said, items["confidence"].to_numpy().astype(float)])
        grown = replace(
            reserve,
            unit=np.concatenate([reserve.unit, self.unit[new]]),
            key=np.concatenate([reserve.key, self.key[new]]),
            said=confidences,
            reach=np.maximum(reserve.reach, self.reach),
        )
        return pool.with_rows(pa.concat_arrays([pool.id_column, ids]), grown)


def first_items(pool: Pool, table: RemoteTable, units: NDArray[np.int64], items: int) -> Named:
    """The first items, by key, of a group that is made of some units, about this many; `units` has shape (some,).

    A share of every stratum is read, in the bins from the first to the last of its units. A PoolChangedError if the
    table is not the one that the pool was read from.
    """
    reserve = pool.reserve
    assert reserve is not None
    columns = columns_of(pool)
    summary = table.summary(columns)
    check_same(pool, table, summary)
    stratum, bins = reserve.stratum, reserve.bin
    low, high = np.full(reserve.strata, BINS), np.full(reserve.strata, -1)
    np.minimum.at(low, stratum[units], bins[units])
    np.maximum.at(high, stratum[units], bins[units])
    part = np.flatnonzero((bins >= low[stratum]) & (bins <= high[stratum]))
    sizes = np.bincount(stratum[part], reserve.size[part], minlength=reserve.strata)
    expected = sizes * min(1.0, items / max(int(reserve.size[units].sum()), 1))
    wanted = np.minimum(np.ceil(expected + 4 * np.sqrt(expected) + 1), sizes).astype(np.int64)
    chosen, first = np.unique(stratum[units], return_index=True)
    asked = _strata_of(pool, units[first])
    for name, values in (("wanted", wanted), ("low", low.astype(np.int16)), ("high", high.astype(np.int16))):
        asked = asked.append_column(name, pa.array(values[chosen]))
    return _reaching(pool, table.reserve(columns, summary, reserve.seed, asked), wanted, part)


def looked_up(pool: Pool, table: RemoteTable, ids: Sequence[str]) -> Named:
    """The items of a table with these ids; unknown ones are left out."""
    return Named.of(pool, table.lookup(columns_of(pool), ids))


def _reaching(pool: Pool, items: pa.Table, wanted: NDArray[np.int64], part: NDArray[np.int64]) -> Named:
    """The first items of strata, as many of each as wanted, of some of the units: all are there up to the last key."""
    reserve = pool.reserve
    assert reserve is not None
    total = np.bincount(reserve.stratum[part], reserve.size[part], minlength=reserve.strata)
    last, named = np.zeros(reserve.strata, dtype=np.uint64), Named.of(pool, items)
    np.maximum.at(last, reserve.stratum[named.unit], named.key)
    last[total <= wanted] = END
    reach = np.zeros(pool.units, dtype=np.uint64)
    reach[part] = last[reserve.stratum[part]]
    return replace(named, reach=reach)


def _units_of(pool: Pool, items: pa.Table) -> NDArray[np.int64]:
    """The unit of each item, shape (items,). An item that has none is a PoolChangedError."""
    reserve = pool.reserve
    assert reserve is not None
    units = _strata_of(pool, np.arange(pool.units))
    code, _ = _codes(
        [units[name].combine_chunks() for name in units.column_names],
        [items[n].combine_chunks() for n in units.column_names],
    )
    bins = (
        bin_of(items["confidence"].to_numpy().astype(float))
        if reserve.said is not None
        else np.zeros(items.num_rows, np.int64)
    )
    of_unit = code[: pool.units] * BINS + reserve.bin
    of_item = np.where(code[pool.units :] < 0, -1, code[pool.units :] * BINS + bins)
    order = np.argsort(of_unit)
    place = np.minimum(np.searchsorted(of_unit[order], of_item), pool.units - 1)
    unit = order[place]
    if (wrong := np.flatnonzero(of_unit[unit] != of_item)).size:
        raise _has_changed(pool, str(items["id"][int(wrong[0])].as_py()))
    return unit


def _strata_of(pool: Pool, units: NDArray[np.int64]) -> pa.Table:
    """The strata of some units as engines name them: columns "predicted" and "keep.NAME", as text."""
    names = pa.array(pool.classes, pa.string()).take(pool.predicted[units])
    strata: dict[str, Any] = {"predicted": names}
    for name in columns_of(pool).keep:
        strata[_KEEP + name] = pool.column(name).combine_chunks().take(units)
    return pa.table(strata)


def _codes(
    known: Sequence[pa.Array[Any]], others: Sequence[pa.Array[Any]] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for each combination of values, of known rows and then of others (−1 if it is new); and their ranks."""
    import pyarrow.compute as pc

    total: NDArray[np.int64] = np.zeros(len(known[0]) + (len(others[0]) if others else 0), dtype=np.int64)
    for i, values in enumerate(known):
        distinct = values.unique()
        rows = pa.concat_arrays([values, others[i].cast(values.type)]) if others else values
        code = pc.index_in(rows, value_set=distinct).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        if int(total.max(initial=0)) >= _LARGEST // max(len(distinct), 1):
            total = np.unique(total, return_inverse=True)[1] - int((total < 0).any())  # in the same order, -1 as it is
        total = np.where((total < 0) | (code < 0), -1, total * len(distinct) + code)
    ranks = np.unique(total, return_inverse=True)[1].astype(np.int64)
    return total, ranks
