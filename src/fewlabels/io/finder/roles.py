"""The columns that `read_pool` uses: those the caller names, and else those with the documented names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.errors import Argument, Call, InputError
from fewlabels.io.columns import can_keep, is_vector, looks_numeric
from fewlabels.io.finder.guess import guess
from fewlabels.io.finder.look import Look
from fewlabels.io.finder.names import DOCUMENTED, matching
from fewlabels.io.finder.score_columns import class_names, score_columns
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fewlabels.io.source import Source


@dataclass(frozen=True)
class Roles:
    """The columns by what they are for. `scores` is one column per class, or one column of vectors."""

    id: str | None
    scores: tuple[str, ...]
    vector: bool
    predicted: str | None
    confidence: str | None
    kept: tuple[str, ...]
    classes: tuple[str, ...] | None

    @property
    def whole(self) -> tuple[str, ...]:
        """The columns that are read whole; scores are read in blocks instead."""
        wanted = (self.id, self.predicted, self.confidence, *self.kept)
        return tuple(dict.fromkeys(name for name in wanted if name is not None))


def find_roles(
    source: Source,
    *,
    id: str | None,  # noqa: A002  (the word users know)
    scores: str | Sequence[str] | None,
    predicted: str | None,
    confidence: str | None,
    classes: Iterable[object] | None,
    columns: Sequence[str] | None,
    content: str | None,
) -> Roles:
    """Find the column of each role: the one asked for, or else the one with the documented name."""
    if scores is not None and confidence is not None:
        raise InputError(
            Argument("scores"),
            " already say how confident each prediction is. Leave out ",
            Argument("confidence"),
            ", or ",
            Argument("scores"),
            ".",
        )
    if scores is None and predicted is None:
        scores, predicted = _documented(source, confidence)
    source.need_all(id=id, predicted=predicted, confidence=confidence, content=content)
    if id is None and source.called("id") in source.columns:
        id = source.called("id")  # noqa: A001
    if scores is None and confidence is None and "confidence" in source.columns and looks_numeric(source, "confidence"):
        confidence = "confidence"  # one in words (high, low) is a further column
    known = class_names(source, classes)
    scored, known = ((), known) if scores is None else score_columns(source, scores, known)
    if content is not None and content in (*scored, predicted, confidence):
        raise InputError(
            Argument("content", content),
            " is a column of predictions: an annotator who sees it is not blind. Name another.",
        )
    if id is None:
        # As on the command line: if rows were numbered instead, labels told by these ids would reach other items.
        id = Look(source).called_id({predicted, confidence, content, *scored}) or source.index  # noqa: A001
    used = {id, predicted, confidence, *scored}
    vector = len(scored) == 1
    return Roles(id, scored, vector, predicted, confidence, kept_columns(source, used, columns, content), known)


def _documented(source: Source, confidence: str | None) -> tuple[str | None, str | None]:
    """Scores and predicted by their documented names."""
    names = source.columns
    predicted = "predicted" if "predicted" in names else None
    if "scores" in names and is_vector(source.schema.field("scores").type) and confidence is None:
        return "scores", predicted
    if predicted:
        return None, predicted
    for pattern in DOCUMENTED:
        if confidence is None and len(matching(pattern, names)) >= 2:
            return pattern, None
    begin = f"{source.name} has the columns {some_of(names)}, and it is not clear which of them are predictions. "
    likely = guess(source, confidence=confidence)
    if likely.scores is not None or likely.predicted is not None or likely.models is not None:
        raise InputError(f"{begin}Going by their names, it would be ", likely.call, ".")
    raise InputError(
        f"{begin}Say ",
        Call("read_pool", (Argument("scores", "p_*"),)),
        " for one score column per class (a pattern or a list of columns), or ",
        Call("read_pool", (Argument("predicted", "column"), Argument("confidence", "column"))),
        "; the confidence may be left out.",
    )


def kept_columns(
    source: Source, used: set[str | None], columns: Sequence[str] | None, content: str | None
) -> tuple[str, ...]:
    if columns is None:
        names = [
            field.name
            for field in source.schema
            if field.name not in used and field.name.casefold() not in ("label", "labels") and can_keep(field.type)
        ]
    else:
        names = [source.need(name, "columns") for name in columns]
    if content is not None:
        names.append(content)
    for name in names:
        kind = source.schema.field(name).type
        if not can_keep(kind):
            at = source.at(column=name)
            raise InputError(f"the column holds {kind}, and a pool keeps only text, numbers and dates.", at=at)
    return tuple(dict.fromkeys(names))
