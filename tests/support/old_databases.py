"""Databases as versions 1 and 2 of the tables had them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fewlabels.store import Event, schema
from fewlabels.store.archive import pack_pool
from tests.support.pools import zoo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

KNOWN = zoo()
NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
SPEC = """{"task": {"kind": "Estimate", "metric": {"kind": "Accuracy"}}, "groups": {"by": "predicted"},
"prior": {"kind": "Uniform", "strength": null}, "policy": {"kind": "UniformItems"}, "target": "pool", "seed": 3}"""
# As each version wrote them; {bytes}, {time} and {rowid} are what differs between the two databases.
TABLES = """
CREATE TABLE fewlabels_schema (version INTEGER NOT NULL, PRIMARY KEY (version));
INSERT INTO fewlabels_schema VALUES ({version});
CREATE TABLE pools (fingerprint TEXT NOT NULL, PRIMARY KEY (fingerprint));
CREATE TABLE pool_parts (fingerprint TEXT NOT NULL, part INTEGER NOT NULL, data {bytes} NOT NULL,
    PRIMARY KEY (fingerprint, part), FOREIGN KEY(fingerprint) REFERENCES pools (fingerprint));
CREATE TABLE assessments (name TEXT NOT NULL, spec TEXT NOT NULL, fingerprint TEXT NOT NULL, created_at {time} NOT NULL,
    PRIMARY KEY (name), FOREIGN KEY(fingerprint) REFERENCES pools (fingerprint));
CREATE TABLE events (assessment TEXT NOT NULL, seq BIGINT CHECK (seq > 0) NOT NULL,
    kind TEXT CONSTRAINT events_kind_check CHECK (kind IN ({kinds})) NOT NULL, step BIGINT NOT NULL, item TEXT NOT NULL,
    label TEXT, annotator TEXT, note TEXT, at {time} NOT NULL,{key}
    PRIMARY KEY (assessment, seq), FOREIGN KEY(assessment) REFERENCES assessments (name)) {rowid}
"""
VERSIONS = {
    1: {"version": 1, "kinds": "'request', 'label', 'withdraw'", "key": ""},
    2: {
        "version": 2,
        "kinds": "'request', 'label', 'skip', 'decide', 'retract', 'expire', 'withdraw'",
        "key": ' "key" TEXT,',
    },
}
PEOPLE = """CREATE TABLE people (name TEXT NOT NULL, role TEXT CHECK (role IN ('annotator', 'owner')) NOT NULL,
    digest TEXT NOT NULL, invited_at {time} NOT NULL, revoked_at {time}, PRIMARY KEY (name));
CREATE UNIQUE INDEX events_key ON events (assessment, "key", item) WHERE "key" IS NOT NULL"""
SQLITE = {"bytes": "BLOB", "time": "DATETIME", "rowid": "WITHOUT ROWID"}
POSTGRES = {"bytes": "BYTEA", "time": "TIMESTAMP WITH TIME ZONE", "rowid": ""}
OLD = [
    Event("request", "z00", step=1, annotator="Zoë"),
    Event("request", "z07", step=2),
    Event("label", "z00", label="cat", annotator="Zoë", note="犬"),
    Event("withdraw", "z07"),
    Event("request", "z09", step=3),
]


def write_old(engine: Engine, version: int, log: Sequence[Event] = OLD) -> None:
    """Make a database as an older version did, with the assessment "old" and these events in it."""
    words = (SQLITE if engine.dialect.name == "sqlite" else POSTGRES) | VERSIONS[version]
    tables = TABLES if version == 1 else f"{TABLES};{PEOPLE}"
    pool, before = KNOWN.pool, ("kind", "item", "step", "label", "annotator", "note")
    with engine.begin() as connection:
        for statement in (*tables.format(**words).split(";"), *schema._APPEND_ONLY[engine.dialect.name]):
            connection.exec_driver_sql(statement)
        connection.execute(schema.pools.insert().values(fingerprint=pool.fingerprint))
        part = {"fingerprint": pool.fingerprint, "part": 0, "data": pack_pool(pool)}
        connection.execute(schema.pool_parts.insert().values(**part))
        row = {"name": "old", "spec": SPEC, "fingerprint": pool.fingerprint, "created_at": NOW}
        connection.execute(schema.assessments.insert().values(**row))
        rows = [
            {"assessment": "old", "seq": seq, "at": NOW} | {name: getattr(event, name) for name in before}
            for seq, event in enumerate(log, 1)
        ]
        connection.execute(schema.events.insert(), rows)
