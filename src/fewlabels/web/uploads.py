"""Forms and files that a browser sends: only from our own pages, and no larger than the owner allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser

from fewlabels.web.guard import ELSEWHERE, is_sealed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_DRAINED = 4  # times the largest upload: how much of one that is too large is read, so that its browser gets the answer
_MOST_FIELDS = 1_000
MOST_FILES = 20
"""The most models that come in a file each."""


class TooLargeError(Exception):
    """More bytes came than an upload may have."""


async def sent_form(request: Request) -> FormData:
    """Return the form of a request, if one of our own pages sent it: a form cannot send the token as a header."""
    form = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    check_seal(request, form)
    return form


def check_seal(request: Request, form: FormData) -> None:
    """Refuse a form that no page of ours has sent."""
    if request.state.by_cookie and not is_sealed(str(form.get("csrf", "")), request.state.token, "csrf"):
        raise HTTPException(403, ELSEWHERE)


Sent = Annotated[FormData, Depends(sent_form)]
"""The form of a request."""


async def uploaded(request: Request, most: int) -> FormData:
    """Read the form with its files, which are stored in unnamed temporary files until the request ends."""
    if not most:
        raise HTTPException(403, "this server takes no files. Use fewlabels new, or serve with --upload.")
    taken, stream = 0, request.stream()

    async def within() -> AsyncGenerator[bytes, None]:
        nonlocal taken
        async for chunk in stream:
            taken += len(chunk)
            if taken > most:
                raise TooLargeError
            yield chunk

    try:
        # A browser sends an empty field as a file without a name, and a few too many are refused beside the field.
        return await MultiPartParser(request.headers, within(), max_files=5 * MOST_FILES, max_fields=10).parse()
    except TooLargeError:
        async for chunk in stream:  # a browser shows no answer before it has sent everything
            taken += len(chunk)
            if taken > _DRAINED * most:
                break
        raise
    except (MultiPartException, KeyError) as error:
        words = f"this is not a form with at most {MOST_FILES} files. Go back and choose the files again."
        raise HTTPException(400, words) from error
