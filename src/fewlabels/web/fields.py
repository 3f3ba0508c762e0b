"""What is typed into one field of a form: lines, numbers and names, or an error about that field."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_THOUSANDS = re.compile(r"[0-9]{1,3}(?:[, ][0-9]{3})+")


class WrongFieldError(Exception):
    """The text typed into a field cannot be used."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field
        self.words = words


def lines(text: object) -> list[str]:
    """The lines of a text, without empty ones."""
    return [line.strip() for line in str(text or "").splitlines() if line.strip()]


def share(typed: Mapping[str, Any], field: str) -> float | None:
    """A number in percent, with or without its sign, as a share; None if nothing was typed.

    >>> share({"sure": "95"}, "sure"), share({"sure": "99.5 %"}, "sure"), share({}, "sure")
    (0.95, 0.995, None)
    """
    text = str(typed.get(field) or "").strip().removesuffix("%").strip().replace(",", ".")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise WrongFieldError(field, f"{text!r} is not a number. Write percent, such as 95.") from None
    if not 0 < value < 100:
        raise WrongFieldError(field, "write a number between 0 and 100, in percent.")
    return round(value / 100, 10)


def whole(typed: Mapping[str, Any], field: str, *, needed: bool = False) -> int | None:
    """A whole number of 1 or more; None if nothing was typed.

    >>> whole({"labels": "1,000"}, "labels"), whole({}, "labels")
    (1000, None)
    """
    text = str(typed.get(field) or "").strip()
    if not text and not needed:
        return None
    digits = re.sub("[, ]", "", text) if _THOUSANDS.fullmatch(text) else text  # 2,5 is not 25
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9 and int(digits) >= 1):
        raise WrongFieldError(field, "write a whole number, 1 or more.")
    return int(digits)


def name_of(typed: Mapping[str, Any], names: Sequence[str]) -> str:
    """The name of the new assessment."""
    name = " ".join(str(typed.get("name") or "").split())
    if not name or len(name) > 200 or "\0" in name or name in (".", ".."):
        raise WrongFieldError("name", "write a name, such as worst-classes.")
    if name in names:
        raise WrongFieldError("name", f"there is already an assessment {name!r}. Choose another name.")
    return name


def free_name(stem: str, names: Sequence[str]) -> str:
    """A name that is not used yet.

    >>> free_name("tickets", ["tickets", "tickets-2"])
    'tickets-3'
    """
    stem = stem.partition(".")[0].strip() or "assessment"
    if stem not in names:
        return stem
    return next(name for i in range(2, len(names) + 3) if (name := f"{stem}-{i}") not in names)
