"""How often each person is right, how far these labels can be trusted, and what the majority would have said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import expit
from fewlabels.table import Table
from fewlabels.wording import Style, counted, listed, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.noise.ballots import Ballots
    from fewlabels.noise.chain import Imputed

# Somebody who gives one class to so many items, of which so large a share has another prediction, may not have looked.
_ENOUGH, _OTHERS = 10, 0.25


@dataclass(frozen=True, repr=False)
class Reliability:
    """What is known about the people who labelled.

    Parameters
    ----------
    people
        A row for each person: columns annotator, votes, checked (of these votes, how many are about items that somebody
        else labelled too or whose class is known), right (how often they are right) with low and high.
    floor
        The share of votes that are wrong: where people err this often, a perfect classifier would look this bad.
    low, high
        Its interval.
    majority
        Of the labelled items, the share of which the classifier is right if the majority of votes is taken as true.
    doubted
        Items whose label is probably not what the majority says.
    source
        In words, what this rests on: votes that can be compared, the owner's statement, or what is usual.
    level
        The probability of the intervals.
    alike
        Names that differ in spaces and letter case only: probably one person, who seems to be several.
    contradicted
        Gold items that at least two people labelled, none of them with the class that was given.
    same
        People who gave one class to all their items although the predictions of many of these are other classes.
    each
        The share of votes that are wrong, each time that the true classes were drawn; `floor` is their mean.

    >>> import fewlabels as fl
    >>> audit = fl.create(None, "pets", fl.read_pool({"predicted": ["cat", "dog"] * 20}), noisy=True)
    >>> _ = audit.tell(dict.fromkeys(audit.ask(4, annotator="ann").ids, "cat"), annotator="ann")
    >>> audit.annotators().people["annotator"]
    ['ann']
    """

    people: Table
    floor: float
    low: float
    high: float
    majority: float | None
    doubted: int
    source: str
    level: float
    alike: tuple[tuple[str, ...], ...] = ()
    contradicted: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    each: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"{' '.join([self.words, *self.doubts()])}\n\n{self.people}"

    @property
    def by_name(self) -> dict[str, str]:
        """How often each person is right, in words."""
        return {
            row["annotator"]: Style(share=True).spanning(row["right"], row["low"], row["high"])
            for row in self.people.rows()
        }

    def sentences(self, most: int = 20) -> list[str]:
        """The main numbers, and how often each person is right, those with most votes first."""
        rows = sorted(self.people.rows(), key=lambda row: -row["votes"])[:most]
        each = [f"{row['annotator']} in {self.by_name[row['annotator']]}" for row in rows]
        right = [f"How often each person is right: {'; '.join(each)}."] if each else []
        return [self.words, *right, *self.doubts()]

    def doubts(self) -> list[str]:
        """What the owner should look at: one name in two spellings, one answer to everything, gold that looks wrong."""
        doubts = [
            f"{listed(list(map(repr, names)))} count as {len(names)} people. If they are one, their second votes prove "
            "nothing: write a name the same way each time."
            for names in self.alike
        ]
        doubts += [
            f"{name} gave one class to every item, and many of these have another prediction. If {name} did not look, "
            "take the answers back."
            for name in self.same
        ]
        if self.contradicted:
            denied = counted(len(self.contradicted), "gold item")
            # Annotators may read this, and are not to know which items are gold: only the owner can look them up.
            again, these = ("that class", "the item") if len(self.contradicted) == 1 else ("those classes", "the items")
            doubts.append(
                f"Nobody agrees with the class that was given for {denied}. Look at {again} again: in Python, "
                f"audit.annotators().contradicted names {these}."
            )
        return doubts

    @property
    def words(self) -> str:
        """The main numbers in sentences."""
        often = Style(share=True).spanning(self.floor, self.low, self.high)
        sentences = [f"People are wrong in {often} of their labels, {self.source}."]
        if self.majority is not None:
            sentences.append(
                f"If the majority of votes were taken as true, {percent(self.majority)} of the labelled predictions "
                "would look right."
            )
        if self.doubted:
            verb = "is" if self.doubted == 1 else "are"
            sentences.append(f"{counted(self.doubted, 'label')} {verb} probably wrong.")
        return " ".join(sentences)


def reliability(
    imputed: Imputed,
    predicted: NDArray[np.int64],
    stated: float | None,
    level: float = 0.95,
    gold: Mapping[int, str] | None = None,
) -> Reliability:
    """Sum up the rounds of the sampler; `gold` has the ids of gold items by their positions."""
    ballots, tails = imputed.ballots, [(1 - level) / 2, (1 + level) / 2]
    wrong = imputed.wrong
    compared = (ballots.votes > 1) | (ballots.known >= 0)
    votes = np.bincount(ballots.person, minlength=len(ballots.people))
    checked = np.bincount(ballots.person, compared[ballots.row], minlength=len(ballots.people)).astype(int)
    each = [1 - wrong[:, ballots.person == r].mean(axis=1) for r in range(len(votes))]
    right = np.array(each).reshape(len(votes), len(wrong)).T
    ends = np.quantile(right, tails, axis=0) if len(ballots.people) else np.empty((2, 0))
    people = Table(
        {
            "annotator": list(ballots.people),
            "votes": votes.tolist(),
            "checked": checked.tolist(),
            "right": right.mean(axis=0).tolist(),
            "low": ends[0].tolist(),
            "high": ends[1].tolist(),
        },
        {"level": level},
    )
    floor = wrong.mean(axis=1) if votes.sum() else expit([errors.general for errors in imputed.errors])
    low, high = np.quantile(floor, tails)
    most, evidence = ballots.majority(), ballots.evidence
    agree = (most == predicted[ballots.items])[evidence]
    doubted = imputed.probability[np.arange(len(most)), most] < 0.5
    return Reliability(
        people,
        float(floor.mean()),
        float(low),
        float(high),
        float(agree.mean()) if len(agree) else None,
        int((doubted & evidence).sum()),
        _source(ballots.checked, stated),
        level,
        _alike(ballots.people),
        _contradicted(ballots, gold or {}),
        _same(ballots, predicted),
        tuple(floor.tolist()),
    )


def _alike(people: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Names that are the same but for spaces and letter case.

    >>> _alike(["Ann", "ann ", "bob"])
    (('Ann', 'ann '),)
    """
    by_name: dict[str, list[str]] = {}
    for name in people:
        by_name.setdefault("".join(name.split()).casefold(), []).append(name)
    return tuple(tuple(names) for names in by_name.values() if len(names) > 1)


def _contradicted(ballots: Ballots, gold: Mapping[int, str]) -> tuple[str, ...]:
    """Gold items on which at least two people voted, and none as the owner said."""
    agree = np.bincount(ballots.row, ballots.label == ballots.known[ballots.row], minlength=len(ballots.items))
    none = (ballots.known >= 0) & (ballots.votes > 1) & (agree == 0)
    return tuple(gold[item] for item in ballots.items[none].tolist() if item in gold)


def _same(ballots: Ballots, predicted: NDArray[np.int64]) -> tuple[str, ...]:
    """People who always gave the same class, about enough items with another prediction to make that odd.

    >>> from fewlabels.noise.ballots import Ballots
    >>> votes = Ballots.of({item: {"ann": item % 2, "eve": 0} for item in range(12)}, classes=2)
    >>> _same(votes, np.arange(12) % 2)
    ('eve',)
    """
    alike = []
    for place, name in enumerate(ballots.people):
        own = ballots.person == place
        given, predictions = ballots.label[own], predicted[ballots.items[ballots.row[own]]]
        if len(given) >= _ENOUGH and (given == given[0]).all() and (predictions != given).mean() >= _OTHERS:
            alike.append(name)
    return tuple(alike)


def _source(checked: int, stated: float | None) -> str:
    if stated is not None and not checked:
        return f"as the owner has stated ({percent(stated)} right); no two votes can be compared"
    if not checked:
        return "going by other annotators: no item has two votes or a known label, so this was not measured here"
    known = f"judging by {counted(checked, 'item')} with two votes or a known label"
    return known if stated is None else f"{known}, and by what the owner stated ({percent(stated)} right)"
