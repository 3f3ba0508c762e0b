"""Checks on every request before the app sees it (size, sign-in, rate), and the headers of every answer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import threading
import time
from typing import TYPE_CHECKING

from python_multipart.multipart import parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse

from fewlabels.errors import StoreError
from fewlabels.web.errors import error_response, unavailable
from fewlabels.web.proxies import route_of

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fewlabels.store.people import People, Person
    from fewlabels.store.sessions import Sessions
    from fewlabels.web.settings import Settings

CSRF_HEADER = "x-csrf-token"
MONTH = 30 * 24 * 3600
"""Seconds for which a browser keeps a cookie."""
_SAFE = {"GET", "HEAD", "OPTIONS"}
# Open without signing in: the sign-in page itself, its script and style, and the description of the API. These are
# paths below the prefix of the app, wherever it is mounted.
_OPEN = {"/sign-in", "/sign-in/form", "/sign-out", "/api/v1/openapi.json"}
_FILES = "/static/"
_HEALTH = "/healthz"
_OURS = {"", "same-origin", "none"}  # origins that a browser may report for a request; other clients report none
_BURST = 10.0  # seconds' worth of requests
_MINUTE = 60.0
_DIGITS = 20  # of the length of a body
_PATIENCE = 30.0  # seconds for each part of a body
SIGN_IN = "sign in first: with your personal link, or with a bearer token."
ELSEWHERE = "the request did not come from a page of this server. Reload the page."
UPLOAD = "/new/upload"
"""Where owners send files: the only request that may be large."""
# Plain forms below these paths have the page's token as a field, which their routes check (plain.sealed_form,
# making.sent_form): this guard reads no bodies.
_FORMS = ("/form/", "/new/")
_UTF_8 = (b"utf-8", b"utf8")
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


def seal(token: str, *what: str) -> str:
    """Return a seal: proof that the server handed something to the holder of a token, without revealing the token.

    >>> seal("a token", "a name", "an id") == seal("a token", "a name an id")
    False
    """
    text = json.dumps(what).encode()
    return hmac.new(token.encode(errors="surrogatepass"), text, hashlib.sha256).hexdigest()


def is_sealed(shown: str, token: str, *what: str) -> bool:
    """Return whether a text is the right seal, compared in constant time."""
    return hmac.compare_digest(shown.encode(errors="surrogatepass"), seal(token, *what).encode())


def csrf_token(token: str) -> str:
    """Return the token that a page must send along with a cookie: only our own pages know it."""
    return seal(token, "csrf")


def cookie_name(headers: Headers, scope: Scope, settings: Settings) -> str:
    """Return the name of this server's cookie.

    Browsers send cookies to all ports and paths of a host. With the port and the prefix in the name, two servers on one
    computer do not sign out each other's people. With https, "__Host-" keeps neighbouring hosts from setting it.
    """
    place = scope.get("root_path", "").replace("/", "-")
    if settings.secure:
        return f"__Host-fewlabels{place}"
    port = headers.get("host", "").rpartition(":")[2]
    return f"fewlabels-{port}{place}" if port.isascii() and port.isdigit() else f"fewlabels{place}"


def content_policy(settings: Settings) -> str:
    """Return the content security policy: all from this server, nothing inline, images also from allowed hosts."""
    images = " ".join(["'self'", "data:", *settings.image_hosts])
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


class Headed:
    """Middleware that adds the security headers to every answer that does not set its own.

    It also answers whether the server is running, which must not wait for anything, and removes requests for ranges: no
    page needs them, and thousands of small ranges of one file are costly to send.
    """

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
        scope["headers"] = [header for header in scope["headers"] if header[0] != b"range"]

        async def send_headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        is_health = route_of(scope) == _HEALTH and scope["method"] in _SAFE
        await (JSONResponse({"ok": True}) if is_health else self._app)(scope, receive, send_headed)


class Sized:
    """Middleware that refuses bodies that are too large, whether or not they state their length, or do not arrive."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._usual = settings.largest
        self._upload = max(settings.largest, 4 * settings.upload)  # the route refuses more than `upload`, on its page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        largest = self._upload if route_of(scope) == UPLOAD else self._usual
        words = f"the request is too large: at most {largest:,} bytes are allowed. Send it in parts."
        length = Headers(scope=scope).get("content-length", "0")
        # A number that is too long for Python to read is too large as well.
        if not length.isascii() or not length.isdigit() or len(length) > _DIGITS or int(length) > largest:
            await error_response(413, words)(scope, receive, send)
            return
        taken, is_whole = 0, False

        async def receive_some() -> Message:
            nonlocal taken, is_whole
            if is_whole:
                return await receive()  # nothing more is sent: wait until the caller disconnects
            try:
                message = await asyncio.wait_for(receive(), _PATIENCE)
            except TimeoutError:
                raise HTTPException(408, "the rest of the request did not arrive. Send it again.") from None
            taken += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            if taken > largest:
                raise HTTPException(413, words)
            return message

        await self._app(scope, receive_some, send)


class Rates:
    """Token buckets by name, which limit how often something may happen. Their number is bounded."""

    def __init__(self, per_second: float, burst: float, most: int = 10_000) -> None:
        self._per_second = per_second
        self._burst = burst
        self._most = most
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, name: str, now: float | None = None) -> bool:
        """Return whether one more is allowed, and count it if so."""
        now = time.monotonic() if now is None else now
        with self._lock:
            left, then = self._buckets.pop(name, (self._burst, now))
            left = min(self._burst, left + (now - then) * self._per_second)
            allowed = left >= 1
            if len(self._buckets) >= self._most:
                self._buckets.pop(next(iter(self._buckets)))  # the one not seen for longest
            self._buckets[name] = (left - allowed, now)
        return allowed


class Remembered:
    """Who holds a credential, remembered for a moment: a page makes many requests, and the answer rarely changes.

    `seconds` is how long somebody who was locked out elsewhere can still get in; with 0, every request is looked up.
    Only valid credentials are remembered, by their digest, so that nobody can fill the memory.
    """

    def __init__(self, people: People, sessions: Sessions, seconds: float, most: int = 10_000) -> None:
        self._people = people
        self._sessions = sessions
        self._seconds = seconds
        self._most = most
        self._known: dict[tuple[bool, bytes], tuple[Person, float]] = {}
        self._forgotten = 0

    def glance(self, credential: str, *, is_session: bool) -> Person | None:
        """Return who holds a credential, if that is remembered."""
        remembered = self._known.get(_place(credential, is_session))
        return remembered[0] if remembered is not None and time.monotonic() < remembered[1] else None

    def who(self, credential: str, *, is_session: bool) -> Person | None:
        """Return who holds a token, or a session, from the database."""
        before, place = self._forgotten, _place(credential, is_session)
        person = (self._sessions if is_session else self._people).who(credential)
        if person is None:
            self._known.pop(place, None)
        elif self._seconds > 0 and self._forgotten == before:  # otherwise they may have been locked out meanwhile
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[place] = person, time.monotonic() + self._seconds
        return person

    def forget(self) -> None:
        """Look everybody up again: somebody was invited, locked out or signed out."""
        self._forgotten += 1
        self._known.clear()


def _place(credential: str, is_session: bool) -> tuple[bool, bytes]:
    return is_session, hashlib.sha256(credential.encode(errors="surrogatepass")).digest()


class SignedIn:
    """Middleware that requires a valid token by header, or a session by cookie, and passes the person on to the app.

    It runs before routing and validation, so that a stranger learns only that they must sign in. With a cookie, every
    request that changes something also needs the page's CSRF token. Failed attempts are counted by address, but a valid
    token always gets in: nobody can lock out others who share their address.
    """

    def __init__(self, app: ASGIApp, known: Remembered, settings: Settings) -> None:
        self._app = app
        self._known = known
        self._settings = settings
        self._often = Rates(settings.rate, settings.rate * _BURST)
        self._failed = Rates(settings.attempts / _MINUTE, settings.attempts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            app = await self._admitted(scope)
        except StoreError as error:
            app = unavailable(scope, error)
        await app(scope, receive, send)

    async def _admitted(self, scope: Scope) -> ASGIApp:
        """Return the app, if the request may reach it; otherwise the answer that refuses it."""
        headers, address = Headers(scope=scope), (scope.get("client") or ("?", 0))[0]
        token, by_cookie = presented(headers, scope, self._settings)
        state = scope.setdefault("state", {})
        state.update(person=None, token=token, by_cookie=by_cookie, failed=lambda: not self._failed.take(address))
        changes = scope["method"] not in _SAFE
        if changes and (wrong := _sent_by_no_page(headers)) is not None:
            return wrong
        route = route_of(scope)
        if route in _OPEN or route.startswith(_FILES):
            return self._app
        person = await self._who(token, is_session=by_cookie) if token else None
        if person is None:
            refused = too_many() if token and state["failed"]() else _stranger(scope, route)
            return self._app if route == "/" else refused
        has_field = route.startswith(_FORMS) and headers.get("content-type", "").startswith(_FORM_TYPES)
        if by_cookie and changes and not has_field and not is_sealed(headers.get(CSRF_HEADER, ""), token, "csrf"):
            return error_response(403, ELSEWHERE)
        if not self._often.take(person.name):
            return error_response(429, "too many requests at once. Wait a second.", {"retry-after": "1"})
        state.update(person=person)
        return self._app

    async def _who(self, credential: str, *, is_session: bool) -> Person | None:
        remembered = self._known.glance(credential, is_session=is_session)
        return remembered or await run_in_threadpool(self._known.who, credential, is_session=is_session)


def _sent_by_no_page(headers: Headers) -> Response | None:
    """Return the refusal of a request that changes something and cannot come from a page of this server."""
    if headers.get("sec-fetch-site", "") not in _OURS:
        return error_response(403, ELSEWHERE)
    if _is_odd(headers.get("content-type", "")):
        return error_response(400, "the form is not written in UTF-8, as pages are. Send it in UTF-8.")
    return None


def _is_odd(content_type: str) -> bool:
    """Return whether a form names an encoding other than that of pages: some yield texts that nobody can store."""
    if "charset" not in content_type.lower():
        return False
    kind, options = parse_options_header(content_type)
    return kind.decode("latin-1") in _FORM_TYPES and options.get(b"charset", b"utf-8").lower() not in _UTF_8


def too_many() -> Response:
    """Return the response after too many failed attempts."""
    return error_response(429, "too many failed attempts. Wait a minute and try again.", {"retry-after": "60"})


def _stranger(scope: Scope, route: str) -> Response:
    """Redirect browsers to the sign-in page, and answer everything else with 401."""
    if scope["method"] in _SAFE and not route.startswith("/api/"):
        return RedirectResponse(f"{scope.get('root_path', '')}/", status_code=303)
    return error_response(401, SIGN_IN, {"www-authenticate": "Bearer"})


def presented(headers: Headers, scope: Scope, settings: Settings) -> tuple[str, bool]:
    """Return the token or session of a request, and whether it came by cookie; the header takes precedence."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return bearer.strip(), False
    # http.cookies would drop our cookie too if another program on this host has set an odd one.
    name = cookie_name(headers, scope, settings)
    return cookie_parser("; ".join(headers.getlist("cookie"))).get(name, ""), True
