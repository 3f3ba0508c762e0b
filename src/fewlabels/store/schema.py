"""The tables, their version, and the upgrade from older versions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fewlabels.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Dialect

VERSION = 2


class UtcTime(sa.TypeDecorator[datetime]):
    """A time with its zone, UTC, also on SQLite, which has no time zones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


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
    sa.Column("data", sa.LargeBinary, nullable=False),
)
assessments = sa.Table(
    "assessments",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.ForeignKey(pools.c.fingerprint), nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
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
    sqlite_with_rowid=False,  # the rows are stored in the order in which they are read
)
# Whatever a client sends twice is in the log once. Most events have no key, and cost this index nothing.
_has_key = events.c.key.is_not(None)
sa.Index(
    "events_key",
    events.c.assessment,
    events.c.key,
    events.c.item,
    unique=True,
    sqlite_where=_has_key,
    postgresql_where=_has_key,
)
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
    elif current == 1:
        _from_1_to_2(connection, shown)


def _create(connection: Connection, shown: str) -> None:
    _refuse_others(connection, set(metadata.tables), shown)
    metadata.create_all(connection, checkfirst=False)
    _run(connection, *_APPEND_ONLY[connection.dialect.name])
    connection.execute(version.insert().values(version=VERSION))


def _from_1_to_2(connection: Connection, shown: str) -> None:
    """Several annotators: more kinds of events, the keys of clients, and people."""
    _refuse_others(connection, {people.name}, shown)
    if connection.dialect.name == "sqlite":
        # SQLite cannot change a check: the table is made again. Its triggers go with the old one.
        columns = "assessment, seq, kind, step, item, label, annotator, note, at"
        _run(connection, "DROP TRIGGER events_no_update", "DROP TRIGGER events_no_delete")
        _run(connection, "ALTER TABLE events RENAME TO events_version_1")
        events.create(connection)
        _run(connection, f"INSERT INTO events ({columns}) SELECT {columns} FROM events_version_1")  # noqa: S608
        _run(connection, "DROP TABLE events_version_1", *_APPEND_ONLY["sqlite"])
    else:
        _run(
            connection,
            "ALTER TABLE events ADD COLUMN key text, DROP CONSTRAINT events_kind_check, "
            f"ADD CONSTRAINT events_kind_check CHECK ({_KINDS})",
        )
        for index in events.indexes:
            index.create(connection)
    people.create(connection)
    connection.execute(version.update().values(version=2))


def _refuse_others(connection: Connection, names: set[str], shown: str) -> None:
    if foreign := names & set(sa.inspect(connection).get_table_names()):
        raise StoreError(
            f"{shown} has a table {min(foreign)!r} of another program. Use a database of its own for fewlabels."
        )


def _run(connection: Connection, *statements: str) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement)
