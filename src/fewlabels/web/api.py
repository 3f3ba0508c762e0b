"""The HTTP API, version 1: ask, tell, skip, retract, withdraw, decide, and read the results so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response, Security
from fastapi.responses import FileResponse, StreamingResponse
from fastapi.security import HTTPBearer

from fewlabels.errors import quoted
from fewlabels.findings.finding import find
from fewlabels.findings.tables import other_table
from fewlabels.io.pictures import file_of
from fewlabels.store.people import Person
from fewlabels.store.rows import meant
from fewlabels.web import messages as m
from fewlabels.web.content import media_type
from fewlabels.web.errors import ErrorBody
from fewlabels.web.guard import MONTH, SIGN_IN, cookie_name, csrf_token, is_sealed
from fewlabels.web.invitations import link_of, qr_of
from fewlabels.web.live import stream
from fewlabels.web.service import Service, Visit

if TYPE_CHECKING:
    from fewlabels.findings.finding import Finding
    from fewlabels.table import Table

# Declared for the OpenAPI document; who is signed in was checked before the request came here.
_SCHEMES = [Security(HTTPBearer(auto_error=False))]

router = APIRouter(
    prefix="/api/v1",
    dependencies=_SCHEMES,
    # FastAPI makes a model of each status of each route, which takes most of the time of a new app: two are enough.
    responses={status: {"model": ErrorBody} for status in ("4XX", 503)},
)


# These are coroutines though they wait for nothing: FastAPI would run functions in a thread of their own.


async def service_of(request: Request) -> Service:
    """Return the service of the app."""
    return _service(request)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _of_page(name: str, request: Request) -> Service:
    """Return the service, unless the request comes from a page that is about other items."""
    service = _service(request)
    service.check_page(name, request.headers.get("x-pool"))
    return service


async def person_of(request: Request) -> Person:
    """Return the person who is signed in."""
    return _person(request)


async def visit_of(request: Request) -> Visit:
    """Return the token or session of the request, and the path of the app."""
    return _visit(request)


def _person(request: Request) -> Person:
    """Return who is signed in. The guard lets nobody else in; if it ever did, they would get no further than here."""
    person: Person | None = getattr(request.state, "person", None)
    if person is None:
        raise HTTPException(401, SIGN_IN, {"www-authenticate": "Bearer"})
    return person


def _visit(request: Request) -> Visit:
    return Visit(request.state.token, request.scope.get("root_path", ""))


async def owner_of(request: Request) -> Person:
    """Return the person who is signed in, if they are an owner; otherwise refuse."""
    person = _person(request)
    if person.role != "owner":
        raise HTTPException(403, "this is for the owner of the assessment. Sign in with the owner's link.")
    return person


Here = Annotated[Service, Depends(service_of)]
Anyone = Annotated[Person, Depends(person_of)]
Owner = Annotated[Person, Depends(owner_of)]
Visiting = Annotated[Visit, Depends(visit_of)]
Level = Annotated[float, Query(gt=0, lt=1, description="Probability of the intervals.")]
Most = Annotated[int, Query(ge=1, le=10_000, description="Maximum number of rows.")]
Few = Annotated[int, Query(ge=1, le=100, description="Maximum number of answers.")]
Which = Annotated[str, Query(min_length=1, max_length=100_000)]
ONE = "/assessments/{name:path}"

# --- people


@router.get("/me", tags=["people"])
def me(person: Anyone) -> m.Me:
    """Return who is signed in."""
    return m.Me(name=person.name, role=person.role)


@router.get("/people", tags=["people"])
def people(service: Here, _owner: Owner) -> list[m.Member]:
    """List everybody who was invited."""
    known = service.people.list()
    return [m.Member(name=member.name, role=member.role, revoked=member.revoked_at is not None) for member in known]


@router.post("/people", tags=["people"], status_code=201)
def invite(body: m.Invite, request: Request, service: Here, _owner: Owner) -> m.Invited:
    """Make a personal token for somebody. It is shown once; only its hash is stored."""
    token = service.people.invite(body.name, body.role)
    service.known.forget()
    return invited(service, _visit(request), body.name, token, body.origin)


@router.post("/people/again", tags=["people"])
def invite_again(body: m.InviteAgain, request: Request, response: Response, service: Here, owner: Owner) -> m.Invited:
    """Make a new token for somebody who was invited; the old one is no longer valid. They keep role and answers.

    Owners who do it for themselves stay signed in here, with a new cookie.
    """
    token = service.people.invite(body.name, again=True)
    service.known.forget()
    made = invited(service, _visit(request), body.name, token, body.origin)
    if _is_same(body.name, owner) and request.state.by_cookie:
        made.csrf = csrf_token(keep_signed_in(request, response, token))
    return made


def invited(service: Service, visit: Visit, name: str, token: str, origin: str | None) -> m.Invited:
    """Return an invitation, with the link at the address where people really reach the server."""
    link = link_of(service.settings, token, origin, visit.root)
    return m.Invited(name=name, token=token, link=link, qr=qr_of(link))


def keep_signed_in(request: Request, response: Response, token: str) -> str:
    """Give the browser of a person a new session, and return it."""
    service = _service(request)
    name, session = cookie_name(request.headers, request.scope, service.settings), service.sessions.begin(token)
    secure = service.settings.secure
    response.set_cookie(name, session, max_age=MONTH, httponly=True, samesite="lax", secure=secure, path="/")
    return session


@router.post("/people/revoke", tags=["people"])
def revoke(body: m.Name, service: Here, owner: Owner) -> m.Taken:
    """Lock somebody out at once. Their answers stay."""
    if _is_same(body.name, owner):
        raise HTTPException(409, "you cannot lock yourself out. Another owner can.")
    service.people.revoke(body.name)
    service.known.forget()
    return m.Taken(taken=1)


def _is_same(name: str, person: Person) -> bool:
    """Return whether a name is that of a person, however its accents are written: the database knows both forms."""
    return meant(name, [person.name]) is not None


# --- labelling


@router.get("/assessments", tags=["assessments"])
def assessments(service: Here, _person: Anyone) -> list[m.Summary]:
    """List the assessments, oldest first."""
    return service.summaries()


@router.get(ONE + "/classes", tags=["labelling"])
def classes(name: str, service: Here, _person: Anyone) -> m.Classes:
    """List the classes to choose from, with what the owner says they mean."""
    choices, described = service.audit(name).pool.choices, service.guide(name).descriptions
    means = {choice: described[choice] for choice in choices if choice in described}
    return m.Classes(classes=list(choices), descriptions=means)


@router.get(ONE + "/guide", tags=["labelling"])
def guide(name: str, service: Here, _person: Anyone) -> m.Guide:
    """Return what annotators are told."""
    written = service.guide(name)
    return m.Guide(guidelines=written.guidelines, descriptions=dict(written.descriptions), version=written.version)


@router.post(ONE + "/guide", tags=["owner"])
def write_guide(name: str, body: m.WriteGuide, service: Here, owner: Owner) -> m.Guide:
    """Write a new version of what annotators are told."""
    written = service.write_guide(name, owner, body.guidelines, body.descriptions, body.over)
    return m.Guide(guidelines=written.guidelines, descriptions=dict(written.descriptions), version=written.version)


# The next three are called for every label. They read the request and write the response themselves: FastAPI takes as
# long to resolve four dependencies as for all the rest, and it writes responses in another thread.


@router.post(ONE + "/ask", tags=["labelling"], response_model=m.Asked)
def ask(name: str, body: m.Ask, request: Request) -> Response:
    """Return the items to label next: this person's open items first, then new ones."""
    person, service = _person(request), _of_page(name, request)
    return _written(m.Asked(requests=service.ask(name, body.n, person.name, _visit(request))))


@router.post(ONE + "/tell", tags=["labelling"], response_model=m.TakenAndAsked)
def tell(name: str, body: m.Tell, request: Request) -> Response:
    """Take labels of items that were handed to this person; they are on disk when this returns."""
    person, service = _person(request), _of_page(name, request)
    labels = _by_item(body)
    taken = service.take(name, person, _visit(request), body.next, labels=labels, note=body.note, key=body.key)
    return _written(taken)


@router.post(ONE + "/skip", tags=["labelling"], response_model=m.TakenAndAsked)
def skip(name: str, body: m.Skip, request: Request) -> Response:
    """Record that this person cannot answer: the item waits for others, or for the owner."""
    person, service = _person(request), _of_page(name, request)
    taken = service.take(name, person, _visit(request), body.next, skips=body.ids, reason=body.reason, key=body.key)
    return _written(taken)


def _written(answer: m.Asked | m.TakenAndAsked) -> Response:
    return Response(answer.model_dump_json(), media_type="application/json")


@router.post(ONE + "/retract", tags=["labelling"])
def retract(name: str, body: m.Retract, request: Request, person: Anyone) -> m.Taken:
    """Take back this person's own answers, so that they can answer again."""
    service = _of_page(name, request)
    return m.Taken(taken=service.audit(name).retract(body.ids, annotator=person.name, key=body.key))


@router.get(ONE + "/answers", tags=["labelling"])
def answers(name: str, service: Here, person: Anyone, visit: Visiting, most: Few = 20) -> m.Answers:
    """List this person's last answers, newest first; they may take these back."""
    return m.Answers(answers=service.answers(name, person.name, most, visit))


@router.get(ONE + "/content", tags=["labelling"], response_class=FileResponse)
def content(
    name: str,
    id: Which,  # noqa: A002
    column: Which,
    seal: Which,
    service: Here,
    _person: Anyone,
    visit: Visiting,
) -> FileResponse:
    """Return the image file of an item that was handed to this person. The item contains its address."""
    value = service.seen(name, id).get(column) if is_sealed(seal, visit.token, "content", name, id) else None
    file = None if value is None else file_of(str(value), service.settings.content)
    kind = None if file is None else media_type(file)
    if file is None or kind is None:
        raise HTTPException(404, "there is no such image.")
    # An SVG opened on its own could contain a script, so it is sandboxed.
    rights = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
    return FileResponse(file, media_type=kind, headers=rights | {"cache-control": "private, max-age=3600"})


# --- the owner's part


@router.post(ONE + "/withdraw", tags=["owner"])
def withdraw(name: str, body: m.Withdraw, service: Here, owner: Owner) -> m.Taken:
    """Take back everything about items, so that they can be asked again."""
    return m.Taken(taken=service.audit(name).withdraw(body.ids, annotator=owner.name, note=body.note))


@router.post(ONE + "/withdraw-person", tags=["owner"])
def withdraw_person(name: str, body: m.WithdrawPerson, service: Here, owner: Owner) -> m.Taken:
    """Take back everything that one person said or holds; their items go to others before any new ones."""
    return m.Taken(taken=service.audit(name).withdraw_person(body.name, annotator=owner.name, note=body.note))


@router.post(ONE + "/decide", tags=["owner"])
def decide(name: str, body: m.Decide, request: Request, owner: Owner) -> m.Taken:
    """Take the owner's decisions, which count whatever people have said or will say."""
    labels, service = _by_item(body), _of_page(name, request)
    return m.Taken(taken=service.audit(name).decide(labels, annotator=owner.name, note=body.note, key=body.key))


def _by_item(body: m.Decide) -> dict[str, str]:
    """Return the labels by item, unless one item has two."""
    labels: dict[str, str] = {}
    for given in body.labels:
        if labels.setdefault(given.id, given.label) != given.label:
            words = f"{quoted(given.id)} has two labels here, {quoted(labels[given.id])} and {quoted(given.label)}."
            raise HTTPException(422, f"{words} Nothing was changed. Send one of them.")
    return labels


@router.get(ONE + "/disputed", tags=["owner"])
def disputed(name: str, service: Here, _owner: Owner, visit: Visiting, most: Most = 100) -> list[m.Disputed]:
    """List the items that wait for the owner, oldest first."""
    return service.disputed(name, most, visit)[0]


@router.get(ONE + "/estimates", tags=["results"])
def estimates(name: str, service: Here, _owner: Owner, level: Level = 0.95, model: str | None = None) -> m.Rows:
    """Return the mean and interval of each group, and the evidence behind them; of another model if one is named."""
    audit = service.audit(name)
    if audit.pool_of(model) is audit.pool:
        return _rows(_finding(service, name, level).estimates)
    metric, groups = audit.spec.task.metric, audit.groups_of(model)
    made = service.kept(
        name, "model", lambda audit: other_table(audit, metric, groups, level, model=model), (level, model)
    )
    return _rows(made)


@router.get(ONE + "/answer", tags=["results"])
def answer(name: str, service: Here, _owner: Owner, level: Level = 0.95) -> m.Answer:
    """Return what the task concludes from the labels so far, and how sure it is."""
    finding = _finding(service, name, level)
    return m.Answer(
        question=finding.question,
        headline=finding.headline,
        basis=finding.basis,
        doubts=list(finding.doubts),
        words=finding.answer.words,
        probability=finding.answer.probability,
        **_rows(finding.answer_table).model_dump(),
    )


@router.get(ONE + "/standing", tags=["results"])
def standing(name: str, service: Here, _owner: Owner) -> dict[str, Any]:
    """Return the progress towards the stopping rules."""
    return service.kept(name, "standing", lambda audit: audit.standing()).to_json()


@router.get(ONE + "/agreement", tags=["results"])
def agreement(name: str, service: Here, _owner: Owner) -> m.Rows:
    """Return how far people agree about the items they share: overall in the settings, by pair in the rows."""
    agreed = service.audit(name).agreement()
    overall = {"items": agreed.items, "raw": agreed.raw, "alpha": agreed.alpha, "words": agreed.words}
    return m.Rows(rows=list(agreed.pairs.rows()), settings=overall)


@router.get(ONE + "/by-person", tags=["results"])
def by_person(name: str, service: Here, _owner: Owner) -> m.Rows:
    """Count what each person has done."""
    return _rows(service.audit(name).by_person())


@router.get(ONE + "/by-group", tags=["results"])
def by_group(name: str, service: Here, _owner: Owner) -> m.Rows:
    """Return the progress of each group."""
    return _rows(service.audit(name).by_group())


@router.get(ONE + "/live", tags=["results"], response_class=StreamingResponse)
def live(name: str, request: Request, service: Here, owner: Owner) -> StreamingResponse:
    """Send server-sent events: `change` whenever the log has grown."""
    service.audit(name)
    return stream(service, name, owner, request.state)


def _finding(service: Service, name: str, level: float) -> Finding:
    """Return the current finding, computed once for each state of the log."""
    return service.kept(name, "finding", lambda audit: find(audit, level), level)


def _rows(table: Table) -> m.Rows:
    return m.Rows(rows=list(table.rows()), settings=dict(table.settings))
