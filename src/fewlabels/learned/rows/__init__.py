"""How far score vectors can be trusted: a model of the true class, learned from the labels of all cells.

θ_c ~ Dirichlet(κ m_c) for the outcome shares of cell c, where m_c is what the classifier expects there, tempered: its
scores are sharpened or flattened to e_cj^b, and the log-odds of being right are moved by a. The posterior of
(a, b, log κ) is a weight for each of some hundred points, laid where it has its mass; given a point, every cell is
conjugate. So the belief is a mixture of Dirichlets that is uncertain about a, b and κ.
"""

from __future__ import annotations

from fewlabels.learned.rows.believed import RowBelief
from fewlabels.learned.rows.expected import Expectation, expectation
from fewlabels.learned.rows.fit import learn_rows

__all__ = ["Expectation", "RowBelief", "expectation", "learn_rows"]
