"""Several models: the model of their answers, the joint belief, and the tasks on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

import fewlabels as fl
from fewlabels.cells import model_cells
from fewlabels.findings.finding import find
from fewlabels.learned.models import Features, ModelsBelief, Panel, compare_answers, draw_chances, fit_sets, listen
from fewlabels.learned.models.voices import (
    ALONE,
    CROWD,
    CROWD_SLOPE,
    NONE,
    PAIR,
    SPREADS,
    VOICE_SLOPE,
    Point,
    draw_parameters,
)
from fewlabels.outcomes import Outcomes
from fewlabels.simulation.contest_baselines import selector
from fewlabels.simulation.contest_learned import field_of
from fewlabels.simulation.kernels.best import best_run
from fewlabels.tasks.models import joint
from fewlabels.testing.zoo import zoo_of_models

if TYPE_CHECKING:
    from numpy.typing import NDArray


def made(n: int, accuracies: tuple[float, ...], classes: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Answers of models that are right independently with these probabilities, and the true classes."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, classes, n).astype(np.int32)
    wrong = (true[:, None] + rng.integers(1, classes, (n, len(accuracies)))) % classes
    right = rng.random((n, len(accuracies))) < accuracies
    return np.where(right, true[:, None], wrong).astype(np.int32), true


def pool_of(said: NDArray[Any], classes: int, names: str = "abcdefgh") -> fl.Pool:
    ids = [f"i{k:04d}" for k in range(len(said))]
    sets = {names[h]: {"id": ids, "predicted": [f"c{k}" for k in said[:, h]]} for h in range(said.shape[1])}
    return fl.read_pool(sets, classes=[f"c{k}" for k in range(classes)])


def believed(pool: fl.Pool, true: NDArray[Any], items: NDArray[Any], target: Any = "pool") -> ModelsBelief:
    cells = model_cells(pool, fl.whole(pool))
    return joint(fl.Learned().on(cells, target).belief(Outcomes.of(cells, items, true[items].astype(np.int64))))


def compared(pool: fl.Pool, true: NDArray[Any], items: NDArray[Any]) -> ModelsBelief:
    """The belief of a comparison of the first two models."""
    cells = fl.CompareModels(fl.Accuracy(), pool.models[0], pool.models[1]).cells(pool, fl.whole(pool))
    return joint(fl.Learned().on(cells, "pool").belief(Outcomes.of(cells, items, true[items].astype(np.int64))))


def test_a_set_of_voices_is_fitted_as_a_slow_optimiser_fits_it() -> None:
    said, true = made(80, (0.8, 0.6, 0.5), 3, seed=1)
    answers = compare_answers(said, 3)
    items = np.flatnonzero(answers.contested)
    features = Features(answers, items, np.zeros(len(items), dtype=np.int64), 1)
    shown = answers.shown(items, true[items])
    shown = np.where(shown < answers.options[items], shown, answers.width)
    voices = np.array([[0, 2]])
    fit = fit_sets(features, shown, voices, ALONE)
    means, sds = np.array([CROWD, NONE, ALONE, ALONE]).T

    def loss(theta: NDArray[Any]) -> float:
        total = ((theta - means) ** 2 / sds**2).sum() / 2
        for i, item in enumerate(items):
            eta = np.full(answers.width + 1, -np.inf)
            for option in range(answers.options[item]):
                who = answers.option[item] == option
                eta[option] = theta[0] * who.sum() / 3 + theta[2] * who[0] + theta[3] * who[2]
            if answers.others[item]:
                eta[-1] = theta[1]
            total -= eta[shown[i]] - logsumexp(eta)
        return float(total)

    slow = minimize(loss, means, method="BFGS", options={"gtol": 1e-7})
    assert fit.mode[0] == pytest.approx(slow.x, abs=2e-3)
    step = 1e-4
    hessian = np.array(
        [
            [
                (
                    loss(slow.x + step * (a + b))
                    - loss(slow.x + step * (a - b))
                    - loss(slow.x - step * (a - b))
                    + loss(slow.x - step * (a + b))
                )
                / (4 * step**2)
                for b in np.eye(4)
            ]
            for a in np.eye(4)
        ]
    )
    assert fit.precision[0] == pytest.approx(hessian, rel=0.02, abs=0.02)
    evidence = -slow.fun - np.log(sds).sum() - np.linalg.slogdet(hessian)[1] / 2
    assert fit.evidence[0] == pytest.approx(evidence, abs=0.02)


def test_a_look_is_that_of_a_plain_loop_in_double_precision() -> None:
    answers, true = made(60, (0.8, 0.7, 0.6, 0.5), 4, seed=8)
    answers[::7, 2] = -1
    belief = believed(
        fl.read_pool({"predicted": answers, "models": list("abcd"), "classes": list("wxyz")}), true, np.arange(20)
    )
    learning, look, expected = belief.learning, belief.look, belief.learning.known[0].astype(float)
    drawn = draw_parameters(learning.points, 0.5, learning.normals)
    right = np.zeros((len(learning.normals), 4))
    for row, item in enumerate(learning.open):
        chance = np.zeros(look.chance.shape[1])
        for point, draws, theta in drawn:
            f = learning.features.of(point.voices[None], point.split, slice(row, row + 1))[0, 0]
            for draw, parameters in zip(draws, theta, strict=True):
                odds = f @ parameters + learning.features.barred[row]
                p = np.exp(odds - logsumexp(odds))
                shown = int(np.searchsorted(p.cumsum(), learning.panel.noise.uniform[learning.is_open][row, draw]))
                right[draw] += learning.features.option[row] == shown
                chance += p / len(right)
        assert look.chance[row] == pytest.approx(chance, abs=1e-6), item
        expected += [chance[option] if option >= 0 else 0.0 for option in learning.features.option[row]]
    # What all models agree on is drawn apart, and the same for all of them.
    assert look.expected[0] - look.expected[0, 0] == pytest.approx(expected - expected[0], abs=1e-4)
    known = right + learning.known[0]
    assert (look.right[:, 0] - look.right[:, 0, :1]).tolist() == (known - known[:, :1]).tolist()


def test_with_one_model_it_is_the_learned_prior() -> None:
    rng = np.random.default_rng(3)
    n = 300
    confidence = rng.uniform(0.4, 0.99, n)
    predicted = rng.integers(0, 3, n)
    true = np.where(rng.random(n) < confidence, predicted, (predicted + 1) % 3).astype(np.int32)
    items = rng.choice(n, 80, replace=False)
    one = fl.read_pool({"predicted": [f"c{k}" for k in predicted], "confidence": confidence})
    cells = fl.Accuracy().cells(one, fl.whole(one))
    shown = (predicted[items] != true[items]).astype(np.int64)
    plain = fl.Learned().on(cells, "pool").belief(Outcomes.of(cells, items, shown))
    panel = Panel.of(predicted[:, None].astype(np.int32), 3, confidence[:, None], np.zeros(n, dtype=np.int64), 1)
    learning = panel.learn(items, true[items])
    right = float((shown == 0).sum())
    same = ModelsBelief(np.zeros((1, 2)), np.array([[right, 80 - right]]), np.array([n]), "pool", learning=learning)
    assert len(learning.open) == 0
    # The same posterior; 160 draws of it against its formula.
    sd = float(np.sqrt(plain.variance()[0, 0]))
    assert same.mean()[0, 0] == pytest.approx(plain.mean()[0, 0], abs=4 * sd / np.sqrt(160))
    assert np.sqrt(same.variance()[0, 0]) == pytest.approx(sd, rel=0.25)


def test_items_on_which_two_models_agree_cancel_exactly() -> None:
    said, true = made(200, (0.7, 0.7, 0.6), 3, seed=5)
    said[:, 1] = said[:, 0]  # the same model twice
    belief = believed(pool_of(said, 3), true, np.arange(20))
    for target in ("pool", "population"):
        draws = belief.to(target).draws(np.random.default_rng(1), 300)[..., 0]
        assert draws[:, 0] == pytest.approx(draws[:, 1], abs=1e-6)
        assert np.ptp(draws[:, 0] - draws[:, 2]) > 0.01


def test_when_all_differences_are_labelled_the_difference_is_known() -> None:
    said, true = made(150, (0.8, 0.7), 3, seed=7)
    items = np.flatnonzero(said[:, 0] != said[:, 1])
    belief = believed(pool_of(said, 3), true, items)
    draws = belief.draws(np.random.default_rng(0), 200)[..., 0]
    exact = ((said[:, 0] == true).sum() - (said[:, 1] == true).sum()) / 150
    assert draws[:, 0] - draws[:, 1] == pytest.approx(np.full(200, exact))
    assert np.ptp(draws[:, 0]) > 0.01  # how good they are is not known
    cells = model_cells(pool_of(said, 3), fl.whole(pool_of(said, 3)))
    assert not fl.Best(fl.Accuracy()).reward(belief, cells, belief.mean()).any()


def test_relatives_count_for_little_more_than_one_voice() -> None:
    """Fifty copies of a model that is often wrong do not outvote one that the labels show to be right."""
    said, true = made(300, (0.6, 0.9), 2, seed=11)
    crowd = np.column_stack([np.repeat(said[:, :1], 50, axis=1), said[:, 1]]).astype(np.int32)
    answers = compare_answers(crowd, 2)
    items = np.flatnonzero(answers.contested)
    asked = items[:25]
    features = Features(answers, asked, np.zeros(len(asked), dtype=np.int64), 1)
    points = listen(features, answers.shown(asked, true[asked]))
    rest = items[25:]
    chance = draw_chances(
        Features(answers, rest, np.zeros(len(rest), dtype=np.int64), 1), points, np.random.default_rng(0), 400
    ).mean(axis=2)
    last = chance[np.arange(len(rest)), answers.option[rest, 50]].mean()
    share = (crowd[rest, 50] == true[rest]).mean()
    seen = (crowd[asked, 50] == true[asked]).mean()
    assert seen > 0.7
    assert last == pytest.approx(share, abs=3 * np.sqrt(share * (1 - share) / 25))


def test_a_missing_answer_is_never_right_and_settles_nothing_else() -> None:
    known = zoo_of_models()
    cells = model_cells(known.pool, fl.whole(known.pool))
    everything = np.arange(len(known.true))
    counts = cells.tally(everything, known.true.astype(np.int64))
    right = (known.pool.answers == known.true[:, None]).sum(axis=0)
    assert counts[:, 0].tolist() == right.tolist()
    assert counts.sum(axis=1).tolist() == [30, 30, 30]


@pytest.mark.parametrize("task", [fl.Best(fl.Accuracy()), fl.CompareModels(fl.Accuracy(), "bee", "ant")], ids=repr)
def test_only_items_that_tell_are_asked_and_load_goes_on(task: fl.Task, tmp_path: Any) -> None:
    known = zoo_of_models()
    audit = fl.create(tmp_path / "a.db", "which", known.pool, task=task, target="pool", seed=4)
    said = known.pool.answers
    tells = said[:, 0] != said[:, 1] if isinstance(task, fl.CompareModels) else (said != said[:, :1]).any(axis=1)
    first = audit.ask(4)
    audit.tell(known.labels(first.ids))
    ahead = audit.ask(3).ids
    audit.close()
    again = fl.load(tmp_path / "a.db", "which")
    assert again.pending() == sorted(ahead)
    again.tell(known.labels(ahead))
    while batch := again.ask(5):
        again.tell(known.labels(batch.ids))
    assert sorted(again.labels()) == [item for item, tell in zip(known.truth, tells, strict=True) if tell]
    answer = again.answer(draws=500)
    assert answer.probability == 1.0
    right = (said == known.true[:, None]).sum(axis=0)
    if isinstance(task, fl.Best):
        assert right[known.pool.models.index(answer.groups[0])] == right.max()
    else:
        assert answer.table["mean"][0] == pytest.approx((right[1] - right[0]) / 30)
    # One log serves them all: the accuracy of any one model.
    table = again.estimates(model="cat")
    assert table["labelled"] == [len(again.labels())]
    assert table["low"][0] <= right[2] / 30 <= table["high"][0]
    with pytest.raises(fl.SpecError, match="this question is about one of them"):
        again.estimates(metric=fl.F1())


@pytest.mark.slow
@pytest.mark.parametrize("target", ["pool", "population"])
def test_every_metric_of_one_model_is_read_from_the_same_truth(target: Any) -> None:
    """The share right is the same number by the model of answers and by draws of all true classes."""
    said, true = made(400, (0.8, 0.7, 0.6), 4, seed=21)
    pool = pool_of(said, 4)
    audit = fl.create(None, "which", pool, task=fl.Best(fl.Accuracy()), target=target, seed=1)
    for _ in range(4):
        audit.tell({item: f"c{true[int(item[1:])]}" for item in audit.ask(15).ids})
    one = pool.of("b")
    classes = fl.by_predicted(one)
    plain = list(audit.estimates(model="b", groups=classes, draws=4000).rows())
    confused = audit.estimates(metric=fl.Confusion(), model="b", groups=classes, draws=4000)
    right = {row["group"]: row["mean"] for row in confused.rows() if row["group"] == row["true"]}
    for row in plain:
        # Both are means of 160 draws.
        sd = (row["high"] - row["low"]) / 4
        assert right[row["group"]] == pytest.approx(row["mean"], abs=4 * sd * np.sqrt(2 / 160))
    recall = next(iter(audit.estimates(metric=fl.Recall("c1"), model="b", groups=fl.whole(one)).rows()))
    exact = (said[true == 1, 1] == 1).mean()
    assert recall["low"] <= exact <= recall["high"]


def test_when_every_label_is_known_every_metric_of_each_model_is_exact() -> None:
    said, true = made(60, (0.8, 0.6), 3, seed=23)
    pool = pool_of(said, 3)
    audit = fl.create(None, "which", pool, task=fl.Best(fl.Accuracy()), target="pool")
    audit.tell({f"i{k:04d}": f"c{c}" for k, c in enumerate(true)}, adopt=True)
    for h, name in enumerate("ab"):
        row = next(iter(audit.estimates(metric=fl.Recall("c2"), model=name, groups=fl.whole(pool.of(name))).rows()))
        assert row["mean"] == pytest.approx((said[true == 2, h] == 2).mean())
        assert row["low"] == pytest.approx(row["high"])


@pytest.mark.slow
@pytest.mark.parametrize("models", [2, 5])
def test_the_best_of_each_group_is_found_where_it_differs_by_group(models: int) -> None:
    rng = np.random.default_rng(models)
    n = 600
    group = rng.integers(0, 2, n)
    true = rng.integers(0, 3, n).astype(np.int32)
    rate = np.full((n, models), 0.6)
    rate[:, 0], rate[:, 1] = np.where(group == 0, 0.9, 0.55), np.where(group == 0, 0.55, 0.9)
    said = np.where(rng.random((n, models)) < rate, true[:, None], (true[:, None] + 1) % 3)
    ids = [f"i{k:04d}" for k in range(n)]
    sets: dict[str, Any] = {"abcde"[h]: {"id": ids, "predicted": [f"c{k}" for k in said[:, h]]} for h in range(models)}
    sets["a"]["where"] = [f"g{g}" for g in group]
    pool = fl.read_pool(sets, classes=["c0", "c1", "c2"])
    audit = fl.create(None, "which", pool, fl.by_column(pool, "where"), task=fl.Best(fl.Accuracy()), seed=2)
    assert "Nothing can be said yet" in find(audit).headline
    for _ in range(8):
        audit.tell({item: f"c{true[int(item[1:])]}" for item in audit.ask(10).ids})
    assert audit.answer().groups == ("g0: a", "g1: b")
    assert audit.answer().probability is not None
    assert audit.answer().probability > 0.8


def test_what_makes_no_sense_is_refused() -> None:
    one = fl.read_pool({"predicted": ["a", "b"]})
    with pytest.raises(fl.SpecError, match="several models"):
        fl.create(None, "x", one, task=fl.Best(fl.Accuracy()))
    many = zoo_of_models().pool
    with pytest.raises(fl.SpecError, match="cannot find the model 'dog'"):
        fl.create(None, "x", many, task=fl.CompareModels(fl.Accuracy(), "dog", "ant"))
    with pytest.raises(fl.SpecError, match="learned prior"):
        fl.create(None, "x", many, task=fl.Best(fl.Accuracy()), prior=fl.Uniform())
    with pytest.raises(fl.SpecError, match=r"use Accuracy\(\)"):
        fl.create(None, "x", many, task=fl.Best(fl.F1()))


def test_the_selector_asks_by_the_entropy_that_a_slow_version_finds() -> None:
    said, true = made(40, (0.9, 0.7, 0.6, 0.5), 3, seed=2)
    order, lead = selector(said, true, np.random.default_rng(0), 12)
    weight = np.ones(4)
    free = np.ones(40, dtype=bool)
    for item, first in zip(order, lead, strict=True):
        w = weight / weight.sum()
        left = np.full(40, np.inf)
        for i in np.flatnonzero(free):
            left[i] = 0.0
            for c in np.unique(said[i]):
                after = w * np.where(said[i] == c, 9.0, 1.0)
                after /= after.sum()
                left[i] -= w[said[i] == c].sum() * (after * np.log(after)).sum()
        assert left[item] == pytest.approx(left.min(), abs=1e-9)
        free[item] = False
        weight = weight * np.where(said[item] == true[item], 9.0, 1.0)
        assert weight[first] == pytest.approx(weight.max())


def drawn_world(
    rng: np.random.Generator, said: NDArray[Any], classes: int, voice: NDArray[Any], crowd: float, none: float
) -> NDArray[np.int32]:
    """True classes by the model itself, for weights of the voices, the crowd and "none of them"."""
    true = np.empty(len(said), dtype=np.int32)
    for i, row in enumerate(said):
        named = np.unique(row)
        eta = np.full(classes, none - np.log(max(classes - len(named), 1)))
        for c in named:
            eta[c] = crowd * (row == c).mean() + voice @ (row == c)
        p = np.exp(eta - eta.max())
        true[i] = rng.choice(classes, p=p / p.sum())
    return true


def rank_of(draws: NDArray[Any], exact: float, rng: np.random.Generator) -> float:
    """The share of draws below the truth; ties count by lot."""
    return float((draws < exact - 1e-9).mean() + rng.random() * (np.abs(draws - exact) < 1e-9).mean())


def is_uniform(ranks: list[float]) -> bool:
    """χ² of six bins, 5 degrees of freedom: below 20.5 with probability 0.999."""
    counts = np.histogram(ranks, bins=6, range=(0, 1))[0]
    return bool(((counts - len(ranks) / 6) ** 2 / (len(ranks) / 6)).sum() < 20.5)


@pytest.mark.slow
def test_differences_are_calibrated_in_worlds_drawn_from_the_model() -> None:
    """Simulation-based calibration: the rank of the true difference among draws is uniform."""
    rng, ranks = np.random.default_rng(8), []
    for _ in range(120):
        said, _ = made(250, (0.75, 0.7), 3, seed=int(rng.integers(2**31)))
        voice = rng.normal(0, rng.choice([*PAIR], p=[*PAIR.values()]), 2)
        true = drawn_world(rng, said, 3, voice, rng.normal(*CROWD), rng.normal(*NONE))
        items = rng.permutation(np.flatnonzero(said[:, 0] != said[:, 1]))[:25]
        draws = compared(pool_of(said, 3), true, items).draws(rng, 199)[..., 0]
        exact = ((said[:, 0] == true).sum() - (said[:, 1] == true).sum()) / 250
        ranks.append(rank_of(draws[:, 0] - draws[:, 1], exact, rng))
    assert is_uniform(ranks)


@pytest.mark.parametrize("shares", [(0.995, 0.65), (0.6, 0.99)])
def test_intervals_of_large_differences_hold(shares: tuple[float, float]) -> None:
    """A new model and a weak baseline: few who ask expect them to be so far apart, and then that must be seen."""
    held = 0
    for seed in range(20):
        said, true = made(400, shares, 2, seed=seed)
        items = np.random.default_rng(seed).permutation(np.flatnonzero(said[:, 0] != said[:, 1]))[:50]
        draws = compared(pool_of(said, 2), true, items).draws(np.random.default_rng(seed), 400)[..., 0]
        exact = ((said[:, 0] == true).sum() - (said[:, 1] == true).sum()) / 400
        low, high = np.quantile(draws[:, 0] - draws[:, 1], [0.025, 0.975])
        held += bool(low <= exact <= high)
    assert held >= 16  # of 20 intervals of 95%, fewer than 16 hold in 1 of 390 cases


@pytest.mark.parametrize(("wins", "labels"), [(20, 20), (47, 50), (30, 50), (99, 100)])
def test_the_belief_about_two_models_is_that_of_quadrature(wins: int, labels: int) -> None:
    """Two models and two classes leave one number: the log-odds η of a being right where they differ, N(0, 2τ²).

    With a Gaussian at the mode, 20 wins of 20 said 95%, where 98% is right.
    """
    true = np.zeros(400, dtype=np.int32)
    said = np.column_stack([np.zeros(400, dtype=np.int32), np.ones(400, dtype=np.int32)])
    true[wins:labels] = 1
    points = compared(pool_of(said, 2), true, np.arange(labels)).learning.points
    rng = np.random.default_rng(1)
    features = Panel.of(said, 2, None, np.zeros(400, dtype=np.int64), 1, (0, 1)).about(np.arange(1))
    drawn = np.sort(draw_chances(features, points, rng, 40_000)[0, 0])
    eta = np.linspace(-15, 15, 6_001)
    fits = wins * eta - labels * np.logaddexp(0, eta)
    density = sum(share * norm.pdf(eta, 0, np.sqrt(2) * tau) for tau, share in PAIR.items()) * np.exp(fits - fits.max())
    below, chance = density.cumsum() / density.sum(), 1 / (1 + np.exp(-eta))
    assert drawn.mean() == pytest.approx((density @ chance) / density.sum(), abs=0.006)
    for q in (0.025, 0.5, 0.975):
        # By rank, not by value: 2,000 weighted proposals have a standard error of about .01 in the middle.
        exact = np.interp(drawn[int(q * len(drawn))], chance, below)
        assert exact == pytest.approx(q, abs=0.045 if q == 0.5 else 0.015)


def test_intervals_of_large_differences_hold_beside_weak_models() -> None:
    """A good model and one of seven relatives that are wrong together: these made the difference half as large."""
    held = 0
    for seed in range(20):
        said, true = made(400, (0.99, 0.35), 2, seed=seed)
        noise = np.random.default_rng(seed).random((400, 6)) < 0.2
        said = np.column_stack([said, np.where(noise, 1 - said[:, 1:], said[:, 1:])])
        items = np.random.default_rng(seed).permutation(np.flatnonzero(said[:, 0] != said[:, 1]))[:50]
        draws = compared(pool_of(said, 2), true, items).draws(np.random.default_rng(seed), 400)[..., 0]
        exact = ((said[:, 0] == true).sum() - (said[:, 1] == true).sum()) / 400
        low, high = np.quantile(draws[:, 0] - draws[:, 1], [0.025, 0.975])
        held += bool(low <= exact <= high)
    assert held >= 16  # of 20 intervals of 95%, fewer than 16 hold in 1 of 390 cases


VERBAL = np.array([0.2, 0.5, 0.7, 0.9, 0.99])  # unlikely, perhaps, probably, very probably, certainly


@pytest.mark.slow
@pytest.mark.parametrize("verbal", [False, True])
def test_differences_are_calibrated_with_confidences(verbal: bool) -> None:
    """The same for two models that say how sure they are, as a number or in one of five words."""
    rng, ranks = np.random.default_rng(28 + verbal), []
    for _ in range(90):
        said, _ = made(200, (0.75, 0.7), 3, seed=int(rng.integers(2**31)))
        sure = rng.choice(VERBAL, said.shape) if verbal else rng.uniform(0.3, 0.99, said.shape)
        x = compare_answers(said, 3, sure).x
        assert x is not None
        voice, crowd, none = (
            rng.normal(0, rng.choice([*PAIR], p=[*PAIR.values()]), 2),
            rng.normal(*CROWD),
            rng.normal(*NONE),
        )
        slope, own = rng.normal(*CROWD_SLOPE), rng.normal(*VOICE_SLOPE, 2)
        true = np.empty(len(said), dtype=np.int32)
        for i, row in enumerate(said):
            eta = np.full(3, none - np.log(3 - len(set(row.tolist()))))
            for c in set(row.tolist()):
                says = row == c
                eta[c] = crowd * says.mean() + slope * (x[i] * says).sum() / 2 + (voice + own * x[i]) @ says
            p = np.exp(eta - eta.max())
            true[i] = rng.choice(3, p=p / p.sum())
        items = rng.permutation(np.flatnonzero(said[:, 0] != said[:, 1]))[:25]
        classes = [f"c{k}" for k in range(3)]
        pool = fl.read_pool({"predicted": said, "confidence": sure, "models": ["a", "b"], "classes": classes})
        draws = compared(pool, true, items).draws(rng, 199)[..., 0]
        exact = ((said[:, 0] == true).sum() - (said[:, 1] == true).sum()) / len(said)
        ranks.append(rank_of(draws[:, 0] - draws[:, 1], exact, rng))
    assert is_uniform(ranks)


@pytest.mark.slow
def test_many_models_are_calibrated_in_worlds_drawn_from_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for six models, whoever the voices are, after asking where it helps; without the safety margin."""
    monkeypatch.setattr("fewlabels.learned.models.panel.WIDER", (1.0, 1.0))
    rng, ranks, sure, best = np.random.default_rng(18), [], [], []
    for _ in range(150):
        said, _ = made(200, (0.8, 0.75, 0.7, 0.7, 0.6, 0.5), 3, seed=int(rng.integers(2**31)))
        voice = np.zeros(6)
        if rng.random() < 0.5:
            voice = rng.normal(0, SPREADS[int(rng.integers(3))], 6)
        else:
            voice[rng.integers(6)] = rng.normal(*ALONE)
        true = drawn_world(rng, said, 3, voice, rng.normal(*CROWD), rng.normal(*NONE))
        pool, right = pool_of(said, 3), (said == true[:, None]).sum(axis=0)
        panel = Panel.of(said, 3, None, np.zeros(200, dtype=np.int64), 1)
        field = field_of(panel, true)._replace(wider=1.0)
        items = panel.contested[best_run(rng, np.random.default_rng(0), field, 1.0, np.array([30]))[0]]
        draws = believed(pool, true, items).draws(rng, 199)[..., 0]
        ranks.append(rank_of(draws[:, 0] - draws[:, 1], (right[0] - right[1]) / 200, rng))
        chance = (draws >= draws.max(axis=1, keepdims=True) - 1e-9).mean(axis=0)
        sure.append(chance.max())
        best.append(right[chance.argmax()] == right.max())
    assert is_uniform(ranks)
    # P(best) is what it says: the share of runs in which the most probable was best, three standard errors.
    spread = np.sqrt((np.array(sure) * (1 - np.array(sure))).sum()) / len(sure)
    assert np.mean(best) == pytest.approx(np.mean(sure), abs=3 * spread)


def test_labels_that_count_for_less_never_make_the_posterior_wider_than_the_prior() -> None:
    said, true = made(60, (0.6, 0.9, 0.7), 3, seed=5)
    answers = compare_answers(said, 3)
    asked = np.flatnonzero(answers.contested)[:12]
    features = Features(answers, asked, np.zeros(len(asked), dtype=np.int64), 1)
    shown = answers.shown(asked, true[asked])
    shown = np.where(shown < answers.options[asked], shown, answers.width)
    for exact, soft in zip(listen(features, shown), listen(features, shown, wider=2.5), strict=True):
        assert soft.mode == pytest.approx(exact.mode)
        wide, narrow = (one.root @ one.root.T for one in (soft, exact))
        assert np.linalg.eigvalsh(wide - narrow).min() > -1e-9
        if len(soft.voices) == 1:
            assert (np.diag(wide) <= 1 / features.prior(1, ALONE)[1] + 1e-9).all()


def test_a_crowd_never_speaks_against_what_it_says_and_the_voices_move_with_it() -> None:
    """A draw with t < 0 becomes one given t = 0: the mean of the others is then the Gaussian's, by regression."""
    rng = np.random.default_rng(3)
    root, mode = rng.normal(size=(4, 4)), np.array([-0.5, 1.0, -1.0, 0.5])
    point = Point(np.arange(2), mode, root, 1.0, np.empty(0, dtype=np.int64))
    drawn = draw_parameters([point], 0.5, rng.standard_normal((40_000, 4)))[0].theta
    covariance = root @ root.T
    bound = drawn[:, 0] <= 1e-9
    assert drawn[:, 0].min() > -1e-9
    below = norm.cdf(0.5 / np.sqrt(covariance[0, 0]))
    assert bound.mean() == pytest.approx(below, abs=4 * np.sqrt(below * (1 - below) / len(drawn)))
    given = mode + covariance[:, 0] / covariance[0, 0] * (0 - mode[0])
    spread = np.sqrt(np.diag(covariance) - covariance[:, 0] ** 2 / covariance[0, 0])
    off = np.abs(drawn[bound].mean(axis=0) - given)[1:]
    assert (off < 4.5 * spread[1:] / np.sqrt(bound.sum())).all()


def test_a_difference_known_for_the_pool_varies_in_the_population_as_a_sample_does() -> None:
    answers, true = made(400, (0.8, 0.75), 3, seed=6)
    contested = np.flatnonzero(answers[:, 0] != answers[:, 1])
    score = (answers[:, 0] == true).astype(float) - (answers[:, 1] == true)
    gap, sd = believed(pool_of(answers, 3), true, contested, "population").apart(0, 0, 1)
    assert gap == pytest.approx(np.full(len(gap), score.mean()), abs=1e-9)
    assert sd == pytest.approx(score.std() / np.sqrt(401), rel=1e-6)
