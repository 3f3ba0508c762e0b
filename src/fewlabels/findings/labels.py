"""Counts of labels and where they came from, and examples of the classifier's mistakes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import StoreError
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from fewlabels.assessment import Assessment
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition

RIGHT_OR_WRONG = ("right", "wrong")
"""The outcomes of a metric whose labels show only whether a prediction is right."""
_TEXT = 280
_IMAGE = 20_000


@dataclass(frozen=True)
class Tally:
    """How many labels count and what became of the requests, according to the ledger.

    `pending` items are out for labelling. `unresolved` items were answered by everyone who was asked, with skips or
    with different labels, and wait for the owner. `adopted` labels are for items that were never asked for.
    """

    labelled: int
    pending: int
    unresolved: int
    adopted: int
    withdrawn: int


@dataclass(frozen=True)
class Labels(Tally):
    """A tally with details from the log: who labelled, from when to when, and what was replaced or decided.

    `elsewhere` are labels of items that other assessments of the same pool asked for, by assessment. `noise` says how
    often people are wrong, where labels may be.
    """

    replaced: int
    decided: int
    people: int
    agreement: str
    first: datetime | None
    last: datetime | None
    elsewhere: Mapping[str, int]
    noise: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        times = {name: at and at.isoformat() for name, at in (("first", self.first), ("last", self.last))}
        return asdict(self) | times

    def sentences(self) -> list[str]:
        """Return the counts in words, leaving out those that are 0."""
        sentences = ["No item has a label yet."] if not self.labelled else [self._labelled()]
        if self.pending:
            be = "is" if self.pending == 1 else "are"
            count = counted(self.pending, "item")
            sentences.append(
                f"{count} {be} out for labelling and {'has' if self.pending == 1 else 'have'} no label yet."
            )
        if self.elsewhere:
            names = " and ".join(f'"{name}"' for name in self.elsewhere)
            sentences.append(
                f"{counted(sum(self.elsewhere.values()), 'label')} of these came from the same pool's {names}: nobody "
                "was asked twice."
            )
        if self.replaced:
            sentences.append(
                f"{counted(self.replaced, 'label')} replaced an earlier, different label of the same item."
            )
        if self.decided:
            sentences.append(f"The owner of the assessment decided {counted(self.decided, 'item')}.")
        return [*sentences, *filter(None, [self.agreement]), *self.noise]

    def _labelled(self) -> str:
        who = f" by {counted(self.people, 'person')}" if self.people else ""
        when = ""
        if self.first is not None and self.last is not None:
            days = [f"{at.day} {at:%B %Y}" for at in (self.first, self.last)]
            when = f" on {days[0]}" if days[0] == days[1] else f" from {days[0]} to {days[1]}"
        return f"{counted(self.labelled, 'item')} {'was' if self.labelled == 1 else 'were'} labelled{who}{when}."


@dataclass(frozen=True)
class Mistake:
    """A labelled item that the classifier got wrong.

    `text` is what the annotator saw, shortened. If that is a picture in a data: address, it is in `image` instead.
    """

    id: str
    predicted: str
    label: str
    confidence: float | None
    text: str | None
    image: str | None


def tally(audit: Assessment) -> Tally:
    """Count the labels and requests, without reading the log again."""
    names = ("labelled", "pending", "unresolved", "adopted", "withdrawn")
    groups = audit.by_group()
    count = {name: sum(groups[name]) for name in names}
    count["pending"] -= count["unresolved"]
    if audit.spec.noisy and count["unresolved"]:
        # Votes that differ are weighed and count at once, so only what everybody skipped waits for the owner.
        weighed = len(audit.majority_items()[0]) - count["labelled"]
        count |= {"labelled": count["labelled"] + weighed, "unresolved": count["unresolved"] - weighed}
    return Tally(**count)


def right_labels(
    audit: Assessment, groups: Partition, outcomes: tuple[str, ...], model: str | None = None
) -> dict[str, int] | None:
    """Count the labels in each group that show a right prediction; None if labels show other outcomes.

    Where labels may be wrong, an item has the label that most people gave it.
    """
    if outcomes != RIGHT_OR_WRONG:
        return None
    items, true = audit.majority_items()
    is_right = audit.pool_of(model).predicted[items] == true
    counts = np.bincount(groups.group[items][is_right], minlength=len(groups))
    return dict(zip(groups.names, counts.tolist(), strict=True))


@dataclass(frozen=True)
class Shown:
    """What the labels in a group show about a metric: `hits` of the `counted` labels that the metric is about."""

    hits: int
    counted: int


def shown_by_labels(
    audit: Assessment, groups: Partition, metric: Metric, model: str | None = None
) -> dict[str, Shown] | None:
    """Count the labels of each group that a metric is about, and the hits among them; None if it is not a share.

    The recall of a class is about the labels that are truly of it, and those that the classifier found are hits. Where
    labels may be wrong, an item has the label that most people gave it.
    """
    pool = audit.pool_of(model)
    cells = metric.cells(pool, groups)
    hits_and_labels = metric.labels_of(metric.outcomes(pool, cells, *audit.majority_items()).counts, cells)
    if hits_and_labels is None:
        return None
    each = zip(*(np.rint(part).astype(int).tolist() for part in hits_and_labels), strict=True)
    return {name: Shown(*counts) for name, counts in zip(groups.names, each, strict=True)}


def agreement_of(audit: Assessment) -> str:
    """How far people agree, in words; "" if no two of them labelled the same item."""
    agreed = audit.agreement()
    if not agreed.items:
        return ""
    doubtful = " Most of these items got a second vote because the first was in doubt." if audit.spec.noisy else ""
    return agreed.words + (doubtful if audit.spec.overlap == 1 else "")


def count_labels(audit: Assessment) -> Labels:
    """Count the labels and requests, with the details of the labels that count."""
    return Labels(
        **asdict(tally(audit)),
        **audit.label_details()._asdict(),
        agreement=agreement_of(audit),
        elsewhere=audit.others(),
        noise=tuple(audit.annotators().sentences()) if audit.spec.noisy else (),
    )


def find_mistakes(audit: Assessment, groups: Sequence[str], most: int) -> tuple[Mistake, ...]:
    """Pick labelled items whose prediction is wrong: the named groups first, then the most confident predictions."""
    if audit.spec.task.of_models:
        return ()  # an item that one model gets wrong is one that another may get right
    pool = audit.pool
    items, true = audit.majority_items()
    is_wrong = pool.predicted[items] != true
    wrong = list(zip(items[is_wrong].tolist(), true[is_wrong].tolist(), strict=True))
    named = set(groups)
    wrong.sort(
        key=lambda mistake: (
            audit.groups.names[audit.groups.group[mistake[0]]] not in named,
            -(pool.confidence_of(mistake[0]) or 0.0),
        )
    )
    mistakes = []
    contents = _contents(audit, [item for item, _ in wrong[:most]])
    for (item, label), content in zip(wrong[:most], contents, strict=True):
        seen = next(iter(content.values()), None)
        image = seen if isinstance(seen, str) and seen.startswith("data:image/") and len(seen) < _IMAGE else None
        text = None if seen is None or str(seen).startswith("data:") else cut(str(seen))
        name, sure = pool.ids[item], pool.confidence_of(item)
        mistakes.append(Mistake(name, pool.classes[pool.predicted[item]], pool.classes[label], sure, text, image))
    return tuple(mistakes)


def _contents(audit: Assessment, items: Sequence[int]) -> list[dict[str, Any]]:
    """What annotators see of some items; nothing if they stay in a table that cannot be read now."""
    try:
        return audit.shown(items)
    except StoreError:
        return [{} for _ in items]


def cut(text: str) -> str:
    """A text on one line, cut to what a report has room for."""
    text = " ".join(text.split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1].rstrip() + "…"
