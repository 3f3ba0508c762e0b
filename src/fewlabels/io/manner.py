"""How values are read, whatever the columns."""

from __future__ import annotations

from dataclasses import dataclass

from fewlabels.errors import Argument, InputError


@dataclass(frozen=True)
class Manner:
    """How values are read, whatever the columns: the arguments of `read_pool` of the same names."""

    normalize: bool = False
    logits: bool = False
    unlisted: bool = False  # whether an answer that is not in the list of classes counts as none
    any_spelling: bool = False  # whether the case, spaces and punctuation of an answer do not matter
    in_sentences: bool = False  # whether a sentence that names one class is that class; spelling does not matter then
    never: tuple[str, ...] = ()  # the patterns of answers that are never right, which count as none too

    def __post_init__(self) -> None:
        if self.normalize and self.logits:
            raise InputError(
                Argument("normalize", value=True),
                " and ",
                Argument("logits", value=True),
                " exclude each other: logits are normalised as they are. Drop one.",
            )

    @property
    def loose(self) -> bool:
        """Whether the case, spaces and punctuation of an answer do not matter; in a sentence they never do."""
        return self.any_spelling or self.in_sentences
