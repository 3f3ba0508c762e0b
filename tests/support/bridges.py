"""The 50 items of every recorded file in tests/fixtures/bridges: tickets that go to a team, and sums in free text.

scripts/bridge_fixtures.py hands them to the real programs, and the tests expect them back.
"""

from __future__ import annotations

COUNT = 50
TEAMS = ("billing", "delivery", "returns")


def ticket(i: int) -> str:
    """What ticket i says."""
    return f"Ticket {i}: who takes it?"


def team(i: int) -> str:
    """The team that takes it."""
    return TEAMS[7 * i % 3]


def said(i: int, every: int = 5) -> str:
    """The team that a model says: wrong for every fifth ticket."""
    return TEAMS[(7 * i + (i % every == 0)) % 3]


def language(i: int) -> str:
    """A column to group by."""
    return "de" if i % 3 == 0 else "en"


def sum_asked(i: int) -> str:
    """A question with an answer in free text."""
    return f"What is {i} + 7?"


def sum_said(i: int) -> str:
    """The answer of a model: wrong for every fourth sum."""
    return f"The sum is {i + 7 + is_sum_wrong(i)}"


def is_sum_wrong(i: int) -> bool:
    """Whether the answer is wrong."""
    return i % 4 == 0
