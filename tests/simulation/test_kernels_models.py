"""The kernels about several models equal the library's own beliefs, rewards and policy, with the same generator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import betabinom

import fewlabels as fl
from fewlabels.cells import model_cells
from fewlabels.learned.models import BEFORE, SILENT, Panel, Record, fit_sets, guesses
from fewlabels.outcomes import Outcomes
from fewlabels.simulation.contest_baselines import selector
from fewlabels.simulation.contest_case import Contest
from fewlabels.simulation.contest_learned import field_of, learned_run, stepwise_run
from fewlabels.simulation.kernels import best
from fewlabels.simulation.kernels.best import best_run
from fewlabels.simulation.kernels.looks import look
from fewlabels.simulation.kernels.rows import exponentials, sum_of
from fewlabels.simulation.kernels.voices import fit, prior_of
from fewlabels.tasks.models import joint


def made(seed: int, models: int, classes: int, *, sure: bool, missing: bool, n: int = 90) -> tuple[fl.Pool, Any]:
    """A pool of models that are right in 50% to 90% of the items, and the true classes."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, classes, n).astype(np.int32)
    wrong = (true[:, None] + rng.integers(1, classes, (n, models))) % classes
    said = np.where(rng.random((n, models)) < np.linspace(0.5, 0.9, models), true[:, None], wrong)
    if missing:
        said[rng.random(said.shape) < 0.1] = -1
    arrays: dict[str, Any] = {
        "predicted": said,
        "models": [f"m{h}" for h in range(models)],
        "classes": [f"c{k}" for k in range(classes)],
    }
    if sure:
        arrays["confidence"] = rng.uniform(0.3, 0.99, said.shape)
    return fl.read_pool(arrays), true


CASES = [(2, 2, False, False), (3, 4, True, False), (6, 3, False, True), (5, 2, True, True)]


@pytest.mark.parametrize(("models", "classes", "sure", "missing"), CASES)
def test_a_compiled_run_is_the_run_of_the_library(models: int, classes: int, sure: bool, missing: bool) -> None:
    pool, true = made(4, models, classes, sure=sure, missing=missing)
    cells = model_cells(pool, fl.whole(pool))
    case = Contest(fl.Best(fl.Accuracy()), cells, true)
    at = np.array([5, 12, 26])
    scores, order = stepwise_run(case, fl.Lottery(), at, np.random.default_rng(9), np.random.default_rng(1))
    panel = Panel.of(cells.said, cells.classes, cells.confidences, cells.home, 1)
    found, leads, _ = best_run(
        np.random.default_rng(9), np.random.default_rng(1), field_of(panel, true), 2.0, at.astype(np.int64)
    )
    assert panel.contested[found].tolist() == order
    right = (cells.said == true[:, None]).sum(axis=0)
    assert (100.0 * (right[leads] == right.max())).tolist() == scores["best"]
    assert (100 * (right.max() - right[leads]) / len(true)).tolist() == pytest.approx(scores["regret"])


@pytest.mark.parametrize("sure", [False, True])
def test_each_guess_is_fitted_as_by_the_library(sure: bool) -> None:
    pool, true = made(5, 4, 3, sure=sure, missing=True)
    cells = model_cells(pool, fl.whole(pool))
    panel = Panel.of(cells.said, cells.classes, cells.confidences, cells.home, 1)
    field = field_of(panel, true)
    asked = np.arange(0, 40, 2)
    features = panel.about(panel.contested[asked])
    for k, guess in enumerate(guesses(4)):
        theta = prior_of(field, k)[0]
        lower, evidence = fit(field, asked, k, theta)
        slow = fit_sets(features, field.true[asked], guess.voices[None], guess.weight)
        assert theta == pytest.approx(slow.mode[0], abs=1e-5)
        assert evidence == pytest.approx(slow.evidence[0], abs=1e-5)
        before = np.diag(features.prior(len(guess.voices), guess.weight)[1])
        softer = before + (slow.precision[0] - before) / panel.wider**2
        assert lower @ lower.T == pytest.approx(softer, rel=1e-4, abs=1e-4)


def a_record(rng: np.random.Generator, shape: tuple[int, int], most: int, left: Any) -> Record:
    """A record by lot: where one of two gives no answer it is never right, and labels can show both to be wrong."""
    wins, losses, neither = rng.integers(0, most, (3, *shape))
    wins[SILENT < 0], losses[SILENT > 0] = 0, 0
    return Record(wins, losses, left, left + wins + losses + neither, SILENT)


def drawn_scores(rng: np.random.Generator, of: Record, size: Any, n: int) -> Any:
    """n draws of the share of items in each part that count for the leader, and of what so many of them add up to."""
    asked, silent = of.size - of.left, SILENT[:, None]
    good = np.where(silent < 0, asked - of.losses, of.wins)
    bad = np.where(silent > 0, asked - of.wins, of.losses)
    start = np.where(silent, 0.5, 1)
    share = rng.beta(good + BEFORE[0] * start, bad + BEFORE[1] * start, (n, *of.wins.shape))
    won = share * size if size is of.size else rng.binomial(size, share)
    return np.where(silent > 0, won, np.where(silent < 0, won - size, 2 * won - size)).sum(axis=1)


def test_a_record_in_parts_is_read_as_by_the_library_and_as_draws_of_it_say() -> None:
    rng = np.random.default_rng(1)
    left = rng.integers(0, 12, (len(SILENT), 30))
    left[:, ::5] *= 60  # more than can be added up one by one
    of = a_record(rng, left.shape, 12, left)
    found = of.stays_ahead()
    start = of.scores[1] / 2
    good, bad = (np.rint(of.counts[k] - BEFORE[k] * start).astype(np.int64) for k in (0, 1))
    ahead = (of.wins - of.losses).sum(axis=0)
    quick = [best.stays_ahead(*one) for one in zip(good.T, bad.T, left.T, ahead.tolist(), strict=True)]
    assert quick == pytest.approx(found)
    stays = ahead + drawn_scores(rng, of, left, 40_000) >= 0
    sd = np.sqrt(stays.mean(axis=0) * (1 - stays.mean(axis=0)) / len(stays))
    exact = left.sum(axis=0) <= 400
    assert (np.abs(stays.mean(axis=0) - found) < 4.5 * sd + 1e-3)[exact].all()
    assert (np.abs(stays.mean(axis=0) - found) < 4.5 * sd + 0.02)[~exact].all()


def test_a_record_of_one_part_is_the_beta_binomial() -> None:
    rng = np.random.default_rng(2)
    wins, losses, left = rng.integers(0, 25, 300), rng.integers(0, 25, 300), rng.integers(0, 90, 300)
    found = Record(wins[None], losses[None], left[None], (left + wins + losses)[None], SILENT[:1]).stays_ahead()
    exact = np.asarray(
        betabinom.sf(np.ceil((losses + left - wins) / 2) - 1, left, wins + BEFORE[0], losses + BEFORE[1])
    )
    assert found == pytest.approx(exact, abs=2e-3)  # nearly certain: by the normal approximation
    assert found[exact < 0.99] == pytest.approx(exact[exact < 0.99], abs=1e-6)


def test_among_items_like_these_a_record_is_what_its_draws_say() -> None:
    rng = np.random.default_rng(3)
    of = a_record(rng, (len(SILENT), 40), 30, rng.integers(0, 60, (len(SILENT), 40)))
    ahead = drawn_scores(rng, of, of.size, 20_000) >= 0
    assert of.is_ahead() == pytest.approx(ahead.mean(axis=0), abs=0.02)
    nothing = np.zeros((len(SILENT), 1), dtype=np.int64)
    assert Record(nothing, nothing, nothing, nothing, SILENT).is_ahead().tolist() == [1.0]  # two that say the same


def test_a_rival_that_gives_no_answer_cannot_win_there() -> None:
    """A leader that is ahead stays ahead if the rival left unanswered all that is left, whatever the labels show."""
    size = np.array([[40], [0], [0], [200], [0]])
    left = np.array([[0], [0], [0], [200], [0]])
    wins, losses = np.array([[[21], [0], [0], [0], [0]], [[19], [0], [0], [0], [0]]])
    record = Record(wins, losses, left, size, SILENT)
    assert record.stays_ahead() == pytest.approx([1.0])
    other = Record(losses, wins, left[[0, 1, 2, 4, 3]], size[[0, 1, 2, 4, 3]], SILENT)
    assert other.stays_ahead()[0] < 0.01


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("few", [8, 25, 60])
def test_the_leader_of_a_run_is_unbeaten_as_by_the_library(missing: bool, few: int) -> None:
    pool, true = made(8, 4, 3, sure=False, missing=missing)
    cells = model_cells(pool, fl.whole(pool))
    panel = Panel.of(cells.said, cells.classes, cells.confidences, cells.home, 1)
    asked = np.random.default_rng(2).permutation(len(panel.contested))[:few]
    items = panel.contested[asked]
    belief = joint(fl.Learned().on(cells, "pool").belief(Outcomes.of(cells, items, true[items].astype(np.int64))))
    free = np.ones(len(panel.contested), dtype=np.bool_)
    free[asked] = False
    lead = int(belief.look.expected[0].argmax())
    slow = min(_allowed(cells.said, true, items, lead, h) for h in range(4) if h != lead)
    assert belief.unbeaten().tolist() == pytest.approx([slow], abs=1e-5 if slow < 0.99 else 1e-3)
    if slow >= 0.95:
        assert best.unbeaten(field_of(panel, true), free, lead) == pytest.approx(belief.unbeaten()[0], abs=1e-9)
    else:
        assert slow - 1e-5 <= best.unbeaten(field_of(panel, true), free, lead) < 0.95


def _allowed(said: Any, true: Any, items: Any, a: int, b: int) -> float:
    """The largest P(best) against one rival, from the classes themselves, by all ends that each part can have."""
    support = [(((said == said[:, [h]]) & (said >= 0)).sum(axis=1)) for h in (a, b)]
    part, differ = np.sign(support[0] - support[1]), said[:, a] != said[:, b]
    part[said[:, b] < 0], part[said[:, a] < 0] = 2, 3
    known = np.isin(np.arange(len(said)), items)
    ahead, ends = 0, {0: 1.0}
    for k in (-1, 0, 1, 2, 3):
        here = differ & (part == k)
        wins, losses = (int(((said[:, h] == true) & here & known).sum()) for h in (a, b))
        left, asked = int((here & ~known).sum()), int((here & known).sum())
        ahead += wins - losses
        good, bad = (asked - losses if k == 3 else wins), (asked - wins if k == 2 else losses)
        start = np.array(BEFORE) / (2 if k > 1 else 1)
        chance = betabinom.pmf(np.arange(left + 1), left, good + start[0], bad + start[1])
        more: dict[int, float] = {}
        for end, p in ends.items():
            for w in range(left + 1):
                to = end + {2: w, 3: w - left}.get(k, 2 * w - left)
                more[to] = more.get(to, 0.0) + p * float(chance[w])
        ends = more
    return sum(p for end, p in ends.items() if ahead + end >= 0)


def test_a_growing_share_of_labels_is_drawn_at_random_where_leader_and_rival_differ() -> None:
    pool, true = made(8, 4, 3, sure=False, missing=True)
    cells = model_cells(pool, fl.whole(pool))
    items = np.flatnonzero(cells.said[:, 0] != cells.said[:, 1])[:20]
    belief = joint(fl.Learned().on(cells, "pool").belief(Outcomes.of(cells, items, true[items].astype(np.int64))))
    task, by_lot = fl.Best(fl.Accuracy()), np.zeros(len(true))
    lead, rivals = belief.rivals(0)
    for rival in rivals:
        apart = cells.said[:, lead] != cells.said[:, rival.model]
        apart[items] = False
        by_lot += rival.chance * apart / apart.sum()
    by_lot /= by_lot.sum()
    assert belief.by_lot(0) == pytest.approx(by_lot)
    drawn = task.reward(belief, cells, belief.mean()) ** 2  # Lottery has a power of 2
    steered = drawn / drawn.sum() - by_lot / 10  # after 20 of 50 labels, 20/50 of a quarter
    worth = (belief.contest(0) / belief.contest(0).max()) ** 4  # after 20 labels
    assert steered == pytest.approx(0.9 * worth / worth.sum(), abs=1e-9)


def test_every_contested_item_can_be_asked_and_then_the_best_is_known() -> None:
    pool, true = made(6, 3, 2, sure=False, missing=False, n=30)
    cells = model_cells(pool, fl.whole(pool))
    case = Contest(fl.Best(fl.Accuracy()), cells, true)
    found = learned_run(case, fl.Lottery(), np.array([3, 30]), np.random.default_rng(2))
    assert found["best"][-1] == found["sure"][-1] == found["sure-right"][-1] == 100.0
    assert found["regret"][-1] == 0.0


def test_the_selector_leaves_the_least_entropy_whatever_is_missing() -> None:
    pool, true = made(7, 5, 3, sure=False, missing=True, n=40)
    said = model_cells(pool, fl.whole(pool)).said
    order, _ = selector(said, true, np.random.default_rng(0), 40)
    assert sorted(order.tolist()) == list(range(40))


def test_exponentials_of_a_row_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    row = np.concatenate([[-1e4, -80.0, 0.0, 80.0, 1e4], rng.normal(0, 20, 195)]).astype(np.float32)
    rows = np.stack([np.zeros(200, np.float32), row])
    exact = np.exp(np.clip(row, -80, 80).astype(np.float64))
    exponentials(rows, 1, np.empty(200, np.float32))
    assert rows[1] == pytest.approx(exact, rel=1e-6)
    assert (rows[0] == 0).all()
    assert sum_of(rows, 1) == pytest.approx(exact.sum(), rel=1e-5)


@pytest.mark.parametrize(("models", "classes", "sure"), [(5, 4, True), (140, 150, False)])
def test_a_look_has_the_chances_and_draws_of_a_plain_loop(models: int, classes: int, sure: bool) -> None:
    """Also with more than 127 items between two labels, and more answers than fit into a byte."""
    pool, true = made(6, models, classes, sure=sure, missing=True, n=150)
    cells = model_cells(pool, fl.whole(pool))
    field = field_of(Panel.of(cells.said, cells.classes, cells.confidences, cells.home, 1), true)
    rng = np.random.default_rng(5)
    free = rng.random(len(field.option)) < 0.9
    free[127] = False
    n, guess = len(field.normals), np.array([0, 2, len(field.log_prior) - 1])
    pick, theta = guess[np.arange(n) * 3 // n], 0.5 * rng.normal(size=(field.normals.shape[1], n))
    sight = look(field, free, np.zeros(models), pick, theta, field.uniform)
    right, chance = np.zeros((models, n)), np.zeros(sight.chance.shape)
    for i in np.flatnonzero(free).tolist():
        p = np.concatenate([_plainly(field, i, int(k), theta[:, pick == k]) for k in guess])
        chance[i] = p.mean(axis=0)
        seen = [j for j in range(p.shape[1]) if p[:, j].any()]
        shown = np.array(seen)[(field.uniform[i][:, None] > p[:, seen].cumsum(axis=1)[:, :-1]).sum(axis=1)]
        right += field.option[i][:, None] == np.where(shown < field.options[i], shown, -2)
    assert sight.chance[free] == pytest.approx(chance[free], abs=1e-6)
    assert (sight.right != right).mean() < 1e-3  # a number that is nearly the chance itself may fall on either side


def _plainly(field: Any, i: int, guess: int, theta: Any) -> Any:
    """P(each option) of an item in some draws of a guess, "none" last, as the formula says it: (draws, options)."""
    b, width, spreads = field.base.shape[2], field.base.shape[1] - 1, len(field.spreads)
    voices = range(field.option.shape[1]) if guess < spreads else [guess - spreads]
    eta = field.base[i] @ theta[:b]
    for k, h in enumerate(voices):
        if field.option[i, h] >= 0:
            eta[field.option[i, h]] += theta[b + k] + (theta[b + len(voices) + k] * field.x[i, h] if b == 3 else 0.0)
    can = np.arange(width + 1) < field.options[i]
    can[width] = field.others[i]
    p = np.where(can[:, None], np.exp(eta - eta[can].max(axis=0)), 0.0)
    return (p / p.sum(axis=0)).T
