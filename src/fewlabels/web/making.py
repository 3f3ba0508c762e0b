"""Making an assessment in the browser: files, what was understood, the question. Plain forms, for owners only."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from fewlabels.beginning import create
from fewlabels.errors import FewlabelsError, StoreError, WrongNameError
from fewlabels.io.cards import columns_of_card
from fewlabels.web import forms
from fewlabels.web.api import Here, Owner, owner_of
from fewlabels.web.drafts import DraftGoneError
from fewlabels.web.errors import CANNOT_USE
from fewlabels.web.fields import WrongFieldError, free_name, name_of
from fewlabels.web.guard import UPLOAD
from fewlabels.web.pages import page, root_of
from fewlabels.web.uploads import MOST_FILES, Sent, TooLargeError, check_seal, uploaded
from fewlabels.wording import counted, harmless

if TYPE_CHECKING:
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.tasks import Task
    from fewlabels.understanding.options import QuestionOptions
    from fewlabels.understanding.words import Understood
    from fewlabels.web.drafts import Draft
    from fewlabels.web.service import Service

_NO_ROOM = "the server cannot keep the file at the moment; its log says why. Try again later, or use fewlabels new."
_ABOUT = ("format", "answers", "labels", "no answer", "")  # lines that no field of the form stands for
_FEW = 12  # classes that are listed
_log = logging.getLogger(__name__)
router = APIRouter(dependencies=[Depends(owner_of)])


def draft_of(draft: str, service: Here, owner: Owner) -> Draft:
    """Return the owner's draft."""
    own = service.drafts.of(owner.name, draft)
    if own is None:
        raise DraftGoneError
    return own


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
    """Take a file of predictions, or one for each of several models, and find out what they contain."""
    try:
        form = await uploaded(request, service.settings.upload)
        try:
            check_seal(request, form)
            sent = [file for file in form.getlist("file") if isinstance(file, UploadFile) and file.filename]
            if not sent:
                raise WrongFieldError("file", "choose a file first.")
            if len(sent) > MOST_FILES:
                raise WrongFieldError("file", f"choose at most {MOST_FILES} files.")
            files = [(file.file, str(file.filename)) for file in sent]
            draft = await run_in_threadpool(service.drafts.begin, owner.name, *files)
        finally:
            await form.close()
    except TooLargeError:
        most = _megabytes(service.settings.upload)
        words = f"this is too large: at most {most} in all are allowed here. Use fewlabels new."
        return _begin_page(request, service, owner, words, 413)
    except (WrongFieldError, FewlabelsError) as error:
        return _begin_page(request, service, owner, forms.trouble(error, forms.COLUMNS, "file").words, 422)
    except OSError as error:  # the disk for temporary files is full, say
        _log.error("%s", harmless(f"an uploaded file cannot be kept: {error}"))
        return _begin_page(request, service, owner, _NO_ROOM, 503)
    await run_in_threadpool(_propose, draft)
    return _to(request, f"/new/{draft.id}")


@router.post("/new/example")
def example(request: Request, service: Here, owner: Owner, _form: Sent) -> Response:
    """Begin with the built-in pictures."""
    draft = service.drafts.example(owner.name)
    _propose(draft)
    return _to(request, f"/new/{draft.id}")


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
    typed: dict[str, Any] = {name: ",".join(map(str, form.getlist(name))) for name in forms.COLUMNS}
    seen = [str(column) for column in form.getlist("content")]
    typed["content"] = seen if seen or "content-chosen" in form else None  # nothing ticked may mean nothing chosen
    draft.typed["columns"] = typed
    if form.get("do") == "next":
        try:
            _read(draft)
        except (WrongFieldError, FewlabelsError):
            return _columns_page(request, service, owner, draft)
        return _to(request, f"/new/{draft.id}/question")
    return _columns_page(request, service, owner, draft)


def _read(draft: Draft, groups: str | None = None) -> tuple[Pool, list[Understood], str | None]:
    """The pool as the form says, how it was understood, and the metric if the answers are a judge's verdicts."""
    options, content = forms.columns_options(draft.typed["columns"], groups)
    pool, lines = draft.read(options, content)
    return pool, lines, forms.passed(options, pool)


def _propose(draft: Draft) -> None:
    """Fill in the form at first: with nothing, or with the verdicts of judges if the file has no other answers.

    In that case the command line mentions the option --verdict.
    """
    from fewlabels.io.finder.names import VERDICT

    verdicts = [name for name in draft.columns if VERDICT.search(name) and "," not in name]
    if not verdicts or len(draft.sources) > 1:
        return
    try:
        pool, _, _ = _read(draft)
    except FewlabelsError:
        verdicts = verdicts[:1]
    else:  # several judges look like several models
        if not pool.models or set(pool.models) != set(verdicts):
            return
    draft.typed["columns"] = {"verdict": verdicts[0], "evidence": ",".join(verdicts[1:])}
    try:
        _read(draft)
    except (WrongFieldError, FewlabelsError):
        draft.typed["columns"] = {}


def _columns_page(request: Request, service: Service, owner: Any, draft: Draft) -> Response:
    typed = draft.typed["columns"]
    pool: Pool | None = None
    lines: list[Understood] = []
    wrong, status = None, 200
    labels = forms.COLUMNS_OF_FILES if len(draft.sources) > 1 else forms.COLUMNS
    try:
        pool, lines, _ = _read(draft)
    except (WrongFieldError, FewlabelsError) as error:
        wrong, status = forms.trouble(error, labels, "predicted", typed), 422 if typed else 200
    texts = defaultdict(str, {line.what: line.text for line in lines if line.what not in _ABOUT})
    notes = [
        line.text if line.what == "answers" else f"{line.what or 'note'}: {line.text}"
        for line in lines
        if line.what in _ABOUT
    ]
    doubts = [] if pool is None else _doubts(service, pool)
    offered = draft.columns
    seen = typed.get("content")
    if seen is None and pool is not None:
        seen = columns_of_card(pool) or [pool.content]
    view = {
        "draft": draft, "typed": defaultdict(str, typed), "wrong": wrong, "pool": pool, "said": texts,
        "notes": notes, "doubts": doubts, "seen": seen, "columns": offered, "labels": labels,
        "classes": _classes(pool), "sample": draft.sample, "all": len(draft.names), "several": len(draft.sources) > 1,
        "plain_names": [name for name in offered if "," not in name],
        "unnamed": pool is not None and pool.score_sums is None and not typed.get("verdict"),
    }  # fmt: skip
    return page(request, "new_columns.html", owner, status=status, here="new", **view)


def _classes(pool: Pool | None) -> str:
    """The classes in words, not too many of them."""
    if pool is None:
        return ""
    some = ", ".join(pool.choices[:_FEW])
    return f"{some} and {len(pool.choices) - _FEW:,} more" if len(pool.choices) > _FEW else some


def _doubts(service: Service, pool: Pool) -> list[str]:
    """Warnings about what would cause trouble later."""
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
    name = name_of(typed, service.names())
    try:
        audit = create(
            service.store,
            name,
            pool,
            groups,
            task=task,
            target="pool" if typed.get("target") == "pool" else "population",
            stop=stop_rule(options),
            model=options.model,
            **forms.label_options(typed, pool),
        )
    except WrongNameError as error:  # somebody else took the name first
        raise WrongFieldError("name", f"there is already an assessment {name!r}. Choose another name.") from error
    except StoreError as error:
        _log.error("%s", harmless(f"making {name!r}: {error}"))  # it names files and hosts
        raise WrongFieldError("name", CANNOT_USE) from error
    audit.close()
    return audit.name


def _asked(draft: Draft, typed: dict[str, Any]) -> tuple[Pool, Partition, Task, QuestionOptions]:
    """The pool, groups and task that a draft describes so far, and the options they come from."""
    from fewlabels.understanding.question import asked_about
    from fewlabels.understanding.question import question as question_of

    pool, _, pass_rate = _read(draft, forms.groups_text(typed))
    options = forms.question_options(typed, pool, pass_rate)
    groups, task = question_of(options, asked_about(options, pool))
    if options.lowest is not None and (groups.sizes > 0).sum() < 2:
        raise WrongFieldError("groups", "all items are one group, so no group can be the worst. Choose other groups.")
    return pool, groups, task, options


def _question_page(
    request: Request, service: Service, owner: Any, draft: Draft, error: Exception | None = None, *, look: bool = False
) -> Response:
    from fewlabels.findings.phrases import asked

    first = "question" not in draft.typed
    try:
        pool, _, pass_rate = _read(draft)
    except (WrongFieldError, FewlabelsError):  # the file must be understood first
        return _to(request, f"/new/{draft.id}")
    typed = draft.typed.get("question") or _usual(service, draft, pool, pass_rate)
    view: dict[str, Any] = {"sentence": "", "groups": "", "names": [], "wrong": None, "small": ""}
    try:
        _, groups, task, options = _asked(draft, typed)
        view |= {"sentence": asked(task, groups, options.model) if look else "", "groups": _sizes(groups)}
        view["names"] = pool.models if task.of_models else groups.names
    except (WrongFieldError, FewlabelsError) as problem:
        error = error or (None if first else problem)
        view["names"] = _names(draft, typed)
    if error is not None:
        where = "task" if typed["metric"] in ("accuracy", "prevalence") else "metric"
        view["wrong"] = forms.trouble(error, forms.QUESTION, where)
    tasks = (
        forms.TASKS_OF_MODELS | forms.TASKS if pool.models else forms.TASKS_OF_VERDICTS if pass_rate else forms.TASKS
    )
    metrics = forms.METRICS_OF_VERDICTS if pass_rate else forms.METRICS
    view |= {"draft": draft, "typed": defaultdict(str, typed), "pool": pool, "labels": forms.QUESTION, "tasks": tasks}
    view |= {"metrics": metrics, "offered": forms.groups_offered(pool, draft.names), "judged": pass_rate is not None}
    return page(request, "new_question.html", owner, status=422 if error else 200, here="new", **view)


def _usual(service: Service, draft: Draft, pool: Pool, pass_rate: str | None) -> dict[str, Any]:
    """What the form proposes at first."""
    usual = {"task": "lowest" if draft.example else "estimate", "metric": "accuracy", "groups": "predicted"}
    usual |= {"lowest": "1", "target": "population", "sure": "95", "overall": "10", "overlap": "1", "line": "90"}
    usual |= {"rope": "5", "name": free_name(draft.stem, service.names())}
    if pool.models:
        usual |= {"task": "best", "groups": "whole", "rope": "1", "model": pool.models[0]}
    if len(pool.models) == 2:  # the second is the new one, more often than not
        usual |= {"task": "compare-models", "a": pool.models[1], "b": pool.models[0]}
    return usual | ({"metric": "prevalence", "groups": "whole"} if pass_rate else {})


def _names(draft: Draft, typed: dict[str, Any]) -> tuple[str, ...]:
    """The names of the groups, when the rest of the question is not clear yet."""
    from fewlabels.named import groups_from

    try:
        text = forms.groups_text(typed)
        pool, _, _ = _read(draft, text)
        return pool.models or groups_from(text or "predicted", pool).names
    except (WrongFieldError, FewlabelsError):
        return ()


def _sizes(groups: Partition) -> str:
    """How many groups there are, and how many items they have."""
    sizes = groups.sizes[groups.sizes > 0]
    if len(sizes) == 1:
        return f"All {int(sizes.sum()):,} items are one group."
    each = f"{sizes.min():,} to {sizes.max():,}" if sizes.min() < sizes.max() else f"{sizes.min():,}"
    return f"{counted(len(sizes), 'group')} {groups.words}, with {each} items each."


def _to(request: Request, path: str) -> Response:
    return RedirectResponse(f"{root_of(request)}{path}", status_code=303)


def _megabytes(count: int) -> str:
    return f"{count / 10**6:,.0f} MB"
