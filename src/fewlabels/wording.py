"""Counts with their nouns, for every text that people read."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "more label"), counted(1200, "item"), counted(2, "class"), counted(2, "person")
    ('1 more label', '1,200 items', '2 classes', '2 people')
    """
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """
    >>> plural("class"), plural("category"), plural("group")
    ('classes', 'categories', 'groups')
    """
    if noun.endswith("person"):
        return f"{noun.removesuffix('person')}people"
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"
