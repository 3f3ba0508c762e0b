"""What the owner tells annotators about an assessment: guidelines, and what each class means. Every version is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fewlabels.errors import InputError
from fewlabels.store.schema import UtcTime

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection

    from fewlabels.store import Store

LONGEST = 100_000
"""The largest number of characters of the guidelines, and of all descriptions together."""
# Beside the versioned tables, as the sessions are: no number depends on it, and it is made when a guide is first
# written. So databases of earlier versions have none, and earlier versions still open a database that has one.
_metadata = sa.MetaData()
_guides = sa.Table(
    "fewlabels_guides",
    _metadata,
    sa.Column("assessment", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("guidelines", sa.Text, nullable=False),
    sa.Column("descriptions", sa.Text, nullable=False),
    sa.Column("by", sa.Text),
    sa.Column("at", UtcTime, nullable=False),
)


@dataclass(frozen=True)
class Guide:
    """What annotators are told about an assessment.

    Parameters
    ----------
    guidelines
        How to label, in Markdown; empty if the owner has written nothing.
    descriptions
        What classes mean, by class; classes without a description are missing.
    version
        How often the guide was written; 0 if it never was.
    by, at
        Who wrote this version, and when.
    """

    guidelines: str = ""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    by: str | None = None
    at: datetime | None = None


class Guides:
    """The guides of a database, by assessment.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.store.guides import Guides
    >>> store = fl.Store(None)
    >>> _ = store.create("pets", {}, fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"]))
    >>> guides = Guides(store)
    >>> guides.of("pets").version
    0
    >>> guides.write("pets", descriptions={"cat": "It purrs."}).version
    1
    >>> guides.of("pets").descriptions
    {'cat': 'It purrs.'}
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = store.database
        self._there = False

    def of(self, name: str) -> Guide:
        """The guide of an assessment as it is now; an empty one if none was written."""
        with self._database.reading() as connection:
            return self._latest(connection, name) if self._is_there(connection) else Guide()

    def versions(self, name: str) -> list[Guide]:
        """Every version, the oldest first: what people were told when they gave their answers."""
        with self._database.reading() as connection:
            if not self._is_there(connection):
                return []
            rows = connection.execute(
                sa.select(_guides).where(_guides.c.assessment == name).order_by(_guides.c.version)
            ).all()
        return [_guide(row) for row in rows]

    def write(
        self,
        name: str,
        *,
        guidelines: str | None = None,
        descriptions: Mapping[str, str] | None = None,
        by: str | None = None,
        over: int | None = None,
    ) -> Guide:
        """Write a new version; None keeps what there is. A guide that says the same as before gets no new version.

        `over` is the version that the writer has read: if somebody else has written one since, nothing is changed.
        """
        _check(guidelines, descriptions)
        with self._database.writing() as connection:
            self._database.lock_all(connection)
            self._store.defined(connection, name)  # a StoreError if there is no such assessment
            _metadata.create_all(connection)  # if it is not there
            before = self._latest(connection, name)
            if over is not None and over != before.version:
                raise InputError(
                    f"{before.by or 'somebody else'} has changed the guide of {name!r} in the meantime. Nothing was "
                    "changed. Open it again and enter your changes again."
                )
            text = before.guidelines if guidelines is None else guidelines.strip()
            kept = before.descriptions if descriptions is None else {k: v.strip() for k, v in descriptions.items()}
            filled = {key: value for key, value in kept.items() if value}
            if (text, filled) == (before.guidelines, before.descriptions):
                return before
            row = {"assessment": name, "version": before.version + 1, "guidelines": text, "by": by}
            row |= {"descriptions": json.dumps(filled), "at": datetime.now(UTC)}
            connection.execute(_guides.insert().values(row))
            return self._latest(connection, name)

    def _latest(self, connection: Connection, name: str) -> Guide:
        query = sa.select(_guides).where(_guides.c.assessment == name).order_by(_guides.c.version.desc()).limit(1)
        row = connection.execute(query).one_or_none()
        return Guide() if row is None else _guide(row)

    def _is_there(self, connection: Connection) -> bool:
        """Whether the table exists; it is looked for until it does, since another process may make it.

        Only readers ask: what a writer has made is gone if its transaction fails.
        """
        self._there = self._there or sa.inspect(connection).has_table(_guides.name)
        return self._there


def remove_guides(connection: Connection, name: str) -> None:
    """Remove the guide of an assessment that is removed: another one may get its name."""
    if sa.inspect(connection).has_table(_guides.name):
        connection.execute(_guides.delete().where(_guides.c.assessment == name))


def copy_guides(source: Connection, target: Connection, names: list[str]) -> None:
    """Copy the guides of some assessments, all versions, into a database that has none."""
    if not sa.inspect(source).has_table(_guides.name):
        return
    rows = source.execute(sa.select(_guides).where(_guides.c.assessment.in_(names))).all()
    _metadata.create_all(target)
    if rows:
        target.execute(_guides.insert(), [row._asdict() for row in rows])


def _guide(row: sa.Row[tuple[str, int, str, str, str | None, datetime]]) -> Guide:
    return Guide(row.guidelines, json.loads(row.descriptions), row.version, row.by, row.at)


def _check(guidelines: str | None, descriptions: Mapping[str, str] | None) -> None:
    """InputError if a guide cannot be stored: too long, or with characters that a database refuses."""
    for what, text in (("guidelines", guidelines or ""), ("descriptions", "".join((descriptions or {}).values()))):
        if len(text) > LONGEST:
            raise InputError(f"the {what} have {len(text):,} characters, and {LONGEST:,} are allowed. Shorten them.")
        if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError(f"the {what} contain a character that cannot be stored. Save them as UTF-8 text.")
