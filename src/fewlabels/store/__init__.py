"""The store of labels: the append-only log, the database under it, pools as bytes, and the people who label."""

from fewlabels.store.log import Event, Kind, Record, Store, Transaction

__all__ = ["Event", "Kind", "Record", "Store", "Transaction"]
