"""Answers in several spellings: the same answer if somebody says so, and accents in every case."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabels.errors import InputError
from fewlabels.io import read_pool
from fewlabels.io.labels import as_classes
from fewlabels.io.spellings import alike, as_typed, bare, readings


def test_case_and_marks_of_answers_do_not_matter_if_somebody_says_so() -> None:
    said = ["yes", "No.", "**YES**", " no", "maybe"]
    with pytest.raises(InputError, match=r"'No\.' is not one of the classes.*any_spelling=True"):
        read_pool({"predicted": said}, classes=["yes", "no"])
    pool = read_pool({"predicted": said}, classes=["yes", "no"], any_spelling=True, unlisted="wrong")
    assert [pool.classes[k] for k in pool.predicted] == ["yes", "no", "yes", "no", "(no answer)"]
    both = read_pool({"a": {"predicted": said[:4]}, "b": {"predicted": ["NO", "yes!", "no", "Yes"]}},
                     classes=["yes", "no"], any_spelling=True)  # fmt: skip
    assert both.answers.T.tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    # A grade with a sign is another grade, and what could be two classes is none of them.
    with pytest.raises(InputError, match="'A-' is not one"):
        read_pool({"predicted": ["A-", "B"]}, classes=["A", "B"], any_spelling=True)
    for unlisted in ("refuse", "wrong"):
        with pytest.raises(InputError, match=r"'no!' may be 'no' or 'No'.*leave out any_spelling"):
            read_pool({"predicted": ["no!", "No"]}, classes=["no", "No"], any_spelling=True, unlisted=unlisted)
    # Without a list, the commonest spelling is the class.
    found = read_pool({"predicted": ["Bad.", "GOOD", "bad", "Good", "Good", "bad"]}, any_spelling=True)
    assert (found.classes, found.predicted.tolist()) == (("Good", "bad"), [1, 0, 1, 0, 0, 1])
    grades = read_pool({"predicted": ["A-", "a", "A", "A"]}, any_spelling=True)
    assert (grades.classes, grades.predicted.tolist()) == (("A", "A-"), [1, 0, 0, 0])
    with pytest.raises(InputError, match="there is no list"):
        read_pool({"predicted": said}, unlisted="wrong")
    # A point within a number belongs to it, and <50 is not >50.
    for answer, hint in (("1.0", r"Did you mean '1'\?"), (".2", "Correct it"), (">10", "")):
        with pytest.raises(InputError, match=f"'{answer}' is not one of the classes.*{hint}") as refused:
            read_pool({"predicted": [answer, "10", "2"]}, classes=["1", "10", "2"], any_spelling=True)
        assert "any_spelling" not in str(refused.value)
    assert alike(["1.0", "10"], marks=False) is alike(["<50K", ">50K"], marks=False) is None
    mails = read_pool({"predicted": ["not_spam", "Not-Spam", "<spam>"]}, classes=["spam", "not spam"],
                      any_spelling=True)  # fmt: skip
    assert mails.predicted.tolist() == [1, 1, 0]


def test_letters_with_accents_are_the_same_however_they_are_coded() -> None:
    one, apart = "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"
    pool = read_pool({"predicted": [apart, one, "tea"]})
    assert (pool.classes, pool.predicted.tolist()) == ((one, "tea"), [0, 0, 1])
    assert read_pool({"predicted": [apart, "tea", apart]}).classes == (apart, "tea")  # nothing to join
    listed = read_pool({"predicted": [apart, one, "tea"]}, classes=["tea", apart])
    assert (listed.classes, listed.predicted.tolist()) == (("tea", apart), [1, 1, 0])
    assert read_pool({"predicted": [apart, one]}, classes=[one, apart]).predicted.tolist() == [1, 0]
    both = read_pool({"a": {"predicted": [one, "tea"]}, "b": {"predicted": [apart, "tea"]}})
    assert (both.classes, both.answers.tolist()) == ((one, "tea"), [[0, 0], [1, 1]])
    assert alike([one.upper(), apart]) == (one.upper(), apart)


def test_any_spelling_is_about_answers() -> None:
    scores = {"p_yes": [0.9, 0.2], "p_no": [0.1, 0.8]}
    with pytest.raises(InputError, match=r"any_spelling=True is about a column of answers.*predicted="):
        read_pool(scores, any_spelling=True)
    with pytest.raises(InputError, match="any_spelling=True is about a column of answers"):
        read_pool({"a": scores, "b": scores}, any_spelling=True)
    answers = {"predicted": ["YES", "no."]}
    mixed = read_pool({"a": scores, "b": answers}, any_spelling=True, classes=["yes", "no"])
    assert mixed.answers.tolist() == [[0, 0], [1, 1]]
    assert read_pool({**scores, "said": ["YES", "no."]}, scores="p_*", predicted="said", any_spelling=True).classes
    with pytest.raises(InputError, match=r"only in case or spaces.*any_spelling=True"):
        read_pool({"predicted": ["NO", "No", "yes"]})


# --- attacks


@pytest.mark.parametrize(
    ("answer", "other"),
    [
        ("!spam", "spam"),
        ("A*", "A"),
        ("**A***", "A"),
        ("A-", "A"),
        ("A+", "A"),
        ("-1", "1"),
        ("(-1)", "1"),
        ("!-1", "-1"),
        ("2*3*4", "234"),
        (".net", "net"),
        (":-)", "-"),
        (":-)", ":-("),
        ("vector<int>", "vectorint"),
        ("<50", "50"),
        (">50", "50"),
        ("C#", "C"),
        ("C++", "C"),
        ("1.0", "10"),
        ("1,5", "15"),
        ("50%", "50"),
        ("~spam", "spam"),
        ("re-sign", "resign"),
        ("résumé", "resume"),
        ("ı", "i"),
        ("5²", "52"),
        ("½", "12"),
    ],
)
def test_what_can_mean_another_class_is_not_read_as_this_one(answer, other) -> None:
    assert not readings([answer], [other, "something else"])
    assert as_typed(answer) not in as_classes([other, "something else"])  # nor when it is told as a label


@pytest.mark.parametrize(
    "written",
    [
        *("Wild Dog", "WILD  DOG", "wild_dog", "Wild-dog", "wild\N{NO-BREAK SPACE}dog", "\N{ZERO WIDTH SPACE}wild dog"),
        *("**wild dog**", "*Wild dog*.", "* wild dog", "`wild dog`", '"Wild dog."', "“wild dog”", "«wild dog»"),
        *("<wild_dog>", "(wild dog)", "[wild dog]!", "wild dog…", "wild dog。", "「wild dog」", ": wild dog"),
        "\N{ZERO WIDTH NO-BREAK SPACE}wild dog",
    ],
)  # fmt: skip
def test_what_language_models_put_around_an_answer(written) -> None:
    pool = read_pool({"predicted": [written, "cat"]}, classes=["cat", "wild dog"], any_spelling=True)
    assert pool.predicted.tolist() == [1, 0]


words = st.text(min_size=1, max_size=8).filter(lambda text: text.strip() and "\0" not in text)


@given(st.lists(words, min_size=2, max_size=6))
def test_answers_that_are_in_the_list_are_never_read_otherwise(names) -> None:
    """Whatever classes collapse to one spelling: an answer that is written exactly as a class is that class."""
    try:
        exact = read_pool({"predicted": names}, classes=sorted(set(names)))
    except InputError:
        return  # the list itself is refused, such as classes that differ only in the spaces around them
    loose = read_pool({"predicted": names}, classes=sorted(set(names)), any_spelling=True)
    assert loose.predicted.tolist() == exact.predicted.tolist()


@given(words, words)
def test_any_text_is_read_as_the_one_class_that_it_can_be_or_refused(answer, name) -> None:
    if name.strip() == "other" or as_typed(name) == as_typed("other"):
        return
    try:
        pool = read_pool({"predicted": [answer, "other"]}, classes=[name, "other"], any_spelling=True)
    except InputError:
        return
    meant = pool.classes[pool.predicted[0]]
    same = bare(answer) == bare(meant) or answer.strip() == meant.strip() or answer.strip().isdecimal()
    assert same, (answer, meant)


@given(words)
def test_to_reduce_a_name_twice_changes_nothing_more(name) -> None:
    assert as_typed(as_typed(name)) == as_typed(name)


@pytest.mark.parametrize("end", ["", "yes", " yes\n"])
def test_an_answer_of_stars_alone_takes_no_time(end: str) -> None:
    began = time.process_time()
    readings(["*" * 40_000 + end], ["yes", "no"])
    assert time.process_time() - began < 1
