"""Groups and parts by the names they have everywhere: "column:sex", "recall:complaint"."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.bins import column_and_bins
from fewlabels.checks import is_count, of_kind
from fewlabels.errors import Argument, InputError, SpecError
from fewlabels.metrics import Metric, Prevalence
from fewlabels.metrics.rates import Rate
from fewlabels.opposites import positive_of
from fewlabels.partition import (
    MOST_GROUPS,
    TOO_MANY,
    Partition,
    by_column,
    by_map,
    by_predicted,
    by_score,
    cross,
    whole,
)
from fewlabels.parts import build, names_of, registered
from fewlabels.priors import Learned
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fewlabels.parts import Family
    from fewlabels.policies import Policy
    from fewlabels.pool import Pool
    from fewlabels.priors import Prior

GROUPS = "predicted, score:10, weight:10, column:NAME, column:NAME:BINS, map:FILE.csv, whole"
_ALONE = 1_000  # so many groups may have one item each: a small table is what it is
_MOST_NAMES = 30  # classes that are listed; there may be thousands
# Other usual names of metrics, compared without spaces, - and _.
_ALSO = {
    "tpr": "recall", "truepositiverate": "recall", "sensitivity": "recall", "falsepositiverate": "fpr",
    "ppv": "precision", "ece": "calibration", "passrate": "prevalence", "truepassrate": "prevalence",
}  # fmt: skip


def groups_from(given: Partition | str, pool: Pool) -> Partition:
    """Groups, or those that a name stands for; several names with commas are crossed.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b", "a"], "sex": ["f", "m", "m"]})
    >>> groups_from("column:sex,predicted", pool).names
    ('f × a', 'm × a', 'm × b')

    A column of numbers or dates can be put into bins, by how many there are or by where they begin.

    >>> ages = fl.read_pool({"predicted": ["a", "b", "a"], "age": [20, 35, 64]})
    >>> groups_from("column:age:30/60", ages).names
    ('age under 30', 'age 30–59', 'age 60 or more')
    """
    if not isinstance(given, str):
        return of_kind(given, Partition, "The 'groups'")
    parts = [_one_partition(part.strip(), pool) for part in given.split(",")]
    return check_groups(parts[0] if len(parts) == 1 else cross(*parts))


def check_groups(groups: Partition) -> Partition:
    """The groups; an InputError if they are so many that nothing can be learned about them.

    Groups that an assessment has already are not checked: what was begun with them can still be opened.

    >>> import fewlabels as fl
    >>> table = {"predicted": ["a", "b"] * 750, "text": [f"text {i}" for i in range(1500)]}
    >>> pool = fl.read_pool(table, columns=["text"])
    >>> check_groups(fl.by_column(pool, "text"))
    Traceback (most recent call last):
    fewlabels.errors.InputError: 1,500 items make 1,500 groups by column 'text', fewer than two items in each on
    average. A label of one group says little about another, ...
    """
    items, filled = int(groups.sizes.sum()), int(np.count_nonzero(groups.sizes))
    if filled <= _ALONE or (filled <= MOST_GROUPS and items >= 2 * filled):
        return groups
    why = "fewer than two items in each on average" if items < 2 * filled else f"and {MOST_GROUPS:,} is the limit"
    raise InputError(
        f"{items:,} items make {filled:,} groups {groups.words}, {why}. {TOO_MANY} Or take all items together, with ",
        Argument("groups", "whole"),
        ".",
    )


def _one_partition(text: str, pool: Pool) -> Partition:
    kind, _, rest = text.partition(":")
    makers: dict[str, Callable[[], Partition]] = {
        "predicted": lambda: by_predicted(pool),
        "whole": lambda: whole(pool),
        "score": lambda: by_score(pool, _bins(text, rest)),
        "weight": lambda: by_score(pool, _bins(text, rest), "weight"),
        "column": lambda: _by_column(rest, pool),
        "map": lambda: by_map(pool, _class_map(rest)),
    }
    if kind not in makers or (kind in ("predicted", "whole") and rest) or (kind in ("column", "map") and not rest):
        is_column = pool.columns is not None and text in pool.columns.column_names
        hint = f"Did you mean 'column:{text}'? " if is_column else ""
        names = f"Use one of {GROUPS}; or several with commas, to cross them."
        raise SpecError(Argument("groups", text), f" is not known. {hint}{names}")
    return makers[kind]()


def _by_column(text: str, pool: Pool) -> Partition:
    column, bins = column_and_bins(text, [] if pool.columns is None else pool.columns.column_names)
    return by_column(pool, column, bins or None)


def _bins(text: str, number: str) -> int:
    if number and not is_count(number):
        example = Argument("groups", f"{text.partition(':')[0]}:10")
        raise SpecError(Argument("groups", text), " needs a whole number, as in ", example, ".")
    return int(number or 10)


def metric_from(given: Metric | str, pool: Pool) -> Metric:
    """A metric, or the one that a name stands for.

    >>> import fewlabels as fl
    >>> metric_from("recall:spam", fl.read_pool({"predicted": ["spam", "ham"]}))
    Recall(positive='spam')
    >>> metric_from("fpr", fl.read_pool({"predicted": ["yes", "no"]}))
    FalsePositiveRate(positive='yes')

    Other usual names are known as well, and of pass and fail the pass rate is that of pass.

    >>> metric_from("TPR:spam", fl.read_pool({"predicted": ["spam", "ham"]}))
    Recall(positive='spam')
    >>> metric_from("pass rate", fl.read_pool({"predicted": ["pass", "fail"]}))
    Prevalence(positive='pass')
    """
    if not isinstance(given, str):
        return of_kind(given, Metric, "The 'metric'", error=SpecError)
    readers = {"CLASS": lambda name: _class_of(given, name, pool), "FILE": lambda file: _prices(file, pool)}
    called, *of = given.split(":", 1)
    name = _ALSO.get(re.sub(r"[\s_-]", "", called).casefold(), called)
    metric: Metric = part_from("metric", ":".join([name, *of]), readers)
    positive = pool.positive or positive_of(pool.choices)
    # Of yes and no, everybody means the recall of yes, and how many are yes.
    if positive is not None and isinstance(metric, Rate | Prevalence) and not metric.positive:
        return replace(metric, positive=positive)
    if isinstance(metric, Prevalence) and not metric.positive:
        raise SpecError(Argument("metric", given), f" needs a class, as in {called}:{pool.choices[-1]}.")
    return metric


def prior_from(given: Prior | str | None) -> Prior:
    """A prior, or the one that a name stands for; `Learned()` if none is given.

    >>> prior_from("informed:10"), prior_from(None)
    (Informed(strength=10.0), Learned())
    """
    made: Prior = part_from("prior", given) if isinstance(given, str) else given or Learned()
    return made


def policy_from(given: Policy | str | None) -> Policy | None:
    """A policy, or the one that a name stands for; None, for the default, if none is given.

    >>> policy_from("toptwo:0.3")
    TopTwo(beta=0.3)
    """
    return part_from("policy", given) if isinstance(given, str) else given


def part_from(family: Family, text: str, readers: Mapping[str, Callable[[str], object]] | None = None) -> Any:
    """The part of a family that a text names: a name, or a name and its first setting."""
    kind, _, argument = text.partition(":")
    known = registered(family)
    if kind not in known:
        near = difflib.get_close_matches(kind, known, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise SpecError(Argument(family, text), f" is not known. {hint}Use one of {names_of(family)}.")
    try:
        return build(known[kind], argument, readers)
    except SpecError as error:
        raise SpecError(Argument(family, text), ": ", *error.args) from None


def _class_of(text: str, name: str, pool: Pool) -> str:
    """A class of the pool."""
    name = class_named(name, pool.choices)
    if name not in pool.choices:
        near = difflib.get_close_matches(name, pool.choices, 1)
        hint = f"Did you mean {text.partition(':')[0]}:{near[0]}? " if near else ""
        raise SpecError(f"there is no class {name!r}. {hint}The classes are {some_of(pool.choices, _MOST_NAMES)}.")
    return name


def class_named(name: str, classes: Sequence[str]) -> str:
    """The class that a name means, whatever its case; the name itself if that is none of them, or not clear.

    >>> class_named("PASS", ["pass", "fail"]), class_named("A", ["a", "A"]), class_named("b", ["a", "A"])
    ('pass', 'A', 'b')
    """
    alike = [known for known in classes if known.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else name


def _class_map(file: str) -> dict[str, str]:
    """Class to group, from a file with the columns class and group."""
    from fewlabels.io import read_labels

    return read_labels(file, id="class", label="group")


def _prices(file: str, pool: Pool) -> list[list[float]]:
    """Costs from a file: a row for each true class with its name in the column "true", a column for each predicted."""
    from fewlabels.io.columns import as_numbers, as_text
    from fewlabels.io.opening import open_source

    source = open_source(file)
    source.need("true", "cost")
    rows = as_text(source, "true", source.table(["true"])["true"]).to_pylist()
    missing = [name for name in pool.classes if name not in source.columns or name not in rows]
    if missing or len(rows) != len(pool.classes):
        what = (
            f"{missing[0]!r} is missing" if missing else f"it has {len(rows):,} rows for {len(pool.classes):,} classes"
        )
        raise InputError(
            f"{file} is not a cost matrix of these: {what}. It needs the column 'true' with every class, and a "
            "column of costs for every predicted class."
        )
    columns = [as_numbers(source, name, source.table([name])[name]) for name in pool.classes]
    return [[float(column[rows.index(name)]) for column in columns] for name in pool.classes]
