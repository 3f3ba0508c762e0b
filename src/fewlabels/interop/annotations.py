"""What people said in another labelling program, and taking it as labels and skips, whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fewlabels.errors import InputError, LabelError, described

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.labelling.batch import Batch

Kind = Literal["text", "image"]
"""What annotators see of an item."""
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg")


@dataclass(frozen=True)
class Annotation:
    """One person's answer about one item in a labelling program: a label, or None for a skip.

    >>> import fewlabels as fl
    >>> fl.Annotation("a", "cat", annotator="ann").label
    'cat'
    """

    item: str
    label: str | None
    annotator: str | None


def tell_annotations(
    audit: Assessment, annotations: Iterable[Annotation], *, adopt: bool = False, program: str = "another program"
) -> tuple[int, int]:
    """Take annotations as labels and skips, each by its annotator; returns how many of each.

    If one of them cannot be taken, none is. If one person is enough for an item but several have answered it, their
    answers must agree. `adopt` is as in `tell`. `program` is where people skipped, for the log.

    Examples
    --------
    >>> import fewlabels as fl
    >>> audit = fl.create(None, "pets", fl.read_pool({"id": ["a", "b"], "predicted": ["cat", "dog"]}))
    >>> fl.tell_annotations(audit, [fl.Annotation("a", "cat", "ann"), fl.Annotation("b", "dog", "bob")], adopt=True)
    (2, 0)
    """
    annotations = list(annotations)
    if strangers := [annotation for annotation in annotations if not isinstance(annotation, Annotation)]:
        raise InputError(
            "tell_annotations() takes what read_annotations() returns, or a list such as "
            f"[Annotation('item-7', 'cat', 'ann')]. Got {described(strangers[0])} instead."
        )
    if audit.spec.overlap == 1:
        _check_agreement(annotations)
    labels: dict[str | None, dict[str, str]] = {}
    skips: dict[str | None, list[str]] = {}
    for annotation in annotations:
        if annotation.label is None:
            skips.setdefault(annotation.annotator, []).append(annotation.item)
        else:
            labels.setdefault(annotation.annotator, {})[annotation.item] = annotation.label
    taken = audit.tell_each(labels, skips, reason=f"skipped in {program}", adopt=adopt)
    skipped = sum(map(len, skips.values()))
    return taken - skipped, skipped


def _check_agreement(annotations: Sequence[Annotation]) -> None:
    labels_of: dict[str, set[str]] = {}
    for annotation in annotations:
        if annotation.label is not None:
            labels_of.setdefault(annotation.item, set()).add(annotation.label)
    if disputed := [item for item, labels in labels_of.items() if len(labels) > 1]:
        more = f" (and {len(disputed) - 1:,} more)" if len(disputed) > 1 else ""
        raise LabelError(
            f"{disputed[0]!r}{more} has different labels from several people, but this assessment takes one person's "
            "label for each item. Settle them in the labelling program, or make the assessment with overlap=2 or more. "
            "Nothing was changed.",
            items=disputed,
        )


def kind_of(batch: Batch) -> Kind:
    """What the contents of a batch are, by how they end."""
    contents: Iterable[Any] = (request.content for request in batch)
    shown = [str(content).lower().split("?")[0] for content in contents if content is not None]
    images = shown and all(text.endswith(_IMAGES) or text.startswith("data:image/") for text in shown)
    return "image" if images else "text"


def shown_of(batch: Batch) -> list[tuple[str, str]]:
    """The id of each item, and what an annotator sees of it."""
    return [(request.id, request.id if request.content is None else str(request.content)) for request in batch]
