"""The methods that are compared, by name: a prior, a policy and a target, such as informed+thompson+pool."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fewlabels.errors import SpecError
from fewlabels.parts import build, listed, registered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.belief import Target
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior


@dataclass(frozen=True)
class Method:
    """A way to assess: the prior, the policy that chooses where to ask, and the target of the question.

    `method` makes one from its name; a method without such a name is made with this class.

    >>> from fewlabels import Thompson, Uniform
    >>> Method("weak and curious", Uniform(strength=1e-6), Thompson(plays=1)).target
    'population'
    """

    name: str
    prior: Prior
    policy: Policy
    target: Target = "population"


def method(name: str) -> Method:
    """The method with a name: `prior+policy`, or `prior+policy+pool` for the pool's own items as the target.

    Either may be followed by a colon and its first setting: for a prior, the number of labels that it counts for.

    >>> method("informed:10+thompson+pool")
    Method(name='informed:10+thompson+pool', prior=Informed(strength=10.0), policy=Thompson(plays=None), target='pool')
    """
    words = [word.strip() for word in name.split("+")]
    if not 2 <= len(words) <= 3:
        raise _unknown(name, "A method is a prior and a policy, as in informed+thompson")
    prior, policy = _part(name, "prior", words[0]), _part(name, "policy", words[1])
    if len(words) == 3 and words[2] != "pool":
        raise _unknown(name, f"After prior and policy only +pool may follow, not {words[2]!r}")
    return Method(name, prior, policy, "pool" if len(words) == 3 else "population")


def methods_from(given: Sequence[str | Method] | str) -> tuple[Method, ...]:
    """Methods from names (a list, or a text with commas) and methods; each name once."""
    listed = [part for part in given.split(",") if part.strip()] if isinstance(given, str) else list(given)
    made = tuple(
        method(name_or_method.strip()) if isinstance(name_or_method, str) else name_or_method
        for name_or_method in listed
    )
    names = [name_or_method.name for name_or_method in made]
    if not names:
        raise SpecError(f"no method was named. {_known()}")
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise SpecError(f"the method {twice[0]!r} is named twice. Name each once.")
    return made


def _part(name: str, family: Literal["prior", "policy"], word: str) -> Any:
    """The prior or policy that a word of a method's name stands for."""
    kind, _, argument = word.partition(":")
    known = registered(family)
    if kind not in known:
        raise _unknown(name, f"There is no {family} {kind!r}{_near(kind, known)}")
    return build(known[kind], argument, option=f"method {name!r}:")


def _near(word: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _unknown(name: str, why: str) -> SpecError:
    return SpecError(f"unknown method {name!r}. {why}. {_known()}")


def _known() -> str:
    return f"Priors are {listed('prior')}; policies are {listed('policy')}; +pool may follow."
