"""Evaluations of language models, whatever program ran them: samples with answers and verdicts, as rows of a pool.

If the answers are classes, they are the predictions, and the targets of the evaluation are labels that `tell` can take.
If they are free text, the verdicts of the evaluation are the predictions: people then label which answers are right,
and the question is how far the verdicts can be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fewlabels.errors import InputError
from fewlabels.interop.shapes import is_plain
from fewlabels.io.arrays import from_arrays
from fewlabels.io.source import no_rows
from fewlabels.wording import counted, some_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.io.source import Source

_LONGEST = 60  # characters of an answer that may be a class
_SHARE = 5  # a class has this many answers on average, or more
_PAIRS = (("correct", "incorrect"), ("pass", "fail"), ("yes", "no"), ("Yes", "No"), ("True", "False"))
_OWN = ("id", "predicted", "confidence", "scores", "label", "labels", "content", "classes", "models")


@dataclass(frozen=True)
class Sample:
    """One thing that a model was asked, with its answer and what was said about that.

    Parameters
    ----------
    id
        The sample; the same for all models.
    input
        What the model was asked.
    answer
        What it said, or the part of that which counts; None if it failed.
    target
        The answer that the evaluation takes for right, if it knows one.
    verdicts
        What each scorer said: a word such as "correct", a flag, or any other number; see `worded`.
    people
        What people said in place of a scorer, by its name: these are labels of its verdicts.
    others
        Further columns; those that are not plain values are left out.
    whole
        All that it said, if the answer is a part of that.
    model
        The model, where an evaluation has several.
    scores
        The probability of each class, if the evaluation has them.
    """

    id: str
    input: str | None
    answer: str | None
    target: str | None = None
    verdicts: Mapping[str, Any] = field(default_factory=dict)
    people: Mapping[str, str | None] = field(default_factory=dict)
    others: Mapping[str, object] = field(default_factory=dict)
    whole: str | None = None
    model: str | None = None
    scores: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Evaluation:
    """What one file says: its format with the version, its samples, and the classes if it names them."""

    format: str
    samples: Sequence[Sample]
    classes: tuple[str, ...] | None = None

    def source(self, name: str) -> Source:
        """The samples as rows, with the columns that `read_pool` looks for."""
        if not self.samples:
            raise no_rows(name)
        if self.classes is not None or _are_classes(self.samples):
            return self._of_classes(name)
        return self._of_verdicts(name)

    def _of_classes(self, name: str) -> Source:
        """A row for each sample: the answer is the predicted class, and the target is a label."""
        rows: dict[str, dict[str | None, Sample]] = {}
        for sample in self.samples:
            rows.setdefault(sample.id, {})[sample.model] = sample
        models = list(dict.fromkeys(sample.model for sample in self.samples))
        if sum(map(len, rows.values())) < len(self.samples):
            twice = next(
                s.id for s in self.samples if sum(o.id == s.id and o.model == s.model for o in self.samples) > 1
            )
            raise InputError(f"{name} has the sample {twice!r} twice. Give every sample an id of its own.")
        first = [next(iter(by_model.values())) for by_model in rows.values()]
        labelled = any(sample.target is not None for sample in first)
        meaning = f"the answers are the predicted classes{', and the targets are labels' if labelled else ''}"
        columns: dict[str, list[Any]] = {"id": list(rows)}
        if len(models) > 1:
            columns["predicted"] = [[by.get(model) and by[model].answer for model in models] for by in rows.values()]
        elif all(sample.scores is not None for sample in first) and self.classes:
            columns["scores"] = [[(s.scores or {}).get(name, 0.0) for name in self.classes] for s in first]
        else:
            columns["predicted"] = [sample.answer for sample in first]
        columns |= {"input": [s.input for s in first], "label": [s.target for s in first]}
        # Verdicts that come from targets are labels, which a pool never holds; of several models, each has its own.
        columns |= _further(first, verdicts=len(models) == 1 and not labelled)
        source = from_arrays(name, _without_empty(columns), strict=True, classes=False)
        names = tuple(map(str, models)) if len(models) > 1 else None
        return replace(source, classes=self.classes, models=names, told=f"{self.format}: {meaning}")

    def _of_verdicts(self, name: str) -> Source:
        """A row for each answer: the verdict about it is the prediction, and people see question and answer."""
        scorer = _judging(self.samples)
        if scorer is None:
            scorers = list(dict.fromkeys(key for sample in self.samples for key in sample.verdicts))
            numbers = f" Its scores {some_of(scorers)} are numbers between the two." if scorers else ""
            raise InputError(
                f"{name} ({self.format}) has answers in free text, and no scorer that says right or wrong.{numbers} "
                "Write a table with the columns id, predicted (the verdict) and the text to judge, and read that."
            )
        kept = [sample for sample in self.samples if sample.verdicts.get(scorer) is not None]
        several = len({sample.model for sample in self.samples}) > 1
        columns: dict[str, list[Any]] = {
            "id": [f"{s.id} {s.model}" if several else s.id for s in kept],
            "predicted": [s.verdicts[scorer] for s in kept],
            "content": [_to_judge(s) for s in kept],
            "answer": [s.answer for s in kept],
            "label": [s.people.get(scorer) for s in kept],
            **({"model": [s.model for s in kept]} if several else {}),
        }
        columns |= {key: values for key, values in _further(kept, verdicts=True).items() if key != scorer}
        left = len(self.samples) - len(kept)
        lost = f"; {counted(left, 'sample')} without a verdict left out" if left else ""
        source = from_arrays(name, _without_empty(columns), strict=True, classes=False)
        classes = _verdicts([*columns["predicted"], *(label for label in columns["label"] if label is not None)])
        return replace(
            source, classes=classes, told=f"{self.format}: the verdicts of {scorer!r} are the predictions{lost}"
        )


def worded(samples: Sequence[Sample], yes: str, no: str) -> list[Sample]:
    """The samples with the verdicts of each scorer in words, if all of them are flags, 0 or 1.

    >>> said = {"ok": 1, "close": 1}, {"ok": 0, "close": 0.4}
    >>> samples = [Sample(str(i), None, "Hi", verdicts=one) for i, one in enumerate(said)]
    >>> [sample.verdicts for sample in worded(samples, "pass", "fail")]
    [{'ok': 'pass', 'close': 1}, {'ok': 'fail', 'close': 0.4}]
    """
    verdicts: dict[str, set[object]] = {}
    for sample in samples:
        for scorer, value in sample.verdicts.items():
            if is_plain(value):
                verdicts.setdefault(scorer, set()).add(value)
    flags = {scorer for scorer, values in verdicts.items() if values <= {0, 1}}

    def words(sample: Sample) -> dict[str, str | float | None]:
        plain = {scorer: value for scorer, value in sample.verdicts.items() if is_plain(value)}
        return {scorer: (yes if value else no) if scorer in flags else value for scorer, value in plain.items()}

    return [replace(sample, verdicts=words(sample)) for sample in samples]


def _are_classes(samples: Sequence[Sample]) -> bool:
    """Whether the answers are few and short enough to be classes."""
    answers = [sample.answer for sample in samples if sample.answer is not None]
    few = max(2, len(samples) // _SHARE)
    return 0 < len(set(answers)) <= few and len(set(answers)) < len(answers) and max(map(len, answers)) <= _LONGEST


def _judging(samples: Sequence[Sample]) -> str | None:
    """The first scorer whose verdicts are words; None if there is none."""
    scorers = dict.fromkeys(key for sample in samples for key in sample.verdicts)
    for scorer in scorers:
        verdicts = [v for sample in samples if (v := sample.verdicts.get(scorer)) is not None]
        if (
            verdicts
            and all(isinstance(value, str) for value in verdicts)
            and len(set(verdicts)) <= max(4, len(verdicts) // _SHARE)
        ):
            return scorer
    return None


def _verdicts(words: Sequence[str]) -> tuple[str, ...]:
    """The verdicts that a person can give: those that were given, and the other one of a pair that a scorer never said.

    >>> _verdicts(["pass", "pass"]), _verdicts(["correct", "partly correct"]), _verdicts(["toxic"])
    (('fail', 'pass'), ('correct', 'incorrect', 'partly correct'), ('toxic',))
    """
    pairs = [pair for pair in _PAIRS if set(pair) & set(words)]
    return tuple(sorted({*words, *(word for pair in pairs for word in pair)}))


def _to_judge(sample: Sample) -> str:
    """What a person needs to see to say whether an answer is right."""
    parts = {"Question": sample.input, "Answer": sample.whole or sample.answer, "Reference": sample.target}
    return "\n\n".join(f"{title}: {text}" for title, text in parts.items() if text is not None)


def _further(samples: Sequence[Sample], *, verdicts: bool) -> dict[str, list[Any]]:
    """The columns of verdicts and of whatever else a format knows, each with values of one type."""
    each = [{**(sample.verdicts if verdicts else {}), **sample.others} for sample in samples]
    keys = dict.fromkeys(key for row in each for key, value in row.items() if is_plain(value))
    columns = {key: [row.get(key) if is_plain(row.get(key)) else None for row in each] for key in keys}
    taken = {*_OWN, "input", "answer", "model"}
    return {f"sample_{key}" if key in taken else key: _of_one_type(values) for key, values in columns.items()}


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values as they are if they have one type that Arrow knows; otherwise as text."""
    kinds = {type(value) for value in values if value is not None}
    fits = all(not isinstance(value, int) or abs(value) < 2**53 for value in values if value is not None)
    if fits and (len(kinds) == 1 or kinds == {int, float}):
        return values
    return [None if value is None else str(value) for value in values]


def _without_empty(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {key: values for key, values in columns.items() if any(value is not None for value in values)}
