"""The items of a pool of several models, prepared: where models differ, and where all say the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.learned.items import Factors, learn, strips
from fewlabels.learned.items.kinds import KINDS
from fewlabels.learned.models.answers import Answers, compare_answers
from fewlabels.learned.models.voices import WIDER, Features, chances, draw_parameters, listen, most_parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.items import Strips, Trust
    from fewlabels.learned.models.voices import Point

# The prior of items on which all of several models agree: the mean log-odds of being right beyond what they say, or in
# all if they say nothing, and its standard deviation.
_GAP, _AGREED, _DOUBT = 0.8, 2.5, 1.3
# Labels that count as not predicted at all, beside those that are there.
_UNEXPLAINED = 8.0
# Draws behind means, variances and the worth of items, and their generator.
LOOKS = 160
_SEED = 0x6E6F697365


@dataclass(frozen=True, eq=False)
class Noise:
    """The randomness of the draws that are the same for the same labels, and alike for similar ones.

    `uniform` has a row for each contested item, shape (contested, draws).
    """

    uniform: NDArray[np.float32]

    @classmethod
    def of(cls, contested: int) -> Noise:
        """Make it for this many contested items."""
        return cls(np.random.default_rng(_SEED).random((contested, LOOKS), dtype=np.float32))

    def normals(self, size: int) -> NDArray[np.float64]:
        """Standard normals, shape (draws, size)."""
        return np.random.default_rng([_SEED, size]).standard_normal((LOOKS, size))


@dataclass(frozen=True, eq=False)
class Panel:
    """The answers of all models, and the group of each item.

    Items on which models differ are contested: `voices` is the model of these. Where all models give the same answer
    they are one classifier, and `learned/items` is the model: with one model, every item is such an item.

    Parameters
    ----------
    answers
        The answers of the models.
    group
        The group of each item, in increasing numbers without gaps, shape (items,).
    groups
        How many groups there are.
    confidence
        The mean confidence of the models in each item, shape (items,), or None.
    focus
        Two models that are compared; empty if the question is which is best.
    """

    answers: Answers
    group: NDArray[np.int64]
    groups: int
    confidence: NDArray[np.float64] | None = None
    focus: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        said: NDArray[np.int32],
        classes: int,
        confidences: NDArray[np.float64] | None,
        group: NDArray[np.int64],
        groups: int,
        focus: tuple[int, ...] = (),
    ) -> Panel:
        """Prepare the answers, shape (items, models), of positions among this many classes."""
        mean = None
        if confidences is not None and np.isfinite(confidences).all(axis=0).any():
            known = np.isfinite(confidences)
            total = np.where(known, confidences, 0.0).sum(axis=1)
            mean = np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), 0.5)
        return cls(compare_answers(said, classes, confidences), group, groups, mean, focus)

    @cached_property
    def contested(self) -> NDArray[np.int64]:
        """The items on which models differ, by group, shape (contested,)."""
        items = np.flatnonzero(self.answers.contested)
        return items[np.argsort(self.group[items], kind="stable")]

    @cached_property
    def features(self) -> Features:
        """The features of the contested items."""
        return self.about(self.contested)

    @property
    def pair(self) -> tuple[int, ...]:
        """The two models that the question is about; empty if there are more."""
        return tuple(sorted(self.focus)) or ((0, 1) if self.answers.models == 2 else ())

    @property
    def wider(self) -> float:
        """How much wider what labels say is than by Laplace.

        When two are compared, labels are a random sample of what they differ on; in the search for the best they are
        steered.
        """
        return 1.0 if self.focus else WIDER[self.answers.x is not None]

    @cached_property
    def noise(self) -> Noise:
        """The randomness of looks."""
        return Noise.of(len(self.contested))

    def about(self, items: NDArray[np.int64]) -> Features:
        """The features of some items."""
        return Features(self.answers, items, self.group[items], self.groups)

    @cached_property
    def agreed(self) -> NDArray[np.int64]:
        """The items to which all models give the same answer, shape (agreed,)."""
        return np.flatnonzero(~self.answers.contested & (self.answers.options > 0))

    @cached_property
    def homes(self) -> NDArray[np.int64]:
        """The groups that have agreed items, shape (homes,)."""
        return np.unique(self.group[self.agreed])

    @cached_property
    def strips(self) -> Strips | None:
        """The agreed items sorted by confidence; None if there are none."""
        if not len(self.agreed):
            return None
        cell = np.searchsorted(self.homes, self.group[self.agreed]).astype(np.int32)
        sure = None if self.confidence is None else self.confidence[self.agreed]
        sorted_ = strips(sure, cell, Factors([cell.astype(np.int64)]))
        if self.answers.models == 1:
            return sorted_
        # Several that agree are right more often than each is sure to be; by how much is not known.
        start = sorted_.kinds[:1, 1] - KINDS[0, 1] + _GAP if sure is not None else _AGREED
        kinds = np.array([[1.0, float(np.ravel(start)[0]), _DOUBT, 0.8, 0.4, *sorted_.kinds[0, 5:]]])
        return replace(sorted_, kinds=kinds)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Items in each group, shape (groups,)."""
        return np.bincount(self.group, minlength=self.groups)

    def learn(self, items: NDArray[np.int64], true: NDArray[np.int32]) -> Learning:
        """What the labels of some items, with their true classes, say about all items."""
        shown = self.answers.shown(items, true)
        contested = self.answers.contested[items]
        asked, place = items[contested], shown[contested]
        place = np.where(place < self.answers.options[asked], place, self.answers.width)
        points = self.listened(asked, place)
        trust, free = None, np.empty(0, dtype=np.int64)
        if self.strips is not None:
            strip = np.full(len(self.group), -1, dtype=np.int64)
            strip[self.agreed] = self.strips.strip
            here = strip[items] >= 0
            seen = np.bincount(strip[items[here]], minlength=len(self.strips.size))
            right = np.bincount(strip[items[here]], shown[here] == 0, minlength=len(self.strips.size))
            trust = learn(self.strips, right.astype(float), seen.astype(float)).pruned()
            free = self.strips.size - seen
        return Learning(self, points, asked, place, trust, free, self.hits(items, true))

    def listened(self, asked: NDArray[np.int64], place: NDArray[np.int64]) -> list[Point]:
        """The posterior of the voices, given the options that the labels of contested items showed."""
        # Once all contested items have a label, no answer is left that the voices could be asked about.
        heard = len(asked) if len(asked) < len(self.contested) else 0
        return listen(self.about(asked[:heard]), place[:heard], pair=self.pair, wider=self.wider)

    def hits(self, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many of these labels each model has right in each group, shape (groups, models)."""
        right = self.answers.said[items] == true[:, None]
        out = np.zeros((self.groups, self.answers.models), dtype=np.int64)
        np.add.at(out, self.group[items], right)
        return out


@dataclass(frozen=True, eq=False)
class Learning:
    """What labels say about all items of a panel.

    Parameters
    ----------
    panel
        The items.
    points
        The posterior of the voices.
    asked, place
        The contested items with a label, and the option that each showed (the last place: none of them).
    trust, free
        The posterior for the agreed items, and how many of each strip have no label; None without such items.
    known
        The right answers among the labelled items, shape (groups, models).
    """

    panel: Panel
    points: list[Point]
    asked: NDArray[np.int64]
    place: NDArray[np.int64]
    trust: Trust | None
    free: NDArray[np.int64]
    known: NDArray[np.int64]

    @cached_property
    def is_open(self) -> NDArray[np.bool_]:
        """Which of the contested items have no label, shape (contested,)."""
        return ~np.isin(self.panel.contested, self.asked)

    @cached_property
    def open(self) -> NDArray[np.int64]:
        """The contested items without a label, by group."""
        return self.panel.contested[self.is_open]

    @cached_property
    def features(self) -> Features:
        """The features of the open items."""
        return self.panel.about(self.open)

    def focused(self, focus: tuple[int, ...], heard: NDArray[np.bool_] | None = None) -> Learning:
        """Learn from the same labels for a comparison of two models, or for all; the voices may hear only some of them.

        `heard`: which of the labels of contested items they hear, shape (asked,); all of them if it is not given.
        """
        panel, some = replace(self.panel, focus=focus), slice(None) if heard is None else heard
        return replace(self, panel=panel, points=panel.listened(self.asked[some], self.place[some]))

    @property
    def normals(self) -> NDArray[np.float64]:
        """The randomness of the parameters in looks, shape (draws, at least the parameters)."""
        return self.panel.noise.normals(max(most_parameters(self.points), self.features.size))

    @cached_property
    def heard(self) -> Features:
        """The features of the contested items with a label."""
        return self.panel.about(self.asked)

    @cached_property
    def of_asked(self) -> NDArray[np.float64]:
        """P(each option) of the contested items with a label, shape (asked, options + none)."""
        drawn = draw_parameters(self.points, 0.5, self.normals)
        return np.asarray(chances(self.heard, drawn, slice(None)).mean(axis=2, dtype=float))

    def unexplained(self, a: int, b: int) -> float:
        """The share of the variance of scores of model a against model b that is left when single items are predicted.

        ρ = (Σ (s − E s)² + 8v)/(Σ (s − s̄)² + 8v) over n labels of items on which the two differ, s being 1 where a is
        right and −1 where b is, and v the variance of s: with few labels, nothing counts as explained. E s was fitted
        to the same labels with p parameters, so other items are further off, by (n + p)/(n − p) (Akaike's final
        prediction error).
        """
        heard = self.heard
        differ = heard.option[:, a] != heard.option[:, b]
        if not differ.any() or not len(self.open):
            return 1.0
        places = np.arange(heard.width + 1)
        apart = (heard.option[:, a, None] == places).astype(float) - (heard.option[:, b, None] == places)
        chance = self.of_asked
        score = np.take_along_axis(apart, self.place[:, None], axis=1)[differ, 0]
        off = score - (chance * apart).sum(axis=1)[differ]
        variance = score.var()
        if not variance:
            return 1.0
        known, fitted = len(score), most_parameters(self.points)
        further = (known + fitted) / max(known - fitted, 1)
        share = (float(off @ off) + _UNEXPLAINED * variance) / ((known + _UNEXPLAINED) * variance)
        return float(min(further * share, 1.0))
