"""The work of each person, and the items that wait for the owner, read from the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.arrow import column_of
from fewlabels.labelling.agreement import Agreement, agreement
from fewlabels.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.votes import Who
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool

NO_NAME = "(no name)"
"""The name shown for somebody who gave none."""


@dataclass(frozen=True)
class Dispute:
    """An item that waits for the owner: everybody who was asked has answered, and the votes do not settle it.

    Parameters
    ----------
    id
        The item.
    group
        Its group.
    content
        What annotators look at, or None.
    votes
        The label that each person gave.
    skips
        The reason given by each person who skipped it.
    since
        When it began to wait.
    notes
        The note that a person wrote beside their label, for those who did.

    >>> import fewlabels as fl
    >>> audit = fl.create(None, "pets", fl.read_pool({"predicted": ["cat", "dog"]}))
    >>> _ = audit.skip(audit.ask(1, annotator="ann").ids, annotator="ann", reason="blurred")
    >>> [dict(one.skips) for one in audit.disputed()]
    [{'ann': 'blurred'}]
    """

    id: str
    group: str
    content: Any
    votes: Mapping[str, str]
    skips: Mapping[str, str]
    since: datetime | None
    notes: Mapping[str, str] = field(default_factory=dict)


def disputes(ledger: Ledger, pool: Pool, groups: Partition, contents: Sequence[Any] | None = None) -> list[Dispute]:
    """The items that wait for the owner, the oldest first; with what annotators look at."""
    waiting = []
    seen: Sequence[Any] = contents if contents is not None else [None] * len(ledger.disputed)
    if contents is None and pool.content is not None:
        seen = pool.column(pool.content).take(column_of(np.array(list(ledger.disputed), dtype=np.int64))).to_pylist()
    for (item, since), content in zip(ledger.disputed.items(), seen, strict=True):
        given = {called(who): vote for who, vote in ledger.votes[item].given.items()}
        waiting.append(
            Dispute(
                id=pool.ids[item],
                group=groups.names[groups.group[item]],
                content=content,
                votes={who: pool.classes[vote.true] for who, vote in given.items() if vote.true >= 0},
                skips={who: vote.note or "" for who, vote in given.items() if vote.true < 0},
                since=since,
                notes={who: vote.note for who, vote in given.items() if vote.true >= 0 and vote.note},
            )
        )
    return waiting


def agreed(ledger: Ledger) -> Agreement:
    """The agreement between people, by the present answer of each person."""
    labels = (
        {called(who): vote.true for who, vote in votes.given.items() if vote.true >= 0}
        for votes in (ledger.votes[item] for item in sorted(ledger.shared))
    )
    return agreement(labels)


def answers(ledger: Ledger, pool: Pool, who: Who, most: int) -> Table:
    """The answers of a person, the newest first: columns id, label (None for a skip), note and at."""
    rows = []
    for item, _ in zip(reversed(ledger.answered.get(who, {})), range(most), strict=False):
        vote = ledger.votes[item].given[who]
        label = pool.classes[vote.true] if vote.true >= 0 else None
        rows.append((pool.ids[item], label, vote.note, vote.at))
    names = ("id", "label", "note", "at")
    return Table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def by_person(ledger: Ledger) -> Table:
    """The work of each person: columns annotator, labels, skips, held, decided and last.

    Only answers that still stand are counted: a label that replaced another is one label. `last` is the time of the
    last answer.
    """
    decided = {who: n for who, n in ledger.decisions.items() if n}
    # An item whose label another assessment has is held by nobody, so a nameless person without items is not listed.
    everybody = sorted(
        {*ledger.answered, *(who for who in ledger.held if who or ledger.held[who]), *decided}, key=called
    )
    answered = [ledger.answered.get(who, {}) for who in everybody]
    skips = [ledger.skips.get(who, 0) for who in everybody]
    return Table(
        {
            "annotator": [called(who) for who in everybody],
            "labels": [len(items) - skipped for items, skipped in zip(answered, skips, strict=True)],
            "skips": skips,
            "held": [len(ledger.held.get(who, {})) for who in everybody],
            "decided": [decided.get(who, 0) for who in everybody],
            "last": [
                ledger.votes[next(reversed(items))].given[who].at if items else None
                for who, items in zip(everybody, answered, strict=True)
            ],
        }
    )


def by_group(ledger: Ledger, groups: Partition) -> Table:
    """The progress of each group: columns group, n, labelled, pending, and unresolved (those that wait for the owner).

    Two more columns are adopted (valid labels of items that were never asked for) and withdrawn (items that were
    taken back and have no label).
    """

    def count(items: np.ndarray[Any, Any]) -> list[int]:
        return np.bincount(groups.group[items], minlength=len(groups)).tolist()

    return Table(
        {
            "group": list(groups.names),
            "n": groups.sizes.tolist(),
            "labelled": count(np.flatnonzero(ledger.true >= 0)),
            "pending": count(np.flatnonzero(ledger.pending)),
            "unresolved": count(np.array(list(ledger.disputed), dtype=np.int64)),
            "adopted": count(np.flatnonzero(ledger.foreign)),
            "withdrawn": count(np.flatnonzero(ledger.withdrawn & (ledger.true < 0))),
        }
    )


def called(who: Who) -> str:
    """The name of a person, as tables and pages show it."""
    return NO_NAME if who is None else who
