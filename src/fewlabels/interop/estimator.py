"""Pools from a fitted classifier and its inputs, in the manner of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from fewlabels.errors import Argument, InputError
from fewlabels.io import read_pool
from fewlabels.io.spellings import written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.pool import Pool


@runtime_checkable
class Classifier(Protocol):
    """Anything that predicts: scikit-learn's classifiers and pipelines, and objects like them."""

    def predict(self, X: Any, /) -> Any:  # noqa: N803  (the field's own spelling)
        """The predicted class of each row."""
        ...


def pool_from_estimator(
    estimator: Classifier,
    X: Any,  # noqa: N803
    *,
    ids: Sequence[Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    content: str | None = None,
) -> Pool:
    """Make a pool from the predictions of a fitted classifier for the rows of X.

    The columns of `predict_proba` are named by `classes_`, as scikit-learn orders them. A classifier without
    `predict_proba` gives predicted classes only.

    Parameters
    ----------
    estimator
        Fitted; with `predict`, and if possible `predict_proba` and `classes_`.
    X
        Its inputs: array, frame or list.
    ids
        A name for each row; an index of X, if it is a frame, else 0, 1, 2, ...
    columns
        Further columns: what annotators look at, or what groups are made of.
    content
        The column that annotators look at.

    Examples
    --------
    >>> import fewlabels as fl
    >>> class Coin:
    ...     classes_ = ["heads", "tails"]
    ...     def predict(self, X):
    ...         return ["heads" for _ in X]
    ...     def predict_proba(self, X):
    ...         return [[0.6, 0.4] for _ in X]
    >>> fl.pool_from_estimator(Coin(), [[1], [2]], ids=["a", "b"])
    <Pool: 2 items, 2 classes, scores, from Coin>
    """
    if not isinstance(estimator, Classifier):
        raise InputError(f"{type(estimator).__name__} has no predict(). Pass a fitted classifier.")
    further = dict(columns or {})
    if content is not None and content not in further:
        raise InputError(
            f"there is no column {content!r} for annotators to see. Put it into ", Argument("columns"), "."
        )
    names = _ids(X) if ids is None else list(ids)
    given: dict[str, Any] = {"id": list(map(written, names)), **further}
    classes = list(map(written, getattr(estimator, "classes_", ())))
    proba = getattr(estimator, "predict_proba", None)
    if proba is not None and classes:
        given["scores"] = np.asarray(proba(X), dtype=float)
    else:
        given["predicted"] = list(map(written, np.asarray(estimator.predict(X)).tolist()))
    pool = read_pool(given, classes=classes or None, columns=list(further), content=content)
    return replace(pool, source=type(estimator).__name__)


def _ids(X: Any) -> list[Any]:  # noqa: N803
    index = getattr(X, "index", None)
    if index is not None and not callable(index):  # a list has a method of that name
        return list(index)
    rows = getattr(X, "shape", None)
    return list(range(rows[0] if rows else len(X)))
