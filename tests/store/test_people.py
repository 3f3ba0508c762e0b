"""People and their tokens: who is let in, and what is kept of a secret."""

from __future__ import annotations

import hashlib
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from fewlabels.errors import FewlabelsError, InputError, StoreError
from fewlabels.store import Store
from fewlabels.store.people import People
from fewlabels.store.schema import people as table
from fewlabels.store.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fewlabels.store.people import Role


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    store = Store(store_url)
    yield store
    store.close()


def test_a_token_says_who_it_is_until_it_is_revoked(store: Store) -> None:
    people, before = People(store), datetime.now(UTC)
    ann, zoe = people.invite("ann"), people.invite("Zoë ✏️", role="owner")
    assert ann != zoe
    assert [people.who(token).name for token in (ann, zoe)] == ["ann", "Zoë ✏️"]
    assert [(person.name, person.role) for person in people.list()] == [("ann", "annotator"), ("Zoë ✏️", "owner")]
    people.revoke("ann")
    assert people.who(ann) is None
    assert people.who(zoe).role == "owner"
    first, second = people.list()
    assert before <= first.invited_at <= first.revoked_at <= datetime.now(UTC)
    assert second.revoked_at is None


def test_whoever_lost_a_token_gets_a_new_one(store: Store) -> None:
    people = People(store)
    lost = people.invite("ann")
    with pytest.raises(StoreError, match=r"'ann' has already been invited.*a new link, which replaces"):
        people.invite("ann", role="owner")
    assert people.who(lost).role == "annotator"
    people.revoke("ann")
    with pytest.raises(StoreError, match="nobody called 'ann' with a valid token"):
        people.revoke("ann")
    new = people.invite("ann", role="owner")
    assert people.who(lost) is None
    assert people.who(new).role == "owner"
    assert len(people.list()) == 1


def test_again_replaces_a_token_in_one_step_and_keeps_the_role_unless_told(store: Store) -> None:
    people = People(store)
    with pytest.raises(StoreError, match="nobody called 'ann' to invite again"):
        people.invite("ann", again=True)
    tokens = [people.invite("ann")]
    roles: tuple[tuple[Role | None, Role], ...] = (
        (None, "annotator"),
        ("owner", "owner"),
        (None, "owner"),
        ("annotator", "annotator"),
    )
    for role, becomes in roles:
        tokens.append(people.invite("ann", role, again=True))
        assert [people.who(token) is not None for token in tokens] == [False] * (len(tokens) - 1) + [True]
        assert people.who(tokens[-1]).role == becomes
    people.revoke("ann")
    assert people.who(people.invite("ann", again=True)).name == "ann"
    assert len(people.list()) == 1


@pytest.mark.parametrize("token", ["", "x", "ann", "\0", "\ud800", "a" * 100_000, "' OR 1=1 --"])
def test_what_is_no_token_is_nobody(store: Store, token: str) -> None:
    people = People(store)
    made = people.invite("ann")
    assert people.who(token) is None
    assert people.who(made[:-1]) is None
    assert people.who(made + "a") is None
    with store.database.reading() as connection:
        kept = connection.scalar(sa.select(table.c.digest))
    assert people.who(kept) is None, "what is kept opens nothing"


def test_of_a_token_only_its_digest_is_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "audit.db")
    people = People(store)
    token = people.invite("ann")
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token), "256 bits"
    digest = hashlib.sha256(token.encode()).hexdigest()
    assert digest in str(_rows(store))
    shown = [repr(people), repr(people.who(token)), repr(people.list()), repr(store), str(pickle.dumps(people.list()))]
    with pytest.raises(FewlabelsError) as refused:
        people.invite("ann")
    store.close()
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for text in (*shown, str(refused.value), files.decode("latin-1")):
        assert token not in text
    for text in (*shown, str(refused.value)):
        assert digest not in text


@pytest.mark.parametrize("name", ["", " ", " ann", "ann\n", "a\0b", "a" * 101, "line\nbreak", None, 3])
def test_names_that_would_confuse_are_refused(store: Store, name: object) -> None:
    with pytest.raises(InputError, match="1 to 100 characters on one line"):
        People(store).invite(name)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'annotator' or 'owner'"):
        People(store).invite("ann", role="boss")  # type: ignore[arg-type]
    assert People(store).list() == ()


def test_a_name_is_given_once_even_to_those_who_come_at_once(shared_store_url: str) -> None:
    store = Store(shared_store_url)

    def invite(_: int) -> str | None:
        try:
            return People(store).invite("ann")
        except StoreError:
            return None

    with ThreadPoolExecutor(6) as threads:
        tokens = [token for token in threads.map(invite, range(6)) if token]
    assert len(tokens) == 1
    assert People(store).who(tokens[0]).name == "ann"
    store.close()


def test_a_session_ends_after_its_days_and_when_its_token_is_no_longer_valid(store: Store) -> None:
    people, sessions = People(store), Sessions(store, days=30)
    session = sessions.begin(people.invite("ann"))
    assert sessions.who(session).name == "ann"
    assert Sessions(store, days=0).who(session) is None, "it began before the days that are allowed"
    people.revoke("ann")
    assert sessions.who(session) is None
    sessions.begin(people.invite("ann"))
    assert sessions.who(session) is None, "a new token does not bring an old session back"


def _rows(store: Store) -> list[sa.Row[tuple[object, ...]]]:
    with store.database.reading() as connection:
        return list(connection.execute(sa.select(table)))
