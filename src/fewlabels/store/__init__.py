"""Where labels are kept: the append-only log, the database under it, pools as bytes, and who may label."""

from fewlabels.store.log import Event, Kind, Record, Store, Transaction

__all__ = ["Event", "Kind", "Record", "Store", "Transaction"]
