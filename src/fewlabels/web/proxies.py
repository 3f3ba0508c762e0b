"""Reverse proxies: who really called, and under which path people reach this app."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from fewlabels.web.settings import Settings

PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
"""A path such as /lab or /team/lab; nothing that could lead elsewhere or end an attribute of a page."""


def route_of(scope: Scope) -> str:
    """Return the path of a request below the prefix of the app: the path that routes are about."""
    path, root = scope["path"], scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path if path != root or not root else "/"


class Proxied:
    """Middleware that puts the prefix of the app into the request, and the address of who called through a proxy.

    A proxy may remove the prefix before it passes a request on, or leave it: both work. What a request says about
    itself in `X-Forwarded-For` and `X-Forwarded-Prefix` counts only if it comes from a proxy that the owner trusts.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._root = settings.root_path
        self._trusted = frozenset(settings.proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = self._seen(scope)
        await self._app(scope, receive, send)

    def _seen(self, scope: Scope) -> Scope:
        root = self._root
        changed = dict(scope)
        client = scope.get("client")
        if client is not None and client[0] in self._trusted:
            headers = Headers(scope=scope)
            if hops := [hop.strip() for hop in headers.get("x-forwarded-for", "").split(",") if hop.strip()]:
                # The last hop that is not one of our proxies: anybody could have written what comes before it.
                caller = next((hop for hop in reversed(hops) if hop not in self._trusted), hops[0])
                changed["client"] = (caller, 0)
            prefix = headers.get("x-forwarded-prefix", "").rstrip("/")
            root = root or (prefix if PREFIX.fullmatch(prefix) else "")
        if root:
            path = scope["path"]
            outer = scope.get("root_path", "")
            whole = path if path == root or path.startswith(f"{root}/") else root + path
            changed |= {"root_path": outer or root, "path": path if outer else whole}
            changed["raw_path"] = changed["path"].encode()
        return changed
