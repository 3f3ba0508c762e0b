"""Two classes of which one is the positive: yes and no, 1 and 0, pass and fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAIRS = {"yes": "no", "true": "false", "1": "0", "positive": "negative", "pass": "fail", "pos": "neg", "y": "n"}


def positive_of(classes: Sequence[str]) -> str | None:
    """The class that counts as positive, of two whose names show it; else None.

    >>> positive_of(("no", "yes")), positive_of(("0", "1")), positive_of(("cat", "dog"))
    ('yes', '1', None)
    """
    named = {name.strip().casefold(): name for name in classes}
    found = [named[yes] for yes, no in _PAIRS.items() if len(classes) == 2 and {yes, no} == set(named)]
    return found[0] if found else None


def negative_of(positive: str) -> str:
    """The name of the other class, if nothing else says it.

    >>> negative_of("Yes"), negative_of("1"), negative_of("spam")
    ('No', '0', 'not spam')
    """
    other = _PAIRS.get(positive.casefold())
    if other is None:
        return f"not {positive}"
    return other.capitalize() if positive[0].isupper() else other
