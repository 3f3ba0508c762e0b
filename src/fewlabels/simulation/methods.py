"""The methods that are compared, by name: a prior, a policy and a target, such as informed+thompson+pool."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.errors import SpecError
from fewlabels.policies import (
    UCB,
    Boundary,
    EpsilonGreedy,
    Greedy,
    Policy,
    Thompson,
    TopTwo,
    UniformGroups,
    UniformItems,
)
from fewlabels.priors import Informed, Learned, Prior, Uniform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fewlabels.belief import Target


def _learned(strength: float | None) -> Learned:
    if strength is not None:
        raise SpecError("the learned prior takes no strength: it is learned too. Write learned, without a number.")
    return Learned()


PRIORS: Mapping[str, Callable[[float | None], Prior]] = {
    "uniform": Uniform,
    "informed": Informed,
    "learned": _learned,
}
POLICIES: Mapping[str, Callable[[], Policy]] = {
    "items": UniformItems,
    "groups": UniformGroups,
    "thompson": Thompson,
    "toptwo": TopTwo,
    "greedy": Greedy,
    "epsilon": EpsilonGreedy,
    "ucb": UCB,
    "boundary": Boundary,
}


@dataclass(frozen=True)
class Method:
    """A way to assess: what is believed beforehand, where is asked, and what the question is about.

    `method` makes one from its name; anything that has no name of its own is made here.

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

    A prior may be followed by its strength, the number of labels that it counts for.

    >>> method("informed:10+thompson+pool")
    Method(name='informed:10+thompson+pool', prior=Informed(strength=10.0), policy=Thompson(plays=None), target='pool')
    """
    parts = [part.strip() for part in name.split("+")]
    if not 2 <= len(parts) <= 3:
        raise _unknown(name, "A method is a prior and a policy, as in informed+thompson")
    kind, colon, strength = parts[0].partition(":")
    if kind not in PRIORS:
        raise _unknown(name, f"There is no prior {kind!r}{_near(kind, PRIORS)}")
    if parts[1] not in POLICIES:
        raise _unknown(name, f"There is no policy {parts[1]!r}{_near(parts[1], POLICIES)}")
    if len(parts) == 3 and parts[2] != "pool":
        raise _unknown(name, f"After prior and policy only +pool may follow, not {parts[2]!r}")
    prior = PRIORS[kind](_strength(name, strength) if colon else None)
    return Method(name, prior, POLICIES[parts[1]](), "pool" if len(parts) == 3 else "population")


def methods_from(given: Sequence[str | Method] | str) -> tuple[Method, ...]:
    """Methods from names (a list, or a text with commas) and methods; each name once."""
    listed = [part for part in given.split(",") if part.strip()] if isinstance(given, str) else list(given)
    made = tuple(method(one.strip()) if isinstance(one, str) else one for one in listed)
    names = [one.name for one in made]
    if not names:
        raise SpecError(f"no method was named. {_known()}")
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise SpecError(f"the method {twice[0]!r} is named twice. Name each once.")
    return made


def _strength(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _unknown(name, f"The strength of a prior is a number, as in informed:10, not {text!r}") from None


def _near(word: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _unknown(name: str, why: str) -> SpecError:
    return SpecError(f"unknown method {name!r}. {why}. {_known()}")


def _known() -> str:
    return f"Priors are {', '.join(PRIORS)}; policies are {', '.join(POLICIES)}; +pool may follow."
