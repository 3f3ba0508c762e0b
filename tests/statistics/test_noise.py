"""Labels that may be wrong: the sampler is calibrated, and agrees with slow and known versions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import expit, logit

import fewlabels as fl
from fewlabels.noise import Ballots, NoisyBelief, Usual, impute, worth
from fewlabels.noise.likelihood import _MISLED, class_chances
from fewlabels.noise.people import BOTH, GRID, Errors, Votes
from fewlabels.noise.starts import starts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Coin:
    """The simplest classifier: right with one probability θ ~ Beta(8, 2) for all items."""

    def __init__(self, predicted: NDArray[np.int64]) -> None:
        self.predicted = predicted

    def __call__(
        self, items: NDArray[np.int64], true: NDArray[np.int64]
    ) -> list[Callable[[np.random.Generator], NDArray[np.float64]]]:
        return [partial(self.drawn, int((one == self.predicted[items]).sum()), len(items)) for one in true]

    def drawn(self, right: int, labels: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.full(len(self.predicted), rng.beta(8 + right, 2 + labels - right))


def world(
    rng: np.random.Generator, items: int, people: int, usual: float
) -> tuple[float, NDArray[np.float64], Ballots]:
    """θ, ε and votes, drawn from the prior: two classes, so that who errs says the other one."""
    theta = rng.beta(8, 2)
    sigma = rng.choice([0.15, 0.4, 0.8], p=[0.3, 0.4, 0.3])
    general = logit(1 - usual) + 0.25 * rng.standard_normal()
    odds = general + sigma * rng.standard_normal(people)
    by_class = 0.5 * rng.standard_normal(2)
    true = (rng.random(items) >= theta).astype(int)  # class 0 is predicted for all
    votes: dict[int, dict[str, int]] = {}
    for item in range(items):
        who = rng.choice(people, 2 if item % 3 == 0 else 1, replace=False)
        wrong = rng.random(len(who)) < expit(odds[who] + by_class[true[item]] + BOTH * true[item])
        votes[item] = {f"p{r}": int(true[item] ^ w) for r, w in zip(who.tolist(), wrong.tolist(), strict=True)}
    return float(theta), expit(odds), Ballots.of(votes, classes=2)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [40, pytest.param(240, marks=pytest.mark.long)])
def test_the_sampler_is_calibrated_by_simulation(runs: int) -> None:
    """Simulation-based calibration: the rank of the true θ, and of each ε, among the draws is uniform."""
    rng, bins = np.random.default_rng(11), 8
    theta_bins, error_bins = np.zeros(bins), np.zeros(bins)
    for _ in range(runs):
        theta, wrong, ballots = world(rng, items=60, people=3, usual=0.9)
        coin = Coin(np.zeros(60, dtype=np.int64))
        imputed = impute(ballots, coin.predicted, coin, None, Usual(0.9), rng, kept=60, burn=6, chains=12)
        draws = imputed.overall[::3]
        theta_bins[int((draws < theta).mean() * (bins - 1e-9))] += 1
        first = expit(np.array([errors.person[0] for errors in imputed.errors[::3]]))
        grid = np.diff(np.linspace(-7.0, 1.1, 82))[0]  # a person's log-odds are on a grid: ranks within it are random
        shifted = logit(first) + rng.uniform(-grid / 2, grid / 2, len(first))
        error_bins[int((shifted < logit(wrong[0])).mean() * (bins - 1e-9))] += 1
    for counts in (theta_bins, error_bins):
        chi = float(((counts - runs / bins) ** 2 / (runs / bins)).sum())
        assert chi < 24.3, counts  # the 99.9% point of chi² with 7 degrees of freedom


def test_the_sampler_begins_all_along_the_ridge() -> None:
    """Single votes cannot tell a good classifier with bad people from the reverse: beginnings are spread over both."""
    rng, items = np.random.default_rng(12), 150
    true = (rng.random(items) >= 0.85).astype(int)  # class 0 is predicted for all
    said = {item: {"ann": int(true[item] ^ (rng.random() < 0.2))} for item in range(items)}
    even = 1 - np.eye(2)

    def begun(ballots: Ballots) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The share right and the log-odds of people in each of 40 beginnings."""
        coin = Coin(np.zeros(items, dtype=np.int64))
        nothing = np.zeros(items)
        found = starts(ballots, coin.predicted, coin, (even, even), Usual(0.8), nothing, rng, 40)
        return np.array([(labels == 0).mean() for labels, _ in found]), np.array([e.general for _, e in found])

    right, odds = begun(Ballots.of(said, classes=2))
    assert right.std() > 0.03
    assert np.corrcoef(right, odds)[0, 1] > 0.4  # the worse people are, the better the classifier must be
    assert right.mean() > (Ballots.of(said, classes=2).majority() == 0).mean() + 0.03
    known = Ballots.of(said, classes=2, known=dict(enumerate(true.tolist())))
    right, odds = begun(known)
    assert np.ptp(right) == 0  # every class is known
    assert abs(expit(odds).mean() - 0.2) < 0.07  # 150 votes, as a tenth of them are about what the classifier misses


@pytest.mark.parametrize(("people", "classes"), [(1, 1), (2, 3), (20, 10)])
def test_the_level_of_few_people_is_less_certain_than_that_of_many(people: int, classes: int) -> None:
    """The prior of the mean log-odds of votes, against draws of m, people and classes."""
    rng, n = np.random.default_rng(13), 20_000
    person, true = rng.integers(0, people, 60), rng.integers(0, classes, 60)
    sigma = rng.choice([0.15, 0.4, 0.8], p=[0.3, 0.4, 0.3], size=(n, 1))
    m = logit(0.2) + 0.25 * rng.standard_normal((n, 1))
    votes = m + (sigma * rng.standard_normal((n, people)))[:, person] + 0.5 * rng.standard_normal((n, classes))[:, true]
    weight = np.exp(Usual(0.8).log_prior_of_level(person, true))
    mean = weight @ GRID / weight.sum()
    found = weight @ (GRID - mean) ** 2 / weight.sum()
    # The variance of 20,000 draws is known to 2% (more of its kurtosis), and the grid ends at 1.1.
    assert found == pytest.approx(votes.mean(axis=1).var(), rel=0.06)


def test_classes_are_those_of_bayes_rule_counted_out() -> None:
    """Three votes and a prediction among three classes: against a loop over the classes."""
    ballots = Ballots.of({0: {"ann": 1, "bob": 2, "cyd": 0}}, classes=3)
    errors = Errors(0.0, logit(np.array([0.1, 0.3, 0.2])), np.array([0.0, 0.2, -0.4]), 0.5)
    guess, right, doubt = np.array([0]), np.array([0.8]), np.array([0.7])
    mistakes = np.array([[0, 0.25, 0.75], [0.5, 0, 0.5], [0.9, 0.1, 0], [1 / 3] * 3])
    slips = np.array([[0, 0.6, 0.4], [0.2, 0, 0.8], [0.5, 0.5, 0], [1 / 3] * 3])
    wanted = []
    for y in range(3):
        p = 0.8 if y == 0 else 0.2 * mistakes[0, y]
        for person, vote in ((0, 1), (1, 2), (2, 0)):
            wrong = expit(errors.person[person] + errors.by_class[y] + 0.5 * 0.7 + BOTH * (y != guess[0]))
            other = slips[y, vote] if y == guess[0] else (1 - _MISLED) * slips[y, vote] + _MISLED * (vote == guess[0])
            p *= 1 - wrong if vote == y else wrong * other
        wanted.append(p)
    found = class_chances(ballots, guess, right, mistakes, slips, errors, doubt)
    assert np.allclose(found[0], np.array(wanted) / sum(wanted), rtol=1e-12)


def test_how_often_people_err_is_learned_from_known_items() -> None:
    """A person who is wrong in 30 of 200 known items, and one who is wrong in 4."""
    rng = np.random.default_rng(3)
    wrong = np.concatenate([np.arange(200) < 30, np.arange(200) < 4])
    votes = Votes(wrong, np.repeat([0, 1], 200), rng.integers(0, 2, 400), np.zeros(400), np.zeros(400, dtype=bool))
    errors, found = Errors.start(Usual(), 2, 2), []
    for _ in range(300):
        errors = errors.drawn(rng, votes, Usual())
        found.append([expit(errors.person[r] + errors.by_class).mean() for r in (0, 1)])
    mean = np.mean(found[50:], axis=0)
    assert abs(mean[0] - 0.15) < 0.03
    assert abs(mean[1] - 0.025) < 0.015


def dawid_skene(ballots: Ballots, rounds: int = 100) -> NDArray[np.float64]:
    """The EM of Dawid and Skene (1979), as slowly as it is written: a confusion matrix for each person."""
    items, classes, people = len(ballots.items), ballots.classes, len(ballots.people)
    t = np.zeros((items, classes))
    np.add.at(t, (ballots.row, ballots.label), 1)
    t /= t.sum(axis=1, keepdims=True)
    for _ in range(rounds):
        pi = np.full((people, classes, classes), 0.01)
        for row, person, label in zip(ballots.row, ballots.person, ballots.label, strict=True):
            pi[person, :, label] += t[row]
        pi /= pi.sum(axis=2, keepdims=True)
        log = np.repeat(np.log(t.mean(axis=0) + 1e-12)[None], items, axis=0)
        for row, person, label in zip(ballots.row, ballots.person, ballots.label, strict=True):
            log[row] += np.log(pi[person, :, label])
        t = np.exp(log - log.max(axis=1, keepdims=True))
        t /= t.sum(axis=1, keepdims=True)
    return t


def test_labels_agree_with_dawid_and_skene_where_many_vote() -> None:
    """Five votes on each item and a classifier that knows nothing: then both have the votes alone to go by."""
    rng = np.random.default_rng(5)
    items, classes = 150, 3
    true, wrong = rng.integers(0, classes, items), np.array([0.05, 0.1, 0.15, 0.2, 0.4])
    votes = {
        item: {
            f"p{r}": int(y if rng.random() >= e else (y + rng.integers(1, classes)) % classes)
            for r, e in enumerate(wrong)
        }
        for item, y in enumerate(true.tolist())
    }
    ballots = Ballots.of(votes, classes=classes)
    predicted = rng.integers(0, classes, items)
    imputed = impute(ballots, predicted, Coin(predicted), None, Usual(), rng)
    ours, theirs = imputed.probability, dawid_skene(ballots)
    same = ours.argmax(axis=1) == theirs.argmax(axis=1)
    assert same.mean() > 0.97
    clear = (ours.max(axis=1) > 0.98) & (theirs.max(axis=1) > 0.98)
    assert clear.sum() > 100
    assert same[clear].all()
    assert (ours.argmax(axis=1) == true).mean() >= (ballots.majority() == true).mean()
    right = 1 - imputed.wrong.mean(axis=0)
    assert np.corrcoef([right[ballots.person == r].mean() for r in range(5)], 1 - wrong)[0, 1] > 0.9


def test_labels_that_are_certain_change_nothing() -> None:
    """If every class is known, the mixture is the plain belief."""
    rng = np.random.default_rng(6)
    pool = fl.read_pool({"predicted": rng.choice(["a", "b"], 80), "confidence": rng.uniform(0.6, 0.9, 80)})
    cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    prepared = fl.Learned().on(cells, "population")
    outcomes = fl.Accuracy().outcomes(pool, cells, np.arange(20), rng.integers(0, 2, 20).astype(np.int32))
    plain = prepared.belief(outcomes)
    mixed = NoisyBelief.of([plain] * 4)
    assert np.allclose(mixed.mean(), plain.mean())
    assert np.allclose(mixed.variance(), plain.variance())
    assert np.allclose(mixed.alpha, plain.alpha, rtol=1e-9)


def test_doubtful_labels_widen_the_belief() -> None:
    """The variance of the mixture is that within its parts and that between them."""
    size = np.array([100])
    parts = [fl.Belief(np.ones((1, 2)), np.array([[k, 20.0 - k]]), size) for k in (10.0, 18.0)]
    mixed = NoisyBelief.of(parts)
    draws = mixed.draws(np.random.default_rng(0), 40_000)[:, 0, 0]
    assert abs(draws.mean() - mixed.mean()[0, 0]) < 4 * draws.std() / 200
    assert abs(draws.var() / mixed.variance()[0, 0] - 1) < 0.05
    assert mixed.variance()[0, 0] > 2 * parts[0].variance()[0, 0]


def test_a_second_vote_is_worth_most_where_a_sure_prediction_was_contradicted() -> None:
    rng = np.random.default_rng(8)
    predicted = np.zeros(60, dtype=np.int64)
    votes = {item: {"ann": int(item < 6)} for item in range(60)}  # six contradict the classifier
    ballots = Ballots.of(votes, classes=2)
    imputed = impute(ballots, predicted, Coin(predicted), None, Usual(0.9), rng)
    found = worth(imputed, predicted)
    assert found.again[:6].min() > found.again[6:].max()
    known = Ballots.of(votes, classes=2, known={0: 1})
    again = worth(impute(known, predicted, Coin(predicted), None, Usual(0.9), rng), predicted).again
    assert again[0] == 0
