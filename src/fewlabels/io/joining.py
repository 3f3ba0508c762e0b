"""Joining the pools of several models by id into one pool."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from fewlabels.errors import Argument, InputError
from fewlabels.io.answers import in_order, one_form
from fewlabels.io.spellings import alike, bare, whole
from fewlabels.pool import NO_ANSWER, Pool, Predictions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


def join(pools: Mapping[str, Pool], *, named: bool = False, any_spelling: bool = False) -> Pool:
    """Join pools of one model each by id.

    The items are those of the first model, then those that the next ones add. The classes are the union. An item that a
    model does not have is one that it did not answer. `named` says that the caller named the classes, and
    `any_spelling` that case, spaces and punctuation do not matter: the commonest spelling of all models is then the
    class.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.io.joining import join
    >>> old = fl.read_pool({"id": ["a", "b"], "predicted": ["yes", "no"]})
    >>> new = fl.read_pool({"id": ["b", "a"], "predicted": ["no", "maybe"]})
    >>> pool = join({"old": old, "new": new})
    >>> pool.classes, pool.answers.tolist()
    (('maybe', 'no', 'yes'), [[2, 0], [1, 1]])
    """
    _check_models(pools)
    pools = _with_like_ids(pools)
    pools = pools if named else _with_like_classes(pools)
    if any_spelling and not named:
        pools = _in_one_spelling(pools)
    classes = _union(pools, named=named, any_spelling=any_spelling and not named)
    ids = list(dict.fromkeys(item for pool in pools.values() for item in pool.ids.to_pylist()))
    row = {item: i for i, item in enumerate(ids)}
    rows = {name: np.array([row[item] for item in pool.ids.to_pylist()], np.int64) for name, pool in pools.items()}
    _check_overlap(pools, rows)
    unanswered = any(pool.unanswered or len(pool) < len(ids) for pool in pools.values())
    if unanswered:
        classes = (*classes, NO_ANSWER)
    place = {name: k for k, name in enumerate(classes)}
    first, *rest = (_placed(pool, rows[name], len(ids), place) for name, pool in pools.items())
    content = next((pool.content for pool in pools.values() if pool.content is not None), None)
    return Pool(
        id_column=pa.array(ids, pa.string()),
        predicted=first.predicted,
        classes=classes,
        confidence=first.confidence,
        score_sums=first.score_sums,
        columns=_columns(pools, rows, len(ids), content),
        content=content,
        source=_sources(pools),
        models=tuple(pools),
        rest=tuple(rest),
        unanswered=unanswered,
    )


def _check_models(pools: Mapping[str, Pool]) -> None:
    for name, pool in pools.items():
        if not name.strip():
            raise InputError("a model has no name. Give every model one, such as 'old'.")
        if pool.models:
            raise InputError(f"the pool of {name!r} has several models already. Take one of them with .of(model).")
        if pool.reserve is not None:
            raise InputError(
                f"the items of {name!r} stay in their table, and several models need every single one. Name the tables "
                "themselves, and read some of their items into memory with ",
                Argument("sample", 100_000),
                ".",
            )


def _with_like_ids(pools: Mapping[str, Pool]) -> dict[str, Pool]:
    """Read the ids 7.0, 8.0, ... of one file as the 7, 8, ... of another, and write accents as the first file does.

    Ids that differ within one file stay different.
    """
    texts = {name: pool.ids.to_pylist() for name, pool in pools.items()}
    likened = {name: own for name, own in _likened(texts).items() if len(set(own)) == len(own)}
    likened |= _with_like_accents(texts | likened)
    columns = {name: pa.array(ids, pa.string()) for name, ids in likened.items()}
    return {**pools, **{name: replace(pools[name], id_column=column) for name, column in columns.items()}}


def _with_like_accents(texts: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The ids of models in which an accent is a character of its own, or is not, unlike in the first file with that id.

    >>> composed, apart = "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"
    >>> _with_like_accents({"old": [composed, "tea"], "new": ["tea", apart]}) == {"new": ["tea", composed]}
    True
    """
    rewritten: dict[str, list[str]] = {}
    first: dict[str, str] = {}  # how the first file writes an id, by its composed form
    known: set[str] = set()
    for name, own in texts.items():
        if all(map(str.isascii, own)):
            continue
        ids = [item if item in known else first.get(normalize("NFC", item), item) for item in own]
        if ids != own and len(set(ids)) == len(ids):
            rewritten[name] = ids
        for item in rewritten.get(name, own):
            first.setdefault(normalize("NFC", item), item)
            known.add(item)
    return rewritten


def _likened(texts: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Those texts that are all like 7.0, as the 7 that others have: pandas writes whole numbers so beside a gap."""
    as_float = {name: list(map(whole, own)) for name, own in texts.items() if all(whole(text) != text for text in own)}
    others = {text for name, own in texts.items() if name not in as_float for text in own}
    return {name: own for name, own in as_float.items() if others.intersection(own)}


def _with_like_classes(pools: Mapping[str, Pool]) -> dict[str, Pool]:
    """Write a class in one way if files differ only in the .0 of numbers, or in whether accents are characters."""
    likened = _likened({name: pool.choices for name, pool in pools.items()})
    joined = {name: _renamed(pool, likened.get(name, pool.choices)) for name, pool in pools.items()}
    meant = one_form([name for pool in joined.values() for name in pool.choices])
    return {name: _renamed(pool, [meant.get(own, own) for own in pool.choices]) for name, pool in joined.items()}


def _renamed(pool: Pool, choices: Sequence[str]) -> Pool:
    """The pool with other names of its classes, if they still differ."""
    classes = (*choices, *pool.classes[len(choices) :])
    return replace(pool, classes=classes) if len(set(classes)) == len(classes) else pool


def _in_one_spelling(pools: Mapping[str, Pool]) -> dict[str, Pool]:
    """Write a class as most answers of all models write it; each pool alone has one spelling of it already."""
    often: dict[str, Counter[str]] = {}
    for pool in pools.values():
        counts = np.bincount(pool.predicted[pool.predicted >= 0], minlength=len(pool.classes))
        for name, count in zip(pool.choices, counts.tolist(), strict=False):
            often.setdefault(bare(name), Counter())[name] += count
    meant = {form: names.most_common(1)[0][0] for form, names in often.items()}
    return {
        model: replace(pool, classes=tuple(name if name == NO_ANSWER else meant[bare(name)] for name in pool.classes))
        for model, pool in pools.items()
    }


def _union(pools: Mapping[str, Pool], *, named: bool, any_spelling: bool) -> tuple[str, ...]:
    """The classes of all models: in the order of the first, unless all are only sorted."""
    each = [pool.choices for pool in pools.values()]
    union = tuple(dict.fromkeys(name for classes in each for name in classes))
    if any_spelling or all(classes == in_order(classes) for classes in each):
        union = in_order(union)
    pair = None if named else alike(union)
    if pair is not None:
        who = [next(model for model, pool in pools.items() if name in pool.choices) for name in pair]
        raise InputError(
            f"{who[0]!r} answers {pair[0]!r} and {who[1]!r} answers {pair[1]!r}, which differ only in case or "
            "spaces. Write both the same way; or if they are two classes, name all classes with ",
            Argument("classes"),
            "; or name one of the two there, and add ",
            Argument("any_spelling", value=True),
            ".",
        )
    if len(union) < 2:
        only = f"all models answer {union[0]!r}" if union else "no model answers anything"
        raise InputError(
            f"{only}, so the other classes are unknown. Pass ", Argument("classes"), " with the names of all classes."
        )
    return union


def _check_overlap(pools: Mapping[str, Pool], rows: Mapping[str, NDArray[np.int64]]) -> None:
    """Refuse models that have no item in common with the first: their ids do not match."""
    (first, base), *others = pools.items()
    for name, pool in others:
        if not np.isin(rows[name], rows[first]).any():
            raise InputError(
                f"{first!r} and {name!r} have no id in common: {base.ids[0]!r} and {pool.ids[0]!r} are "
                "the first of each. The same item needs the same id in both: correct one of them, or name the "
                "columns of ids with ",
                Argument("id"),
                ".",
            )


def _placed(pool: Pool, rows: NDArray[np.int64], items: int, place: Mapping[str, int]) -> Predictions:
    """The predictions of one model for all items, in the classes of all models."""
    new = np.array([place[name] for name in pool.classes], np.int32)
    predicted = np.full(items, place.get(NO_ANSWER, -1), np.int32)
    predicted[rows] = new[pool.predicted]
    confidence, sums = None, None
    if pool.confidence is not None:
        confidence = np.zeros(items)
        confidence[rows] = pool.confidence
    if pool.score_sums is not None:
        sums = np.zeros((len(place), len(place)))
        sums[np.ix_(new, new)] = pool.score_sums
    return Predictions(predicted, confidence, sums)


def _columns(
    pools: Mapping[str, Pool], rows: Mapping[str, NDArray[np.int64]], items: int, content: str | None
) -> pa.Table | None:
    """The further columns of all models: one where they agree, else one for each model, such as old_note."""
    having: dict[str, list[str]] = {}
    for model, pool in pools.items():
        for name in pool.columns.column_names if pool.columns is not None else []:
            having.setdefault(name, []).append(model)
    joined: dict[str, Any] = {}
    for name, models in having.items():
        wide = {model: _widened(pools[model].column(name), rows[model], items) for model in models}
        common = _agreed(list(wide.values()))
        if common is not None:
            joined[name] = common
        elif name == content:
            raise _other_content(name, wide, pools, rows)
        else:
            joined |= {_free(f"{model}_{name}", {*having, *joined}): column for model, column in wide.items()}
    return pa.table(joined) if joined else None


def _free(name: str, taken: set[str]) -> str:
    """A name for a column that no other has."""
    while name in taken:
        name = f"{name}'"
    return name


def _widened(column: pa.ChunkedArray[Any], rows: NDArray[np.int64], items: int) -> pa.ChunkedArray[Any]:
    """A column of one model with a row for every item, missing where the model has none."""
    if len(rows) == items and np.array_equal(rows, np.arange(items)):
        return column
    take = np.full(items, -1, np.int64)
    take[rows] = np.arange(len(rows))
    places: pa.Array[Any] = pa.array(take, mask=take < 0)
    return column.take(places)


def _agreed(columns: Sequence[pa.ChunkedArray[Any]]) -> pa.ChunkedArray[Any] | None:
    """One column with what all of them say, if they never contradict each other; else None."""
    if len({column.type for column in columns}) > 1:
        return None
    agreed = columns[0]
    for column in columns[1:]:
        if pc.any(pc.not_equal(column, agreed)).as_py():
            return None
        agreed = pc.coalesce(agreed, column)
    return agreed


def _other_content(
    name: str,
    wide: Mapping[str, pa.ChunkedArray[Any]],
    pools: Mapping[str, Pool],
    rows: Mapping[str, NDArray[np.int64]],
) -> InputError:
    """Say that two models saw different things under one id, with the first such item."""
    (first, base), *others = wide.items()
    for model, column in others:
        differ = pc.not_equal(column.cast(pa.string()), base.cast(pa.string())).fill_null(False)
        at = np.flatnonzero(differ.to_numpy())
        if len(at):
            item = pools[first].ids[int(np.flatnonzero(rows[first] == at[0])[0])]
            seen = [str(values[int(at[0])])[:60] for values in (base, column)]
            return InputError(
                f"{name!r} of item {item!r} is {seen[0]!r} for {first!r} and {seen[1]!r} for {model!r}; they differ "
                f"for {len(at):,} of {len(column):,} items. One id must mean one item: correct the ids, or name "
                "another column with ",
                Argument("content"),
                ".",
            )
    return InputError(
        f"{name!r} holds different types of values for different models. Name another column with ",
        Argument("content"),
        ".",
    )


def _sources(pools: Mapping[str, Pool]) -> str:
    names = list(dict.fromkeys(pool.source for pool in pools.values()))
    if len(names) > 3:
        return f"{names[0]} and {len(names) - 1:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
