"""The store of labels: the append-only log, the database under it, pools as bytes, and the people who label."""

from fewlabels.store.chain import DamagedError, GoneError, Mark
from fewlabels.store.event import Definition, Event, Kind
from fewlabels.store.log import Store
from fewlabels.store.rows import check_new_name
from fewlabels.store.transaction import Transaction, UnsureError

__all__ = [
    "DamagedError",
    "Definition",
    "Event",
    "GoneError",
    "Kind",
    "Mark",
    "Store",
    "Transaction",
    "UnsureError",
    "check_new_name",
]
