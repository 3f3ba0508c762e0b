"""Answers of language models that are sentences: the class that a sentence names, and refusals.

A sentence that names two classes, or has a word that may deny the one it names, is not read as any. Only words can be
looked for: a sentence that means the opposite in other words is read as the class that it names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fewlabels.io.spellings import bare, straight, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Words with which a sentence may mean the opposite of the class that it names.
_DENIES = {
    *("no", "not", "non", "never", "neither", "nor", "none", "nothing", "anything", "cannot", "without", "lacks"),
    *("hardly", "barely", "scarcely", "rarely", "far", "unlikely", "doubt", "doubtful", "fail", "fails", "except"),
    *("opposite", "false", "wrong", "incorrect", "isnt", "arent", "wasnt", "doesnt", "dont", "didnt", "cant", "wont"),
    *("nicht", "kein", "keine", "keinen", "ne", "pas", "jamais", "ni", "nunca"),
}
# How a language model begins to refuse.
_REFUSES = (
    *("i'm sorry", "i am sorry", "sorry, i", "sorry, but", "i apologize", "i apologise", "my apologies"),
    *("i cannot", "i can't", "i can not", "i'm unable", "i am unable", "i'm not able", "i am not able"),
    *("i won't", "i will not", "i must decline", "i decline", "as an ai", "as a language model", "unfortunately, i"),
    *("es tut mir leid", "ich kann nicht", "je suis désolé", "je ne peux pas", "lo siento"),
)
_LEAST_WORDS = 3  # of a sentence: "sorry" and "not sure" are classes


def named(answer: str, classes: Sequence[str]) -> list[str]:
    """The classes that a sentence names as words of their own, in the order of the list; none if it denies one.

    Case and marks do not matter. The longest name counts where several begin, so that "not spam" is not "spam". A name
    of one character, or a number, counts only at the end or before a mark: "a" is a word too, and 5 may be 5 of 10. If
    it occurs elsewhere, written as in the list, the sentence is not read as any class.

    >>> classes = ["positive", "negative", "not sure"]
    >>> named("The sentiment is **Positive**, I think.", classes), named("It is not positive.", classes)
    (['positive'], [])
    >>> named("Positive or negative? I am not sure.", classes), named("Non-negative", classes)
    (['positive', 'negative', 'not sure'], [])
    >>> named("Answer: A", ["A", "B"]), named("A good one", ["A", "B"]), named("5 of 10", ["5", "4"])
    (['A'], [], [])
    """
    by_form: dict[str, list[str]] = {}
    for name in classes:
        by_form.setdefault(bare(name), []).append(name)
    most = max((len(form.split()) for form in by_form), default=0)
    words, names, rest, at = words_of(answer), set[str](), list[str](), 0
    while at < len(words):
        for k in range(min(most, len(words) - at), 0, -1):
            form = " ".join(word for word, _ in words[at : at + k])
            if form in by_form and (words[at + k - 1][1] or not _is_short(form)):
                names.update(by_form[form])
                at += k
                break
            if form in by_form and any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", answer) for name in by_form[form]):
                return []  # A or B: the first may be an article
        else:
            rest += words[at][0].split()
            at += 1
    if any(word in _DENIES or straight(word).endswith("n't") for word in rest):
        return []
    return [name for name in classes if name in names]


def _is_short(form: str) -> bool:
    """Whether the name of a class may be a word, or part of what is counted."""
    return len(form) == 1 or form.isdecimal()


def refuses(answer: str) -> str | None:
    """The pattern of `never_right` for an answer that looks like a refusal of a language model; None for others.

    >>> refuses("I’m sorry, but I cannot help with that."), refuses("I am happy"), refuses("Sorry, I")
    ("I'm sorry*", None, None)
    """
    plain = " ".join(straight(answer).split())
    start = next((start for start in _REFUSES if plain.casefold().startswith(start)), None)
    return f"{plain[: len(start)]}*" if start and len(plain.split()) >= _LEAST_WORDS else None


def named_by_others(answers: Iterable[str]) -> tuple[str, str] | None:
    """The first answer that is a sentence which names another answer, and that answer; None if there is none.

    A sentence adds at least two words: "desk lamp kit" beside "desk lamp" is another product.

    >>> named_by_others(["good", "bad", "very good", "I would say that it is good."])
    ('I would say that it is good.', 'good')
    >>> named_by_others(["desk lamp", "desk lamp kit"]) is None
    True
    """
    each = list(answers)
    short = [answer for answer in each if len(answer.split()) < _LEAST_WORDS]
    sentences = (answer for answer in each if len(answer.split()) >= _LEAST_WORDS)
    readings = ((sentence, named(sentence, short)) for sentence in sentences)
    alone = ((sentence, names[0]) for sentence, names in readings if len(names) == 1)
    return next((pair for pair in alone if len(pair[0].split()) >= len(pair[1].split()) + 2), None)
