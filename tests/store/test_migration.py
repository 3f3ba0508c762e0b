"""Databases of versions 1 and 2 become version 3 in place: nothing is lost, and the log stays append-only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

import fewlabels as fl
from fewlabels.errors import StoreError
from fewlabels.store import Event, Store, schema
from fewlabels.store.archive import pack_pool
from fewlabels.store.people import People
from tests.support.pools import zoo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Engine

    from fewlabels.store import Kind

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


@pytest.fixture(params=[1, 2])
def engine(shared_store_url: str, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A database as an older version made it, with the assessment "old" and the events OLD in it."""
    engine = sa.create_engine(shared_store_url.replace("postgresql://", "postgresql+psycopg://"))
    words = (SQLITE if engine.dialect.name == "sqlite" else POSTGRES) | VERSIONS[request.param]
    tables = TABLES if request.param == 1 else f"{TABLES};{PEOPLE}"
    pool, before = KNOWN.pool, ("kind", "item", "step", "label", "annotator", "note")
    with engine.begin() as connection:
        for statement in (*tables.format(**words).split(";"), *schema._APPEND_ONLY[engine.dialect.name]):
            connection.exec_driver_sql(statement)
        connection.execute(schema.pools.insert().values(fingerprint=pool.fingerprint))
        part = {"fingerprint": pool.fingerprint, "part": 0, "data": pack_pool(pool)}
        connection.execute(schema.pool_parts.insert().values(**part))
        row = {"name": "old", "spec": SPEC, "fingerprint": pool.fingerprint, "created_at": NOW}
        connection.execute(schema.assessments.insert().values(**row))
        for seq, event in enumerate(OLD, 1):
            values = {name: getattr(event, name) for name in before}
            connection.execute(schema.events.insert().values(assessment="old", seq=seq, at=NOW, **values))
    yield engine
    engine.dispose()


def test_nothing_is_lost_and_everything_new_can_be_kept(engine: Engine, shared_store_url: str) -> None:
    for opened in range(2):  # the second time there is nothing left to do
        store = Store(shared_store_url)
        assert store.events("old")[:5] == [replace(event, seq=seq, at=NOW) for seq, event in enumerate(OLD, 1)]
        with store.transaction("old") as log:
            kinds: tuple[Kind, ...] = ("skip", "decide", "retract", "expire")
            log.append([Event(kind, "z01", key=f"{kind} {opened}") for kind in kinds])
        for event in (Event("guess", "a"), Event("skip", "z01", key="skip 0")):  # type: ignore[arg-type]
            with pytest.raises(StoreError, match=r"refused.*constraint"), store.transaction("old") as log:
                log.append([event])
        for verb in ("UPDATE events SET label = 'dog'", "DELETE FROM events"):
            with pytest.raises(sa.exc.DBAPIError, match="append-only"), engine.begin() as connection:
                connection.exec_driver_sql(verb)
        assert [event.seq for event in store.events("old")] == list(range(1, 10 + 4 * opened))
        assert People(store).invite(f"ann {opened}")
        store.close()


def test_an_old_assessment_goes_on_as_it_would_have(engine: Engine, shared_store_url: str) -> None:
    """Its spec knows nothing of what came later, and its next requests are those of the log."""
    twin = fl.create(None, "twin", KNOWN.pool, prior=fl.Uniform(), policy=fl.UniformItems(), target="pool", seed=3)
    with twin._store.transaction("twin") as log:
        log.append(OLD)
    audit = fl.load(shared_store_url, "old")
    assert audit.spec == twin.spec
    assert audit.labels() == {"z00": "cat"}
    assert audit.pending() == ["z09"]
    assert audit.held("Zoë").ids == []
    assert list(audit.ask(4)) == list(twin.ask(4))
    audit.close()
    twin.close()


def test_the_tables_are_those_of_a_new_database(engine: Engine, shared_store_url: str) -> None:
    Store(shared_store_url).close()
    migrated = _described(engine)
    with engine.begin() as connection:
        for name in (
            "events",
            "heads",
            "checkpoints",
            "assessments",
            "pool_parts",
            "pools",
            "people",
            "fewlabels_schema",
        ):
            connection.exec_driver_sql(f"DROP TABLE {name}")
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("DROP FUNCTION fewlabels_append_only")
    Store(shared_store_url).close()
    assert migrated == _described(engine)


def _described(engine: Engine) -> dict[str, Any]:
    found = sa.inspect(engine)
    tables = {
        name: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name)],
            found.get_pk_constraint(name)["constrained_columns"],
            [key["referred_table"] for key in found.get_foreign_keys(name)],
            sorted(check["sqltext"] for check in found.get_check_constraints(name)),
            [(index["name"], index["column_names"], index["unique"]) for index in found.get_indexes(name)],
        )
        for name in found.get_table_names()
    }
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            rows = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'index')"
        else:
            rows = "SELECT tgname, tgenabled, tgtype FROM pg_trigger WHERE NOT tgisinternal"
        return tables | {"triggers": sorted(tuple(row) for row in connection.exec_driver_sql(rows))}


def test_many_at_once_change_it_once(engine: Engine, shared_store_url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(lambda _: Store(shared_store_url), range(6)))
    for store in stores:
        assert len(store.events("old")) == len(OLD)
        store.close()


def test_one_that_fails_leaves_the_old_version(engine: Engine, shared_store_url: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE heads (x integer)")
    with pytest.raises(StoreError, match="has a table 'heads' of another program"):
        Store(shared_store_url)
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT version FROM fewlabels_schema").scalar() in {1, 2}
        assert connection.exec_driver_sql("SELECT count(*) FROM events").scalar() == len(OLD)
        connection.exec_driver_sql("DROP TABLE heads")
    store = Store(shared_store_url)
    assert len(store.events("old")) == len(OLD)
    store.close()
