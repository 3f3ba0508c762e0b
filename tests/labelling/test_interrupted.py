"""A program that is interrupted while it reads the log, such as by Ctrl-C in a notebook, goes on with right numbers."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import fewlabels as fl
from tests.support.pools import zoo

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

KNOWN = zoo()


def interrupted(call: Callable[[], object], after: int) -> None:
    """Call a function and interrupt it after so many lines of the ledger."""
    lines = iter(range(after))

    def each_line(_: FrameType, event: str, __: Any) -> Any:
        if event == "line" and next(lines, None) is None:
            sys.settrace(None)
            raise KeyboardInterrupt
        return each_line

    def each_call(frame: FrameType, *_: Any) -> Any:
        return each_line if frame.f_code.co_filename.endswith(("labelling/ledger.py", "labelling/past.py")) else None

    before = sys.gettrace()
    sys.settrace(each_call)
    with suppress(KeyboardInterrupt):
        call()
    sys.settrace(before)


def state(audit: fl.Assessment) -> list[Any]:
    shown = [audit.labels(), audit.pending(), audit.disputed(), audit.by_person().columns, audit.label_details()]
    return [*shown, audit.events, audit.by_group().columns, audit.estimates(draws=100).columns]


@pytest.mark.parametrize("after", range(0, 360, 6))
def test_an_interrupted_call_leaves_nothing_half_read(after: int) -> None:
    store = fl.Store(None)
    audit = fl.create(store, "zoo", KNOWN.pool, overlap=2, prior=fl.Uniform())
    other = fl.load(store)
    items = audit.ask(5, annotator="ann").ids
    audit.tell(KNOWN.labels(items), annotator="ann")
    labels = KNOWN.labels(items) | {items[0]: "(skip)", items[3]: "(skip)"}
    interrupted(lambda: audit.tell(labels, annotator="bob"), after)  # nearly always after they were written
    interrupted(other.labels, after)
    assert state(audit) == state(other) == state(fl.load(store))
    audit.decide({items[3]: "ant"})
    assert state(audit) == state(other) == state(fl.load(store))
