"""A small pool with texts, a store, and a web app over it: what the tests of the web app share."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import starlette.testclient

import fewlabels as fl
from fewlabels.store import Store
from fewlabels.store.people import People
from fewlabels.web import Settings, create_app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

# The test client of Starlette before 1.0 hands over an answer when it is complete, which a live view never is.
streams = pytest.mark.skipif(
    not hasattr(starlette.testclient, "_TestClientResponseStream"), reason="this version's test client does not stream"
)
PNG_FILE = bytes.fromhex("89504e470d0a1a0a") + bytes(60)
SCRIPT = "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"


def pool_of_texts(items: int = 60, classes: int = 4, texts: list[str] | None = None) -> fl.Pool:
    """Items with a text each; their scores come from a fixed generator."""
    rng = np.random.default_rng(5)
    scores = rng.dirichlet(np.ones(min(classes, 5)), size=items)
    # With many classes most of them are never predicted.
    padded = np.zeros((items, classes))
    padded[:, : scores.shape[1]] = scores
    table = {
        "id": [f"item-{i:03}" for i in range(items)],
        "scores": padded,
        "text": texts or [f"The text of item {i}" for i in range(items)],
        "secret": [f"undisclosed {i}" for i in range(items)],
    }
    names = [f"class {k}" for k in range(classes)]
    return fl.read_pool(table, classes=names, columns=["text", "secret"], content="text")


@dataclass
class Site:
    """A store with one assessment, two annotators and an owner."""

    store: Store
    name: str
    owner: str
    ann: str
    bob: str

    def audit(self) -> fl.Assessment:
        """The assessment, read anew."""
        return fl.load(self.store, self.name)


def make_site(address: str | Path | None = None, pool: fl.Pool | None = None, name: str = "audit", **spec: Any) -> Site:
    """A new assessment in a new store."""
    store = Store(address)
    fl.create(store, name, pool or pool_of_texts(), **spec)
    people = People(store)
    return Site(store, name, people.invite("boss", "owner"), people.invite("ann"), people.invite("bob"))


@contextmanager
def client_of(site: Site, **settings: Any) -> Iterator[TestClient]:
    """A client that talks to the app without a network."""
    from starlette.testclient import TestClient

    with TestClient(create_app(site.store, Settings(**settings)), base_url="http://testserver") as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    """The header of somebody's token."""
    return {"authorization": f"Bearer {token}"}


def events_of(site: Site) -> list[tuple[str, str, str | None, str | None]]:
    """Kind, item, label and annotator of everything in the log."""
    return [(event.kind, event.item, event.label, event.annotator) for event in site.store.events(site.name)]
