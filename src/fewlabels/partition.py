"""Partitions of a pool into groups: by predicted class, by score, by column, by class map, and crosses."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fewlabels.arrow import missing_in, numbers_of
from fewlabels.bins import Bins, bins_from, count_of, values_of
from fewlabels.checks import number_of, of_kind, whole_number
from fewlabels.errors import InputError, described
from fewlabels.pool import NO_ANSWER, Pool
from fewlabels.recipes import recipe_words
from fewlabels.reserve import items_of
from fewlabels.score_bins import bin_names, score_bins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

_MOST_BINS = 1_000_000  # each has a name, whether it has items or not
# Codes that are more than this many times as large as there are rows are sorted to number them.
_SPARSE = 4

MOST_GROUPS = 100_000
"""More groups would make every command take minutes, and nobody has as many labels."""
TOO_MANY = (
    "A label of one group says little about another, so nearly all of them would stay without a number of their own. "
    "Group by a column with few values, such as a region or a source, put numbers or dates into bins, as in "
    "column:NAME:4, or group by predicted class or score."
)
"""Why there may not be more, and what to do."""


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Every item of a pool in exactly one group.

    A group without items stays in the list, with size 0. It is never asked about and has no value.

    Parameters
    ----------
    names
        The names of the groups.
    group
        The position in `names` of each item's group, shape (items,).
    recipe
        How the partition is made from a pool, as plain JSON values; see `partition_from_recipe`.
    count
        How many items each row stands for, as in `Pool.count`; None if every row is an item.

    Examples
    --------
    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> groups = fl.by_predicted(pool)
    >>> groups
    <Partition: 2 groups by predicted class>
    >>> groups.sizes
    array([2, 1])
    """

    names: tuple[str, ...]
    group: NDArray[np.int32]
    recipe: Mapping[str, Any]
    count: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            twice = next(name for name, count in Counter(self.names).items() if count > 1)
            raise InputError(f"two groups have the name {twice!r}. Rename one of the classes or values.")

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        empty = int(np.count_nonzero(self.sizes == 0))
        note = f", {empty:,} of them empty" if empty else ""
        return f"<Partition: {len(self):,} group{'s' * (len(self) != 1)} {self.words}{note}>"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Items in each group, shape (groups,)."""
        return items_of(self.group, len(self), self.count)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """p_g: the share of the pool in each group, shape (groups,)."""
        return self.sizes / max(int(self.sizes.sum()), 1)

    @property
    def words(self) -> str:
        """How the groups were made, in words."""
        return recipe_words(self.recipe)

    def called(self, name: str) -> str | None:
        """The name of the group that somebody means; None if there is none, or it is not clear.

        The × of crossed groups and the – of bins, which few keyboards have, can be typed as x and -. Letter case and
        the order of what was crossed do not matter where it is clear.

        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"predicted": ["a", "b", "a"], "sex": ["f", "m", "m"]})
        >>> crossed = fl.cross(fl.by_column(pool, "sex"), fl.by_predicted(pool))
        >>> crossed.called("m x A"), crossed.called("a x m")
        ('m × a', 'm × a')
        """
        typed = _crossed(name)
        for spelling in (name, typed):
            if spelling in self.names:
                return spelling
        for plain in (_typed, _parts):
            alike = [known for known in self.names if plain(known) == plain(typed)]
            if len(alike) == 1:
                return alike[0]
        return None

    def position(self, name: str) -> int:
        """The position of the group that somebody means, as `called` reads it; an unknown name is an InputError."""
        meant = self.called(name)
        if meant is not None:
            return self.names.index(meant)
        near = difflib.get_close_matches(_crossed(name), self.names, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        some = ", ".join(repr(n) for n in self.names[:8]) + (", ..." if len(self) > 8 else "")
        raise InputError(f"there is no group {name!r}. {hint}The groups are {some}.")


def numbered(code: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different codes in increasing order, and the position of each row's; two of shape (different,) and (rows,).

    As `np.unique` of whole numbers from 0 up, without sorting where they are not much larger than there are rows.

    >>> numbered(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1]))
    """
    most = int(code.max(initial=-1)) + 1
    if most > _SPARSE * len(code):
        used, number = np.unique(code, return_inverse=True)
        return used, number.astype(np.int64)
    occurs = np.zeros(most, dtype=np.bool_)
    occurs[code] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[code]


def whole(pool: Pool) -> Partition:
    """All items in one group: for a metric of the whole pool.

    >>> import fewlabels as fl
    >>> fl.whole(fl.read_pool([[0.9, 0.1], [0.2, 0.8]])).names
    ('all',)
    """
    of_kind(pool, Pool, "The 'pool' of whole()")
    return Partition(("all",), np.zeros(pool.rows, np.int32), {"by": "whole"}, pool.count)


def by_predicted(pool: Pool) -> Partition:
    """One group for each predicted class (the paper's g = k), and one for missing answers if there are any.

    >>> import fewlabels as fl
    >>> fl.by_predicted(fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"])).names
    ('cat', 'dog')
    """
    of_kind(pool, Pool, "The 'pool' of by_predicted()")
    names = pool.classes if (pool.predicted == len(pool.choices)).any() else pool.choices
    return Partition(names, pool.predicted, {"by": "predicted"}, pool.count)


def by_score(pool: Pool, bins: int = 10, equal: Literal["width", "weight"] = "width") -> Partition:
    """Bins of the confidence: the groups of a reliability diagram.

    `equal="width"`: bin b contains s with b/B <= s < (b+1)/B, and s = 1 belongs to the last one. `equal="weight"`:
    each bin has about the same number of items. Items with the same confidence always share a bin, so ties can make
    bins uneven or merge them.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.0, 1.0]])
    >>> fl.by_score(pool, bins=2).names, fl.by_score(pool, bins=2).sizes
    (('0.000-0.500', '0.500-1.000'), array([0, 4]))
    >>> fl.by_score(pool, bins=2, equal="weight").names
    ('0.500-0.800', '0.900-1.000')
    """
    of_kind(pool, Pool, "The 'pool' of by_score()")
    bins = whole_number(bins, "The 'bins' of by_score()", most=_MOST_BINS)
    if equal not in ("width", "weight"):
        raise InputError(f"The 'equal' of by_score() must be 'width' or 'weight'. Got {equal!r} instead.")
    recipe = {"by": "score", "bins": bins, "equal": equal}
    group, edges = score_bins(pool, bins, equal)
    return Partition(bin_names(edges), group, recipe, pool.count)


def by_column(pool: Pool, column: str, bins: int | Iterable[object] | Bins | None = None) -> Partition:
    """One group for each value of a column, in sorted order; missing values form the group "(missing)".

    With `bins`, a column of numbers or dates is put into this many bins of about equal size, or into bins that begin
    where you say. The partition remembers where they begin.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b", "a"], "sex": ["f", "m", None], "age": [20, 35, 64]})
    >>> fl.by_column(pool, "sex").names
    ('f', 'm', '(missing)')
    >>> fl.by_column(pool, "age", bins=[30, 60]).names
    ('age under 30', 'age 30–59', 'age 60 or more')
    """
    values = of_kind(pool, Pool, "The 'pool' of by_column()").column(column)
    read_in = None if pool.reserve is None else pool.reserve.bins.get(column)
    if read_in is not None:
        return _in_the_tables_bins(pool, Bins.from_json(column, read_in), bins, read_in.get("count"))
    if bins is not None:
        held, kind = values_of(column, values)
        chosen = bins if isinstance(bins, Bins) else bins_from(column, bins, held, kind)
        return _in_bins(pool, chosen, chosen.of(held), np.isnan(held))
    encoded = values.combine_chunks().dictionary_encode()
    known = encoded.dictionary.to_pylist()
    keys = known
    if pool.reserve is not None:  # engines give values as text, numbers too
        read = [number_of(str(value)) for value in known]
        keys = known if any(number is None or np.isnan(number) for number in read) else read
    order = sorted(range(len(known)), key=lambda i: _sort_key(keys[i]))
    place = np.empty(len(known) + 1, dtype=np.int32)
    place[order] = np.arange(len(known))
    place[-1] = len(known)
    code = np.where(missing_in(encoded), len(known), numbers_of(encoded.indices))
    names = [str(known[i]) for i in order]
    if encoded.null_count:
        names.append("(missing)")
    return Partition(tuple(names), place[code], {"by": "column", "column": column}, pool.count)


def _in_bins(pool: Pool, bins: Bins, place: NDArray[np.int32], missing: NDArray[np.bool_]) -> Partition:
    """Groups that are bins, by the bin of each row and whether it has one, two of shape (rows,)."""
    names = (*bins.names, "(missing)") if missing.any() else bins.names
    recipe = {"by": "column", "column": bins.column, "bins": bins.to_json()}
    return Partition(names, np.where(missing, len(bins.names), place).astype(np.int32), recipe, pool.count)


def _in_the_tables_bins(
    pool: Pool, read_in: Bins, wanted: int | Iterable[object] | Bins | None, asked: int | None
) -> Partition:
    """The bins in which a column of a table was read. Of the values themselves nothing is known, so none other are.

    So many were asked for when it was read; there may be fewer, where many values are equal.
    """
    known = len(read_in.names)
    if wanted is None or isinstance(wanted, Bins):
        same = wanted in (None, read_in)
    elif (count := count_of(wanted)) is not None:
        same = count in (known, asked)
    else:
        same = bins_from(read_in.column, wanted, np.empty(0), read_in.kind).edges == read_in.edges
    if not same:
        begin = ", ".join(map(read_in.written, read_in.edges))
        raise InputError(
            f"the column {read_in.column!r} was read from the table in {known} bins, which begin at {begin}, and there "
            "are no others here. Begin an assessment with others, under another name."
        )
    code = pool.column(read_in.column).combine_chunks()
    missing = missing_in(code)
    place = numbers_of(code.fill_null("0").cast("int64"))
    return _in_bins(pool, read_in, place.astype(np.int32), missing)


def by_map(pool: Pool, classes: Mapping[str, str]) -> Partition:
    """Groups of predicted classes, such as superclasses: `{"oak": "trees", "pine": "trees", ...}`.

    Every class of the pool must be in the map.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["oak", "man"]}, classes=["oak", "pine", "man"])
    >>> fl.by_map(pool, {"oak": "trees", "pine": "trees", "man": "people"}).names
    ('trees', 'people')
    """
    of_kind(pool, Pool, "The 'pool' of by_map()")
    if not isinstance(classes, Mapping):
        raise InputError(f"by_map() takes a mapping from class to group. Got {described(classes)} instead.")
    if pool.unanswered:  # a missing answer is in no map
        classes = {NO_ANSWER: NO_ANSWER, **classes}
    missing = [name for name in pool.classes if name not in classes]
    if missing and isinstance(next(iter(classes.values()), ""), (list, tuple, set)):
        raise InputError(
            "by_map() takes the group of each class. Got the classes of each group; write "
            "{name: group for group, names in classes.items() for name in names} instead."
        )
    if missing:
        raise InputError(
            f"by_map() has no group for the class {missing[0]!r}"
            + (f" and {len(missing) - 1:,} more" if len(missing) > 1 else "")
            + ". Every class needs one."
        )
    names = tuple(dict.fromkeys(str(classes[name]) for name in pool.classes))
    position = {name: k for k, name in enumerate(names)}
    place = np.array([position[str(classes[name])] for name in pool.classes], dtype=np.int32)
    recipe = {"by": "map", "classes": {name: str(classes[name]) for name in pool.classes}}
    return Partition(names, place[pool.predicted], recipe, pool.count)


def cross(*partitions: Partition) -> Partition:
    """The groups of several partitions crossed, such as sex × race: every combination that has items.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b", "a"], "sex": ["f", "m", "m"]})
    >>> fl.cross(fl.by_column(pool, "sex"), fl.by_predicted(pool)).names
    ('f × a', 'm × a', 'm × b')
    """
    if len(partitions) < 2:
        raise InputError("cross() needs two partitions or more.")
    for part in partitions:
        of_kind(part, Partition, "Each argument of cross()")
    group = np.zeros(len(partitions[0].group), dtype=np.int64)
    for part in partitions:
        if len(part.group) != len(group):
            raise InputError("cross() needs partitions of the same pool; these have different numbers of items.")
        # Numbered after each, so that no number is larger than rows × groups.
        used, group = numbered(group * len(part) + part.group)
    row = np.empty(len(used), dtype=np.int64)
    row[group] = np.arange(len(group))  # any row of each group shows what it is made of
    combined = [[part.names[part.group[i]] for part in partitions] for i in row.tolist()]
    names = tuple(" × ".join(parts) for parts in combined)
    if len(set(names)) < len(names):  # quote names that contain a × themselves
        names = tuple(" × ".join(map(repr, parts)) for parts in combined)
    recipe = {"by": "cross", "of": [dict(part.recipe) for part in partitions]}
    return Partition(names, group.astype(np.int32), recipe, partitions[0].count)


_MAKERS: dict[str, Callable[[Pool, Mapping[str, Any]], Partition]] = {
    "whole": lambda pool, _: whole(pool),
    "predicted": lambda pool, _: by_predicted(pool),
    "score": lambda pool, recipe: by_score(pool, recipe["bins"], recipe["equal"]),
    "column": lambda pool, recipe: by_column(pool, recipe["column"], _bins_of(recipe)),
    "map": lambda pool, recipe: by_map(pool, recipe["classes"]),
    "cross": lambda pool, recipe: cross(*(partition_from_recipe(pool, part) for part in recipe["of"])),
}


def partition_from_recipe(pool: Pool, recipe: Mapping[str, Any]) -> Partition:
    """Make the partition that a recipe describes from the pool."""
    if recipe.get("by") not in _MAKERS:
        raise InputError(f"unknown way to make groups: {recipe.get('by')!r}. The known ways are {', '.join(_MAKERS)}.")
    return _MAKERS[recipe["by"]](pool, recipe)


def of_pool(groups: Partition, *pools: Pool) -> Partition:
    """Return the groups if they are what their recipe makes of one of these pools; otherwise raise an InputError.

    The pools have the same items, with the predictions of different models.

    >>> import fewlabels as fl
    >>> old, new = (fl.read_pool({"predicted": answers}) for answers in (["a", "b", "a"], ["a", "b", "b"]))
    >>> of_pool(fl.by_predicted(old), new)
    Traceback (most recent call last):
    fewlabels.errors.InputError: the groups belong to another pool: this pool gives other groups. Make them from this
    pool.
    """
    if len(groups.group) == pools[0].rows and any(_makes(pool, groups) for pool in pools):
        return groups
    same = len(groups.group) == pools[0].rows
    why = "this pool gives other groups" if same else "they have a different number of items"
    raise InputError(f"the groups belong to another pool: {why}. Make them from this pool.")


def _makes(pool: Pool, groups: Partition) -> bool:
    try:
        made = partition_from_recipe(pool, groups.recipe)
    except InputError:  # such as a column that the pool does not have
        return False
    return made.names == groups.names and np.array_equal(made.group, groups.group)


def has_recipe(groups: Partition) -> bool:
    """Whether a recipe makes the groups from a pool. Those put together for a comparison with a judge have none."""
    return groups.recipe.get("by") in _MAKERS


def _bins_of(recipe: Mapping[str, Any]) -> Bins | None:
    return Bins.from_json(recipe["column"], recipe["bins"]) if "bins" in recipe else None


def _crossed(name: str) -> str:
    """A name with the × that was typed as x."""
    return name.replace(" x ", " × ")


def _typed(name: str) -> str:
    """A name as keyboards have it, whatever its case."""
    return name.replace("–", "-").casefold()


def _parts(name: str) -> list[str]:
    """What a crossed group is made of, in any order."""
    return sorted(_typed(name).split(" × "))


def _sort_key(value: object) -> tuple[int, float | Decimal, str]:
    return (0, value, "") if isinstance(value, (bool, int, float, Decimal)) else (1, 0.0, str(value))
