"""Checks of what other programs wrote: every part is what its format says, or one clear error names the place."""

from __future__ import annotations

import math
from typing import Any

from fewlabels.errors import InputError


def an_object(value: object, what: str, fix: str) -> dict[str, Any]:
    """A JSON object; anything else is damage."""
    if not isinstance(value, dict):
        raise InputError(f"{what} is not an object. {fix}")
    return value


def objects(value: object, what: str, fix: str) -> list[dict[str, Any]]:
    """A list of JSON objects; anything else is damage."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise InputError(f"{what} are not a list of objects. {fix}")
    return value


def a_name(value: object, where: str, fix: str) -> str:
    """An id, a class or a person: a text or a whole number, and nothing that a text would be made of in silence."""
    if value is True or value is False or not isinstance(value, (str, int)):
        raise InputError(f"{where} has {str(value)[:40]!r} where a name or a number belongs. {fix}")
    return str(value)


def a_text(value: object) -> str | None:
    r"""What a person can read in a value: a text, the texts of chat messages, a number; None if there is nothing.

    >>> a_text("Hi"), a_text([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}])
    ('Hi', 'user: Hi\n\nassistant: Yes?')
    >>> a_text([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]), a_text({"why": "So"}), a_text(None)
    ('Hi', 'why: So', None)
    """
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, list):
        parts = [
            (part.get("role"), _inside(part)) if isinstance(part, dict) else (None, a_text(part)) for part in value
        ]
        spoken = [(who, text) for who, text in parts if text]
        return "\n\n".join(f"{who}: {text}" if who and len(spoken) > 1 else text for who, text in spoken) or None
    if isinstance(value, dict):
        lines = [(key, a_text(inner)) for key, inner in value.items()]
        return "\n".join(f"{key}: {text}" for key, text in lines if text is not None) or None
    return str(value)


def _inside(message: dict[str, Any]) -> str | None:
    """The text of a chat message, or of a part of one."""
    return a_text(message.get("content", message.get("text")))


def is_plain(value: object) -> bool:
    """Whether a value fits into a cell of a table: a text, a flag or a number.

    >>> is_plain("x"), is_plain(3), is_plain(float("nan")), is_plain([1])
    (True, True, False, False)
    """
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
