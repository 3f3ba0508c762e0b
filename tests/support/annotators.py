"""An assessment that several people label: what the tests of annotators share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fewlabels as fl
from tests.support.pools import zoo

if TYPE_CHECKING:
    from pathlib import Path

    from fewlabels.store import Store

KNOWN = zoo()
TASK = fl.Identify(fl.Accuracy(), lowest=2)


def new_audit(overlap: int, address: str | Path | Store | None = None, seed: int = 5) -> fl.Assessment:
    """An assessment of the zoo in which each item is asked of `overlap` people."""
    return fl.create(address, "audit", KNOWN.pool, task=TASK, seed=seed, overlap=overlap)
