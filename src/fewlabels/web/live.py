"""Server-sent events: the log of an assessment has moved on."""

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
_LOOKS = 600  # then the browser connects anew: no connection stays for ever
_MOST = 100  # streams at once: each takes a connection and a look a second


async def changes(service: Service, name: str, token: str) -> AsyncIterator[str]:
    """One event now, and one for each time the log was found longer; it ends when the reader is locked out."""
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
    """The events, and while somebody reads them one stream more."""
    service.streams += 1
    try:
        async for event in events:
            yield event
    finally:
        service.streams -= 1


def stream(service: Service, name: str, token: str) -> StreamingResponse:
    """The answer to a page that wants to be told."""
    if service.streams >= _MOST:
        raise HTTPException(503, "too many pages watch already. Close some of them.")
    events = counted(service, changes(service, name, token))
    return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
