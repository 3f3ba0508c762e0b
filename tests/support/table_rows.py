"""Predictions for tests of tables that stay where they are, and what such tests do again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fewlabels.named import groups_from

if TYPE_CHECKING:
    import fewlabels as fl


def yes_and_no(items: int = 500) -> pa.Table:
    rng = np.random.default_rng(1)
    columns: dict[str, list[Any]] = {
        "img": [n + 1_000 for n in range(items)],
        "predicted": rng.choice(["no", "yes"], items).tolist(),
        "confidence": rng.random(items).tolist(),
        "sex": rng.choice(["f", "m"], items).tolist(),
    }
    return pa.table(columns)


def groups_of(pool: fl.Pool, column: str, bins: str) -> dict[str, int]:
    groups = groups_from(f"column:{column}:{bins}", pool)
    return dict(zip(groups.names, groups.sizes.tolist(), strict=True))


def bugs(items: int = 300, seed: int = 0) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    return {
        "id": [f"i{n}" for n in range(items)],
        "predicted": [["ant", "bee", "cat"][k] for k in rng.choice(3, items, p=[0.6, 0.3, 0.1])],
        "confidence": rng.beta(4, 1, items).tolist(),
        "place": [["north", "south"][k] for k in rng.choice(2, items)],
        "text": [f"text {n}" for n in range(items)],
    }


def told(audit: fl.Assessment, ids: list[str]) -> None:
    names = audit.pool.classes
    audit.tell({item: names[audit.pool.predicted[audit.pool.positions([item])[0]]] for item in ids})
