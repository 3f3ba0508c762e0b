"""How functions are compiled: small formulas are inlined into their callers, and whole kernels are cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from fewlabels.errors import FewlabelsError, needs

try:
    import numba
except ModuleNotFoundError:  # an extra: the package must also import without it
    numba = None  # type: ignore[assignment]

F = TypeVar("F", bound=Callable[..., Any])


def need_compiler() -> None:
    """Raise FewlabelsError if numba is missing."""
    if numba is None:
        raise FewlabelsError(needs("simulating", "numba", "sim"))


def formula(function: F) -> F:
    """Compile a part of kernels. It is not cached on disk: a kernel can only inline what it compiles itself."""
    return cast("F", _compiled(function))


def loose_formula(function: F) -> F:
    """Compile a sum whose order does not matter, so that several of its terms are added at a time."""
    return cast("F", _compiled(function, reorder=True))


@lru_cache
def source_stamp() -> tuple[tuple[str, float, int], ...]:
    """The name, time and size of each file here that has compiled functions."""
    files = sorted(file for file in Path(__file__).parent.glob("*.py") if ".jit import" in file.read_text("utf-8"))
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)


def kernel(function: F) -> F:
    """Compile a driver, cache the machine code on disk, and let it run without the interpreter's lock.

    Numba considers cached code current as long as the function's own file is unchanged. Kernels use formulas of other
    files, so here a change in any file with compiled functions makes the cache stale.
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
