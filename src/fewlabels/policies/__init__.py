"""The policies, which choose the groups to ask in next. A policy is a file here, and its line below."""

from fewlabels.policies.base import Policy as Policy
from fewlabels.policies.boundary import Boundary as Boundary
from fewlabels.policies.default import default_policy as default_policy
from fewlabels.policies.greedy import UCB as UCB
from fewlabels.policies.greedy import EpsilonGreedy as EpsilonGreedy
from fewlabels.policies.greedy import Greedy as Greedy
from fewlabels.policies.lottery import Lottery as Lottery
from fewlabels.policies.neyman import Neyman as Neyman
from fewlabels.policies.thompson import Thompson as Thompson
from fewlabels.policies.thompson import TopTwo as TopTwo
from fewlabels.policies.uniform import UniformGroups as UniformGroups
from fewlabels.policies.uniform import UniformItems as UniformItems
