"""How functions are compiled: small formulas into their callers, whole kernels kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from fewlabels.errors import FewlabelsError, needs

try:
    import numba
except ModuleNotFoundError:  # an extra: the package is looked at without it too
    numba = None  # type: ignore[assignment]

F = TypeVar("F", bound=Callable[..., Any])


def need_compiler() -> None:
    """Raise FewlabelsError if numba is missing."""
    if numba is None:
        raise FewlabelsError(needs("simulating", "numba", "sim"))


def formula(function: F) -> F:
    """Compile a part of kernels. It is not kept on disk: a kernel can only inline what it compiles itself."""
    return cast("F", _compiled(function))


def loose_formula(function: F) -> F:
    """Compile a sum whose order does not matter, so that several parts of it are added up at a time."""
    return cast("F", _compiled(function, reorder=True))


@lru_cache
def source_stamp() -> tuple[tuple[str, float, int], ...]:
    """Name, time and size of the files here that have compiled functions."""
    files = sorted(file for file in Path(__file__).parent.glob("*.py") if ".jit import" in file.read_text("utf-8"))
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)


def kernel(function: F) -> F:
    """Compile a driver, keep the machine code on disk, and let it run without the interpreter's lock.

    Numba takes kept code for current as long as the function's own file is unchanged. Kernels stand on formulas
    in other files, so here a change in any file with compiled functions makes it stale.
    """
    compiled = _compiled(function, cache=True)
    if numba is not None:
        compiled._cache._cache_file._source_stamp = source_stamp()  # noqa: SLF001  (a test watches that this works)
    return cast("F", compiled)


def _compiled(function: Callable[..., Any], *, cache: bool = False, reorder: bool = False) -> Any:
    """The function, compiled; without numba one that says so when it is called."""
    if numba is not None:
        return numba.njit(nogil=True, cache=cache, fastmath={"reassoc"} if reorder else False)(function)

    @wraps(function)
    def refuse(*_: object, **__: object) -> None:
        need_compiler()

    return refuse
