"""Looking at the first rows of a source, to find out what its columns contain."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fewlabels.errors import InputError
from fewlabels.io.columns import as_text, can_keep, is_number, is_vector, looks_numeric, spelt
from fewlabels.io.finder import names
from fewlabels.io.finder.probability_of import looks_like_one_class
from fewlabels.io.scores import EDGE, SLACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from fewlabels.io.source import Source

_ROWS = 300  # looked at to find out what a column contains
_MANY_ROWS = 20_000  # enough rows for classes to repeat, even thousands of them
_LONGEST_CODE = 40
_NEARLY_ALL = 0.98  # of the values differ: a column of ids in which some rows are repeated
_APART = 0.9  # of the values differ: no classes
_LONG = 20  # letters on average: a text, and not a name
_FLAGS = frozenset({"true", "false", "yes", "no", "y", "n", "t", "f", "on", "off"})


class Look:
    """The first rows of a source, and what they say about its columns."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._plain = {names.bare(name): name for name in reversed(source.columns)}
        self._head: dict[str, list[Any]] = {}

    def named(self, wanted: Iterable[str], without: Iterable[str | None] = ()) -> str | None:
        """The first column with one of the names, in the order of the names."""
        columns = (self._plain[name] for name in wanted if name in self._plain)
        return next((name for name in columns if name not in without), None)

    def predicted(self, without: Iterable[str | None] = ()) -> str | None:
        """The column that is named like predicted classes."""
        plainly = self.named(names.PREDICTED, without) or self._saying(names.says_predicted, without)
        return plainly or self._predicting(without)

    def _predicting(self, without: Iterable[str | None]) -> str | None:
        """The one column that is named as a prediction of something, with texts that repeat."""
        named = [name for name in self.source.columns if name not in without and names.predicts_something(name)]
        if len(named) != 1:  # several are several models
            return None
        values = [value for value in self.head(named)[named[0]] if value not in (None, "")]
        texts = all(isinstance(value, str) and spelt(self.source, value) is None for value in values)
        return named[0] if texts and len(set(values)) < len(values) else None

    def confidence(self, without: Iterable[str | None] = ()) -> str | None:
        """The column that is named like a confidence."""
        return self.named(names.CONFIDENCE, without) or self._saying(names.says_confidence, without)

    def _saying(self, says: Callable[[str], bool], without: Iterable[str | None]) -> str | None:
        return next((name for name in self.source.columns if name not in without and says(name)), None)

    def head(self, columns: Sequence[str]) -> dict[str, list[Any]]:
        """The first values of columns."""
        missing = [name for name in columns if name not in self._head]
        if missing:
            batch = next(iter(self.source.batches(missing, _ROWS)), None)
            for i, name in enumerate(missing):
                try:
                    self._head[name] = batch.column(i).to_pylist() if batch is not None else []
                except (OverflowError, ValueError, KeyError):  # times or time zones that Python cannot represent
                    self._head[name] = [None] * len(batch or ())
        return {name: self._head[name] for name in columns}

    def numbers(self, columns: Sequence[str]) -> NDArray[np.float64]:
        """The first values of columns as numbers, shape (rows, columns); NaN where a value is not a number."""
        head = self.head(columns)
        rows = min(map(len, head.values()), default=0)  # in a damaged file, columns can end at different rows
        values = [[self._number(value) for value in column[:rows]] for column in head.values()]
        return np.array(values, dtype=float).T.reshape(-1, len(columns))

    def _number(self, value: object) -> float:
        if isinstance(value, str):
            number = spelt(self.source, value) if self.source.untyped else None
            return np.nan if number is None else number
        return float(value) if isinstance(value, (int, float, Decimal)) else np.nan

    def scores(self, without: set[str | None]) -> str | list[str] | None:
        """Find the scores: a column of vectors, columns with usual names, or neighbours whose rows sum to 1 or 100."""
        schema = self.source.schema
        for name in self.source.columns:
            if name not in without and is_vector(schema.field(name).type):
                return name
        left = [name for name in self.source.columns if name not in without]
        for pattern in names.PATTERNS:
            columns = list(names.matching(pattern, left).values())
            if len(columns) >= 2 and all(looks_numeric(self.source, name) for name in columns[:3]):
                return pattern
        numeric = self._numeric(left)
        signed = [name for name in numeric if name in self.source.percent]  # a row number beside them has no sign
        runs = [run for wanted in (signed, numeric) for run in names.neighbours(self.source.columns, wanted)]
        return next((run for run in runs if self.unit(run, None) != "unclear"), None)

    def _numeric(self, columns: list[str]) -> list[str]:
        """The columns that look like numbers, read together: there may be thousands."""
        if not columns:
            return []
        good = np.isfinite(self.numbers(columns)).mean(axis=0) >= 0.5
        return [name for name, ok in zip(columns, good.tolist(), strict=True) if ok]

    def unit(self, scores: str | Sequence[str] | None, confidence: str | None) -> str:
        """Judge by the first rows whether scores are shares, percent or logits; "unclear" if they are none of these."""
        if confidence is not None:
            if confidence in self.source.percent:
                return "percent"
            values = self.numbers([confidence])
            values = values[np.isfinite(values)]
            return "percent" if len(values) and 1 + EDGE < values.max() <= 100 and values.min() >= 0 else "share"
        columns = names.columns_of(self.source, scores)
        if len(columns) == 1 and is_vector(self.source.schema.field(columns[0]).type):
            rows = [row for row in self.head(columns)[columns[0]] if row]
            rows = [row for row in rows if len(row) == len(rows[0])]
            values = np.array(rows, dtype=float)
        else:
            values = self.numbers(columns) if len(columns) >= 2 else np.zeros((0, 2))
        values = values[np.isfinite(values).all(axis=1)]
        if not len(values):
            return "unclear"
        total = values.sum(axis=1)
        inside = np.mean(np.abs(total - 1) <= SLACK), np.mean(np.abs(total - 100) <= 100 * SLACK)
        if (values >= -EDGE).all() and max(inside) > 0.5:
            return "share" if inside[0] >= inside[1] else "percent"
        named = isinstance(scores, str) and ("logit" in scores.casefold() or "*" in scores)
        return "logits" if named and (values < -EDGE).any() else "unclear"

    def positive(self, predicted: str, confidence: str, unit: str) -> str | None:
        """Find the class whose probability a column named like a confidence really has; None if it is a confidence."""
        p = self.numbers([confidence])[:, 0] / (
            100 if unit == "percent" and confidence not in self.source.percent else 1
        )
        answers = self._answers(predicted)
        called = names.of_one_class([confidence]).get(confidence, "").casefold()
        stated = [answer for answer in set(answers) if answer.casefold() == called]
        if len(stated) == 1 and len(set(answers)) == 2:
            return stated[0]
        return looks_like_one_class(p.tolist(), answers)

    def likely_confidence(self, without: set[str | None]) -> str | None:
        """The first column whose name says nothing, and whose numbers are shares or have percent signs."""
        left = [name for name in self.source.columns if name not in without and not names.ENDS_IN_ID.search(name)]
        for name in self._numeric(left):
            values = self.numbers([name])[:, 0]
            values = values[np.isfinite(values)]
            most = 100 if name in self.source.percent else 1
            if values.min() >= 0 and values.max() <= most and (values % most > 0).mean() >= 0.5:
                return name
        return None

    def of_one_class(self, predicted: str, without: set[str | None]) -> str | None:
        """Find the one column that is named like the probability of one of the two predicted classes."""
        answers = {str(value).strip().casefold() for value in self.head([predicted])[predicted] if value is not None}
        left = [name for name in self.source.columns if name not in without]
        named = [name for name, called in names.of_one_class(left).items() if called.casefold() in answers]
        clear = len(answers) == 2 and len(named) == 1 and looks_numeric(self.source, named[0])
        return named[0] if clear and self._may_be_probability(named[0], predicted) else None

    def _may_be_probability(self, name: str, predicted: str) -> bool:
        """Whether numbers are from 0 to 1; or from 0 to 100 if they are high for one answer and low for the other."""
        p = self.numbers([name])[:, 0]
        finite = p[np.isfinite(p)]
        if not len(finite) or finite.min() < -EDGE or finite.max() > 100 + EDGE:
            return False
        return bool(finite.max() <= 1 + EDGE) or (
            looks_like_one_class((p / 100).tolist(), self._answers(predicted)) is not None
        )

    def _answers(self, predicted: str) -> list[str]:
        return ["" if value is None else str(value).strip() for value in self.head([predicted])[predicted]]

    def models(self, without: set[str | None]) -> list[str]:
        """Find columns with the answers of several models: they have the same values, or names that say so.

        Flags have the same values too, so columns of flags and numbers must have such names. An empty list: there are
        no two such columns. Two columns that say the same in every row are one, unless their names say otherwise.
        """
        answers: dict[str, set[str]] = {}
        known: list[list[str]] = []
        for name in self.source.columns:
            if name in without or not names.may_be_answers(name) or not can_keep(self.source.schema.field(name).type):
                continue
            values = [str(value).strip().casefold() for value in self.head([name])[name] if value is not None]
            distinct = {value for value in values if value}
            numbers = [spelt(self.source, value) for value in distinct]
            if not distinct or any(number is not None and number != round(number, 0) for number in numbers):
                continue
            flags = all(value in _FLAGS or number is not None for value, number in zip(distinct, numbers, strict=True))
            if names.MODEL.search(name) or (not flags and len(distinct) * 2 <= len(values) and values not in known):
                answers[name] = distinct
                known.append(values)
        best: list[str] = []
        for own in answers.values():
            alike = [name for name, other in answers.items() if len(other & own) * 2 >= len(other | own)]
            best = alike if len(alike) > max(len(best), 1) else best
        return best

    def identifier(self, without: set[str | None]) -> tuple[str | None, str | None]:
        """Find a column whose name says that it is the id; unless it is "id" itself, its values must all differ.

        The second value says in words why the first column with such a name is not the id; None if it is.
        """
        named = [(name == "id", self.named([name], without=without)) for name in (*names.IDS, *names.FILES)]
        # What pandas writes first when it is not told otherwise: the row number, without a name.
        first = [name for name in self.source.columns[:1] if name in names.UNNAMED and name not in without]
        ending = self._ending_in_id(without)
        why = None
        for certain, column in (*named, *((False, name) for name in (*first, *ending))):
            if column is None:
                continue
            wrong = None if certain else self._not_apart(column)
            if wrong is None:
                return column, why
            if wrong:
                why = why or f"{column!r} would be the id, but {wrong}"
        return self._names_of_items(without) if why is None else (None, why)

    def called_id(self, without: set[str | None]) -> str | None:
        """Find a column that is called an id, such as applicant_id, and whose values all differ."""
        named = (self.named([name], without=without) for name in names.IDS)
        return next(
            (name for name in (*named, *self._ending_in_id(without)) if name and self._not_apart(name) is None), None
        )

    def _ending_in_id(self, without: set[str | None]) -> list[str]:
        return [name for name in self.source.columns if names.ENDS_IN_ID.search(name) and name not in without]

    def _names_of_items(self, without: set[str | None]) -> tuple[str | None, str | None]:
        """Find a column without such a name whose values are short, all different, and look like codes or names.

        The second value says why the first column that comes close is not the id.
        """
        why = None
        for place, name in enumerate(self.source.columns):
            values = [value for value in self.head([name])[name] if value is not None]
            shown = names.bare(name) in names.CONTENT or names.TELLING.search(name)
            if shown or name in without or not values or len(set(map(str, values))) < _NEARLY_ALL * len(values):
                continue
            texts = [str(value).strip() for value in values]
            numbers = all(
                isinstance(value, float) or spelt(self.source, text) is not None
                for value, text in zip(values, texts, strict=True)
            )
            # Numbers that all differ can be anything, unless they are whole and come first.
            if not all(len(text) <= _LONGEST_CODE and len(text.split()) == 1 for text in texts) or (
                numbers and not (place == 0 and all(text.isdecimal() for text in texts))
            ):
                continue
            wrong = self._not_apart(name)
            if wrong is None:
                return name, None
            if wrong and not numbers:
                why = why or f"{name!r} would be the id, but {wrong}"
        return None, why

    def _not_apart(self, name: str) -> str | None:
        """Explain why a column does not identify every item: None if it does, empty if it has no ids at all."""
        kind = self.source.schema.field(name).type
        is_word = str(kind).endswith("string") or isinstance(kind, pa.UuidType)
        if is_vector(kind) or not (self.source.untyped or is_number(kind) or is_word):
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
        """Find the content: a column with a usual name, or else the one with the longest text, if long enough."""
        column = self.named(names.CONTENT, without=without)
        if column is not None and not looks_numeric(self.source, column):
            return column
        lengths = {}
        for name in self.source.columns:
            if name in without or name == id or names.TELLING.search(name):
                continue
            lengths[name] = self._text(name)
        best = max(lengths, key=lambda name: lengths[name], default=None)
        return best if best is not None and lengths[best] >= _LONG else None

    def free(self) -> list[str]:
        """The columns of free text, such as a language model's answers: they are not classes, whatever their names."""
        many = [name for name in self.source.columns if len(self.head([name])[name]) >= 20]
        return [name for name in many if self._text(name) >= _LONG or self._hardly_repeats(name)]

    def _hardly_repeats(self, name: str) -> bool:
        """Whether nearly every row has a value of its own: classes repeat in a long file."""
        head = [value for value in self.head([name])[name] if isinstance(value, str) and value]
        if len(head) < _ROWS or len(set(head)) < _APART * len(head):
            return False  # a short file may show each of its classes once
        chunks: list[pa.Array[Any]] = []
        for batch in self.source.batches([name], _MANY_ROWS):
            chunks.append(batch.column(0))
            if sum(map(len, chunks)) >= _MANY_ROWS:
                break
        values = pa.chunked_array(chunks).drop_null()
        return len(values.unique()) > _APART * len(values)

    def _text(self, name: str) -> float:
        """The mean length of the texts in a column that mostly differ; 0 if they do not."""
        values = [value for value in self.head([name])[name] if isinstance(value, str) and value]
        return sum(map(len, values)) / len(values) if len(set(values)) > len(values) / 2 else 0.0
