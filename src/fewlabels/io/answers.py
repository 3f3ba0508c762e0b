"""Predicted classes, read from one column: the names of the classes, and the position of each answer."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from fewlabels import pool as pools
from fewlabels.checks import is_count, number_of
from fewlabels.errors import Argument, InputError, Piece, Place
from fewlabels.io.columns import as_text
from fewlabels.io.finder import MOST_SCORE_COLUMNS
from fewlabels.io.never_right import check_classes, never_right
from fewlabels.io.scores import vector_width
from fewlabels.io.sentences import named, refuses
from fewlabels.io.spellings import alike, bare, readings
from fewlabels.wording import counted, listed, some_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from fewlabels.io.finder import Roles
    from fewlabels.io.manner import Manner
    from fewlabels.io.source import Source

_LOOKED_AT = 200  # how many answers that are not in the list are examined for a way to read them


def classes_and_predicted(
    source: Source, roles: Roles, table: pa.Table | None, manner: Manner, *, gaps: bool = False
) -> tuple[tuple[str, ...], NDArray[np.int32] | None]:
    """The class names and, if a column has the predicted classes, their positions, shape (items,).

    A missing answer has the position -1. With `gaps` an answer may be missing, and one class is enough: other models
    may name others. With `manner.unlisted` an answer that is not in the list of classes counts as none, and so does one
    that is never right. In any spelling, an answer is the class in the list from which it differs only in case, spaces
    and punctuation; without a list, the commonest spelling of each answer is its class. A sentence is the class it
    names.
    """
    known, unlisted, never = roles.classes, manner.unlisted, manner.never
    if roles.vector and known is None:
        width = vector_width(source, roles.scores[0])
        if not 2 <= width <= MOST_SCORE_COLUMNS:
            raise InputError(
                f"{width:,} scores. One is needed per class, and 2 to {MOST_SCORE_COLUMNS:,} classes are allowed.",
                at=source.at(1, roles.scores[0]),
            )
        known = tuple(str(k) for k in range(width))
    if roles.predicted is None or table is None:
        assert known is not None
        return known, None
    name, is_never = roles.predicted, never_right(never)
    text = _in_one_form(_answers(source, name, table, is_never, gaps=gaps, unlisted=unlisted), known)
    encoded = text.dictionary_encode()
    distinct = [str(value) for value in encoded.dictionary.to_pylist()]
    if known is None:
        _check_listed(manner)
        known = in_order(_commonest(encoded) if manner.any_spelling else distinct)
        _check_alike(source, name, text, known)
        _check_refusals(source, name, text, known)
    every, known = known, tuple(name for name in known if not is_never(name))
    if not gaps:
        check_classes(known, never)
    if len(known) < 2 and not gaps:
        raise InputError(
            f"all items are predicted as {known[0]!r}, so the other classes are unknown. Pass ",
            Argument("classes"),
            " with the names of all classes.",
            at=source.at(column=name),
        )
    _check_spaces(source.at(column=name), known)
    left = {name: k for k, name in enumerate(known)}
    places = _class_places(distinct, every)
    if manner.loose:
        places = _meant(source.at(column=name), distinct, every, manner) | places
    place = {value: left.get(every[k], -1) for value, k in places.items()}
    code = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    if (strange := [value for value in distinct if place.get(value) is None]) and not unlisted:
        rows = np.flatnonzero(code == distinct.index(strange[0])) + 1
        raise _unknown_class(source.at(rows.tolist(), name), strange, known, manner)
    return known, np.array([*(place.get(value, -1) for value in distinct), -1], dtype=np.int32)[code]


def _check_listed(manner: Manner) -> None:
    """Refuse what needs a list of classes where there is none."""
    if manner.unlisted:
        raise InputError(
            Argument("unlisted", "wrong"),
            " is about answers that are not in the list of classes, and there is no list. Pass ",
            Argument("classes"),
            ".",
        )
    if manner.in_sentences:
        raise InputError(
            Argument("in_sentences", value=True),
            " looks for the names of the classes in the answers, and there is no list of them. Pass ",
            Argument("classes"),
            ".",
        )


def _commonest(answers: pa.DictionaryArray[Any, Any]) -> list[str]:
    """The commonest of the spellings of each answer; of two that are equally common, the first in the file.

    >>> _commonest(pa.array(["No.", "yes", "no", "Yes", "yes", "no"]).dictionary_encode())
    ['no', 'yes']
    """
    counts = pc.value_counts(answers.indices.drop_null())
    often = dict(zip(*(counts.field(k).to_pylist() for k in (0, 1)), strict=True))
    best: dict[str, tuple[int, str]] = {}
    for place, answer in enumerate(map(str, answers.dictionary.to_pylist())):
        count = often.get(place, 0)
        if count > best.get(form := bare(answer), (0, ""))[0]:
            best[form] = (count, answer)
    return [answer for _, answer in best.values()]


def _meant(at: Place, distinct: Sequence[str], classes: tuple[str, ...], manner: Manner) -> dict[str, int]:
    """The position of the class that each answer means, in any spelling or sentence. Unclear answers are left out.

    An answer whose spelling could be that of two classes is refused.
    """
    spelt = readings(distinct, classes)
    for answer, meant in spelt.items():
        if len(meant) > 1:
            raise InputError(
                f"{answer!r} may be {meant[0]!r} or {meant[1]!r}: these classes differ only in case, spaces or "
                "punctuation. Correct the answer; or keep one of the two in ",
                Argument("classes"),
                "; or leave out ",
                Argument("in_sentences" if manner.in_sentences else "any_spelling", value=True),
                ".",
                at=at,
            )
    if manner.in_sentences:
        spelt = {answer: named(answer, classes) for answer in distinct if answer not in spelt} | spelt
    position = {name: k for k, name in enumerate(classes)}
    return {answer: position[meant[0]] for answer, meant in spelt.items() if len(meant) == 1}


def _answers(
    source: Source, name: str, table: pa.Table, is_never: Callable[[str], bool], *, gaps: bool, unlisted: bool
) -> pa.Array[Any]:
    """The answers as text; an answer that is absent or never right is missing."""
    # Spaces around a class are a mistake in the file, and labels are read without them too.
    text = pc.utf8_trim_whitespace(as_text(source, name, table[name]).combine_chunks())
    text = pc.if_else(pc.is_in(text, pa.array(["", *([pools.NO_ANSWER] if gaps or unlisted else [])])), None, text)
    if text.null_count and not (gaps or unlisted or is_never("")):
        raise InputError(
            "the predicted class is missing. Fill it in; or, if the classifier gave no answer there, count it as "
            "wrong with ",
            Argument("never_right", [""]),
            ".",
            at=source.at(_gaps(text), name),
        )
    refused = [value for value in text.unique().to_pylist() if value is not None and is_never(str(value))]
    return pc.if_else(pc.is_in(text, pa.array(refused)), None, text) if refused else text


def _in_one_form(text: pa.Array[Any], known: Sequence[str] | None) -> pa.Array[Any]:
    """The answers, with those merged that differ only in whether an accent is a character of its own."""
    encoded = text.dictionary_encode()
    distinct = [str(value) for value in encoded.dictionary.to_pylist()]
    meant = one_form(distinct, known)
    if not meant:
        return text
    merged = pa.array([meant.get(value, value) for value in distinct], encoded.dictionary.type)
    return merged.take(encoded.indices)


def one_form(answers: Sequence[str], known: Sequence[str] | None = None) -> dict[str, str]:
    """The answers to rewrite, so that none differ only in whether an accent is a character of its own.

    They are written as in the list of classes, if there is one; otherwise without such characters. An answer that
    occurs in one form only stays as it is.

    >>> composed, apart = "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"
    >>> one_form(["tea", apart, composed]) == {apart: composed}, one_form(["tea", apart])
    (True, {})
    >>> one_form([composed], ["tea", apart]) == {composed: apart}
    True
    """
    if all(map(str.isascii, answers)):
        return {}
    forms: dict[str, set[str]] = {}
    for name in answers if known is None else known:
        forms.setdefault(normalize("NFC", name), set()).add(name)
    if known is None:
        return {name: form for form, names in forms.items() if len(names) > 1 for name in names if name != form}
    listed_so = set(known)
    meant = {name: forms.get(normalize("NFC", name), set()) for name in answers if name not in listed_so}
    return {name: next(iter(names)) for name, names in meant.items() if len(names) == 1}


def in_order(classes: Iterable[str]) -> tuple[str, ...]:
    """Classes in the order that they have when nobody gives one: sorted, and as numbers if all are numbers.

    >>> in_order(["10", "9"]), in_order(["b", "a", "10"])
    (('9', '10'), ('10', 'a', 'b'))
    """
    names = list(classes)
    if all(map(is_whole, names)):
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names))


def _gaps(text: pa.Array[Any]) -> list[int]:
    rows: list[int] = (np.flatnonzero(text.is_null().to_numpy(zero_copy_only=False)) + 1).tolist()
    return rows


def _check_spaces(at: Place, classes: tuple[str, ...]) -> None:
    """Refuse class names that differ only in the spaces around them: to people they are one class."""
    seen: dict[str, str] = {}
    for name in classes:
        other = seen.setdefault(name.strip(), name)
        if other != name:
            raise InputError(f"{other!r} and {name!r} differ only in spaces. Take the spaces out of the column.", at=at)


def _check_alike(source: Source, column: str, predicted: pa.Array[Any], classes: tuple[str, ...]) -> None:
    """Refuse 'Billing ' beside 'billing', probably a mistake; if it is not, the caller can name the classes."""
    pair = alike(classes)
    if pair is None:
        return
    where = {
        spelling: np.flatnonzero(pc.equal(predicted, pa.scalar(spelling)).fill_null(False)) + 1 for spelling in pair
    }
    rare, usual = sorted(where, key=lambda spelling: len(where[spelling]))
    raise InputError(
        f"{rare!r} differs from {usual!r}, which occurs {len(where[usual]):,}×, only in case or spaces. "
        "To read both as one class, use ",
        Argument("any_spelling", value=True),
        ". If they are two classes, name all classes with ",
        Argument("classes"),
        ".",
        at=source.at(where[rare].tolist(), column),
    )


def _check_refusals(source: Source, column: str, predicted: pa.Array[Any], classes: tuple[str, ...]) -> None:
    """Refuse to take a language model's refusal for a class; if it is one, the caller can name the classes.

    If nearly every answer is different, the answers are not classes at all, and something else is wrong.
    """
    refusals = [name for name in classes if refuses(name)]
    if not refusals or 2 * len(classes) > len(predicted):
        return
    rows = np.flatnonzero(pc.is_in(predicted, pa.array(refusals))) + 1
    others = f" ({counted(len(refusals) - 1, 'other')} too)" if len(refusals) > 1 else ""
    raise InputError(
        f"{refusals[0]!r} looks like a refusal{others}, and would be a class that people can choose. Count "
        f"{'such answers' if others else 'it'} as wrong, with ",
        Argument("never_right", _patterns(refusals)),
        ". If it is a class, name all classes with ",
        Argument("classes"),
        ".",
        at=source.at(rows.tolist(), column),
    )


def _patterns(answers: Iterable[str]) -> list[str]:
    """The patterns of the refusals among some answers, each once.

    >>> _patterns(["I'm sorry, but no.", "spam", "I’m Sorry, I am not sure.", "As an AI, I cannot say."])
    ["I'm sorry*", 'As an AI*']
    """
    patterns = [pattern for pattern in map(refuses, answers) if pattern]
    return list({pattern.casefold(): pattern for pattern in reversed(patterns)}.values())[::-1]


def _class_places(values: list[str], classes: tuple[str, ...]) -> dict[str, int]:
    """Map each value of the column, a class name or a position, to its position."""
    names = {name: k for k, name in enumerate(classes)}
    if all(map(is_whole, values)) and _are_positions(classes) and not all(value in names for value in values):
        return {value: int(value) for value in values if 0 <= int(value) < len(classes)}
    return {value: names[value] for value in values if value in names}


def _are_positions(classes: tuple[str, ...]) -> bool:
    """Whether whole numbers can only be positions: no class is named by a number, or each by its own ("000", "001")."""
    return not any(map(is_whole, classes)) or all(is_whole(name) and int(name) == k for k, name in enumerate(classes))


def is_whole(text: str) -> bool:
    """Whether a text is a whole number, such as "7" or "-1"."""
    return is_count(text.removeprefix("-"))


def _is_same_number(one: str, other: str) -> bool:
    return number_of(one) is not None and number_of(one) == number_of(other)


def _unknown_class(at: Place, strange: Sequence[str], classes: tuple[str, ...], manner: Manner) -> InputError:
    value, *others = strange
    if is_whole(value) and _are_positions(classes):
        return InputError(
            f"{value} is not a position in the list of classes, which has 0 to {len(classes) - 1:,}. "
            "Correct it, or complete ",
            Argument("classes"),
            ".",
            at=at,
        )
    near = [name for name in classes if _is_same_number(name, value)] or (
        [] if number_of(value) is not None else difflib.get_close_matches(value, classes, 1)
    )
    hint = f"Did you mean {near[0]!r}? " if near else ""
    names = named(value, classes)
    what = f"is not one of the classes {some_of(classes)}"
    if manner.in_sentences:
        what = (
            f"names {listed(list(map(repr, names)))}" if names else f"does not clearly name one of {some_of(classes)}"
        )
    too = f" The list lacks {some_of(others, 3)} too." if others and not manner.in_sentences else ""
    too = f" The same holds for {some_of(others, 3)}." if others and manner.in_sentences else too
    return InputError(
        f"{value!r} {what}.{too} {hint}Correct it, or add it to ",
        Argument("classes"),
        "; or count every answer that is not in the list as wrong, with ",
        Argument("unlisted", "wrong"),
        *_reading(strange, classes, manner),
        ".",
        at=at,
    )


def _reading(strange: Sequence[str], classes: tuple[str, ...], manner: Manner) -> list[Piece]:
    """How answers that are not in the list could be read, if possible: one message about all wrong answers."""
    some, pieces = strange[:_LOOKED_AT], list[Piece]()
    spelt = {value for value, meant in readings(some, classes).items() if len(meant) == 1}
    sentence = next((value for value in some if value not in spelt and len(named(value, classes)) == 1), None)
    if sentence is not None and not manner.in_sentences:
        pieces += [f"; or read a sentence that names one class, such as {sentence!r}, as that class, with "]
        pieces += [Argument("in_sentences", value=True)]
    elif spelt:
        pieces += ["; or ignore case and punctuation, with ", Argument("any_spelling", value=True)]
    if patterns := _patterns(some):
        pieces += ["; or count what looks like a refusal as wrong, with ", Argument("never_right", patterns)]
    return pieces
