"""Runs in parallel, on threads, processes or a cluster, with the same results everywhere."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fewlabels.checks import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Result = TypeVar("Result")

_CHUNKS = 64


def run_generator(seed: int, run: int) -> np.random.Generator:
    """The generator of one run: it depends on the seed and the run's number, and on nothing else.

    >>> run_generator(7, 3).random() == run_generator(7, 3).random() != run_generator(7, 4).random()
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))


def chunks(runs: int) -> list[range]:
    """The runs in at most 64 pieces of about the same size, which do not depend on where the work is done.

    >>> chunks(3), len(chunks(1000))
    ([range(0, 1), range(1, 2), range(2, 3)], 64)
    """
    ends = np.linspace(0, runs, min(runs, _CHUNKS) + 1).round().astype(int).tolist()
    return [range(first, last) for first, last in pairwise(ends)]


def gather(
    work: Sequence[Callable[[], Result]],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """The results of pieces of work, in their order.

    Parameters
    ----------
    work
        Functions without arguments; `functools.partial` of a module's function goes to other processes too.
    jobs
        How many threads; None for as many as there are processors for this process. Kernels release Python's
        lock, so that threads are enough for them.
    executor
        Any standard executor to use instead: a process pool, or that of a Dask client.
    progress
        Called with the number of pieces done and the total, in this thread.

    >>> gather([lambda: 1, lambda: 2], jobs=2)
    [1, 2]
    """
    if executor is not None:
        return _on(executor, work, progress)
    jobs = processors() if jobs is None else whole_number(jobs, "The 'jobs'")
    if jobs > 1:
        with ThreadPoolExecutor(jobs) as threads:
            return _on(threads, work, progress)
    results = []
    for piece in work:
        results.append(piece())
        if progress is not None:
            progress(len(results), len(work))
    return results


def processors() -> int:
    """The number of processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _on(
    executor: Executor, work: Sequence[Callable[[], Result]], progress: Callable[[int, int], None] | None
) -> list[Result]:
    futures = [executor.submit(piece) for piece in work]
    try:
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            if progress is not None:
                progress(done, len(work))
    finally:
        # After an error or an interruption, do not wait for the rest.
        for future in futures:
            future.cancel()
    return [future.result() for future in futures]
