"""Connections that send no request: they are closed after a while, or sooner if there are too many."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 500
"""Connections at once. Systems allow a process about a thousand open files."""
_PATIENCE = 15.0  # seconds for the whole head of a request, however slowly it comes
_Protocol: Any = AutoHTTPProtocol


class Connection(_Protocol):  # type: ignore[misc]  # uvicorn has two, and takes the quicker one that is installed
    """uvicorn's connection with a limit on the time that the head of a request may take.

    uvicorn itself waits for ever for the first request of a connection, and refuses everybody when there are too many
    connections. Here the connection that has waited longest is closed to make room, from the address that has most.
    """

    since = 0.0
    """When it began to wait for a request."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST and (idle := _in_the_way(self.connections, self)) is not None:
            idle.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. The time is counted from its first part."""
        super().data_received(data)
        if self.is_idle and not self.transport.is_closing():
            if self._deadline is None:
                self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that was closed."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self.since = loop.time()
        self._deadline = loop.call_later(_PATIENCE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.is_idle:
            self.transport.abort()


def _in_the_way(connections: Iterable[Connection], newest: Connection) -> Connection | None:
    """Return the idle connection that waits longest, of the address with most; None if all others are busy."""
    idle = [
        connection
        for connection in connections
        if connection is not newest and connection.is_idle and not connection.transport.is_closing()
    ]
    by_address: dict[object, list[Connection]] = {}
    for connection in idle:
        by_address.setdefault(connection.client and connection.client[0], []).append(connection)
    most = max(by_address.values(), key=len, default=[])
    return min(most, key=lambda connection: connection.since, default=None)
