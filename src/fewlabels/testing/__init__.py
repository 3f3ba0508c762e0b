"""The laws of metrics, tasks, policies and priors, as checks that anybody can run on a part of their own.

A check returns nothing, or raises an AssertionError that says which law is broken. Our own parts pass the same checks
in tests/core/test_contracts.py.

>>> import fewlabels as fl
>>> fl.testing.check_metric(fl.Accuracy())
"""

from fewlabels.testing.metrics import check_metric as check_metric
from fewlabels.testing.policies import check_policy as check_policy
from fewlabels.testing.priors import check_prior as check_prior
from fewlabels.testing.tasks import check_task as check_task
from fewlabels.testing.zoo import zoo as zoo
