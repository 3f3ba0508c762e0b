"""Findings: what an assessment shows so far, as numbers, the evidence behind them, and a sentence."""
