"""Server-sent events: the log of an assessment has moved on."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fewlabels.web.desk import Desk

_EVERY = 1.0  # seconds between two looks at the log
_QUIET = 15  # looks without a change after which a sign of life is sent, for proxies
_LOOKS = 600  # then the browser connects anew: no connection stays for ever


async def changes(desk: Desk, name: str) -> AsyncIterator[str]:
    """One event now, and one for each time the log was found longer; of bounded length."""
    seq, quiet = -1, 0
    for _ in range(_LOOKS):
        now = await run_in_threadpool(desk.seq, name)
        if now != seq:
            seq, quiet = now, 0
            yield f"event: change\ndata: {json.dumps({'seq': seq})}\n\n"
        elif (quiet := quiet + 1) >= _QUIET:
            quiet = 0
            yield ": still here\n\n"
        await asyncio.sleep(_EVERY)


def stream(desk: Desk, name: str) -> StreamingResponse:
    """The answer to a page that wants to be told."""
    return StreamingResponse(changes(desk, name), media_type="text/event-stream", headers={"x-accel-buffering": "no"})
