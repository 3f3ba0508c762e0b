"""The hash chain: every event carries a SHA-256 of its content and of the hash before it, so the log proves itself.

The first link is the definition of the assessment. An event that was changed, or that is missing, breaks the chain at
its place, and the head (the last number and hash, kept apart from the log) says where the log must end. The chain shows
damage. It does not stop somebody who can write to the database and recomputes all hashes: for that, write the head down
elsewhere.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from fewlabels.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fewlabels.store.event import Event

_FORM = "fewlabels log 1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SIZE = sha256().digest_size


class DamagedError(StoreError):
    """What is stored is not what was written."""


class GoneError(StoreError):
    """The assessment is gone, or is not the one that was loaded: it was removed, begun again, or restored."""


class Mark(NamedTuple):
    """A place in the log: the number of an event and its hash; (0, the hash of the definition) before the first."""

    seq: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"


def founded(name: str, spec: str, fingerprint: str, created_at: datetime) -> bytes:
    """The hash of an assessment's definition, which is the first link of its chain: SHA-256 of its fields.

    >>> from datetime import datetime, UTC
    >>> founded("pets", "{}", "5f", datetime(2026, 1, 2, tzinfo=UTC)).hex()[:12]
    'ff2d2c34ef9a'
    """
    return sha256("\0".join((_FORM, name, fingerprint, str(microseconds(created_at)), spec)).encode()).digest()


def linked(before: bytes, event: Event) -> bytes:
    """The hash of an event: SHA-256 of the hash before it and of its own fields.

    The fields are joined by NUL, which no field can contain, and a field that is missing differs from an empty one.

    >>> from datetime import datetime, UTC
    >>> from fewlabels.store import Event
    >>> linked(bytes(32), Event("request", "a", at=datetime(2026, 1, 2, tzinfo=UTC), seq=1)).hex()[:12]
    'bc02a74b100a'
    """
    if event.at is None:
        raise ValueError("an event needs a time")
    optional = ["" if text is None else f"={text}" for text in (event.label, event.annotator, event.note, event.key)]
    placed = [] if event.place is None else [str(event.place)]  # older events have none, and keep their hashes
    content = "\0".join(
        (str(event.seq), event.kind, str(event.step), event.item, str(microseconds(event.at)), *optional, *placed)
    )
    return sha256(before + content.encode()).digest()


def holds(before: bytes, event: Event) -> bool:
    """Whether an event is what was written after the event with the hash `before`."""
    try:
        return event.hash == linked(before, event)
    except (ValueError, TypeError, AttributeError, OverflowError):
        return False  # damaged so much that it is no event


def first_break(start: Mark, events: Iterable[Event]) -> str | None:
    """What is wrong first with events that must follow a place of the log; None if the chain holds."""
    seq, before = start
    for event in events:
        seq += 1
        if event.seq != seq:
            return missing(seq, event.seq - 1)
        if not holds(before, event):
            return f"event {seq:,} is not what was written"
        before = event.hash
    return None


def missing(first: int, last: int) -> str:
    """Say which events are missing.

    >>> missing(7, 7), missing(700, 1999)
    ('event 7 is missing', 'events 700 to 1,999 are missing')
    """
    return f"event {first:,} is missing" if last <= first else f"events {first:,} to {last:,} are missing"


def microseconds(at: datetime) -> int:
    """A time as whole microseconds since 1970 in UTC: the same number on either database.

    >>> from datetime import datetime, UTC
    >>> microseconds(datetime(1970, 1, 2, tzinfo=UTC))
    86400000000
    """
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
