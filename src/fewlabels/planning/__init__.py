"""Planning: how many labels an answer will probably take, before the first label and on the way."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewlabels.planning.budgets import Plan, plan
    from fewlabels.planning.forecasting import Forecast, forecast

__all__ = ["Forecast", "Plan", "forecast", "plan"]

# A plan needs no database, which a forecast does: each is imported when it is first used.
_HOMES = {"Plan": "budgets", "plan": "budgets", "Forecast": "forecasting", "forecast": "forecasting"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
