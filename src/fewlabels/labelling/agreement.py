"""The agreement between people who labelled the same items: raw, by pair, and corrected for chance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from fewlabels.table import Table
from fewlabels.wording import Style, percent

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence


@dataclass(frozen=True, repr=False)
class Agreement:
    """The agreement between people.

    Parameters
    ----------
    items
        How many items have labels of two people or more.
    raw
        The probability that two people who labelled the same item gave the same label: the mean over those items of
        the share of pairs that agree. None if there are no such items.
    alpha
        Krippendorff's α: 1 for full agreement, 0 for what chance would do. None if chance alone would always agree.
    pairs
        The agreement of each two people: columns a, b, items, agree (a share) and kappa (Cohen's κ).

    >>> agreement([{"ann": "cat", "bob": "cat"}]).words
    'Two people who labelled the same item agree 100% of the time, on 1 item.'
    """

    items: int
    raw: float | None
    alpha: float | None
    pairs: Table

    def __repr__(self) -> str:
        return f"{self.words}\n\n{self.pairs}" if len(self.pairs) else self.words

    @property
    def words(self) -> str:
        """The agreement in one sentence."""
        if self.raw is None:
            return "No item has been labelled by two people yet."
        chance = (
            "" if self.alpha is None else f" (Krippendorff's alpha {Style(share=False, digits=2).value(self.alpha)})"
        )
        count = "1 item" if self.items == 1 else f"{self.items:,} items"
        return f"Two people who labelled the same item agree {percent(self.raw)} of the time{chance}, on {count}."


def agreement(votes: Iterable[Mapping[str, Hashable]]) -> Agreement:
    """Measure the agreement from the label that each person gave to each item.

    Examples
    --------
    >>> found = agreement([{"ann": "cat", "bob": "cat"}, {"ann": "cat", "bob": "dog"}, {"ann": "dog", "bob": "dog"}])
    >>> found.words
    "Two people who labelled the same item agree 67% of the time (Krippendorff's alpha 0.44), on 3 items."
    >>> print(found.pairs)
    a    b    items  agree  kappa
    ann  bob      3  0.667  0.400
    """
    shared = [dict(of_item) for of_item in votes if len(of_item) > 1]
    shares = [_share_of_pairs(list(of_item.values())) for of_item in shared]
    raw = sum(shares) / len(shares) if shares else None
    return Agreement(len(shared), raw, krippendorff_alpha([list(v.values()) for v in shared]), _pairs(shared))


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's α for names: 1 − observed / expected disagreement; None if no disagreement can be expected.

    A unit u with m_u ≥ 2 labels adds 1 / (m_u − 1) for each ordered pair of its labels to the coincidences o_ck; with
    n_c = Σ_k o_ck and n = Σ_c n_c it is α = 1 − (n − 1) Σ_{c≠k} o_ck / Σ_{c≠k} n_c n_k. Units may have different
    numbers of labels; those with a single label do not count. (K. Krippendorff, Computing Krippendorff's
    Alpha-Reliability, 2011.)

    Examples
    --------
    >>> krippendorff_alpha(["aa", "ab", "bb", "bb"])
    0.5333333333333333
    """
    n_of: Counter[Hashable] = Counter()
    disagreed = 0.0
    for unit in units:
        size = len(unit)
        if size > 1:
            count = Counter(unit)
            n_of.update(count)  # Σ_k o_ck is the number of labels c, whatever the sizes of the units
            disagreed += sum(v * (size - v) for v in count.values()) / (size - 1)
    n = n_of.total()
    expected = sum(v * (n - v) for v in n_of.values())
    return 1 - (n - 1) * disagreed / expected if expected else None


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's κ of two people: (p − e) / (1 − e), where p is the share of equal labels and e that of chance.

    >>> round(cohen_kappa([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")]), 3)
    0.5
    """
    n = len(pairs)
    if not n:
        return None
    agreed = sum(a == b for a, b in pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[c] * second[c] for c in first)  # times n²
    return (n * agreed - chance) / (n * n - chance) if chance < n * n else None


def _share_of_pairs(labels: Sequence[Hashable]) -> float:
    size = len(labels)
    return sum(v * (v - 1) for v in Counter(labels).values()) / (size * (size - 1))


def _pairs(shared: Sequence[Mapping[str, Hashable]]) -> Table:
    together: dict[tuple[str, str], list[tuple[Hashable, Hashable]]] = {}
    for of_item in shared:
        for a, b in combinations(sorted(of_item), 2):
            together.setdefault((a, b), []).append((of_item[a], of_item[b]))
    people = sorted(together)
    return Table(
        {
            "a": [a for a, _ in people],
            "b": [b for _, b in people],
            "items": [len(together[pair]) for pair in people],
            "agree": [sum(x == y for x, y in together[pair]) / len(together[pair]) for pair in people],
            "kappa": [cohen_kappa(together[pair]) for pair in people],
        }
    )
