"""How often each person is right, how far these labels can be trusted, and what the majority would have said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import expit
from fewlabels.table import Table
from fewlabels.wording import counted, percent

if TYPE_CHECKING:
    from fewlabels.noise.chain import Imputed


@dataclass(frozen=True)
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
    """

    people: Table
    floor: float
    low: float
    high: float
    majority: float | None
    doubted: int
    source: str
    level: float

    @property
    def by_name(self) -> dict[str, str]:
        """How often each person is right, in words."""
        return {
            row["annotator"]: f"{percent(row['right'])} ({percent(row['low'])} to {percent(row['high'])})"
            for row in self.people.rows()
        }

    def sentences(self, most: int = 20) -> list[str]:
        """The main numbers, and how often each person is right, those with most votes first."""
        rows = sorted(self.people.rows(), key=lambda row: -row["votes"])[:most]
        each = [f"{row['annotator']} in {self.by_name[row['annotator']]}" for row in rows]
        return [self.words, f"How often each person is right: {'; '.join(each)}."] if each else [self.words]

    @property
    def words(self) -> str:
        """The main numbers in sentences."""
        often = f"{percent(self.floor)} ({percent(self.low)} to {percent(self.high)})"
        sentences = [f"People are wrong in {often} of their labels, {self.source}."]
        if self.majority is not None:
            sentences.append(
                f"If every label were taken as true, {percent(self.majority)} of the labelled predictions would look "
                "right."
            )
        if self.doubted:
            verb = "is" if self.doubted == 1 else "are"
            sentences.append(f"{counted(self.doubted, 'label')} {verb} probably wrong.")
        return " ".join(sentences)


def reliability(
    imputed: Imputed, predicted: np.ndarray[tuple[int], np.dtype[np.int64]], stated: float | None, level: float = 0.95
) -> Reliability:
    """Sum up the rounds of the sampler."""
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
    )


def _source(checked: int, stated: float | None) -> str:
    if stated is not None and not checked:
        return f"as the owner has stated ({percent(stated)} right); no two votes can be compared"
    if not checked:
        return "going by other annotators: no item has two votes or a known label, so this was not measured here"
    known = f"by {counted(checked, 'item')} with two votes or a known label"
    return known if stated is None else f"{known}, and by the owner's statement ({percent(stated)} right)"
