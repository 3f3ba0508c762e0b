"""The pages: sign in, label, answers, dashboard, decide, people, guide. Each fills one template from one view."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fewlabels import plots
from fewlabels.findings.labels import tally
from fewlabels.io import write_rows
from fewlabels.io.guides import as_lines
from fewlabels.report import outlook
from fewlabels.store.people import Person
from fewlabels.web.api import Anyone, Here, Owner, Visiting, keep_signed_in
from fewlabels.web.errors import error_response
from fewlabels.web.guard import cookie_name, csrf_token, is_sealed, too_many
from fewlabels.web.invitations import is_only_here
from fewlabels.web.messages import Invited, Strict
from fewlabels.web.rich import TAGS, markdown
from fewlabels.web.service import Service, mark_of
from fewlabels.web.views import dashboard, done
from fewlabels.web.work import Work, work
from fewlabels.wording import counted, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.table import Table

# What an option of the command line is called in the form of a new assessment.
ONLY_THESE = "make a new assessment and choose “exactly these” under “About which items?”"
_MOST_DISPUTES = 50
_MOST_ANSWERS = 50
router = APIRouter()


@cache
def environment() -> Environment:
    """Return the templates, compiled once for all apps of a process, which escape everything that is put into them."""
    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
    )
    pages.filters["path"] = lambda name: quote(name, safe="")
    pages.filters["cell"] = _cell
    pages.filters["probability"] = probability
    pages.filters["cut"] = shortened
    pages.filters["begun"] = begun
    pages.filters["count"] = counted  # a number and its noun; Jinja's own filter counts a list
    pages.filters["merged"] = lambda first, then: {**first, **then}
    pages.filters["zip_same"] = lambda names: [(name, name) for name in names]
    pages.globals["TAGS"] = TAGS
    pages.globals["MOST_BUTTONS"] = 24  # as in static/choices.js
    return pages


def begun(text: str) -> str:
    """A message with a capital, unless it begins with a name: names of files, items and columns stay as they are.

    >>> begun("write a name."), begun("t1: there is no class 'z'."), begun("my tickets.csv, row 3: no id.")
    ('Write a name.', "t1: there is no class 'z'.", 'my tickets.csv, row 3: no id.')
    """
    is_word = re.match(r"[a-z]+ ", text) and not any(re.search(r"\w[._]\w", word) for word in text.split()[:4])
    return f"{text[0].upper()}{text[1:]}" if is_word else text


def _cell(value: object) -> str:
    """Write a value of a table for people to read."""
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


def page(request: Request, template: str, person: Person | None, *, status: int = 200, **view: Any) -> HTMLResponse:
    """Return a page: a template, filled with a view and with what every page has."""
    csrf = csrf_token(request.state.token) if person else ""
    settled = {"person": person, "csrf": csrf, "name": None, "here": "", "root": root_of(request)}
    return HTMLResponse(request.app.state.pages.get_template(template).render(settled | view), status_code=status)


def root_of(request: Request) -> str:
    """Return the path under which people reach the app; empty if it has the whole host."""
    root: str = request.scope.get("root_path", "")
    return root


# --- coming and going


class SignIn(Strict):
    """The token of a personal link."""

    token: str


@router.get("/")
def home(request: Request, service: Here, find: str = "") -> Response:
    """Show the sign-in page to strangers, and to others the list of assessments, or the only one to label.

    The newest is first; with `find`, those that have it in their name.
    """
    person: Person | None = request.state.person
    if person is None:
        return _forget(sign_in_page(request), request, service)
    names = service.names()
    if person.role == "annotator" and len(names) == 1:
        return RedirectResponse(f"{root_of(request)}/label/{quote(names[0], safe='')}", status_code=303)
    wanted = [name for name in reversed(names) if find.strip().casefold() in name.casefold()]
    listed = service.summaries(wanted)
    return page(request, "home.html", person, assessments=listed, total=len(names), find=find.strip())


@router.get("/sign-in")
def sign_in_page(request: Request) -> Response:
    """Show the page to which a personal link leads, whoever is signed in; it sends the token after the #."""
    return page(request, "sign_in.html", None, problem="")


@router.post("/sign-in")
def sign_in(body: SignIn, request: Request, service: Here) -> Response:
    """Exchange the token of a personal link for a cookie, which holds a session and not the token."""
    if service.people.who(body.token) is None:
        if request.state.failed():
            return too_many()
        return error_response(401, "that token is not valid, or no longer valid. Ask the owner for a new link.")
    answer = JSONResponse({"to": f"{root_of(request)}/"})
    keep_signed_in(request, answer, body.token)
    return answer


@router.post("/sign-out")
def sign_out(request: Request, service: Here, csrf: Annotated[str, Form()] = "") -> Response:
    """End the session, if it belongs to the person of this page: somebody else may be signed in in another tab."""
    answer = RedirectResponse(f"{root_of(request)}/", status_code=303)
    if not is_sealed(csrf, request.state.token, "csrf"):
        return answer
    if request.state.by_cookie:
        service.sessions.end(request.state.token)
        service.known.forget()
    return _forget(answer, request, service)


def _forget(answer: Response, request: Request, service: Service) -> Response:
    """Make an answer delete the browser's cookie, if it has one."""
    if request.state.token:
        name = cookie_name(request.headers, request.scope, service.settings)
        answer.delete_cookie(name, path="/", httponly=True, samesite="lax", secure=service.settings.secure)
    return answer


@router.get("/static/plots.css")
def plots_css() -> Response:
    """Return the style of the plots, the same as in the report."""
    return Response(plots.stylesheet(), media_type="text/css", headers={"cache-control": "max-age=3600"})


@router.get("/static/plots.js")
def plots_js() -> Response:
    """Return the script that shows what the marks of plots mean by touch and by keys, the same as in the report."""
    return Response(plots.script(), media_type="text/javascript", headers={"cache-control": "max-age=3600"})


# --- labelling


@router.get("/label/{name:path}")
def label(name: str, request: Request, service: Here, person: Anyone) -> Response:
    """Show the labelling page, with one item after another."""
    settings = service.settings
    view = labelling_view(service, name) | {"ahead": settings.ahead, "lease": settings.lease}
    view["before"] = service.answered(name, person.name)
    budget, labels = service.audit(name).spec.stop.labels, tally(service.audit(name)).labelled
    view["planned"] = budget if budget is not None and labels >= budget else None
    return page(request, "label.html", person, name=name, here="label", **view)


@router.get("/answers/{name:path}")
def answers(
    name: str, request: Request, service: Here, person: Anyone, visit: Visiting, changed: bool = False
) -> Response:
    """Show a person their own last answers, each of which they may change."""
    given = service.answers(name, person.name, _MOST_ANSWERS, visit)
    view = labelling_view(service, name) | {"answers": given, "changed": changed}
    return page(request, "answers.html", person, name=name, here="answers", **view)


def labelling_view(service: Service, name: str) -> dict[str, Any]:
    """Return what pages for labelling have in common: the classes, and what is said about them."""
    guide, pool = service.guide(name), service.audit(name).pool
    return {
        "classes": pool.choices,
        "means": guide.descriptions,
        "guidelines": markdown(guide.guidelines) if guide.guidelines else [],
        "version": guide.version,
        "pool": mark_of(pool),
    }


# --- the owner's part


@router.get("/people")
def people(request: Request, service: Here, owner: Owner) -> Response:
    """Show who may sign in."""
    return people_page(request, service, owner)


def people_page(
    request: Request,
    service: Service,
    owner: Person,
    *,
    made: Invited | None = None,
    problem: str = "",
    status: int = 200,
) -> HTMLResponse:
    """Return the page of people, with an invitation that was just made."""
    settings = service.settings
    # A name such as localhost reaches only the computer itself.
    lost = not (settings.address or settings.nearby) and is_only_here(f"//{request.headers.get('host', '')}")
    view = {"people": service.people.list(), "made": made, "problem": problem, "only_here": lost}
    if made is not None and made.csrf:
        view["csrf"] = made.csrf
    return page(request, "people.html", owner, status=status, here="people", **view)


@router.get("/guide/{name:path}")
def guide(name: str, request: Request, service: Here, owner: Owner, saved: bool = False) -> Response:
    """Show the page on which the owner writes what annotators are told."""
    return page(request, "guide.html", owner, name=name, here="guide", **guide_view(service, name) | {"saved": saved})


def guide_view(service: Service, name: str) -> dict[str, Any]:
    """Return what the page of the guide shows: its texts as they are written, and as annotators see them."""
    guide, choices = service.guide(name), service.audit(name).pool.choices
    return {
        "guidelines": guide.guidelines,
        "means": guide.descriptions,
        "lines": as_lines(guide.descriptions, choices),
        "version": guide.version,
        "written": guide,
        "classes": choices,
        "shown": markdown(guide.guidelines) if guide.guidelines else [],
        "saved": False,
        "problem": "",
    }


@router.get("/decide/{name:path}")
def decide(name: str, request: Request, service: Here, owner: Owner, visit: Visiting) -> Response:
    """Show the items that wait for the owner's decision."""
    waiting, total = service.disputed(name, _MOST_DISPUTES, visit)
    view = labelling_view(service, name) | {"disputed": waiting, "total": total}
    view["noisy"] = service.audit(name).spec.noisy
    return page(request, "decide.html", owner, name=name, here="decide", **view)


@router.get("/part/live/{name:path}")
def live(name: str, request: Request, service: Here, _owner: Owner) -> Response:
    """Return the parts of the dashboard that follow the log."""
    return _part(request, "live.html", name, view=service.kept(name, "dashboard", dashboard))


@router.get("/part/work/{name:path}")
def working(name: str, request: Request, service: Here, _owner: Owner) -> Response:
    """Return who is labelling now, and how quickly: it depends on the clock too."""
    return _part(request, "work.html", name, work=_work(service, name))


def _work(service: Service, name: str) -> Work:
    so_far = service.kept(name, "work", done)
    now = datetime.now(UTC)
    return work(service.pace(name), so_far.people, so_far.agreement, so_far.events, now, so_far.others)


def _part(request: Request, template: str, name: str, **view: Any) -> HTMLResponse:
    filled = request.app.state.pages.get_template(template)
    return HTMLResponse(filled.render(name=name, root=root_of(request), **view))


@router.get("/groups/{name:path}")
def groups(name: str, request: Request, service: Here, owner: Owner) -> Response:
    """Show the table of all groups."""
    view = service.kept(name, "dashboard", dashboard)
    return page(request, "groups.html", owner, name=name, here="groups", view=view)


def _outlook(audit: Assessment) -> str:
    return outlook(audit, ONLY_THESE)


@router.get("/part/forecast/{name:path}")
def forecast(name: str, request: Request, service: Here, _owner: Owner) -> Response:
    """Return how many more labels it will take, as a part of its own, since it takes seconds."""
    words = service.kept(name, "forecast", _outlook)
    return HTMLResponse(request.app.state.pages.get_template("forecast.html").render(words=words))


@router.get("/download/report/{name:path}")
def report(name: str, service: Here, _owner: Owner) -> Response:
    """Download the report."""
    from fewlabels.report import read

    content = service.settings.content
    made = service.kept(name, "report", lambda audit: read(audit, content=content).html())
    return _download(made, "report.html", "text/html")


@router.get("/download/labels/{name:path}")
def labels(name: str, service: Here, _owner: Owner) -> Response:
    """Download the labels that count."""
    rows = ({"id": item, "label": label} for item, label in service.audit(name).labels().items())
    return _download(_csv(("id", "label"), rows), "labels.csv", "text/csv")


@router.get("/download/log/{name:path}")
def log(name: str, service: Here, _owner: Owner) -> Response:
    """Download the log: everything that happened."""
    table: Table = service.audit(name).log()
    return _download(_csv(tuple(table.columns), table.rows()), "log.csv", "text/csv")


@router.get("/dashboard/{name:path}")
def overview(name: str, request: Request, service: Here, owner: Owner, *, whole: bool = False) -> Response:
    """Show the dashboard; its parts are fetched by a script, or with `whole` are there from the beginning."""
    about: dict[str, Any] = {"question": service.summary(name).question, "view": None, "work": None, "words": ""}
    about["others"] = service.audit(name).others()
    if whole:
        about |= {"view": service.kept(name, "dashboard", dashboard), "work": _work(service, name)}
        about["words"] = service.kept(name, "forecast", _outlook)
    return page(request, "dashboard.html", owner, name=name, here="dashboard", whole=whole, **about)


def _download(text: str, file: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{file}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Write rows as CSV for a spreadsheet, since people open downloads in one."""
    out = io.StringIO(newline="")
    write_rows(list(rows), out, columns=columns, excel=True)
    return out.getvalue()
