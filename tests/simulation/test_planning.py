"""Plans and forecasts: numbers that come true, and what is said of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.errors import InputError
from fewlabels.outcomes import Outcomes
from fewlabels.planning import asking, forecast, plan
from fewlabels.planning.doubtful import worth_of_label
from fewlabels.planning.words import only_these
from fewlabels.planning.worlds import draw_world
from fewlabels.policies.step import Queue
from fewlabels.stopping import Stop
from tests.support.contracts import GROUPINGS, TASKS
from tests.support.planning import ESTIMATE, LOWEST, TAIL, Z, blank, cells_of, pool_of
from tests.support.pools import zoo

if TYPE_CHECKING:
    from pathlib import Path

    from fewlabels.tasks import Task

# --- plans


@pytest.mark.slow
def test_under_its_own_prior_a_plan_keeps_what_it_promises() -> None:
    # Worlds from the assessment's own prior: among those that stop at 0.9, at least 90 % are right, though the
    # probability was looked at again and again; and at a fixed budget the stated probability is right on average.
    stop, runs = Stop(probability=0.9), 120
    flat = fl.Uniform()
    made = plan(pool_of(3, 100), task=LOWEST, prior=flat, worlds=flat, stop=stop, budgets=[10, 30], runs=runs, seed=4)
    assert made.stopped > 80
    assert made.honesty is not None
    assert made.honesty * made.stopped >= stats.binom.ppf(TAIL, made.stopped, 0.9)
    for stated, right in zip(made.table["probability"], made.table["right"], strict=True):
        assert abs(stated - right) < Z * 0.5 / np.sqrt(runs)
    low, high = (stats.binom.ppf(q, runs, 0.95) / runs for q in (TAIL, 1 - TAIL))
    assert all(low <= held <= high for held in made.table["held"])
    assert made.table["width"][0] > made.table["width"][1]
    assert made.table["reached"][0] < made.table["reached"][1]
    assert made.recommended is not None


def test_a_prior_that_is_too_sure_of_the_average_is_found_out() -> None:
    # A hundred groups under the uniform prior: their average is sure to be near a half before there is a label.
    made = plan(pool_of(100, 20), prior=fl.Uniform(), stop=Stop(overall=0.15), expect=0.9, budgets=[600], runs=10)
    assert made.recommended is None
    assert made.honesty == 0
    assert "the rule would stop too soon" in made.words
    assert "Learned() may do better" in made.words


def test_a_budget_that_is_never_enough_is_said_to_be() -> None:
    made = plan(pool_of(2, 200), stop=Stop(width=0.01), budgets=[10, 20], runs=5)
    assert made.recommended is None
    assert re.search(r"No budget can be recommended: with 80 labels .* in none of the simulated worlds", made.words)
    assert re.search(r"With 20 labels, the interval of the average would be about \d+(\.\d)? points wide", made.words)
    assert "A simulated world is one way in which the true labels of all items could be." in made.words


def test_what_labels_buy_is_said_where_no_budget_is_enough() -> None:
    # Three of six groups without a difference to find: no budget is enough, and what 40 labels find is told.
    two = fl.Identify(fl.Accuracy(), lowest=3)
    made = plan(pool_of(6, 20), task=two, stop=Stop(probability=0.999), budgets=[4, 40], runs=3, expect=0.9)
    assert made.recommended is None
    found = 3 * made.table["found"][1]
    assert f"With 40 labels, about {found:.1f} of the 3 groups looked for would be named on average." in made.words


@pytest.mark.slow
def test_a_recommended_budget_is_enough() -> None:
    # The interval of an average of 0.9 is 0.1 wide after about 4·1.96²·0.09/0.1² = 138 labels drawn at random.
    made = plan(pool_of(2, 2000), policy=fl.UniformItems(), expect=0.9, budgets=[60, 220], runs=25)
    assert not made.is_set
    assert made.recommended is not None
    assert 110 < made.recommended < 200  # enough in 80% of the worlds, some of which are below 0.88
    assert made.table["reached"][0] < 0.1
    assert made.table["reached"][1] == 1
    assert made.table["overall"][1] < 0.1 < made.table["overall"][0]


@pytest.mark.slow
def test_a_plan_is_the_same_for_the_same_seed_and_tells_its_progress() -> None:
    pool, calls = pool_of(3, 50), []
    one, two, other = (
        plan(pool, task=LOWEST, budgets=[20, 1000], runs=4, seed=seed, progress=lambda *now: calls.append(now))
        for seed in (1, 1, 2)
    )
    assert one.to_json() == two.to_json() != other.to_json()
    assert calls[:4] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert one.table["labels"] == [20, 150]  # no more than there are items


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"budgets": []}, "needs at least one budget"),
        ({"budgets": [0]}, "Each of the 'budgets' of plan() must be a whole number of at least 1. Got 0"),
        ({"expect": 90}, "'expect' of plan() must lie between 0 and 1"),
        ({"runs": 0}, "'runs' of plan() must be a whole number of at least 1"),
    ],
)
def test_a_plan_says_what_is_wrong(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        plan(pool_of(2, 5), **given)  # type: ignore[arg-type]


# A third of them before every merge: each pair of a prior and a target, each kind of task.
@pytest.mark.slow
@pytest.mark.parametrize(
    "i",
    [pytest.param(i, marks=pytest.mark.long if (i // 3) % 3 else ()) for i in range(len(TASKS))],
    ids=lambda i: f"{TASKS[i][0]!r}"[:60],
)
def test_every_task_can_be_planned_and_foreseen(i: int) -> None:
    task, grouping = TASKS[i]
    known = zoo()
    groups = GROUPINGS[grouping](known.pool)
    prior, target = ((fl.Uniform(), "pool"), (fl.Learned(), "population"), (fl.Learned(), "pool"))[i % 3]
    made = plan(known.pool, groups, task=task, prior=prior, target=target, budgets=[2, 4], runs=1)  # type: ignore[arg-type]
    numbers = [value for name, column in made.table.columns.items() if name != "labels" for value in column]
    assert np.isfinite(numbers).all()
    audit = fl.create(None, "zoo", known.pool, groups, task=task, prior=prior, target=target)  # type: ignore[arg-type]
    audit.tell(known.labels(audit.ask(4).ids))
    assert forecast(audit, runs=1, most=5).words


@pytest.mark.slow
def test_planning_needs_no_compiler() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import fewlabels as fl\n"
        "from fewlabels.planning import plan\n"
        "print(len(plan(fl.read_pool({'predicted': ['a', 'b'] * 20}), budgets=[5], runs=1).table))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


# --- forecasts


@pytest.mark.slow
def test_forecasts_come_true_in_eight_of_ten_cases() -> None:
    # Three groups under the uniform prior, which the truth comes from too; nine worlds, whose least and greatest hold
    # the next one in 80 % of cases. The label count is found by going on with the assessment itself, three at a time.
    pool = pool_of(3, 100)
    cells, stop = cells_of(pool), Stop(width=0.45)
    hits, ratios = [], []
    for seed in range(24):
        rng = np.random.default_rng([seed, 1])
        world = draw_world(blank(fl.Uniform(), cells), cells, Outcomes.none(cells), rng)
        truth = [pool.classes[k] if w == 0 else "other" for k, w in zip(pool.predicted, world.outcome, strict=True)]
        how = {"prior": fl.Uniform(), "policy": fl.UniformItems()}
        audit = fl.create(None, "come true", pool, task=LOWEST, stop=stop, seed=seed, **how)  # type: ignore[arg-type]
        audit.tell({i: truth[int(i)] for i in audit.ask(15).ids})
        seen = forecast(audit, runs=9, seed=seed, worlds=fl.Uniform())
        assert seen.low is not None
        assert seen.high is not None
        assert seen.more is not None
        more = 0
        while more < len(pool) and not audit.standing().reached:
            audit.tell({i: truth[int(i)] for i in audit.ask(3).ids})
            more += 3
        audit.close()
        hits.append(seen.low <= more <= seen.high + 2)  # the last three labels may be two too many
        ratios.append(np.log(seen.more / (more - 1)))
    low, high = (stats.binom.ppf(q, len(hits), 0.8) for q in (TAIL, 1 - TAIL))
    assert low <= sum(hits) <= high
    assert abs(np.mean(ratios)) < Z * np.std(ratios, ddof=1) / np.sqrt(len(ratios))


def asked(task: Task, labels: int, stop: Stop | None = None, items: int = 50) -> fl.Assessment:
    """An assessment whose labels are right three times of four."""
    pool = pool_of(3, items)
    audit = fl.create(None, "asked", pool, task=task, stop=stop)
    if labels:
        audit.tell({i: pool.classes[int(i) % 3] if int(i) % 4 else "other" for i in audit.ask(labels).ids})
    return audit


@pytest.mark.slow
def test_a_forecast_is_the_same_for_the_same_seed_and_counts_what_is_pending() -> None:
    audit = asked(ESTIMATE, 10, Stop(overall=0.3))
    one, two, other = (forecast(audit, runs=40, seed=seed) for seed in (1, 1, 2))
    assert one == two != other
    assert one.more is not None
    assert one.is_set
    audit.ask(8)
    waiting = forecast(audit, runs=40, seed=1)
    assert waiting.more is not None
    # The eight are still needed: they were asked for, not answered. Both medians have an error of about 2.
    assert abs(waiting.more - one.more) <= 6


def test_what_needs_no_simulation_is_said_at_once() -> None:
    met = forecast(asked(ESTIMATE, 10, Stop(labels=10)))
    assert (met.more, met.words) == (0, "The budget is used up: 10 of 10 labels.")
    budget = forecast(asked(ESTIMATE, 10, Stop(labels=25)))
    assert (budget.more, budget.low, budget.high) == (15, 15, 15)
    assert budget.words == "15 more labels use up the budget."
    short = forecast(asked(ESTIMATE, 10, Stop(labels=25), items=5))
    assert short.more is None
    assert short.words == "Only 5 more items can be asked about, fewer than the budget of 25 labels has left."
    over = forecast(asked(ESTIMATE, 15, Stop(width=0.01), items=5))
    goal = "The goal, that every interval is at most 1 point wide, is not reached."
    assert over.words == f"Nothing is left to ask. {goal} {only_these()}"
    spent = forecast(asked(ESTIMATE, 15, Stop(labels=40), items=5))
    assert spent.words == "Nothing is left to ask. The goal, 40 labels, is not reached."


def test_a_forecast_ends_with_the_budget() -> None:
    seen = forecast(asked(ESTIMATE, 10, Stop(labels=30, width=0.05)), runs=9)
    assert (seen.more, seen.high, seen.share, seen.most) == (None, None, 0, 20)
    assert seen.words == (
        "What is left of the budget (20 labels) will probably not be enough: "
        "every interval is at most 5 points wide by then in none of the simulated worlds."
    )
    last = forecast(asked(ESTIMATE, 10, Stop(labels=11, width=0.05)), runs=2)
    assert last.words.startswith("What is left of the budget (1 label) will probably not be enough: ")
    assert forecast(asked(ESTIMATE, 10, Stop(labels=11))).words == "1 more label uses up the budget."
    far = forecast(asked(ESTIMATE, 10, Stop(labels=100, width=0.05)), runs=2, most=5)
    assert far.words.startswith("Probably more than 5 more labels until ")


@pytest.mark.slow
@pytest.mark.parametrize(("task", "goal"), [(LOWEST, {"probability": 0.95}), (ESTIMATE, {"width": 0.5})])
def test_without_a_rule_a_usual_one_is_foreseen_and_said_to_be_none(task: Task, goal: dict[str, float]) -> None:
    seen = forecast(asked(task, 10), runs=9)
    assert seen.stop.rules == goal
    assert not seen.is_set
    assert re.match(r"No stopping rule is set\. (Probably |What is left to ask \(140 items\) )", seen.words)
    assert seen.to_json()["stop"] == goal


def test_a_usual_rule_that_is_met_is_not_taken_for_the_users() -> None:
    pool = pool_of(2, 60)
    audit = fl.create(None, "clear", pool, task=LOWEST, policy=fl.UniformItems())
    audit.tell(dict.fromkeys(audit.ask(60).ids, "c0"))
    seen = forecast(audit)
    assert (seen.more, seen.runs, seen.is_set) == (0, 0, False)
    assert seen.words.startswith(
        "No stopping rule is set. By a usual rule the labels are enough: the answer is right with "
    )


# --- the command


def test_the_command_plans_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "predictions.csv"
    file.write_text("id,predicted\n" + "".join(f"{i},{'cat' if i % 3 else 'dog'}\n" for i in range(90)))
    run = CliRunner()
    options = ["plan", str(file), "--compare", "cat,dog", "--budgets", "5,20", "--expect", "0.8", "--runs", "2"]
    made = json.loads(run.invoke(cli, [*options, "--stop-probability", "0.8", "--json"]).stdout)
    assert made["stop"] == {"probability": 0.8}
    assert [row["labels"] for row in made["rows"]] == [5, 20]
    assert made["settings"]["expect"] == 0.8
    shown = run.invoke(cli, options)
    assert shown.exit_code == 0
    head, first, *_ = shown.stdout.splitlines()
    assert head.split() == ["labels", "width", "widest", "rmse", "probability", "right", "reached"]
    assert re.fullmatch(r" *5( +\d+(\.\d)? points){3}( +\d+(\.\d)?%){3}", first)
    assert "moved to an accuracy of 80% over the pool as you expect" in shown.stderr
    for wrong, said in (
        (["--budgets", "few"], "not a list of label counts"),
        (["--stop-overall", "0.1"], "two groups only"),
    ):
        refused = run.invoke(cli, [*options, *wrong])
        assert refused.exit_code == 2
        assert said in refused.stderr


@pytest.mark.slow
def test_many_items_in_a_step_change_the_forecast_little(monkeypatch) -> None:
    rng = np.random.default_rng(5)
    right = np.where(np.arange(9_000) % 3 == 0, 0.9, 0.6)
    pool = fl.read_pool({"predicted": [f"class {i % 3}" for i in range(9_000)]})
    audit = fl.create(None, "many", pool, stop=Stop(width=0.08), prior=fl.Uniform(), policy=fl.Thompson(), seed=1)
    ids = audit.ask(1_000).ids
    items = pool.positions(ids)
    true = np.where(rng.random(1_000) < right[items], pool.predicted[items], (pool.predicted[items] + 1) % 3)
    audit.tell({item: pool.classes[k] for item, k in zip(ids, true.tolist(), strict=True)})
    found = []
    for steps in (10**9, 5):  # each item in a step of its own, and ten in each
        monkeypatch.setattr(asking, "_STEPS", steps)
        found.append(forecast(audit, runs=30, worlds=fl.Uniform()))
    assert found[0].share == found[1].share == 1
    # The medians of 30 worlds: their spread is about a fifth of the middle 80%.
    spread = found[0].high - found[0].low
    assert abs(found[0].more - found[1].more) < 0.8 * spread
    assert found[0].more > 400


def test_many_items_of_a_group_are_taken_at_random() -> None:
    partition = fl.by_predicted(fl.read_pool({"predicted": ["a"] * 12 + ["b"] * 3}))
    rng, runs = np.random.default_rng(2), 3_000
    count = np.zeros(15)
    for _ in range(runs):
        queue = Queue.of(partition, np.ones(2, dtype=bool), [np.array([2, 13])])
        first, second = queue.take_many(0, 4, rng), queue.take_many(0, 5, rng)
        left = [queue.take(0, rng) for _ in range(queue.room[0])]
        assert sorted([*first, *second, *left]) == [0, 1, *range(3, 12)]
        assert len(queue.take_many(0, 3, rng)) == 0
        assert sorted(queue.take_many(1, 9, rng).tolist()) == [12, 14]
        count[second] += 1
    expected = runs * 5 / 11
    assert np.abs(count[[0, 1, *range(3, 12)]] - expected).max() < 5 * np.sqrt(expected * 6 / 11)


def test_a_label_that_may_be_wrong_is_worth_its_information() -> None:
    """Against the slope of the log likelihood, counted out over what a label can say."""
    for right, wrong, classes in ((0.9, 0.05, 10), (0.6, 0.2, 2), (0.97, 0.1, 3)):
        step = 1e-5

        def says(theta: float, wrong: float = wrong, classes: int = classes) -> np.ndarray:
            agrees = theta * (1 - wrong) + (1 - theta) * wrong / (classes - 1)
            return np.array([agrees, 1 - agrees])

        slope = (np.log(says(right + step)) - np.log(says(right - step))) / (2 * step)
        information = float(says(right) @ slope**2)
        found = worth_of_label(np.array([right]), wrong, classes)
        assert found == pytest.approx(information * right * (1 - right), rel=1e-6)


@pytest.mark.slow
def test_labels_that_may_be_wrong_take_more_of_them() -> None:
    pool = fl.read_pool({"predicted": ["a", "b"] * 1000})
    plain, doubtful = (
        plan(pool, stop=fl.Stop(overall=0.1), expect=0.85, runs=24, budgets=(100, 400), labels_right=right)
        for right in (None, 0.85)
    )
    assert plain.recommended is not None
    assert doubtful.recommended is not None
    # 0.85 right and 0.15 wrong: a label is worth 0.32 of a right one.
    assert 2 < doubtful.recommended / plain.recommended < 5
    assert "15% of the labels are wrong" in doubtful.words
    assert "labels of which" not in plain.words


@pytest.mark.slow
def test_a_forecast_knows_that_labels_may_be_wrong() -> None:
    rng = np.random.default_rng(4)
    pool = fl.read_pool({"predicted": ["a", "b"] * 600})
    more = []
    for right in (None, 0.85):
        audit = fl.create(None, f"{right}", pool, labels_right=right, policy=fl.UniformItems())
        for _ in range(2):
            batch = audit.ask(60, annotator="ann").ids
            guess = [pool.classes[k] for k in pool.predicted[pool.positions(batch)]]
            other = {"a": "b", "b": "a"}
            told = {i: g if rng.random() < 0.8 else other[g] for i, g in zip(batch, guess, strict=True)}
            audit.tell(told, annotator="ann")
        found = forecast(audit, stop=fl.Stop(overall=0.08), runs=9)
        more.append(found.more or found.most)
    assert more[1] > 1.5 * more[0]


def test_labels_that_may_be_wrong_make_no_number_exact() -> None:
    pool = fl.read_pool({"predicted": ["a", "b"] * 20})
    stop = fl.Stop(width=0.02)
    sure, doubted = (fl.plan(pool, budgets=[20, 40], stop=stop, runs=4, noisy=noisy) for noisy in (False, True))
    assert "makes every number exact" in sure.words
    assert "makes every number exact" not in doubted.words
    assert "assumes that 5% of the labels are wrong" in doubted.words


def test_a_plan_for_one_group_has_one_interval() -> None:
    rng = np.random.default_rng(4)
    pool = fl.read_pool({"predicted": ["a", "b"] * 300, "confidence": rng.uniform(0.6, 1, 600)}, classes=["a", "b"])
    made = fl.plan(pool, fl.whole(pool), budgets=(20, 60), runs=6)
    assert {*made.table.columns} == {"labels", "overall", "held", "rmse", "reached"}
    assert "that of a group" not in made.sentence
