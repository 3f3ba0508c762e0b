"""How far confidence can be trusted: a logistic model of being right, learned from the labels of all groups.

P(right | item with confidence s in group c) = σ(a + b·(logit s − x0) + g·z_c + h·l_c + u_c), u_c ~ N(0, τ²). x0 is the
place on the scale of logit s at which doubt about b is no doubt about the overall accuracy. z_c says how much surer the
group is than the pool: groups that are less sure on average are worse than the confidences of their items say (the
contextual or Mundlak effect of multilevel regression), and g is by how much. l_c says how much larger the group is than
the others: classes that are rare, or that are predicted too often, can be worse, and h is by how much. Where items
belong to several factors at once, such as the groups of asking and those of reading, or a group and a predicted class,
each factor has effects v_d ~ N(0, ω²), and u is their interaction. The posterior is a mixture over a small grid of
hyper-parameters, Gaussian at each point: so it is uncertain about a, b, g, h, τ, ω and every effect, and few labels do
not move a well-calibrated classifier far.
"""

from __future__ import annotations

from fewlabels.learned.items.believed import ItemBelief, LearnedBelief, Summary, TrustBelief, in_words
from fewlabels.learned.items.fit import learn
from fewlabels.learned.items.kept import learn_once
from fewlabels.learned.items.model import Trust
from fewlabels.learned.items.strips import Factors, Strips, strips

__all__ = [
    "Factors",
    "ItemBelief",
    "LearnedBelief",
    "Strips",
    "Summary",
    "Trust",
    "TrustBelief",
    "in_words",
    "learn",
    "learn_once",
    "strips",
]
