"""Answers that are sentences: the class that they name if that is clear, and refusals."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabels.errors import InputError
from fewlabels.io import read_pool
from fewlabels.io.never_right import never_right
from fewlabels.io.sentences import named, named_by_others, refuses

CLASSES = ["positive", "negative", "not sure"]


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("The sentiment is positive.", ["positive"]),
        ('{"label": "Positive"}', ["positive"]),
        ("**Negative**, as the tone is harsh", ["negative"]),
        ("I'm NOT SURE about it", ["not sure"]),
        ("positive positive", ["positive"]),
        ("It is positive, and partly negative.", ["positive", "negative"]),
        ("The sentiment is not positive.", []),
        ("It isn't negative", []),
        ("It isn’t negative", []),
        ("Nicht positive", []),
        ("It is far from positive", []),
        ("It is anything but positive.", []),
        ("It is unlikely to be positive.", []),
        ("I doubt that it is positive", []),
        ("It isnt positive", []),
        ("Slow service, but positive on the whole", ["positive"]),
        ("positively charged", []),
        ("a non-negative, anti-positive text", []),
        ("nothing of the kind", []),
        ("***", []),
        ("", []),
    ],
)
def test_a_sentence_names_the_classes_that_are_words_of_it(answer: str, names: list[str]) -> None:
    assert named(answer, CLASSES) == names


@pytest.mark.parametrize(
    ("answer", "classes", "names"),
    [
        ("This is not spam.", ["spam", "not_spam"], ["not_spam"]),
        ("A wild-dog!", ["dog", "wild dog"], ["wild dog"]),
        ("No, it has none", ["yes", "no"], []),
        ("Yes: it does", ["yes", "no"], ["yes"]),
        ("The answer is (B)", ["A", "B"], ["B"]),
        ("A good answer", ["A", "B"], []),
        ("A. Paris", ["A", "B"], ["A"]),
        ("A or B", ["A", "B"], []),
        ("(A or B)", ["A", "B"], []),
        ("It is a B.", ["A", "B"], ["B"]),
        ("4 of 5.", ["4", "5"], []),
        ("I give 4 of 5 points", ["4", "5"], []),
        ("Rating: 4", ["4", "5"], ["4"]),
        ("Rating: 4.5", ["4", "5"], []),
        ("yes", ["yes", "YES"], ["yes", "YES"]),
    ],
)
def test_the_longest_name_counts_and_short_ones_only_before_a_mark(
    answer: str, classes: list[str], names: list[str]
) -> None:
    assert named(answer, classes) == names


@given(st.lists(st.sampled_from(["good", "bad", "so", "it", "is", "very"]), max_size=8))
def test_names_agree_with_a_search_by_expressions(words: list[str]) -> None:
    text = " ".join(words)
    slow = [name for name in ("good", "bad") if re.search(rf"\b{name}\b", text)]
    assert named(text, ["good", "bad"]) == slow


def test_sentences_are_read_if_somebody_says_so_and_nothing_is_guessed() -> None:
    said = ["positive", "The sentiment is positive.", "NEGATIVE!", "It is positive or negative."]
    with pytest.raises(InputError, match=r"positive\.' is not one.*such as 'The sentiment is.*in_sentences=True"):
        read_pool({"predicted": said[:2]}, classes=CLASSES)
    with pytest.raises(InputError, match=r"names 'positive' and 'negative'\. Correct it.*unlisted='wrong'"):
        read_pool({"predicted": said}, classes=CLASSES, in_sentences=True)
    pool = read_pool({"predicted": said}, classes=CLASSES, in_sentences=True, unlisted="wrong")
    assert pool.predicted.tolist() == [0, 0, 1, 3]
    assert pool.choices == tuple(CLASSES)
    assert pool.unanswered
    with pytest.raises(InputError, match=r"in_sentences=True looks for the names.*Pass classes="):
        read_pool({"predicted": said}, in_sentences=True)
    with pytest.raises(InputError, match="in_sentences=True is about a column of answers"):
        read_pool({"p_a": [0.2, 0.9], "p_b": [0.8, 0.1]}, in_sentences=True)


def test_sentences_of_several_models_are_read_too() -> None:
    answers = {"a": ["It is positive.", "negative"], "b": ["positive", "I am sorry, I cannot say."]}
    pool = read_pool(answers, models=["a", "b"], classes=CLASSES, in_sentences=True, never_right=["I am sorry*"])
    assert pool.answers.tolist() == [[0, 0], [1, -1]]


def test_one_message_names_all_ways_to_read_what_is_not_in_the_list() -> None:
    said = ["Positive", "positive", "I am sorry, I cannot.", "It is negative.", "As an AI, I cannot say.", "mixed"]
    with pytest.raises(InputError) as error:
        read_pool({"predicted": said}, classes=CLASSES)
    for words in (
        "lacks 'I am sorry, I cannot.', 'It is negative.', 'As an AI",
        "such as 'It is negative.'",
        "in_sent",
    ):
        assert words in str(error.value)
    assert "never_right=['I am sorry*', 'As an AI*']" in str(error.value)
    with pytest.raises(
        InputError, match=r"rows 5, 6.*looks like a refusal \(1 other too\).*\['As an AI\*', 'I am sorry\*'\]"
    ):
        read_pool({"predicted": ["a", "b", "a", "b", said[2], said[4], "a", "b"]})


def test_a_refusal_does_not_become_a_class_by_itself() -> None:
    refusal = "I’m sorry, but I cannot help with that."
    said = ["good", "bad", refusal, "good", "bad", refusal]
    with pytest.raises(InputError, match=r"rows 3, 6.*looks like a refusal.*never_right=\[\"I'm sorry\*\"\]"):
        read_pool({"predicted": said})
    pattern = refuses(refusal)
    assert pattern is not None
    assert never_right([pattern])(refusal)
    assert read_pool({"predicted": said}, never_right=[pattern]).choices == ("bad", "good")
    assert len(read_pool({"predicted": said}, classes=["good", "bad", refusal]).choices) == 3
    with pytest.raises(InputError, match=r"is not one of the classes.*looks like a refusal.*never_right"):
        read_pool({"predicted": said}, classes=["good", "bad"])


@pytest.mark.parametrize("answer", ["sorry", "Sorry, I", "I am happy", "unfortunately", "apology", "refusal"])
def test_other_answers_are_no_refusals(answer: str) -> None:
    assert refuses(answer) is None


def test_sentences_among_classes_are_noticed() -> None:
    assert named_by_others(["spam", "not spam", "very much spam indeed"]) == ("very much spam indeed", "spam")
    assert named_by_others(["spam", "not spam", "ham"]) is None
