"""The beginnings of notes that the program itself writes into the log, by which readers recognise them."""

from __future__ import annotations

KNOWN = "known"
"""A request that ends at once: the item was drawn, its label is known already, and it is handed to nobody."""
TAKEN_BACK = "taken back by"
"""An answer or an open item of one person that somebody else took back."""
