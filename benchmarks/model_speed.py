"""How long the product takes with many models: the next item, the answer, a forecast and a plan.

python -m benchmarks.model_speed [--models 2 20 100] [--items 1000] [--labels 50]

Seconds of one core in a made world, once everything is compiled. Simulations are
timed by `benchmarks/model_worlds.py --what speed`.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import fewlabels as fl
from fewlabels.planning import forecast, plan

if TYPE_CHECKING:
    from collections.abc import Callable


def made(models: int, items: int) -> tuple[fl.Pool, dict[str, str]]:
    """A pool of models that are right about 60 to 85% of the items, and the labels."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 4, items)
    right = rng.random((items, models)) < np.linspace(0.6, 0.85, models)
    said = np.where(right, true[:, None], (true[:, None] + rng.integers(1, 4, right.shape)) % 4)
    names = {"models": [f"m{h}" for h in range(models)], "classes": [f"c{k}" for k in range(4)]}
    pool = fl.read_pool({"predicted": said, **names})
    return pool, {str(item): f"c{k}" for item, k in enumerate(true.tolist())}


def seconds(call: Callable[[], Any]) -> float:
    """The CPU time of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(models: int, items: int, labels: int) -> None:
    """Print what each step takes."""
    pool, true = made(models, items)
    task = fl.Best(fl.Accuracy())
    audit = fl.create(None, "which", pool, task=task)
    asked = 0.0
    for _ in range(labels):
        start = time.process_time()
        ids = audit.ask(1).ids
        asked += time.process_time() - start
        audit.tell({item: true[item] for item in ids})
    times = {
        "the next item": asked / labels,
        "answer": seconds(audit.answer),
        "forecast": seconds(lambda: forecast(audit)),
        "plan": seconds(lambda: plan(pool, task=task, budgets=[labels, 2 * labels])),
    }
    words = ", ".join(f"{name} {value:.2f} s" for name, value in times.items())
    print(f"{models} models, {items:,} items, {labels} labels: {words}", flush=True)


def main() -> None:
    """Measure each number of models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, nargs="+", default=[2, 20, 100])
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--labels", type=int, default=50)
    given = parser.parse_args()
    measure(2, 100, 5)  # compiles
    for models in given.models:
        measure(models, given.items, given.labels)


if __name__ == "__main__":
    main()
