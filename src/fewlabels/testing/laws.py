"""The laws of every part, whatever its family, and the message about a broken law."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from fewlabels import parts
from fewlabels.errors import SpecError
from fewlabels.spec import from_json, to_json
from fewlabels.special import chdtrc

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fewlabels.parts import Part

CHANCE = 1e-6
"""The probability below which a random outcome counts as a broken law."""


def must(holds: bool | np.bool_, law: str) -> None:
    """Raise an AssertionError that names a law, unless it holds."""
    if not holds:
        raise AssertionError(law)


def must_equal(first: ArrayLike, second: ArrayLike, law: str, within: float = 1e-9) -> None:
    """Raise an AssertionError that names a law, unless all numbers are equal (or both NaN), within a tolerance."""
    seen, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    must(seen.shape == other.shape, f"{law}: shape {seen.shape} instead of {other.shape}")
    must(np.allclose(seen, other, rtol=within, atol=within, equal_nan=True), f"{law}: {seen!r} instead of {other!r}")


def must_be_even(observed: NDArray[np.int64], share: NDArray[np.float64], law: str) -> None:
    """Raise an AssertionError if counts are too far from their expected shares to be chance (chi-square)."""
    expected = observed.sum() * share
    must(not observed[expected == 0].any(), law)
    some = expected > 0
    distance = float((((observed - expected) ** 2)[some] / expected[some]).sum())
    must(chdtrc(max(int(some.sum()) - 1, 1), distance) > CHANCE, f"{law}: {observed.tolist()}")


def check_part(part: Part, family: type[Part]) -> None:
    """Check that a part is registered, survives JSON, prints as the code that makes it, and has a phrase for pages."""
    kind = type(part)
    must(isinstance(part, family), f"{part!r} must be a {family.__name__}")
    must(
        parts.kind(kind.__name__) is kind,
        f"{kind.__name__} must be registered, or it cannot be loaded again: put @fl.register above the class",
    )
    try:
        written = json.dumps(to_json(part), allow_nan=False)
        again = from_json(json.loads(written))
    except (SpecError, TypeError, ValueError) as error:
        raise AssertionError(f"{part!r} must survive being saved as JSON: {error}") from error
    must(type(again) is kind and bool(again == part), f"{part!r} must come back from JSON as it was, not as {again!r}")
    must(hash(again) == hash(part), f"{part!r} must have the same hash when it comes back from JSON")
    must(json.dumps(to_json(again)) == written, f"{part!r} must be written the same when it comes back from JSON")
    names = {type(value).__name__: type(value) for value in (getattr(part, f.name) for f in fields(kind))}  # type: ignore[arg-type]
    code = eval(repr(part), {**names, kind.__name__: kind})  # noqa: S307 - what the part itself prints
    must(bool(code == part), f"{part!r} must print as the code that makes it")
    try:
        part.phrase.format(noun="class", nouns="classes")
    except (KeyError, IndexError, ValueError) as error:
        raise AssertionError(f"the phrase of {kind.__name__} may have {{noun}} and {{nouns}} only") from error
