"""Which columns of a table hold what, and the names that they have in everything an engine returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STEPS = 12
"""Steps of half a standard deviation, from three below the mean to three above: beyond that, numbers add nothing."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table that a pool is made of.

    Items with the same predicted class and the same values of `keep` are a stratum: the finest groups that can be
    asked about. In every result the columns have the names of their roles, and those of `keep` and `carried` have
    "keep." and "carried." before their own, so that no name of a user's column can collide with ours.

    Parameters
    ----------
    id
        The column of ids, which become text.
    predicted
        The column of predicted classes, which become text.
    confidence
        The column with the probability that the prediction is right, or None.
    keep
        Columns whose values make groups, as text. A missing value is null.
    carried
        Columns that come along with the items of a reserve and make no groups: the confidences of other models,
        other scores. They keep their types.
    steps
        Columns of `keep` that are numbers: name, low and width. The value is the step k = floor((x − low)/width) as
        text, from 0 to 11; with the width 0 the number itself.
    bins
        Columns of `keep` that are put into bins: their edges, in increasing order, and whether they are of the kind
        "date", in which they count days since 1970-01-01. The value is the number of edges that are not above, as text.
        "count" is how many bins were asked for, which may be more than there are.
    gaps
        Whether a prediction may be missing: this model did not answer that item. It is null, and its confidence too.
    spelt
        How numbers that are text are written: with "," for decimal commas, and with "%" if the confidences have percent
        signs.

    A table of several models has a summary for each: `Columns(id, "a", "a_confidence", gaps=True)`. Their answers
    together are one more: `Columns(id, "a", keep=("b", "c"), carried=("a_confidence", ...), gaps=True)`.

    >>> columns = Columns("img", "class", "p", keep=("region",))
    >>> columns.strata
    ('predicted', 'keep.region')
    """

    id: str
    predicted: str
    confidence: str | None = None
    keep: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    gaps: bool = False
    steps: tuple[tuple[str, float, float], ...] = ()
    bins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    spelt: str = ""

    def __post_init__(self) -> None:
        for names in (self.keep, self.carried):
            if len(set(names)) < len(names):
                raise InputError(f"a column is named twice: {', '.join(map(repr, names))}. Name each once.")

    def __iter__(self) -> Iterator[str]:
        """The names of all columns that are read, each once."""
        named = (self.id, self.predicted, self.confidence, *self.keep, *self.carried)
        return iter(dict.fromkeys(name for name in named if name is not None))

    def to_json(self) -> dict[str, Any]:
        """What finds the columns of a pool again, as plain JSON values; columns that come along are not kept.

        >>> Columns("img", "class", keep=("region",)).to_json()
        {'id': 'img', 'predicted': 'class', 'confidence': None, 'keep': ('region',)}
        """
        written: dict[str, Any] = {name: getattr(self, name) for name in ("id", "predicted", "confidence", "keep")}
        return written | {name: value for name in ("steps", "bins", "spelt") if (value := getattr(self, name))}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Self:
        """The columns that `to_json` wrote."""
        steps = tuple((str(name), float(low), float(width)) for name, low, width in written.get("steps", ()))
        return cls(**dict(written) | {"keep": tuple(written["keep"]), "steps": steps})

    @property
    def stepped(self) -> dict[str, tuple[float, float]]:
        """Low and width of the steps, by the names of the columns that have steps."""
        return {name: (low, width) for name, low, width in self.steps if width}

    @property
    def strata(self) -> tuple[str, ...]:
        """The columns of results that together name a stratum, shape (1 + keep,)."""
        return ("predicted", *(f"keep.{name}" for name in self.keep))

    @property
    def items(self) -> tuple[str, ...]:
        """The columns of a table of items, as `Table.lookup` returns it; `Table.reserve` has "key" as well."""
        return ("id", *self.strata, "confidence", *(f"carried.{name}" for name in self.carried))

    @property
    def summary(self) -> pa.Schema:
        """Names and types of a summary.

        One row for each stratum and bin of the confidence s that has items. `bin` is floor(240 s) where 240 s < 239,
        and otherwise min(254, 239 + floor(16 (240 s − 239))). `count` is the number of items, `confidence` the sum of
        m = floor(2³² s + ½), and `hash` the sum of the first 32 bits of md5(id) over the items with m mod 4096 < 256.
        Without confidences s counts as 0. All are whole numbers, so that every engine gives the same bits in whatever
        order it adds. The hash notices other ids, since counts and sums notice everything else; one item in 16 is
        enough for that, and keeps the summary quick.
        """
        kinds: dict[str, pa.DataType] = dict.fromkeys(self.strata, pa.string())
        return pa.schema(kinds | {"bin": pa.int16()} | dict.fromkeys(("count", "confidence", "hash"), pa.int64()))
