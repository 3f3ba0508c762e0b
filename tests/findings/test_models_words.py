"""What a report says about several models: one sentence never takes back what another says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import fewlabels as fl
from fewlabels.findings.finding import find
from fewlabels.report import read
from fewlabels.table import Table
from fewlabels.tasks.base import Answer
from fewlabels.tasks.best_words import headline, next_steps
from fewlabels.tasks.grounds import Ahead, Grounds, Overall
from fewlabels.web.views import dashboard

if TYPE_CHECKING:
    from fewlabels.belief import Target

BEST = fl.Best(fl.Accuracy())
NAMES = [f"i{k}" for k in range(200)]
TRUTH = ["a" if k % 2 else "b" for k in range(200)]


def wrong(first: int, last: int, said: list[str] = TRUTH) -> list[str]:
    """The answers of a model that errs on these items only."""
    return [{"a": "b", "b": "a"}[true] if first <= k < last else said[k] for k, true in enumerate(TRUTH)]


def asked(task: fl.Task, target: Target, **models: list[str]) -> fl.Assessment:
    """An assessment in which every item on which models differ has its true label."""
    pool = fl.read_pool({name: {"id": NAMES, "predicted": said} for name, said in models.items()})
    audit = fl.create(None, "which", pool, task=task, target=target, seed=1)
    truth = dict(zip(NAMES, TRUTH, strict=True))
    audit.tell({item: truth[item] for item in audit.ask(60).ids})
    return audit


def grounds(*rows: dict[str, Any], target: Target = "population", sure: float | None = None) -> Grounds:
    """An answer about models with these numbers."""
    usual = {"n": 1200, "labelled": 50, "mean": 0.8, "low": 0.5, "high": 0.9, "regret": 0.003, "as_good": True}
    usual |= {"behind": 0.04, "behind_low": -0.04, "behind_high": 0.13}
    full = [usual | row for row in rows]
    table = Table({name: [row[name] for row in full] for name in full[0]})
    answer = Answer("", rows[0]["chance"] if sure is None else sure, table, (rows[0]["group"],))
    return Grounds(
        "model", 1200, target, lambda: answer, (), Overall(0.8, 0.7, 0.9, enough=True, words="", confidence=None)
    )


def test_a_model_that_is_probably_worse_is_not_called_as_good() -> None:
    """Found as "86% sure that v1 is not right more often … The labels do not show that v1 is worse."""
    two = grounds({"group": "v2", "chance": 0.86}, {"group": "v1", "chance": 0.14})
    assert headline(BEST, two) == (
        "The best model is probably v2: we are 86% sure that v1 is not right more often. "
        "v1 is behind by 4 points (between −4 and +13 points)."
    )
    # A choice that is not as sure as the usual goal is not settled: the same report says how many labels it takes.
    assert next_steps(BEST, two, Ahead("about 110 more labels")) == (
        "Taking v2 now costs 0.3 points on average. Being surer will probably take about 110 more labels.",
    )
    three = grounds({"group": "a", "chance": 0.7}, {"group": "b", "chance": 0.2}, {"group": "c", "chance": 0.1})
    assert headline(BEST, three).endswith("By these labels, b and c may be as good.")
    sure = grounds({"group": "a", "chance": 0.97}, {"group": "b", "chance": 0.02}, {"group": "c", "chance": 0.01})
    assert headline(BEST, sure).startswith("The best model is a:")
    assert "as good" not in headline(BEST, sure)


def test_half_of_the_probability_is_never_called_probable() -> None:
    """The record caps the chance at one half: "probably m9: we are 50% sure" said both."""
    half = grounds({"group": "m9", "chance": 0.5, "regret": 0.0}, {"group": "m8", "chance": 0.03, "as_good": False})
    assert headline(BEST, half) == (
        "It is too early to name the best model. The best guess so far is m9 (chance 50%). "
        "The labels of items on which it and its rivals differ do not show more yet."
    )
    assert next_steps(BEST, half, Ahead("about 320 more labels")) == (
        "Naming the best model will probably take about 320 more labels.",
    )
    equal = grounds({"group": "a", "chance": 0.494, "regret": 0.013}, {"group": "b", "chance": 0.5, "regret": 0.013})
    assert "costs more" not in headline(BEST, equal)
    # Which model is first is found by other draws than what it costs, so a close rival can cost less by these.
    less = grounds({"group": "a", "chance": 0.21, "regret": 0.036}, {"group": "b", "chance": 0.25, "regret": 0.033})
    assert "costs more" not in headline(BEST, less)


@pytest.mark.parametrize("target", ["population", "pool"])
def test_models_that_gave_the_same_answers_share_the_first_place(target: Target) -> None:
    a = wrong(0, 20)
    found = find(asked(BEST, target, a=a, twin=a, c=wrong(40, 45, a)), draws=500)
    assert "a and twin: we are" in found.headline
    why = (
        "they gave the same answers" if target == "population" else "both are right for the same number of these items"
    )
    assert f"They are equally good: {why}. c is behind by 2" in found.headline


def test_an_exact_tie_is_settled_and_said_in_both_questions() -> None:
    """It said "It is too early to name the best model (chance over 99%)", and "differ by at most 0 points"."""
    models = {"a": wrong(0, 20), "b": wrong(20, 40)}
    found = find(asked(BEST, "pool", **models), draws=500)
    assert found.headline == "a and b are equally good: both are right for the same number of these items."
    pair = find(asked(fl.CompareModels(fl.Accuracy(), "a", "b", rope=0), "pool", **models), draws=500)
    assert pair.headline == "a and b are right for the same number of these items."


def test_where_two_answers_are_as_probable_none_is_called_most_probable() -> None:
    found = find(asked(fl.CompareModels(fl.Accuracy(), "a", "b"), "population", a=wrong(0, 20), b=wrong(20, 40)))
    assert "Most probable" not in found.headline
    assert "% that a is right less often, " in found.headline
    assert "% that it is right more often." in found.headline
    nothing = Ahead("more items: every item that could be asked about has a label")
    assert found.task.next_steps(found.grounds, nothing) == (
        "Settling the comparison will probably take more items: every item that could be asked about has a label.",
    )


def test_a_comparison_that_is_not_sure_says_probably() -> None:
    task = fl.CompareModels(fl.Accuracy(), "a", "b")
    row = {
        "group": "-",
        "chance": 0.83,
        "less": 0.83,
        "equal": 0.11,
        "more": 0.06,
        "mean": -0.04,
        "low": -0.11,
        "high": 0.02,
        "not_less": 0.17,
        "not_more": 0.94,
    }
    assert task.headline(grounds(row)).startswith("a is probably right less often than b (−4 points")
    assert "settled" not in task.next_steps(grounds(row), Ahead())[0]
    sure = grounds(row | {"chance": 0.97, "less": 0.97, "equal": 0.02, "more": 0.01})
    assert task.headline(sure).startswith("a is right less often than b")
    assert task.next_steps(sure, Ahead()) == ("The comparison is settled enough to act on.",)


def test_the_closest_rival_is_the_one_that_is_behind_by_least_if_none_has_a_chance() -> None:
    """Of two with a chance under 1%, it named the one that was behind by more."""
    rows = ({"group": "a", "chance": 0.9}, {"group": "b", "chance": 0.004, "behind": 0.026},
            {"group": "c", "chance": 0.002, "behind": 0.019})  # fmt: skip
    assert "c, the closest rival, is behind by 2" in headline(BEST, grounds(*rows, sure=0.9))


def test_a_model_that_is_at_least_not_worse_is_said_to_be() -> None:
    """Whoever wants to know whether the new one may replace the old had to add up two probabilities."""
    task = fl.CompareModels(fl.Accuracy(), "new", "old", rope=0.02)
    row = {
        "group": "-",
        "mean": 0.01,
        "low": -0.01,
        "high": 0.03,
        "chance": 0.5,
        "less": 0.03,
        "equal": 0.5,
        "more": 0.47,
    }
    said = task.headline(grounds(row | {"not_less": 0.96, "not_more": 0.5}))
    assert said.startswith("It is too early to say whether new and old differ by more than 2 points")
    end = " sure that it is not right less often than old by more than 2 points."
    assert said.endswith(f" But new is at least not worse: we are 96%{end}")
    assert task.headline(grounds(row | {"not_less": 0.9, "not_more": 0.5})).endswith(
        f" But new is probably not worse: we are 90%{end}"
    )
    assert "not worse" not in task.headline(grounds(row | {"not_less": 0.7, "not_more": 0.5}))
    other = task.headline(grounds(row | {"not_less": 0.5, "not_more": 0.9}))
    assert "But old is probably not worse: we are 90% sure that it is not right less often than new" in other


def test_half_of_the_probability_is_no_reason_to_say_that_a_model_is_better() -> None:
    """Without a label, it said "a is right more often than b, with probability 50%"."""
    pool = fl.read_pool({"a": {"predicted": wrong(0, 20)}, "b": {"predicted": wrong(20, 40)}})
    pair = fl.CompareModels(fl.Accuracy(), "a", "b", rope=0.02)
    words = fl.create(None, "pair", pool, task=pair).answer(draws=400).words
    assert re.fullmatch(r"a may be right .* b \(rope ±2 points\), with probability \d+%\.", words)
    halves = fl.read_pool({"a": {"predicted": wrong(0, 20), "half": [k < 30 for k in range(200)]},
                           "b": {"predicted": wrong(20, 40)}})  # fmt: skip
    words = fl.create(None, "pair", halves, "column:half", task=pair).answer(draws=400).words
    assert words.startswith("False: a may be right ")
    assert "; True: a may be right " in words


def test_the_best_guess_of_every_group_is_named() -> None:
    """It said that "all of these" are right with a chance of 46%, and named none of them."""
    rows = [{"group": f"{where}: m{k}", "chance": c} for where in ("de", "en") for k, c in ((1, 0.5), (2, 0.2))]
    rows[2]["chance"] = 0.9
    found = grounds(*rows, sure=0.46)
    answer = Answer("", 0.46, found.answer.table, ("de: m1", "en: m1"))
    found = Grounds("model", 1200, "population", lambda: answer, (), found.overall)
    assert headline(BEST, found) == (
        "The best model of each group: en: m1 (90%). In these groups it is not clear yet; the best guesses are "
        "de: m1 (50%). All of this is right with a probability of 46%."
    )


def test_how_labels_of_a_comparison_were_chosen_and_nothing_of_that_without_any() -> None:
    models = {"a": wrong(0, 20), "b": wrong(20, 40)}
    pair = fl.CompareModels(fl.Accuracy(), "a", "b")
    chosen = read(asked(pair, "pool", **models), foresee=False, draws=200).chosen
    assert chosen[0].startswith("Items were taken at random from those on which a and b differ: ")
    assert (
        read(asked(BEST, "pool", **models), foresee=False, draws=200)
        .chosen[0]
        .startswith("Each label was drawn by lot")
    )
    pool = fl.read_pool({name: {"id": NAMES, "predicted": said} for name, said in models.items()})
    assert read(fl.create(None, "new", pool, task=pair)).chosen == ("No item has a label yet.",)


def test_the_better_model_of_a_comparison_comes_first() -> None:
    pair = fl.CompareModels(fl.Accuracy(), "bad", "good")
    found = find(asked(pair, "pool", bad=wrong(0, 30), good=wrong(30, 35)), draws=200)
    assert [row.group for row in found.groups] == ["good", "bad"]


@pytest.mark.parametrize("pair", [None, ("a", "twin")])
def test_models_that_never_differ_are_refused_before_the_first_label_and_by_a_plan(
    pair: tuple[str, str] | None,
) -> None:
    """A plan called it "a pool without items"; two of three that never differ could be compared, without an end."""
    models = {"a": wrong(0, 20), "twin": wrong(0, 20)} | ({} if pair is None else {"c": wrong(5, 9)})
    pool = fl.read_pool({name: {"id": NAMES, "predicted": said} for name, said in models.items()})
    task = BEST if pair is None else fl.CompareModels(fl.Accuracy(), *pair)
    which = "all models give the same answer" if pair is None else "the two models give the same answer"
    with pytest.raises(fl.FewlabelsError, match=which):
        fl.create(None, "which", pool, task=task)
    with pytest.raises(fl.FewlabelsError, match=which):
        fl.plan(pool, task=task, budgets=[20])


def test_how_far_models_are_behind_is_in_report_and_dashboard() -> None:
    """How often each is right is a rough guess; the differences and chances, which are known, were left to the plot."""
    audit = asked(BEST, "pool", good=wrong(30, 35), bad=wrong(0, 30))
    report = read(audit, foresee=False, draws=200)
    assert "| chance | behind the first |" in report.markdown()
    assert re.search(r"\| bad \| .* \| under 1% \| 12.5 points \(\+?12.5 to \+?12.5\) \|", report.markdown())
    assert ">behind the first<" in re.sub(r"<[^>]*>(?=behind the first)", ">", report.html())
    columns = dashboard(audit).groups
    table = {column.title: column.cells for column in columns}
    on_a_phone = [column.title for column in columns if not column.minor]
    assert on_a_phone == ["Model", "Estimate", "95% range", "Chance", "Behind"]
    assert table["Model"] == ("good", "bad")
    assert table["Chance"] == ("over 99%", "under 1%")
    assert table["Behind"] == ("0.0 points", "12.5 points")


@pytest.mark.parametrize("task", [BEST, fl.CompareModels(fl.Accuracy(), "new", "old", rope=0)])
def test_models_too_close_for_a_pool_are_called_so_and_where_to_ask_about_these_items(task: fl.Task) -> None:
    old = wrong(0, 12, wrong(30, 40))
    close = asked(task, "population", old=old, new=wrong(12, 22, wrong(30, 40)))
    far = asked(task, "population", old=old, new=wrong(30, 40))
    exact = asked(task, "pool", old=old, new=wrong(12, 22, wrong(30, 40)))
    words = "Even with labels of all 200 items, the answer would hardly be 95% sure"
    here = [doubt for doubt in find(close).doubts if doubt.startswith(words)]
    assert len(here) == 1
    assert "begin with the target 'pool'" in here[0]
    assert words in " ".join(dashboard(close).finding.doubts)
    assert not any(words in doubt for audit in (far, exact) for doubt in find(audit).doubts)
    assert (find(exact).answer.probability or 0) > 0.95


def test_how_far_the_last_of_several_is_behind_is_called_rough() -> None:
    """On one pool such an interval held in half of the runs with 20 labels; with two models every label is about it."""
    words = "How far a model is behind is a rough guess too if it is more than 20 points"
    good, near, bad = wrong(30, 35), wrong(0, 8), wrong(60, 160)

    def doubts(**models: list[str]) -> str:
        pool = fl.read_pool({name: {"id": NAMES, "predicted": said} for name, said in models.items()})
        audit = fl.create(None, "which", pool, task=BEST)
        truth = wrong(0, 0)
        audit.tell({item: truth[NAMES.index(item)] for item in audit.ask(40).ids})
        return " ".join(find(audit, draws=200).doubts)

    assert words in doubts(good=good, near=near, bad=bad)
    assert words not in doubts(good=good, bad=bad)
    assert words not in doubts(good=good, near=near, third=wrong(40, 50))
