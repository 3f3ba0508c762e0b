"""Parts that anybody can write (metrics, tasks, policies, priors), and the registry in which they are found by name."""

from __future__ import annotations

import re
import sys
import threading
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import isabstract
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args

from fewlabels.errors import FewlabelsError, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    P = TypeVar("P", bound="type[Part]")

Family = Literal["metric", "task", "policy", "prior"]
Takes = Literal["", "CLASS", "COUNT", "FILE", "NUMBER", "TEXT"]

OWN = ("fewlabels.metrics", "fewlabels.tasks", "fewlabels.policies", "fewlabels.priors")
"""The modules that register the parts of this package."""
GROUP = "fewlabels.parts"
"""The group of entry points through which other packages offer their parts."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RESERVED = ("Stop",)  # a class that stands in a spec and is not a part

# What is registered, by the name of its class, in that order. Beside it modules keep caches, which change no result.
_registry: dict[str, type[Part]] = {}
_broken: dict[str, str] = {}
_asked: set[str] = set()
_loading = threading.RLock()


class Part:
    """A building block of assessments that anybody can write: a metric, task, policy or prior.

    A part is a frozen dataclass whose fields are its settings. Its class attributes say all else that other modules
    need to know: the command line, pages and tests find them here.
    """

    family: ClassVar[Family]
    """Whether it is a metric, a task, a policy or a prior."""
    cli_name: ClassVar[str] = ""
    """Its name on the command line. A class that does not give one has its own name in lower case: error-rate."""
    takes: ClassVar[Takes] = ""
    """What may follow its name and a colon on the command line, for its first setting; nothing by default.

    CLASS is a class of the pool, COUNT a whole number, NUMBER any number, TEXT any text, and FILE a file with a number
    for each true and predicted class.
    """
    phrase: ClassVar[str] = ""
    """A phrase about it for readers without statistics; {noun} and {nouns} stand for a group and groups."""


def register(part: P) -> P:
    """Make a part known by its name, so that assessments with it can be saved, loaded and named on the command line.

    Call it with the class, or put it above `@dataclass(frozen=True)`. A package can do without the call if its
    entry points name the class in the group `fewlabels.parts`. A class that is defined again, as in a notebook,
    replaces its earlier definition; two different classes cannot have the same name.

    >>> from dataclasses import dataclass
    >>> import fewlabels as fl
    >>> @fl.register
    ... @dataclass(frozen=True)
    ... class HalfAccuracy(fl.Accuracy):
    ...     def value(self, theta, cells):
    ...         return super().value(theta, cells) / 2
    >>> unregister(HalfAccuracy)
    """
    _check(part)
    name, own = part.__name__, cli_name(part)
    for other in _registry.values():
        if _is_same(other, part):
            continue
        if other.__name__ == name or (other.family, cli_name(other)) == (part.family, own):
            what = f"the name {name!r}" if other.__name__ == name else f"the command-line name {own!r}"
            raise SpecError(
                f"register() cannot take {name} of {origin(part)}: {what} belongs to {other.__name__} of "
                f"{origin(other)}. Give your class another name, or another cli_name."
            )
    _registry[name] = part
    return part


def unregister(part: type[Part]) -> None:
    """Forget a part that was registered."""
    if _registry.get(part.__name__) is part:
        del _registry[part.__name__]


def cli_name(part: type[Part]) -> str:
    """The name of a part on the command line. It is not inherited: a class made from another has a name of its own.

    >>> import fewlabels as fl
    >>> cli_name(fl.FalsePositiveRate), cli_name(type("ErrorRate", (fl.Accuracy,), {}))
    ('fpr', 'error-rate')
    """
    return vars(part).get("cli_name") or _WORD.sub("-", part.__name__).lower()


def origin(part: type[Part]) -> str:
    """The module a part comes from; for a part written in a script, the script's file name."""
    file = _file(part)
    return re.split(r"[/\\]", file)[-1] if part.__module__ == "__main__" and file else part.__module__


def own() -> dict[str, type[Part]]:
    """The parts of this package by all their names in the module of their family."""
    things = {name: thing for module in OWN for name, thing in vars(import_module(module)).items()}
    kinds = set(_registry.values())
    return {name: thing for name, thing in things.items() if isinstance(thing, type) and thing in kinds}


def is_own(part: type[Part]) -> bool:
    """Whether a part belongs to this package, so that no other package needs to be imported for it."""
    return part.__module__.split(".")[0] == "fewlabels"


def kind(name: object) -> type[Part] | None:
    """The part with this class name; None if no module or entry point has registered one."""
    if not isinstance(name, str):
        return None
    for load in (_load_own, _load_entry_points):
        if name not in _registry:
            load()
    return _registry.get(name)


def registered(family: Family) -> dict[str, type[Any]]:
    """The parts of a family by their name on the command line, in the order in which they were registered.

    >>> list(registered("prior"))[:3]
    ['uniform', 'informed', 'learned']
    """
    _load_own()
    _load_entry_points()
    return {cli_name(part): part for part in _registry.values() if part.family == family}


def broken() -> Mapping[str, str]:
    """The entry points that could not be loaded, each with the reason."""
    return _broken


# --- parts by name


def names_of(family: Family) -> str:
    """The names of a family for help and messages; a value that must follow a name stands after a colon.

    >>> names_of("metric").split(", ")[:4]
    ['accuracy', 'calibration', 'confusion', 'cost:FILE']
    """
    shown = registered(family).items()
    return ", ".join(name if _has_defaults(part) else f"{name}:{part.takes}" for name, part in shown)


def build(
    part: type[Any], argument: str, readers: Mapping[str, Callable[[str], object]] | None = None, option: str = ""
) -> Any:
    """Make a part from the value after its name and a colon on the command line; "" if there is none.

    `readers` read a CLASS and a FILE, which needs a pool; messages begin with the `option`.

    >>> import fewlabels as fl
    >>> build(fl.Informed, "10"), build(fl.Informed, "")
    (Informed(strength=10.0), Informed(strength=None))
    """
    name, takes, begin = cli_name(part), part.takes, f"{option} " if option else ""
    if not argument:
        if _has_defaults(part):
            return part()
        raise SpecError(f"{begin}{name} needs a value, as in {name}:{takes or '...'}.")
    if not takes:
        raise SpecError(f"{begin}{name} takes no value. Write {name}, without ':{argument}'.")
    read = {**_READERS, **(readers or {})}.get(takes)
    if read is None:
        raise SpecError(f"{begin}{name}:{takes} cannot be named here. Make it in Python, with {part.__name__}(...).")
    try:
        value = read(argument)
    except FewlabelsError:
        raise
    except ValueError:
        word, example = _EXAMPLES[takes]
        raise SpecError(f"{begin}{name}:{argument} needs {word}, as in {name}:{example}.") from None
    return part(value)


def _has_defaults(part: type[Part]) -> bool:
    try:
        part()
    except (TypeError, SpecError):
        return False
    return True


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


_READERS: Mapping[str, Callable[[str], object]] = {"COUNT": _count, "NUMBER": float, "TEXT": str}
_EXAMPLES = {"COUNT": ("a whole number", "10"), "NUMBER": ("a number", "10")}


# --- inside


def _check(part: type[Part]) -> None:
    """Raise SpecError if a class cannot be registered."""
    if not (isinstance(part, type) and issubclass(part, Part)):
        raise SpecError(f"register() takes a class that is a Metric, Task, Policy or Prior. Got {part!r} instead.")
    name = part.__name__
    if getattr(part, "family", None) not in get_args(Family):
        raise SpecError(f"register() cannot take {name}: it is neither a Metric, Task, Policy nor Prior. Make it one.")
    if isabstract(part):
        missing = ", ".join(sorted(getattr(part, "__abstractmethods__", ())))
        raise SpecError(f"register() cannot take {name}: it has no {missing}. Write these methods first.")
    if not is_dataclass(part) or "__dataclass_params__" not in vars(part):
        raise SpecError(f"register() cannot take {name}: put @dataclass(frozen=True) directly above the class.")
    if name in _RESERVED or "kind" in {field.name for field in fields(part)}:
        word = repr(name) if name in _RESERVED else "a setting called 'kind'"
        raise SpecError(f"register() cannot take {name}: {word} has a meaning of its own when saved. Rename it.")
    if not _NAME.fullmatch(cli_name(part)):
        raise SpecError(
            f"register() cannot take {name}: its cli_name {cli_name(part)!r} must be made of lower-case letters, "
            "digits, - and _."
        )
    if part.takes not in get_args(Takes):
        raise SpecError(
            f"register() cannot take {name}: its 'takes' must be one of {', '.join(get_args(Takes)[1:])}. "
            f"Got {part.takes!r} instead."
        )


def _is_same(other: type, part: type) -> bool:
    """Whether a class is another one defined again: a module imported again, or a notebook cell run twice."""
    if other.__qualname__ != part.__qualname__:
        return False
    return other.__module__ == part.__module__ or (_file(other) is not None and _file(other) == _file(part))


def _file(part: type) -> str | None:
    return getattr(sys.modules.get(part.__module__), "__file__", None)


def _load_own() -> None:
    for module in OWN:
        import_module(module)


def _load_entry_points() -> None:
    """Load the parts of other packages, once; a failure is remembered and does not stop the others."""
    from importlib.metadata import entry_points

    with _loading:  # another thread waits for all of them; this one may ask for parts while it imports a package
        if GROUP in _asked:
            return
        _asked.add(GROUP)
        for point in entry_points(group=GROUP):
            try:
                loaded = point.load()
                # A module registers its parts itself when it is imported.
                if isinstance(loaded, type):
                    register(loaded)
            except Exception as error:  # noqa: BLE001 - somebody else's package may fail in any way
                _broken[f"{point.name} ({point.value})"] = f"{type(error).__name__}: {error}"
