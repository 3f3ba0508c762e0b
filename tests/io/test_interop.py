"""To and from other tools: Label Studio there and back, pools from estimators, draws for ArviZ."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.errors import InputError, LabelError
from fewlabels.interop.annotations import Annotation, tell_annotations
from tests.support.web import SCRIPT, pool_of_texts

if TYPE_CHECKING:
    from pathlib import Path


def annotate(tasks: list[dict[str, Any]], answers: dict[str, list[tuple[Any, str | None]]]) -> list[dict[str, Any]]:
    """What Label Studio exports after people have answered: by item, who said what; None for a skip."""
    exported = []
    for number, task in enumerate(tasks, 1):
        given = [
            {
                "id": 10 * number + i,
                "completed_by": who,
                "was_cancelled": label is None,
                "result": []
                if label is None
                else [{"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}],
            }
            for i, (who, label) in enumerate(answers.get(task["data"]["item_id"], []))
        ]
        exported.append({"id": number, **task, "annotations": given, "predictions": []})
    return exported


def test_label_studio_there_and_back(tmp_path: Path) -> None:
    audit = fl.create(None, "audit", pool_of_texts())
    batch = audit.ask(5)
    config = fl.write_label_studio(batch, tmp_path / "tasks.json", audit.pool.classes)
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["item_id"] for task in tasks] == batch.ids
    assert all(set(task) == {"data"} and set(task["data"]) == {"text", "item_id"} for task in tasks)  # blind
    view = ET.fromstring(config.read_text())
    assert [choice.get("value") for choice in view.iter("Choice")] == list(audit.pool.classes)
    a, b, c, *rest = batch.ids
    answers: dict[str, Any] = {a: [(1, "class 2")], b: [({"email": "ann@example.com"}, "class 0")], c: [(1, None)]}
    (tmp_path / "export.json").write_text(json.dumps(annotate(tasks, answers)))
    found = fl.read_label_studio(tmp_path / "export.json")
    assert found == [
        Annotation(a, "class 2", "1"),
        Annotation(b, "class 0", "ann@example.com"),
        Annotation(c, None, "1"),
    ]
    assert tell_annotations(audit, found) == (2, 1)
    assert audit.labels() == {a: "class 2", b: "class 0"}
    assert [one.id for one in audit.disputed()] == [c]
    assert set(audit.pending()) == {c, *rest}


def test_several_annotations_need_overlap_or_agreement() -> None:
    votes = [Annotation("item-001", "class 0", "ann"), Annotation("item-001", "class 1", "bob")]
    audit = fl.create(None, "one", pool_of_texts())
    audit.tell({"item-001": "class 3"}, adopt=True)
    with pytest.raises(LabelError, match="different labels from several people"):
        tell_annotations(audit, votes)
    assert audit.labels() == {"item-001": "class 3"}
    two = fl.create(None, "two", pool_of_texts(), overlap=2)
    asked = {who: two.ask(1, annotator=who).ids[0] for who in ("ann", "bob")}
    assert asked["ann"] == asked["bob"]
    tell_annotations(two, [Annotation(item, f"class {i}", who) for i, (who, item) in enumerate(asked.items())])
    assert [dict(one.votes) for one in two.disputed()] == [{"ann": "class 0", "bob": "class 1"}]


def test_a_wrong_annotation_changes_nothing() -> None:
    audit = fl.create(None, "audit", pool_of_texts())
    item = audit.ask(1).ids[0]
    with pytest.raises(LabelError, match="class 9"):
        tell_annotations(audit, [Annotation(item, "class 1", "ann"), Annotation("item-002", "class 9", "bob")])
    assert audit.labels() == {}


@pytest.mark.parametrize(
    ("overlap", "wrong", "said"),
    [
        (1, Annotation("other", "class 1", "bob"), "cannot tell .* never asked for. Nothing was changed"),
        (1, Annotation("other", None, "bob"), "cannot skip .* never asked for. Nothing was changed"),
        (1, Annotation("asked", "class 1", " "), "must be a name"),
        (2, Annotation("asked", None, None), "needs a name"),
        (2, Annotation("asked", "class 1", None), "needs a name"),
    ],
)
def test_of_a_file_with_one_wrong_annotation_nothing_is_kept(overlap: int, wrong: Annotation, said: str) -> None:
    audit = fl.create(None, "audit", pool_of_texts(), overlap=overlap)
    asked = audit.ask(2, annotator="ann").ids
    ids = {"asked": asked[0], "other": next(i for i in ("item-000", "item-001", "item-002") if i not in asked)}
    right = [Annotation(asked[0], "class 1", "ann"), Annotation(asked[1], None, "ann")]
    with pytest.raises((LabelError, InputError), match=said):
        tell_annotations(audit, [*right, replace(wrong, item=ids[wrong.item])])
    assert len(audit.log()) == 2, "what was asked, and nothing else"
    assert tell_annotations(audit, right) == (1, 1)


def test_annotations_of_items_that_were_never_asked_can_be_adopted() -> None:
    audit = fl.create(None, "audit", pool_of_texts())
    assert tell_annotations(audit, [Annotation("item-001", "class 2", "ann")], adopt=True) == (1, 0)
    assert audit.labels() == {"item-001": "class 2"}
    with pytest.raises(LabelError, match="never asked for"):
        tell_annotations(audit, [Annotation("item-002", None, "ann")], adopt=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{not json", "not JSON"),
        ('{"a": 1}', "not a list of tasks"),
        ('[{"data": {"text": "x"}, "annotations": []}]', "no data.item_id"),
        ('[{"data": {"item_id": "a"}}]', "has no annotations"),
        ('[{"item_id": "a", "label": "cat"}]', "no data.item_id"),
    ],
)
def test_exports_of_another_kind_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "export.json").write_text(text)
    with pytest.raises(InputError, match=said):
        fl.read_label_studio(tmp_path / "export.json")


def test_the_configuration_is_escaped_and_searchable_for_many_classes(tmp_path: Path) -> None:
    batch = fl.Batch((fl.Request("a", group="g", why="w", content="https://example.com/a.png"),))
    config = fl.write_label_studio(batch, tmp_path / "t.json", [SCRIPT, *map(str, range(30))])
    view = ET.fromstring(config.read_text())
    assert next(view.iter("Choice")).get("value") == SCRIPT
    choices = view.find("Choices")
    assert choices is not None
    assert choices.get("layout") == "select"
    assert view.find("Image") is not None


@pytest.mark.slow
def test_a_pool_from_an_estimator() -> None:
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    data = load_iris(as_frame=True)
    names = data.target_names[data.target]
    model = LogisticRegression(max_iter=1000).fit(data.data, names)
    pool = fl.pool_from_estimator(model, data.data, columns={"width": data.data.iloc[:, 1].tolist()}, content="width")
    assert pool.classes == ("setosa", "versicolor", "virginica")
    assert [pool.classes[k] for k in pool.predicted] == model.predict(data.data).tolist()
    assert pool.confidence == pytest.approx(model.predict_proba(data.data).max(axis=1))
    assert pool.ids.to_pylist() == [str(i) for i in data.data.index]
    without = fl.pool_from_estimator(LinearSVC().fit(data.data.to_numpy(), names), data.data.to_numpy())
    assert without.confidence is None
    numbered = LinearSVC().fit(data.data.to_numpy(), data.target.astype(float))
    assert fl.pool_from_estimator(numbered, data.data.to_numpy()).classes == ("0", "1", "2")  # as labels are written
    with pytest.raises(InputError, match="no predict"):
        fl.pool_from_estimator(object(), data.data)  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.Confusion()])
def test_draws_for_arviz(metric: fl.Metric) -> None:
    audit = fl.create(None, "audit", pool_of_texts())
    audit.tell(dict.fromkeys(audit.ask(20).ids, "class 1"))
    tree = fl.to_datatree(audit, 4000, metric=metric)
    values = tree["posterior"][type(metric).__name__]
    assert values.sizes["chain"] == 4
    assert values.sizes["draw"] == 1000
    assert values.coords["group"].values.tolist() == list(audit.groups.names)
    flat = audit.draws(4000, metric=metric)
    assert np.array_equal(values.to_numpy().reshape(flat.shape), flat)
    with pytest.raises(InputError, match="multiple of 4"):
        fl.to_datatree(audit, 10)
    with pytest.raises(InputError, match=r"The number of draws must be a whole number.*Got '400'"):
        fl.to_datatree(audit, "400")  # type: ignore[arg-type]


def test_draws_of_several_models_for_arviz() -> None:
    pool = fl.read_pool({"old": ["x", "y"] * 8, "new": ["x", "x"] * 8}, models=["old", "new"])
    audit = fl.create(None, "audit", pool, task=fl.Best(fl.Accuracy()))
    values = fl.to_datatree(audit, 400)["posterior"]["Accuracy"]
    assert values.coords["group"].values.tolist() == ["old", "new"]
    assert np.array_equal(values.to_numpy().reshape(400, 2), audit.draws(400))
