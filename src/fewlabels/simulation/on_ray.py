"""Ray as a standard executor."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class RayExecutor(Executor):
    """Work on a Ray cluster: `simulate(..., executor=RayExecutor())` after `ray.init()`.

    Ray must be installed (the extra `ray`), and fewlabels on every node.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call to the cluster."""
        ray = import_module("ray")  # large, and not a dependency
        future: Future[Any] = ray.remote(_call).remote(fn, args, kwargs).future()
        return future


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function: Ray accepts plain functions only, and pieces of work are partial objects."""
    return function(*args, **kwargs)
