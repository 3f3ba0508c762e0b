"""Watching a stopping rule while an assessment is played: the label count at which it is first met."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.standing import lacks
from fewlabels.stopping import Stop, is_reached, wanted_by
from fewlabels.tasks.snapshot import Snapshot, promised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.belief import Belief
    from fewlabels.planning.asking import Game, Look
    from fewlabels.planning.worlds import World
    from fewlabels.standing import Standing
    from fewlabels.tasks import Task

# Draws at a look, and at a look where a rule may be met; fewer, down to the last number, if a draw has many numbers.
# From 200 draws a width has a standard error of 5%, and it takes a tenth more or fewer labels to reach.
_QUICK, _SHARP, _NUMBERS, _FEWEST = 60, 1_000, 2**20, 200
_LEAST = 1e-9
# The standard error of a width that is shown where labels may be wrong, as a part of it: from 32 draws of true classes.
_SHOWN = 0.05
# The target widths if no rule is set, as shares of the range of the metric.
_WIDTHS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)


def usual_stop(task: Task, now: float | None = None) -> Stop:
    """The goal if no rule is set: an answer that is right with probability 0.95, or intervals of a round width.

    Before the first label the goal is an average known to within 0.1. On the way, with `now` the widest interval of a
    group, it is the next round width below: a prior may be too sure of the average if many groups have few labels.

    >>> import fewlabels as fl
    >>> usual_stop(fl.Identify(fl.Accuracy(), lowest=1)).rules
    {'probability': 0.95}
    >>> usual_stop(fl.Estimate(fl.Accuracy())).rules, usual_stop(fl.Estimate(fl.Accuracy()), now=0.37).rules
    ({'overall': 0.1}, {'width': 0.3})
    """
    if task.conclusive:
        return Stop(probability=task.surety or 0.95, guarantee="anytime" if task.promises else None)
    unit = task.metric.span
    if now is None:
        return Stop(overall=unit / 10)
    return Stop(width=next((unit * width for width in _WIDTHS if unit * width < now), max(now / 2, _LEAST)))


@dataclass(frozen=True)
class Met:
    """A rule that was met: after how many labels, which rule, and the snapshot then."""

    labels: int
    rule: str
    snapshot: Snapshot


class Watch:
    """Watches the rules about the answer, from look to look in one world."""

    def __init__(self, game: Game, stop: Stop, labels: int = 0, now: Standing | None = None) -> None:
        self._game = game
        wanted = {name: wanted_by(stop, game.spec.task, name) for name in stop.rules if name != "labels"}
        self._rules = {name: value for name, value in wanted.items() if value is not None}
        self._guarantee = stop.guarantee is not None
        self._labels, self._begun, self._wider = labels, labels, (1.0, 1.0)
        self._last = {} if now is None else {rule.rule: rule.now for rule in now.rules}

    def met(self, look: Look, rng: np.random.Generator, known: Snapshot | None = None) -> Met | None:
        """The rule that is met first, if one is at this look; the label count is interpolated between two looks.

        `known` is a snapshot of the same belief that was made for something else.
        """
        labels, most = look.labels, sharp(look.belief)
        is_sharp = known is not None and known.draws >= most
        snapshot = known if is_sharp else self._game.snapshot(look, rng, _QUICK)
        assert snapshot is not None
        now = self._read(snapshot, labels)
        if not is_sharp and any(_is_near(name, now[name], wanted) for name, wanted in self._rules.items()):
            # With few draws, 0.94 too often looks like 0.95, and many looks give many chances for that.
            snapshot = self._game.snapshot(look, rng, most)
            now = self._read(snapshot, labels)
        reached = [
            Met(self._crossing(name, now[name], wanted, labels), name, snapshot)
            for name, wanted in self._rules.items()
            if is_reached(name, now[name], wanted) and self._is_backed(name, snapshot, labels)
        ]
        self._last, self._labels = now, labels
        return min(reached, key=lambda met_rule: met_rule.labels, default=None)

    def begin(self, look: Look, rng: np.random.Generator, worth: float) -> None:
        """Take the first look if labels may be wrong, and each is worth the share k of a played label.

        With n₀ labels now, the interval of the average is f₀ times as wide as the game has it: what was known before
        counts as much as these labels, and is not in doubt. With more and more labels it will be 1/√k times as wide.
        With n of them it is taken to be f₀^(n₀/n) · (1/√k)^(1 − n₀/n) times as wide. The width that is shown comes from
        some draws of the true classes, and other draws would change it a little, so f₀ is uncertain too.
        """
        if "overall" in self._rules:
            played = self._game.snapshot(look, rng, sharp(look.belief)).overall
            last = worth**-0.5
            shown = self._last["overall"] * float(np.exp(_SHOWN * rng.standard_normal()))
            self._wider = shown / played if played > 0 else last, last

    def _is_backed(self, name: str, snapshot: Snapshot, labels: int) -> bool:
        """Whether enough labels back the rule; what is promised for every look rests on labels alone."""
        if self._guarantee:
            return True
        backed = name != "probability" or snapshot.conclusion.backed
        task, at_random = snapshot.task, self._game.at_random(labels)
        return not lacks(name, task, snapshot.belief, snapshot.cells, backed=backed, at_random=at_random)

    def is_vain(self, world: World, rng: np.random.Generator) -> bool:
        """Whether the rule is far from met even when all items have a label, because the models differ too little.

        Only for several models, where that belief takes no longer than any other and saves all the looks.
        """
        task, cells = self._game.spec.task, self._game.cells
        if not task.of_models:
            return False
        now = self._read(Snapshot(task, cells, self._game.end(world), rng, _SHARP), self._labels)
        return not any(_is_near(name, now[name], wanted) for name, wanted in self._rules.items())

    def _read(self, snapshot: Snapshot, labels: int) -> dict[str, float]:
        """The number of this snapshot that each rule is about; with a guarantee, one that holds at every look."""
        if self._guarantee:
            return {name: promised(name, snapshot.task, snapshot.belief, snapshot.cells) for name in self._rules}
        now = {name: float(getattr(snapshot, name)) for name in self._rules}
        if "overall" in now:
            first, last = self._wider
            now["overall"] *= last * (first / last) ** (self._begun / max(labels, 1))
        return now

    def _crossing(self, name: str, now: float, wanted: float, labels: int) -> int:
        """The label count at which the value wanted was crossed between the last look and this one.

        A probability is assumed to rise linearly, and a width to fall as a power of the label count.
        """
        before = self._last.get(name, now)
        # A task may keep its probability just below the target until other conditions are met: no interpolation there.
        if before == now or abs(wanted - before) < _LEAST or is_reached(name, before, wanted):
            return labels
        if name != "probability" and self._labels > 0 and min(before, now, wanted) > 0:
            place = math.log(before / wanted) / math.log(before / now)
            return math.ceil(self._labels * (labels / self._labels) ** place - _LEAST)
        return self._labels + math.ceil((wanted - before) / (now - before) * (labels - self._labels))


def sharp(belief: Belief, most: int = _SHARP) -> int:
    """The number of draws where a result is read: `most`, or fewer where a draw has many numbers."""
    return min(most, max(_NUMBERS // max(belief.numbers, 1), _FEWEST))


def _is_near(name: str, now: float, wanted: float) -> bool:
    """Whether a rule may be met, within the precision of few draws."""
    return now >= wanted - 0.15 if name == "probability" else now <= 1.3 * wanted


def quantile(counts: Sequence[float], q: float) -> float:
    """The q-quantile at position q(n+1) of the sorted counts; worlds that never met the rule count as inf.

    The next one of the same kind lies below it with probability q, however few there are (from 1/q − 1 on).

    >>> quantile([10, 20, 30, 40, 50, 60, 70, 80, 90], 0.1), quantile([1, 2, np.inf], 0.9)
    (10.0, inf)
    """
    ordered = np.sort(np.asarray(counts, dtype=float))
    place = np.clip(q * (len(ordered) + 1) - 1, 0, len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return float(low if low == high else high if np.isinf(high) else low + (place - math.floor(place)) * (high - low))


def generator(seed: int, run: int) -> np.random.Generator:
    """The generator of one world: a stream other than that of any step of an assessment."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0x706C616E, run)))
