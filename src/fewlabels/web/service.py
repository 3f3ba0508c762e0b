"""The assessments of one store, opened once and kept; and what is costly to compute, kept until the log moves on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from fewlabels.assessment import Assessment, load
from fewlabels.errors import InputError
from fewlabels.findings.phrases import question
from fewlabels.store.people import People
from fewlabels.web import messages as m
from fewlabels.web.content import parts_of
from fewlabels.web.errors import UnknownAssessmentError
from fewlabels.web.guard import seal

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.store import Store
    from fewlabels.web.content import Part
    from fewlabels.web.settings import Settings

T = TypeVar("T")


class Service:
    """What the routes share: the store's assessments by name, its people, and the settings."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.people = People(store)
        self._lock = threading.Lock()
        self._open: dict[str, Assessment] = {}
        self.streams = 0
        """How many pages are being told of changes."""
        self.closing: Callable[[], bool] = lambda: False
        """Whether the server is about to end, so that what goes on for long has to end as well."""
        self._kept: dict[tuple[str, str], tuple[object, Any]] = {}
        self._busy: dict[tuple[str, str], threading.Lock] = {}

    def names(self) -> list[str]:
        """The assessments there are."""
        return self.store.names()

    def audit(self, name: str) -> Assessment:
        """An assessment by name, loaded the first time it is wanted."""
        if name in self._open:
            return self._open[name]
        with self._lock:
            if name not in self._open:
                if name not in self.store.names():
                    raise UnknownAssessmentError(f"there is no assessment {name!r} here.")
                self._open[name] = load(self.store, name)
            return self._open[name]

    def kept(self, name: str, what: str, make: Callable[[Assessment], T], given: object = None) -> T:
        """Something costly about an assessment: computed once for each state of its log, by one thread.

        Of one kind only the last is kept, with what it was made for: its memory is bounded.
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
        """The names of those who label here: what others hold, such as a file for a spreadsheet, has no lease."""
        return {one.name for one in self.people.list()}

    def seq(self, name: str) -> int:
        """How far the log of an assessment is."""
        return self.audit(name).seq

    def summary(self, name: str) -> m.Summary:
        """An assessment in one line."""
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
        """Why annotators would see nothing of the items of an assessment but their ids; None if they see more."""
        audit = self.audit(name)
        try:
            shown = self.seen(name, str(audit.pool.ids[0].as_py()))
        except InputError as error:
            return str(error)
        return None if shown else "it has no content. Name the columns they look at, with --columns."

    def seen(self, name: str, item: str) -> dict[str, Any]:
        """What annotators may see of an item, by column."""
        return self.audit(name).item(item, columns=self.settings.columns or None)

    def item(self, name: str, item: str, token: str) -> m.Item:
        """An item as the page of the person with this token shows it."""
        return m.Item(id=item, parts=self._parts(name, item, token), hints=self._hints(name, item))

    def answers(self, name: str, annotator: str, most: int, token: str) -> list[m.Given]:
        """What a person said last, with the items, the newest first."""
        rows = self.audit(name).answers(annotator, most).rows()
        return [
            m.Given(**dict(self.item(name, row["id"], token)), label=row["label"], note=row["note"]) for row in rows
        ]

    def disputed(self, name: str, most: int, token: str) -> tuple[list[m.Disputed], int]:
        """The items that wait for the owner, as a page shows them; and how many there are in all."""
        waiting = self.audit(name).disputed()
        shown = [
            m.Disputed(id=one.id, parts=self._parts(name, one.id, token), votes=dict(one.votes), skips=dict(one.skips))
            for one in waiting[:most]
        ]
        return shown, len(waiting)

    def _parts(self, name: str, item: str, token: str) -> list[Part]:
        # Who knows an id but was not handed the item does not get its file: the address is sealed for one person.
        query = urlencode({"id": item, "seal": seal(token, "content", name, item)}, quote_via=quote)
        return parts_of(
            self.seen(name, item), self.settings, f"/api/v1/assessments/{quote(name, safe='')}/content?{query}"
        )

    def _hints(self, name: str, item: str) -> dict[str, Any]:
        """What the owner has switched on to be seen beside the item; nothing by default."""
        if not self.settings.show:
            return {}
        audit = self.audit(name)
        pool, at = audit.pool, int(audit.pool.positions([item])[0])
        hints: dict[str, Any] = {
            "predicted": pool.classes[pool.predicted[at]],
            "confidence": None if pool.confidence is None else round(float(pool.confidence[at]), 4),
            "group": audit.groups.names[audit.groups.group[at]],
        }
        return {what: hints[what] for what in self.settings.show if hints[what] is not None}
