"""The simulator: methods by name, scores against hand-made ones, kernels against the library's own loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.parts import registered
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.methods import Method, method, methods_from
from fewlabels.simulation.order import asker, asker_with_anchors, is_compiled
from fewlabels.simulation.parallel import run_generator
from fewlabels.simulation.scorer import scorer_of
from fewlabels.simulation.truth import item_classes
from tests.support.studies import CLASSES, GROUPS, LABELS, POOL, TASKS, Z, everything, truth_of

WITHOUT_KERNEL = {"f1", "recall", "compare-f1", "ece", "money"}

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


# A third of them before every merge, with every task and every policy among them.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "policy", "target"),
    [pytest.param(*each, marks=pytest.mark.long if i % 3 else ()) for i, each in enumerate(KERNELS)],
)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "runs"), [("informed+greedy+anchor:0.3", 300), ("learned+boundary+pool+anchor:0.3", 80)]
)
def test_anchors_are_any_of_the_items_left(who: str, runs: int) -> None:
    """Their share is the one asked for, and the first one of a run is in a group in proportion to its free items."""
    one = method(who)
    case = truth_of("lowest", one)
    ask, group = asker_with_anchors(case, one), case.cells.partition.group
    drawn, expected, seen, labels = 0, np.zeros(len(case.room)), np.zeros(len(case.room)), 24
    for run in range(runs):
        items, anchor = ask(run_generator(5, run), labels)
        assert len(set(items.tolist())) == labels == len(anchor)
        drawn += int(anchor.sum())
        if anchor.any():
            first = int(anchor.argmax())
            free = case.room - np.bincount(group[items[:first]], minlength=len(case.room))
            expected += free / free.sum()
            seen[group[items[first]]] += 1
    assert stats.binomtest(drawn, runs * labels, 0.3).pvalue > 1e-4
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


def test_labels_of_a_series_are_those_of_its_index() -> None:
    """A frame that was sorted is not in the order of the pool, and its classes may have become floats."""
    pool = fl.read_pool({"id": ["a", "b", "c"], "predicted": [0.0, 1.0, 1.0]}, classes=[0.0, 1.0])
    series = pd.Series([1.0, 1.0, 0.0], index=["c", "b", "a"])
    assert item_classes(pool, series).tolist() == [0, 1, 1]  # type: ignore[arg-type]
    assert item_classes(pool, series.reset_index(drop=True)).tolist() == [1, 1, 0]  # type: ignore[arg-type]
    assert item_classes(pool, ["0.0", "1", "1.0"]).tolist() == [0, 1, 1]
    numbered = fl.read_pool({"id": [7, 8], "predicted": ["ant", "bee"]})
    assert item_classes(numbered, {8.0: "ant", 7: "bee"}).tolist() == [1, 0]  # type: ignore[dict-item]
