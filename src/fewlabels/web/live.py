"""Server-sent events that say that the log of an assessment has grown."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fewlabels.web.service import Service

_EVERY = 1.0  # seconds between two looks at the log
_QUIET = 15  # looks without a change after which a sign of life is sent, for proxies
_LOOKS = 600  # then the browser connects again: no connection stays open for ever
_MOST = 100  # streams at once: each takes a connection and one look per second


async def changes(service: Service, name: str, token: str) -> AsyncIterator[str]:
    """Yield one event now, and one whenever the log has grown, until the reader is locked out."""
    seq, quiet = -1, 0
    for _ in range(_LOOKS):
        if service.closing() or await run_in_threadpool(service.people.who, token) is None:
            return
        now = await run_in_threadpool(service.seq, name)
        if now != seq:
            seq, quiet = now, 0
            yield f"event: change\ndata: {json.dumps({'seq': seq})}\n\n"
        elif (quiet := quiet + 1) >= _QUIET:
            quiet = 0
            yield ": still here\n\n"
        await asyncio.sleep(_EVERY)


async def counted(service: Service, events: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield the events, and count the stream while somebody reads it."""
    service.streams += 1
    try:
        async for event in events:
            yield event
    finally:
        service.streams -= 1


def stream(service: Service, name: str, token: str) -> StreamingResponse:
    """Return the answer to a page that follows the log."""
    if service.streams >= _MOST:
        raise HTTPException(503, "too many pages are open already. Close some of them.")
    events = counted(service, changes(service, name, token))
    return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
