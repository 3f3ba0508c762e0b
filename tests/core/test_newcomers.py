"""The mistakes of a first day: each is refused in words that say what to do, and none as an error of Python's own."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fewlabels as fl

if TYPE_CHECKING:
    from collections.abc import Callable

anything: Any = fl  # mypy would refuse these mistakes as well
SOURCE = Path(fl.__file__).parent
SCORES = np.tile([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]], (20, 1))
POOL = fl.read_pool(
    {"id": [f"i{k}" for k in range(60)], "scores": SCORES, "sex": ["f", "m"] * 30}, classes=["cat", "dog", "eel"]
)


MODELS = fl.read_pool({"old": ["cat", "dog", "eel"] * 20, "new": ["cat", "dog", "cat"] * 20}, models=["old", "new"])
MIRRORED = fl.read_pool({"scores": SCORES[::-1]}, classes=POOL.classes)


def simulated(groups: Any = None, budgets: Any = (5,), pool: fl.Pool = POOL) -> object:
    task, labels = fl.Estimate(fl.Accuracy()), ["cat", "dog", "eel"] * 20
    return fl.simulate(pool, labels, groups, task=task, methods="uniform+items", budgets=budgets, runs=2)


def audit() -> fl.Assessment:
    return fl.create(None, "pets", POOL)


MISTAKES: dict[str, tuple[Callable[[Any], object], str]] = {
    "a Series of predictions": (
        lambda _: anything.read_pool(pd.Series(["cat", "dog"])),
        r'Series .* "predicted": series',
    ),
    "a Polars Series": (lambda _: anything.read_pool(pl.Series(["cat", "dog"])), r'Series .* "predicted": series'),
    "labels without ids": (lambda a: a.tell(pd.Series(["cat"])), r"set_index\('id'\)\['label'\]"),
    "labels of Polars without ids": (lambda a: a.tell(pl.Series(["cat"])), "Pass the frame with both columns"),
    "a policy with a slip": (
        lambda _: fl.create(None, "pets", POOL, policy="thomson"),
        "policy='thomson' is not known. Did you mean 'thompson'",
    ),
    "a prior without its number": (
        lambda _: fl.create(None, "pets", POOL, prior="informed:much"),
        "informed:much needs a number, as in informed:10",
    ),
    "a number for a name": (lambda _: anything.create(None, 3, POOL), "name of an assessment must be a text. Got 3"),
    "the pool first": (lambda _: anything.create(POOL, "x", POOL), "address of a database comes first.*Got <Pool"),
    "an array for a pool": (lambda _: anything.create(None, "x", SCORES), r"read_pool.*an ndarray of shape \(60, 3\)"),
    "a plan of an array": (lambda _: anything.plan(SCORES), r"'pool' of plan\(\) must be a pool"),
    "groups of an array": (lambda _: anything.by_predicted(SCORES), r"'pool' of by_predicted\(\) must be a pool"),
    "crossed names": (lambda _: anything.cross("sex", "predicted"), r"argument of cross\(\) must be a partition"),
    "one budget": (lambda _: anything.plan(POOL, budgets=20), r"'budgets' of plan\(\) are a list, such as \[50, 200\]"),
    "a forecast of a pool": (lambda _: anything.forecast(POOL), r"forecast\(\) must be an assessment, such as load"),
    "a text as a task": (lambda a: a.answer("accuracy"), r"'task' of answer\(\) must be a task, such as Estimate"),
    "a class as a metric": (lambda a: a.estimates(metric=fl.Recall), r"Got the class Recall instead. Write Recall\("),
    "a class as a task": (lambda _: anything.create(None, "x", POOL, task=fl.Estimate), r"Write Estimate\("),
    "people of a file": (lambda _: anything.People("x.db"), r"'store' of People\(\) must be an open database"),
    "half a draw": (lambda a: a.estimates(draws=10.5), "draws must be a whole number of at least 1. Got 10.5"),
    "draws in words": (lambda a: a.draws("many"), "draws must be a whole number"),
    "pairs for annotations": (lambda a: anything.tell_annotations(a, [("i0", "cat")]), r"Annotation\('item-7', 'cat'"),
    "a metric that is not": (lambda a: a.estimates(metric="acuracy"), "metric='acuracy' is not known. Did.*'accuracy'"),
    "a column by its name": (lambda a: a.estimates(groups="sex"), "groups='sex' .*Did you mean 'column:sex'"),
    "a list of groups": (lambda a: a.estimates(groups=["cat"]), r"'groups' must be a partition.*Got \['cat'\]"),
    "a rule that is not": (lambda a: a.check("acuracy >= 0.9"), "the metric 'acuracy' is not known"),
    "one group in only": (lambda a: a.check("accuracy >= 0.9", only="cat"), r"write \['cat'\] instead"),
    "one group to certify": (
        lambda _: anything.Certify(fl.Accuracy(), at_least=0.9, only="cat"),
        r"write \['cat'\] instead",
    ),
    "groups with their classes": (
        lambda _: anything.by_map(POOL, {"pet": ["cat", "dog"]}),
        "takes the group of each class",
    ),
    "no judge": (lambda a: a.judges(), "has no judge.*evidence="),
    "an id alone": (lambda a: a.withdraw(3), r"write \[3\] instead"),
    "one id to skip": (lambda a: a.skip("i0"), r"'ids' of skip\(\) is a list. Got the text 'i0'"),
    "a number as a note": (lambda a: a.tell({"i0": "cat"}, adopt=True, note=3), "A note must be a text. Got 3"),
    "a number as a key": (lambda a: a.tell({"i0": "cat"}, adopt=True, key=3), "key of a call must be a text. Got 3"),
    "a number as a stopping rule": (lambda a: a.standing(stop=3), r"'stop' of standing\(\) must be a Stop, such as"),
    "a place of the log in words": (lambda a: a.log(after="all"), r"'after' of log\(\) must be a whole number"),
    "fewer than no events": (lambda a: a.log(last=-1), r"'last' of log\(\) must be a whole number of at least 0"),
    "one column of an item": (lambda a: a.item("i0", columns="sex"), r"write \['sex'\] instead"),
    "one person": (lambda a: a.expire(0, people="ann"), r"write \['ann'\] instead"),
    "one rule of a report": (lambda a: a.report("r.html", rules="accuracy >= 0.9"), r"'rules' of report\(\) is a list"),
    "one group of a rule": (lambda _: anything.Rule("accuracy >= 0.9", only="cat"), r"'only' of a rule is a list"),
    "a number of groups in only": (lambda a: a.check("accuracy >= 0.9", only=3), r"write \[3\] instead"),
    "the name of a metric in a task": (lambda _: anything.Identify("accuracy"), "must be a metric, such as Accuracy"),
    "a line in words": (
        lambda _: anything.Certify(fl.Accuracy(), at_least="x"),
        r"line of Certify\(\) must be a number",
    ),
    "how many classes": (lambda _: anything.read_pool(SCORES, classes=3), r"classes= must be a list of names.*=\[3\]"),
    "how many columns": (lambda _: anything.read_pool(SCORES, columns=3), "columns= must be a list of names"),
    "an answer of somebody else": (lambda a: a.retract(["i0"]), "it has no answer without a name"),
    "an unknown item": (lambda a: a.tell({"x9": "cat"}), "^unknown item 'x9': not in the pool"),
    "an unknown class": (lambda a: a.tell({"i0": "cow"}), "^'i0': unknown class 'cow'"),
    "a forecast of a number": (lambda a: anything.forecast(a, stop=3), r"'stop' of forecast\(\) must be a Stop"),
    "one budget of a simulation": (lambda _: simulated(budgets=5), r"budgets of a simulation is a list. Got 5"),
    "groups of another pool": (lambda _: simulated(groups=fl.by_predicted(MIRRORED)), "this pool gives other groups"),
    "a plan for several models": (
        lambda _: fl.plan(MODELS, budgets=[5]),
        r"has 2 models, and Estimate is about one. Plan for the pool of one, which is pool.of\(name\): 'old', 'new'",
    ),
    "a simulation of several models": (lambda _: simulated(pool=MODELS), "Simulate with the pool of one"),
    "an empty address": (lambda _: fl.load(""), "^the address of the database cannot be understood"),
    "an event before the first": (
        lambda _: fl.create(store := fl.Store(None), "pets", POOL) and store.log("pets", after=-1),
        r"'after' of log\(\) must be a whole number of at least 0",
    ),
    "fewer than no confusions": (lambda a: a.confusions(-3), r"'most' of confusions\(\) must be a whole number"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_in_words(mistake: str) -> None:
    call, said = MISTAKES[mistake]
    with pytest.raises(fl.FewlabelsError, match=said) as refusal:
        call(audit())
    assert len(str(refusal.value)) < 700
    assert "--" not in str(refusal.value)


def test_a_misspelt_name_of_the_package_is_guessed() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Acuracy'\. Did you mean 'Accuracy'"):
        _ = fl.Acuracy
    assert not hasattr(fl, "_private")


def test_a_method_is_a_name_or_a_method() -> None:
    from fewlabels.simulation.methods import methods_from

    with pytest.raises(fl.SpecError, match=r"a name such as 'learned\+thompson', or a Method. Got Thompson"):
        methods_from([fl.Thompson()])  # type: ignore[list-item]


def test_a_pool_that_is_loaded_beside_is_a_pool(tmp_path: Path) -> None:
    fl.create(tmp_path / "a.db", "pets", POOL).close()
    with pytest.raises(fl.InputError, match=r"'pool' of load\(\) must be a pool"):
        fl.load(tmp_path / "a.db", pool=SCORES)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", 3, "..", "a\0b"])
def test_a_refused_name_leaves_no_database(tmp_path: Path, name: str) -> None:
    with pytest.raises(fl.FewlabelsError, match="name"):
        fl.create(tmp_path / "fresh.db", name, POOL)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(fl.StoreError, match=r"is a folder. Name a file in it, as in '.*audit\.db'"):
        fl.create(tmp_path, "pets", POOL)


def test_a_series_by_id_is_told() -> None:
    a = audit()
    ids = a.ask(3).ids
    assert a.tell(pd.Series(["cat", None, "dog"], index=ids)) == 2
    assert a.labels() == {ids[0]: "cat", ids[2]: "dog"}
    assert fl.read_labels(pd.Series(["cat", "dog"], index=[7, 9])) == {"7": "cat", "9": "dog"}
    with pytest.raises(fl.LabelError, match="is labelled 'dog' here and 'cat' before"):
        a.tell(pd.Series(["cat", "dog"], index=[ids[1], ids[1]]))


def test_what_is_no_labels_is_refused_by_mypy_as_well() -> None:
    with pytest.raises(fl.InputError, match="cannot read int objects"):
        audit().tell(3)  # type: ignore[arg-type]  # mypy says so where this comment becomes unused
    assert audit().tell(pd.DataFrame({"id": ["i0"], "label": ["cat"]}), adopt=True) == 1
    assert audit().tell(pl.DataFrame({"id": ["i0"], "label": ["cat"]}), adopt=True) == 1


def test_groups_and_metrics_are_objects_or_names() -> None:
    a, sex = audit(), fl.by_column(POOL, "sex")
    a.tell(dict.fromkeys(a.ask(12).ids, "cat"))
    recall = fl.Recall("cat")
    assert (
        a.estimates(metric="recall:cat", groups="column:sex").columns == a.estimates(metric=recall, groups=sex).columns
    )
    assert (a.draws(9, groups="column:sex") == a.draws(9, groups=sex)).all()
    assert a.fairness("column:sex").groups.columns == a.fairness(sex).groups.columns
    assert a.reliability(2, groups="column:sex").columns == a.reliability(2, groups=sex).columns
    task = fl.Certify(fl.Accuracy(), at_least=0.5)
    assert a.answer(task, "column:sex").table.columns == a.answer(task, sex).table.columns
    assert a.check("accuracy >= 0.5", groups=sex).words == a.check("accuracy >= 0.5", groups="column:sex").words
    assert fl.create(None, "x", POOL, "column:sex").groups.names == ("f", "m")
    with pytest.raises(fl.SpecError, match=r"metric that is a single share.*For the recall of cat"):
        a.check_promise("recall:cat", "column:sex")


# --- what an assessment is like as an object


def test_with_closes_what_it_opened_and_nothing_else(tmp_path: Path) -> None:
    with fl.create(tmp_path / "a.db", "pets", POOL) as a:
        a.tell(dict.fromkeys(a.ask(2).ids, "cat"))
    with pytest.raises(fl.StoreError, match="was closed"):
        a.estimates()
    with fl.Store(tmp_path / "a.db") as store:
        with fl.load(store) as again:
            assert again.labelled == 2
        assert again.labelled == 2  # the store was passed in open
    with pytest.raises(fl.StoreError, match="was closed"):
        store.names()


def test_a_repr_reads_nothing_and_never_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = fl.create(tmp_path / "a.db", "pets", POOL)
    a.tell(dict.fromkeys(a.ask(2).ids, "cat"))
    loaded = fl.load(tmp_path / "a.db")
    with monkeypatch.context() as patch:
        patch.setattr(type(a._journal.store.database), "reading", None)
        assert repr(a).endswith("of 3 groups, 2 labels, 0 pending>")
        assert repr(loaded).endswith("of 3 groups>")  # nothing is known before it is read
    assert loaded.labelled == 2
    assert repr(loaded) == repr(a)
    for one in (a, loaded):
        one.close()
        assert repr(one).endswith("2 labels, 0 pending, closed>")
        assert one._repr_html_().startswith("<p>&lt;Assessment")


def test_draws_are_the_callers() -> None:
    a = audit()
    first = a.draws(50)
    first *= 100
    assert a.draws(50).max() <= 1


# --- the words of the library are those of Python

FACES = {"cli", "web", "understanding", "paper", "pytest_plugin.py"}
# What other programs are told, and commands that are named in full.
ELSEWHERE = re.compile(r"--log_samples|prodigy |fewlabels (--import|\w+.*--rescue)|var\(--|--fl-")


@pytest.mark.slow
def test_only_the_command_line_speaks_of_options() -> None:
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        if file.relative_to(SOURCE).parts[0] in FACES:
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in plain else ""
            if isinstance(text, str) and re.search(r"--[a-z]", text) and not ELSEWHERE.search(text):
                found.append(f"{file.relative_to(SOURCE)}: {text}")
    assert found == [], "say it with errors.Argument, which every face spells in its own way"
