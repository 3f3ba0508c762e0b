"""A table of predictions on some engine, and what can be asked of it. The rows themselves stay there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from fewlabels.engines.columns import Columns


@dataclass(frozen=True)
class Step:
    """How far an engine is: what it does, and where it can tell, the share that is done and the rows read."""

    name: str
    share: float | None = None
    rows: int | None = None


class Table(ABC):
    """Items with their predictions, in an engine that can be asked about them.

    All results are Arrow tables. What is wrong with the table is an InputError; an engine that cannot be reached, or
    that goes away, is a StoreError.
    """

    name: str
    """The table as messages call it: never with a password."""
    progress: Callable[[Step], None] | None = None
    """Called now and then while a query runs, from another thread."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and types of all columns, in their order."""

    @abstractmethod
    def head(self, rows: int = 100) -> pa.Table:
        """Some rows with all columns, for recognising what is what."""

    @abstractmethod
    def summary(self, columns: Columns) -> pa.Table:
        """The summary of the table, sorted by stratum and bin: see `Columns.summary`.

        The same pass finds missing ids and predictions, and confidences that are missing, no number or outside [0, 1]:
        an InputError that counts them and names an item. A column that is missing or has no usable type is one too.
        """

    @abstractmethod
    def check_ids(self, columns: Columns) -> None:
        """InputError if two rows have the same id, with how many and an example."""

    @abstractmethod
    def reserve(self, columns: Columns, summary: pa.Table, seed: int, wanted: int | pa.Table) -> pa.Table:
        """The first items of the queue of every stratum: columns `Columns.items` and "key".

        The key of an item is md5("seed|id") in hexadecimal digits; a queue is ordered by key and then by id (as
        bytes), and so is the result: by stratum, key, id. `wanted` is the number of items of each stratum, or a
        table with the columns `Columns.strata`, "wanted" (int64) and, for a part of a stratum, "low" and "high": the
        first and last bin. Strata that are not in that table have no items in the result.
        """

    @abstractmethod
    def lookup(self, columns: Columns, ids: Sequence[str]) -> pa.Table:
        """The items with these ids, in the order of the ids: columns `Columns.items`. Unknown ids are left out."""

    @abstractmethod
    def content(self, columns: Columns, ids: Sequence[str], names: Sequence[str]) -> pa.Table:
        """Columns "id" and `names` of the items with these ids, in the order of the ids; unknown ids are left out."""

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
