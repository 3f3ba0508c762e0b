"""Guessing what a file of predictions contains, by the names of its columns and by its first rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.errors import Argument, Call
from fewlabels.io.columns import looks_numeric
from fewlabels.io.finder import names
from fewlabels.io.finder.look import Look
from fewlabels.io.opening import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.io.source import Source


@dataclass(frozen=True)
class Guess:
    """The arguments of `read_pool` that a file seems to need, and columns that look like labels.

    >>> from fewlabels.io.finder import guess
    >>> guess({"Image": ["a.png", "b.png"], "cat": [60, 5], "dog": [40, 95], "truth": ["cat", "cat"]})
    Guess(id='Image', scores=['cat', 'dog'], predicted=None, confidence=None, content='Image', normalize=True,
        logits=False, truth='truth', verbal=None, not_id=None, models=None, positive=None, likely=None)
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
    not_id: str | None = None  # why a column that is named like an id is not one, in words
    models: list[str] | None = None  # the names of several models with a column of answers each
    positive: str | None = None  # the class that the numbers called a confidence are really about
    likely: str | None = None  # a column that may be the confidence by its numbers: not used, but worth mentioning

    @property
    def call(self) -> Call:
        """The call of `read_pool` with these arguments.

        >>> from fewlabels.io.finder import guess
        >>> print(guess({"Ticket ID": ["a", "b"], "pred": ["cat", "dog"], "conf": [60, 95]}).call)
        read_pool(..., id='Ticket ID', predicted='pred', confidence='conf', normalize=True)
        """
        named = ("id", "scores", "predicted", "confidence", "models", "content", "normalize", "logits", "positive")
        return Call("read_pool", tuple(Argument(name, getattr(self, name)) for name in named if getattr(self, name)))


def guess(
    source: object,
    *,
    id: str | None = None,  # noqa: A002  (the word users know)
    scores: str | Sequence[str] | None = None,
    predicted: str | None = None,
    confidence: str | None = None,
    content: str | None = None,
    not_content: Sequence[str] = (),
    evidence: Sequence[str] = (),
) -> Guess:
    """Guess the columns that are not given. Columns that look like labels are never taken for predictions.

    Nor are the evidence columns taken for anything else.
    """
    look = Look(open_source(source))
    look.source.need_all(id=id, predicted=predicted, confidence=confidence, content=content)
    truth = look.named(names.TRUTH, without={*evidence})
    taken = {id, predicted, confidence, content, truth, *evidence}
    stated = look.confidence(without=taken)
    if predicted is None and scores is None:
        predicted = look.predicted(without={*taken, *look.free()})
    if scores is None and confidence is None:
        scores = look.scores(without={*taken, predicted, stated})
    verbal, models, answers = None, None, list[str]()
    if scores is None and predicted is None:
        wanted = {*taken, *not_content, stated, look.identifier(without=taken)[0]}
        answers = look.models(without={*wanted, look.content(None, without={*wanted})})
        models = named_by(look.source, answers)
    if scores is None and confidence is None and stated is not None:
        if looks_numeric(look.source, stated):
            confidence = stated
        elif "score" not in names.bare(stated):  # a text called "score" can be anything
            verbal = stated
    if predicted is not None and scores is None and confidence is None and stated is None:
        confidence = look.of_one_class(predicted, without={*taken, predicted})
    used = {predicted, confidence, stated, truth, *answers, *names.columns_of(look.source, scores)}
    not_id = None
    if id is None:
        id, not_id = look.identifier(without=used)  # noqa: A001
    if content is None:
        content = look.content(id, without={*used, *not_content})
    unit = look.unit(scores, confidence)
    unsaid = predicted is not None and scores is None and confidence is None and verbal is None
    likely = look.likely_confidence({*used, id, content, *evidence}) if unsaid else None
    positive = look.positive(predicted, confidence, unit) if predicted and confidence and scores is None else None
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
        models=models,
        positive=positive,
        likely=likely,
    )


def named_by(source: Source, answers: Sequence[str]) -> list[str] | None:
    """The names of the models of some columns of answers; None if there are fewer than two."""
    if len(answers) < 2:
        return None
    short = [names.model_of(column) for column in answers]
    clear = len(set(short)) == len(short) and not set(short) & {*source.columns} - {*answers}
    return short if clear else list(answers)
