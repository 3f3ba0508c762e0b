"""What plans and forecasts stand on: worlds as the belief has them, asked and read as the assessment does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.learned.items import TrustBelief
from fewlabels.outcomes import Outcomes
from fewlabels.planning import watching
from fewlabels.planning.asking import Game
from fewlabels.planning.doubtful import heard, worth_of_label, worth_on_average
from fewlabels.planning.forecasting import game_of
from fewlabels.planning.watching import Watch
from fewlabels.planning.worlds import World, draw_world
from fewlabels.policies import Boundary
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.methods import Method
from fewlabels.simulation.truth import Truth
from fewlabels.spec import Spec
from fewlabels.standing import RuleProgress, Standing
from fewlabels.stopping import Stop
from fewlabels.tasks.snapshot import Snapshot
from tests.support.contracts import POLICIES
from tests.support.planning import ESTIMATE, LOWEST, TAIL, Z, blank, cells_of, pool_of
from tests.support.pools import zoo

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.cells import Cells
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task

    Grouped = Callable[[fl.Pool], fl.Partition]

# --- worlds


@pytest.mark.slow
@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Informed(5), fl.Learned()], ids=repr)
@pytest.mark.parametrize("task", [ESTIMATE, fl.Estimate(fl.Confusion())], ids=repr)
def test_labels_of_a_world_come_from_its_shares(prior: Prior, task: Task) -> None:
    known = zoo()
    cells = task.metric.cells(known.pool, fl.by_predicted(known.pool))
    expected, variance, found = np.zeros(cells.blank.shape), np.zeros(cells.blank.shape), np.zeros(cells.blank.shape)
    for seed in range(200):
        world = draw_world(blank(prior, cells), cells, Outcomes.none(cells), np.random.default_rng(seed))
        counts = np.zeros(cells.blank.shape)
        np.add.at(counts, (cells.cell, world.outcome), 1)
        found += counts
        expected += cells.size[:, None] * world.shares
        # Items with chances of their own vary less than this.
        variance += cells.size[:, None] * world.shares * (1 - world.shares)
    assert (np.abs(found - expected) <= Z * np.sqrt(variance) + 1e-9).all()


def test_worlds_are_as_the_prior_has_them() -> None:
    cells = cells_of(pool_of(2, 10))
    worlds = [
        draw_world(blank(fl.Uniform(), cells), cells, Outcomes.none(cells), np.random.default_rng(s))
        for s in range(500)
    ]
    drawn = np.array([world.shares[0, 0] for world in worlds])
    assert stats.kstest(drawn, "uniform").pvalue > TAIL
    # Right answers of ten items under a uniform share are uniform on 0 to 10.
    right = np.bincount([10 - world.outcome[cells.cell == 0].sum() for world in worlds], minlength=11)
    assert stats.chisquare(right).pvalue > TAIL


def test_items_of_a_learned_world_go_by_their_own_confidence_and_labels_stay() -> None:
    pool = pool_of(3, 200, confidence=True)
    cells = cells_of(pool)
    known = Outcomes.of(cells, np.array([3, 5, 8]), np.array([1, 1, 1]))
    assert pool.confidence is not None
    sure = pool.confidence > np.median(pool.confidence)
    more = []
    for seed in range(40):
        world = draw_world(blank(fl.Learned(), cells), cells, known, np.random.default_rng(seed))
        assert (world.outcome[known.items] == known.shown).all()
        more.append((world.outcome[sure] == 0).mean() - (world.outcome[~sure] == 0).mean())
    assert np.mean(more) > Z * np.std(more, ddof=1) / np.sqrt(len(more))


@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Learned()], ids=repr)
@pytest.mark.parametrize("task", [ESTIMATE, fl.Estimate(fl.Confusion())], ids=repr)
def test_expected_accuracy_is_the_accuracy_of_the_worlds(prior: Prior, task: Task) -> None:
    cells = cells_of(pool_of(4, 50), task)
    own = np.zeros(len(cells), dtype=np.int64) if cells.right is None else cells.right
    for seed in range(5):
        world = draw_world(blank(prior, cells), cells, Outcomes.none(cells), np.random.default_rng(seed), expect=0.9)
        assert cells.size @ world.shares[np.arange(len(cells)), own] / 200 == pytest.approx(0.9)
        np.testing.assert_allclose(world.shares.sum(axis=1), 1)


def test_the_truth_of_a_world_is_that_of_its_target() -> None:
    cells = cells_of(pool_of(2, 4))
    outcome = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    world = World(outcome, outcome == 0, np.array([[0.9, 0.1], [0.3, 0.7]]))
    assert world.value(fl.Accuracy(), cells, "population")[:2].tolist() == [0.9, 0.3]
    assert world.value(fl.Accuracy(), cells, "pool")[:2].tolist() == [0.75, 0.25]
    assert world.right(cells) == 0.5


# --- asking


@pytest.mark.parametrize("policy", [*POLICIES, Boundary()], ids=repr)
@pytest.mark.parametrize("task", [ESTIMATE, fl.Identify(fl.Accuracy(), lowest=2)], ids=repr)
def test_a_game_goes_on_from_where_it_stands_and_asks_nothing_twice(task: Task, policy: Policy) -> None:
    known = zoo()
    groups = fl.by_predicted(known.pool)
    spec = Spec(task, groups.recipe, fl.Uniform(), policy)
    cells = task.metric.cells(known.pool, groups)
    told, pending = Outcomes.of(cells, np.array([0, 10, 20]), np.array([0, 1, 0])), np.array([1, 29])
    rng = np.random.default_rng(1)
    world = draw_world(blank(fl.Uniform(), cells), cells, told, rng)
    looks = list(Game(spec, cells, told, pending).play(world, rng, 100, at=[17]))
    assert [look.labels for look in looks[:3]] == [3, 5, 5 + task.plays]
    assert {17, 30} <= {look.labels for look in looks}
    for look in looks:
        assert look.belief.counts.sum() == look.labels
    # All 30 items have been asked once, so that the counts are those of the whole world.
    np.testing.assert_array_equal(looks[-1].belief.counts[:, 1], np.bincount(cells.cell, world.outcome))


def runs_of(policy: Policy, task: Task, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of each group and widest interval after 60, in games and in the library's own step-by-step loop."""
    pool = pool_of(5, 40)
    groups = fl.by_predicted(pool)
    cells, spec = cells_of(pool), Spec(task, groups.recipe, fl.Uniform(), policy)
    method = Method("loop", fl.Uniform(), policy)
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        world = draw_world(blank(fl.Uniform(), cells), cells, Outcomes.none(cells), rng)
        *_, last = Game(spec, cells, Outcomes.none(cells)).play(world, rng, 60)
        truth = Truth(task, cells, world.outcome, world.is_right)
        items = ask_and_tell(truth, method, rng, 60)
        theirs = fl.Uniform().on(cells, "population").belief(truth.outcomes(items))
        found.append([_summary(belief, task, cells) for belief in (last.belief, theirs)])
    ours, theirs = np.moveaxis(np.array(found), 1, 0)
    return ours, theirs


def _summary(belief: fl.Belief, task: Task, cells: Cells) -> list[float]:
    labels = np.sort(belief.counts.sum(axis=1))
    return [*labels, Snapshot(task, cells, belief, np.random.default_rng(0), 10).width]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "task"),
    [(fl.Thompson(), ESTIMATE), (fl.Thompson(), LOWEST), (fl.Greedy(), ESTIMATE)],
    ids=lambda part: type(part).__name__,
)
def test_rounds_ask_as_single_steps_do(policy: Policy, task: Task) -> None:
    ours, theirs = runs_of(policy, task, 30)
    difference = ours - theirs
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    # What the rounds change is allowed for: at most half a label of 60, and a hundredth of a width.
    assert (np.abs(difference.mean(axis=0)) <= Z * error + [*[0.5] * (ours.shape[1] - 1), 0.01]).all()


# --- readings


def test_widths_of_a_population_are_exact() -> None:
    audit = fl.create(None, "exact", zoo().pool, prior=fl.Uniform(), seed=2)
    audit.tell(zoo().labels(audit.ask(14).ids))
    cells = cells_of(audit.pool)
    reading = Snapshot(ESTIMATE, cells, audit.belief(), np.random.default_rng(0), 10)
    shown = [row["high"] - row["low"] for row in audit.estimates().rows() if row["low"] is not None]
    np.testing.assert_allclose(reading.widths, shown, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Learned()], ids=repr)
def test_readings_are_near_what_the_assessment_shows(prior: Prior, target: str) -> None:
    pool = pool_of(6, 60, confidence=True)
    task = fl.Identify(fl.Accuracy(), lowest=2)
    stop = Stop(probability=0.9, width=0.3, overall=0.1)
    audit = fl.create(None, "near", pool, task=task, prior=prior, target=target, stop=stop)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    for _ in range(6):
        audit.tell({i: pool.classes[int(i) % 6] if rng.random() < 0.7 else "other" for i in audit.ask(20).ids})
    draws = 4_000
    reading = Snapshot(task, cells_of(pool), audit.belief(), rng, draws)
    shown = {rule.rule: rule.now for rule in audit.standing().rules}
    p = shown["probability"]
    assert abs(reading.probability - p) < Z * np.sqrt(p * (1 - p) * (1 / draws + 1 / 10_000))
    # Shares of 60 items come in steps of 1/60, and the quantiles of 10,000 draws are known to some percent.
    step = 1.5 / 60 if target == "pool" else 0.0
    assert reading.width == pytest.approx(shown["width"], rel=0.06, abs=step)
    assert reading.overall == pytest.approx(shown["overall"], rel=0.06, abs=step / 6)


@pytest.mark.parametrize("grouped", [fl.by_predicted, fl.whole])
@pytest.mark.parametrize("target", ["population", "pool"])
def test_the_number_over_all_items_is_read_as_the_assessment_shows_it(grouped: Grouped, target: str) -> None:
    pool = pool_of(6, 300, confidence=True)
    stop = Stop(overall=0.01) if grouped is fl.by_predicted else Stop(width=0.01)
    audit = fl.create(None, "all", pool, grouped(pool), target=target, stop=stop, seed=4)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    for _ in range(6):
        audit.tell({i: pool.classes[int(i) % 6] if rng.random() < 0.7 else "other" for i in audit.ask(20).ids})
    pending = audit.ask(3).ids
    game = game_of(audit)
    assert len(game.cells) == (6 if grouped is fl.by_predicted else 10)  # strips are asked in
    world = draw_world(game.prior.belief(game.known), game.cells, game.known, rng)
    now, then, *_ = game.play(world, rng, 200)
    assert now.drawn is not None
    assert then.drawn is not None
    assert (now.labels, now.drawn.anchors, then.drawn.labelled.sum()) == (120, len(audit.anchors()), 123)
    assert set(pool.positions(pending)) <= set(now.drawn.items[~now.drawn.labelled])
    reading = game.snapshot(now, np.random.default_rng(5), 10_000)
    shown = audit.standing().rules[0].now
    # Both ends are quantiles of 10,000 draws: the width has an error of 1% in each. The pool's shares come in steps.
    assert reading.overall == pytest.approx(shown, rel=Z * 0.01 * np.sqrt(2), abs=1 / len(pool) * (target == "pool"))
    assert Snapshot(ESTIMATE, game.cells, now.belief, rng, 10_000).overall < 0.97 * shown
    assert reading.width == reading.overall if grouped is fl.whole else reading.width > shown
    assert reading.honesty("overall", game.truth(world)) in (0, 1)


def test_a_doubtful_average_begins_at_the_width_that_is_shown_and_ends_where_labels_are_worth_less(monkeypatch) -> None:
    monkeypatch.setattr(watching, "_SHOWN", 0.0)
    pool = pool_of(2, 2_000)
    audit = fl.create(None, "doubt", pool, policy=fl.UniformItems(), stop=Stop(overall=0.01))
    audit.tell({i: pool.classes[int(i) % 2] if int(i) % 5 else "other" for i in audit.ask(100).ids})
    game, rng = game_of(audit), np.random.default_rng(2)
    world = draw_world(game.prior.belief(game.known), game.cells, game.known, rng)
    looks = list(game.play(world, rng, 2_500, at=[2_500]))
    wide = {look.labels: game.snapshot(look, rng, 1_000).overall for look in (looks[0], looks[-1])}
    for look, expected in ((looks[0], 0.3), (looks[-1], wide[2_500] * (0.3 / wide[100]) ** 0.04 * 0.25**-0.48)):
        for wanted, met in ((1.1 * expected, True), (0.9 * expected, False)):
            shown = Standing((RuleProgress("overall", 0.3, wanted, reached=False),), reached=False, words="")
            watch = Watch(game, Stop(overall=wanted), 100, shown)
            watch.begin(looks[0], rng, 0.25)
            assert (watch.met(look, rng) is not None) == met


def test_the_surer_the_classifier_is_the_less_a_doubtful_label_of_it_is_heard() -> None:
    chance = np.repeat([0.6, 0.97], 4_000)
    world = World(np.zeros(8_000, dtype=np.int64), np.ones(8_000, dtype=bool), np.empty((1, 2)), chance=chance)
    some = heard(world, 0.05, 10, np.random.default_rng(1)).heard
    assert some is not None
    worth = worth_of_label(chance[[0, -1]], 0.05, 10)
    assert some.reshape(2, -1).mean(axis=1) == pytest.approx(worth, abs=Z * 0.5 / np.sqrt(4_000))
    assert worth_on_average(world, 0.05, 10) == pytest.approx(np.average(worth, weights=[0.24, 0.0291]))
    # Two units of a table that stand for as many items, and a named one that is an item of theirs.
    units = replace(world, chance=np.array([0.6, 0.97, 0.6]))
    assert worth_on_average(units, 0.05, 10, np.array([4_000, 4_000, 0])) == pytest.approx(
        worth_on_average(world, 0.05, 10)
    )


def test_of_equal_groups_any_may_be_named() -> None:
    cells = cells_of(pool_of(3, 10))
    belief = fl.Belief(np.ones((3, 2)), np.array([[1.0, 99.0], [50.0, 50.0], [99.0, 1.0]]), cells.size)
    reading = Snapshot(LOWEST, cells, belief, np.random.default_rng(0), 100)
    assert reading.probability == 1
    assert reading.is_right(np.array([0.2, 0.5, 0.9]))
    assert reading.is_right(np.array([0.5, 0.5, 0.9]))
    assert not reading.is_right(np.array([0.6, 0.5, 0.9]))


def test_a_world_of_several_models_is_drawn_as_they_are_believed() -> None:
    """The share right of each model over many worlds is the mean of the belief, within the error of so many draws."""
    rng = np.random.default_rng(8)
    true = rng.integers(0, 3, 300)
    said = [np.where(rng.random(300) < share, true, (true + 1) % 3) for share in (0.6, 0.8)]
    arrays = {"predicted": np.column_stack(said), "models": ["old", "new"], "classes": ["a", "b", "c"]}
    pool = fl.read_pool(arrays)
    task = fl.Best(fl.Accuracy())
    cells = task.cells(pool, fl.whole(pool))
    labelled = np.flatnonzero(said[0] != said[1])[:30]
    known = task.metric.outcomes(pool, cells, labelled, true[labelled].astype(np.int32))
    belief = fl.Learned().on(cells, "pool").belief(known)
    worlds = [draw_world(belief, cells, known, np.random.default_rng([1, run])) for run in range(200)]
    values = np.array([world.value(task.metric, cells, "pool") for world in worlds])
    error = np.hypot(values.std(axis=0) / np.sqrt(200), belief.variance()[:, 0] ** 0.5 / np.sqrt(160))
    np.testing.assert_array_less(np.abs(values.mean(axis=0) - belief.mean()[:, 0]), 4 * error)
    for world in worlds[:5]:
        np.testing.assert_array_equal(world.outcome[labelled], true[labelled])
        assert world.right(cells) == max(world.value(task.metric, cells, "pool"))
    with pytest.raises(fl.SpecError, match="is about one model"):
        draw_world(belief, cells, known, rng, expect=0.9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["best", "compare"])
def test_a_plan_and_a_forecast_of_several_models(kind: str) -> None:
    rng = np.random.default_rng(9)
    true = rng.integers(0, 2, 400)
    said = [np.where(rng.random(400) < share, true, 1 - true) for share in (0.6, 0.9)]
    pool = fl.read_pool({"predicted": np.column_stack(said), "models": ["old", "new"], "classes": ["a", "b"]})
    task = fl.Best(fl.Accuracy()) if kind == "best" else fl.CompareModels(fl.Accuracy(), "new", "old")
    made = fl.plan(pool, task=task, budgets=(10, 40), runs=6)
    assert made.table["labels"] == [10, 40]
    assert "the best model is right for" in made.words
    assert set(made.table.columns) == {"labels", "probability", "right", "reached"}
    audit = fl.create(None, "x", pool, task=task, stop=fl.Stop(probability=0.95))
    assert fl.forecast(audit, runs=5).runs == 5
    batch = audit.ask(10).ids
    audit.tell({item: pool.choices[true[int(item)]] for item in batch})
    ahead = fl.forecast(audit, runs=5)
    # A label counts once, however many models there are: what is left to try are the other items on which they differ.
    assert ahead.most == int((said[0] != said[1]).sum()) - 10
    assert ahead.low is None or ahead.low >= 1


@pytest.mark.slow
def test_worlds_in_which_no_label_can_settle_it_are_not_played() -> None:
    """The belief at the end, which says so, is that of a run that has asked for everything."""
    rng = np.random.default_rng(12)
    true = rng.integers(0, 2, 120)
    said = [np.where(rng.random(120) < 0.8, true, 1 - true) for _ in range(4)]
    pool = fl.read_pool({"predicted": np.column_stack(said), "models": list("abcd"), "classes": ["x", "y"]})
    task = fl.Best(fl.Accuracy())
    audit = fl.create(None, "x", pool, task=task)
    cells = audit.spec.cells(pool, fl.whole(pool))
    game = Game(audit.spec, cells, Outcomes.none(cells))
    before = fl.Learned().on(cells, "population").blank()
    vain = []
    for run in range(12):
        world = draw_world(before, cells, game.known, np.random.default_rng([2, run]))
        watch = Watch(game, Stop(probability=0.95))
        *_, last = game.play(world, np.random.default_rng([3, run]), game.open)
        assert last.labels == game.open
        np.testing.assert_allclose(game.end(world).mean(), last.belief.mean(), atol=1e-9)
        vain.append(watch.is_vain(world, np.random.default_rng([4, run])))
        assert not vain[-1] or watch.met(last, np.random.default_rng([5, run])) is None
    assert 0 < sum(vain) < len(vain)


def test_with_many_groups_a_plan_believes_nearly_what_the_assessment_would() -> None:
    # There all confidences are taken as four: the means of 300 groups stay close, compared with how sure they are.
    pool = pool_of(300, 20, confidence=True)
    cells = cells_of(pool)
    spec = Spec(ESTIMATE, fl.by_predicted(pool).recipe, fl.Learned(), fl.Thompson(), "population", 0, Stop())
    rng = np.random.default_rng(3)
    items = rng.choice(len(pool), 400, replace=False)
    outcomes = Outcomes.of(cells, items, (rng.random(400) > cells.scores[items]).astype(np.int64))
    fine = spec.prior.on(cells, "population").belief(outcomes)
    coarse = Game(spec, cells, outcomes).prior.belief(outcomes)
    assert coarse.numbers < fine.numbers / 2
    sd, other_sd = (np.sqrt(belief.variance()[:, 0]) for belief in (fine, coarse))
    assert np.sqrt((((fine.mean() - coarse.mean())[:, 0] / sd) ** 2).mean()) < 0.25
    assert np.abs(np.log(other_sd / sd)).max() < 0.15
    assert isinstance(fine, TrustBelief)
    assert isinstance(coarse, TrustBelief)
    (mean, variance), (other, its) = fine.model.overall(), coarse.model.overall()
    assert mean == pytest.approx(other, abs=0.005)
    assert np.sqrt(its / variance) == pytest.approx(1, abs=0.05)
