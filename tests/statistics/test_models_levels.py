"""How often each of several models is right, after labels went where it is open which of them is best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import norm

import fewlabels as fl
from fewlabels.learned.models import LevelsBelief
from fewlabels.learned.models.levels import SURVEY, Clearer, posterior
from fewlabels.tasks.models import joint

if TYPE_CHECKING:
    from numpy.typing import NDArray


def few_good(seed: int, n: int = 500) -> tuple[fl.Pool, NDArray[Any]]:
    """Four good models among sixteen bad ones, and one item in seven that is hard for the good: these differ there."""
    rng = np.random.default_rng(seed)
    true, hard = rng.integers(0, 2, n), rng.random(n) < 0.15
    chance = np.column_stack([*[np.where(hard, 0.65, 0.995)] * 4, *[np.full(n, 0.55)] * 16])
    said = np.where(rng.random(chance.shape) < chance, true[:, None], 1 - true[:, None])
    names = {"models": [f"m{k}" for k in range(20)], "classes": ["a", "b"], "id": [f"i{k}" for k in range(n)]}
    return fl.read_pool({"predicted": said, **names}), true


def asked(pool: fl.Pool, true: NDArray[Any], seed: int, anchor: float, labels: int = 60) -> fl.Assessment:
    audit = fl.create(None, "a", pool, task=fl.Best(fl.Accuracy()), target="pool", anchor=anchor, seed=seed)
    while audit.labelled < labels:
        audit.tell({item: "ab"[true[int(item[1:])]] for item in audit.ask(15).ids})
    return audit


def test_what_is_said_becomes_more_probable_by_its_share_of_delta() -> None:
    chance = np.array([[[0.2], [0.7], [0.1]], [[0.5], [0.0], [0.5]]])
    found = Clearer(np.array([1, 0]), np.array([0.5, 0.0])).more(chance, np.array([2.0]))
    odds = 0.7 / 0.3 * np.exp(0.5 * 2.0)
    assert found[0, :, 0] == pytest.approx([0.2 / 0.3 / (1 + odds), odds / (1 + odds), 0.1 / 0.3 / (1 + odds)])
    assert found[1] == pytest.approx(chance[1])


def test_anchors_tell_delta_as_a_slow_sum_says() -> None:
    """The mean of δ by the grid against a sum over a fine one, item by item."""
    chance, shown = np.array([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7]]), np.array([0, 0, 1])
    clearer = Clearer(np.array([0, 0, 1]), np.array([1.0, 0.5, 1.0]))
    fine = np.linspace(-6, 12, 4001)
    density = sum(weight * norm.pdf(fine, mean, sd) for weight, mean, sd in SURVEY)
    for p, share in ((0.6, 1.0), (0.6, 0.5), (0.7, 1.0)):
        odds = p / (1 - p) * np.exp(share * fine)
        density = density * odds / (1 + odds)
    slow = float((fine * density).sum() / density.sum())
    found = posterior(clearer, chance, shown)
    # The grid ends at 9, beyond which the prior has 0.02%.
    assert float(found @ np.linspace(-4, 9, 105)) == pytest.approx(slow, abs=0.02)
    without = posterior(
        Clearer(np.empty(0, dtype=np.int64), np.empty(0)), np.empty((0, 2)), np.empty(0, dtype=np.int64)
    )
    assert float(without @ np.linspace(-4, 9, 105)) == pytest.approx(SURVEY[:, 0] @ SURVEY[:, 1], abs=0.02)


def test_levels_are_honest_where_labels_went_to_hard_items() -> None:
    """With anchors the interval of the leader holds; the belief that only knows hard items says far too little.

    Of 8 runs 95% intervals miss more than 2 with a probability of 0.6%.
    """
    held = np.zeros(2)
    for seed in range(8):
        pool, true = few_good(seed)
        belief = joint(asked(pool, true, seed, anchor=0.3).belief())
        lead = int(belief.mean()[:, 0].argmax())
        exact = float((pool.answers[:, lead] == true).mean())
        for k, tried in enumerate((belief, LevelsBelief.of(belief))):
            low, high = np.quantile(tried.draws(np.random.default_rng(0), 1_000)[:, lead, 0], [0.025, 0.975])
            held[k] += low <= exact <= high
    assert held[0] <= 1
    assert held[1] >= 6


def test_who_is_best_does_not_depend_on_levels_and_every_face_shows_the_same_level() -> None:
    pool, true = few_good(1)
    audit = asked(pool, true, 1, anchor=0.3)
    found, levels = audit.answer(draws=1_000), audit.estimates(draws=1_000)
    belief = joint(audit.belief())
    assert 8 <= len(belief.anchors) <= 30  # by lot, 18 on average; three standard deviations
    rows = {row["group"]: row for row in found.table.rows()}
    best = pool.models[int(belief.mean()[:, 0].argmax())]
    assert next(iter(rows)) == best == found.groups[0]
    rules = audit.standing(stop=fl.Stop(probability=0.95), draws=1_000).rules
    assert next(rule.now for rule in rules if rule.rule == "probability") == pytest.approx(found.probability, abs=1e-12)
    for row in levels.rows():
        assert rows[row["group"]]["low"] == pytest.approx(row["low"], abs=1e-12)
        assert rows[row["group"]]["mean"] == pytest.approx(row["mean"], abs=1e-12)
    one = next(audit.estimates(model=best, draws=1_000).rows())
    assert one["mean"] == pytest.approx(rows[best]["mean"], abs=1e-12)
    f1 = next(audit.estimates(model=best, metric="f1", groups="whole", draws=1_000).rows())
    assert f1["low"] <= rows[best]["mean"] <= f1["high"]


def test_two_models_have_no_items_that_nobody_wants_a_label_of() -> None:
    rng = np.random.default_rng(3)
    pool = fl.read_pool({"predicted": rng.integers(0, 2, (60, 2)), "models": ["old", "new"], "classes": ["a", "b"]})
    audit = fl.create(None, "a", pool, task=fl.Best(fl.Accuracy()), target="pool")
    audit.tell(dict.fromkeys(audit.ask(10).ids, "a"))
    pair = fl.CompareModels(fl.Accuracy(), "new", "old")
    other = fl.create(None, "b", pool, task=pair, target="pool")
    other.tell(dict.fromkeys(audit.labels(), "a"), adopt=True)
    compared = joint(other.belief()).mean()
    assert LevelsBelief.of(joint(audit.belief())).mean() == pytest.approx(compared, abs=1e-6)  # in single precision
