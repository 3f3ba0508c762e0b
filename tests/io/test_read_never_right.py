"""Answers that are never right: refusals, empty answers, and classes that no label can be."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.findings.finding import find
from fewlabels.io.never_right import never_right
from fewlabels.pool import NO_ANSWER

SAID = ["yes", "no", "I'm sorry, I can't.", "I’m Sorry but no", "", "yes", "cannot determine", "no"]


def test_patterns_take_answers_out_of_the_classes():
    pool = fl.read_pool({"predicted": SAID}, never_right=["I'm sorry*", "cannot determine", ""])
    assert pool.choices == ("no", "yes")
    assert pool.classes[-1] == NO_ANSWER
    assert pool.answers.ravel().tolist() == [1, 0, -1, -1, -1, 1, -1, 0]


def test_an_empty_answer_needs_to_be_named():
    with pytest.raises(InputError, match=r"the predicted class is missing.*never_right=\[''\]"):
        fl.read_pool({"predicted": SAID}, never_right=["I'm sorry*", "cannot determine"])


def test_confidences_of_such_answers_do_not_count():
    pool = fl.read_pool({"predicted": ["a", "b", "?"], "confidence": [0.9, 0.8, None]}, never_right=["?"])
    assert pool.confidence is not None
    assert pool.confidence.tolist() == [0.9, 0.8, 0.0]


def test_a_listed_class_can_be_never_right_and_positions_keep_their_meaning():
    named = {"predicted": [0, 1, 2, 2], "classes": ["none of these", "cat", "dog"]}
    pool = fl.read_pool(named, never_right=["none*"])
    assert pool.choices == ("cat", "dog")
    assert pool.answers.ravel().tolist() == [-1, 0, 1, 1]


def test_scores_of_a_refusal_class():
    scores = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]])
    pool = fl.read_pool(scores, classes=["a", "refusal", "b"], never_right=["refusal"])
    assert pool.choices == ("a", "b")
    assert pool.answers.ravel().tolist() == [0, -1, 1]
    np.testing.assert_allclose(pool.confidence, [0.7, 0, 0.7])
    np.testing.assert_allclose(pool.profile[0], [0.7 / 0.8, 0.1 / 0.8, 0])
    nobody = fl.read_pool(scores[[0, 2]], classes=["a", "refusal", "b"], never_right=["refusal"])
    assert nobody.classes == ("a", "b")
    assert not nobody.unanswered


def test_models_may_refuse_too():
    pool = fl.read_pool(
        {"old": ["a", "b", "no idea"], "new": ["b", "", "a"]}, models=["old", "new"], never_right=["no*"]
    )
    assert pool.answers.tolist() == [[0, 1], [1, -1], [-1, 0]]


def test_too_few_classes_are_left():
    with pytest.raises(InputError, match=r"only 'a' is left besides the answers that are never right"):
        fl.read_pool({"predicted": ["a", "b"]}, never_right=["b"])
    with pytest.raises(InputError, match=r"never_right= must be a list of texts"):
        fl.read_pool({"predicted": ["a", "b"]}, never_right="b")


def test_brackets_and_question_marks_are_text_too():
    is_never = never_right(["[refused]", "n/a", "why?"])
    assert [is_never(text) for text in ("[REFUSED]", " n/a ", "Why?", "whyx", "r")] == [True, True, True, False, False]


@given(pattern=st.text("ab* ", max_size=8), text=st.text("ab ", max_size=10))
def test_patterns_are_what_an_expression_would_find(pattern: str, text: str) -> None:
    plain = " ".join(pattern.split())
    slow = re.fullmatch(".*".join(map(re.escape, plain.split("*"))), " ".join(text.split()))
    assert never_right([pattern])(text) == (slow is not None)


def test_many_stars_and_a_long_answer_take_no_time():
    began = time.process_time()
    assert not never_right(["*a*a*a*b"])("a" * 500)
    assert time.process_time() - began < 1


def test_the_finding_says_how_many_and_nothing_of_scores():
    rng = np.random.default_rng(1)
    true = rng.integers(0, 3, 300)
    said = np.array(["a", "b", "c"], dtype=object)[np.where(rng.random(300) < 0.8, true, (true + 1) % 3)]
    said[:40] = "I cannot say"
    pool = fl.read_pool({"predicted": said}, never_right=["I cannot*"])
    audit = fl.create(None, "x", pool)
    labels = dict(zip(pool.ids.to_pylist(), np.array(["a", "b", "c"])[true].tolist(), strict=True))
    audit.tell({item: labels[item] for item in audit.ask(60).ids})
    finding = find(audit)
    row = next(row for row in finding.groups if row.group == NO_ANSWER)
    assert (row.evidence, row.note, row.labelled) == ("never", "never right", 0)
    assert row.high < 0.01
    assert finding.doubts[0] == (
        "40 items of 300 have no answer, or one that can never be right such as a refusal: counted as wrong."
    )
    assert "scores" not in " ".join([*(row.note for row in finding.groups), finding.headline, *finding.doubts])
