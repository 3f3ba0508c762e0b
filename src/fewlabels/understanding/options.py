"""What somebody says about a file of predictions, and asks about it. The command line and the web app both make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fewlabels.bins import column_and_bins
from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.io.finder import Guess
    from fewlabels.io.source import Source
    from fewlabels.tasks.compare import RewardName

OF_MODELS = ("best", "compare-models")
"""The tasks about several models, by their names."""


@dataclass(frozen=True)
class ReadOptions:
    """How predictions are to be read; what is None or empty is guessed.

    The names are those of the options of `fewlabels new`. Several names are one text, with commas, as they are typed.
    """

    id: str | None = None
    scores: str | None = None
    predicted: str | None = None
    confidence: str | None = None
    """A column, or "none": do not use any."""
    classes: str | list[str] | None = None
    """Names with commas, or a file with one on each line; a list is one already."""
    models: str | None = None
    table: str | None = None
    sample: int | None = None
    unlisted: Literal["refuse", "wrong"] = "refuse"
    any_spelling: bool = False
    in_sentences: bool = False
    positive: str | None = None
    never_right: tuple[str, ...] = ()
    evidence: str | None = None
    normalize: bool | None = None
    logits: bool | None = None
    any_size: bool = False
    groups: str | None = None
    """The groups of the question, whose columns must be kept."""
    verdict: str | None = None
    """Columns of a judge's verdicts, and perhaps "=" and the one that passes."""
    seed: int = 0
    """By it items of a table are drawn."""

    @property
    def evidence_columns(self) -> list[str]:
        """The columns of evidence.

        >>> ReadOptions(evidence="judge, length").evidence_columns
        ['judge', 'length']
        """
        return split_names(self.evidence) or []

    def columns_for_groups(self, columns: Sequence[str]) -> dict[str, str]:
        """The columns that `groups` names, with what it says of their bins ("" if nothing); `columns` are the file's.

        >>> ReadOptions(groups="column:sex, column:age:4,predicted").columns_for_groups(["sex", "age"])
        {'sex': '', 'age': '4'}
        """
        wanted = (part.strip()[7:] for part in (self.groups or "").split(",") if part.strip().startswith("column:"))
        return dict(column_and_bins(text, columns) for text in wanted if text)


@dataclass(frozen=True)
class QuestionOptions:
    """What is asked about the predictions, and when there are enough labels.

    The names are those of the options of `fewlabels new`, and a name on the command line is written as there.

    >>> QuestionOptions(compare="cat,dog", rope=0.02).task is None  # --compare says it already
    True
    """

    task: str | None = None
    metric: str = "accuracy"
    groups: str | None = None
    model: str | None = None
    """The one of several models that the question is about."""
    lowest: int | None = None
    highest: int | None = None
    compare: str | None = None
    """The names of two groups, with a comma."""
    rope: float | None = None
    by: RewardName | None = None
    best: bool = False
    compare_models: str | None = None
    certify: str | None = None
    """A metric and the line that it must reach."""
    only: tuple[str, ...] = ()
    """The groups that must reach it."""
    sure: float | None = None
    guarantee: Literal["anytime"] | None = None
    verdict: str | None = None
    """As in `ReadOptions`."""
    stop_labels: int | None = None
    stop_probability: float | None = None
    stop_width: float | None = None
    stop_overall: float | None = None

    @property
    def of_models(self) -> bool:
        """Whether the question says itself that it is about several models."""
        return self.best or self.compare_models is not None or self.task in OF_MODELS

    @property
    def of_groups(self) -> list[str]:
        """The options given that make it a question about the groups of one model, as they are typed.

        >>> QuestionOptions(lowest=3, certify="accuracy >= 0.9").of_groups
        ['--lowest', '--certify']
        """
        names = ("lowest", "highest", "compare", "certify")
        return [f"--{name}" for name in names if getattr(self, name) is not None]


def split_names(text: str | None) -> list[str] | None:
    """Names separated by commas; None if there are none."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def score_names(text: str | None, source: Source) -> str | list[str] | None:
    """Split a text into names of columns, unless it is a pattern or one column."""
    if text is None or text in source.columns or "," not in text:
        return text
    return [part.strip() for part in text.split(",")]


def class_list(text: str | list[str] | None) -> list[str] | None:
    """Read names of classes, separated by commas or from the lines of a file; a list is one already."""
    from pathlib import Path

    if text is None or isinstance(text, list):
        return text
    if "," not in text and Path(text).is_file():
        try:
            lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"cannot read the classes in {text}: {error}. Save them as UTF-8, one on a line."
            ) from None
        return [line.strip() for line in lines if line.strip()]
    if "," not in text:
        raise InputError(
            f"there is no file {text!r}, and one class is not enough. Name the classes with commas, or a file with one "
            "on each line."
        )
    return [part.strip() for part in text.split(",")]


def single(content: Sequence[str] | None) -> str | None:
    """The only column that annotators see; None if there are several, or none is named."""
    return content[0] if content and len(content) == 1 else None


def kept_content(guessed: Guess, content: Sequence[str] | None) -> str | None:
    """The column that a pool keeps as its content at first. Ids are not among its columns, unless people see them."""
    return guessed.id if content and guessed.id in content else guessed.content
