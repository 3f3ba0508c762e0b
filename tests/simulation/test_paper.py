"""The paper's tables and figures: printed numbers, quirks, rows, footnotes, files; on small made-up pools."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.paper import comparing, estimating, identifying, methods, quirks
from fewlabels.paper.figures import beliefs
from fewlabels.paper.plan import PaperPlan
from fewlabels.paper.pools import SOURCES, chosen, load
from fewlabels.paper.published import Cell, published
from fewlabels.paper.superclasses import SUPERCLASS, human_costs, superclass_costs
from fewlabels.paper.tables import TABLES
from fewlabels.priors import Uniform
from fewlabels.simulation.kernels.choose import THOMPSON
from fewlabels.simulation.kernels.compare import CONFIDENCE, ask_compare
from fewlabels.simulation.kernels.run import start
from fewlabels.simulation.methods import Method
from fewlabels.simulation.order import asker
from fewlabels.simulation.parallel import run_generator
from fewlabels.tasks.rope import rope_probabilities
from tests.support.paper import pool_of

# --- what the paper prints


@pytest.mark.parametrize(
    ("table", "cell", "value", "label"),
    [
        ("accuracy", ("SVHN", "IPrior", 100, "rmse"), 4.7, "tab:classwise_acc_estimate"),
        ("accuracy", ("ImageNet", "UPrior", 10_000, "rmse"), 11.8, "tab:classwise_acc_estimate"),
        ("confusion", ("DBpedia", "UPrior", 28, "rmse"), 1307.572, "tab:confusion_rmse"),
        ("ece", ("20 News", "IPrior+TS", 50, "ece-error"), 36.6, "tab:ece_estimate"),
        ("bins", ("20 News", "IPrior", 20, "rmse"), 11.5, "tab:binwise_acc_estimate"),
        ("least-accurate", ("ImageNet", "IPrior+TS", None, "percent-to-identify top-10"), 17.1, "tab:best-m-acc"),
        ("least-calibrated", ("SVHN", "IPrior", None, "percent-to-identify top-3"), 88.4, "tab:best-m-ece"),
        ("comparison", ("CIFAR-100, Superclass", "UPrior", None, "labels-to-decide"), 203.5, "tab:difference"),
        ("cost", ("CIFAR-100", "IPrior+TS", None, "labels-to-identify human 10 top-1"), 2200, "tab:active-cost-human"),
    ],
)
def test_printed_numbers(table, cell, value, label) -> None:
    printed = published(table)[Cell(*cell)]
    assert (printed.value, printed.label) == (value, label)


def test_every_printed_number_is_there() -> None:
    counts = {name: len(published(name)) for name in TABLES}
    assert counts == {
        "accuracy": 45, "confusion": 36, "ece": 45, "bins": 45, "least-accurate": 30, "least-calibrated": 20,
        "comparison": 12, "cost": 48,
    }  # fmt: skip


# --- pools, superclasses, costs


def test_superclasses_are_twenty_times_five() -> None:
    assert len(SUPERCLASS) == 100
    assert set(np.unique(list(SUPERCLASS.values()), return_counts=True)[1]) == {5}


def test_costs() -> None:
    names = sorted(SUPERCLASS)
    human, superclass = human_costs(names, 7), superclass_costs(names, 7)
    woman, boy, oak, pine = (names.index(name) for name in ("woman", "boy", "oak_tree", "pine_tree"))
    assert (human[woman, oak], human[oak, woman], human[woman, boy]) == (7, 1, 1)
    assert (superclass[oak, pine], superclass[oak, boy]) == (1, 7)
    assert (human.sum(), superclass.sum()) == (5 * 95 * 7 + 9_900 - 5 * 95, 100 * 95 * 7 + 100 * 4)


def test_data_sets_are_found_by_either_name() -> None:
    assert [source.file for source in chosen(["20news", "Cifar-100"])] == ["cifar100", "newsgroups"]
    with pytest.raises(fl.InputError, match=r"no data set 'mnist'\. It has CIFAR-100"):
        chosen(["mnist"])


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(fl.InputError, match=r"svhn\.npz does not exist, but SVHN needs it"):
        load(SOURCES[2], tmp_path)


def test_classes_with_numbers_as_names_are_read_by_position(paper_data) -> None:
    pool = pool_of(paper_data, "imagenet")
    with np.load(paper_data / "imagenet.npz") as arrays:
        assert np.array_equal(pool.pool.predicted, arrays["predicted"])
        assert np.array_equal(pool.right, arrays["predicted"] == arrays["labels"])


# --- the quirks


def test_rank_bins_split_ties_and_drop_the_surest_item() -> None:
    score = [0.5, 0.9, 0.9, 0.9, 0.9, 0.9]
    pool = fl.read_pool({"predicted": ["a"] * 6, "confidence": score}, classes=["a", "b"])
    assert quirks.rank_bins(pool, 3).group.tolist() == [0, 0, 1, 1, 2, 0]
    assert fl.by_score(pool, 3, "weight").sizes.tolist() == [6]  # which keeps ties together


def test_equal_width_ece_is_the_metric(paper_data) -> None:
    pool = pool_of(paper_data, "svhn")
    items = np.arange(len(pool.pool))
    metric = fl.CalibrationError(bins=20)
    cells = metric.cells(pool.pool, fl.whole(pool.pool))
    right = np.bincount(cells.cell, pool.right) / cells.size
    value = metric.value(np.column_stack([right, 1 - right]), cells)[0]
    assert quirks.equal_width_ece(pool.pool.confidence, pool.right, 20) == pytest.approx(value)
    assert beliefs.plain_ece(pool, items) == pytest.approx(quirks.equal_width_ece(pool.pool.confidence, pool.right, 10))


def test_accuracy_as_published_is_no_prior_and_ten_labels_more(paper_data) -> None:
    plan = PaperPlan(paper_data, runs=4, datasets=("svhn",), jobs=1, seed=3)
    pool = pool_of(paper_data, "svhn")
    case = estimating.case_of(pool, fl.by_predicted(pool.pool), fl.Accuracy())
    score = estimating.Rmse(case.value, case.cells.partition.shares)
    for as_published, strength, late in ((True, 1e-6, 10), (False, 2, 0)):
        rows = estimating.accuracy(replace(plan, as_published=as_published)).rows
        uprior = Method("UPrior", Uniform(strength), fl.UniformItems())
        expected = estimating.errors(case, score, [20 + late, 50 + late, 100 + late], 3, uprior, range(4))
        ours = [row["mean"] for row in rows if row["method"] == "UPrior"]
        assert ours == pytest.approx(expected.mean(axis=0))


def test_errors_with_all_labels_are_known(paper_data) -> None:
    """With every item labelled the estimate is (right + 1)/(n + 2), whatever the order."""
    pool = pool_of(paper_data, "svhn")
    case = estimating.case_of(pool, fl.by_predicted(pool.pool), fl.Accuracy())
    score = estimating.Rmse(case.value, case.cells.partition.shares)
    n = np.bincount(pool.pool.predicted)
    right = np.bincount(pool.pool.predicted, pool.right)
    expected = 100 * np.sqrt((n / n.sum()) @ ((right + 1) / (n + 2) - right / n) ** 2)
    for way in (one for one in methods.estimating(as_published=False) if one.name.startswith("UPrior")):
        found = estimating.errors(case, score, [len(pool.pool)], 0, way, range(2))
        assert found == pytest.approx(np.full((2, 1), expected))


def test_ece_as_published_compares_with_twenty_bins(paper_data) -> None:
    pool = pool_of(paper_data, "newsgroups")
    estimate = np.linspace(0.5, 0.9, 10)
    shares, confidence = np.full(10, 0.1), np.linspace(0.45, 0.95, 10)
    true = quirks.equal_width_ece(pool.pool.confidence, pool.right, 20)
    gap = np.abs(estimate - confidence).mean()
    assert estimating.EceError(true, confidence, shares)(estimate) == pytest.approx(100 * abs(gap - true) / true)


def test_confusion_as_published_shrinks_to_the_identity(paper_data) -> None:
    """IPrior's error is Σ_k p_k e_k (w/(w+n_k))² / Σ_k p_k e_k, e_k being the prior's distance to the identity."""
    pool = pool_of(paper_data, "svhn")
    plan = PaperPlan(paper_data, runs=1, datasets=("svhn",), jobs=1, as_published=True)
    ours = [row for row in estimating.confusion(plan).rows if row["method"] == "IPrior"]
    case = estimating.case_of(
        replace(pool, labels=pool.pool.predicted.astype(np.int64)), fl.by_predicted(pool.pool), fl.Confusion()
    )
    way = methods.estimating(as_published=True, informed=quirks.CONFUSION_WEIGHT)[1]
    order = asker(case, way)(run_generator(0, 0), 110)
    share = np.bincount(pool.pool.predicted) / len(pool.pool)
    distance = share * ((pool.pool.profile - np.eye(10)) ** 2).sum(axis=1)
    for row, labels in zip(ours, (30, 60, 110), strict=True):
        n = np.bincount(pool.pool.predicted[order[:labels]], minlength=10)
        kept = (quirks.CONFUSION_WEIGHT / (quirks.CONFUSION_WEIGHT + n)) ** 2
        assert row["mean"] == pytest.approx((distance @ kept) / distance.sum(), rel=1e-4)


def test_confusion_as_the_text_says_starts_at_one(paper_data) -> None:
    """Without labels the informed prior has the scaled error 1."""
    rows = estimating.confusion(PaperPlan(paper_data, runs=2, datasets=("newsgroups",), jobs=1)).rows
    assert {row["budget"] for row in rows} == {40, 100, 200}
    assert all(0 < row["mean"] < 20 for row in rows if row["method"] != "UPrior")


def test_a_pair_that_never_decides(paper_data) -> None:
    """All its labels, or one as published: a truth that no belief reaches."""
    pool = pool_of(paper_data, "svhn")
    way = methods.identifying()[0]
    pair = comparing.pairs(pool, fl.by_predicted(pool.pool), [way])[0]
    never = replace(pair, truth=np.array([1e-9, 0.0, 0.0]))
    assert comparing.labels_to_decide([never], 0, False, way, range(2)).tolist() == [len(pair.known.items)] * 2
    assert comparing.labels_to_decide([never], 0, True, way, range(2)).tolist() == [1, 1]


def test_a_decision_is_the_first_right_one(paper_data) -> None:
    pool = pool_of(paper_data, "svhn")
    way = methods.identifying()[2]
    pair = comparing.pairs(pool, fl.by_predicted(pool.pool), [way])[3]
    first = int(comparing.labels_to_decide([pair], 5, False, way, range(1))[0])
    prior = pair.priors[way.name]
    run = start(pair.known, prior, pool=False)
    ask_compare(run_generator(5, 0), run, 0, 0.05, CONFIDENCE, THOMPSON, 32)
    if first <= 32:
        counts = np.zeros((2, 2))
        places = run.asked[:first]
        np.add.at(counts, (pair.known.cell[places], pair.known.outcome[places]), 1)
        a, b = prior + counts
        mu = rope_probabilities(a, b, 0.05)
        assert mu.argmax() == pair.truth.argmax()
        assert abs(mu.max() - pair.truth.max()) < 0.05 * pair.truth.max()


def test_first_above() -> None:
    curve = np.array([0.1, 0.6, 0.995, 0.9, 1.0])
    assert identifying.first_above(curve) == 2
    assert identifying.first_above(curve, every=4) == 4
    assert identifying.first_above(np.array([0.1, 0.5])) == 1  # 0.99 of its own maximum


def test_jackknife_leaves_out_one_piece_at_a_time() -> None:
    curve = identifying.Curves([(1, np.array([1.0])), (1, np.array([3.0])), (2, np.array([4.0]))], np.zeros((4, 1)))
    found = curve.jackknife(lambda mean: float(mean[0]))
    without = np.array([7 / 3, 5 / 3, 2.0])
    assert found == {"mean": 2.0, "se": pytest.approx(np.sqrt(2 * without.var())), "runs": 4}
