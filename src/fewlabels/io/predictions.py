"""Reading predictions from a file, frame or array into a checked Pool."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from fewlabels.errors import Argument, InputError, Part, Place
from fewlabels.io.columns import as_numbers, as_text, kept
from fewlabels.io.finder import MOST_SCORE_COLUMNS, Roles, find_roles
from fewlabels.io.opening import open_source
from fewlabels.io.scores import EDGE, summarise, vector_width
from fewlabels.io.source import NO_ANSWER, Source, listed
from fewlabels.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


def read_pool(
    source: object,
    *,
    id: str | None = None,  # noqa: A002  (the word users know)
    scores: str | Sequence[str] | None = None,
    predicted: str | None = None,
    confidence: str | None = None,
    classes: Iterable[object] | None = None,
    columns: Sequence[str] | None = None,
    content: str | None = None,
    normalize: bool = False,
    logits: bool = False,
    any_size: bool = False,
) -> Pool:
    """Read a classifier's predictions and check them; an InputError names the place of anything wrong.

    Scores are read in blocks and never kept whole, so a file may be larger than memory.

    Parameters
    ----------
    source
        A path (.csv, .tsv, .csv.gz, .parquet, .feather, .arrow, .json, .jsonl, .npz, .npy), a pandas, Polars or
        Arrow frame, a mapping of names to arrays, or a 2-D array of scores of shape (items, classes).
    id
        The column of ids, which become text and must all differ. By default the column "id" (or "ID"), or else
        the items are numbered "0", "1", ...
    scores
        One column per class: a pattern such as "p_*" (the * stands for the class name) or a list of columns;
        or one column (or 2-D array) of whole vectors. The predicted class is the one with the largest score,
        the first of equals. A row must sum to 1 within 0.01, which leaves room for rounded numbers.
    predicted
        The column of predicted classes. Values are class names, except that whole numbers are positions in
        the list of classes if that is known (from `classes` or `scores`) and no name in it is another number.
        With `scores` it replaces the largest score, for classifiers that use thresholds.
    confidence
        The column with the probability, from 0 to 1 (or as 74.6% in a CSV file), that the predicted class is
        right. It may be left out.
    classes
        The names of all classes, in order. By default those of the score columns, of the key "classes" in
        .npz files and mappings, or else the predicted values that occur, sorted.
    columns
        Which further columns to keep. By default all that are left and hold text, numbers or dates, except
        "label" and "labels": a pool never holds labels.
    content
        The column that an annotator sees: text, image path or address.
    normalize
        Divide each row of scores by its sum, or a confidence by 100: for weights and percentages.
    logits
        Turn each row of scores s into exp(s_k) / sum_j exp(s_j).
    any_size
        Lift the limits on a file: 12,000 columns, and unpacked 1 GB or 100 times its own size, whichever is more.

    By default the predictions are the vectors "scores", or the columns "predicted" and "confidence", or those
    that match p_*, prob_* or score_*. Otherwise an InputError says which call the names of the columns suggest.

    Examples
    --------
    >>> import fewlabels as fl
    >>> fl.read_pool({"id": ["a", "b"], "predicted": ["cat", "dog"], "confidence": [0.9, 0.6]})
    <Pool: 2 items, 2 classes, confidence, from arrays>
    >>> pool = fl.read_pool([[2.0, -1.0, 0.0], [0.0, 3.0, 0.0]], classes=["cat", "dog", "eel"], logits=True)
    >>> pool.confidence.round(3)
    array([0.844, 0.909])
    """
    if normalize and logits:
        raise InputError(
            Argument("normalize", value=True),
            " and ",
            Argument("logits", value=True),
            " exclude each other: logits are normalised as they are. Drop one.",
        )
    opened = open_source(source, any_size=any_size)
    roles = find_roles(
        opened,
        id=id,
        scores=scores,
        predicted=predicted,
        confidence=confidence,
        classes=classes,
        columns=columns,
        content=content,
    )
    if not roles.scores and (logits or (normalize and roles.confidence is None)):
        raise InputError(
            Argument("normalize"),
            " and ",
            Argument("logits"),
            " are about scores, and there are none here. Name them with ",
            Argument("scores"),
            ".",
        )
    table = opened.table(roles.whole) if roles.whole else None
    ids = _ids(opened, roles.id, table)
    names, answers = _classes_and_predicted(opened, roles, table)
    certainty, sums = None, None
    if roles.scores:
        summary = summarise(opened, roles, answers, normalize=normalize, logits=logits)
        answers, certainty, sums = summary.predicted, summary.confidence, summary.sums
    elif roles.confidence is not None and table is not None:
        shares = roles.confidence in opened.percent  # read as shares already
        certainty = _confidence(opened, roles.confidence, table, 100.0 if normalize and not shares else 1.0)
    assert answers is not None
    if table is not None and table.num_rows != len(answers):
        raise InputError(f"{opened.name} changed while it was being read. Read it again when it is complete.")
    if ids is None:
        ids = pa.array(np.arange(len(answers))).cast(pa.string())
    return Pool(ids, answers, names, certainty, sums, _further(opened, roles, table), content, opened.name)


def _ids(source: Source, name: str | None, table: pa.Table | None) -> pa.Array[Any] | None:
    """Read the ids as text, and check that none is missing and no two are the same."""
    if name is None or table is None:
        return None
    ids = as_text(source, name, table[name]).combine_chunks()
    missing = _missing(ids)
    if missing:
        at = source.at(missing, name)
        advice = "Every item needs one: fill it in, or name another column with "
        raise InputError(f"the id is missing. {advice}", Argument("id"), ".", at=at)
    encoded = ids.dictionary_encode()
    if len(encoded.dictionary) < len(ids):
        code = encoded.indices.to_numpy()
        order = np.argsort(code, kind="stable")
        later = order[1:][code[order[1:]] == code[order[:-1]]].min()
        earlier = int(np.flatnonzero(code == code[later])[0])
        raise InputError(
            f"the id {ids[int(later)].as_py()!r} is already that of row {earlier + 1:,}. "
            "Every item needs an id of its own: change one, or leave one row out.",
            at=source.at(int(later) + 1, name),
        )
    return ids


def _classes_and_predicted(
    source: Source, roles: Roles, table: pa.Table | None
) -> tuple[tuple[str, ...], NDArray[np.int32] | None]:
    """The class names, and if a column has the predicted classes their positions, shape (items,)."""
    known = roles.classes
    if roles.vector and known is None:
        width = vector_width(source, roles.scores[0])
        if not 2 <= width <= MOST_SCORE_COLUMNS:
            raise InputError(
                f"{width:,} scores. One is needed per class, and 2 to {MOST_SCORE_COLUMNS:,} classes are allowed.",
                at=source.at(1, roles.scores[0]),
            )
        known = tuple(str(k) for k in range(width))
    if roles.predicted is None or table is None:
        assert known is not None
        return known, None
    name = roles.predicted
    # Spaces around a class are a slip in the file, and labels are read without them too.
    text = pc.utf8_trim_whitespace(as_text(source, name, table[name]).combine_chunks())
    missing = _missing(text)
    if missing:
        raise InputError(
            f"the predicted class is missing. Fill it in. {NO_ANSWER}.",
            at=source.at(missing, name),
        )
    encoded = text.dictionary_encode()
    distinct = [str(value) for value in encoded.dictionary.to_pylist()]
    if known is None:
        known = tuple(sorted(distinct, key=int if all(map(_is_whole, distinct)) else str))
        _check_alike(source, name, text, known)
    if len(known) < 2:
        raise InputError(
            f"all items are predicted as {known[0]!r}, so the other classes are unknown. Pass ",
            Argument("classes"),
            " with the names of all classes.",
            at=source.at(column=name),
        )
    _check_spaces(source.at(column=name), known)
    place = _class_places(distinct, known)
    code = encoded.indices.to_numpy()
    if unknown := [value for value in distinct if place.get(value) is None]:
        row = int(np.flatnonzero(code == distinct.index(unknown[0]))[0]) + 1
        raise _unknown_class(source.at(row, name), unknown[0], known)
    return known, np.array([place[value] for value in distinct], dtype=np.int32)[code]


def _check_spaces(at: Place, classes: tuple[str, ...]) -> None:
    """Refuse class names that differ only in the spaces around them: to people they are one class."""
    seen: dict[str, str] = {}
    for name in classes:
        other = seen.setdefault(name.strip(), name)
        if other != name:
            raise InputError(f"{other!r} and {name!r} differ only in spaces. Take the spaces out of the column.", at=at)


def _check_alike(source: Source, column: str, predicted: pa.Array[Any], classes: tuple[str, ...]) -> None:
    """Refuse 'Billing ' beside 'billing', most likely a slip; if it is not, the caller can name the classes."""
    seen: dict[str, str] = {}
    for name in classes:
        other = seen.setdefault(" ".join(name.split()).casefold(), name)
        if other != name:
            where = {one: np.flatnonzero(pc.equal(predicted, pa.scalar(one))) + 1 for one in (other, name)}
            rare, usual = sorted(where, key=lambda one: len(where[one]))
            at = source.at(where[rare].tolist(), column)
            raise InputError(
                f"{rare!r} differs from {usual!r}, which occurs {len(where[usual]):,}×, only in case or spaces. "
                "Write both the same way; or if they are two classes, name all classes with ",
                Argument("classes"),
                ".",
                at=at,
            )


def _class_places(values: list[str], classes: tuple[str, ...]) -> dict[str, int]:
    """Map each value of the column, a class name or a position, to its position."""
    names = {name: k for k, name in enumerate(classes)}
    if all(map(_is_whole, values)) and _are_positions(classes) and not all(value in names for value in values):
        return {value: int(value) for value in values if 0 <= int(value) < len(classes)}
    return {value: names[value] for value in values if value in names}


def _are_positions(classes: tuple[str, ...]) -> bool:
    """Whether whole numbers can only be positions: no class is named by a number, or each by its own ("000", "001")."""
    return not any(map(_is_whole, classes)) or all(_is_whole(name) and int(name) == k for k, name in enumerate(classes))


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _unknown_class(at: Place, value: str, classes: tuple[str, ...]) -> InputError:
    if _is_whole(value) and _are_positions(classes):
        return InputError(
            f"{value} is not a position in the list of classes, which has 0 to {len(classes) - 1:,}. "
            "Correct it, or complete ",
            Argument("classes"),
            ".",
            at=at,
        )
    near = difflib.get_close_matches(value, classes, 1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return InputError(
        f"{value!r} is not one of the classes {listed(classes)}. {hint}Correct it, or add it to ",
        Argument("classes"),
        ".",
        at=at,
    )


def _confidence(source: Source, name: str, table: pa.Table, unit: float) -> NDArray[np.float64]:
    """Read the confidences as shares, shape (items,); `unit` is the value that means certain, 1 or 100."""
    values = as_numbers(source, name, table[name]) / unit
    wrong = np.flatnonzero(~((values >= -EDGE) & (values <= 1 + EDGE)))
    if len(wrong):
        value = values[wrong[0]] * unit
        if np.isnan(value):
            at = source.at((np.flatnonzero(np.isnan(values)) + 1).tolist(), name)
            raise InputError(
                "the confidence is missing (empty or NaN). Fill it in, or read without that column "
                f"(--confidence none). {NO_ANSWER}.",
                at=at,
            )
        fix: tuple[Part, ...] = (f"{value:.6g}, and it is a probability from 0 to {unit:g}. Convert the column.",)
        if name in source.percent:
            fix = (f"{100 * value:.6g}%, and it is a probability from 0% to 100%. Correct it.",)
        elif unit == 1 < value <= 100:
            percent = Argument("normalize", value=True)
            fix = (f"{value:.6g}, not 0 to 1. If it is percent, ", percent, " divides it by 100.")
        raise InputError("the confidence is ", *fix, at=source.at(int(wrong[0]) + 1, name))
    return np.clip(values, 0, 1)


def _further(source: Source, roles: Roles, table: pa.Table | None) -> pa.Table | None:
    if not roles.kept or table is None:
        return None
    return pa.Table.from_arrays([kept(source, table[name]) for name in roles.kept], list(roles.kept))


def _missing(text: pa.Array[Any]) -> list[int]:
    """The rows, from 1, where a text is missing or empty."""
    empty = pc.equal(text, pa.scalar("")).fill_null(True)
    rows: list[int] = (np.flatnonzero(empty.to_numpy(zero_copy_only=False)) + 1).tolist()
    return rows
