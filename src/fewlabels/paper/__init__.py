"""The paper, reproduced: every table and figure of "Active Bayesian Assessment of Black-Box Classifiers"."""

from __future__ import annotations
