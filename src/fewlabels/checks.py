"""Checks of arguments: their type, and numbers. NumPy's numbers count as numbers; True and False do not."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import inf, nan
from numbers import Integral, Real
from typing import TypeVar

from fewlabels.errors import Argument, FewlabelsError, InputError, SpecError, described

T = TypeVar("T")
_MOST_DIGITS = 300

# What each kind is called, and how one is made.
_KINDS = {
    "Assessment": "an assessment, such as load('audit.db')",
    "Metric": "a metric, such as Accuracy()",
    "Partition": "a partition, such as by_predicted(pool)",
    "Policy": "a policy, such as Thompson()",
    "Pool": "a pool, such as read_pool('predictions.csv')",
    "Prior": "a prior, such as Learned()",
    "Stop": "a Stop, such as Stop(labels=500)",
    "Store": "an open database, such as Store('audit.db')",
    "Task": "a task, such as Estimate(Accuracy())",
}


def of_kind(value: object, kind: type[T], name: str, *, error: type[FewlabelsError] = InputError) -> T:
    """Return the value if it is of a kind; otherwise raise an error about `name` that says how one is made.

    >>> of_kind(3, str, "The 'name' of create()")
    Traceback (most recent call last):
    fewlabels.errors.InputError: The 'name' of create() must be a text. Got 3 instead.
    """
    if isinstance(value, kind):
        return value
    needed = "a text" if kind is str else _KINDS[kind.__name__]
    # Parentheses are easily forgotten.
    hint = f" Write {value.__name__}(...)." if isinstance(value, type) and issubclass(value, kind) else ""
    raise error(f"{name} must be {needed}. Got {described(value)} instead.{hint}")


def several(values: Iterable[T], name: str, *, error: type[FewlabelsError] = InputError) -> tuple[T, ...]:
    """Return the values; a text, which is a row of letters to Python, is an error about `name`.

    >>> several("cat", "The 'only' of check()")
    Traceback (most recent call last):
    fewlabels.errors.InputError: The 'only' of check() is a list. Got the text 'cat'; write ['cat'] instead.
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        kind = "the text " if isinstance(values, str) else ""
        raise error(f"{name} is a list. Got {kind}{values!r}; write [{values!r}] instead.")
    return tuple(values)


def whole_number(
    value: object, name: str, *, least: int = 1, most: float = inf, error: type[FewlabelsError] = InputError
) -> int:
    """Return the value as an int if it is a whole number of at least `least`; otherwise raise an error about `name`.

    A number above `most` is an error too.

    >>> whole_number(3, "The 'runs' of plan()")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise error(f"{name} must be a whole number of at least {least}. Got {value!r} instead.")
    if int(value) > most:
        raise error(f"{name} must be at most {most:,}. Got {value!r} instead.")
    return int(value)


def whole_field(part: object, field: str, name: str, *, least: int = 1) -> None:
    """Check a field of a frozen part. A whole number of NumPy becomes one of Python, which can be stored."""
    object.__setattr__(part, field, whole_number(getattr(part, field), name, least=least, error=SpecError))


def number_in(
    value: object,
    name: str,
    *,
    low: float = 0,
    high: float = inf,
    ends: bool = False,
    hint: str = "",
    error: type[FewlabelsError] = InputError,
) -> float:
    """Return the value as Python's number if it lies between two limits; otherwise raise an error about `name`.

    `ends` says whether the limits themselves are allowed. `hint` completes the message, as in "such as 0.95".

    >>> number_in(0.5, "The 'level'", high=1, hint="such as 0.95")
    0.5
    """
    number = nan
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # a whole number or fraction beyond the range of floats
            number = float(value)
    if not (low <= number <= high if ends else low < number < high) or number == inf:
        need = f"lie between {low:g} and {high:g}"
        if high == inf:
            need = "be a number" if low == -inf else f"be a number {'of at least' if ends else 'above'} {low:g}"
        raise error(f"{name} must {need}{f', {hint}' if hint else ''}. Got {value!r} instead.")
    return value if isinstance(value, (int, float)) else number


def number_field(
    part: object, field: str, name: str, *, low: float = 0, high: float = inf, ends: bool = False, hint: str = ""
) -> None:
    """Check a field of a frozen part: a number between two limits. A number of NumPy becomes one of Python."""
    number = number_in(getattr(part, field), name, low=low, high=high, ends=ends, hint=hint, error=SpecError)
    object.__setattr__(part, field, number)


def check_guarantee(guarantee: object, *, together: bool = False, what: str = "The 'guarantee'") -> None:
    """SpecError unless a guarantee is one that there is; `together` makes sense with one only.

    >>> check_guarantee("always")
    Traceback (most recent call last):
    fewlabels.errors.SpecError: The 'guarantee' must be 'anytime' or None. Got 'always' instead.
    """
    if guarantee not in (None, "anytime"):
        raise SpecError(f"{what} must be 'anytime' or None. Got {guarantee!r} instead.")
    if together and guarantee is None:
        arguments = Argument("together", value=True), Argument("guarantee", "anytime")
        raise SpecError(arguments[0], " is about a guarantee. Say ", arguments[1], " as well, or leave it out.")


def is_count(text: str) -> bool:
    """Whether a text is a whole number without a sign. One of hundreds of digits is a name: Python reads none of 5,000.

    >>> is_count("12"), is_count("-1"), is_count("1.0"), is_count("9" * 5000)
    (True, False, False, False)
    """
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def number_of(text: str) -> float | None:
    """The number that a text is, as Python writes numbers; None if it is something else.

    >>> number_of("1e3"), number_of(" 0.5 "), number_of("1,5")
    (1000.0, 0.5, None)
    """
    try:
        return float(text)
    except ValueError:
        return None
