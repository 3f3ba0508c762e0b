"""Anchors: drawn at random from all items, known from the log, and the same after a stop; strips of confidence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.findings.finding import find
from fewlabels.policies.anchors import are_anchors, is_anchor
from fewlabels.policies.first_draws import first_draws
from fewlabels.policies.step import Queue, ask_step
from fewlabels.spec import Spec
from fewlabels.tasks import Rewards
from tests.support.pools import zoo

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = zoo()
TASK = fl.Identify(fl.Accuracy(), lowest=2)
DIGITS = fl.load_digits()
POOL = fl.read_pool({"id": DIGITS.ids, "scores": DIGITS.scores}, classes=DIGITS.classes)
TRUTH = dict(zip(DIGITS.ids, DIGITS.labels, strict=True))


def _labelled(batches: int, **settings: Any) -> fl.Assessment:
    audit = fl.create(None, "audit", POOL, **settings)
    for _ in range(batches):
        audit.tell({item: TRUTH[item] for item in audit.ask(10).ids})
    return audit


# --- the draw


def test_a_step_is_an_anchor_with_the_probability_asked_for() -> None:
    drawn = sum(is_anchor(3, step, 0.2) for step in range(1, 3001))
    assert stats.binomtest(drawn, 3000, 0.2).pvalue > 1e-4
    assert not any(is_anchor(3, step, 0.0) for step in range(50))
    assert all(is_anchor(3, step, 1.0) for step in range(1, 50))
    assert not is_anchor(3, 0, 1.0)  # an item that was never asked for


@pytest.mark.parametrize("seed", [0, 3, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**64 + 5, 2**130])
@pytest.mark.parametrize("key", [0, 5, 2**40])
def test_many_first_draws_are_those_of_numpy(seed: int, key: int) -> None:
    numbers = np.concatenate([np.arange(50), np.random.default_rng(key).integers(2**32, size=50), [2**32 - 1]])
    expected = [np.random.default_rng([seed, number, key]).random() for number in numbers.tolist()]
    assert first_draws(seed, numbers, key).tolist() == expected


def test_many_steps_are_anchors_as_each_of_them_is() -> None:
    steps = np.random.default_rng(1).integers(0, 400, size=500)
    for share in (0.0, 0.2, 1.0):
        assert are_anchors(9, steps, share).tolist() == [is_anchor(9, step, share) for step in steps.tolist()]


def test_every_free_item_is_equally_likely_to_be_an_anchor() -> None:
    """Whatever the policy wants: here, two groups only, and some items are taken."""
    groups = fl.by_predicted(KNOWN.pool)
    cells = TASK.metric.cells(KNOWN.pool, groups)
    rewards = Rewards(TASK, cells, fl.Uniform().on(cells, "population").blank())
    taken = np.array([0, 3, 8])
    counts = np.zeros(len(KNOWN.pool))
    for seed in range(3000):
        free = Queue.of(groups, groups.sizes > 0, [taken])
        rng = np.random.default_rng(seed)
        items = ask_step(fl.Thompson(), rewards, free, rng, 5, best_first=False, anchor=True)
        assert len(set(items)) == TASK.plays == 2
        counts[items] += 1
    assert not counts[taken].any()
    assert stats.chisquare(np.delete(counts, taken)).pvalue > 1e-4


# --- the log


def test_the_log_tells_how_each_label_was_drawn(tmp_path: Path) -> None:
    audit = _labelled(8, task=fl.Identify(fl.Accuracy(), lowest=3), anchor=0.4, seed=4)
    rows = [row for row in audit.log().rows() if row["kind"] == "request"]
    by_log = {row["item"] for row in rows if is_anchor(4, row["step"], 0.4)}
    assert set(audit.anchors()) == by_log
    assert audit.anchored == len(by_log)
    assert 15 < len(by_log) < 50


def test_only_labels_that_were_asked_for_are_anchors() -> None:
    audit = fl.create(None, "audit", POOL, task=TASK, anchor=1.0, seed=4)
    asked = audit.ask(6).ids
    audit.tell({item: TRUTH[item] for item in asked[:4]})
    adopted = next(item for item in DIGITS.ids if item not in asked)
    audit.tell({adopted: TRUTH[adopted]}, adopt=True)
    assert audit.anchors() == asked[:4]  # neither what is pending nor what came from elsewhere
    audit.withdraw(asked[:1])
    assert audit.anchors() == asked[1:4]
    audit.tell({asked[0]: TRUTH[asked[0]]}, adopt=True)
    assert audit.anchored == 3
    assert audit.anchors() == asked[1:4]  # it came back without being asked for


def test_a_second_vote_does_not_change_how_an_item_was_drawn() -> None:
    audit = fl.create(None, "audit", KNOWN.pool, task=TASK, anchor=0.5, overlap=2, seed=2)
    for who in ("ann", "ben"):
        audit.tell(KNOWN.labels(audit.ask(8, annotator=who).ids), annotator=who)
    rows = [row for row in audit.log().rows() if row["kind"] == "request"]
    first = {row["item"]: row["step"] for row in reversed(rows) if row["annotator"] == "ann"}
    labelled = set(audit.labels())
    assert set(audit.anchors()) == {item for item, step in first.items() if is_anchor(2, step, 0.5)} & labelled


def test_a_resumed_assessment_asks_for_the_identical_items(tmp_path: Path) -> None:
    twin = fl.create(None, "audit", KNOWN.pool, task=TASK, seed=9, anchor=0.3)
    fl.create(tmp_path / "audit.db", "audit", KNOWN.pool, task=TASK, seed=9, anchor=0.3).close()
    for n in (1, 3, 2, 4):
        resumed = fl.load(tmp_path / "audit.db", "audit")
        batch, other = twin.ask(n), resumed.ask(n)
        assert other.requests == batch.requests
        for audit in (twin, resumed):
            audit.tell(KNOWN.labels(batch.ids))
        assert resumed.anchors() == twin.anchors()
        resumed.close()


# --- assessments made before there were anchors


def test_an_assessment_without_the_setting_asks_as_it_always_did() -> None:
    """The requests of a version that had no anchors."""
    spec = Spec(TASK, {"by": "predicted"}, fl.Uniform(), fl.Thompson(), seed=9)
    data = json.loads(json.dumps(spec.to_json()))
    assert "anchor" not in data
    assert "strips" not in data
    assert Spec.from_json(data) == spec
    audit = fl.create(None, "old", KNOWN.pool, task=TASK, prior=fl.Uniform(), policy=fl.Thompson(), seed=9)
    assert audit.spec == spec
    asked = []
    for _ in range(4):
        batch = audit.ask(3)
        asked += batch.ids
        audit.tell(KNOWN.labels(batch.ids))
    assert asked == ["z17", "z29", "z10", "z19", "z06", "z27", "z21", "z28", "z04", "z18", "z25", "z11"]
    assert audit.anchors() == []


# --- the defaults


@pytest.mark.parametrize(
    ("settings", "share"),
    [
        ({}, 0.2),
        ({"task": fl.Identify(fl.Accuracy(), lowest=1)}, 0.1),
        ({"task": fl.Compare(fl.Accuracy(), "zero", "one")}, 0),
        ({"task": fl.Certify(fl.Accuracy(), at_least=0.9, only=("one", "two"))}, 0),
        ({"prior": fl.Uniform()}, 0),
        ({"policy": fl.Thompson()}, 0),
        ({"policy": fl.Thompson(), "anchor": 0.3}, 0.3),
        ({"anchor": 0}, 0),
        ({"policy": fl.UniformItems()}, 0),
        ({"groups": fl.whole(POOL)}, 0.2),  # in strips
        ({"groups": fl.whole(POOL), "policy": fl.Thompson()}, 0),
    ],
)
def test_the_default_share(settings: dict[str, object], share: float) -> None:
    assert fl.create(None, "audit", POOL, **settings).spec.anchor == share  # type: ignore[arg-type]


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(fl.SpecError, match="The 'anchor' must lie between 0 and 1"):
        fl.create(None, "audit", POOL, anchor=1.5)


# --- one number


@pytest.mark.parametrize("settings", [{}, {"groups": fl.whole(POOL)}, {"policy": fl.Thompson()}], ids=repr)
@pytest.mark.parametrize("target", ["pool", "population"])
def test_the_number_over_all_items_is_the_same_by_every_route(settings: dict[str, object], target: str) -> None:
    audit = _labelled(6, target=target, **settings)
    row = next(audit.estimates(groups=fl.whole(POOL)).rows())
    answer = next(audit.answer().table.rows())
    overall = find(audit).overall
    for name in ("mean", "low", "high"):
        assert answer[name] == row[name] == getattr(overall, name)
    audit_draws = audit.draws(groups=fl.whole(POOL))[:, 0]
    assert np.quantile(audit_draws, 0.025) == pytest.approx(row["low"], abs=0.01)
    assert overall.name == "Right overall"


def test_what_the_number_rests_on_is_said() -> None:
    audit = _labelled(12, task=fl.Identify(fl.Accuracy(), lowest=1), anchor=0.3, seed=1)
    overall, anchors = find(audit).overall, len(audit.anchors())
    assert overall.rests == f"{anchors} of the 120 labels were drawn at random from all items"
    assert overall.doubt == ""
    few = _labelled(3, task=fl.Identify(fl.Accuracy(), lowest=1), anchor=0.1, seed=1)
    assert 0 < len(few.anchors()) < 10
    assert find(few).overall.doubt.endswith("drawn at random from all items")
    none = _labelled(3, task=fl.Identify(fl.Accuracy(), lowest=1), policy=fl.Boundary(), seed=1)
    assert find(none).overall.doubt.endswith("no label was drawn at random from all items")
    at_random = _labelled(3, policy=fl.UniformItems())
    assert (find(at_random).overall.doubt, find(at_random).overall.rests) == ("", "")
    assert len(at_random.anchors()) == 30


# --- strips of confidence


def test_where_all_items_are_one_group_labels_go_by_strips_of_confidence() -> None:
    audit = _labelled(10, groups=fl.whole(POOL), target="pool", seed=2)
    assert (audit.spec.strips, audit.spec.policy) == (10, fl.Neyman())
    assert audit.estimates()["group"] == ["all"]
    assert audit.estimates()["labelled"] == [100]
    found = find(audit)
    assert len(found.groups) == 1
    assert found.groups[0].prior is not None
    assert fl.forecast(audit, runs=4).words


def test_every_label_of_a_strip_corrects_the_number_over_all_items() -> None:
    """Each speaks for its strip, unless another assessment steered it elsewhere or nobody asked for it."""
    store = fl.Store(None)
    audit = fl.create(store, "audit", POOL, fl.whole(POOL), target="pool", seed=2)
    audit.tell({item: TRUTH[item] for item in audit.ask(60).ids})
    own = POOL.positions([*audit.labels()])
    worst = fl.create(store, "worst", POOL, task=TASK, target="pool", seed=5)
    worst.tell({item: TRUTH[item] for item in worst.ask(20).ids})
    free = next(item for item in DIGITS.ids if item not in audit.labels())
    audit.tell({free: TRUTH[free]}, adopt=True)

    sample, asking = audit.drawn_from_all(), fl.by_score(POOL, 10, "weight")
    assert sample is not None
    assert sample.strips is not None
    assert len(sample.items) == 81
    assert sample.strips.strip.tolist() == asking.group[sample.items].tolist()
    assert sample.strips.sizes.tolist() == asking.sizes.tolist()
    assert sample.strips.counts.tolist() == (np.isin(sample.items, own) | sample.anchor).tolist()
    assert sample.strips.counts.sum() < 80
    assert worst.drawn_from_all() is None  # its answer is about classes


def test_a_policy_or_a_guarantee_leaves_the_strips_out() -> None:
    settings: tuple[dict[str, object], ...] = (
        {"policy": fl.UniformItems()},
        {"stop": fl.Stop(width=0.2, guarantee="anytime")},
        {"prior": fl.Uniform()},
        {"task": fl.Estimate(fl.Recall(positive="one"))},
    )
    for more in settings:
        spec = fl.create(None, "audit", POOL, fl.whole(POOL), **more).spec  # type: ignore[arg-type]
        assert spec.strips == 0
        assert spec.policy != fl.Neyman()
    audit = fl.create(None, "audit", POOL, fl.whole(POOL))
    with pytest.raises(fl.SpecError, match="in strips of confidence"):
        audit.estimates(guarantee="anytime")
    with pytest.raises(fl.SpecError, match=r"Use groups=whole\(pool\)"):
        Spec(TASK, {"by": "predicted"}, fl.Learned(), fl.Thompson(), strips=4)


def test_labels_asked_by_strips_can_be_read_by_other_groups() -> None:
    audit = _labelled(8, groups=fl.whole(POOL), target="pool")
    table = audit.estimates(groups=fl.by_predicted(POOL), draws=200)
    assert sum(table["labelled"]) == 80
    assert audit.estimates(metric=fl.CalibrationError(), draws=200)["group"] == ["all"]
    assert audit.standing().rules[1].now == pytest.approx(
        audit.estimates()["high"][0] - audit.estimates()["low"][0], abs=1e-12
    )
