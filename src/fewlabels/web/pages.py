"""The pages: sign in, label, dashboard, decide, people. Each hands one view to one template."""

from __future__ import annotations

import csv
import hmac
import io
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fewlabels import plots
from fewlabels.people import Person
from fewlabels.web.api import Anyone, Here, Owner
from fewlabels.web.errors import error_response
from fewlabels.web.guard import COOKIE, csrf_token, presented, too_many
from fewlabels.web.messages import Strict
from fewlabels.web.views import dashboard, outlook

if TYPE_CHECKING:
    from fewlabels.table import Table

_MONTH = 30 * 24 * 3600
_MOST_DISPUTES = 50
# A spreadsheet takes a text that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
router = APIRouter()


def environment() -> Environment:
    """The templates, with everything escaped that is put into them."""
    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
    )
    pages.filters["path"] = lambda name: quote(name, safe="")
    pages.filters["cell"] = _cell
    return pages


def _cell(value: object) -> str:
    """A value of a table as a person reads it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return str(value)


def _page(request: Request, template: str, person: Person | None, **view: Any) -> HTMLResponse:  # noqa: ANN401
    token = getattr(request.state, "token", "")
    settled = {"person": person, "csrf": csrf_token(token) if token else "", "name": None, "here": ""}
    return HTMLResponse(request.app.state.pages.get_template(template).render(settled | view))


# --- coming and going


class SignIn(Strict):
    """The token of a personal link."""

    token: str


@router.get("/healthz")
def healthz() -> dict[str, bool]:
    """Whether the server answers."""
    return {"ok": True}


@router.get("/")
def home(request: Request, desk: Here) -> Response:
    """The sign-in page for strangers; for others the list, or the only assessment there is to label."""
    token, _ = presented(request.headers)
    person = desk.people.who(token) if token else None
    if person is None:
        return _page(request, "sign_in.html", None)
    names = desk.names()
    if person.role == "annotator" and len(names) == 1:
        return RedirectResponse(f"/label/{quote(names[0], safe='')}", status_code=303)
    request.state.token = token
    return _page(request, "home.html", person, assessments=[desk.summary(name) for name in names])


@router.post("/sign-in")
def sign_in(body: SignIn, request: Request, desk: Here) -> Response:
    """Exchange the token of a personal link for a cookie."""
    failed, address = request.state.failed, request.client.host if request.client else "?"
    if failed.spent(address):
        return too_many()
    if desk.people.who(body.token) is None:
        failed.take(address)
        return error_response(401, "that token is not valid, or not any more. Ask the owner for a new link.")
    answer = Response('{"to": "/"}', media_type="application/json")
    answer.set_cookie(
        COOKIE, body.token, max_age=_MONTH, httponly=True, samesite="lax", secure=desk.settings.secure, path="/"
    )
    return answer


@router.post("/sign-out")
def sign_out(request: Request, csrf: Annotated[str, Form()] = "") -> Response:
    """Forget the cookie."""
    token, _ = presented(request.headers)
    if not hmac.compare_digest(csrf.encode(), csrf_token(token).encode()):
        return error_response(403, "the request did not come from a page of this server. Reload the page.")
    answer = RedirectResponse("/", status_code=303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
    return answer


@router.get("/static/plots.css")
def plots_css() -> Response:
    """The style of the plots, as the report has it."""
    return Response(plots.stylesheet(), media_type="text/css", headers={"cache-control": "max-age=3600"})


# --- labelling


@router.get("/label/{name:path}")
def label(name: str, request: Request, desk: Here, person: Anyone) -> Response:
    """One item after the other."""
    desk.audit(name)
    return _page(request, "label.html", person, name=name, here="label", ahead=desk.settings.ahead)


# --- the owner's part


@router.get("/people")
def people(request: Request, desk: Here, owner: Owner) -> Response:
    """Who may come in."""
    return _page(request, "people.html", owner, people=desk.people.list(), here="people")


@router.get("/decide/{name:path}")
def decide(name: str, request: Request, desk: Here, owner: Owner) -> Response:
    """The items that wait for the owner's word."""
    waiting = desk.disputed(name, _MOST_DISPUTES)
    classes = desk.audit(name).pool.classes
    return _page(request, "decide.html", owner, name=name, here="decide", disputed=waiting, classes=classes)


@router.get("/dashboard/{name:path}/live")
def live(name: str, request: Request, desk: Here, _owner: Owner) -> Response:
    """The parts of the dashboard that follow the log."""
    view = desk.kept(name, "dashboard", dashboard)
    return HTMLResponse(request.app.state.pages.get_template("live.html").render(view=view, name=name))


@router.get("/dashboard/{name:path}/forecast")
def forecast(name: str, request: Request, desk: Here, _owner: Owner) -> Response:
    """How many more labels it will probably take: a part of its own, since it takes seconds."""
    words = desk.kept(name, "forecast", outlook)
    return HTMLResponse(request.app.state.pages.get_template("forecast.html").render(words=words))


@router.get("/dashboard/{name:path}/report.html")
def report(name: str, desk: Here, _owner: Owner) -> Response:
    """The report, to keep."""
    from fewlabels.report import read  # noqa: PLC0415

    return _download(desk.kept(name, "report", lambda audit: read(audit).html()), "report.html", "text/html")


@router.get("/dashboard/{name:path}/labels.csv")
def labels(name: str, desk: Here, _owner: Owner) -> Response:
    """The labels that count."""
    rows = ({"id": item, "label": label} for item, label in desk.audit(name).labels().items())
    return _download(_csv(("id", "label"), rows), "labels.csv", "text/csv")


@router.get("/dashboard/{name:path}/log.csv")
def log(name: str, desk: Here, _owner: Owner) -> Response:
    """Everything that happened."""
    table: Table = desk.audit(name).log()
    return _download(_csv(tuple(table.columns), table.rows()), "log.csv", "text/csv")


@router.get("/dashboard/{name:path}")
def overview(name: str, request: Request, desk: Here, owner: Owner) -> Response:
    """What is known so far."""
    question = desk.summary(name).question
    return _page(request, "dashboard.html", owner, name=name, here="dashboard", question=question)


def _download(text: str, file: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{file}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)


def _csv(columns: tuple[str, ...], rows: Any) -> str:  # noqa: ANN401
    """Rows as CSV, with texts that a spreadsheet would run as formulas made harmless."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_plain(row[name]) for name in columns])
    return out.getvalue()


def _plain(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
