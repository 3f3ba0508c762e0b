"""Signed-in browsers: a cookie holds a session, so that signing out ends it without ending the personal link."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fewlabels.store.people import Person, digest_of
from fewlabels.store.schema import UtcTime, people

if TYPE_CHECKING:
    from fewlabels.store import Store

# Beside the versioned tables: nothing of an assessment depends on it, and it is made when somebody first signs in.
_metadata = sa.MetaData()
_sessions = sa.Table(
    "fewlabels_sessions",
    _metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("token_digest", sa.Text, nullable=False),
    sa.Column("began_at", UtcTime, nullable=False),
)


class Sessions:
    """The sessions of a database, each of somebody who has signed in with a personal token.

    A session is 256 random bits, of which the SHA-256 is stored. It ends when its person signs out, when their token is
    no longer valid, and after `days`.

    Examples
    --------
    >>> from fewlabels.store import Store
    >>> from fewlabels.store.people import People
    >>> store = Store(None)
    >>> token = People(store).invite("ann")
    >>> sessions = Sessions(store)
    >>> session = sessions.begin(token)
    >>> sessions.who(session).name
    'ann'
    >>> sessions.end(session)
    >>> sessions.who(session) is None
    True
    """

    def __init__(self, store: Store, days: float = 30) -> None:
        self._database = store.database
        self._days = timedelta(days=days)
        self._there: bool | None = None

    def begin(self, token: str) -> str:
        """Begin a session for the holder of a token, which the caller has checked; return what goes into the cookie."""
        session, now = secrets.token_urlsafe(32), datetime.now(UTC)
        with self._database.writing() as connection:
            if not self._there:
                self._database.lock_all(connection)
                _metadata.create_all(connection)
            connection.execute(_sessions.delete().where(_sessions.c.began_at < now - self._days))
            row = {"digest": digest_of(session), "token_digest": digest_of(token), "began_at": now}
            connection.execute(_sessions.insert().values(row))
        self._there = True
        return session

    def who(self, session: str) -> Person | None:
        """The person of a session; None if there is no such session, or it has ended."""
        with self._database.reading() as connection:
            if not self._there:
                self._there = sa.inspect(connection).has_table(_sessions.name)
                if not self._there:
                    return None
            query = sa.select(people.c.name, people.c.role, people.c.invited_at).where(
                _sessions.c.digest == digest_of(session),
                _sessions.c.began_at >= datetime.now(UTC) - self._days,
                people.c.digest == _sessions.c.token_digest,
                people.c.revoked_at.is_(None),
            )
            row = connection.execute(query).one_or_none()
        return None if row is None else Person(*row)

    def end(self, session: str) -> None:
        """End a session, if it has not ended already."""
        with self._database.writing() as connection:
            if self._there or sa.inspect(connection).has_table(_sessions.name):
                connection.execute(_sessions.delete().where(_sessions.c.digest == digest_of(session)))
