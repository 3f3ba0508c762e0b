"""How numbers, counts and names are written, in every text that people read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_LONGEST = 120
_NARROW = 0.05
_EXACT = 1e-12
_NUMBER = re.compile(r"[+-]?\d[\d.,]*")
SMALL = 0.01
"""Probabilities below this are all written "under 1%"."""
NONE = "–"
"""The sign for a number that does not exist."""


# What a terminal obeys instead of showing: control characters, and marks that turn the direction of writing.
_COMMANDS = {c: f"\\x{c:02x}" for c in (*range(0x20), *range(0x7F, 0xA0)) if c not in (0x09, 0x0A)}
_COMMANDS |= {c: f"\\u{c:04x}" for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def harmless(text: str) -> str:
    r"""A text as a terminal may show it: what people typed cannot move the cursor or colour the rest.

    >>> print(harmless("a" + chr(27) + "[2Jb"))
    a\x1b[2Jb
    """
    return text.translate(_COMMANDS)


def counted(count: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "more label"), counted(1200, "item"), counted(2, "class"), counted(2, "person")
    ('1 more label', '1,200 items', '2 classes', '2 people')
    """
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a noun.

    >>> plural("class"), plural("category"), plural("group"), plural("day")
    ('classes', 'categories', 'groups', 'days')
    """
    if noun.endswith("person"):
        return f"{noun.removesuffix('person')}people"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def percent(share: float, digits: int = 0) -> str:
    """A share in whole percent, or with more digits; one digit beyond 1% and 99%, and 0% or 100% only of exactly that.

    >>> percent(0.617), percent(0.9712), percent(0.9912), percent(0.9995), percent(1)
    ('62%', '97%', '99.1%', 'over 99.9%', '100%')
    >>> percent(0.9, digits=1)
    '90.0%'
    """
    if share in (0, 1):
        return f"{100 * share:.0f}%"
    if 0 < share < 0.0005:
        return "under 0.1%"
    if 0.9995 <= share < 1:
        return "over 99.9%"
    return f"{100 * share:.{max(digits, int(abs(share) < 0.0095 or share > 0.9905))}f}%"


def _rounded(share: float, digits: int) -> str:
    """A share with these digits and no more, which is 0% or 100% only if it is exactly that."""
    if digits or share <= 0 or share >= 1:
        return percent(share, digits)
    return "under 1%" if share < 0.005 else "over 99%" if share >= 0.995 else f"{100 * share:.0f}%"


def digits_for(low: float, high: float) -> int:
    """How many digits a share has whose range is this: one, if the range is shorter than five points.

    >>> digits_for(0.91, 0.97), digits_for(0.951, 0.964)
    (0, 1)
    """
    return int(high - low < _NARROW)


def decimals_for(low: float, high: float) -> int:
    """How many decimals a plain number has whose range is this: the range has two digits that count.

    >>> decimals_for(0.847, 1.67), decimals_for(3, 9), decimals_for(120, 180)
    (2, 1, 0)
    """
    width = abs(high - low)
    return min(max(1 - math.floor(math.log10(width)), 0), 6) if 0 < width < math.inf else 3


def is_exact(low: float | None, high: float | None) -> bool:
    """Whether an interval has no width: the value is known.

    >>> is_exact(0.5, 0.5), is_exact(0.5, 0.6), is_exact(None, None)
    (True, False, False)
    """
    return low is not None and high is not None and high - low <= _EXACT


def probability(chance: float) -> str:
    """A probability computed from a belief: it is never certain, and not known more exactly beyond 99 in 100.

    >>> probability(0.914), probability(1.0), probability(0.0004)
    ('91%', 'over 99%', 'under 1%')
    """
    if chance > 0.99:
        return "over 99%"
    return "under 1%" if chance < SMALL else f"{100 * chance:.0f}%"


def chosen(share: float) -> str:
    """A percentage that somebody chose, such as the level of intervals, with all its digits.

    >>> chosen(0.95), chosen(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * share:.6g}%"


def plain(value: float) -> str:
    """A number with about three digits.

    >>> plain(0.01234), plain(1234.5), plain(-0.5)
    ('0.0123', '1,234', '−0.5')
    """
    size = f"{abs(value):,.0f}" if abs(value) >= 1000 else f"{abs(value):.3g}"
    return f"−{size}" if value < 0 else size


@dataclass(frozen=True)
class Style:
    """How the values of a metric are written: a share in percent, anything else as a plain number.

    `digits` are those of every value; without them, a value and its range have as many as the range allows.

    >>> Style(share=True).value(0.617), Style(share=False).value(12.3456)
    ('62%', '12.3')
    >>> Style(share=False).spread(1.2345, 0.847, 1.674)
    '1.23 (0.85 – 1.67)'
    """

    share: bool
    digits: int | None = None

    def fitting(self, ranges: Iterable[tuple[float | None, float | None]]) -> Style:
        """The style of a table with these ranges: all its shares have as many digits as suit most of the ranges.

        >>> Style(share=True).fitting([(0.41, 0.62), (0.95, 0.96), (0.93, 0.95)]).value(0.5)
        '50.0%'
        """
        known = [(low, high) for low, high in ranges if low is not None and high is not None]
        if not self.share:
            decimals = sorted(decimals_for(low, high) for low, high in known if high > low)
            return Style(self.share, decimals[len(decimals) // 2] if decimals else None)
        digits = [digits_for(low, high) for low, high in known]
        return Style(self.share, int(2 * sum(digits) > len(digits)))

    def fitting_changes(self, rows: Iterable[tuple[float | None, float | None, float | None]]) -> Style:
        """The style of a column of differences with their ranges, if known: all have as many digits as one needs.

        >>> style = Style(share=True).fitting_changes([(0.014, None, None), (0.05, None, None)])
        >>> style.change(0.014), style.change(0.05)
        ('1.4 points', '5.0 points')
        >>> Style(share=True).fitting_changes([(0.0, 0.0, 0.0), (0.032, -0.07, 0.16)]).change(0.032)
        '3 points'
        """
        if not self.share:
            return self
        # The difference of the first from itself is 0, and needs no digits.
        known = [row for row in rows if row[0] is not None and any(row)]
        digits = [
            int(0 < abs(value) < _NARROW) if low is None or high is None else digits_for(low, high)
            for value, low, high in known
            if value is not None
        ]
        return Style(self.share, max(digits, default=0))

    def value(self, value: float | None, low: float | None = None, high: float | None = None) -> str:
        """A value, as exactly as its range allows; a dash where there is none.

        >>> Style(share=True).value(0.957), Style(share=True).value(0.957, 0.951, 0.964)
        ('96%', '95.7%')
        >>> Style(share=True).value(0.993, 0.8, 0.993), Style(share=True).value(0.997, 0.8, 0.997)
        ('99%', 'over 99%')
        """
        if value is None:
            return NONE
        if self.share:
            digits = self._digits(low, high)
            return percent(value) if digits is None else _rounded(value, digits)
        if self.digits is None and (low is None or high is None or high <= low):
            return plain(value)
        digits = decimals_for(low or 0.0, high or 0.0) if self.digits is None else self.digits
        text = f"{abs(value):,.{digits}f}"
        return f"−{text}" if value < 0 and any(c in "123456789" for c in text) else text

    def _digits(self, low: float | None, high: float | None) -> int | None:
        if self.digits is not None:
            return self.digits
        return None if low is None or high is None else digits_for(low, high)

    def between(self, low: float | None, high: float | None) -> str:
        """An interval in a sentence, beside its value; without a width if every item has its label.

        >>> Style(share=True).between(0.551, 0.694), Style(share=True).between(0.5, 0.5)
        ('between 55% and 69%', 'counted, not estimated')
        """
        if is_exact(low, high):
            return "counted, not estimated"
        return f"between {self.value(low, low, high)} and {self.value(high, low, high)}"

    def range(self, low: float | None, high: float | None) -> str:
        """An interval in a table; a dash if there is none.

        >>> Style(share=True).range(0.551, 0.694), Style(share=True).range(None, None)
        ('55% – 69%', '–')
        """
        return NONE if low is None or high is None else f"{self.value(low, low, high)} – {self.value(high, low, high)}"

    def spread(self, mean: float | None, low: float | None, high: float | None) -> str:
        """A value with its interval, in a table; alone if it is counted, not estimated.

        >>> Style(share=True).spread(0.617, 0.551, 0.694), Style(share=True).spread(0.5, 0.5, 0.5)
        ('62% (55% – 69%)', '50.0%')
        """
        if is_exact(low, high):
            return self.value(mean, low, high)
        return f"{self.value(mean, low, high)} ({self.range(low, high)})"

    def spanning(self, mean: float | None, low: float | None, high: float | None) -> str:
        """A value with its interval, in a sentence.

        >>> Style(share=True).spanning(0.617, 0.551, 0.694)
        '62% (55% to 69%)'
        """
        return f"{self.value(mean, low, high)} ({self.value(low, low, high)} to {self.value(high, low, high)})"

    def stated(self, value: float) -> str:
        """A value that somebody chose, such as a line to reach, with all its digits.

        >>> Style(share=True).stated(0.925), Style(share=False).stated(2.5)
        ('92.5%', '2.5')
        """
        return chosen(value) if self.share else f"{value:,.6g}"

    def within(self, value: float) -> str:
        """A difference that somebody chose, such as a rope, with all its digits.

        >>> Style(share=True).within(0.075), Style(share=True).within(0.01), Style(share=False).within(0.5)
        ('7.5 points', '1 point', '0.5')
        """
        if not self.share:
            return f"{value:,.6g}"
        text = f"{100 * value:.6g}"
        return f"{text} point{'s' * (text != '1')}"

    def change(self, value: float, low: float | None = None, high: float | None = None) -> str:
        """The size of a difference: percentage points, as exactly as its interval allows, or a plain number.

        >>> Style(share=True).change(-0.071), Style(share=True).change(0.01), Style(share=True).change(0.014)
        ('7 points', '1 point', '1.4 points')
        >>> Style(share=True).change(0.014, -0.1, 0.1)
        '1 point'
        """
        if not self.share:
            return plain(abs(value))
        digits = self._digits(low, high)
        if digits is None:
            text = f"{abs(100 * value):.{int(abs(value) < _NARROW)}f}".removesuffix(".0")
        else:
            text = f"{abs(100 * value):.{digits}f}"
        return f"{text} point{'s' * (text not in ('1', '1.0'))}"

    def width(self, value: float) -> str:
        """The width of an interval: percentage points with a digit more than they are asked for, or a plain number.

        >>> Style(share=True).width(0.2), Style(share=True).width(0.2041), Style(share=False).width(12.3456)
        ('20 points', '20.4 points', '12.3')
        """
        if not self.share:
            return plain(value)
        text = f"{100 * value:.1f}".removesuffix(".0")
        return f"{text} point{'s' * (text != '1')}"

    def apart(self, low: float, high: float) -> str:
        """An interval of a difference in a sentence, both ends as exactly.

        >>> Style(share=True).apart(-0.08, 0.03), Style(share=True).apart(-0.012, 0.03)
        ('between −8 and +3 points', 'between −1.2 and +3.0 points')
        """
        ends = " and ".join(self._signed(end, low, high) for end in (low, high))
        return f"between {ends} points" if self.share else f"between {ends}"

    def _signed(self, value: float, low: float, high: float) -> str:
        """A number with its sign and without its unit; 0 has no sign."""
        if not self.share:
            return self.difference(value)
        text = f"{100 * value:+.{self._digits(low, high)}f}"
        return text[1:] if not float(text) else text.replace("-", "−")

    def difference(self, value: float, low: float | None = None, high: float | None = None) -> str:
        """A difference with its sign.

        >>> Style(share=True).difference(-0.071), Style(share=False).difference(1.5)
        ('−7 points', '+1.5')
        """
        size = self.change(value, low, high)
        sign = "" if not float(size.split()[0].replace(",", "")) else "−" if value < 0 else "+"
        return f"{sign}{size}"

    def moved(self, mean: float, low: float, high: float) -> str:
        """A difference with its interval, in a table.

        >>> Style(share=True).moved(-0.071, -0.181, 0.004)
        '−7 points (−18 to 0)'
        """
        ends = " to ".join(self._signed(end, low, high) for end in (low, high))
        return f"{self.difference(mean, low, high)} ({ends})"


def spelled(count: int) -> str:
    """A small count as a word.

    >>> spelled(3), spelled(25)
    ('three', '25')
    """
    return _COUNTS[count] if 0 <= count < len(_COUNTS) else f"{count:,}"


def listed(parts: list[str]) -> str:
    """Several texts as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def some_of(names: Iterable[str], most: int = 8) -> str:
    """The first of some names in quotes, and how many more there are.

    >>> some_of(["cat", "dog", "eel"], 2)
    "'cat', 'dog' and 1 more"
    """
    return " ".join(some_pieces(names, most))


def some_pieces(names: Iterable[str], most: int = 8) -> list[str]:
    """The pieces of `some_of` between which a line may be broken.

    >>> some_pieces(["a", "b", "c"], 2)
    ["'a',", "'b' and 1 more"]
    """
    names = list(names)
    *first, last = [quoted(name) for name in names[:most]] or [""]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return [*(f"{name}," for name in first), last + more]


def as_class(name: str) -> str:
    """The name of a class within a sentence: in quotes if it is a number, which would be read as a value.

    >>> as_class("spam"), as_class("1"), as_class("-0.5")
    ('spam', "'1'", "'-0.5'")
    """
    return f"'{name}'" if _NUMBER.fullmatch(name) else name


def shortened(text: str, most: int = _LONGEST) -> str:
    """A text cut to a number of characters.

    >>> shortened("a name that goes on", 10)
    'a name th…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
