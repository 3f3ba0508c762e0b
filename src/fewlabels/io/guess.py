"""What a file of predictions seems to hold: which columns are id, scores, predicted, confidence and content."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import InputError
from fewlabels.io.columns import as_text, is_number, is_vector, looks_numeric, spelt
from fewlabels.io.opening import open_source
from fewlabels.io.scores import EDGE, SLACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from fewlabels.io.source import Source

# Names as people write them, in the order in which they are believed; compared without case, spaces, - and _.
_IDS = ("id", "itemid", "item", "uid", "uuid", "guid", "key", "docid", "imageid", "sampleid", "rowid", "idx", "index")
_FILES = ("image", "imagepath", "img", "imgpath", "filename", "file", "filepath", "path", "url", "uri")
_PREDICTED = (
    "predicted", "prediction", "predictedclass", "predictedlabel", "predclass", "predlabel", "pred", "preds",
    "ypred", "yhat", "modelprediction", "modellabel", "modeloutput", "modelanswer", "output", "response",
)  # fmt: skip
_CONFIDENCE = (
    "confidence", "conf", "predictedconfidence", "predictionconfidence", "certainty", "probability", "prob", "proba",
    "score", "predictedprobability", "predictedscore", "maxprob", "maxprobability", "p",
)  # fmt: skip
_CONTENT = (
    "text", "content", "sentence", "review", "question", "prompt", "input", "message", "body", "document", "title",
    "description", "abstract", "tweet", "comment", *_FILES,
)  # fmt: skip
_TRUTH = (
    "label", "labels", "truth", "truelabel", "trueclass", "target", "ytrue", "gold", "goldlabel",
    "groundtruth", "actual", "class",
)  # fmt: skip
_PATTERNS = ("p_*", "prob_*", "proba_*", "probability_*", "score_*", "scores_*", "logit_*", "logits_*", "p(*)", "P(*)")
# Columns with long text that give the answer away: an annotator who reads them is not blind.
_TELLING = re.compile("(?i)pred|reason|rational|explan|thought|response|output|completion|answer|model|llm|gpt|raw")
_ENDS_IN_ID = re.compile("[ _-][iI][dD]$|[a-z]I[dD]$")
_UNNAMED = ("column_1", "Unnamed: 0", "__index_level_0__")
# "Confidence (%)", "confidence [0-100]", "Confidence in percent": what the numbers are in is found out by looking.
_UNIT = re.compile(
    r"""(?xi)
    [(\[] \s* (?: in\s )? (?: % | percent | pct | 0 \s* (?: - | – | to | \.\. ) \s* 1(?:00)? ) \s* [)\]]
    | (?: [\s_-] in )? (?: \s* % | [\s_-] (?: percent | pct ) ) $
    """
)
_ROWS = 300  # looked at to tell what a column holds


@dataclass(frozen=True)
class Guess:
    """The arguments of `read_pool` that a file seems to need, and columns that look like labels already there.

    >>> from fewlabels.io.guess import guess
    >>> guess({"Image": ["a.png", "b.png"], "cat": [60, 5], "dog": [40, 95], "truth": ["cat", "cat"]})
    Guess(id='Image', scores=['cat', 'dog'], predicted=None, confidence=None, content='Image', normalize=True,
        logits=False, truth='truth', verbal=None, not_id=None)
    """

    id: str | None = None
    scores: str | list[str] | None = None
    predicted: str | None = None
    confidence: str | None = None
    content: str | None = None
    normalize: bool = False
    logits: bool = False
    truth: str | None = None  # a column that looks like labels: never used, but worth mentioning
    verbal: str | None = None  # a confidence in words, such as high and low: kept as a further column
    not_id: str | None = None  # why a column that is called like an id is none, in words

    @property
    def call(self) -> str:
        """The call of `read_pool` that says it.

        >>> from fewlabels.io.guess import guess
        >>> guess({"Ticket ID": ["a", "b"], "pred": ["cat", "dog"], "conf": [60, 95]}).call
        "read_pool(..., id='Ticket ID', predicted='pred', confidence='conf', normalize=True)"
        """
        said = ("id", "scores", "predicted", "confidence", "content", "normalize", "logits")
        given = [f"{name}={getattr(self, name)!r}" for name in said if getattr(self, name)]
        return f"read_pool({', '.join(['...', *given])})"


def guess(
    source: object,
    *,
    id: str | None = None,  # noqa: A002  (the word users know)
    scores: str | Sequence[str] | None = None,
    predicted: str | None = None,
    confidence: str | None = None,
    content: str | None = None,
    not_content: Sequence[str] = (),
) -> Guess:
    """Guess what is not given. Columns that look like labels are never taken for predictions."""
    look = _Look(open_source(source))
    for role, name in (("id", id), ("predicted", predicted), ("confidence", confidence), ("content", content)):
        if name is not None:
            look.source.need(name, role)
    truth = look.named(_TRUTH)
    taken = {id, predicted, confidence, content, truth}
    stated = look.named(_CONFIDENCE, without=taken)
    if predicted is None and scores is None:
        predicted = look.named(_PREDICTED, without=taken)
    if scores is None and confidence is None:
        scores = look.scores(without={*taken, predicted, stated})
    verbal = None
    if scores is None and confidence is None and stated is not None:
        if looks_numeric(look.source, stated):
            confidence = stated
        elif stated == look.named(_CONFIDENCE[:5]):  # a text called "score" can be anything
            verbal = stated
    used = {predicted, confidence, stated, truth, *columns_of(look.source, scores)}
    not_id = None
    if id is None:
        id, not_id = look.identifier(without=used)  # noqa: A001
    if content is None:
        content = look.content(id, without={*used, *not_content})
    unit = look.unit(scores, confidence)
    return Guess(
        id=id,
        scores=scores if scores is None or isinstance(scores, str) else list(scores),
        predicted=predicted,
        confidence=confidence,
        content=content,
        normalize=unit == "percent",
        logits=unit == "logits",
        truth=truth,
        verbal=verbal,
        not_id=not_id,
    )


class _Look:
    """The first rows of a source, and what they say about its columns."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._plain = {_plain(name): name for name in reversed(source.columns)}
        self._head: dict[str, list[Any]] = {}

    def named(self, names: Iterable[str], without: Iterable[str | None] = ()) -> str | None:
        """The first column with one of the names, in the order of the names."""
        found = (self._plain[name] for name in names if name in self._plain)
        return next((name for name in found if name not in without), None)

    def head(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """The first values of columns."""
        missing = [name for name in names if name not in self._head]
        if missing:
            batch = next(iter(self.source.batches(missing, _ROWS)), None)
            for i, name in enumerate(missing):
                self._head[name] = batch.column(i).to_pylist() if batch is not None else []
        return {name: self._head[name] for name in names}

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The first values of columns as numbers, NaN for what is none, shape (rows, columns)."""
        columns = [[self._number(value) for value in values] for values in self.head(names).values()]
        return np.array(columns, dtype=float).T.reshape(-1, len(names))

    def _number(self, value: object) -> float:
        if isinstance(value, str):
            found = spelt(self.source, value) if self.source.untyped else None
            return np.nan if found is None else found
        return float(value) if isinstance(value, (int, float, Decimal)) else np.nan

    def scores(self, without: set[str | None]) -> str | list[str] | None:
        """A column of vectors, columns with a usual name, or neighbours whose rows sum to 1 or 100."""
        schema = self.source.schema
        for name in self.source.columns:
            if name not in without and is_vector(schema.field(name).type):
                return name
        left = [name for name in self.source.columns if name not in without]
        for pattern in _PATTERNS:
            columns = [name for name in left if _matches(pattern, name)]
            if len(columns) >= 2 and all(looks_numeric(self.source, name) for name in columns[:3]):
                return pattern
        numeric = self._numeric(left)
        signed = [name for name in numeric if name in self.source.percent]  # a row number beside them is none
        runs = [*_runs(self.source.columns, signed), *_runs(self.source.columns, numeric)]
        return next((run for run in runs if self.unit(run, None) != "unclear"), None)

    def _numeric(self, names: list[str]) -> list[str]:
        """The columns that look like numbers, read together: there may be thousands."""
        if not names:
            return []
        good = np.isfinite(self.numbers(names)).mean(axis=0) >= 0.5
        return [name for name, ok in zip(names, good.tolist(), strict=True) if ok]

    def unit(self, scores: str | Sequence[str] | None, confidence: str | None) -> str:
        """Whether scores are shares, percent or logits, by the first rows; "unclear" if they are none of these."""
        if confidence is not None:
            if confidence in self.source.percent:
                return "percent"
            values = self.numbers([confidence])
            values = values[np.isfinite(values)]
            return "percent" if len(values) and 1 + EDGE < values.max() <= 100 and values.min() >= 0 else "share"
        names = columns_of(self.source, scores)
        if len(names) == 1 and is_vector(self.source.schema.field(names[0]).type):
            rows = [row for row in self.head(names)[names[0]] if row]
            rows = [row for row in rows if len(row) == len(rows[0])]
            values = np.array(rows, dtype=float)
        else:
            values = self.numbers(names) if len(names) >= 2 else np.zeros((0, 2))
        values = values[np.isfinite(values).all(axis=1)]
        if not len(values):
            return "unclear"
        total = values.sum(axis=1)
        inside = np.mean(np.abs(total - 1) <= SLACK), np.mean(np.abs(total - 100) <= 100 * SLACK)
        if (values >= -EDGE).all() and max(inside) > 0.5:
            return "share" if inside[0] >= inside[1] else "percent"
        named = isinstance(scores, str) and ("logit" in scores.casefold() or "*" in scores)
        return "logits" if named and (values < -EDGE).any() else "unclear"

    def identifier(self, without: set[str | None]) -> tuple[str | None, str | None]:
        """A column whose name says so; other than "id" itself it must also tell all items apart.

        And why the first that is called so does not, in words, if it does not.
        """
        named = [(name == "id", self.named([name], without=without)) for name in (*_IDS, *_FILES)]
        ending = [name for name in self.source.columns if _ENDS_IN_ID.search(name) and name not in without]
        # What pandas writes first when it is not told otherwise: the row number, without a name.
        first = [name for name in self.source.columns[:1] if name in _UNNAMED and name not in without]
        why = None
        for certain, column in (*named, *((False, name) for name in (*first, *ending))):
            if column is None:
                continue
            wrong = None if certain else self._not_apart(column)
            if wrong is None:
                return column, why
            if wrong:
                why = why or f"{column!r} would be the id, but {wrong}"
        return None, why

    def _not_apart(self, name: str) -> str | None:
        """Why a column does not tell all items apart, None if it does; empty if it holds no ids at all."""
        kind = self.source.schema.field(name).type
        if is_vector(kind) or not (self.source.untyped or is_number(kind) or str(kind).endswith("string")):
            return ""
        try:
            values = as_text(self.source, name, self.source.table([name])[name])
        except InputError:  # numbers that are not whole, whatever the column is called
            return ""
        if values.null_count:
            return "it is empty in some rows"
        if len(values.unique()) == len(values):
            return None
        value, count = Counter(values.to_pylist()).most_common(1)[0]
        return f"{value} occurs {'twice' if count == 2 else f'{count:,} times'}"

    def content(self, id: str | None, without: set[str | None]) -> str | None:  # noqa: A002
        """A column by its usual name; or else the one with the longest text, if that is long enough to read."""
        column = self.named(_CONTENT, without=without)
        if column is not None and not looks_numeric(self.source, column):
            return column
        lengths = {}
        for name in self.source.columns:
            if name in without or name == id or _TELLING.search(name):
                continue
            values = [value for value in self.head([name])[name] if isinstance(value, str) and value]
            if values and len(set(values)) > len(values) / 2:
                lengths[name] = sum(map(len, values)) / len(values)
        best = max(lengths, key=lambda name: lengths[name], default=None)
        return best if best is not None and lengths[best] >= 20 else None


def columns_of(source: Source, scores: str | Sequence[str] | None) -> list[str]:
    """The columns that a word for scores means."""
    if scores is None:
        return []
    if not isinstance(scores, str):
        return [source.need(name, "scores") for name in scores]
    return [name for name in source.columns if name == scores or ("*" in scores and _matches(scores, name))]


def _plain(name: str) -> str:
    return re.sub(r"[\s_\-.]", "", _UNIT.sub("", name.strip())).casefold()


def _matches(pattern: str, name: str) -> bool:
    before, _, after = pattern.partition("*")
    return len(name) > len(before) + len(after) and name.startswith(before) and name.endswith(after)


def _runs(columns: Sequence[str], wanted: Sequence[str]) -> list[list[str]]:
    """Neighbours among the columns that are wanted, two or more at a time, the longest first."""
    chosen = set(wanted)
    runs: list[list[str]] = [[]]
    for name in columns:
        if name in chosen:
            runs[-1].append(name)
        else:
            runs.append([])
    return sorted((run for run in runs if len(run) >= 2), key=len, reverse=True)
