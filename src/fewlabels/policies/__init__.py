"""The policies: in which groups to ask next."""

from fewlabels.policies.base import Policy
from fewlabels.policies.boundary import Boundary
from fewlabels.policies.default import default_policy
from fewlabels.policies.greedy import UCB, EpsilonGreedy, Greedy
from fewlabels.policies.thompson import Thompson, TopTwo
from fewlabels.policies.uniform import UniformGroups, UniformItems

__all__ = [
    "UCB",
    "Boundary",
    "EpsilonGreedy",
    "Greedy",
    "Policy",
    "Thompson",
    "TopTwo",
    "UniformGroups",
    "UniformItems",
    "default_policy",
]
