"""Forms that need no script: label, decide, change an answer, invite, and write the guide."""

from __future__ import annotations

import re
import secrets
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from fewlabels.errors import InputError, LabelError, StoreError, WrongNameError
from fewlabels.io.guides import descriptions_in
from fewlabels.store.people import Person
from fewlabels.web import messages as m
from fewlabels.web import pages
from fewlabels.web.api import Anyone, Here, Owner, Visiting, invite_again, invited, keep_signed_in, revoke
from fewlabels.web.guard import ELSEWHERE, is_sealed, too_many
from fewlabels.web.service import Service


async def sealed_form(request: Request, csrf: Annotated[str, Form()] = "") -> None:
    """Refuse a form that does not come from a page of this server; a bearer token is never sent by accident."""
    if request.state.by_cookie and not is_sealed(csrf, request.state.token, "csrf"):
        raise HTTPException(403, ELSEWHERE)


def same_pool(request: Request, service: Here, pool: Annotated[str, Form()] = "") -> None:
    """Refuse a form that is about the items of another pool."""
    service.check_page(request.path_params.get("name", ""), pool)


router = APIRouter(prefix="/form", dependencies=[Depends(sealed_form), Depends(same_pool)])
door = APIRouter()
"""The form that strangers may send."""
Words = Annotated[str, Form(max_length=100_000)]
Short = Annotated[str, Form(max_length=4000)]  # classes have Words: they come from the pool
Named = Annotated[str, Form(min_length=1, max_length=100)]  # as in messages.Name
_SAVED = "Your answer is saved. The next item cannot be read at the moment; the server's log says why."


def _to(request: Request, path: str, name: str, more: str = "") -> Response:
    return RedirectResponse(f"{pages.root_of(request)}/{path}/{quote(name, safe='')}{more}", status_code=303)


@door.post("/sign-in/form")
def sign_in(request: Request, service: Here, token: Short = "") -> Response:
    """Exchange a token, or the link that ends in it, for a cookie."""
    token = token.strip().rpartition("#")[2]
    if service.people.who(token) is None:
        if request.state.failed():
            return too_many()
        problem = "That token is not valid, or no longer valid. Ask the owner for a new link."
        return pages.page(request, "sign_in.html", None, status=401, problem=problem)
    answer = RedirectResponse(f"{pages.root_of(request)}/", status_code=303)
    keep_signed_in(request, answer, token)
    return answer


def _sent(service: Service, name: str, item: str) -> str:
    """The id that a form was made with: browsers send every line break in a field as two characters."""
    if "\r\n" not in item:
        return item
    written = [item, item.replace("\r\n", "\n"), item.replace("\r\n", "\r")]
    return next(
        (text for text, known in zip(written, service.audit(name).pool.has(written), strict=True) if known), item
    )


# --- labelling


@router.post("/label/{name:path}")
def label(
    name: str,
    request: Request,
    service: Here,
    person: Anyone,
    visit: Visiting,
    id: Words = "",  # noqa: A002
    answer: Words = "",
    skip: Short = "",
    note: Short = "",
    key: Annotated[str, Form(max_length=64)] = "",
) -> Response:
    """Take an answer, if there is one, and show the next item: the labelling page for browsers without scripts."""
    remark, refused = note.strip() or None, None
    answer, id = answer.strip(), _sent(service, name, id)  # noqa: A001
    try:
        if id and skip:
            service.take(name, person, visit, 0, skips=[id], reason=remark or "unclear", key=key or None)
        elif id and answer:
            service.take(name, person, visit, 0, labels={id: answer}, note=remark, key=key or None)
    except LabelError as error:
        refused = str(error)
    try:
        asked, away = service.ask(name, 1, person.name, visit), None
    except StoreError as error:
        if not id or refused:
            raise
        service.note(name, error)
        asked, away = [], _SAVED
    view = pages.labelling_view(service, name) | {"item": asked[0] if asked else None, "key": secrets.token_hex(16)}
    typed = {"answer": answer, "note": note} if refused else {"answer": "", "note": ""}
    view |= {"problem": refused or away, "away": away is not None, "typed": typed}
    return pages.page(request, "label_plain.html", person, name=name, here="label", **view)


@router.post("/answer/{name:path}")
def change(
    name: str,
    request: Request,
    service: Here,
    person: Anyone,
    visit: Visiting,
    id: Words,  # noqa: A002
    label: Words,
    note: Short = "",
) -> Response:
    """Replace one of a person's own answers; its note stays."""
    service.take(name, person, visit, 0, labels={_sent(service, name, id): label.strip()}, note=note or None)
    return _to(request, "answers", name, "?changed=1")


# --- the owner's part


@router.post("/decide/{name:path}")
def decide(
    name: str,
    request: Request,
    service: Here,
    owner: Owner,
    id: Words,  # noqa: A002
    label: Words = "",
    vote: Words = "",
) -> Response:
    """Take a decision of the owner: a vote that was pressed, or a class that was chosen."""
    service.audit(name).decide({_sent(service, name, id): vote or label.strip()}, annotator=owner.name)
    return _to(request, "decide", name)


@router.post("/guide/{name:path}")
async def guide(name: str, request: Request, service: Here, owner: Owner) -> Response:
    """Write a new version of the guide. If it is refused, the page comes back with everything that was typed."""
    from starlette.concurrency import run_in_threadpool

    form = {field: value for field, value in (await request.form()).items() if isinstance(value, str)}
    return await run_in_threadpool(_write, name, request, service, owner, form)


def _write(name: str, request: Request, service: Service, owner: Person, form: dict[str, str]) -> Response:
    choices = service.audit(name).pool.choices
    # Browsers send lines with \r\n.
    text = form.get("guidelines", "").replace("\r\n", "\n")
    lines = form["lines"].replace("\r\n", "\n") if "lines" in form else None
    means = {label: form.get(f"class-{k}", "") for k, label in enumerate(choices)}
    over = form.get("over", "")
    # If it is not the number of a version, the writer cannot have read that version.
    seen = (int(over) if over.isdecimal() and len(over) < 10 else -1) if over else None
    try:
        if lines is not None:
            means = descriptions_in(lines, choices)
        service.write_guide(name, owner, text, means, seen)
    except InputError as error:
        typed = pages.guide_view(service, name) | {"guidelines": text, "means": means, "problem": str(error)}
        typed |= {"lines": lines} if lines is not None else {}
        typed |= {"version": over}  # what somebody else wrote meanwhile is not overwritten by pressing Save again
        return pages.page(request, "guide.html", owner, status=400, name=name, here="guide", **typed)
    return _to(request, "guide", name, "?saved=1")


@router.post("/invite")
def invite(request: Request, service: Here, owner: Owner, visit: Visiting, name: Short, role: Short) -> Response:
    """Invite somebody, and show their link."""
    name = name.strip()
    try:
        token = service.people.invite(name, "owner" if role == "owner" else "annotator")
    except WrongNameError:
        problem = f"{name} has already been invited. Choose another name, or make a new link for them."
        return pages.people_page(request, service, owner, problem=problem, status=409)
    except InputError as error:
        return pages.people_page(request, service, owner, problem=str(error), status=400)
    service.known.forget()
    made = invited(service, visit, name, token, _origin(request))
    return pages.people_page(request, service, owner, made=made)


@router.post("/invite-again")
def again(request: Request, service: Here, owner: Owner, name: Named) -> Response:
    """Make a new link for somebody, and show it."""
    cookie = Response()
    made = invite_again(m.InviteAgain(name=name, origin=_origin(request)), request, cookie, service, owner)
    shown = pages.people_page(request, service, owner, made=made)
    if "set-cookie" in cookie.headers:
        shown.headers["set-cookie"] = cookie.headers["set-cookie"]
    return shown


@router.post("/revoke")
def lock_out(request: Request, service: Here, owner: Owner, name: Named) -> Response:
    """Lock somebody out."""
    revoke(m.Name(name=name), service, owner)
    return RedirectResponse(f"{pages.root_of(request)}/people", status_code=303)


def _origin(request: Request) -> str | None:
    """Return where the owner's browser reaches the server, as far as the request says; None if that makes no sense."""
    try:
        scheme = "https" if request.app.state.service.settings.secure else request.url.scheme
        origin = f"{scheme}://{request.url.netloc}"
    except ValueError:  # an incomplete address in brackets
        return None
    return origin if re.match(m.ORIGIN, origin) else None
