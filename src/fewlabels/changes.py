"""What changed between two pools, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.wording import some_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.pool import Pool


def changed(before: Pool, now: Pool) -> str:
    """The differences between a pool and what it is now, in words."""
    changes = []
    if before.models != now.models:
        old, new = (some_of(pool.models) or "one without a name" for pool in (before, now))
        changes.append(f"the models were {old} and are {new}")
    if before.choices != now.choices:
        changes.append(f"{len(before.choices)} classes before, {len(now.choices)} now, or other names or another order")
    if before.reserve is not None or now.reserve is not None:
        return "; ".join([*changes, *_units(before, now)]) or "items, confidences or further columns changed"
    if not before.id_column.equals(now.id_column):
        gone, come = (int(a.rows - b.has(a.ids).sum()) for a, b in ((before, now), (now, before)))
        changes.append(f"{gone:,} items gone and {come:,} new" if gone or come else "the same items in another order")
    else:
        changes.extend(_predictions(before, now))
    if before.evidence != now.evidence:
        old, new = (some_of(pool.evidence) or "none" for pool in (before, now))
        changes.append(f"the evidence was {old} and is {new}")
    return "; ".join(changes) or "the further columns changed"


def _units(before: Pool, now: Pool) -> list[str]:
    """What changed in a table that stays where it is, as far as its summary tells."""
    changes = [f"{len(before):,} items before, {len(now):,} now"] if len(before) != len(now) else []
    if before.choices == now.choices:
        sizes = (np.bincount(pool.predicted, pool.count, minlength=len(before.classes)) for pool in (before, now))
        if moved := int(np.count_nonzero(np.subtract(*sizes))):
            changes.append(f"the number of items differs for {moved:,} of {len(before.choices):,} predicted classes")
    return changes


def _predictions(before: Pool, now: Pool) -> list[str]:
    """What changed in the predictions of the same items, for each model that both pools have."""
    shared = [name for name in before.models if name in now.models]
    if not shared and (before.models or now.models):
        return []
    pairs = [(f" of {name!r}", before.of(name), now.of(name)) for name in shared] or [("", before, now)]
    changes = []
    for whose, old, new in pairs:
        if changed := int(np.count_nonzero(old.answers != new.answers)):
            changes.append(f"{changed:,} of {len(before):,} predictions{whose} changed")
        if not _same(old.score_sums, new.score_sums):
            changes.append(f"scores{whose} changed")
        elif not _same(old.confidence, new.confidence):
            changes.append(f"confidences{whose} changed")
    return changes


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
