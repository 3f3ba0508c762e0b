"""One column with the probability of one of two classes, and ids under any name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.io.finder import guess

if TYPE_CHECKING:
    from pathlib import Path

P = np.round(np.random.default_rng(3).random(60), 3)


def test_the_probability_of_one_class_makes_two_scores() -> None:
    pool = fl.read_pool({"y_prob": P}, positive="spam")
    assert pool.classes == ("not spam", "spam")
    assert np.array_equal(pool.predicted, P > 0.5)
    assert pool.confidence == pytest.approx(np.maximum(P, 1 - P))
    both = fl.read_pool(np.column_stack([1 - P, P]), classes=["not spam", "spam"])
    assert pool.score_sums == pytest.approx(both.score_sums)


@pytest.mark.parametrize(
    ("positive", "classes"), [("1", ("0", "1")), ("yes", ("no", "yes")), ("True", ("False", "True"))]
)
def test_the_other_class_is_known(positive: str, classes: tuple[str, str]) -> None:
    assert fl.read_pool({"p": P}, positive=positive).classes == classes


def test_a_threshold_of_the_users_own_is_kept() -> None:
    predicted = np.where(P > 0.2, "risk", "fine")
    pool = fl.read_pool({"predicted": predicted, "score": P}, predicted="predicted", positive="risk")
    assert pool.classes == ("fine", "risk")
    assert np.array_equal(pool.predicted, P > 0.2)
    assert pool.confidence == pytest.approx(np.where(P > 0.2, P, 1 - P))


def test_percentages_and_a_csv_file(tmp_path: Path) -> None:
    file = tmp_path / "mails.csv"
    file.write_text("sku,y_prob\n" + "".join(f"S-{i},{100 * p:.1f}\n" for i, p in enumerate(P)))
    pool = fl.read_pool(file, id="sku", positive="spam", normalize=True)
    assert pool.confidence == pytest.approx(np.maximum(P, 1 - P))
    file.write_text("sku;y_prob\n" + "".join(f"S-{i};{100 * p:.1f}%\n".replace(".", ",") for i, p in enumerate(P)))
    assert fl.read_pool(file, id="sku", positive="spam").confidence == pytest.approx(np.maximum(P, 1 - P))


def test_it_is_never_taken_for_the_confidence_of_the_answer() -> None:
    answers = np.where(P > 0.5, "spam", "ham")
    with pytest.raises(fl.InputError, match=r"probability of 'spam'.*positive='spam'"):
        fl.read_pool({"predicted": answers, "confidence": P})
    assert guess({"prediction": answers, "score": P}).positive == "spam"
    sure = np.maximum(P, 1 - P)
    assert guess({"prediction": answers, "score": sure}).positive is None
    assert fl.read_pool({"predicted": answers, "confidence": sure}).confidence == pytest.approx(sure)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(fl.InputError, match="must be a number from 0 to 1"):
        fl.read_pool({"y_prob": [0.2, 1.4]}, positive="spam")
    with pytest.raises(fl.InputError, match="must be one of two classes"):
        fl.read_pool({"y_prob": [0.2, 0.4]}, classes=["a", "b", "c"], positive="a")
    with pytest.raises(fl.InputError, match="none is called like one"):
        fl.read_pool({"x": [0.2, 0.4]}, positive="a")
    with pytest.raises(fl.InputError, match="several models"):
        fl.read_pool({"a": ["x", "y"], "b": ["x", "x"]}, models=["a", "b"], positive="x")


def test_ids_are_found_under_any_name() -> None:
    data = {"note": ["one two", "three four", "five six"], "applicant": ["K-1", "K-2", "K-3"], "pred": ["a", "b", "a"]}
    assert guess(data).id == "applicant"
    assert guess({"sample": [7, 8, 9], "pred": ["a", "b", "a"]}).id == "sample"
    # Amounts differ too, and so do long texts: they are no names of items.
    assert guess({"pred": ["a", "b", "a"], "amount": [7, 8, 9]}).id is None
    assert guess({"pred": ["a", "b", "a"], "weight": [0.7, 0.8, 0.9]}).id is None
    assert guess({"pred": ["a", "b", "a"], "town": ["Ulm", "Bonn", "Ulm"]}).id is None


def test_what_an_export_calls_its_predictions() -> None:
    assert guess({"Predicted category": ["a", "b", "a"], "Subject": ["x", "y", "z"]}).predicted == "Predicted category"
    assert guess({"model_intent": ["a", "b", "a"]}).predicted == "model_intent"
    # Free text is no class, whatever its column is called; short answers are.
    texts = [f"Press the button of device {i} for a while." for i in range(40)]
    assert guess({"id": range(40), "response": texts}).predicted is None
    assert guess({"id": range(40), "response": ["yes", "no"] * 20}).predicted == "response"
