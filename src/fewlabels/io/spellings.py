"""Ways of writing one name: what somebody in a hurry types, and what language models put around an answer.

Two names must never become one if they can mean two things: A- is not A, -1 is not 1, !spam is not spam.
"""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A hyphen at the end of a name is a grade, and before a number a sign.
_JOINTS = re.compile(r"_|(?<=[^\W_])-(?=[^\W_])")
# Characters without width, and without meaning in or after a word: the byte order mark, places where a line may break,
# directions of writing, and whether a character is drawn in colours.
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u2060\u200e\u200f\ufe0e\ufe0f"))
# Marks at the ends of an answer or beside a space. Within a word they belong to it, as the points of 1.0 and .5 do, and
# so do those before a word that change it: !spam is not spam, and .net is not net. Stars count only in pairs, since A*
# is a grade; and < and > only around a whole answer, since <50 is not >50.
_PAIRS = r"""'"`´()\[\]{}“”„‟‘’‚‛«»‹›（）【】「」『』《》〈〉"""
_BEFORE = re.compile(rf"(?<!\w)[{_PAIRS}*;:¡¿]+")
_AFTER = re.compile(rf"(?<!^)[{_PAIRS};:.,!?…。，、！？；：]+(?!\w)")
_STARS = re.compile(r"(?<!\w)(\*{1,20})([^*]+)\1(?!\w)")  # with \*+ an answer that is only stars would take for ever
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_WHOLE = re.compile(r"-?[0-9]+\.0+")
_BRACKETS = re.compile(r"<([^<>]*)>")


def written(value: object) -> str:
    """An id or a class as text, as in a column: 7.0 is "7", since a gap makes floats of whole numbers.

    >>> written("cat"), written(7.0), written(0.5), written(True)
    ('cat', '7', '0.5', 'True')
    """
    is_whole = isinstance(value, Real) and not isinstance(value, Integral) and float(value).is_integer()
    return str(int(value) if is_whole else value)  # type: ignore[call-overload]


def whole(name: str) -> str:
    """A whole number without the .0 that pandas writes where a column has a gap; any other name as it is.

    >>> whole("7.0"), whole("7.5"), whole("v1.0")
    ('7', '7.5', 'v1.0')
    """
    return name.partition(".")[0] if _WHOLE.fullmatch(name) else name


def plain(name: str) -> str:
    """Remove case and needless spaces, and make each letter with an accent one character.

    >>> plain(" Wild  DOG"), plain("Cafe\N{COMBINING ACUTE ACCENT}")
    ('wild dog', 'café')
    """
    return normalize("NFC", " ".join(normalize("NFC", name).split()).casefold())


def as_typed(name: str) -> str:
    """Reduce a class name to what somebody in a hurry types, without case, and with spaces for _ and the - of a word.

    >>> as_typed("wild_dog"), as_typed("Wild-Dog"), as_typed("A-"), as_typed("-1")
    ('wild dog', 'wild dog', 'a-', '-1')
    """
    return plain(_JOINTS.sub(" ", name))


def bare(name: str) -> str:
    """Reduce an answer further, by the marks around its words. One that has no other characters stays as it is.

    >>> [bare(name) for name in ("**Yes.**", "<not_spam>", "“Yes”", "A*", ".5", ":-)")]
    ['yes', 'not spam', 'yes', 'a*', '.5', ':-)']
    """
    words = _without_marks(_STARS.sub(r"\2", normalize("NFC", name.translate(_INVISIBLE)).strip()))
    if whole := _BRACKETS.fullmatch(words):
        words = _without_marks(whole[1])
    return as_typed(words if any(letter.isalnum() or not letter.isascii() for letter in words) else name)


def words_of(answer: str) -> list[tuple[str, bool]]:
    """The words of an answer, each reduced as by `bare`, and whether it ends there or a mark follows.

    Words with a hyphen or _ between them are one: "wild-dog" is "wild dog", and no "dog".

    >>> words_of("It is a **Wild-Dog**, surely")
    [('it', False), ('is', False), ('a', False), ('wild dog', True), ('surely', True)]
    """
    words = _STARS.sub(r"\2.", normalize("NFC", answer.translate(_INVISIBLE))).split()
    last = len(words) - 1
    reduced = ((bare(word), k == last or not word[-1].isalnum()) for k, word in enumerate(words))
    return [(word, ends) for word, ends in reduced if word]


def straight(text: str) -> str:
    """Write a text with straight quotes.

    >>> straight("I’m sure")
    "I'm sure"
    """
    return text.translate(_QUOTES)


def _without_marks(words: str) -> str:
    return _AFTER.sub("", _BEFORE.sub("", words)).strip()


def alike(classes: Iterable[str], *, marks: bool = True) -> tuple[str, str] | None:
    """The first two classes that differ only in case or spaces; None if there are no such two.

    Without `marks`, points, quotes and the like do not count as a difference either, since language models add them.

    >>> alike(["no", "Yes", "yes"]), alike(["no", "No."]), alike(["no", "No."], marks=False)
    (('Yes', 'yes'), None, ('no', 'No.'))
    """
    seen: dict[str, str] = {}
    for name in classes:
        other = seen.setdefault(plain(name) if marks else bare(name), name)
        if other != name:
            return other, name
    return None


def readings(answers: Iterable[str], classes: Sequence[str]) -> dict[str, list[str]]:
    """The classes from which an answer differs only in case, spaces and punctuation, without answers that are classes.

    >>> readings(["no", "Yes.", "**NO**", "maybe"], ["yes", "no"])
    {'Yes.': ['yes'], '**NO**': ['no']}
    >>> readings(["1.0", ".5", "1.", "NO"], ["10", "5", "1", "no", "No"])
    {'1.': ['1'], 'NO': ['no', 'No']}
    """
    by_form: dict[str, list[str]] = {}
    for name in classes:
        by_form.setdefault(bare(name), []).append(name)
    known = set(classes)
    meant = {answer: by_form.get(bare(answer), []) for answer in answers if answer not in known}
    return {answer: names for answer, names in meant.items() if names}
