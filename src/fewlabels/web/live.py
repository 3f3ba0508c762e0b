"""Server-sent events that say that the log of an assessment has grown."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from fewlabels.errors import StoreError
from fewlabels.web.errors import UnknownAssessmentError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.datastructures import State
    from starlette.types import Receive, Scope, Send

    from fewlabels.store.people import Person
    from fewlabels.web.service import Service

_EVERY = 1.0  # seconds between two looks at the log
_QUIET = 15  # looks without a change after which a sign of life is sent, for proxies
_LOOKS = 600  # then the browser connects again: no connection stays open for ever
_MOST = 100  # streams at once: each takes a connection and one look per second
_MOST_OF_ONE = 20  # of one person


async def changes(service: Service, name: str, token: str, *, is_session: bool) -> AsyncIterator[str]:
    """Yield one event now, and one whenever the log has grown, until the reader is locked out."""
    seq, quiet = -1, 0
    for _ in range(_LOOKS):
        try:
            if service.closing() or await run_in_threadpool(service.known.who, token, is_session=is_session) is None:
                return
            now = await run_in_threadpool(service.events, name)
        except (StoreError, UnknownAssessmentError):
            return  # the page connects again, and by then the database may be back
        if now != seq:
            seq, quiet = now, 0
            yield f"event: change\ndata: {json.dumps({'seq': seq})}\n\n"
        elif (quiet := quiet + 1) >= _QUIET:
            quiet = 0
            yield ": still here\n\n"
        await asyncio.sleep(_EVERY)


class Streams:
    """The pages that follow a log now. A new one is counted before its response begins, so that the limit is kept."""

    def __init__(self, most: int = _MOST, most_of_one: int = _MOST_OF_ONE) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._lock = threading.Lock()
        self.open: Counter[str] = Counter()
        """The open pages of each person."""

    def begin(self, person: str) -> None:
        """Count one more page of somebody, or refuse it."""
        with self._lock:
            if self.open.total() >= self._most or self.open[person] >= self._most_of_one:
                raise HTTPException(503, "too many pages are open already. Close some of them.", {"retry-after": "30"})
            self.open[person] += 1

    def end(self, person: str) -> None:
        """Count one page less."""
        with self._lock:
            self.open[person] -= 1
            if self.open[person] <= 0:
                del self.open[person]


class _Following(StreamingResponse):
    """A stream that is counted until it has ended, even if its first event was never sent."""

    def __init__(self, events: AsyncIterator[str], end: Callable[[], None]) -> None:
        super().__init__(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._end()


def stream(service: Service, name: str, person: Person, state: State) -> StreamingResponse:
    """Return the response to a page that follows the log."""
    service.streams.begin(person.name)
    events = changes(service, name, state.token, is_session=state.by_cookie)
    return _Following(events, lambda: service.streams.end(person.name))
