"""One line of the log, and the definition of an assessment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

Kind = Literal["request", "label", "skip", "decide", "retract", "expire", "withdraw"]


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log of an assessment.

    Parameters
    ----------
    kind
        The event. For one person: the item was handed out (request), answered (label) or found impossible to answer
        (skip), the answer was taken back (retract), or the request was (expire). For the item as a whole: the owner has
        decided (decide), or everything about it was taken back (withdraw).
    item
        The id of the item.
    step
        For a request, the step of asking that chose the item.
    label
        For a label or decision, the name of the class.
    annotator
        The person; for an expired request, the person who had it.
    note
        Any remark; for a skip, the reason.
    at
        The time, with a time zone. The store fills it in when appending.
    seq
        1, 2, 3, ... per assessment, without gaps; given by the store.
    key
        The client's name for this call, by which a call that is sent twice is noticed.
    hash
        The link of the chain, which depends on all of the above and on all events before; given by the store.
    place
        1, 2, 3, ... over the logs of all assessments of the pool, so that their events have one order; given by the
        store, and a part of the chain. None in events that were written before logs were shared.
    assessment
        The assessment in whose log it is; given by the store.
    """

    kind: Kind
    item: str
    step: int = 0
    label: str | None = None
    annotator: str | None = None
    note: str | None = None
    at: datetime | None = None
    seq: int = 0
    key: str | None = None
    hash: bytes = field(default=b"", compare=False, repr=False)
    place: int | None = field(default=None, compare=False, repr=False)
    assessment: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of an assessment, and the pool it is about: everything but its log.

    `first` is its hash, with which the chain of the log begins: no other assessment has the same, whatever its name.
    """

    name: str
    spec: dict[str, Any]
    fingerprint: str
    created_at: datetime
    first: bytes
