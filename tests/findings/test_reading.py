"""The numbers of a reading, and of an answer, belong to one state of the log, whatever comes in meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.findings.finding import find, found_in
from fewlabels.findings.reading import Reading


@pytest.fixture
def audit() -> fl.Assessment:
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], 600)
    audit = fl.create(None, "pets", fl.read_pool(scores, classes=["cat", "dog", "eel"]), seed=1)
    audit.tell(dict.fromkeys(audit.ask(30).ids, "dog"))
    return audit


def test_labels_that_come_in_while_a_finding_is_made_are_not_in_it(audit: fl.Assessment) -> None:
    expected = find(audit).to_json()
    reading = Reading(audit)
    assert reading.right is not None
    audit.tell(dict.fromkeys(audit.ask(20).ids, "dog"))
    shown = found_in(reading)
    assert shown.to_json() == expected
    assert sum(row.labelled for row in shown.groups) == shown.labels.labelled == 30
    assert len([event for event in reading.audit.history() if event.kind == "label"]) == 30
    assert sum(row.labelled for row in find(audit).groups) == audit.labelled == 50


def test_an_answer_keeps_its_own_table_when_labels_come_in(audit: fl.Assessment) -> None:
    expected, answer = find(audit).headline, audit.answer()
    audit.tell(dict.fromkeys(audit.ask(20).ids, "dog"))
    assert answer.headline == expected
    assert answer.headline != find(audit).headline


def test_a_snapshot_is_taken_once_for_each_state_of_the_log_and_only_read(audit: fl.Assessment) -> None:
    before = audit.snapshot()
    assert audit.snapshot() is before
    assert before.snapshot() is before
    audit.ask(1)
    assert audit.snapshot() is not before
    assert (before.seq, before.pending()) == (60, [])
    with pytest.raises(AssertionError, match="read-only"):
        before.ask(1)
