"""A table of predictions on some engine, and what can be asked of it. The rows themselves stay there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from fewlabels.engines import trouble
from fewlabels.engines.columns import Columns
from fewlabels.engines.queues import Queues, first_of_each
from fewlabels.engines.texts import Texts, is_fraction
from fewlabels.engines.texts import upto as key_limit
from fewlabels.errors import PoolChangedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence


@dataclass(frozen=True)
class Step:
    """How far an engine is: what it does, and where it can tell, the share that is done and the rows read."""

    name: str
    share: float | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Sample:
    """Rows of a table that were drawn by their keys: how many there were in all, and the key below which all are."""

    rows: pa.Table
    total: int
    upto: str


class RemoteTable(ABC):
    """Items with their predictions, in an engine that can be asked about them.

    All results are Arrow tables. A problem with the table is an InputError; an engine that cannot be reached, or that
    goes away, is a StoreError. An engine has to say how it answers a query (`_ask`), how rows are sent to it (`_sent`),
    and how it is found again (`describe`).
    """

    name: str
    """The table as messages call it: never with a password."""
    dialect: str
    """One of `texts.DIALECTS`."""
    source: str
    """The table as it stands after FROM, in DuckDB's dialect."""
    progress: Callable[[Step], None] | None = None
    """Called while a query runs, now and then and from another thread where the engine can tell how far it is."""
    untyped = False
    """Whether all columns are text, and text may stand for numbers."""
    left_out: tuple[str, ...] = ()
    """Files beside those of the table that are of another format, and are not read."""
    most_bound = 1000
    """How many ids are asked for in one query."""

    @abstractmethod
    def _ask(self, step: str, text: str, bound: Sequence[str | int] = ()) -> pa.Table:
        """The answer to a query in the table's dialect. Values are bound where `texts.with_bound` finds marks."""

    @abstractmethod
    def _sent(self, limits: pa.Table) -> Generator[str]:
        """Have small rows ready for a query to join; yields what stands after JOIN, for each part that fits into one.

        The text is in DuckDB's dialect.
        """

    @abstractmethod
    def describe(self) -> str:
        """A JSON text from which `open_again` opens the table. It holds no password."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the engine. Closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of all columns, in their order."""
        return self.head().schema

    def head(self, rows: int = 100) -> pa.Table:
        """Some rows with all columns, for recognising what is what."""
        return self._ask("columns", Texts.head(self.dialect, self.source, rows))

    def summary(self, columns: Columns) -> pa.Table:
        """The summary of the table, sorted by stratum and bin: see `Columns.summary`.

        The same pass finds missing ids and predictions, and confidences that are missing, no number or outside [0, 1]:
        an InputError that counts them and names an item. A column that is missing or has no usable type is one too.
        """
        texts = self._texts(columns)
        trouble.check_whole(self.name, texts, lambda text: self._ask("columns", text))
        counts = self._ask("summary", texts.summary())
        names = [*columns.summary.names, "no_id"]
        counts = counts.rename_columns(names)
        trouble.check_summary(self.name, columns, counts, lambda what: self._ask("summary", texts.example(what)))
        counts = counts.select(columns.summary.names).cast(columns.summary)
        return counts.sort_by([(name, "ascending") for name in (*columns.strata, "bin")])

    def spread(self, columns: Columns, name: str) -> tuple[float, float, float, float] | None:
        """Lowest, highest, mean and standard deviation of a column of numbers; None if it has none, or no numbers."""
        texts = self._texts(columns)
        trouble.need(self.name, self.schema, name, "evidence")
        kind = self.schema.field(name).type
        if not (pa.types.is_integer(kind) or is_fraction(kind)):
            return None
        low, high, mean, sd = (column[0].as_py() for column in self._ask("evidence", texts.spread(name)).columns)
        return None if mean is None else (float(low), float(high), float(mean), float(sd))

    def values(self, columns: Columns, name: str, seed: int, rows: int) -> pa.Table:
        """About so many values of a column, drawn at random by their items' keys: numbers, or dates as text."""
        texts = self._texts(columns)
        trouble.need(self.name, self.schema, name, "columns")
        total = int(self._ask("rows", texts.counted()).column(0)[0].as_py())
        return self._ask("values", texts.values(name, seed, key_limit(rows / max(total, 1))))

    def different(self, columns: Columns, name: str, most: int) -> int:
        """How many different values a column has, counted up to `most`; a missing one counts too."""
        return int(self._ask("values", self._texts(columns).different(name, most)).column(0)[0].as_py())

    def check_ids(self, columns: Columns) -> None:
        """InputError if two rows have the same id, with how many and an example."""
        repeated = self._ask("ids", self._texts(columns).repeated())
        trouble.check_repeated(self.name, repeated)

    def reserve(self, columns: Columns, summary: pa.Table, seed: int, wanted: int | pa.Table) -> pa.Table:
        """The first items of the queue of every stratum: columns `Columns.items` and "key".

        The key of an item is md5("seed|id") in hexadecimal digits; a queue is ordered by key and then by id (as
        bytes), and so is the result: by stratum, key, id. `wanted` is the number of items of each stratum, or a
        table with the columns `Columns.strata`, "wanted" (int64) and, for a part of a stratum, "low" and "high": the
        first and last bin. Strata that are not in that table have no items in the result.

        A stratum with fewer items than the summary says is a PoolChangedError.
        """
        texts, whole = self._texts(columns), Queues.of(columns, summary, wanted)
        left, numbers = whole, np.arange(len(whole))
        parts, queues = [], []
        while len(left):
            rows, queue = self._below(texts, left, seed)
            short = left.short(np.bincount(queue, minlength=len(left)))
            if np.any(short & (left.shares >= 1)):
                raise PoolChangedError(
                    f"{self.name} has changed since it was summarised: items are gone. Make a new assessment of it."
                )
            done = ~short[queue]
            parts.append(rows.filter(pa.array(done)))
            queues.append(numbers[queue[done]])
            left, numbers = left.further(short), numbers[short]
        if not parts:
            return _named(_nothing(len(columns.items) + 1), [*columns.items, "key"])
        rows = stacked(parts)
        return first_of_each(rows, pa.array(np.concatenate(queues)), whole.wanted)

    def sample(self, id: str, rows: int, seed: int, upto: str | None = None) -> Sample:  # noqa: A002  (as in read_pool)
        """Rows with all columns, drawn at random by their ids: those whose keys are the smallest.

        The rows of an id come all or not at all, so there may be some fewer. With `upto`, a key, they are those below
        it: of two tables with the same ids the same ones are drawn.
        """
        texts = self._texts(Columns(id, id))
        total, with_id = (int(column[0].as_py()) for column in self._ask("rows", texts.counted()).columns)
        trouble.check_ids_there(self.name, id, total - with_id)
        share = (rows + 6 * rows**0.5) / max(total, 1)
        while True:
            sampled = self._ask("sample", texts.sample(seed, key_limit(share) if upto is None else upto))
            if upto is not None or sampled.num_rows >= rows or share >= 1:
                break
            share *= 2
        sampled = sampled.sort_by([(sampled.column_names[-1], "ascending")])
        keys = sampled.column(sampled.num_columns - 1).to_pylist()
        last = upto or "g"
        if upto is None and len(keys) > rows:
            last = str(keys[rows])
            sampled = sampled.slice(0, max(keys.index(last), 1))
        return Sample(sampled.drop_columns(sampled.column_names[-1]), total, last)

    def _below(self, texts: Texts, queues: Queues, seed: int) -> tuple[pa.Table, Any]:
        """The items below the limits of some queues, and the queue of each, shape (items,)."""
        names, parts = [*texts.columns.items, "key"], []
        with closing(self._sent(queues.limits())) as sent:
            for limits in sent:
                rows = self._ask("reserve", texts.reserve(seed, limits, strips=queues.strips is not None))
                parts.append(_named(rows, ["queue", *names]))
        rows = stacked(parts)
        return rows.drop_columns("queue"), rows["queue"].to_numpy()

    def lookup(self, columns: Columns, ids: Sequence[str]) -> pa.Table:
        """The items with these ids, in the order of the ids: columns `Columns.items`. Unknown ids are left out."""
        texts = self._texts(columns)
        return self._by_id(texts, ids, texts.lookup, columns.items)

    def content(self, columns: Columns, ids: Sequence[str], names: Sequence[str]) -> pa.Table:
        """Columns "id" and `names` of the items with these ids, in the order of the ids; unknown ids are left out."""
        texts = self._texts(columns)
        for name in names:
            trouble.need(self.name, self.schema, name, "content")
        return self._by_id(texts, ids, lambda count: texts.content(count, names), ["id", *names])

    def _by_id(self, texts: Texts, ids: Sequence[str], text: Callable[[int], str], names: Sequence[str]) -> pa.Table:
        """The rows with some ids, which are in the first column, in the order of the ids."""
        place = {item: i for i, item in enumerate(dict.fromkeys(ids))}
        bound = [key for item in place if (key := texts.key_of_id(item)) is not None]
        parts = [_named(_nothing(len(names)), names)]
        for start in range(0, len(bound), self.most_bound):
            some = bound[start : start + self.most_bound]
            parts.append(_named(self._ask("items", text(len(some)), some), names))
        rows = stacked(parts)
        # Some engines find "A" where "a" is asked for; such rows are not meant.
        at = np.array([place.get(str(item), -1) for item in rows.column(0).to_pylist()], dtype=np.int64)
        rows, at = rows.filter(pa.array(at >= 0)), at[at >= 0]
        trouble.check_once(self.name, rows.column(0), len(np.unique(at)))
        return rows.take(np.argsort(at))

    def _texts(self, columns: Columns) -> Texts:
        trouble.check_columns(self.name, self.schema, columns, untyped=self.untyped)
        return Texts(self.dialect, self.source, columns, self.schema)


def stacked(parts: Sequence[pa.Table]) -> pa.Table:
    """Tables below each other. Two columns may have the same name, and a part without values has no types."""
    numbers = [str(i) for i in range(parts[0].num_columns)]
    whole = pa.concat_tables([part.rename_columns(numbers) for part in parts], promote_options="permissive")
    return whole.rename_columns(parts[0].column_names)


def _named(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """A table with the names of roles, and with the types of those roles; other columns keep theirs."""
    fields = []
    for name, column in zip(names, table.columns, strict=True):
        text = name in {"id", "predicted", "key"} or name.startswith("keep.")
        kinds: dict[str, pa.DataType] = {"confidence": pa.float64(), "queue": pa.int64()}
        fields.append(pa.field(name, pa.string() if text else kinds.get(name, column.type)))
    return pa.table(table.columns, names=list(names)).cast(pa.schema(fields))


def _nothing(columns: int) -> pa.Table:
    return pa.table([pa.nulls(0)] * columns, names=[str(i) for i in range(columns)])
