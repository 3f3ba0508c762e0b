"""The objects of an assessment, each alone: docs/architecture.md draws who is given whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels.errors import LabelError
from fewlabels.labelling.answering import Answers, Sent
from fewlabels.labelling.ask_and_tell import Labelling
from fewlabels.labelling.beliefs import Beliefs
from fewlabels.labelling.choosing import Chooser
from fewlabels.labelling.handing_out import Requests
from fewlabels.labelling.journal import Journal
from fewlabels.labelling.record import Record
from fewlabels.labelling.stock import Stock
from fewlabels.labelling.subject import Subject
from fewlabels.labelling.supply import Supply
from fewlabels.results import Results
from fewlabels.store import Event
from fewlabels.views import Views
from tests.support.pools import zoo

if TYPE_CHECKING:
    from collections.abc import Iterator

KNOWN = zoo()


@pytest.fixture
def store() -> Iterator[fl.Store]:
    opened = fl.Store(None)
    yield opened
    opened.close()


@pytest.fixture
def audit(store: fl.Store) -> fl.Assessment:
    """Another reader and writer of the same log."""
    return fl.create(store, "zoo", KNOWN.pool, seed=3)


@pytest.fixture
def journal(store: fl.Store, audit: fl.Assessment) -> Journal:
    return Journal(store, Subject(store, store.open("zoo"), audit.spec, KNOWN.pool))


def test_an_assessment_is_three_classes_of_calls_and_no_more() -> None:
    assert fl.Assessment.__mro__ == (fl.Assessment, Labelling, Record, object)


def test_a_journal_reads_what_others_write(journal: Journal, audit: fl.Assessment) -> None:
    with journal.reading() as ledger:
        assert ledger.labelled == 0
    audit.tell(KNOWN.labels(audit.ask(3).ids))
    with journal.looking() as ledger:
        assert ledger.labelled == 0  # as it was last read
    with journal.reading() as ledger:
        assert ledger.labelled == 3


def test_others_read_what_a_journal_writes(journal: Journal, audit: fl.Assessment) -> None:
    item = next(iter(KNOWN.truth))
    with journal.writing() as (log, ledger):
        log.append([Event("request", item, step=1), Event("label", item, label=KNOWN.truth[item])])
        assert ledger.labelled == 0
    assert journal.ledger.labelled == 1
    assert audit.labels() == KNOWN.labels([item])


def test_a_page_that_is_torn_out_leaves_no_trace(journal: Journal, audit: fl.Assessment) -> None:
    before, item = journal.ledger, next(iter(KNOWN.truth))

    def torn() -> None:
        with journal.writing() as (log, ledger):
            ledger.read(log.append([Event("label", item, label=KNOWN.truth[item])]))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        torn()
    assert journal.ledger is not before
    with journal.reading() as ledger:
        assert ledger.labelled == 0
    assert len(audit.log()) == 0


def test_a_snapshot_of_a_journal_stands_still_and_is_only_read(journal: Journal, audit: fl.Assessment) -> None:
    with journal.reading():
        still = journal.snapshot()
    audit.tell(KNOWN.labels(audit.ask(2).ids))
    with still.reading() as ledger, journal.reading() as live:
        assert (ledger.labelled, live.labelled) == (0, 2)
    assert (still.history(), len(journal.history())) == ([], 4)
    with pytest.raises(AssertionError, match="read-only"), still.writing():
        pass


def test_a_belief_is_kept_while_it_is_good_enough(journal: Journal, audit: fl.Assessment) -> None:
    beliefs = Beliefs(journal)
    audit.tell(KNOWN.labels(audit.ask(10).ids))
    with journal.reading():
        first = beliefs.now()
        assert beliefs.now() is first
    audit.tell(KNOWN.labels(audit.ask(1).ids))
    with journal.reading():
        assert beliefs.now(slack=0.2) is first
        assert beliefs.now() is not first
        assert beliefs.now().belief.counts.sum() == 11


def test_a_belief_is_about_one_ledger(journal: Journal, audit: fl.Assessment) -> None:
    """Equal numbers are not enough: a ledger that was read anew may have other labels."""
    beliefs = Beliefs(journal)
    with journal.reading():
        first = beliefs.now()
    journal.ledger = journal.subject.new_ledger()
    with journal.reading():
        assert beliefs.now() is not first


def test_equal_logs_have_equal_next_items_whoever_chooses(journal: Journal, audit: fl.Assessment) -> None:
    audit.tell(KNOWN.labels(audit.ask(6).ids))
    stock = Stock(journal, Supply())
    chooser = Chooser(journal, Beliefs(journal), stock)
    with journal.writing() as page:
        items = [stock.id(item) for item in chooser.chosen(page, None, 4, 0.0)]
    assert items == list(audit.ask(4).ids)


def test_answers_are_taken_without_anybody_who_asks(journal: Journal, audit: fl.Assessment) -> None:
    answers = Answers(journal, Stock(journal, Supply()))
    asked = audit.ask(2).ids
    new = answers.labels(KNOWN.labels(asked), None, None, "call 1")
    assert [answers.take(Sent(new, "call 1")) for _ in range(2)] == [2, 2]
    assert [*audit.log()["kind"]] == ["request", "request", "label", "label"]
    other = next(item for item in KNOWN.truth if item not in asked)
    with pytest.raises(LabelError, match="never asked for"):
        answers.take(Sent(answers.labels(KNOWN.labels([other]), None, None, None)))
    assert answers.take(Sent(answers.labels(KNOWN.labels([other]), None, None, None), adopt=True)) == 1


def test_requests_and_results_are_those_of_the_assessment(journal: Journal, audit: fl.Assessment) -> None:
    stock, beliefs = Stock(journal, Supply()), Beliefs(journal)
    requests = Requests(journal, stock, Chooser(journal, beliefs, stock), Answers(journal, stock))
    asked = requests.ask(5, None, again=False, slack=0.0)
    assert audit.pending() == sorted(asked.ids, key=[*KNOWN.truth].index)
    audit.tell(KNOWN.labels(asked.ids))
    results = Results(Views(journal, beliefs))
    assert results.estimates(None, None, None, level=0.9, draws=500) == audit.estimates(level=0.9, draws=500)
