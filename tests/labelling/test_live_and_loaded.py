"""An assessment that stayed open knows, believes and asks what the same log gives when it is loaded."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.labelling import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = ("ann", "bob", "cyd")


def _begin(rng: np.random.Generator) -> tuple[fl.Store, list[fl.Assessment]]:
    """One question or two about a small pool."""
    items, classes = int(rng.integers(4, 16)), list("abc"[: int(rng.integers(2, 4))])
    columns = {
        "predicted": [classes[i % len(classes)] for i in range(items)],
        "confidence": rng.uniform(0.5, 1, items).round(2),
        "site": rng.choice(["x", "y"], items).tolist(),
    }
    pool, store = fl.read_pool(columns, classes=classes), fl.Store(None)
    audits = [
        fl.create(
            store,
            name,
            pool,
            groups=None if rng.random() < 0.5 else "column:site",
            prior=fl.Uniform() if rng.random() < 0.7 else None,
            overlap=int(rng.integers(1, 4)),
        )
        for name in "pq"[: int(rng.integers(1, 3))]
    ]
    return store, audits


def _calls(audit: fl.Assessment, who: str, item: str, rng: np.random.Generator) -> list[Callable[[], Any]]:
    """What somebody may do next, with one item or with what they hold."""
    held, name = audit.held(who).ids[:2], str(rng.choice(audit.pool.choices))
    return [
        lambda: audit.ask(int(rng.integers(1, 4)), annotator=who),
        lambda: audit.ask(2, annotator=who, again=True),
        lambda: audit.tell(dict.fromkeys(held or [item], name), annotator=who),
        lambda: audit.tell_and_ask(dict.fromkeys(held, name), 1, annotator=who),
        lambda: audit.tell({item: name}, annotator=who, adopt=True),
        lambda: audit.skip(held or [item], annotator=who),
        lambda: audit.retract([*audit.answers(who)["id"], item][:1], annotator=who),
        lambda: audit.withdraw([item]),
        lambda: audit.decide({item: name}),
        lambda: audit.expire(0),
        lambda: audit.withdraw_person(who),
    ]


def _state(audit: fl.Assessment) -> dict[str, Any]:
    """All that a ledger knows and a belief says, and who would be handed what."""
    with audit._journal.reading() as ledger:
        arrays = ("true", "pending", "asked", "strange", "withdrawn", "counts", "waiting", "room")
        people = ("held", "answered", "lost", "skips", "decisions")
        return {
            **{name: getattr(ledger, name).tolist() for name in arrays},
            **{name: {who: part for who, part in getattr(ledger, name).items() if part} for name in people},
            "disputed": set(ledger.disputed),
            "shared": ledger.shared,
            "drawn": (ledger.drawn.step, ledger.drawn.turn, ledger.drawn.elsewhere),
            "lacking": [ledger.lacking(who, 50) for who in PEOPLE],
            "mean": audit.belief().mean().tolist(),
        }


@pytest.mark.parametrize("seed", range(8))
def test_an_object_that_stayed_open_equals_the_same_log_loaded(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_FEWEST", 5)
    rng = np.random.default_rng(seed)
    store, audits = _begin(rng)
    for _ in range(12):
        audit, who = audits[int(rng.integers(len(audits)))], str(rng.choice(PEOPLE))
        item = str(rng.integers(len(audit.pool)))
        call = rng.choice(np.array(_calls(audit, who, item, rng), dtype=object))
        with suppress(fl.FewlabelsError):  # it may be refused, and then nothing has changed
            call()
        for live in audits:
            loaded = fl.load(store, live.name)
            assert _state(live) == _state(loaded)
    store.close()


def test_people_are_handed_the_oldest_item_that_lacks_votes_however_long_the_object_is_open() -> None:
    pool, store = fl.read_pool({"predicted": ["a", "b"] * 10}), fl.Store(None)
    live = fl.create(store, "x", pool, overlap=2, prior=fl.Uniform())
    (first,), (second,) = live.ask(1, annotator="bob").ids, live.ask(1, annotator="bob").ids
    live.expire(0)
    loaded = fl.load(store, "x")
    with live._journal.reading() as ours, loaded._journal.reading() as theirs:
        assert [pool.ids[item] for item in ours.lacking("bob", 9)] == [first, second]
        assert ours.lacking("bob", 9) == theirs.lacking("bob", 9)
