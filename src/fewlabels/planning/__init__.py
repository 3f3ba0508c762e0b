"""Planning: how many labels an answer will probably take, before the first label and on the way."""

from fewlabels.planning.budgets import Plan, plan
from fewlabels.planning.forecasting import Forecast, forecast

__all__ = ["Forecast", "Plan", "forecast", "plan"]
