"""Items without an answer are wrong, and nobody has to label them to know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.findings.learned import bands
from fewlabels.outcomes import Outcomes
from fewlabels.planning.worlds import draw_world
from fewlabels.policies.base import best
from fewlabels.policies.step import Queue, ask_step
from fewlabels.pool import NO_ANSWER
from fewlabels.tasks import Rewards


def made(rng, items=600, confidence=False):
    """A model that is right for 80% of the items that it answers, and leaves a quarter unanswered; with the labels."""
    true = rng.integers(0, 2, items)
    said = np.where(rng.random(items) < 0.8, true, 1 - true)
    said = np.where(rng.random(items) < 0.25, -1, said)
    sure = rng.uniform(0.6, 1, items)
    arrays = {"predicted": np.column_stack([said, true]), "models": ["new", "other"], "classes": ["a", "b"]}
    if confidence:
        arrays["confidence"] = np.column_stack([sure, sure])
    pool = fl.read_pool(arrays).of("new")
    labels = dict(zip(pool.ids.to_pylist(), [pool.choices[k] for k in true], strict=True))
    return pool, labels, (said == true)


@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Learned()], ids=repr)
@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("confidence", [False, True])
def test_the_group_without_answers_is_known_to_be_wrong(prior, target, confidence):
    pool, labels, _ = made(np.random.default_rng(1), confidence=confidence)
    audit = fl.create(None, "x", pool, prior=prior, target=target)
    audit.tell({item: labels[item] for item in audit.ask(30).ids})
    rows = {row["group"]: row for row in audit.estimates().rows()}
    assert rows[NO_ANSWER]["high"] < 0.01
    assert 0.55 < rows["a"]["mean"] < 0.95
    counted = audit.by_group()
    # Only items that are drawn at random from all can be among these.
    assert dict(zip(counted["group"], counted["labelled"], strict=True))[NO_ANSWER] <= 2


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("confidence", [False, True])
def test_without_labels_the_prior_is_about_the_answered_items(target, confidence):
    pool, _, _ = made(np.random.default_rng(2), confidence=confidence)
    share = float((pool.answers >= 0).mean())
    answered = fl.create(None, "x", pool, fl.whole(pool), target=target)
    draws = answered.draws(4000)[:, 0]
    assert draws.max() <= share + 1e-9
    low, high = answered.belief().alpha[0] / answered.belief().strength[0]
    assert low == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(4000))
    assert low + high == pytest.approx(1)


def test_all_labels_give_the_share_right():
    pool, labels, right = made(np.random.default_rng(3), items=80)
    audit = fl.create(None, "x", pool, fl.whole(pool), target="pool")
    audit.tell({item: labels[item] for item in audit.ask(80).ids})
    (row,) = audit.estimates().rows()
    assert (row["low"], row["mean"], row["high"]) == pytest.approx([right.mean()] * 3)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [False, True])
def test_intervals_hold_with_items_that_were_not_answered(confidence):
    """95% intervals of the pool's accuracy from 60 random labels hold in 93 to 97 of 100, within three errors."""
    runs, held = 150, 0
    rng = np.random.default_rng(4)
    for _ in range(runs):
        pool, labels, right = made(rng, items=400, confidence=confidence)
        audit = fl.create(None, "x", pool, fl.whole(pool), target="pool", seed=int(rng.integers(2**31)))
        audit.tell({item: labels[item] for item in audit.ask(60).ids})
        (row,) = audit.estimates(draws=2000).rows()
        held += row["low"] <= right.mean() <= row["high"]
    assert held / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.slow
def test_plans_and_reports_know_them(tmp_path):
    pool, labels, _ = made(np.random.default_rng(5), confidence=True)
    cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    belief = fl.Learned().on(cells, "population").blank()
    world = draw_world(belief, cells, Outcomes.none(cells), np.random.default_rng(1))
    assert (world.outcome[pool.answers[:, 0] < 0] == 1).all()
    assert world.shares[-1].tolist() == [0, 1]
    audit = fl.create(None, "x", pool)
    audit.tell({item: labels[item] for item in audit.ask(40).ids})
    read = bands(audit, 0.95)
    assert sum(band.items for band in read) == (pool.answers >= 0).sum()
    assert audit.report(tmp_path / "x.html").stat().st_size > 0


@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Learned()], ids=repr)
@pytest.mark.parametrize("target", ["population", "pool"])
def test_rates_are_about_the_classes_that_labels_can_be(prior, target):
    """A refusal finds nothing and is not a class of its own: means of rates are over the others."""
    rng = np.random.default_rng(9)
    true = rng.integers(0, 3, 600)
    said = np.where(rng.random(600) < 0.8, true, (true + 1) % 3)
    said[rng.random(600) < 0.25] = -1
    names = np.array(["a", "b", "c", "I'm sorry"], dtype=object)
    pool = fl.read_pool({"predicted": names[said]}, never_right=["I'm*"])
    audit = fl.create(None, "x", pool, fl.whole(pool), prior=prior, target=target)
    labels = {str(i): names[true[i]] for i in range(600)}
    audit.tell({item: labels[item] for item in audit.ask(300).ids})
    recall = np.mean([(said[true == k] == k).mean() for k in range(3)])
    precision = np.mean([(true[said == k] == k).mean() for k in range(3)])
    for metric, value in ((fl.Recall(), recall), (fl.Precision(), precision), (fl.Prevalence("a"), (true == 0).mean())):
        (row,) = audit.estimates(metric=metric).rows()
        assert row["low"] - 0.02 < value < row["high"] + 0.02, metric
        assert row["high"] - row["low"] < 0.13
    shares = audit.belief().draws(np.random.default_rng(0), 200)
    confusion = fl.Confusion()
    cells = confusion.cells(pool, fl.by_predicted(pool))
    read = audit.draws(200, metric=confusion, groups=fl.by_predicted(pool))
    assert shares.shape[0] == 200
    assert read[..., cells.outcomes.index(NO_ANSWER)].max() < 1e-9


def test_a_plan_knows_that_refusals_are_wrong():
    pool, _, _ = made(np.random.default_rng(4))
    cells = fl.Recall().cells(pool, fl.whole(pool))
    belief = fl.Learned().on(cells, "pool").blank()
    world = draw_world(belief, cells, Outcomes.none(cells), np.random.default_rng(1))
    assert not world.is_right[pool.answers.ravel() < 0].any()


def test_refusals_are_asked_about_last():
    """A draw in which all other groups are perfect rewards no label more than one of a refusal, which tells nothing."""
    said = ["x", "y", "I'm sorry"] * 20
    pool = fl.read_pool({"predicted": said}, classes=["x", "y"], never_right=["I'm*"])
    audit = fl.create(None, "refusals", pool, policy=fl.Thompson(), anchor=0)
    cells, nothing = audit.cells, np.zeros(3)
    assert audit.spec.asked_first(cells, nothing).tolist() == [True, True, False]
    # A random sample stays one, and a rule that needs labels of every group gets them.
    assert replace(audit.spec, policy=fl.UniformItems()).asked_first(cells, nothing) is None
    assert replace(audit.spec, stop=fl.Stop(width=0.2)).asked_first(cells, nothing).all()
    free = Queue.of(cells.partition, np.ones(3, dtype=bool))
    first = audit.spec.asked_first(cells, nothing)
    for seed in range(50):
        rewards = Rewards(audit.spec.task, cells, audit.belief())
        (item,) = ask_step(Even(), rewards, free.copy(), np.random.default_rng(seed), 1, best_first=True, first=first)
        assert said[item] != "I'm sorry"


class Even(fl.Thompson):
    """Every group is worth the same."""

    def choose(self, rewards, room, plays, rng):
        return best(np.zeros(len(room)), room, plays, rng)
