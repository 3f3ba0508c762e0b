"""Asking people and taking their answers: requests, votes, and the ledger that adds up the log."""
