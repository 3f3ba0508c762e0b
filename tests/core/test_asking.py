"""Which groups and items are asked: with the right frequencies, and spread over groups in a batch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import beta, chi2

import fewlabels as fl
from tests.support.contracts import TARGETS
from tests.support.pools import Known, pool_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from fewlabels.belief import Target

RARE = 1e-4
"""How rarely a right program fails a test of frequencies; its seed is fixed, so it then fails always or never."""


def _known(sizes: list[int], accuracy: list[float]) -> Known:
    """A pool with these numbers of items of each predicted class, of which these shares are right."""
    predicted = np.repeat(np.arange(len(sizes)), sizes)
    right = np.concatenate([np.arange(n) < round(n * share) for n, share in zip(sizes, accuracy, strict=True)])
    true = np.where(right, predicted, (predicted + 1) % len(sizes))
    return pool_of(predicted, true, np.full(len(predicted), 0.5), ["here"] * len(predicted), len(sizes))


def _assert_frequencies(seen: Iterable[Hashable], expected: Mapping[Any, float]) -> None:
    """Pearson's χ² against its quantile; every key must be expected."""
    count = Counter(seen)
    assert count.keys() <= expected.keys()
    total = count.total()
    assert min(expected.values()) * total >= 5, "χ² needs five expected in each"
    statistic = sum((count[key] - total * p) ** 2 / (total * p) for key, p in expected.items())
    assert statistic < chi2.ppf(1 - RARE, len(expected) - 1), count


@pytest.mark.parametrize("target", TARGETS)
def test_a_greedy_batch_does_not_go_to_one_group(target: Target) -> None:
    """Equal groups, nothing known: with pending items counted, twenty items are shared out evenly."""
    known = _known([50] * 5, [0.8] * 5)
    audit = fl.create(None, "batch", known.pool, policy=fl.Greedy(), target=target)
    count = Counter(request.group for request in audit.ask(20))
    assert sorted(count.values()) == [4, 4, 4, 4, 4]
    count.update(request.group for _ in range(20) for request in audit.ask(1))
    assert sorted(count.values()) == [8, 8, 8, 8, 8], "requests of earlier calls are still pending"


def _three_worst() -> fl.Assessment:
    """Six groups of which the three worst, and their order, are as good as known."""
    known = _known([400] * 6, [0, 0.2, 0.4, 1, 1, 1])
    task = fl.Identify(fl.Accuracy(), lowest=3)
    audit = fl.create(None, "plays", known.pool, task=task, policy=fl.Thompson(), seed=3)
    audit.tell(known.labels(list(known.truth)[::4]), adopt=True)
    return audit


def test_one_at_a_time_each_of_the_m_worst_groups_is_asked_alike() -> None:
    audit = _three_worst()
    groups = [request.group for _ in range(300) for request in audit.ask(1)]
    _assert_frequencies(groups, {"c0": 1 / 3, "c1": 1 / 3, "c2": 1 / 3})


def test_one_step_asks_in_each_of_the_m_worst_groups_once() -> None:
    audit = _three_worst()
    for _ in range(10):
        assert sorted(request.group for request in audit.ask(3)) == ["c0", "c1", "c2"]
    assert audit.log()["step"][-30:] == [step for step in range(1, 11) for _ in range(3)]


def test_uniform_items_asks_for_every_item_alike() -> None:
    known = _known([1, 2, 3, 4, 10], [1] * 5)
    audit = fl.create(None, "items", known.pool, policy=fl.UniformItems(), seed=1)
    asked = [item for batch in _batches(audit, 1, 400) for item in batch]
    _assert_frequencies(asked, dict.fromkeys(known.truth, 1 / 20))


@pytest.mark.slow
def test_uniform_items_stays_uniform_over_what_is_left() -> None:
    """The second of two items is any of the other items: ordered pairs are all alike."""
    known = _known([1, 1, 3], [1] * 3)
    audit = fl.create(None, "items", known.pool, policy=fl.UniformItems(), seed=2)
    pairs = [(a, b) for a in known.truth for b in known.truth if a != b]
    _assert_frequencies(_batches(audit, 2, 400), dict.fromkeys(pairs, 1 / 20))


def test_uniform_groups_asks_in_every_group_alike_whatever_its_size() -> None:
    known = _known([400, 450, 500, 5000], [1] * 4)
    audit = fl.create(None, "groups", known.pool, policy=fl.UniformGroups(), seed=1)
    _assert_frequencies((request.group for request in audit.ask(600)), dict.fromkeys(known.pool.classes, 1 / 4))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3])
def test_within_a_group_every_item_left_is_asked_alike(n: int) -> None:
    """Also where nearly all items of the group are taken, so that the few left are listed rather than guessed."""
    known = _known([900, 3], [0.5, 1])
    items = list(known.truth)
    free = [*items[10:16], *items[870:874]]
    taken = {item: known.truth[item] for item in items if item not in free}
    audit = fl.create(None, "items", known.pool, policy=fl.Greedy(), seed=4)
    audit.tell(taken, adopt=True)
    asked = [item for batch in _batches(audit, n, 400 // n) for item in batch]
    _assert_frequencies(asked, dict.fromkeys(free, 1 / 10))


def test_thompson_asks_in_a_group_as_often_as_it_is_believed_the_worst() -> None:
    """Probability matching: P(ask in a) = P(θ_a < θ_b) = ∫ f_b F_a."""
    known = _known([10, 10], [0.5, 0.5])
    audit = fl.create(None, "match", known.pool, task=fl.Identify(fl.Accuracy(), lowest=1), prior=fl.Uniform(), seed=6)
    audit.tell(known.labels([f"i{i}" for i in (3, 4, 5, 12, 13, 14, 15)]), adopt=True)
    a, b = audit.belief().alpha
    assert (a.tolist(), b.tolist()) == ([3, 2], [4, 2])
    group = {item: known.pool.classes[k] for item, k in zip(known.truth, known.pool.predicted, strict=True)}
    asked = [group[item] for (item,) in _batches(audit, 1, 600)]
    y = (np.arange(100_000) + 0.5) / 100_000
    chance = float(np.mean(beta.pdf(y, *b) * beta.cdf(y, *a)))
    _assert_frequencies(asked, {"c0": chance, "c1": 1 - chance})


def _batches(audit: fl.Assessment, n: int, times: int) -> list[tuple[str, ...]]:
    """Batches of n items, each withdrawn before the next, so that all are asked with the same knowledge."""
    batches = []
    for _ in range(times):
        batches.append(tuple(audit.ask(n).ids))
        audit.withdraw(batches[-1])
    return batches
