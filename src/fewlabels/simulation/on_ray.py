"""Ray as an executor of the standard kind."""

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
        """Hand a call to the cluster."""
        ray = import_module("ray")  # no dependency, and large
        future: Future[Any] = ray.remote(_call).remote(fn, args, kwargs).future()
        return future


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ray takes plain functions only, and pieces of work are partial ones."""
    return function(*args, **kwargs)
