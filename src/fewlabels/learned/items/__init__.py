"""How far confidence can be trusted: a logistic model of being right, learned from the labels of all cells.

P(right | item with confidence s in cell c) = σ(a + b·(logit s − x0) + g·z_c + u_c), u_c ~ N(0, τ²). x0 is the place on
the scale of logit s at which doubt about b is no doubt about the overall accuracy. z_c says how much surer the cell is
than the pool: cells that are less sure on average are worse than the confidences of their items say (the contextual or
Mundlak effect of multilevel regression), and g is by how much. The posterior is a mixture over a small grid of
hyper-parameters, Gaussian at each point: so it is uncertain about a, b, g, τ and every u_c, and few labels do not move
a well-calibrated classifier far.
"""

from __future__ import annotations

from fewlabels.learned.items.believed import ItemBelief, LearnedBelief, Summary, in_words
from fewlabels.learned.items.fit import learn
from fewlabels.learned.items.model import Trust
from fewlabels.learned.items.strips import Strips, strips

__all__ = ["ItemBelief", "LearnedBelief", "Strips", "Summary", "Trust", "in_words", "learn", "strips"]
