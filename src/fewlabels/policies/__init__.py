"""The policies: in which groups to ask next."""

from fewlabels.policies.base import Policy
from fewlabels.policies.greedy import UCB, EpsilonGreedy, Greedy
from fewlabels.policies.thompson import Thompson, TopTwo
from fewlabels.policies.uniform import UniformGroups, UniformItems

__all__ = ["UCB", "EpsilonGreedy", "Greedy", "Policy", "Thompson", "TopTwo", "UniformGroups", "UniformItems"]
