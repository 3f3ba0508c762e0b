"""The labelling page, the dashboard and the HTTP API: `create_app(store)`. Needs the extra `web`."""

from fewlabels.web.app import create_app
from fewlabels.web.settings import Settings

__all__ = ["Settings", "create_app"]
