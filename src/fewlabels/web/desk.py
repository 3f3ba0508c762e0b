"""The assessments of one store, opened once and kept; and what is costly to compute, kept until the log moves on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from fewlabels.assessment import Assessment, load
from fewlabels.people import People
from fewlabels.report.plainly import question
from fewlabels.web import messages as m
from fewlabels.web.content import parts_of
from fewlabels.web.errors import UnknownAssessmentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.store import Store
    from fewlabels.web.content import Part
    from fewlabels.web.settings import Settings

T = TypeVar("T")


class Desk:
    """What the routes share: the store's assessments by name, its people, and the settings."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.people = People(store)
        self._lock = threading.Lock()
        self._open: dict[str, Assessment] = {}
        self._kept: dict[tuple[str, str], tuple[int, Any]] = {}
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

    def kept(self, name: str, what: str, make: Callable[[Assessment], T]) -> T:
        """Something costly about an assessment: computed once for each state of its log, by one thread."""
        audit, key = self.audit(name), (name, what)
        with self._lock:
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            seq = audit.seq
            if key not in self._kept or self._kept[key][0] != seq:
                self._kept[key] = (seq, make(audit))
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

    def seen(self, name: str, item: str) -> dict[str, Any]:
        """What annotators may see of an item, by column."""
        return self.audit(name).item(item, columns=self.settings.columns or None)

    def item(self, name: str, item: str) -> m.Item:
        """An item as a page shows it."""
        return m.Item(id=item, parts=self._parts(name, item), hints=self._hints(name, item))

    def disputed(self, name: str, most: int) -> list[m.Disputed]:
        """The items that wait for the owner, as a page shows them."""
        return [
            m.Disputed(id=one.id, parts=self._parts(name, one.id), votes=dict(one.votes), skips=dict(one.skips))
            for one in self.audit(name).disputed()[:most]
        ]

    def _parts(self, name: str, item: str) -> list[Part]:
        address = f"/api/v1/assessments/{quote(name, safe='')}/content?id={quote(item, safe='')}"
        return parts_of(self.seen(name, item), self.settings, address)

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
