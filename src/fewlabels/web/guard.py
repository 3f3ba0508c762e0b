"""What every request passes before the app sees it: how large, by whom, how often; and the headers of the answer."""

from __future__ import annotations

import hashlib
import hmac
import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from fewlabels.web.errors import error_response

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fewlabels.people import People
    from fewlabels.web.settings import Settings

COOKIE = "fewlabels"
CSRF_HEADER = "x-csrf-token"
_SAFE = {"GET", "HEAD", "OPTIONS"}
# What may be had without signing in: the sign-in page itself, its script and style, and the description of the API.
_OPEN = ("/static/", "/sign-in", "/sign-out", "/healthz", "/api/v1/openapi.json")
_BURST = 10.0  # seconds' worth of requests
_MINUTE = 60.0


def csrf_token(token: str) -> str:
    """What a page must send along with a cookie: only a page of ours can know it, and it tells nothing of the token."""
    return hmac.new(token.encode(), b"fewlabels csrf", hashlib.sha256).hexdigest()


def content_policy(settings: Settings) -> str:
    """The content security policy: everything from here, nothing inline, images also from hosts the owner named."""
    images = " ".join(["'self'", "data:", *settings.image_hosts])
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


class Headed:
    """Adds the security headers to every answer that has none of its own."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._headers = {
            "content-security-policy": content_policy(settings),
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
            "cache-control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_headed)


class Sized:
    """Refuses bodies above a size, whether they say their length or not."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._largest = settings.largest
        self._words = f"the request is too large: {settings.largest:,} bytes at most. Send it in parts."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = Headers(scope=scope).get("content-length", "0")
        if not said.isascii() or not said.isdigit() or int(said) > self._largest:
            await error_response(413, self._words)(scope, receive, send)
            return
        taken = 0

        async def receive_some() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._largest:
                raise HTTPException(413, self._words)
            return message

        await self._app(scope, receive_some, send)


class Rates:
    """Token buckets by name: how often something may happen. Holds a bounded number of them."""

    def __init__(self, per_second: float, burst: float, most: int = 10_000) -> None:
        self._per_second = per_second
        self._burst = burst
        self._most = most
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str, now: float | None = None) -> bool:
        """Whether one more is allowed, which is then counted."""
        now = time.monotonic() if now is None else now
        left, then = self._buckets.pop(name, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._per_second)
        allowed = left >= 1
        if len(self._buckets) >= self._most:
            self._buckets.pop(next(iter(self._buckets)))  # the one not seen for longest
        self._buckets[name] = (left - allowed, now)
        return allowed

    def spent(self, name: str, now: float | None = None) -> bool:
        """Whether nothing is left, without counting."""
        now = time.monotonic() if now is None else now
        left, then = self._buckets.get(name, (self._burst, now))
        return min(self._burst, left + (now - then) * self._per_second) < 1


class SignedIn:
    """Lets nobody in without a valid token, by header or by cookie, and tells the app who it is.

    This stands before routing and validation, so that a stranger learns nothing but that they are one. With a cookie
    everything that changes something also needs the page's own CSRF token.
    """

    def __init__(self, app: ASGIApp, people: People, settings: Settings) -> None:
        self._app = app
        self._people = people
        self._often = Rates(settings.rate, settings.rate * _BURST)
        self._failed = Rates(settings.attempts / _MINUTE, settings.attempts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/" or scope["path"].startswith(_OPEN):
            scope.setdefault("state", {}).update(failed=self._failed)
            await self._app(scope, receive, send)
            return
        headers, address = Headers(scope=scope), (scope.get("client") or ("?", 0))[0]
        token, by_cookie = presented(headers)
        if self._failed.spent(address):
            answer: Response = too_many()
        elif (person := await run_in_threadpool(self._people.who, token) if token else None) is None:
            if token:
                self._failed.take(address)
            answer = _stranger(scope)
        elif by_cookie and scope["method"] not in _SAFE and not _has_csrf(headers, token):
            answer = error_response(403, "the request did not come from a page of this server. Reload the page.")
        elif not self._often.take(person.name):
            answer = error_response(429, "too many requests at once. Wait a second.", {"retry-after": "1"})
        else:
            scope.setdefault("state", {}).update(person=person, token=token)
            await self._app(scope, receive, send)
            return
        await answer(scope, receive, send)


def too_many() -> Response:
    """The answer after too many failed attempts."""
    return error_response(429, "too many failed attempts. Wait a minute and try again.", {"retry-after": "60"})


def _stranger(scope: Scope) -> Response:
    """To the sign-in page for somebody who looks at pages, 401 for everything else."""
    if scope["method"] in _SAFE and not scope["path"].startswith("/api/"):
        return RedirectResponse("/", status_code=303)
    words = "sign in first: with your personal link, or with a bearer token."
    return error_response(401, words, {"www-authenticate": "Bearer"})


def presented(headers: Headers) -> tuple[str, bool]:
    """The token of a request, and whether it came by cookie; the header has precedence."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return bearer.strip(), False
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return "", True
    return (cookie.value if cookie else ""), True


def _has_csrf(headers: Headers, token: str) -> bool:
    return hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), csrf_token(token).encode())
