"""The web app, a function of the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.staticfiles import StaticFiles

from fewlabels.web import api, making, pages, plain
from fewlabels.web.errors import add_handlers
from fewlabels.web.guard import Headed, SignedIn, Sized
from fewlabels.web.proxies import Proxied
from fewlabels.web.service import Service
from fewlabels.web.settings import Settings

if TYPE_CHECKING:
    from fewlabels.store import Store

_ABOUT = """Ask which items to label, tell the labels, and read the results so far.

Send your token as `Authorization: Bearer TOKEN`.
Every error has the body `{"error": {"code": ..., "message": ...}}`."""


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """Make the app: labelling page, dashboard and HTTP API for the assessments of a store.

    Parameters
    ----------
    store
        The store with the assessments and their people.
    settings
        The owner's choices; see `Settings`.

    Examples
    --------
    >>> from fewlabels.store import Store
    >>> app = create_app(Store(None))
    >>> app.title
    'fewlabels'
    """
    settings = settings or Settings()
    service = Service(store, settings)
    app = FastAPI(
        title="fewlabels",
        version="1",
        description=_ABOUT,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # redirects would send people to whatever host the request names
        middleware=[
            Middleware(Proxied, settings=settings),
            Middleware(Headed, settings=settings),
            Middleware(Sized, settings=settings),
            Middleware(SignedIn, known=service.known, settings=settings),
        ],
    )
    app.state.service = service
    app.state.pages = pages.environment()
    add_handlers(app)
    app.include_router(api.router)
    app.include_router(pages.router, include_in_schema=False)
    app.include_router(making.router, include_in_schema=False)
    app.include_router(plain.router, include_in_schema=False)
    app.include_router(plain.door, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    return app
