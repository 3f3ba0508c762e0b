"""The tables, their version, and the upgrade from older versions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fewlabels.errors import StoreError
from fewlabels.store.chain import SIZE, Mark, founded, linked
from fewlabels.store.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sqlalchemy.engine import Connection, Dialect

VERSION = 4
_MANY = 5_000  # events chained at a time


class UtcTime(sa.TypeDecorator[datetime]):
    """A time with its zone, UTC, also on SQLite, which has no time zones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        """Read a time as the database gives it; a ValueError or TypeError if it is damaged."""

        def read(value: object) -> datetime | None:
            return None if value is None else stored_time(value)

        return read


class Bytes(sa.TypeDecorator[bytes]):
    """Bytes as they are stored: what is not bytes is a TypeError, and never made into some."""

    impl = sa.LargeBinary
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], bytes | None]:
        """Read bytes as the driver gives them."""

        def read(value: object) -> bytes | None:
            if value is None or isinstance(value, bytes):
                return value
            if isinstance(value, memoryview):
                return bytes(value)
            raise TypeError("bytes were expected")

        return read


metadata = sa.MetaData()

version = sa.Table(
    "fewlabels_schema",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)
pools = sa.Table(
    "pools",
    metadata,
    sa.Column("fingerprint", sa.Text, primary_key=True),
)
pool_parts = sa.Table(
    "pool_parts",
    metadata,
    sa.Column("fingerprint", sa.ForeignKey(pools.c.fingerprint), primary_key=True),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("data", Bytes, nullable=False),
)
assessments = sa.Table(
    "assessments",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.ForeignKey(pools.c.fingerprint), nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
# Where the chain of each log begins and ends. It is written with every event, and its row is what writers lock.
heads = sa.Table(
    "heads",
    metadata,
    sa.Column("assessment", sa.ForeignKey(assessments.c.name), primary_key=True),
    sa.Column("first", Bytes, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("hash", Bytes, nullable=False),
    sa.Column("place", sa.BigInteger),
)
# What a log adds up to at one of its places: nothing but time is lost without it.
checkpoints = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("assessment", sa.ForeignKey(assessments.c.name), primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("hash", Bytes, nullable=False),
    sa.Column("digest", Bytes, nullable=False),
    sa.Column("data", Bytes, nullable=False),
)
_KINDS = "kind IN ('request', 'label', 'skip', 'decide', 'retract', 'expire', 'withdraw')"
events = sa.Table(
    "events",
    metadata,
    sa.Column("assessment", sa.ForeignKey(assessments.c.name), primary_key=True),
    sa.Column("seq", sa.BigInteger, sa.CheckConstraint("seq > 0"), primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, sa.CheckConstraint(_KINDS, name="events_kind_check"), nullable=False),
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("item", sa.Text, nullable=False),
    sa.Column("label", sa.Text),
    sa.Column("annotator", sa.Text),
    sa.Column("note", sa.Text),
    sa.Column("at", UtcTime, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("hash", Bytes, nullable=False),
    sa.Column("place", sa.BigInteger),
    sqlite_with_rowid=False,  # the rows are stored in the order in which they are read
)
# Whatever a client sends twice is in the log once. Most events have no key, and cost this index nothing. It is a text
# because `sa.Index` would import the PostgreSQL half of SQLAlchemy for every SQLite file.
_ONCE = 'CREATE UNIQUE INDEX events_key ON events (assessment, "key", item) WHERE "key" IS NOT NULL'
people = sa.Table(
    "people",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("role", sa.Text, sa.CheckConstraint("role IN ('annotator', 'owner')"), nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("invited_at", UtcTime, nullable=False),
    sa.Column("revoked_at", UtcTime),
)

# Events can only be added to the log, whoever is connected and with whatever program.
_APPEND_ONLY = {
    "sqlite": tuple(
        f"CREATE TRIGGER events_no_{verb.lower()} BEFORE {verb} ON events "
        "BEGIN SELECT RAISE(ABORT, 'the log of events is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ),
    "postgresql": (
        """CREATE FUNCTION fewlabels_append_only() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the log of events is append-only'; END $$""",
        """CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
        FOR EACH STATEMENT EXECUTE FUNCTION fewlabels_append_only()""",
    ),
}


def version_of(connection: Connection) -> int | None:
    """The version of the tables in a database; None if it does not have our tables."""
    if not sa.inspect(connection).has_table(version.name):
        return None
    return int(connection.execute(sa.select(version.c.version)).scalar_one())


def bring_up_to_date(connection: Connection, shown: str) -> None:
    """Create the tables, or change those of an older version to this one; nothing in them is lost."""
    current = version_of(connection)
    if current is None:
        _create(connection, shown)
        return
    if current == 1:
        _from_1_to_2(connection, shown)
    if current <= 2:
        _from_2_to_3(connection, shown)
    if current <= 3:
        _from_3_to_4(connection)


def _create(connection: Connection, shown: str) -> None:
    _refuse_others(connection, set(metadata.tables), shown)
    metadata.create_all(connection, checkfirst=False)
    _run(connection, _ONCE, *_APPEND_ONLY[connection.dialect.name])
    connection.execute(version.insert().values(version=VERSION))


def _from_1_to_2(connection: Connection, shown: str) -> None:
    """Several annotators: more kinds of events, the keys of clients, and people."""
    _refuse_others(connection, {people.name}, shown)
    if connection.dialect.name == "sqlite":
        _run(connection, "ALTER TABLE events ADD COLUMN key TEXT")  # the next step makes the table again
    else:
        _run(
            connection,
            "ALTER TABLE events ADD COLUMN key text, DROP CONSTRAINT events_kind_check, "
            f"ADD CONSTRAINT events_kind_check CHECK ({_KINDS})",
            _ONCE,
        )
    people.create(connection)


def _from_2_to_3(connection: Connection, shown: str) -> None:
    """The log as a chain: a hash in each event, the beginning and the end of each log, and checkpoints."""
    _refuse_others(connection, {heads.name, checkpoints.name}, shown)
    heads.create(connection)
    checkpoints.create(connection)
    is_sqlite = connection.dialect.name == "sqlite"
    if is_sqlite:
        # SQLite cannot add a column without a default, nor change a check: the table is made again. Its triggers go
        # with the old one. An older fewlabels that has the file open can then add no event without a hash.
        _run(connection, "DROP TRIGGER IF EXISTS events_no_update", "DROP TRIGGER IF EXISTS events_no_delete")
        _run(connection, "DROP INDEX IF EXISTS events_key", "ALTER TABLE events RENAME TO events_before")
        _run(connection, "PRAGMA ignore_check_constraints = ON")  # what is damaged already is kept, and found later
        events.create(connection)
        _run(connection, _ONCE)
    else:
        _run(connection, "ALTER TABLE events DISABLE TRIGGER events_append_only, ADD COLUMN hash bytea")
    for name, spec, fingerprint, created_at in connection.exec_driver_sql(
        "SELECT name, spec, fingerprint, created_at FROM assessments"
    ).all():
        first = founded(name, spec, fingerprint, stored_time(created_at))
        head = _chain_up(connection, Mark(0, first), name)
        connection.execute(heads.insert().values(assessment=name, first=first, seq=head.seq, hash=head.hash))
    if is_sqlite:
        _run(connection, "DROP TABLE events_before", *_APPEND_ONLY["sqlite"], "PRAGMA ignore_check_constraints = OFF")
    else:
        _run(connection, "ALTER TABLE events ALTER COLUMN hash SET NOT NULL, ENABLE TRIGGER events_append_only")
    connection.execute(version.update().values(version=3))


def _from_3_to_4(connection: Connection) -> None:
    """One order over all logs of a pool: a place in each new event. Older events have none, and keep their hashes."""
    for table in (heads, events):
        # The step before may have made the table as it is now.
        if "place" not in {column["name"] for column in sa.inspect(connection).get_columns(table.name)}:
            _run(connection, f"ALTER TABLE {table.name} ADD COLUMN place BIGINT")
    connection.execute(version.update().values(version=4))


def _chain_up(connection: Connection, head: Mark, name: str) -> Mark:
    """Give each event of a log its hash; returns the end of the chain."""
    is_sqlite = connection.dialect.name == "sqlite"
    place, table = ("?", "events_before") if is_sqlite else ("%s", "events")
    names = [column.name for column in events.columns if column.name not in {"hash", "place"}]
    log = f"SELECT {', '.join(names)} FROM {table} WHERE assessment = {place} ORDER BY seq"  # noqa: S608
    if is_sqlite:
        put = f"INSERT INTO events ({', '.join(names)}, hash) VALUES ({', '.join('?' * (len(names) + 1))})"  # noqa: S608
    else:
        put = "UPDATE events SET hash = %s WHERE assessment = %s AND seq = %s"
    for rows in connection.exec_driver_sql(log, (name,)).partitions(_MANY):
        new: list[tuple[object, ...]] = []
        for row in rows:
            try:
                event = Event(
                    **{key: value for key, value in zip(names, row, strict=True) if key not in {"assessment", "at"}}
                )
                link = linked(head.hash, replace(event, at=stored_time(row.at)))
            except (ValueError, TypeError):
                link = bytes(SIZE)  # damaged before it had a hash: what reads it will say so
            head = Mark(row.seq, link)
            new.append((*row, link) if is_sqlite else (link, name, row.seq))
        connection.exec_driver_sql(put, new)
    return head


def stored_time(value: object) -> datetime:
    """A time as a database gives it: with a zone on PostgreSQL, a text in UTC on SQLite."""
    if isinstance(value, str):
        with suppress(ValueError):  # it has a zone already, or is damaged
            return datetime.fromisoformat(f"{value}+00:00")  # five times as quick as `replace`, which long logs feel
    at = value if isinstance(value, datetime) else datetime.fromisoformat(value)  # type: ignore[arg-type]
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _refuse_others(connection: Connection, names: set[str], shown: str) -> None:
    if foreign := names & set(sa.inspect(connection).get_table_names()):
        raise StoreError(
            f"{shown} has a table {min(foreign)!r} of another program. Use a database of its own for fewlabels."
        )


def _run(connection: Connection, *statements: str) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement)
