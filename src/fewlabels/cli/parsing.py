"""Parsing of options into groups, metric, task, prior, policy and labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fewlabels.errors import InputError
from fewlabels.io import read_labels
from fewlabels.io.columns import as_text
from fewlabels.named import part_from
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.io.source import Source
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior


def prior_from(text: str) -> Prior:
    """Return the prior that `--prior` names, with its strength if one is given.

    >>> prior_from("informed:10")
    Informed(strength=10.0)
    """
    return part_from("prior", text)


def policy_from(text: str | None) -> Policy | None:
    """Return the policy that `--policy` names; None, for the default, if it is not given.

    >>> policy_from("thompson")
    Thompson(plays=None)
    """
    return None if text is None else part_from("policy", text)


def labels_from(given: str | None, source: Source) -> Mapping[str, str] | list[object]:
    """Return the label of every item: from a column or key of the pool's own file, or from a file with id and label.

    If no name is given, it is the column or key "labels" or "label".
    """
    usual = [name for name in ("labels", "label") if name in source.columns]
    name = given if given is not None else usual[0] if usual else None
    if name is None:
        raise InputError(
            f"{source.name} has no labels: there is no column 'labels' or 'label' among {some_of(source.columns)}. "
            "A simulation needs the label of every item: name the column or a file with --labels."
        )
    if name in source.columns:
        return list(as_text(source, name, source.table([name])[name]).to_pylist())
    if Path(name).is_file():
        return read_labels(name)
    raise InputError(
        f"--labels {name!r} is neither a column of {source.name} (which has {some_of(source.columns)}) nor a file."
    )
