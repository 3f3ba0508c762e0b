"""The assessments of one store, opened once, and costly results, which are kept until the log grows."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from fewlabels.assessment import Assessment
from fewlabels.beginning import load
from fewlabels.errors import InputError, LabelError, SpecError, StoreError
from fewlabels.findings.labels import tally
from fewlabels.findings.phrases import question
from fewlabels.io.guides import described
from fewlabels.pool import NO_ANSWER
from fewlabels.special import warm_up
from fewlabels.store.guides import Guide, Guides
from fewlabels.store.people import People
from fewlabels.store.sessions import Sessions
from fewlabels.web import messages as m
from fewlabels.web.content import parts_of, unseen_pictures
from fewlabels.web.drafts import Drafts
from fewlabels.web.errors import CANNOT_OPEN, UnknownAssessmentError
from fewlabels.web.guard import Remembered, seal
from fewlabels.web.live import Streams
from fewlabels.web.work import Pace
from fewlabels.wording import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fewlabels.labelling.batch import Batch
    from fewlabels.pool import Pool
    from fewlabels.store import Store
    from fewlabels.store.people import Person
    from fewlabels.web.content import Part
    from fewlabels.web.settings import Settings

T = TypeVar("T")
_log = logging.getLogger(__name__)
# The share of labels whose effect on other groups the choice of the next item need not know yet. The simulator fits as
# often, and benchmarks/asking.py compares that with a fit before every request.
_SLACK = 0.05
_WARM = 20  # assessments that are made ready when the server starts


class Visit(NamedTuple):
    """What a response depends on besides the person's role: their token or session, and the path of the app."""

    token: str
    root: str


class Service:
    """The shared state of the routes: the store's assessments by name, its people, and the settings."""

    def __init__(self, store: Store, settings: Settings) -> None:
        warm_up()  # otherwise the first person who asks would wait for it
        self.store = store
        self.settings = settings
        self.people = People(store)
        self.sessions = Sessions(store)
        self._guides = Guides(store)
        self.known = Remembered(self.people, self.sessions, settings.remember)
        """Who holds a token or a session."""
        self.drafts = Drafts()
        """The assessments that owners are making in the browser."""
        self.streams = Streams()
        """The pages that follow a log."""
        self._lock = threading.Lock()
        self._paces: dict[str, Pace] = {}
        self._open: dict[str, Assessment] = {}
        self._looked: dict[str, float] = {}
        self.closing: Callable[[], bool] = lambda: False
        """Whether the server is about to stop, so that long answers must end as well."""
        self._kept: dict[tuple[str, str], tuple[object, Any]] = {}
        self._busy: dict[tuple[str, str], threading.Lock] = {}

    def names(self) -> list[str]:
        """List the names of the assessments."""
        return self.store.names()

    def audit(self, name: str) -> Assessment:
        """Return an assessment by name, loaded when it is first needed."""
        opened = self._open.get(name)
        if opened is not None and not opened.is_gone:
            return opened
        if name not in self.store.names():  # before a lock is made: anybody may ask for any name
            raise UnknownAssessmentError(f"there is no assessment {name!r} here.")
        with self._one_at_a_time(name, "load"):
            if self._open.get(name) is opened:
                try:
                    self._open[name] = load(self.store, name)
                    self._paces.pop(name, None)
                except SpecError as error:  # a part that this server does not know: no visitor can correct it
                    raise StoreError(f"{name!r} cannot be loaded: {error}") from error
            return self._open[name]

    def warm_up(self) -> None:
        """Compute what the first requests need, of the newest assessments, while nobody waits for it yet.

        An item needs a fitted model; the dashboard, when everybody answered, which is read from the whole log. Nothing
        is changed, and what cannot be read now is left to these requests.
        """
        try:
            newest = self.names()[::-1][:_WARM]
        except StoreError:
            return
        for name in newest:
            if self.closing():
                return
            try:
                self.audit(name).belief()
                self.pace(name)
            except Exception as error:  # noqa: BLE001  (somebody's own metric may fail in any way)
                _log.debug("%s", harmless(f"{name!r} was not made ready: {error}"))

    def _one_at_a_time(self, name: str, what: str) -> threading.Lock:
        """Return the lock for something slow about an assessment, so that everything else can go on."""
        with self._lock:
            return self._busy.setdefault((name, what), threading.Lock())

    def kept(self, name: str, what: str, make: Callable[[Assessment], T], given: object = None) -> T:
        """Return a costly result about an assessment, computed once for each state of its log, by one thread.

        Only the last result of each kind is kept, so that memory is bounded.
        """
        audit, key = self.audit(name), (name, what)
        with self._one_at_a_time(name, what):
            state = audit, audit.events, given  # another one may have the same name later
            if key not in self._kept or self._kept[key][0] != state:
                self._kept[key] = (state, make(audit))
            return self._kept[key][1]

    def pace(self, name: str) -> Pace:
        """Return when people answered, up to the last event."""
        audit = self.audit(name)
        with self._lock:
            pace = self._paces.setdefault(name, Pace())
        pace.catch_up(audit)
        return pace

    def check_page(self, name: str, pool: str | None) -> None:
        """Refuse what comes from a page about another pool: its assessment was removed, and this one has its name."""
        if pool and pool != mark_of(self.audit(name).pool):
            self.events(name)  # a GoneError if it is the server that has not noticed yet
            raise LabelError(
                f"{name!r} was removed and begun again with other items since this page was opened. Nothing was "
                "changed. Open the page again."
            )

    def expire(self, name: str) -> None:
        """Take back items whose lease ran out, from those who label here; others, such as with a file, have no lease.

        Many people ask each second: it is enough to look now and then.
        """
        now, lease = time.monotonic(), self.settings.lease
        if now >= self._looked.get(name, 0):
            self._looked[name] = now + min(1.0, lease / 100)
            self.audit(name).expire(lease, people={person.name for person in self.people.list()})

    def ask(self, name: str, n: int, annotator: str, visit: Visit) -> list[m.Item]:
        """Hand out items: those that this person has, then new ones, n in all but no more than one person may have."""
        self.expire(name)
        most = min(n, self.settings.held)
        asked = self.audit(name).ask(most, annotator=annotator, again=True, slack=_SLACK)
        return [self.item(name, request.id, visit) for request in asked]

    def take(self, name: str, person: Person, visit: Visit, n: int, **answers: Any) -> m.TakenAndAsked:
        """Take answers, and hand out the next n items in the same transaction if any are wanted."""
        audit = self.audit(name)
        if n:
            self.expire(name)
            most = min(n, self.settings.held)
            given = {"labels": {}, **answers}
            taken, asked = audit.tell_and_ask(n=most, annotator=person.name, own=True, slack=_SLACK, **given)
            return m.TakenAndAsked(taken=taken, requests=self._following(name, asked, visit))
        if "skips" in answers:
            ids = answers.pop("skips")
            return m.TakenAndAsked(taken=audit.skip(ids, annotator=person.name, own=True, **answers))
        return m.TakenAndAsked(taken=audit.tell(annotator=person.name, own=True, **answers))

    def _following(self, name: str, asked: Batch, visit: Visit) -> list[m.Item]:
        """Return the items that follow an answer; none if they cannot be read: the answer is taken anyway.

        The page then asks for items, and is told why there are none.
        """
        if asked.trouble:
            self.note(name, asked.trouble)
        try:
            return [self.item(name, request.id, visit) for request in asked]
        except StoreError as error:
            self.note(name, error)
            return []

    def note(self, name: str, trouble: object) -> None:
        """Write one line about an assessment to the server's log."""
        _log.error("%s", harmless(f"{name!r}: {trouble}"))

    def events(self, name: str) -> int:
        """Return the number of events in the logs of all assessments of a pool."""
        return self.audit(name).events

    def summary(self, name: str) -> m.Summary:
        """Summarise an assessment in one line."""
        audit = self.audit(name)
        labels = tally(audit)
        return m.Summary(
            name=name,
            question=question(audit),
            labels=labels.labelled,
            pending=labels.pending,
            disputed=labels.unresolved,
            items=len(audit.pool),
            groups=len(audit.groups),
            budget=audit.spec.stop.labels,
        )

    def summaries(self, names: Sequence[str] | None = None) -> list[m.Summary]:
        """Summarise some assessments, or all, oldest first. One that cannot be opened must not hide the others."""
        return [self._summary_or_problem(name) for name in (self.names() if names is None else names)]

    def _summary_or_problem(self, name: str) -> m.Summary:
        try:
            return self.summary(name)
        except StoreError as error:
            self.note(name, error)
            return m.Summary(name=name, problem=CANNOT_OPEN)

    def blind(self, name: str) -> str | None:
        """Explain why annotators would see only the ids of the items; None if they see more."""
        audit = self.audit(name)
        try:
            shown = self.seen(name, audit.pool.ids[audit.pool.units])
        except (InputError, StoreError) as error:
            return str(error)
        return None if shown else "it has no content. Name the columns to show with --columns."

    def unseen(self, name: str) -> str | None:
        """Return the name of a picture that annotators would see instead of the picture; None if there is none."""
        audit = self.audit(name)
        first = range(audit.pool.units, min(audit.pool.rows, audit.pool.units + 3))
        items = (self.seen(name, audit.pool.ids[row]) for row in first)
        return next((value for item in items if (value := unseen_pictures(item, self.settings))), None)

    def seen(self, name: str, item: str) -> dict[str, Any]:
        """Return what annotators may see of an item, by column."""
        return self.audit(name).item(item, columns=self.settings.columns or None)

    def item(self, name: str, item: str, visit: Visit) -> m.Item:
        """Return an item as it is shown to a visitor."""
        return m.Item(id=item, parts=self._parts(name, item, visit), hints=self._hints(name, item))

    def answers(self, name: str, annotator: str, most: int, visit: Visit) -> list[m.Given]:
        """Return a person's last answers with their items, newest first."""
        rows = self.audit(name).answers(annotator, most).rows()
        return [
            m.Given(**dict(self.item(name, row["id"], visit)), label=row["label"], note=row["note"], at=row["at"])
            for row in rows
        ]

    def answered(self, name: str, annotator: str) -> int:
        """Return how many answers of a person are still valid."""
        rows = self.audit(name).by_person().rows()
        return next((row["labels"] + row["skips"] for row in rows if row["annotator"] == annotator), 0)

    def disputed(self, name: str, most: int, visit: Visit) -> tuple[list[m.Disputed], int]:
        """Return the first items that wait for the owner, as a page shows them, and their number in all."""
        waiting = self.audit(name).disputed()
        shown = [
            m.Disputed(
                id=item.id,
                parts=self._parts(name, item.id, visit),
                votes=dict(item.votes),
                skips=dict(item.skips),
                notes=dict(item.notes),
            )
            for item in waiting[:most]
        ]
        return shown, len(waiting)

    def guide(self, name: str) -> Guide:
        """Return what annotators are told about an assessment."""
        self.events(name)  # it may have been removed and begun again
        return self._guides.of(name)

    def write_guide(
        self,
        name: str,
        owner: Person,
        guidelines: str | None,
        descriptions: Mapping[str, str] | None,
        over: int | None = None,
    ) -> Guide:
        """Write a new version of what annotators are told; a description must be of a class of the pool."""
        self.events(name)  # as above
        choices = self.audit(name).pool.choices
        if descriptions is not None:
            descriptions = described(descriptions.items(), choices, "the guide")
        return self._guides.write(name, guidelines=guidelines, descriptions=descriptions, by=owner.name, over=over)

    def _parts(self, name: str, item: str, visit: Visit) -> list[Part]:
        def address() -> str:
            # It is sealed for one person: knowing an id is not enough to get the file of its item.
            query = urlencode({"id": item, "seal": seal(visit.token, "content", name, item)}, quote_via=quote)
            return f"{visit.root}/api/v1/assessments/{quote(name, safe='')}/content?{query}"

        return parts_of(self.seen(name, item), self.settings, address)

    def _hints(self, name: str, item: str) -> dict[str, Any]:
        """Return the hints that the owner allows beside an item; none by default."""
        if not self.settings.show:
            return {}
        audit = self.audit(name)
        pool, at = audit.pool, int(audit.pool.positions([item])[0])
        sure = pool.confidence_of(at)
        hints: dict[str, Any] = {
            "predicted": ", ".join(_said(pool, at)),
            "confidence": None if sure is None else round(sure, 4),
            "group": audit.groups.names[audit.groups.group[at]],
        }
        return {what: hints[what] for what in self.settings.show if hints[what] is not None}


def mark_of(pool: Pool) -> str:
    """What a page says about the pool that it shows."""
    return pool.fingerprint[:16]


def _said(pool: Pool, item: int) -> list[str]:
    """What the model, or each of several models, predicted for an item."""
    if not pool.models:
        return [pool.classes[pool.predicted[item]]]
    answers = [pool.choices[k] if k >= 0 else NO_ANSWER for k in pool.answers[item].tolist()]
    return [f"{model}: {answer}" for model, answer in zip(pool.models, answers, strict=True)]
