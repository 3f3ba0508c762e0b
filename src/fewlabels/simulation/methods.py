"""The methods that are compared, by name: a prior, a policy and a target, such as informed+thompson+pool."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fewlabels.checks import number_in
from fewlabels.errors import InputError, SpecError, described
from fewlabels.parts import build, names_of, registered
from fewlabels.policies import default_policy
from fewlabels.policies.anchors import ANCHOR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.belief import Target
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task


@dataclass(frozen=True)
class Method:
    """A way to assess: the prior, the policy that chooses where to ask, the target of the question, and the anchors.

    `anchor` is the share of steps that take items at random from the whole pool, whatever the policy says. A `usual`
    method asks as an assessment does if nobody names a policy: with the default anchors, unless it has a share of its
    own, and in strips of confidence if all items are one group. `method` makes a method from its name; use this class
    for a method that has no such name.

    >>> from fewlabels import Thompson, Uniform
    >>> Method("weak and curious", Uniform(strength=1e-6), Thompson(plays=1)).target
    'population'
    """

    name: str
    prior: Prior
    policy: Policy
    target: Target = "population"
    anchor: float = 0.0
    usual: bool = False


def method(name: str, task: Task | None = None) -> Method:
    """The method with a name: `prior+policy`, or `prior+policy+pool` for the pool's own items as the target.

    Either may be followed by a colon and its first setting: for a prior, the number of labels that it counts for.
    `+anchor`, or `+anchor:0.2`, at the end takes some items at random from the whole pool. The policy `default` is the
    one that an assessment of the task uses if nobody names a policy.

    >>> method("learned+boundary+pool+anchor").policy, method("learned+boundary+pool+anchor").anchor
    (Boundary(), 0.1)
    >>> import fewlabels as fl
    >>> method("learned+default", fl.Identify(fl.Accuracy(), lowest=3)).policy
    Boundary()
    """
    words = [word.strip() for word in name.split("+")]
    if len(words) < 2:
        raise _unknown(name, "A method is a prior and a policy, as in informed+thompson")
    prior, rest, usual = _part(name, "prior", words[0]), words[2:], words[1] == "default"
    policy = default_policy(task, prior) if usual and task is not None else _part(name, "policy", words[1])
    target: Target = "pool" if rest[:1] == ["pool"] else "population"
    rest = rest[target == "pool" :]
    anchor = _anchor(name, rest.pop(0)) if rest and rest[0].partition(":")[0] == "anchor" else 0.0
    if rest:
        raise _unknown(name, f"After prior and policy only +pool and +anchor may follow, not {rest[0]!r}")
    return Method(name, prior, policy, target, anchor, usual)


def _anchor(name: str, word: str) -> float:
    """The share of anchors that a word such as anchor:0.2 stands for."""
    share = word.partition(":")[2]
    try:
        return number_in(float(share) if share else ANCHOR, "The share", high=1, ends=True)
    except (ValueError, InputError):
        raise _unknown(name, f"The share of anchors is a number between 0 and 1, not {share!r}") from None


def methods_from(given: Sequence[str | Method] | str, task: Task | None = None) -> tuple[Method, ...]:
    """Methods for a task from names (a list, or a text with commas) and methods; each name once."""
    listed = [part for part in given.split(",") if part.strip()] if isinstance(given, str) else list(given)
    made = tuple(_method(name_or_method, task) for name_or_method in listed)
    names = [name_or_method.name for name_or_method in made]
    if not names:
        raise SpecError(f"no method was named. {_known()}")
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise SpecError(f"the method {twice[0]!r} is named twice. Name each once.")
    return made


def _method(given: object, task: Task | None) -> Method:
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        return method(given.strip(), task)
    raise SpecError(f"a method is a name such as 'learned+thompson', or a Method. Got {described(given)}. {_known()}")


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
    policies = f"default, {names_of('policy')}"
    return f"Priors are {names_of('prior')}; policies are {policies}; +pool and +anchor may follow."
