"""Names with accents, which look the same and are written in two ways: a Mac does it in the names of files."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.errors import StoreError, WrongNameError
from fewlabels.store import Store
from fewlabels.store.people import People
from fewlabels.store.schema import assessments
from tests.support.making import QUESTION, desk, submit, upload
from tests.support.stores import pool_of

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = (normalize(form, "café") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(("made", "typed"), [(ONE, TWO), (TWO, ONE), (TWO, TWO)])
def test_an_assessment_is_found_however_its_accents_are_written(tmp_path: Path, made: str, typed: str) -> None:
    store = Store(tmp_path / "audit.db")
    audit = fl.create(store, made, pool_of())
    assert audit.name == ONE
    assert store.names() == [ONE]
    assert fl.load(store, typed).name == ONE
    with pytest.raises(WrongNameError, match="already has an assessment"):
        fl.create(store, typed, pool_of())
    audit.tell({audit.ask(1).ids[0]: "cat"})
    store.close()
    for words in (["show", typed], ["export", typed, "log"], ["answer", typed]):
        said = CliRunner().invoke(cli, [words[0], str(tmp_path / "audit.db"), *words[1:]])
        assert said.exit_code == 0, said.output


def test_one_that_an_older_version_made_is_found_and_has_no_twin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "audit.db")
    monkeypatch.setattr("fewlabels.store.log.check_new_name", lambda name: name)
    store.create(TWO, fl.create(None, "x", pool_of()).spec.to_json(), pool_of())
    monkeypatch.undo()
    with store.database.reading() as connection:
        assert connection.scalar(assessments.select()) == TWO
    assert fl.load(store, ONE).name == fl.load(store, TWO).name == TWO
    with pytest.raises(WrongNameError):
        fl.create(store, ONE, pool_of())
    with pytest.raises(StoreError, match="no assessment 'cafe'"):
        fl.load(store, "cafe")
    store.close()


def test_a_person_is_one_however_their_accents_are_written() -> None:
    people = People(Store(None))
    token = people.invite(TWO)
    assert people.who(token) is not None
    assert [person.name for person in people.list()] == [ONE]
    with pytest.raises(WrongNameError, match="already been invited"):
        people.invite(ONE)
    again = people.invite(TWO, again=True)
    people.revoke(TWO)
    assert people.who(again) is None
    with pytest.raises(WrongNameError):
        people.revoke("cafe")


def test_what_is_made_in_the_browser_is_shown_there() -> None:
    with desk() as (client, site):
        path = upload(client, name=f"{TWO}.csv").url.path
        made = submit(client, f"{path}/question", do="make", **QUESTION | {"name": TWO})
        assert made.status_code == 200
        assert unquote(made.url.path) == f"/dashboard/{ONE}"
        assert fl.load(site.store, TWO).name == ONE
