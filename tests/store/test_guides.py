"""Guides: what annotators are told is kept, in every version, and no database is too old or too closed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from fewlabels.errors import InputError, StoreError
from fewlabels.store import Store
from fewlabels.store.guides import LONGEST, Guides
from tests.support.old_databases import write_old
from tests.support.stores import SPEC, as_anybody, pool_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(shared_store_url: str) -> Store:
    made = Store(shared_store_url)
    for name in ("one", "other"):
        made.create(name, SPEC, pool_of(20))
    return made


def test_a_first_version_that_is_refused_leaves_nothing_behind(store: Store) -> None:
    guides = Guides(store)
    with pytest.raises(InputError, match="in the meantime"):
        guides.write("one", guidelines="Hi", over=1)
    assert guides.of("one").version == 0
    assert guides.write("one", guidelines="Hi").version == 1


def test_every_version_is_kept_and_the_last_is_shown(store: Store) -> None:
    guides = Guides(store)
    assert guides.of("one").version == 0
    assert guides.versions("one") == []
    first = guides.write("one", guidelines=" # 犬 \n", descriptions={"a": "yes ", "b": " "}, by="boss")
    assert (first.version, first.guidelines, first.descriptions, first.by) == (1, "# 犬", {"a": "yes"}, "boss")
    assert guides.write("one", guidelines="# 犬").version == 1  # the same again is nothing new
    second = Guides(store).write("one", descriptions={"b": "no"})
    assert (second.guidelines, second.descriptions) == ("# 犬", {"b": "no"})
    assert [guide.version for guide in guides.versions("one")] == [1, 2]
    assert guides.of("one") == second
    assert guides.of("other").version == 0
    store.close()


def test_two_writers_do_not_overwrite_each_other(store: Store) -> None:
    guides = Guides(store)
    seen = guides.write("one", guidelines="A").version
    guides.write("one", guidelines="B", by="ann", over=seen)
    with pytest.raises(InputError, match="ann has changed the guide"):
        guides.write("one", guidelines="C", over=seen)
    assert guides.of("one").guidelines == "B"
    store.close()


def test_what_cannot_be_kept_is_refused(store: Store) -> None:
    guides = Guides(store)
    with pytest.raises(InputError, match="100,001 characters"):
        guides.write("one", guidelines="x" * (LONGEST + 1))
    for text in ("a\0b", "\ud800"):
        with pytest.raises(InputError, match="cannot be stored"):
            guides.write("one", descriptions={"a": text})
    with pytest.raises(StoreError, match="there is no assessment 'none'"):
        guides.write("none", guidelines="x")
    assert guides.of("one").version == 0
    store.close()


def test_copies_and_backups_have_the_guides(store: Store, tmp_path: Path) -> None:
    Guides(store).write("one", guidelines="Look twice.")
    Guides(store).write("one", guidelines="Look three times.")
    store.copy(tmp_path / "copy.db")
    store.backup(tmp_path / "backup.db")
    for name in ("copy.db", "backup.db"):
        made = Store(tmp_path / name)
        assert Guides(made).versions("one") == Guides(store).versions("one")
        made.close()
    store.close()


@pytest.mark.parametrize("version", [1, 2])
def test_an_old_database_has_no_guide_until_one_is_written(shared_store_url: str, version: int) -> None:
    engine = sa.create_engine(shared_store_url.replace("postgresql://", "postgresql+psycopg://"))
    write_old(engine, version)
    engine.dispose()
    store = Store(shared_store_url)
    assert Guides(store).of("old").version == 0
    assert Guides(store).write("old", guidelines="Now there is one.").version == 1
    assert len(store.events("old")) == 5
    store.close()


def test_the_guide_goes_with_an_assessment_that_is_removed(store: Store) -> None:
    for name in ("mistake", "kept"):
        store.create(name, SPEC, pool_of(20))
        Guides(store).write(name, guidelines=f"For {name}.")
    store.remove("mistake")
    store.create("mistake", SPEC, pool_of(9))
    assert Guides(store).versions("mistake") == []
    assert Guides(store).of("kept").guidelines == "For kept."


def test_a_file_that_may_only_be_read_can_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "audit.db")
    store.create("one", SPEC, pool_of(20))
    store.close()
    (tmp_path / "audit.db").chmod(0o444)
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(0o755)
    with as_anybody():
        opened = Store(tmp_path / "audit.db", existing=True)
        assert Guides(opened).of("one").version == 0
        with pytest.raises(StoreError, match=r"read-?only"):
            Guides(opened).write("one", guidelines="x")
        opened.close()
