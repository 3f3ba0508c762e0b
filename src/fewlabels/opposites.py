"""Pairs of words of which one is good or positive: yes and no, pass and fail, positive and negative.

This is the only list of such words: it says what a judge's verdicts mean, which of two classes is positive, and what
the other class is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Verdicts: the word that passes, and the one that fails.
_VERDICTS = {
    "pass": "fail", "passed": "failed", "yes": "no", "y": "n", "true": "false", "correct": "incorrect",
    "right": "wrong", "good": "bad", "ok": "not ok", "acceptable": "unacceptable", "accept": "reject",
    "accepted": "rejected", "success": "failure", "valid": "invalid", "faithful": "unfaithful", "1": "0",
}  # fmt: skip
# Of these, the ways of writing true and false: a column may have several of them, and they are no grades.
_PLAIN = ("pass", "passed", "yes", "y", "true", "1")
# Verdicts that may as well be the answer to a question, and say nothing about how good something is.
_SAYS_SO = ("yes", "y", "true", "1")
# What is positive need not be good: a positive test, a negative review.
_PAIRS = _VERDICTS | {"positive": "negative", "pos": "neg"}


def is_passing(word: str) -> bool:
    """Whether a word is a verdict that means pass.

    >>> is_passing("Correct "), is_passing("positive")
    (True, False)
    """
    return word.strip().casefold() in _VERDICTS


def passing(verdicts: Sequence[str]) -> str | None:
    """The one of some verdicts that means pass; None if the words do not say. Numbers say it only of two.

    >>> passing(["Fail", "Pass", "unsure"]), passing(["0", "1"]), passing(["0", "1", "2"]), passing(["cat", "dog"])
    ('Pass', '1', None, None)
    """
    plain = {verdict: verdict.strip().casefold() for verdict in verdicts}
    worded = {verdict: word for verdict, word in plain.items() if len(plain) == 2 or not word.isdecimal()}
    good = [verdict for verdict in worded if is_passing(verdict)]
    fails = _VERDICTS.values()
    return good[0] if len(good) == 1 and any(word in fails for word in worded.values()) else None


def is_grade(verdicts: Sequence[str]) -> bool:
    """Whether some verdicts say how good something is, as right and wrong do, and not what is so, as yes and no do.

    >>> is_grade(["wrong", "Right"]), is_grade(["yes", "no"]), is_grade(["cat", "dog"])
    (True, False, False)
    """
    good = passing(verdicts)
    return good is not None and good.strip().casefold() not in _SAYS_SO


def positive_of(classes: Sequence[str]) -> str | None:
    """The class that counts as positive, of two whose names show it; else None.

    >>> positive_of(("no", "yes")), positive_of(("0", "1")), positive_of(("cat", "dog"))
    ('yes', '1', None)
    """
    named = {name.strip().casefold(): name for name in classes}
    positive = [named[yes] for yes, no in _PAIRS.items() if len(classes) == 2 and {yes, no} == set(named)]
    return positive[0] if positive else None


def negative_of(positive: str) -> str:
    """The name of the other class, if nothing else says it.

    >>> negative_of("Yes"), negative_of("1"), negative_of("spam")
    ('No', '0', 'not spam')
    """
    other = _PAIRS.get(positive.casefold())
    if other is None:
        return f"not {positive}"
    return other.capitalize() if positive[0].isupper() else other


def opposite(word: str) -> str | None:
    """The opposite of a verdict, in the same case; None for any other word.

    >>> opposite("Pass"), opposite("fail"), opposite("FALSE"), opposite("unsure")
    ('Fail', 'pass', 'TRUE', None)
    """
    both = _VERDICTS | {no: yes for yes, no in _VERDICTS.items()}
    other = both.get(word.strip().casefold())
    if other is None:
        return None
    return other.upper() if word.isupper() else other.capitalize() if word[:1].isupper() else other


def side(word: str) -> bool | None:
    """Whether a word is a way of writing true or of writing false; None if it is neither, or may be a grade.

    >>> side("Yes"), side("FAILED"), side("0"), side("acceptable"), side("2")
    (True, False, False, None, None)
    """
    plain = word.strip().casefold()
    if plain in _PLAIN:
        return True
    return False if plain in {_VERDICTS[yes] for yes in _PLAIN} else None
