"""How the report writes numbers: shares in percent, costs as they are, ranges, and counts in words."""

from __future__ import annotations

from dataclasses import dataclass

# A no-break space: "62 %" must not end up on two lines.
_SPACE = "\u00a0"
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True)
class Style:
    r"""How the values of a metric are written: a share in percent, anything else as a plain number.

    >>> Style(share=True).value(0.617), Style(share=False).value(12.3456)
    ('62\xa0%', '12.3')
    """

    share: bool

    def value(self, value: float | None) -> str:
        """One value; a dash where there is none."""
        if value is None:
            return "–"
        return percent(value) if self.share else plain(value)

    def between(self, low: float | None, high: float | None) -> str:
        r"""
        >>> Style(share=True).between(0.551, 0.694)
        'between 55\xa0% and 69\xa0%'
        """
        return f"between {self.value(low)} and {self.value(high)}"

    def change(self, value: float) -> str:
        """The size of a difference: percentage points, or a plain number.

        >>> Style(share=True).change(-0.071)
        '7 points'
        """
        if not self.share:
            return plain(abs(value))
        points = abs(100 * value)
        text = f"{points:.0f}" if points >= 5 else f"{points:.1f}"
        return f"{text} point{'s' * (text not in ('1', '1.0'))}"


def percent(share: float) -> str:
    r"""A share in percent, with a digit more near 0 and 1; never 0 or 100 unless it is exactly that.

    >>> percent(0.617), percent(0.9712), percent(0.99998), percent(1)
    ('62\xa0%', '97.1\xa0%', 'over 99.9\xa0%', '100\xa0%')
    """
    if share in (0, 1):
        return f"{100 * share:.0f}{_SPACE}%"
    if 0 < share < 0.0005:
        return f"under 0.1{_SPACE}%"
    if 0.9995 < share < 1:
        return f"over 99.9{_SPACE}%"
    return f"{100 * share:.{1 if abs(share) < 0.0495 or share > 0.9505 else 0}f}{_SPACE}%"


def sureness(probability: float) -> str:
    r"""A probability from draws: what lies beyond 99 in 100 is not known more exactly.

    >>> sureness(0.914), sureness(0.9999), sureness(0.0004)
    ('91\xa0%', 'over 99\xa0%', 'under 1\xa0%')
    """
    if probability > 0.99:
        return f"over 99{_SPACE}%"
    return f"under 1{_SPACE}%" if probability < 0.01 else f"{100 * probability:.0f}{_SPACE}%"


def plain(value: float) -> str:
    """A number with about three digits.

    >>> plain(0.01234), plain(1234.5)
    ('0.0123', '1,234')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def spelled(count: int) -> str:
    """A small count as a word.

    >>> spelled(3), spelled(25)
    ('three', '25')
    """
    return _COUNTS[count] if 0 <= count < len(_COUNTS) else f"{count:,}"


def listed(parts: list[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
