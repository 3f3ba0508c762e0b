"""One log for several models: the question is about one of them, and its labels are about all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.errors import InputError, PoolChangedError, SpecError
from fewlabels.findings import phrases
from fewlabels.findings.finding import find
from fewlabels.findings.outlook import is_quick, more_labels, outlook
from fewlabels.findings.tables import readable
from fewlabels.planning import forecast
from fewlabels.planning.asking import Game
from fewlabels.planning.subsampled import fitting, has_room, thinned
from fewlabels.plots.models import ModelRow, Models
from fewlabels.spec import Spec
from fewlabels.table import Table
from fewlabels.tasks import Answer
from fewlabels.tasks.models import rows_of

if TYPE_CHECKING:
    from fewlabels.belief import Target


def made(items=400, seed=3):
    """Two models of three classes on the same items, with the labels: old is right in about 70%, new in about 85%."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 3, items)
    old = np.where(rng.random(items) < 0.7, true, (true + 1) % 3)
    new = np.where(rng.random(items) < 0.85, true, (true + 2) % 3)
    names = ["a", "b", "c"]
    arrays = {
        "predicted": np.column_stack([old, new]),
        "models": ["old", "new"],
        "classes": names,
        "half": [f"h{i % 2}" for i in range(items)],
    }
    pool = fl.read_pool(arrays)
    labels = dict(zip(pool.ids.to_pylist(), [names[k] for k in true], strict=True))
    return pool, labels


def test_a_task_about_one_model_must_say_which():
    pool, _ = made()
    with pytest.raises(
        SpecError, match=r"the pool has 2 models, and Estimate is about one. Say which, with model=: 'old', 'new'"
    ):
        fl.create(None, "x", pool)
    with pytest.raises(InputError, match="no model 'newer'"):
        fl.create(None, "x", pool, model="newer")
    with pytest.raises(InputError, match="one model without a name"):
        fl.create(None, "x", pool.of("new"), model="new")


def test_an_assessment_of_one_model_is_that_of_its_pool():
    pool, labels = made()
    one = fl.create(None, "one", pool, model="new", seed=5)
    alone = fl.create(None, "one", pool.of("new"), seed=5)
    for audit in (one, alone):
        for _ in range(5):
            audit.tell({item: labels[item] for item in audit.ask(10).ids})
    assert one.labels() == alone.labels()
    assert one.estimates().columns == alone.estimates().columns
    assert one.estimates(model="new").columns == one.estimates().columns
    assert one.answer().words == alone.answer().words


def test_labels_asked_about_one_model_are_about_the_other_too(tmp_path):
    pool, labels = made()
    audit = fl.create(tmp_path / "a.db", "one", pool, model="new", seed=5)
    for _ in range(8):
        audit.tell({item: labels[item] for item in audit.ask(10).ids})
    audit.close()
    audit = fl.load(tmp_path / "a.db", "one", pool=pool)
    with pytest.raises(PoolChangedError, match="the models were 'old', 'new' and are one without a name"):
        fl.load(tmp_path / "a.db", "one", pool=pool.of("new"))
    whole = fl.whole(audit.pool)
    for model, truth in (("old", 0.7), ("new", 0.85)):
        (row,) = audit.estimates(groups=whole, model=model).rows()
        assert row["labelled"] == 80
        assert row["low"] < truth < row["high"]
        assert row["high"] - row["low"] < 0.3
    by_old = audit.estimates(model="old")
    assert by_old["n"] == np.bincount(pool.answers[:, 0]).tolist()
    assert sum(by_old["labelled"]) == 80
    answer = audit.answer(fl.Certify(fl.Accuracy(), at_least=0.5), whole, model="old")
    assert answer.table["group"] == ["all"]


def test_all_items_labelled_give_every_model_its_own_value():
    pool, labels = made(items=90)
    audit = fl.create(None, "all", pool, fl.by_column(pool, "half"), model="old", target="pool", prior=fl.Uniform())
    audit.tell({item: labels[item] for item in audit.ask(90).ids})
    true = pool.class_positions([labels[item] for item in pool.ids.to_pylist()])
    for h, model in enumerate(pool.models):
        right = pool.answers[:, h] == true
        expected = [right[::2].mean(), right[1::2].mean()]
        np.testing.assert_allclose(audit.estimates(model=model)["mean"], expected, atol=1e-9)


def test_a_promise_is_about_the_groups_in_which_items_were_asked():
    pool, labels = made()
    audit = fl.create(None, "one", pool, model="new")
    audit.tell({item: labels[item] for item in audit.ask(20).ids})
    audit.estimates(guarantee="anytime")
    with pytest.raises(SpecError, match="in the groups in which items were asked for"):
        audit.estimates(guarantee="anytime", model="old")
    by_half = fl.create(None, "half", pool, fl.by_column(pool, "half"), model="new")
    by_half.tell({item: labels[item] for item in by_half.ask(20).ids})
    assert by_half.estimates(guarantee="anytime", model="old")["group"] == ["h0", "h1"]


def test_the_definition_names_the_model_only_if_there_is_one():
    pool, _ = made(20)
    spec = fl.create(None, "one", pool, model="new").spec
    assert Spec.from_json(spec.to_json()) == spec
    assert spec.to_json()["model"] == "new"
    assert "model" not in fl.create(None, "one", pool.of("new")).spec.to_json()


@pytest.mark.slow
def test_one_model_is_read_from_labels_that_were_asked_about_all():
    """The labels are where the models differ, so counting right ones would be far off."""
    pool, labels = made(items=1000)
    audit = fl.create(None, "best", pool, task=fl.Best(fl.Accuracy()), target="pool")
    for _ in range(10):
        audit.tell({item: labels[item] for item in audit.ask(10).ids})
    true = pool.class_positions([labels[item] for item in pool.ids.to_pylist()])
    right = (pool.answers == true[:, None]).mean(axis=0)
    asked = pool.positions(audit.labels())
    assert (pool.answers[asked, 0] != pool.answers[asked, 1]).mean() > 0.9
    own = dict(zip(audit.estimates()["group"], audit.estimates()["mean"], strict=True))
    for h, model in enumerate(pool.models):
        (row,) = audit.estimates(model=model).rows()
        assert row["low"] - 0.02 < right[h] < row["high"] + 0.02
        assert row["mean"] == pytest.approx(own[model], abs=0.02)
        halves = audit.estimates(groups=fl.by_column(pool, "half"), model=model)
        assert halves["group"] == ["h0", "h1"]
        assert sum(halves["labelled"]) == 100
        assert np.mean(halves["mean"]) == pytest.approx(row["mean"], abs=0.05)
    f1 = audit.estimates(metric=fl.F1(), model="new")
    assert f1["labelled"] == [100]
    assert 0 < f1["low"][0] < f1["high"][0] < 1
    with pytest.raises(SpecError, match="this question is about one of them"):
        audit.estimates(metric=fl.F1())


def test_rules_are_about_one_model():
    pool, _ = made(items=40)
    with pytest.raises(SpecError, match=r"a rule is about one model. Begin an assessment of that model, with model="):
        fl.create(None, "best", pool, task=fl.Best(fl.Accuracy())).check("accuracy >= 0.5")
    audit = fl.create(None, "new", pool, fl.whole(pool.of("new")), model="new", policy=fl.UniformItems())
    assert audit.check("accuracy >= 0.5").verdict == "open"
    ids = audit.ask(30).ids
    answers = {item: pool.classes[pool.of("old").predicted[pool.positions([item])[0]]] for item in ids}
    audit.tell(answers)  # the old model is always right
    found = audit.check("accuracy >= 0.5", model="old", overall=True)
    assert found.verdict == "pass"
    assert found.table["right"] == [30]


@pytest.mark.slow
def test_a_forecast_is_made_where_it_takes_seconds():
    pool, labels = made(items=100)
    audit = fl.create(None, "best", pool, task=fl.Best(fl.Accuracy()), stop=fl.Stop(probability=0.999))
    audit.tell({item: labels[item] for item in audit.ask(5).ids})
    assert is_quick(audit)
    assert outlook(audit, "begin with --target pool")


@pytest.mark.slow
def test_a_forecast_about_many_items_is_of_a_part_of_them():
    rng = np.random.default_rng(1)
    true = rng.integers(0, 2, 8_000)
    said = np.where(rng.random((8_000, 2)) < (0.85, 0.7), true[:, None], 1 - true[:, None])
    ids = [f"i{k:04d}" for k in range(8_000)]
    arrays = {"id": ids, "predicted": said, "models": ["x", "y"], "classes": ["a", "b"]}
    audit = fl.create(None, "best", fl.read_pool(arrays), task=fl.Best(fl.Accuracy()), stop=fl.Stop(probability=0.99))
    audit.tell({item: "ab"[true[int(item[1:])]] for item in audit.ask(12).ids})
    cells = audit.spec.cells(audit.pool, audit.groups)
    known = audit.spec.task.metric.outcomes(audit.pool, cells, *audit.labelled_items())
    game, room = thinned(Game(audit.spec, cells, known), np.random.default_rng(0))
    part = rows_of(game.cells).said
    differ = (part != part[:, :1]).any(axis=1)
    assert (game.known.counts == known.counts).all()
    assert (part[game.known.items] == rows_of(cells).said[known.items]).all()
    assert differ.sum() == pytest.approx(fitting(2), rel=0.1)
    assert differ.mean() == pytest.approx((said[:, 0] != said[:, 1]).mean(), abs=4 * 0.5 / np.sqrt(len(differ)))
    assert is_quick(audit)
    found = forecast(audit, runs=1)
    assert found.most == room < 1_000
    assert not has_room(8_000, 8_000, 2, labels=2_000)


def test_a_share_of_anchors_asks_where_the_models_agree_too():
    """By default no label goes there; with anchors some do, and how often each is right is known far better."""
    pool, labels = made(items=600)
    agree = dict(zip(pool.ids.to_pylist(), (pool.answers[:, 0] == pool.answers[:, 1]).tolist(), strict=True))
    widths = {}
    for share in (0.0, 0.5):
        audit = fl.create(None, "best", pool, task=fl.Best(fl.Accuracy()), target="pool", anchor=share)
        asked = audit.ask(120).ids
        audit.tell({item: labels[item] for item in asked})
        there = sum(agree[item] for item in asked)
        # 60 anchors, of which as many as of all items are agreed (61%); four standard deviations.
        assert there == 0 if share == 0 else 20 <= there <= 54
        assert ("drawn at random from all items" in phrases.policy(audit)) == (share > 0)
        row = next(audit.answer().table.rows())
        widths[share] = row["high"] - row["low"]
        rest = audit.ask(600).ids  # in the end everything on which they differ is asked about
        assert {item for item, same in agree.items() if not same} <= {*asked, *rest}
    assert widths[0.5] < widths[0.0] / 2
    ahead = fl.forecast(audit, runs=2, stop=fl.Stop(probability=0.9999))
    assert ahead.words


# Of items like these, P(p > 1/2) for p ~ Beta(1 + 3, 5) is 0.36: one label does not make up for how a leader is chosen.
# But nothing speaks for the other model either.
@pytest.mark.parametrize(("target", "most"), [("population", 0.5), ("pool", 1.0)])
def test_one_label_says_little_about_other_items(target: Target, most: float) -> None:
    """Two models that differ on one item: once it is labelled these items are settled, and others like them are not."""
    answers = np.zeros((40, 2), dtype=int)
    answers[7, 1] = 1
    pool = fl.read_pool({"predicted": answers, "models": ["old", "new"], "classes": ["a", "b"]})
    audit = fl.create(None, "which", pool, task=fl.Best(fl.Accuracy()), target=target)
    audit.tell(dict.fromkeys(audit.ask(1).ids, "b"))
    found = audit.answer()
    assert found.groups == ("new",)
    assert found.probability == pytest.approx(most, abs=0.01)


def test_what_a_model_lacks_is_one_number_everywhere():
    pool, labels = made()
    audit = fl.create(None, "best", pool, task=fl.Best(fl.Accuracy()))
    audit.tell({item: labels[item] for item in audit.ask(40).ids})
    found = find(audit, draws=500)
    shown = readable(found.answer.table, found.task)["behind"][1]
    assert f"is behind by {shown} (" in found.headline
    plot = plots.PLOTS["models"].of(audit, draws=500)
    assert ", behind by " in plots.standalone(plot)
    assert "behind by +" not in plots.standalone(plot)


def test_models_that_gave_the_same_answers_are_called_so():
    pool, labels = made()
    audit = fl.create(None, "best", pool, task=fl.Best(fl.Accuracy()))
    audit.tell({item: labels[item] for item in audit.ask(40).ids})
    grounds = find(audit, draws=500).grounds
    rows = [dict(row) for row in grounds.answer.table.rows()]
    rows[1] |= {"behind": 0.0, "behind_low": 0.0, "behind_high": 0.0, "as_good": True}
    table = Table({name: [row[name] for row in rows] for name in rows[0]})
    same = replace(grounds, read_answer=lambda: Answer("", 0.97, table, (rows[0]["group"],)))
    assert audit.spec.task.headline(same) == "new and old are equally good: they gave the same answers."


def test_half_of_the_probability_of_two_is_no_best_model_and_a_likelier_rival_is_named():
    pool, labels = made()
    audit = fl.create(None, "best", pool, task=fl.Best(fl.Accuracy()))
    audit.tell({item: labels[item] for item in audit.ask(40).ids})
    grounds = find(audit, draws=500).grounds
    rows = [dict(row) for row in grounds.answer.table.rows()]

    def said(first: float, second: float) -> str:
        rows[0]["chance"], rows[1]["chance"] = first, second
        table = Table({name: [row[name] for row in rows] for name in rows[0]})
        answer = Answer("", first, table, (rows[0]["group"],))
        return audit.spec.task.headline(replace(grounds, read_answer=lambda: answer))

    assert said(0.56, 0.44).startswith("It is too early to name the best model.")
    other = rows[1]["group"]
    assert said(0.7, 0.3).startswith("The best model is probably")
    assert f"70% sure that {other} is not right more often. {other} is behind by" in said(0.7, 0.3)
    assert f"{rows[1]['group']} has a chance of 40%, but costs more on average." in said(0.38, 0.40)
    assert "has a chance of" not in said(0.38, 0.37)


def test_the_picture_names_no_best_model_too_early_and_says_why_a_likelier_one_is_not_the_first():
    def row(name: str, chance: float) -> ModelRow:
        return ModelRow(name, 0.8, 0.7, 0.9, chance, 0.0, -0.1, 0.1, 8, 10)

    early = Models(0.95, (row("a", 0.38), row("b", 0.40), row("c", 0.22)), ("a",))
    assert early.finding() == ("It is too early to name the best model; the best guess is a, with a probability of 38%")
    assert "though another is more probably the best" in early.caption()
    later = Models(0.95, (row("a", 0.8), row("b", 0.15), row("c", 0.05)), ("a",))
    assert later.finding() == "a is the best so far, with a probability of 80%"
    assert "more probably" not in later.caption()
    close = Models(0.95, (row("a", 0.2512), row("b", 0.2516), row("c", 0.25)), ("a",))
    assert "more probably" not in close.caption()  # both are written as 25%


def test_a_report_about_models_promises_no_shorter_ranges():
    """Items on which models differ run out, and say little about how often each is right."""
    pool, labels = made()
    audit = fl.create(None, "best", pool, task=fl.Best(fl.Accuracy()))
    audit.tell({item: labels[item] for item in audit.ask(5).ids})
    one = fl.create(None, "one", pool, task=fl.Estimate(fl.Accuracy()), model=pool.models[0])
    one.tell({item: labels[item] for item in one.ask(5).ids})
    assert "even when it is clear which is better" in find(audit, draws=500).words.reading
    assert "do not read much into" in find(one, draws=500).words.reading
    assert not any("four times" in words for words in more_labels(audit, 200, foresee=False).sentences())
    assert any("four times" in words for words in more_labels(one, 200, foresee=False).sentences())


def test_a_model_whose_confidences_are_all_missing_has_none():
    """An array of all models has a column for it too; a gap in another column is still refused."""
    sure = np.array([[0.9, np.nan], [0.8, np.nan], [0.7, np.nan]])
    arrays = {"predicted": np.array([[0, 1], [1, 1], [0, 0]]), "models": ["a", "b"], "classes": ["x", "y"]}
    pool = fl.read_pool({**arrays, "confidence": sure})
    assert pool.confidences[:, 0].tolist() == [0.9, 0.8, 0.7]
    assert np.isnan(pool.confidences[:, 1]).all()
    sure[1, 0] = np.nan
    with pytest.raises(fl.InputError, match="the confidence is missing"):
        fl.read_pool({**arrays, "confidence": sure})


def contest(shares: tuple[float, ...], seed: int) -> tuple[fl.Pool, dict[str, str]]:
    """Models that are right this often, all of them less often about hard items."""
    rng = np.random.default_rng(seed)
    true, hard = rng.integers(0, 3, 500), rng.random((500, 1))
    right = rng.random((500, len(shares))) < np.clip(np.array(shares) + 0.25 - 0.5 * hard, 0.02, 0.98)
    said = np.where(right, true[:, None], (true[:, None] + rng.integers(1, 3, right.shape)) % 3)
    ids, classes = [f"i{k}" for k in range(500)], ["a", "b", "c"]
    names = [f"m{h}" for h in range(len(shares))]
    pool = fl.read_pool({"id": ids, "predicted": said, "models": names, "classes": classes})
    return pool, dict(zip(ids, np.array(classes)[true].tolist(), strict=True))


def label_some(audit: fl.Assessment, truth: dict[str, str], n: int) -> None:
    for _ in range(n // 10):
        audit.tell({item: truth[item] for item in audit.ask(10).ids})


def ends(audit: fl.Assessment, model: str) -> list[float]:
    """How far m0 is ahead of a model, and the interval of it, by either question."""
    rows = list(audit.answer().table.rows())
    names = ("behind", "behind_low", "behind_high") if "behind" in rows[0] else ("mean", "low", "high")
    row = rows[0] if names[0] == "mean" else next(row for row in rows if row["group"] == model)
    return [row[name] for name in names]


@pytest.mark.parametrize("first", ["best", "pair"])
@pytest.mark.parametrize("target", ["population", "pool"])
def test_how_far_two_models_differ_is_one_number_by_both_questions(first: str, target: Target) -> None:
    """The two questions had different priors, and their ranges from the same labels differed by a fifth."""
    pool, truth = contest((0.85, 0.7), seed=1)
    store = fl.Store(None)
    made = {
        "best": fl.create(store, "best", pool, task=fl.Best(fl.Accuracy()), target=target),
        "pair": fl.create(store, "pair", pool, task=fl.CompareModels(fl.Accuracy(), "m0", "m1"), target=target),
    }
    label_some(made[first], truth, 40)
    assert ends(made["best"], "m1") == pytest.approx(ends(made["pair"], "m1"), abs=1e-9)
    store.close()


def test_labels_of_a_search_count_in_a_comparison_as_they_do_in_the_search() -> None:
    """They went where the leaders differ, which is harder than where a weak model differs from them.

    Taken for a random sample, they said of two models of mrpc that are 50 points apart that 20 are: the interval held
    in 2 of 30 runs with 100 labels.
    """
    pool, truth = contest((0.86, 0.85, 0.84, 0.83, 0.4), seed=2)
    store = fl.Store(None)
    best = fl.create(store, "best", pool, task=fl.Best(fl.Accuracy()))
    label_some(best, truth, 60)
    leader = best.answer().groups[0]
    assert leader != "m4"
    pair = fl.create(store, "pair", pool, task=fl.CompareModels(fl.Accuracy(), leader, "m4"))
    assert ends(pair, "m4") == pytest.approx(ends(best, "m4"), abs=1e-9)
    label_some(pair, truth, 40)  # these are a random sample of where the two differ, so they are read as one
    mean, low, high = ends(pair, "m4")
    assert ends(best, "m4")[0] != pytest.approx(mean, abs=1e-6)
    true = np.array([pool.choices.index(truth[item]) for item in pool.ids.to_pylist()])
    right = dict(zip(pool.models, (pool.answers == true[:, None]).mean(axis=0).tolist(), strict=True))
    assert low <= right[leader] - right["m4"] <= high
    store.close()
