"""Errors, which all have the same shape: {"error": {"code": ..., "message": ...}}."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from fewlabels.errors import FewlabelsError, LabelError, StoreError, WrongNameError
from fewlabels.store import GoneError
from fewlabels.web.proxies import route_of
from fewlabels.wording import harmless

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from starlette.responses import Response
    from starlette.types import Scope

_CODES = {400: "bad-request", 401: "sign-in", 403: "forbidden", 404: "not-found", 405: "method-not-allowed"}
_CODES |= {408: "too-slow", 409: "conflict", 413: "too-large", 422: "invalid", 429: "too-many", 503: "unavailable"}
CANNOT_USE = "the server cannot use its database at the moment. Try again; the server's log says more."
"""What people are told when the database cannot be used."""
_GONE = "this assessment was removed, or begun again, a moment ago. Try again."
CANNOT_OPEN = "it cannot be opened at the moment; the server's log says why."
"""What people are told about an assessment that is damaged or incomplete."""
_NO_PAGE = "there is nothing at this address. Go back to the start page, or look for a typing error in it."
_BROKEN = "something went wrong in the server. Try again; the server's log says more."
_log = logging.getLogger(__name__)


class Problem(BaseModel):
    """A problem: its code and a message."""

    code: str
    message: str


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    error: Problem


class UnknownAssessmentError(FewlabelsError):
    """There is no assessment of that name here."""


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error in the shape that every part of the app uses."""
    body = {"error": {"code": _CODES.get(status, "error"), "message": message}}
    return JSONResponse(body, status_code=status, headers=headers)


def add_handlers(app: FastAPI) -> None:
    """Give every error the same shape; a browser that asked for a page gets a page."""

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        # Where the framework has found nothing, its words are those of the protocol.
        message = _NO_PAGE if (error.status_code, error.detail) == (404, "Not Found") else str(error.detail)
        return _shown(request, error.status_code, message, dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _shown(request, 422, "; ".join(_in_words(problem) for problem in error.errors()[:5]))

    @app.exception_handler(UnknownAssessmentError)
    async def unknown(request: Request, error: UnknownAssessmentError) -> Response:
        return _shown(request, 404, str(error))

    @app.exception_handler(FewlabelsError)
    async def ours(request: Request, error: FewlabelsError) -> Response:
        return _shown(request, 409 if isinstance(error, LabelError) else 400, str(error))  # the caller can correct it

    @app.exception_handler(StoreError)
    async def lost(request: Request, error: StoreError) -> Response:
        """Problems with the database are for the person who runs the server: their messages name files and hosts."""
        _note(request.scope, error)
        return _shown(request, 503, CANNOT_USE, {"retry-after": "5"})

    @app.exception_handler(GoneError)
    async def replaced(request: Request, error: GoneError) -> Response:
        """The next request opens whatever has the name by then. A page sends its answer again, and learns its fate."""
        _note(request.scope, error)
        return _shown(request, 503, _GONE, {"retry-after": "1"})

    @app.exception_handler(WrongNameError)
    async def taken_or_unknown(request: Request, error: WrongNameError) -> Response:
        return _shown(request, 409, str(error))

    @app.exception_handler(ClientDisconnect)
    async def gone(_request: Request, _error: ClientDisconnect) -> Response:
        return error_response(400, "the rest of the request did not arrive.")  # the caller is gone

    @app.exception_handler(Exception)
    async def broken(_request: Request, _error: Exception) -> Response:
        return error_response(500, _BROKEN)  # the server logs it


def unavailable(scope: Scope, error: StoreError) -> Response:
    """Return the answer to a request when the database is gone; one line in the log says more."""
    _note(scope, error)
    return error_response(503, CANNOT_USE, {"retry-after": "5"})


def _note(scope: Scope, error: FewlabelsError) -> None:
    """Write one line to the log, with nothing in it that could start another line or command a terminal."""
    _log.error("%s", harmless(f"{scope['method']} {scope['path']}: {error}"))


def _shown(request: Request, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    if route_of(request.scope).startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return error_response(status, message, headers)
    page = request.app.state.pages.get_template("error.html")
    root = request.scope.get("root_path", "")
    text = page.render(person=request.state.person, csrf="", name=None, here="", message=message, root=root)
    return HTMLResponse(text, status_code=status, headers=headers)


def _in_words(problem: dict[str, Any] | Any) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}"
