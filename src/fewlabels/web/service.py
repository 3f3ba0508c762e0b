"""The assessments of one store, opened once, and costly results, which are kept until the log grows."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from fewlabels.assessment import Assessment, load
from fewlabels.errors import InputError
from fewlabels.findings.phrases import question
from fewlabels.pool import NO_ANSWER
from fewlabels.store.people import People
from fewlabels.web import messages as m
from fewlabels.web.content import parts_of
from fewlabels.web.errors import UnknownAssessmentError
from fewlabels.web.guard import seal

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.pool import Pool
    from fewlabels.store import Store
    from fewlabels.web.content import Part
    from fewlabels.web.settings import Settings

T = TypeVar("T")


class Service:
    """The shared state of the routes: the store's assessments by name, its people, and the settings."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.people = People(store)
        self._lock = threading.Lock()
        self._open: dict[str, Assessment] = {}
        self.streams = 0
        """The number of pages that follow a log."""
        self.closing: Callable[[], bool] = lambda: False
        """Whether the server is about to stop, so that long answers must end as well."""
        self._kept: dict[tuple[str, str], tuple[object, Any]] = {}
        self._busy: dict[tuple[str, str], threading.Lock] = {}

    def names(self) -> list[str]:
        """List the names of the assessments."""
        return self.store.names()

    def audit(self, name: str) -> Assessment:
        """Return an assessment by name, loaded when it is first needed."""
        if name in self._open:
            return self._open[name]
        with self._lock:
            if name not in self._open:
                if name not in self.store.names():
                    raise UnknownAssessmentError(f"there is no assessment {name!r} here.")
                self._open[name] = load(self.store, name)
            return self._open[name]

    def kept(self, name: str, what: str, make: Callable[[Assessment], T], given: object = None) -> T:
        """Return a costly result about an assessment, computed once for each state of its log, by one thread.

        Only the last result of each kind is kept, so that memory is bounded.
        """
        audit, key = self.audit(name), (name, what)
        with self._lock:
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            state = audit.seq, given
            if key not in self._kept or self._kept[key][0] != state:
                self._kept[key] = (state, make(audit))
            return self._kept[key][1]

    def everybody(self) -> set[str]:
        """Return the names of those who label here; items that others hold, such as in a file, have no lease."""
        return {person.name for person in self.people.list()}

    def seq(self, name: str) -> int:
        """Return the number of the last event in an assessment's log."""
        return self.audit(name).seq

    def summary(self, name: str) -> m.Summary:
        """Summarise an assessment in one line."""
        audit = self.audit(name)
        progress = audit.by_group()
        return m.Summary(
            name=name,
            question=question(audit),
            labels=sum(progress["labelled"]),
            pending=sum(progress["pending"]),
            items=len(audit.pool),
            groups=len(audit.groups),
        )

    def blind(self, name: str) -> str | None:
        """Explain why annotators would see only the ids of the items; None if they see more."""
        audit = self.audit(name)
        try:
            shown = self.seen(name, str(audit.pool.ids[0].as_py()))
        except InputError as error:
            return str(error)
        return None if shown else "it has no content. Name the columns to show with --columns."

    def seen(self, name: str, item: str) -> dict[str, Any]:
        """Return what annotators may see of an item, by column."""
        return self.audit(name).item(item, columns=self.settings.columns or None)

    def item(self, name: str, item: str, token: str) -> m.Item:
        """Return an item as it is shown to the holder of a token."""
        return m.Item(id=item, parts=self._parts(name, item, token), hints=self._hints(name, item))

    def answers(self, name: str, annotator: str, most: int, token: str) -> list[m.Given]:
        """Return a person's last answers with their items, newest first."""
        rows = self.audit(name).answers(annotator, most).rows()
        return [
            m.Given(**dict(self.item(name, row["id"], token)), label=row["label"], note=row["note"]) for row in rows
        ]

    def disputed(self, name: str, most: int, token: str) -> tuple[list[m.Disputed], int]:
        """Return the first items that wait for the owner, as a page shows them, and their number in all."""
        waiting = self.audit(name).disputed()
        shown = [
            m.Disputed(
                id=item.id, parts=self._parts(name, item.id, token), votes=dict(item.votes), skips=dict(item.skips)
            )
            for item in waiting[:most]
        ]
        return shown, len(waiting)

    def _parts(self, name: str, item: str, token: str) -> list[Part]:
        # The address is sealed for one person: knowing an id is not enough to get the file of its item.
        query = urlencode({"id": item, "seal": seal(token, "content", name, item)}, quote_via=quote)
        return parts_of(
            self.seen(name, item), self.settings, f"/api/v1/assessments/{quote(name, safe='')}/content?{query}"
        )

    def _hints(self, name: str, item: str) -> dict[str, Any]:
        """Return the hints that the owner allows beside an item; none by default."""
        if not self.settings.show:
            return {}
        audit = self.audit(name)
        pool, at = audit.pool, int(audit.pool.positions([item])[0])
        hints: dict[str, Any] = {
            "predicted": ", ".join(_said(pool, at)),
            "confidence": None if pool.confidence is None else round(float(pool.confidence[at]), 4),
            "group": audit.groups.names[audit.groups.group[at]],
        }
        return {what: hints[what] for what in self.settings.show if hints[what] is not None}


def _said(pool: Pool, item: int) -> list[str]:
    """What the model predicted for an item, or what each of several models did."""
    if not pool.models:
        return [pool.classes[pool.predicted[item]]]
    said = [pool.choices[k] if k >= 0 else NO_ANSWER for k in pool.answers[item].tolist()]
    return [f"{model}: {answer}" for model, answer in zip(pool.models, said, strict=True)]
