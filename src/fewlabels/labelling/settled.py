"""The valid labels of a log, read without the parts of its assessment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.labelling.ledger import Ledger
from fewlabels.metrics import Accuracy
from fewlabels.partition import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.pool import Pool
    from fewlabels.store import Event


def settled_labels(pool: Pool, events: Sequence[Event], overlap: int) -> dict[str, str]:
    """The labels that are valid now, id to class name; they depend on neither metric nor groups.

    >>> import fewlabels as fl
    >>> from fewlabels.store import Event
    >>> pool = fl.read_pool({"id": ["a", "b"], "predicted": ["cat", "dog"]})
    >>> settled_labels(pool, [Event("request", "a"), Event("label", "a", label="dog")], overlap=1)
    {'a': 'dog'}
    """
    metric = Accuracy()
    ledger = Ledger(pool, metric, metric.cells(pool, whole(pool)), overlap)
    ledger.read(events)
    items = np.flatnonzero(ledger.true >= 0).tolist()
    return {pool.ids[item].as_py(): pool.classes[ledger.true[item]] for item in items}
