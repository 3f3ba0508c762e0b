"""Answers that are never right: refusals, "cannot determine", nothing at all. They become the class `NO_ANSWER`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.errors import Argument, InputError
from fewlabels.io.spellings import straight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray


def patterns_of(given: object) -> tuple[str, ...]:
    """Check the patterns that a caller gives: a list of texts."""
    if isinstance(given, str) or not all(isinstance(pattern, str) for pattern in given):  # type: ignore[attr-defined]
        raise InputError(
            Argument("never_right"), " must be a list of texts, such as ", Argument("never_right", ["I'm sorry*"]), "."
        )
    return tuple(given)  # type: ignore[arg-type]


def never_right(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A function that says whether an answer is one of these, where * stands for any text.

    Letter case, spaces and the shape of quotes do not matter. The pattern "" is an empty answer. "?" and "[refused]"
    are answers of language models, so nothing but * is special.

    >>> refused = never_right(["I'm sorry*", "[refused]", ""])
    >>> [refused(text) for text in ("I’m sorry, but I cannot.", "[Refused]", "", "sorry")]
    [True, True, True, False]
    """
    pieces = [_plain(pattern).split("*") for pattern in patterns]
    return lambda text: any(_fits(_plain(text), each) for each in pieces)


def _fits(text: str, pieces: Sequence[str]) -> bool:
    """Whether a text is these pieces in order, with any text between them.

    Each is taken where it comes first. An expression such as `.*a.*a.*a` would try every place for each of them, and a
    long answer takes for ever.

    >>> _fits("I am sorry, sorry.", ["I am", "sorry", "."]), _fits("ab", ["ab", "b"])
    (True, False)
    """
    first, *middle = pieces
    if not middle:
        return text == first
    at, last = len(first), middle.pop()
    if not text.startswith(first):
        return False
    for piece in middle:
        if (at := text.find(piece, at)) < 0:
            return False
        at += len(piece)
    return len(text) - len(last) >= at and text.endswith(last)


def _plain(text: str) -> str:
    return " ".join(straight(text).casefold().split())


def merged(
    names: tuple[str, ...],
    answers: NDArray[np.int32],
    certainty: NDArray[np.float64],
    sums: NDArray[np.float64],
    patterns: Sequence[str],
) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Take classes that are never right out of scored predictions: such an answer is −1, with the confidence 0.

    The sums keep a last row and column for them, if such an answer occurs.
    """
    is_never = never_right(patterns)
    never = np.array([is_never(name) for name in names])
    if not never.any():
        return names, answers, certainty, sums
    left = int((~never).sum())
    place = np.where(never, left, np.cumsum(~never) - 1)
    joined = np.zeros((left + 1, left + 1))
    np.add.at(joined, (place[:, None], place), sums)
    refused = never[answers]
    answers = np.where(refused, -1, place[answers]).astype(np.int32)
    kept = left + 1 if refused.any() else left
    names = tuple(name for name, wrong in zip(names, never, strict=True) if not wrong)
    return names, answers, np.where(refused, 0.0, certainty), joined[:kept, :kept]


def check_classes(left: Sequence[str], patterns: Sequence[str]) -> None:
    """Refuse patterns that leave fewer than two classes."""
    if patterns and len(left) < 2:
        what = f"only {left[0]!r}" if left else "no class"
        raise InputError(
            f"{what} is left besides the answers that are never right. Name the classes with ",
            Argument("classes"),
            ", or correct ",
            Argument("never_right"),
            ".",
        )
