"""Labels that may be wrong: how often people are wrong, the true classes of items, and the resulting belief."""

from __future__ import annotations

from fewlabels.noise.ballots import Ballots
from fewlabels.noise.believed import NoisyBelief
from fewlabels.noise.chain import Imputed, impute
from fewlabels.noise.people import Usual
from fewlabels.noise.reliability import Reliability, reliability
from fewlabels.noise.second import Worth, worth

__all__ = ["Ballots", "Imputed", "NoisyBelief", "Reliability", "Usual", "Worth", "impute", "reliability", "worth"]
