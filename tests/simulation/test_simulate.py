"""The simulator: methods by name, scores against hand-made ones, kernels against the library's own loop."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.outcomes import Outcomes
from fewlabels.parts import registered
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.layout import layout
from fewlabels.simulation.methods import Method, method, methods_from
from fewlabels.simulation.on_ray import RayExecutor
from fewlabels.simulation.order import asker, asker_with_anchors, is_compiled
from fewlabels.simulation.parallel import chunks, gather, run_generator
from fewlabels.simulation.scorer import scorer_of
from fewlabels.simulation.significance import against_best, signed_rank_p
from fewlabels.simulation.study import labels_to_identify, run_chunk, simulate
from fewlabels.simulation.truth import item_classes, truth

if TYPE_CHECKING:
    from fewlabels.belief import Target

CLASSES = ("ant", "bee", "cat", "dog")
COST = [[0, 1, 5, 1], [1, 0, 1, 1], [2, 1, 0, 1], [9, 1, 1, 0]]
# Differences of means from independent runs: a normal quantile that a right program passes 150,000 times in a row.
Z = 4.5


def make_pool(n=160, seed=3):
    """A pool with scores and a column, and its labels: a classifier that is right less often than it says."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet([0.4] * 4, size=n)
    predicted = scores.argmax(axis=1)
    right = rng.random(n) < np.array([0.9, 0.75, 0.6, 0.4])[predicted]
    labels = np.where(right, predicted, (predicted + rng.integers(1, 4, n)) % 4)
    sex = rng.choice(["f", "m"], n)
    tribe = rng.permutation(np.arange(n) % 70)
    pool = fl.read_pool({"scores": scores, "sex": sex, "tribe": tribe}, classes=CLASSES)
    return pool, [CLASSES[k] for k in labels]


POOL, LABELS = make_pool()
GROUPS = {
    "predicted": fl.by_predicted(POOL),
    "bins": fl.by_score(POOL, 4, "weight"),
    "sex": fl.by_column(POOL, "sex"),
    "tribe": fl.by_column(POOL, "tribe"),
}
TASKS = {
    "accuracy": (fl.Estimate(fl.Accuracy()), "predicted"),
    "bins": (fl.Estimate(fl.Accuracy()), "bins"),
    "many": (fl.Estimate(fl.Accuracy()), "tribe"),
    "confusion": (fl.Estimate(fl.Confusion()), "predicted"),
    "lowest": (fl.Identify(fl.Accuracy(), lowest=1), "predicted"),
    "lowest-2": (fl.Identify(fl.Accuracy(), lowest=2), "predicted"),
    "lowest-many": (fl.Identify(fl.Accuracy(), lowest=1), "tribe"),
    "highest": (fl.Identify(fl.Accuracy(), highest=1), "predicted"),
    "calibration": (fl.Identify(fl.CalibrationError(3), highest=1), "predicted"),
    "calibrated": (fl.Identify(fl.CalibrationError(3), lowest=1), "predicted"),
    "cost": (fl.Identify(fl.Cost(COST), highest=2), "predicted"),
    "compare": (fl.Compare(fl.Accuracy(), "cat", "ant"), "predicted"),
    "information": (fl.Compare(fl.Accuracy(), "bee", "cat", by="information"), "predicted"),
    "confidence": (fl.Compare(fl.Accuracy(), "bee", "cat", by="confidence"), "predicted"),
    "f1": (fl.Estimate(fl.F1()), "sex"),
    "recall": (fl.Identify(fl.Recall("cat"), lowest=1), "sex"),
    "compare-f1": (fl.Compare(fl.F1(), "f", "m"), "sex"),
    "ece": (fl.Estimate(fl.CalibrationError(4)), "sex"),
    "money": (fl.Estimate(fl.Cost(COST)), "sex"),
}
WITHOUT_KERNEL = {"f1", "recall", "compare-f1", "ece", "money"}


def truth_of(name, *methods):
    task, groups = TASKS[name]
    return truth(POOL, LABELS, GROUPS[groups], task, methods)


PRIORS, POLICIES = registered("prior"), registered("policy")
STRONG = {"uniform": "uniform:10", "informed": "informed:10", "learned": "learned"}


def test_every_method_has_the_name_it_is_made_from() -> None:
    for prior in PRIORS:
        for policy in POLICIES:
            plain, strong = method(f"{prior}+{policy}"), method(f"{STRONG[prior]}+{policy}+pool")
            assert (plain.target, plain.prior) == ("population", PRIORS[prior]())
            assert (strong.target, strong.prior) == ("pool", PRIORS[prior](*([10] if ":" in strong.name else [])))
            assert strong.policy == plain.policy == POLICIES[policy]()
    assert [one.name for one in methods_from("uniform+items, informed+ucb")] == ["uniform+items", "informed+ucb"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("informed", "a prior and a policy"),
        ("informed+thompson+pool+x", r"only \+pool and \+anchor may follow, not 'x'"),
        ("informd+items", "did you mean 'informed'"),
        ("uniform+tompson", "did you mean 'thompson'"),
        ("uniform+items+population", "only [+]pool and [+]anchor may follow"),
        ("uniform:lots+items", "uniform:lots needs a number, as in uniform:10"),
        ("uniform:0+items", "above 0"),
        ("learned:10+items", "learned takes no value. Write learned, without"),
    ],
)
def test_an_unknown_method_says_what_there_is(name: str, said: str) -> None:
    with pytest.raises(fl.SpecError, match=said):
        method(name)


def test_a_method_is_named_once_and_one_is_needed() -> None:
    with pytest.raises(fl.SpecError, match="twice"):
        methods_from(["uniform+items", Method("uniform+items", fl.Uniform(), fl.Greedy())])
    with pytest.raises(fl.SpecError, match="Priors are uniform, informed"):
        methods_from([])


def test_labels_by_name_by_position_and_by_id_are_the_same() -> None:
    by_name = item_classes(POOL, LABELS)
    assert [CLASSES[k] for k in by_name] == LABELS
    positions = [CLASSES.index(name) for name in LABELS]
    by_id = dict(reversed(list(zip(POOL.ids.to_pylist(), LABELS, strict=True))))
    others: tuple[Any, ...] = (positions, np.array(positions), by_id)
    for other in others:
        np.testing.assert_array_equal(item_classes(POOL, other), by_name)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (LABELS[:-1], "1 labels too few for 160 items"),
        ([*LABELS, "ant"], "1 labels too many"),
        ({"0": "ant"}, "159 labels too few for 160 items: such as '1'"),
        ([None, *LABELS[1:]], "such as '0'"),
        (["eel", *LABELS[1:]], "unknown class 'eel'"),
        ([4] * 160, "not a position in the list of classes"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: Any, said: str) -> None:
    with pytest.raises(fl.LabelError, match=said):
        item_classes(POOL, labels)


def everything(case):
    """The items that can be asked about."""
    return np.flatnonzero(case.room[case.cells.partition.group])


# Two rewards of comparison need a quadrature for every draw, of which these policies make a hundred a step.
QUADRATURE = ("information", "confidence")
SLOW = {(name, policy) for name in QUADRATURE for policy in ("toptwo", "ucb")}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "policy"), [(n, p) for n in TASKS for p in POLICIES if (n, p) not in SLOW])
def test_every_item_that_can_be_asked_is_asked_once(name: str, policy: str) -> None:
    one = method(f"uniform+{policy}")
    case = truth_of(name, one)
    order = asker(case, one)(np.random.default_rng(1), len(everything(case)))
    np.testing.assert_array_equal(np.sort(order), everything(case))


@pytest.mark.parametrize("name", TASKS)
def test_the_generic_driver_asks_for_every_item_once(name: str) -> None:
    one = method("informed+thompson")
    case = truth_of(name, one)
    labels = 20 if name in QUADRATURE else 1000
    order = ask_and_tell(case, one, np.random.default_rng(1), labels)
    assert len(set(order.tolist())) == len(order) == min(labels, len(everything(case)))
    assert set(order.tolist()) <= set(everything(case).tolist())


@pytest.mark.parametrize("name", TASKS)
def test_what_has_a_kernel_uses_it(name: str) -> None:
    for policy in ("thompson", "greedy", "epsilon"):
        one = method(f"informed+{policy}+pool")
        assert is_compiled(truth_of(name, one), one) == (name not in WITHOUT_KERNEL)
    odd = Method("odd", fl.Uniform(), fl.EpsilonGreedy(0.5))
    assert not is_compiled(truth_of(name, odd), odd)


def distances(name, one, other, labels, runs):
    """How a method's own driver differs from another one, in standard errors; what never varies must be equal.

    Compared are the means over runs of the scores and of the labels in each group, half way and at the end.
    """
    case = truth_of(name, one)
    scorer, group, budgets = scorer_of(case), case.cells.partition.group, np.array([labels // 2, labels])
    numbers = []
    for seed, ask in enumerate((asker(case, one), other)):
        rows = []
        for run in range(runs):
            rng = run_generator(seed, run)
            order = ask(rng, labels)
            scores = scorer.verdict(one, order, budgets, rng).scores
            taken = [np.bincount(group[order[:n]], minlength=len(case.room)) for n in budgets]
            rows.append(np.concatenate([*scores.values(), *taken]))
        numbers.append(np.array(rows))
    gap = np.abs(numbers[0].mean(axis=0) - numbers[1].mean(axis=0))
    se = np.sqrt((numbers[0].var(axis=0, ddof=1) + numbers[1].var(axis=0, ddof=1)) / runs)
    assert not gap[se == 0].any()
    return gap[se > 0] / se[se > 0]


KERNELS = [
    (name, policy, target)
    for name in TASKS
    for policy in POLICIES
    for target in ("", "+pool")
    if is_compiled(truth_of(name), method(f"informed+{policy}{target}"))
    and (target == "" or policy in ("thompson", "greedy"))
    # These do not look at the rewards, so they are the same for every task.
    and (policy not in ("items", "groups") or name in ("accuracy", "lowest-2", "compare"))
    # The kernel has the exact quantile and the library that of 1,000 draws, whose noise decides among many groups.
    and not (policy == "ucb" and "many" in name)
    # The library has a quadrature for every outcome of every step here.
    and (name not in QUADRATURE or policy == "thompson")
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "policy", "target"), KERNELS)
def test_kernels_do_what_the_library_does(name: str, policy: str, target: str) -> None:
    one = method(f"informed+{policy}{target}")
    case = truth_of(name, one)
    labels, runs = (8, 25) if name in QUADRATURE else (30, 80)
    assert distances(name, one, lambda rng, n: ask_and_tell(case, one, rng, n), labels, runs).max() < Z


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["thompson", "greedy", "groups"])
@pytest.mark.parametrize("name", ["accuracy", "lowest-2", "many"])
def test_kernels_mix_anchors_in_as_the_library_does(name: str, policy: str) -> None:
    one = method(f"informed+{policy}+anchor:0.4")
    case = truth_of(name, one)
    assert is_compiled(case, one)
    assert distances(name, one, lambda rng, n: ask_and_tell(case, one, rng, n), 30, 120).max() < Z


@pytest.mark.parametrize("who", ["informed+greedy+anchor:0.3", "learned+boundary+pool+anchor:0.3"])
def test_anchors_are_any_of_the_items_left(who: str) -> None:
    """Their share is the one asked for, and the first one of a run is in a group in proportion to its free items."""
    one = method(who)
    case = truth_of("lowest", one)
    ask, group = asker_with_anchors(case, one), case.cells.partition.group
    drawn, expected, seen, labels = 0, np.zeros(len(case.room)), np.zeros(len(case.room)), 24
    for run in range(300):
        items, anchor = ask(run_generator(5, run), labels)
        assert len(set(items.tolist())) == labels == len(anchor)
        drawn += int(anchor.sum())
        if anchor.any():
            first = int(anchor.argmax())
            free = case.room - np.bincount(group[items[:first]], minlength=len(case.room))
            expected += free / free.sum()
            seen[group[items[first]]] += 1
    assert stats.binomtest(drawn, 300 * labels, 0.3).pvalue > 1e-4
    some = expected > 0
    assert stats.chisquare(seen[some], expected[some]).pvalue > 1e-4


@pytest.mark.parametrize(
    "who", ["uniform+thompson+anchor:2", "uniform+thompson+anchor:x", "uniform+thompson+anchor+pool"]
)
def test_a_share_of_anchors_that_makes_no_sense_is_refused(who: str) -> None:
    with pytest.raises(fl.SpecError, match="anchor"):
        method(who)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accuracy", "lowest"])
def test_the_generic_driver_does_what_an_assessment_does(name: str) -> None:
    one = method("informed+thompson")
    task, groups = TASKS[name]
    seeds = iter(range(10**6))

    def by_assessment(rng: np.random.Generator, labels: int) -> np.ndarray:
        audit = fl.create(
            None, "one", POOL, GROUPS[groups], task=task, prior=one.prior, policy=one.policy, seed=next(seeds)
        )
        order = []
        for _ in range(labels):
            (item,) = audit.ask().ids
            audit.tell({item: LABELS[int(item)]})
            order.append(int(item))
        audit.close()
        return np.array(order)

    assert distances(name, one, by_assessment, labels=10, runs=40).max() < Z


# Among many small groups the lowest are truly equal, and which of them comes first is chance.
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TASKS if name != "lowest-many"])
@pytest.mark.parametrize("how", ["informed+thompson+pool", "learned+items+pool"])
def test_with_all_labels_the_pool_has_no_secrets(name: str, how: str) -> None:
    task, groups = TASKS[name]
    table = simulate(POOL, LABELS, GROUPS[groups], task=task, methods=how, budgets=["100%"], runs=2)
    perfect = {"rmse": 0.0, "ece-error": 0.0, "mrr": 1.0, "success": 1.0}
    found = {row["score"]: row for row in table.rows() if row["score"] in perfect}
    assert found
    for score, row in found.items():
        assert row["mean"] == pytest.approx(perfect[score], abs=1e-9), score
        assert row["se"] == pytest.approx(0, abs=1e-9)


def test_rmse_is_weighted_by_the_share_and_in_percent() -> None:
    one = method("informed:5+items")
    case = truth_of("accuracy", one)
    items = np.arange(0, 160, 3)
    scores = scorer_of(case).verdict(one, items, np.array([0, len(items)]), np.random.default_rng(1)).scores["rmse"]
    right = np.array([label == CLASSES[k] for label, k in zip(LABELS, POOL.predicted, strict=True)])
    for n, found in zip((0, len(items)), scores, strict=True):
        total = 0.0
        for k in range(4):
            own, seen = POOL.predicted == k, POOL.predicted[items[:n]] == k
            guess = (5 * POOL.confidence[own].mean() + right[items[:n]][seen].sum()) / (5 + seen.sum())
            total += own.mean() * (guess - right[own].mean()) ** 2
        assert found == pytest.approx(100 * np.sqrt(total))


def test_the_number_over_all_items_and_how_often_intervals_hold() -> None:
    """Against the estimates and the answer of an assessment with the same labels."""
    one = method("uniform+items")
    case = truth_of("accuracy", one)
    items = np.random.default_rng(3).permutation(160)[:60]
    scores = scorer_of(case).verdict(one, items, np.array([60]), np.random.default_rng(1)).scores
    audit = fl.create(None, "same", POOL, task=fl.Estimate(fl.Accuracy()), prior=fl.Uniform(), policy=fl.UniformItems())
    audit.tell({POOL.ids[int(i)].as_py(): LABELS[i] for i in items}, adopt=True)
    rows, answer = list(audit.estimates().rows()), next(audit.answer(draws=50_000).table.rows())
    truth, shares = case.value, case.cells.partition.shares
    held = [row["low"] <= share <= row["high"] for row, share in zip(rows, truth, strict=True)]
    assert scores["coverage"][0] == pytest.approx(100 * np.mean(held))
    assert scores["overall-error"][0] == pytest.approx(100 * abs(answer["mean"] - shares @ truth), abs=0.01)
    assert scores["overall-coverage"][0] == 100.0 * (answer["low"] <= shares @ truth <= answer["high"])


def test_ece_error_is_relative_to_the_ece_of_all_labels() -> None:
    one = method("uniform+items+pool")
    case = truth_of("bins", one)
    bins = GROUPS["bins"].group
    right = np.array([label == CLASSES[k] for label, k in zip(LABELS, POOL.predicted, strict=True)])

    def ece(accuracy):
        gaps = [(bins == b).mean() * abs(accuracy[b] - POOL.confidence[bins == b].mean()) for b in range(4)]
        return sum(gaps)

    exact = ece([right[bins == b].mean() for b in range(4)])
    scores = scorer_of(case).verdict(one, np.arange(0), np.array([0]), np.random.default_rng(1)).scores
    assert scores["ece-error"][0] == pytest.approx(100 * abs(ece([0.5] * 4) - exact) / exact)

    # A learned belief is judged by its median: by draws of its own here, within four standard errors of both medians.
    learned = method("learned+items+pool")
    asked = np.arange(6)
    found = scorer_of(case).verdict(learned, asked, np.array([6]), np.random.default_rng(2)).scores["ece-error"][0]
    draws = np.array(
        [ece(row) for row in scorer_of(case).belief(learned, asked).draws(np.random.default_rng(3), 4000)[..., 0]]
    )
    middle = np.median(draws)
    density = (np.abs(draws - middle) < 0.02).mean() / 0.04
    tolerance = 4 * np.sqrt(0.25 / 2000 + 0.25 / 4000) / density
    assert abs(middle - exact) > 2 * tolerance  # a distance that can be told from none
    assert found == pytest.approx(100 * abs(middle - exact) / exact, abs=100 * tolerance / exact)
    at_means = ece(scorer_of(case).belief(learned, asked).mean()[:, 0])
    assert abs(at_means - middle) > 2 * tolerance  # and from the value at the means


def test_confusion_errors_are_relative_to_the_informed_prior_without_labels() -> None:
    task, groups = TASKS["confusion"]
    table = simulate(
        POOL, LABELS, GROUPS[groups], task=task, methods="informed+items,uniform+items", budgets=[0], runs=2
    )
    means = dict(zip(table["method"], table["mean"], strict=True))
    assert means["informed+items"] == pytest.approx(1)
    case = truth_of("confusion", method("uniform+items"))

    def rmse(guess):
        return np.sqrt(GROUPS[groups].shares @ ((guess - case.value) ** 2).sum(axis=1))

    assert means["uniform+items"] == pytest.approx(rmse(np.full((4, 4), 0.25)) / rmse(POOL.profile))


@pytest.mark.parametrize("name", ["lowest", "lowest-2", "highest", "calibration", "calibrated", "cost"])
@pytest.mark.parametrize("how", ["informed+items", "uniform:4+items+pool"])
def test_the_compiled_mrr_is_the_obvious_one(name: str, how: str) -> None:
    one = method(how)
    case = truth_of(name, one)
    order = np.random.default_rng(2).permutation(160)
    verdict = scorer_of(case).verdict(one, order, np.array([0, 7, 160]), np.random.default_rng(1))
    sign = -1 if case.task.lowest else 1
    members = np.argsort(-sign * case.value, kind="stable")[: case.task.plays]
    np.testing.assert_array_equal(members, case.members)
    for n in (0, 1, 7, 50, 160):
        belief = one.prior.on(case.cells, one.target).belief(case.outcomes(order[:n]))
        value = sign * case.task.metric.value(belief.mean(), case.cells)
        rivals = [value[g] for g in range(4) if g not in members]
        total = 0.0
        for g in members:
            above, equal = sum(v > value[g] for v in rivals), sum(v == value[g] for v in rivals)
            total += np.mean([1 / (above + 1 + i) for i in range(equal + 1)])
        assert verdict.curve[n] == pytest.approx(total / len(members))
    np.testing.assert_array_equal(verdict.scores["mrr"], verdict.curve[[0, 7, 160]])


def test_labels_to_identify_is_where_the_mean_curve_crosses() -> None:
    curve = np.array([0.2, 0.6, 0.98, 0.985, 0.992, 1.0])
    assert labels_to_identify(curve, 1.0) == 4
    assert labels_to_identify(curve[:4], 1.0) is None
    assert labels_to_identify(curve[:4], 0.5) == 2  # 0.99 of the largest value, where that stays below 1


@pytest.mark.parametrize("target", ["population", "pool"])
def test_success_needs_the_region_and_its_probability(target: Target) -> None:
    one = Method("one", fl.Informed(), fl.UniformItems(), target)
    case = truth_of("compare", one)
    order = np.random.default_rng(4).permutation(everything(case))
    verdict = scorer_of(case).verdict(one, order, np.arange(len(order) + 1), np.random.default_rng(1))
    right = case.task.probabilities(fl.Uniform().on(case.cells, target).belief(Outcomes(case.counts)), case.cells)
    assert right.max() > 0.5
    for n in range(0, len(order) + 1, 9):
        belief = one.prior.on(case.cells, target).belief(case.outcomes(order[:n]))
        mu = case.task.probabilities(belief, case.cells)
        success = mu.argmax() == right.argmax() and abs(mu.max() - right.max()) / right.max() < 0.05
        assert verdict.scores["success"][n] == success
    assert verdict.labels == np.flatnonzero(verdict.scores["success"])[0]


def test_a_run_that_never_decides_counts_with_all_its_labels() -> None:
    task, groups = TASKS["compare"]
    table = simulate(POOL, LABELS, GROUPS[groups], task=task, methods="uniform+items", budgets=[1], runs=5)
    assert table.where(score="success")["mean"] == [0.0]
    assert table.where(score="labels-to-decide")["mean"] == [1.0]


def test_the_best_and_those_not_worse() -> None:
    rng = np.random.default_rng(5)
    good = rng.normal(size=200)
    scores = {"same": good + rng.normal(0, 0.1, 200), "good": good, "bad": good + 0.3 * rng.random(200)}
    rows = against_best(scores, "low")
    assert {name: row["best"] for name, row in rows.items()} == {"same": True, "good": True, "bad": False}
    assert sorted(row["p"] is None for row in rows.values()) == [False, False, True]
    assert against_best(scores, "high")["bad"] == {"p": None, "best": True}
    assert signed_rank_p(good, good) == 1.0


def test_runs_are_the_same_however_they_are_cut() -> None:
    one = method("informed+thompson")
    case = truth_of("lowest", one)
    budgets = np.array([5, 20])
    together = run_chunk(case, one, budgets, 7, range(6))
    apart = [run_chunk(case, one, budgets, 7, range(r, r + 1)) for r in range(6)]
    np.testing.assert_array_equal(together.scores["mrr"], np.concatenate([part.scores["mrr"] for part in apart]))
    other = run_chunk(case, one, budgets, 8, range(6))
    assert not np.array_equal(together.scores["mrr"], other.scores["mrr"])
    assert [r for piece in chunks(1000) for r in piece] == list(range(1000))


def small_study(**how):
    """A study with a kernel, a method without one, and a label count."""
    task, groups = TASKS["lowest"]
    methods = ["uniform+items", "informed+thompson", "uniform:4+ucb+pool"]
    return simulate(POOL, LABELS, GROUPS[groups], task=task, methods=methods, budgets=[5, 12], runs=6, seed=3, **how)


def test_the_result_does_not_depend_on_jobs() -> None:
    alone = small_study(jobs=1)
    assert small_study(jobs=2).columns == alone.columns
    with ThreadPoolExecutor(2) as threads:
        assert small_study(executor=threads).columns == alone.columns
    assert small_study(jobs=1).columns == alone.columns


@pytest.mark.slow
def test_the_result_is_the_same_on_processes() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert small_study(executor=processes).columns == small_study(jobs=1).columns


@pytest.mark.slow
def test_the_result_is_the_same_on_a_dask_cluster_of_two_workers() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        assert small_study(executor=client.get_executor()).columns == small_study(jobs=1).columns


@pytest.mark.slow
def test_the_result_is_the_same_on_ray() -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        assert small_study(executor=RayExecutor()).columns == small_study(jobs=1).columns
    finally:
        ray.shutdown()


def test_progress_is_told_and_errors_come_through() -> None:
    told = []
    small_study(jobs=1, progress=lambda done, total: told.append((done, total)))
    assert told == [(i, 18) for i in range(19)]
    with ThreadPoolExecutor(2) as threads, pytest.raises(ZeroDivisionError):
        gather([lambda: 1, lambda: 1 // 0], executor=threads)


def test_the_table_is_tidy() -> None:
    table = small_study(jobs=1)
    assert list(table.columns) == ["method", "budget", "score", "mean", "se", "q10", "q50", "q90", "p", "best"]
    assert len(table) == 3 * 2 + 3
    assert table.settings["runs"] == 6
    assert table.settings["task"] == {"kind": "Identify", "metric": {"kind": "Accuracy"}, "lowest": 1, "highest": None}
    for row in table.where(score="mrr").rows():
        assert row["q10"] <= row["q50"] <= row["q90"]
        assert 0 < row["mean"] <= 1
    assert any(table.where(score="mrr", budget=5)["best"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"budgets": []}, "no budget was named"),
        ({"budgets": [200]}, "a budget of 200 labels is more than the 160 items"),
        ({"budgets": ["120%"]}, "numbers of labels"),
        ({"budgets": [-1]}, "numbers of labels"),
        ({"budgets": [1.5]}, "numbers of labels"),
        ({"runs": 0}, "'runs' of simulate.. must be a whole number of at least 1"),
        ({"seed": -1}, "'seed' of simulate.. must be a whole number of at least 0"),
        ({"jobs": 0}, "'jobs'"),
        ({"task": fl.Identify(fl.Accuracy(), lowest=4)}, "cannot pick 4 of 4 groups"),
    ],
)
def test_what_cannot_be_simulated_is_said(change: dict, said: str) -> None:
    how = {"task": fl.Estimate(fl.Accuracy()), "methods": "uniform+items", "budgets": [5], "runs": 2} | change
    with pytest.raises(fl.FewlabelsError, match=said):
        simulate(POOL, LABELS, **how)


def test_a_pool_without_confidence_cannot_be_informed() -> None:
    pool = fl.read_pool({"predicted": ["a", "b", "a"]})
    with pytest.raises(fl.SpecError, match="scores or confidence"):
        simulate(pool, ["a", "a", "b"], task=fl.Estimate(fl.Accuracy()), methods="informed+items", budgets=[1], runs=2)


def test_empty_groups_are_left_out_of_the_kernels() -> None:
    pool = fl.read_pool({"predicted": ["c", "a", "c", "d"]}, classes=["a", "b", "c", "d"])
    one = method("uniform+thompson")
    case = truth(pool, ["c", "c", "c", "d"], fl.by_predicted(pool), fl.Identify(fl.Accuracy(), lowest=1), [one])
    view = layout(case)
    np.testing.assert_array_equal(view.groups, [0, 2, 3])
    np.testing.assert_array_equal(view.known.items[view.places(np.array([3, 0, 1]))], [3, 0, 1])
    np.testing.assert_array_equal(case.members, [0])
    table = simulate(pool, ["c", "c", "c", "d"], task=case.task, methods=[one], budgets=[4], runs=2)
    assert table.where(score="mrr")["mean"] == [1.0]


def test_more_labels_mean_less_error_on_the_built_in_data() -> None:
    digits = fl.load_digits()
    pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
    labels = dict(zip(digits.ids, digits.labels, strict=True))
    table = simulate(
        pool,
        labels,
        task=fl.Estimate(fl.Accuracy()),
        methods="uniform+items,uniform+thompson",
        budgets=[50, 200, 800],
        runs=40,
    )
    for name in ("uniform+items", "uniform+thompson"):
        few, some, many = table.where(method=name, score="rmse").rows()
        assert few["mean"] - some["mean"] > Z * np.hypot(few["se"], some["se"])
        assert some["mean"] - many["mean"] > Z * np.hypot(some["se"], many["se"])
