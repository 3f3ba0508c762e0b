"""Recipes: how a partition is made from a pool, as plain JSON values; what they use, and what they are in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def columns_of(recipe: Mapping[str, Any]) -> set[str]:
    """The columns of the pool that a recipe uses.

    >>> columns_of({"by": "cross", "of": [{"by": "column", "column": "sex"}, {"by": "predicted"}]})
    {'sex'}
    """
    own = {str(recipe["column"])} if "column" in recipe else set()
    return own.union(*(columns_of(part) for part in recipe.get("of", ())))


def by_columns_alone(recipe: Mapping[str, Any]) -> bool:
    """Whether a recipe tells groups apart by columns of the pool, and by nothing that the classifier says.

    >>> by_columns_alone({"by": "cross", "of": [{"by": "column", "column": "sex"}, {"by": "predicted"}]})
    False
    """
    by = recipe.get("by")
    return by == "column" or (by == "cross" and all(map(by_columns_alone, recipe["of"])))


def recipe_words(recipe: Mapping[str, Any]) -> str:
    """How the groups of a recipe are made, in words.

    >>> recipe_words({"by": "cross", "of": [{"by": "column", "column": "sex"}, {"by": "predicted"}]})
    "by column 'sex' × by predicted class"
    """
    by = recipe["by"]
    if by == "whole":
        return "(the whole pool)"
    if by == "score":
        return f"by score (equal {recipe['equal']})"
    if by == "cross" and all(part["by"] == "column" for part in recipe["of"]):
        return f"by columns {' × '.join(repr(part['column']) for part in recipe['of'])}"
    if by == "cross":
        return " × ".join(recipe_words(part) for part in recipe["of"])
    bins = f" in {len(recipe['bins']['edges']) + 1} bins" if "bins" in recipe else ""
    return {"predicted": "by predicted class", "map": "by class map"}.get(by) or f"by column {recipe['column']!r}{bins}"
