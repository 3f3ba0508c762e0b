"""The people of a database: their names, roles and personal tokens."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, get_args
from unicodedata import normalize

import sqlalchemy as sa

from fewlabels.checks import of_kind
from fewlabels.errors import InputError, WrongNameError
from fewlabels.store.log import Store
from fewlabels.store.rows import meant
from fewlabels.store.schema import people

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

Role = Literal["annotator", "owner"]
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Person:
    """Somebody who has, or had, a personal token.

    Parameters
    ----------
    name
        The name, as in the log.
    role
        An annotator labels; an owner also sees the results and decides.
    invited_at
        The time at which the last token was made.
    revoked_at
        The time since which the token is no longer valid, or None.
    """

    name: str
    role: Role
    invited_at: datetime
    revoked_at: datetime | None = None


class People:
    """The people of a database.

    A token is 256 random bits, shown once. Only its SHA-256 is stored. A slow hash, as for passwords, is not needed: it
    protects secrets that can be guessed, and a token cannot.

    Examples
    --------
    >>> from fewlabels.store.people import People
    >>> from fewlabels.store import Store
    >>> people = People(Store(None))
    >>> token = people.invite("ann")
    >>> people.who(token).role
    'annotator'
    >>> people.revoke("ann")
    >>> people.who(token) is None
    True
    """

    def __init__(self, store: Store) -> None:
        self._database = of_kind(store, Store, "The 'store' of People()").database

    def __repr__(self) -> str:
        return f"<People of {self._database.shown}>"

    def invite(self, name: str, role: Role | None = None, *, again: bool = False) -> str:
        """Make a token for somebody and return it. It cannot be seen again.

        A name belongs to one person. With `again` they get a new token in place of the old one, which becomes invalid.
        They keep their labels, and their role unless another is given. A new person is an annotator by default.
        """
        name = _check(name, role)
        token = secrets.token_urlsafe(32)
        row = {"digest": digest_of(token), "invited_at": datetime.now(UTC), "revoked_at": None}
        with self._database.writing() as connection:
            self._database.lock_all(connection)
            columns = people.c.role, people.c.revoked_at
            name = _known(connection, name)
            known = connection.execute(sa.select(*columns).where(people.c.name == name)).one_or_none()
            if known is None and again:
                raise WrongNameError(f"there is nobody called {name!r} to invite again. See the list of people.")
            if known is None:
                connection.execute(people.insert().values(name=name, role=role or "annotator", **row))
            elif known.revoked_at is None and not again:
                instead = "Choose another name, or make a new link, which replaces the old one."
                raise WrongNameError(f"{name!r} has already been invited. {instead}")
            else:
                role = role or (known.role if again else "annotator")
                connection.execute(people.update().where(people.c.name == name).values(role=role, **row))
        return token

    def who(self, token: str) -> Person | None:
        """The person with this token; None if nobody has it, or it is no longer valid.

        The database looks for the digest. The time that takes may tell how a stored digest begins, but nobody can make
        a token with a given digest.
        """
        columns = people.c.name, people.c.role, people.c.invited_at
        valid = people.c.digest == digest_of(token), people.c.revoked_at.is_(None)
        with self._database.reading() as connection:
            row = connection.execute(sa.select(*columns).where(*valid)).one_or_none()
        return None if row is None else Person(*row)

    def revoke(self, name: str) -> None:
        """Make somebody's token invalid, at once. Their labels stay."""
        with self._database.writing() as connection:
            valid = people.c.name == _known(connection, name), people.c.revoked_at.is_(None)
            done = connection.execute(people.update().where(*valid).values(revoked_at=datetime.now(UTC)))
            if not done.rowcount:
                raise WrongNameError(f"there is nobody called {name!r} with a valid token. See the list of people.")

    def list(self) -> tuple[Person, ...]:
        """Everybody, including revoked people, in the order of invitation."""
        columns = people.c.name, people.c.role, people.c.invited_at, people.c.revoked_at
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(*columns).order_by(people.c.invited_at, people.c.name)).all()
        return tuple(Person(*row) for row in rows)


def digest_of(token: str) -> str:
    """The SHA-256 of a token, by which it is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _known(connection: Connection, name: str) -> str:
    """The name as it is stored, where accents may be written in another way; otherwise as it is given."""
    return meant(name, connection.scalars(sa.select(people.c.name))) or name


def _check(name: str, role: str | None) -> str:
    plain = isinstance(name, str) and name == name.strip() and name.isprintable()
    if not plain or not 0 < len(name) <= _LONGEST_NAME:
        raise InputError(
            f"the name of a person must have 1 to {_LONGEST_NAME} characters on one line, without spaces around it. "
            f"Got {str(name)[:_LONGEST_NAME]!r} instead."
        )
    if role is not None and role not in get_args(Role):
        raise InputError(f"The 'role' of invite() must be 'annotator' or 'owner'. Got {role!r} instead.")
    return normalize("NFC", name)
