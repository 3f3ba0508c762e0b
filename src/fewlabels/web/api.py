"""The HTTP API, version 1: ask, tell, skip, retract, withdraw, decide, and what is known so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Security
from fastapi.responses import FileResponse, StreamingResponse
from fastapi.security import HTTPBearer

from fewlabels.findings.finding import find
from fewlabels.store.people import Person
from fewlabels.web import messages as m
from fewlabels.web.content import file_of, media_type
from fewlabels.web.errors import ErrorBody
from fewlabels.web.guard import is_sealed
from fewlabels.web.live import stream
from fewlabels.web.service import Service

if TYPE_CHECKING:
    from fewlabels.findings.finding import Finding
    from fewlabels.table import Table

_STATUSES = (400, 401, 403, 404, 405, 409, 413, 422, 429, 503)
# Declared for the OpenAPI document; who is signed in was decided before the request came here.
_SCHEMES = [Security(HTTPBearer(auto_error=False))]

router = APIRouter(
    prefix="/api/v1",
    dependencies=_SCHEMES,
    responses={status: {"model": ErrorBody} for status in _STATUSES},
)


def desk_of(request: Request) -> Service:
    """What the app holds."""
    return request.app.state.service


def person_of(request: Request) -> Person:
    """Who is signed in."""
    return request.state.person


def token_of(request: Request) -> str:
    """The token they have shown."""
    return request.state.token


def owner_of(request: Request) -> Person:
    """Who is signed in, if they are an owner."""
    person = person_of(request)
    if person.role != "owner":
        raise HTTPException(403, "this is for the owner of the assessment. Sign in with the owner's link.")
    return person


Here = Annotated[Service, Depends(desk_of)]
Anyone = Annotated[Person, Depends(person_of)]
Owner = Annotated[Person, Depends(owner_of)]
Token = Annotated[str, Depends(token_of)]
Level = Annotated[float, Query(gt=0, lt=1, description="Of the intervals.")]
Most = Annotated[int, Query(ge=1, le=10_000, description="At most so many rows.")]
Few = Annotated[int, Query(ge=1, le=100, description="At most so many.")]
Which = Annotated[str, Query(min_length=1, max_length=1000)]
ONE = "/assessments/{name:path}"

# --- people


@router.get("/me", tags=["people"])
def me(person: Anyone) -> m.Me:
    """Who is signed in."""
    return m.Me(name=person.name, role=person.role)


@router.get("/people", tags=["people"])
def people(service: Here, _owner: Owner) -> list[m.Member]:
    """Everybody who was invited."""
    known = service.people.list()
    return [m.Member(name=one.name, role=one.role, revoked=one.revoked_at is not None) for one in known]


@router.post("/people", tags=["people"], status_code=201)
def invite(body: m.Invite, service: Here, _owner: Owner) -> m.Invited:
    """A personal token for somebody. It is shown once and kept only as a hash."""
    if body.name in _valid(service):
        raise HTTPException(409, f"{body.name!r} was invited already. Choose another name, or lock them out first.")
    return m.Invited(name=body.name, token=service.people.invite(body.name, body.role))


@router.post("/people/revoke", tags=["people"])
def revoke(body: m.Name, service: Here, owner: Owner) -> m.Taken:
    """Lock somebody out, at once. Their answers stay."""
    if body.name == owner.name:
        raise HTTPException(409, "you cannot lock out yourself. Another owner can.")
    if body.name not in _valid(service):
        raise HTTPException(409, f"there is nobody called {body.name!r} with a valid link.")
    service.people.revoke(body.name)
    return m.Taken(taken=1)


def _valid(service: Service) -> set[str]:
    return {one.name for one in service.people.list() if one.revoked_at is None}


# --- labelling


@router.get("/assessments", tags=["assessments"])
def assessments(service: Here, _person: Anyone) -> list[m.Summary]:
    """The assessments there are, the oldest first."""
    return [service.summary(name) for name in service.names()]


@router.get(ONE + "/classes", tags=["labelling"])
def classes(name: str, service: Here, _person: Anyone) -> m.Classes:
    """The classes to choose from."""
    return m.Classes(classes=list(service.audit(name).pool.classes))


@router.post(ONE + "/ask", tags=["labelling"])
def ask(name: str, body: m.Ask, service: Here, person: Anyone, token: Token) -> m.Asked:
    """The items to label next: this person's open ones first, then new ones."""
    audit = service.audit(name)
    audit.expire(service.settings.lease, people=service.everybody())
    requests = audit.ask(body.n, annotator=person.name, again=True)
    return m.Asked(requests=[service.item(name, request.id, token) for request in requests])


@router.post(ONE + "/tell", tags=["labelling"])
def tell(name: str, body: m.Tell, service: Here, person: Anyone) -> m.Taken:
    """Take labels of items that this person was handed; they are on disk when this returns."""
    labels = {one.id: one.label for one in body.labels}
    return m.Taken(
        taken=service.audit(name).tell(labels, annotator=person.name, note=body.note, own=True, key=body.key)
    )


@router.post(ONE + "/skip", tags=["labelling"])
def skip(name: str, body: m.Skip, service: Here, person: Anyone) -> m.Taken:
    """Note that this person cannot answer: the item waits for others, or for the owner."""
    audit = service.audit(name)
    return m.Taken(taken=audit.skip(body.ids, reason=body.reason, annotator=person.name, own=True, key=body.key))


@router.post(ONE + "/retract", tags=["labelling"])
def retract(name: str, body: m.Retract, service: Here, person: Anyone) -> m.Taken:
    """Take back this person's own answers: the items are theirs to answer again."""
    return m.Taken(taken=service.audit(name).retract(body.ids, annotator=person.name, key=body.key))


@router.get(ONE + "/answers", tags=["labelling"])
def answers(name: str, service: Here, person: Anyone, token: Token, most: Few = 20) -> m.Answers:
    """What this person said last, the newest first: what they may take back."""
    return m.Answers(answers=service.answers(name, person.name, most, token))


@router.get(ONE + "/content", tags=["labelling"], response_class=FileResponse)
def content(name: str, id: Which, column: Which, seal: Which, service: Here, token: Token) -> FileResponse:  # noqa: A002
    """The image file of an item that was handed to this person. Its address is in the item."""
    value = service.seen(name, id).get(column) if is_sealed(seal, token, "content", name, id) else None
    file = None if value is None else file_of(str(value), service.settings.content)
    kind = None if file is None else media_type(file)
    if file is None or kind is None:
        raise HTTPException(404, "there is no such image.")
    # An SVG opened on its own could hold a script: it gets no rights at all.
    rights = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
    return FileResponse(file, media_type=kind, headers=rights | {"cache-control": "private, max-age=3600"})


# --- the owner's part


@router.post(ONE + "/withdraw", tags=["owner"])
def withdraw(name: str, body: m.Withdraw, service: Here, owner: Owner) -> m.Taken:
    """Take back everything about items: they can be asked again."""
    return m.Taken(taken=service.audit(name).withdraw(body.ids, annotator=owner.name, note=body.note))


@router.post(ONE + "/decide", tags=["owner"])
def decide(name: str, body: m.Tell, service: Here, owner: Owner) -> m.Taken:
    """The owner's word: it counts whatever people said or will say."""
    labels = {one.id: one.label for one in body.labels}
    return m.Taken(taken=service.audit(name).decide(labels, annotator=owner.name, note=body.note, key=body.key))


@router.get(ONE + "/disputed", tags=["owner"])
def disputed(name: str, service: Here, _owner: Owner, token: Token, most: Most = 100) -> list[m.Disputed]:
    """The items that wait for the owner, the oldest first."""
    return service.disputed(name, most, token)[0]


@router.get(ONE + "/estimates", tags=["results"])
def estimates(name: str, service: Here, _owner: Owner, level: Level = 0.95) -> m.Rows:
    """Mean and interval of each group, and what they rest on."""
    return _rows(_finding(service, name, level).estimates)


@router.get(ONE + "/answer", tags=["results"])
def answer(name: str, service: Here, _owner: Owner, level: Level = 0.95) -> m.Answer:
    """What the task concludes from the labels so far, and how sure it is."""
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
    """How it stands with the stopping rules."""
    return service.kept(name, "standing", lambda audit: audit.standing()).to_json()


@router.get(ONE + "/agreement", tags=["results"])
def agreement(name: str, service: Here, _owner: Owner) -> m.Rows:
    """How far people agree who labelled the same items: overall in the settings, pairs in the rows."""
    found = service.audit(name).agreement()
    overall = {"items": found.items, "raw": found.raw, "alpha": found.alpha, "words": found.words}
    return m.Rows(rows=list(found.pairs.rows()), settings=overall)


@router.get(ONE + "/by-person", tags=["results"])
def by_person(name: str, service: Here, _owner: Owner) -> m.Rows:
    """What each person has done."""
    return _rows(service.audit(name).by_person())


@router.get(ONE + "/by-group", tags=["results"])
def by_group(name: str, service: Here, _owner: Owner) -> m.Rows:
    """How far each group is."""
    return _rows(service.audit(name).by_group())


@router.get(ONE + "/live", tags=["results"], response_class=StreamingResponse)
def live(name: str, service: Here, _owner: Owner, token: Token) -> StreamingResponse:
    """Server-sent events: `change` whenever the log has grown."""
    service.audit(name)
    return stream(service, name, token)


def _finding(service: Service, name: str, level: float) -> Finding:
    """What can be said now: computed once for each state of the log."""
    return service.kept(name, "finding", lambda audit: find(audit, level), level)


def _rows(table: Table) -> m.Rows:
    return m.Rows(rows=list(table.rows()), settings=dict(table.settings))
