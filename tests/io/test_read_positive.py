"""One column with the probability of one of two classes, and ids under any name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.io.finder import guess
from fewlabels.io.finder.look import Look
from fewlabels.io.source import table_source

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    with pytest.raises(fl.InputError, match="none has a name that suggests it"):
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
    # Whatever is predicted, if nothing else can be meant.
    for name in ("sku_predicted", "Predicted breed", "ICD10 prediction", "pred_product_group"):
        assert guess({"id": range(4), name: ["a", "b", "a", "b"], "prob": [0.7, 0.8, 0.9, 0.6]}).predicted == name
    for name in ("predicted_at", "pred_time_ms", "annotator_predicted", "prediction_source", "unpredicted thing"):
        assert guess({"id": range(4), name: ["a", "b", "a", "b"]}).predicted is None
    assert guess({"id": range(4), "sales_predicted": ["3.5", "2.25", "3.5", "1.0"]}).predicted is None
    assert guess({"id": range(4), "bert_pred": ["a", "b"] * 2, "xgb_pred": ["a", "b"] * 2}).predicted is None


@pytest.mark.parametrize(
    ("predicted", "sure"),
    [
        ("Decision (model)", "Score"),
        ("Predicted Category (AI)", "Confidence %"),
        ("model_output", "Prediction_Score"),
        ("Predicted label", "AI confidence"),
        ("y_hat", "y_score"),
        ("top1", "top1_prob"),
        ("Top-1 class", "max_prob"),
        ("prediction (label)", "Confidence (prediction)"),
        ("predictedLabel", "confidenceScore"),
    ],
)
def test_names_of_real_exports(predicted: str, sure: str) -> None:
    data = {"Region": ["N", "S", "W"] * 10, predicted: ["a", "b", "c"] * 10, sure: [0.9, 0.6, 0.7] * 10}
    found = guess(data)
    assert (found.predicted, found.confidence) == (predicted, sure)


def test_names_that_are_something_else() -> None:
    others = {
        "answer_model": ["gpt-x"] * 3,
        "model_name": ["v1"] * 3,
        "credit score": [0.2, 0.3, 0.4],
        "type": ["x"] * 3,
    }
    found = guess({**others, "prediction": ["a", "b", "a"]})
    assert (found.predicted, found.confidence) == ("prediction", None)
    assert guess(others).predicted is None


def test_the_name_of_a_column_says_whose_probability_it_is() -> None:
    said = np.where(P > 0.5, "1", "0")
    found = guess({"y_hat": said, "pred_proba_1": P, "age": P})
    assert (found.confidence, found.positive) == ("pred_proba_1", "1")
    # Even if the values could be confidences of the answers.
    sure = np.maximum(P, 1 - P)
    assert guess({"prediction": np.where(P > 0.5, "Spam", "ham"), "spam_probability": sure}).positive == "Spam"
    # Numbers that cannot be probabilities are none, whatever their column is called.
    points = np.arange(len(P)) * 7 % 500
    assert guess({"y_hat": said, "score_1": points + 2}).confidence is None
    assert guess({"y_hat": said, "score_1": points % 90 + 2}).confidence is None
    assert guess({"y_hat": said, "score_1": 100 * P}).positive == "1"
    # Of three classes it could be anything, and with a column for each class it is their scores.
    assert guess({"prediction": ["a", "b", "c"] * 10, "p_a": [0.1] * 30}).confidence is None
    assert guess({"y_hat": said, "pred_proba_0": 1 - P, "pred_proba_1": P}).scores == "pred_proba_*"


def test_a_probability_alone_is_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "mails.csv"
    file.write_text("mail,prob_spam\n" + "".join(f"m{i},{p:.2f}\n" for i, p in enumerate(P)))
    refused = CliRunner().invoke(cli, ["new", f"{tmp_path}/a.db", str(file)])
    assert "add --scores 'prob_spam' --positive 'spam'" in refused.stderr
    begun = CliRunner().invoke(
        cli, ["new", f"{tmp_path}/a.db", str(file), "--scores", "prob_spam", "--positive", "spam"]
    )
    assert begun.exit_code == 0, begun.output


def test_the_positive_class_is_remembered(tmp_path: Path) -> None:
    """Who has named it once is not asked again: the rate is that of the class, in this session and in the next."""
    p = [0.9, 0.2, 0.7, 0.4]
    pool = fl.read_pool(
        {"id": [*"abcd"], "y_prob": p, "sex": [*"ffmm"]}, positive="repaid", classes=["defaulted", "repaid"]
    )
    fl.create(tmp_path / "a.db", "loans", pool, fl.whole(pool)).close()
    audit = fl.load(tmp_path / "a.db")
    assert audit.pool.positive == "repaid"
    assert audit.pool.fingerprint == replace(pool, positive=None).fingerprint  # labels still belong to it
    audit.tell({"a": "repaid", "b": "defaulted", "c": "defaulted", "d": "repaid"}, adopt=True)
    given = audit.estimates(metric="fpr").to_arrow()
    assert given.equals(audit.estimates(metric=fl.FalsePositiveRate("repaid")).to_arrow())
    assert audit.fairness("column:sex").groups.settings["positive"] == "repaid"


def test_numbers_that_look_like_a_confidence_are_mentioned_and_not_used() -> None:
    answers = ["a", "b"] * 5
    shares, whole = [i / 11 for i in range(1, 11)], [0, 1] * 5
    found = guess({"id": range(10), "Vorhersage": answers, "flag": whole, "Sicherheit": shares}, predicted="Vorhersage")
    assert (found.confidence, found.likely) == (None, "Sicherheit")
    assert guess({"id": range(10), "pred": answers, "flag": whole, "age": range(10)}).likely is None
    assert guess({"id": range(10), "pred": answers, "conf": shares, "weight": shares}).likely is None


def test_a_long_file_is_not_read_to_its_end_to_find_free_text() -> None:
    names = [f"n{n}" for n in range(60_000)]
    table = pa.table({"note": names, "class": [f"c{n % 3_000}" for n in range(60_000)]})
    source, read = table_source("a table", table), []

    def reader(columns: list[str], numbers: bool) -> Iterator[Any]:
        for batch in table.select(columns).to_batches(max_chunksize=5_000):
            read.append(batch.num_rows)
            yield batch

    assert Look(replace(source, reader=reader)).free() == ["note"]
    assert sum(read) < 60_000
