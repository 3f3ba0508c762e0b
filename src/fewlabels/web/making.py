"""Making an assessment in the browser: a file, what was understood, the question. Plain forms, for owners only."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from fewlabels.beginning import create
from fewlabels.errors import FewlabelsError, StoreError
from fewlabels.web import forms
from fewlabels.web.api import Here, Owner, owner_of
from fewlabels.web.drafts import DraftGoneError
from fewlabels.web.errors import CANNOT_USE
from fewlabels.web.forms import WrongFieldError
from fewlabels.web.guard import ELSEWHERE, UPLOAD, is_sealed
from fewlabels.web.pages import page, root_of
from fewlabels.wording import counted, harmless

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.tasks import Task
    from fewlabels.understanding.words import Understood
    from fewlabels.web.drafts import Draft
    from fewlabels.web.service import Service

_DRAINED = 4  # times the largest upload: what is read of one that is too large, so that its browser hears the answer
_MOST_FIELDS = 1_000
_NO_ROOM = "the server cannot keep the file at the moment; its log says why. Try again later, or use fewlabels new."
_ABOUT = ("format", "answers", "labels", "no answer", "models", "")  # lines that no field of the form stands for
_FEW = 12  # classes that are listed
_log = logging.getLogger(__name__)
router = APIRouter(dependencies=[Depends(owner_of)])


class _TooLargeError(Exception):
    """More bytes came than an upload may have."""


async def sent_form(request: Request) -> FormData:
    """Return the form of a request, if one of our own pages sent it: a form cannot send the token as a header."""
    form = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    _check_seal(request, form)
    return form


def _check_seal(request: Request, form: FormData) -> None:
    if request.state.by_cookie and not is_sealed(str(form.get("csrf", "")), request.state.token, "csrf"):
        raise HTTPException(403, ELSEWHERE)


Sent = Annotated[FormData, Depends(sent_form)]


def draft_of(draft: str, service: Here, owner: Owner) -> Draft:
    """Return the owner's draft."""
    found = service.drafts.of(owner.name, draft)
    if found is None:
        raise DraftGoneError
    return found


# --- the file


@router.get("/new")
def new(request: Request, service: Here, owner: Owner) -> Response:
    """Show where to begin: with a file, or with the built-in example."""
    return _begin_page(request, service, owner)


def _begin_page(request: Request, service: Service, owner: Any, wrong: str = "", status: int = 200) -> Response:
    most = service.settings.upload
    return page(request, "new.html", owner, status=status, here="new", wrong=wrong, most=most)


@router.post(UPLOAD)
async def upload(request: Request, service: Here, owner: Owner) -> Response:
    """Take a file of predictions, and look what it is."""
    try:
        form = await _uploaded(request, service.settings.upload)
        try:
            _check_seal(request, form)
            file = form.get("file")
            if not isinstance(file, UploadFile) or not file.filename:
                raise WrongFieldError("file", "choose a file first.")
            draft = await run_in_threadpool(service.drafts.begin, owner.name, file.file, file.filename)
        finally:
            await form.close()
    except _TooLargeError:
        words = (
            f"the file is too large: at most {_megabytes(service.settings.upload)} are allowed here. Use fewlabels new."
        )
        return _begin_page(request, service, owner, words, 413)
    except (WrongFieldError, FewlabelsError) as error:
        return _begin_page(request, service, owner, forms.trouble(error, forms.COLUMNS, "file").words, 422)
    except OSError as error:  # the disk for temporary files is full, say
        _log.error("%s", harmless(f"an uploaded file cannot be kept: {error}"))
        return _begin_page(request, service, owner, _NO_ROOM, 503)
    return _to(request, f"/new/{draft.id}")


async def _uploaded(request: Request, most: int) -> FormData:
    """Read the form with the file; as it comes, it goes to a file that has no name and ends with the request."""
    if not most:
        raise HTTPException(403, "this server takes no files. Use fewlabels new, or serve with --upload.")
    taken, stream = 0, request.stream()

    async def within() -> AsyncGenerator[bytes, None]:
        nonlocal taken
        async for chunk in stream:
            taken += len(chunk)
            if taken > most:
                raise _TooLargeError
            yield chunk

    try:
        return await MultiPartParser(request.headers, within(), max_files=1, max_fields=10).parse()
    except _TooLargeError:
        async for chunk in stream:  # a browser shows no answer before it has sent everything
            taken += len(chunk)
            if taken > _DRAINED * most:
                break
        raise
    except (MultiPartException, KeyError) as error:
        raise HTTPException(400, "this is not a form with a file. Go back and choose the file again.") from error


@router.post("/new/example")
def example(request: Request, service: Here, owner: Owner, _form: Sent) -> Response:
    """Begin with the built-in pictures."""
    return _to(request, f"/new/{service.drafts.example(owner.name).id}")


# --- what was understood


@router.get("/new/{draft}")
def understood(request: Request, service: Here, owner: Owner, draft: Annotated[Any, Depends(draft_of)]) -> Response:
    """Show how the file was understood; every guess can be changed."""
    return _columns_page(request, service, owner, draft)


@router.post("/new/{draft}")
def columns(
    request: Request, service: Here, owner: Owner, draft: Annotated[Any, Depends(draft_of)], form: Sent
) -> Response:
    """Read the file again as the form says."""
    if form.get("do") == "give-up":
        service.drafts.end(draft.id)
        return _to(request, "/")
    typed: dict[str, Any] = {name: str(form.get(name, "")) for name in forms.COLUMNS if name != "content"}
    typed["content"] = [str(one) for one in form.getlist("content")] if "content-chosen" in form else None
    draft.typed["columns"] = typed
    if form.get("do") == "next":
        try:
            draft.read(*forms.columns_options(typed))
        except FewlabelsError:
            return _columns_page(request, service, owner, draft)
        return _to(request, f"/new/{draft.id}/question")
    return _columns_page(request, service, owner, draft)


def _columns_page(request: Request, service: Service, owner: Any, draft: Draft) -> Response:
    typed = draft.typed.get("columns", {})
    pool: Pool | None = None
    lines: list[Understood] = []
    wrong, status = None, 200
    try:
        pool, lines = draft.read(*forms.columns_options(typed))
    except FewlabelsError as error:
        wrong, status = forms.trouble(error, forms.COLUMNS, "predicted", typed), 422 if typed else 200
    said = defaultdict(str, {line.what: line.text for line in lines if line.what not in _ABOUT})
    notes = [f"{line.what or 'note'}: {line.text}" for line in lines if line.what in _ABOUT]
    notes += [] if pool is None else _doubts(service, pool)
    offered = draft.columns
    seen = typed.get("content")
    if seen is None:
        seen = [pool.content] if pool is not None and pool.content in offered else []
    view = {
        "draft": draft, "typed": defaultdict(str, typed), "wrong": wrong, "pool": pool, "said": said,
        "notes": notes, "seen": seen, "columns": offered, "labels": forms.COLUMNS, "classes": _classes(pool),
        "sample": draft.sample, "all": len(draft.source.columns),
        "unnamed": pool is not None and pool.score_sums is None,
    }  # fmt: skip
    return page(request, "new_columns.html", owner, status=status, here="new", **view)


def _classes(pool: Pool | None) -> str:
    """The classes in words, not too many of them."""
    if pool is None:
        return ""
    some = ", ".join(pool.choices[:_FEW])
    return f"{some} and {len(pool.choices) - _FEW:,} more" if len(pool.choices) > _FEW else some


def _doubts(service: Service, pool: Pool) -> list[str]:
    """What people would stumble over later."""
    missing = [
        name for name in service.settings.columns if pool.columns is None or name not in pool.columns.column_names
    ]
    if missing:
        return [f"This server shows people the column {missing[0]!r}, which the file does not have."]
    if pool.content is None and not service.settings.columns:
        return ["People would see only the ids of the items. Choose below what they see."]
    return []


# --- the question


@router.get("/new/{draft}/question")
def question(request: Request, service: Here, owner: Owner, draft: Annotated[Any, Depends(draft_of)]) -> Response:
    """Show the form of the question."""
    return _question_page(request, service, owner, draft)


@router.post("/new/{draft}/question")
def ask(
    request: Request, service: Here, owner: Owner, draft: Annotated[Any, Depends(draft_of)], form: Sent
) -> Response:
    """Make the assessment, or show its groups and its question first."""
    draft.typed["question"] = {name: str(form.get(name, "")) for name in (*forms.QUESTION, "side")}
    if form.get("do") == "look":
        return _question_page(request, service, owner, draft, look=True)
    try:
        name = _make(service, draft)
    except (WrongFieldError, FewlabelsError) as error:
        return _question_page(request, service, owner, draft, error)
    service.drafts.end(draft.id)
    return _to(request, f"/dashboard/{quote(name, safe='')}")


def _make(service: Service, draft: Draft) -> str:
    """Create the assessment that a draft describes; its name."""
    from fewlabels.understanding.question import stop_rule

    typed = draft.typed["question"]
    pool, groups, task, options = _asked(draft, typed)
    name = forms.name_of(typed, service.names())
    try:
        audit = create(
            service.store,
            name,
            pool,
            groups,
            task=task,
            target="pool" if typed.get("target") == "pool" else "population",
            stop=stop_rule(options),
            overlap=forms.whole(typed, "overlap") or 1,
            model=options["model"],
        )
    except StoreError as error:
        if name in service.names():  # somebody else was quicker
            raise WrongFieldError("name", f"there is already an assessment {name!r}. Choose another name.") from error
        _log.error("%s", harmless(f"making {name!r}: {error}"))  # it names files and hosts
        raise WrongFieldError("name", CANNOT_USE) from error
    audit.close()
    return name


def _asked(draft: Draft, typed: dict[str, Any]) -> tuple[Pool, Partition, Task, dict[str, Any]]:
    """The pool, groups and task that a draft describes so far, and the options they come from."""
    from fewlabels.understanding.question import asked_about
    from fewlabels.understanding.question import question as question_of

    pool, _ = draft.read(*forms.columns_options(draft.typed.get("columns", {}), forms.groups_text(typed)))
    options = forms.question_options(typed, pool)
    groups, task = question_of(options, asked_about(options, pool))
    return pool, groups, task, options


def _question_page(
    request: Request, service: Service, owner: Any, draft: Draft, error: Exception | None = None, *, look: bool = False
) -> Response:
    from fewlabels.findings.phrases import asked

    first = "question" not in draft.typed
    try:
        pool, _ = draft.read(*forms.columns_options(draft.typed.get("columns", {})))
    except FewlabelsError:  # the file must be understood first
        return _to(request, f"/new/{draft.id}")
    typed = draft.typed.get("question") or _usual(service, draft, pool)
    view: dict[str, Any] = {"sentence": "", "groups": "", "names": [], "wrong": None, "small": ""}
    try:
        _, groups, task, options = _asked(draft, typed)
        view |= {"sentence": asked(task, groups, options["model"]) if look else "", "groups": _sizes(groups)}
        view["names"] = pool.models if task.of_models else groups.names
    except (WrongFieldError, FewlabelsError) as problem:
        error = error or (None if first else problem)
        view["names"] = _names(draft, typed)
    if error is not None:
        view["wrong"] = forms.trouble(error, forms.QUESTION, "task" if typed["metric"] == "accuracy" else "metric")
    tasks = forms.TASKS_OF_MODELS | forms.TASKS if pool.models else forms.TASKS
    view |= {"draft": draft, "typed": defaultdict(str, typed), "pool": pool, "labels": forms.QUESTION, "tasks": tasks}
    view |= {"metrics": forms.METRICS, "offered": forms.groups_offered(pool, draft.source), "of": forms.OF_A_CLASS}
    return page(request, "new_question.html", owner, status=422 if error else 200, here="new", **view)


def _usual(service: Service, draft: Draft, pool: Pool) -> dict[str, Any]:
    """What the form proposes at first."""
    several = len(pool.choices) > 2
    usual = {"task": "best" if pool.models else "lowest" if draft.example else "estimate", "metric": "accuracy"}
    usual |= {"lowest": "1", "groups": "whole" if pool.models else "predicted", "target": "population", "sure": "95"}
    usual |= {"overall": "10", "overlap": "1", "line": "90", "rope": "1" if pool.models else "5"}
    return usual | {"name": forms.free_name(draft.source.name, service.names()), "several": str(several)}


def _names(draft: Draft, typed: dict[str, Any]) -> tuple[str, ...]:
    """The names of the groups, where the rest of the question is not clear yet."""
    from fewlabels.named import groups_from

    try:
        text = forms.groups_text(typed)
        pool, _ = draft.read(*forms.columns_options(draft.typed.get("columns", {}), text))
        return pool.models or groups_from(text or "predicted", pool).names
    except (WrongFieldError, FewlabelsError):
        return ()


def _sizes(groups: Partition) -> str:
    """How many groups there are, and how many items they have."""
    sizes = groups.sizes[groups.sizes > 0]
    if len(groups) == 1:
        return f"All {int(sizes.sum()):,} items are one group."
    each = f"{sizes.min():,} to {sizes.max():,}" if sizes.min() < sizes.max() else f"{sizes.min():,}"
    return f"{counted(len(groups), 'group')} {groups.words}, with {each} items each."


def _to(request: Request, path: str) -> Response:
    return RedirectResponse(f"{root_of(request)}{path}", status_code=303)


def _megabytes(count: int) -> str:
    return f"{count / 10**6:,.0f} MB"
