"""Events as rows of the table, and rows as events."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import sqlalchemy as sa

from fewlabels.checks import of_kind
from fewlabels.errors import InputError, StoreError
from fewlabels.store.event import Event
from fewlabels.store.schema import events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Connection

    from fewlabels.store.chain import Mark

_COLUMNS = tuple(events.c[field.name] for field in fields(Event))
# Made once: every label runs these, and SQLAlchemy takes longer to build a statement than the database to run it.
_OF_ONE = sa.select(*_COLUMNS).where(events.c.assessment == sa.bindparam("name")).order_by(events.c.seq)
BY_SEQ = _OF_ONE.where(events.c.seq.between(sa.bindparam("first"), sa.bindparam("last")))
BY_KEY = _OF_ONE.where(events.c.key == sa.bindparam("key"))
ADD = events.insert()


def read_events(connection: Connection, query: sa.Select[Any], name: str, **which: object) -> list[Event]:
    return [Event(*row) for row in connection.execute(query, {"name": name, **which})]


def has_event(connection: Connection, name: str, mark: Mark) -> bool:
    place = events.c.assessment == name, events.c.seq == mark.seq
    return connection.scalar(sa.select(events.c.hash).where(*place)) == mark.hash


def row_of(name: str, event: Event) -> dict[str, object]:
    if event.at is None or event.at.tzinfo is None:
        raise StoreError(f"the time of an event needs a time zone. Got {event.at!r}: use datetime.now(UTC).")
    return {
        "assessment": name,
        "seq": event.seq,
        "kind": event.kind,
        "step": event.step,
        "item": storable(event.item, "the id of an item"),
        "label": storable(event.label, "a label"),
        "annotator": storable(event.annotator, "the name of an annotator"),
        "note": storable(event.note, "a note"),
        "at": event.at,
        "key": storable(event.key, "the key of a call"),
        "place": event.place,
    }


def check_new_name(name: str) -> str:
    """Return the name, with its accents in one form, if an assessment can be called so."""
    of_kind(name, str, "The name of an assessment")
    if not name:
        raise InputError("an assessment needs a name, such as 'worst-classes'.")
    if name in (".", ".."):  # a browser takes them for folders, and would never ask for their pages
        raise InputError(f"{name!r} cannot be the name of an assessment. Choose a word, such as 'worst-classes'.")
    storable(name, "the name")
    return normalize("NFC", name)


def meant(name: str, known: Iterable[str]) -> str | None:
    """The one of some names that is meant: an accent may be a character of its own, as in names of files on a Mac.

    >>> meant("cafe\u0301", ["tea", "caf\u00e9"]) == "caf\u00e9", meant("coffee", ["tea"])
    (True, None)
    """
    names = list(known)
    form = normalize("NFC", name)
    return name if name in names else next((other for other in names if normalize("NFC", other) == form), None)


def storable(value: str | None, what: str) -> str | None:
    """Return the text if both databases can store it: one refuses NUL, both refuse half a character."""
    if value is not None and ("\0" in of_kind(value, str, what[:1].upper() + what[1:]) or _halved(value)):
        raise InputError(f"{what} cannot be stored: {value[:40]!r} contains an invalid character. Remove it.")
    return value


def _halved(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False
