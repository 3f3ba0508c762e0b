"""One shape for everything that goes wrong: {"error": {"code": ..., "message": ...}}."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from fewlabels.errors import FewlabelsError, InputError, LabelError, PoolChangedError, SpecError, StoreError

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

_CODES = {400: "bad-request", 401: "sign-in", 403: "forbidden", 404: "not-found", 405: "method-not-allowed"}
_CODES |= {409: "conflict", 413: "too-large", 422: "invalid", 429: "too-many", 503: "unavailable"}
# What a caller did wrong is 4xx and can be mended by them; a database that refuses is 503 and may be tried again.
_STATUS: tuple[tuple[type[FewlabelsError], int], ...] = (
    (LabelError, 409),
    (InputError, 400),
    (SpecError, 400),
    (PoolChangedError, 409),
    (StoreError, 503),
    (FewlabelsError, 400),
)


class Problem(BaseModel):
    """What went wrong."""

    code: str
    message: str


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    error: Problem


class UnknownAssessmentError(FewlabelsError):
    """There is no assessment of that name here."""


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error as every part of the app answers it."""
    body = {"error": {"code": _CODES.get(status, "error"), "message": message}}
    return JSONResponse(body, status_code=status, headers=headers)


def add_handlers(app: FastAPI) -> None:
    """Let every error leave in the one shape."""

    @app.exception_handler(HTTPException)
    async def refused(_request: Request, error: HTTPException) -> JSONResponse:
        return error_response(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        return error_response(422, "; ".join(_in_words(one) for one in error.errors()[:5]))

    @app.exception_handler(UnknownAssessmentError)
    async def unknown(_request: Request, error: UnknownAssessmentError) -> JSONResponse:
        return error_response(404, str(error))

    @app.exception_handler(FewlabelsError)
    async def ours(_request: Request, error: FewlabelsError) -> JSONResponse:
        status = next(status for kind, status in _STATUS if isinstance(error, kind))
        return error_response(status, str(error))


def _in_words(problem: dict[str, Any] | Any) -> str:  # noqa: ANN401  (pydantic's own dictionaries)
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}"
