"""The valid labels of the pool of an assessment, read without the parts of the assessment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.arrow import texts_at
from fewlabels.labelling.checkpoint import catch_up
from fewlabels.labelling.ledger import Ledger
from fewlabels.metrics import Accuracy
from fewlabels.partition import whole

if TYPE_CHECKING:
    from fewlabels.store import Store


def settled_labels(store: Store, name: str) -> dict[str, str]:
    """The labels of an assessment's pool that are valid now, id to class name.

    They depend on neither metric nor groups. Whether a label counts for the assessment's question does not matter:
    people typed them all.

    >>> import fewlabels as fl
    >>> from fewlabels.store import Event, Store
    >>> store = Store(None)
    >>> _ = store.create("pets", {}, fl.read_pool({"id": ["a", "b"], "predicted": ["cat", "dog"]}))
    >>> with store.transaction("pets") as log:
    ...     _ = log.append([Event("request", "a"), Event("label", "a", label="dog")])
    >>> settled_labels(store, "pets")
    {'a': 'dog'}
    """
    record, metric = store.open(name), Accuracy()
    pool = store.pool(record.fingerprint)
    ledger = Ledger(
        pool, metric, metric.cells(pool, whole(pool)), record.spec.get("overlap", 1), name, first=record.first
    )
    catch_up(ledger, store, name, keeps=False)
    items, true = ledger.labels()
    ids = texts_at(pool.id_column, items)
    return {item: pool.classes[k] for item, k in zip(ids, true.tolist(), strict=True)}
