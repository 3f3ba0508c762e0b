"""Asking people and hearing them: requests, votes, and the ledger that adds the log up."""
