"""Databases of older versions become the present one in place: nothing is lost, and the log stays append-only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

import fewlabels as fl
from fewlabels.errors import StoreError
from fewlabels.store import DamagedError, Event, Store
from fewlabels.store.chain import Mark, linked
from fewlabels.store.people import People
from tests.support.old_databases import KNOWN, NOW, OLD, write_old
from tests.support.stores import as_anybody

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy.engine import Engine

    from fewlabels.store import Kind


@pytest.fixture(params=[1, 2])
def engine(shared_store_url: str, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A database as an older version made it, with the assessment "old" and the events OLD in it."""
    engine = sa.create_engine(shared_store_url.replace("postgresql://", "postgresql+psycopg://"))
    write_old(engine, request.param)
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
    with twin._journal.store.transaction("twin") as log:
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


def test_the_chain_over_old_events_is_the_one_that_new_events_would_have(engine: Engine, shared_store_url: str) -> None:
    store = Store(shared_store_url)
    with store.database.reading() as connection:
        first, head, _ = store.ends(connection, "old")
    mark = Mark(0, first)
    for event in store.events("old"):
        mark = Mark(event.seq, linked(mark.hash, event))
    assert mark == head
    assert store.verify().ok
    store.close()


def test_damage_from_before_is_found_after(engine: Engine, shared_store_url: str) -> None:
    """A gap in an old log, and on SQLite a time that is none, have no hash that could hide them."""
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER events_no_update")
            connection.exec_driver_sql("DROP TRIGGER events_no_delete")
            connection.exec_driver_sql("UPDATE events SET at = '2026-13-45' WHERE seq = 3")
        else:
            connection.exec_driver_sql("ALTER TABLE events DISABLE TRIGGER events_append_only")
        connection.exec_driver_sql("DELETE FROM events WHERE seq = 2")
    store = Store(shared_store_url)
    with pytest.raises(DamagedError):
        store.events("old")
    assert "event 2 is missing" in store.verify().words
    if store.database.is_sqlite:
        assert "event 3 cannot be read" in store.verify().words
    store.close()


@pytest.mark.parametrize("version", [1, 2])
def test_an_old_file_that_may_only_be_read_can_be_read(tmp_path: Path, version: int) -> None:
    """It is read through a copy in memory, and nothing can be written into that by mistake."""
    engine = sa.create_engine(f"sqlite:///{tmp_path}/audit.db")
    write_old(engine, version)
    engine.dispose()
    before = (tmp_path / "audit.db").read_bytes()
    folder, as_it_is = tmp_path.stat().st_mode, (tmp_path / "audit.db").stat().st_mode
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(0o755)
    (tmp_path / "audit.db").chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with as_anybody():
            store = Store(tmp_path / "audit.db", existing=True)
            assert [event.item for event in store.events("old")] == [event.item for event in OLD]
            assert fl.load(store, "old").labels() == {"z00": "cat"}
            with pytest.raises(StoreError, match=r"readonly database.*writable"):
                fl.load(store, "old").ask(1)
            store.close()
    finally:
        (tmp_path / "audit.db").chmod(as_it_is)
        tmp_path.chmod(folder)
    assert (tmp_path / "audit.db").read_bytes() == before
