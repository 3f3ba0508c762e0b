"""The columns of several models in one source: answers side by side, or all answers in one column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from fewlabels.errors import Argument, InputError
from fewlabels.io.columns import as_text, is_list, looks_numeric
from fewlabels.io.finder.names import ANSWER, CONFIDENCE, DOCUMENTED, bare, matching
from fewlabels.io.finder.roles import Roles, find_roles, kept_columns
from fewlabels.io.source import Source, table_source
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def has_several(source: Source, models: Sequence[str] | None) -> bool:
    """Whether a source has the answers of several models: the caller says so, or each row has several."""
    return models is not None or source.models is not None or _packed(source)


def _packed(source: Source) -> bool:
    """Whether the column "predicted" has an answer of each model in each row."""
    kind = source.schema.field("predicted").type if "predicted" in source.columns else None
    return kind is not None and (is_list(kind) or pa.types.is_struct(kind))


def split_by(source: Source, column: str) -> dict[str, Source]:
    """The rows of each model, from a source with a row for each item and model: a column says which model it is.

    >>> from fewlabels.io.opening import open_source
    >>> long = open_source({"item": ["1", "1"], "model": ["old", "new"], "predicted": ["yes", "no"]})
    >>> {name: one.table(one.columns).to_pydict() for name, one in split_by(long, "model").items()}
    {'old': {'item': ['1'], 'predicted': ['yes']}, 'new': {'item': ['1'], 'predicted': ['no']}}
    """
    source.need(column, "models")
    table = source.table(source.columns)
    names = pc.utf8_trim_whitespace(as_text(source, column, table[column]).combine_chunks())
    gaps = (np.flatnonzero(names.is_null().to_numpy(zero_copy_only=False)) + 1).tolist()
    if gaps:
        raise InputError("the model is missing. Fill it in.", at=source.at(gaps, column))
    rest, parts = table.drop_columns([column]), {}
    for model in names.unique().to_pylist():
        rows = np.flatnonzero(pc.equal(names, pa.scalar(str(model))))
        lines: list[int] = rows.tolist()
        part = table_source(source.name, rest.take(rows), source.classes)
        parts[str(model)] = replace(
            part,
            untyped=source.untyped,
            comma=source.comma,
            percent=source.percent,
            line=_line_in(source, lines),
            sheet=source.sheet,
        )
    return parts


def _line_in(source: Source, rows: list[int]) -> Callable[[int], int | None]:
    """The lines of some rows (from 0) of a source, for a source that has only these."""
    return lambda row: source.line(rows[row - 1] + 1)


def roles_by_model(source: Source, models: Sequence[str] | None, **asked: Any) -> tuple[Source, dict[str, Roles]]:
    """The columns of each model, as `find_roles` gives them for one, and the source that has them.

    The further columns are in the roles of the first model alone.
    """
    for role in ("scores", "predicted", "confidence"):
        if asked[role] is not None and not (role == "predicted" and asked[role] == "predicted"):
            raise InputError(
                Argument(role),
                " names one column, and every model has its own: it is found by the name of the model. Leave it out, "
                "or give each model a file.",
            )
    names = None if models is None else tuple(str(name) for name in models)
    if _packed(source):
        source, names = _unpacked(source, names)
    if not names:
        raise InputError("there are no models. Name them with ", Argument("models", ["old", "new"]), ".")
    if len(set(names)) < len(names):
        raise InputError(Argument("models"), " names a model twice. Every model needs a name of its own.")
    columns = {name: _columns_of(source, name, names) for name in names}
    rest = {key: asked[key] for key in ("id", "classes", "columns", "content")}
    roles = {}
    for name, (predicted, confidence, scores) in columns.items():
        its = find_roles(source, **rest, scores=scores, predicted=predicted, confidence=confidence)
        roles[name] = replace(its, confidence=confidence)  # a column "confidence" belongs to no model
    used = {column for its in roles.values() for column in (its.id, its.predicted, its.confidence, *its.scores)}
    if asked["content"] in used - {asked["id"], None}:
        raise InputError(
            Argument("content", asked["content"]),
            " is a column of predictions: an annotator who sees it is not blind. Name another.",
        )
    kept = kept_columns(source, used, asked["columns"], asked["content"])
    return source, {name: replace(its, kept=kept if name == names[0] else ()) for name, its in roles.items()}


def _columns_of(source: Source, model: str, models: Sequence[str]) -> tuple[str | None, str | None, str | None]:
    """The columns with the answers and the confidences of a model, and the pattern of its scores."""
    others = {name for name in models if name != model}
    columns = {bare(column): column for column in reversed(source.columns) if column not in others}
    me = bare(model)
    pairs = [(me + word, word + me) for word in ANSWER]
    predicted = model if model in source.columns else next((columns[n] for p in pairs for n in p if n in columns), None)
    confidence = stated_by(source, model)
    if confidence is not None and _in_words(source, confidence):
        confidence = None
    patterns = [f"{model}_{pattern}" for pattern in DOCUMENTED]
    scores = next((pattern for pattern in patterns if len(matching(pattern, source.columns)) >= 2), None)
    if predicted is None and scores is None:
        raise InputError(
            f"{source.name} has no column with the answers of {model!r}: it would be called {model!r}, or "
            f"'{model}_predicted'. The columns are {some_of(source.columns)}.",
        )
    return predicted, None if scores else confidence, scores


def stated_by(source: Source, model: str) -> str | None:
    """The column that is named like the confidence of a model."""
    columns, me = {bare(column): column for column in reversed(source.columns)}, bare(model)
    sure = [name for word in CONFIDENCE for name in (me + word, word + me)]
    return next((columns[name] for name in sure if name in columns), None)


def _in_words(source: Source, name: str) -> bool:
    """Whether a column says how sure a model is in words, such as high and low. One bad number does not make it so."""
    batch = next(iter(source.batches([name], 300)), None)
    return batch is not None and batch.column(0).null_count < len(batch) and not looks_numeric(source, name)


def _unpacked(source: Source, names: tuple[str, ...] | None) -> tuple[Source, tuple[str, ...]]:
    """A source with a column of answers for each model, from one with all answers in the column "predicted"."""
    table = source.table(source.columns)
    answers = _split(source, table["predicted"], "predicted", names or source.models)
    models = names or tuple(answers)
    if names is not None and set(answers) != set(names):
        raise InputError(
            Argument("models"),
            f" has the names {some_of(names)}, and the column 'predicted' has answers of {some_of(answers)}.",
        )
    made = {model: _without_gaps(answers[model]) for model in models}
    if "confidence" in table.column_names and not _is_flat(table["confidence"].type):
        sure = _split(source, table["confidence"], "confidence", models)
        made |= {f"{model}_confidence": sure[model] for model in models if model in sure}
    kept = {name: table[name] for name in table.column_names if name not in ("predicted", "confidence")}
    if clash := kept.keys() & made.keys():
        raise InputError(
            f"{source.name} has a column {min(clash)!r}, and a model has the same name. Rename one of them."
        )
    columns: dict[str, Any] = kept | made
    wide = table_source(source.name, pa.table(columns), source.classes)
    return replace(wide, line=source.line, untyped=source.untyped, sheet=source.sheet), models


def _is_flat(kind: pa.DataType) -> bool:
    return not (is_list(kind) or pa.types.is_struct(kind))


def _split(
    source: Source, column: pa.ChunkedArray[Any], name: str, models: tuple[str, ...] | None
) -> dict[str, pa.ChunkedArray[Any]]:
    """The columns of a column of vectors, by model."""
    kind = column.type
    if pa.types.is_struct(kind):
        return {kind.field(i).name: pc.struct_field(column, [i]) for i in range(kind.num_fields)}
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    width = int(lengths[0].as_py())
    wide = len(models) if models is not None else width
    wrong = [i for i, n in enumerate(lengths.to_pylist(), 1) if n != wide]
    if wrong:
        n = lengths[wrong[0] - 1].as_py()
        hint: tuple[Any, ...] = (
            ("Every row needs one for each model.",)
            if models is None
            else ("The names are in ", Argument("models"), ".")
        )
        raise InputError(f"{n:,} values, and there are {wide:,} models. ", *hint, at=source.at(wrong[0], name))
    known = models or tuple(str(h) for h in range(wide))
    return {model: pc.list_element(column, h) for h, model in enumerate(known)}


def _without_gaps(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Positions with -1 for no answer, as arrays of whole numbers have it, with the -1 missing instead."""
    if not pa.types.is_integer(column.type):
        return column
    gaps = pc.equal(column, pa.scalar(-1, column.type)) if pa.types.is_signed_integer(column.type) else None
    return column if gaps is None else pc.if_else(gaps, pa.scalar(None, column.type), column)
