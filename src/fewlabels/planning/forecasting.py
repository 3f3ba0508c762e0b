"""The number of labels that an assessment will probably still take until its stopping rule is met."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.assessment import Assessment
from fewlabels.checks import of_kind, whole_number
from fewlabels.partition import whole
from fewlabels.planning.asking import Game
from fewlabels.planning.doubtful import Doubtful
from fewlabels.planning.subsampled import thinned
from fewlabels.planning.watching import Watch, generator, quantile, usual_stop
from fewlabels.planning.words import AGAIN, BEGIN, End, aim, more_labels, only_these
from fewlabels.planning.worlds import draw_world
from fewlabels.priors import Learned
from fewlabels.standing import Standing, standing
from fewlabels.stopping import Stop
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fewlabels.planning.worlds import World
    from fewlabels.priors import Prepared, Prior
    from fewlabels.spec import Spec
    from fewlabels.tasks import Task

# Draws for the progress towards a rule that is not the assessment's own.
_DRAWS = 2_000
# The worlds that are played: fewer where one draw has many numbers.
_WORK, _FEWEST, _MOST = 5_000, 9, 49
# How far ahead to look by default: this many labels, or this many times the labels so far.
_AHEAD, _TIMES = 1_000, 4


@dataclass(frozen=True, repr=False)
class Forecast:
    """The number of labels still needed to meet the stopping rule, in worlds compatible with the labels so far.

    Parameters
    ----------
    more
        The median; None if most worlds did not meet the rule within `most` labels.
    low, high
        The ends between which four worlds of five lie; None for an end beyond `most`.
    share
        The share of worlds that met the rule.
    most
        The most labels that were tried: to the end of the budget, or of the items.
    runs
        The number of worlds played.
    stop
        The rule.
    is_set
        Whether the rule is the assessment's own, or a usual one because it has none.
    sentence
        The forecast in a sentence or two, without advice and the note that no rule is set.
    goal
        What the rule waits for, in words.
    all_items
        Whether labels of all items will probably not be enough, because the numbers are also about other items like
        them.

    >>> import fewlabels as fl
    >>> audit = fl.create(None, "pets", fl.read_pool({"predicted": ["a", "b"] * 100}), stop=Stop(labels=30))
    >>> forecast(audit).words
    '30 more labels use up the budget.'
    """

    more: int | None
    low: int | None
    high: int | None
    share: float
    most: int
    runs: int
    stop: Stop
    is_set: bool
    sentence: str
    goal: str = ""
    all_items: bool = False

    def __repr__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        """The forecast in words, with a note if no rule is set."""
        return self.advised() if self.is_set else f"No stopping rule is set. {self.advised()}"

    def advised(self, how: str = BEGIN) -> str:
        """The sentence, with advice where all items are not enough; `how` to ask about exactly these items."""
        return f"{self.sentence} {only_these(how)}" if self.all_items else self.sentence

    def to_json(self) -> dict[str, Any]:
        """Convert the forecast to plain JSON values."""
        names = ("more", "low", "high", "share", "most", "runs", "is_set", "words")
        return {name: getattr(self, name) for name in names} | {"stop": self.stop.rules}


def forecast(
    audit: Assessment,
    *,
    stop: Stop | None = None,
    runs: int | None = None,
    most: int | None = None,
    seed: int = 0,
    worlds: Prior | None = None,
    task: Task | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Forecast:
    """Continue an assessment in worlds compatible with the labels so far, until its rule is met.

    Parameters
    ----------
    stop
        A rule other than the assessment's own.
    runs
        The number of worlds; if not given, as many as take some seconds.
    most
        The most labels to try; if not given, to the end of the budget, or else 1,000 or four times the labels so far.
    seed
        The same seed and labels give the same forecast.
    worlds
        The prior to draw worlds from, after the labels so far. `Learned()` if not given: the real world is rarely like
        the uniform prior, and on real classifiers forecasts from it are far off.
    task
        A question other than the assessment's own, about the same groups and with the same policy.
    progress
        A function that is called with the worlds done and the worlds in all.

    Examples
    --------
    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b"] * 1000})
    >>> audit = fl.create(None, "pets", pool, stop=Stop(overall=0.1))
    >>> print(forecast(audit, runs=20).words)
    Probably ... more labels until the interval of the average is at most 10 points wide: in most simulated worlds ...
    """
    of_kind(audit, Assessment, "The first argument of forecast()")
    game = game_of(audit, task)
    doubtful = Doubtful.of(audit, game) if audit.spec.noisy else None
    game = game if doubtful is None else doubtful.game
    goal, is_set, now = _goal(audit, game, stop, seed, doubtful)
    labels = len(game.known.items)  # with several models, one label counts in a row of each
    ahead, items = _ahead(game, goal, labels, most), game.open
    if game.spec.task.of_models and doubtful is None:
        game, room = thinned(game, generator(seed, 0))
        ahead = min(ahead, room)
    if now.reached or not ahead or not goal.rules.keys() - {"labels"}:
        return _known(goal, is_set, now, ahead, items, game.spec)
    prior = _prepared(worlds or Learned(), game)
    belief = prior.belief(game.known)
    runs = (
        runs_of_forecast(belief.numbers if game.spec.task.of_models else audit.belief().numbers)
        if runs is None
        else runs
    )
    runs = whole_number(runs, "The 'runs' of forecast()")
    needed: list[float] = []
    for run in range(runs):
        rng, watch = generator(seed, run), Watch(game, goal, labels, now)
        if doubtful is None:
            world, worth = draw_world(belief, game.cells, game.known, rng), None
        else:
            time = doubtful.time(rng)
            known = doubtful.possible[time]
            world, worth = doubtful.doubted(draw_world(prior.belief(known), game.cells, known, rng), goal, time, rng)
        needed.append(_needed(game, world, watch, labels + ahead, rng, worth) - labels)
        if progress is not None:
            progress(run + 1, runs)
    made = _forecast(needed, goal, is_set, ahead, _end(items, goal, labels, ahead), game.spec.task)
    return made if doubtful is None else replace(made, sentence=f"{made.sentence} {AGAIN}", all_items=False)


def runs_of_forecast(numbers: int) -> int:
    """The number of worlds that take some seconds, if one draw from the belief has this many numbers."""
    return int(np.clip(_WORK // (numbers + 20), _FEWEST, _MOST))


def _needed(game: Game, world: World, watch: Watch, most: int, rng: np.random.Generator, worth: float | None) -> float:
    """The number of labels at which the rule is met in a world; infinite if it is not.

    `worth` is what a label that may be wrong is worth, as a share of a played label.
    """
    if watch.is_vain(world, rng):
        return np.inf
    looks = game.play(world, rng, most)
    first = next(looks)  # the belief now, which is known
    if worth is not None:
        watch.begin(first, rng, worth)
    for look in looks:
        met = watch.met(look, rng)
        if met is not None:
            return met.labels
    return np.inf


def game_of(audit: Assessment, task: Task | None = None) -> Game:
    """The assessment as it is now, to be continued; with another question if a task is given."""
    spec, pool = audit.spec, audit.pool
    spec = spec if task is None else replace(spec, task=task, stop=Stop(), strips=0)
    cells = spec.cells(pool, spec.asking(pool, audit.groups))
    known = spec.task.metric.outcomes(pool, cells, *audit.labelled_items())
    drawn = audit.drawn_from_all() if task is None else None
    everything = None if drawn is None else spec.cells(pool, whole(pool))
    return Game(spec, cells, known, pool.positions(audit.pending()), drawn, everything, audit.anchored)


def _prepared(prior: Prior, game: Game) -> Prepared:
    """A prior for the cells of the question."""
    prior.check(game.cells)
    return prior.on(game.cells, game.spec.target)


def _goal(
    audit: Assessment, game: Game, stop: Stop | None, seed: int, doubtful: Doubtful | None
) -> tuple[Stop, bool, Standing]:
    """The rule, whether it was set, and the progress towards it."""
    own = game.spec.task == audit.spec.task
    rule = audit.spec.stop if stop is None else of_kind(stop, Stop, "The 'stop' of forecast()")
    task = game.spec.task
    rule.check(task)
    if stop is None and rule.rules:
        return rule, True, audit.standing()

    def at(goal: Stop) -> Standing:
        if own:
            return audit.standing(stop=goal, draws=_DRAWS)
        belief = game.prior.belief(game.known) if doubtful is None else doubtful.belief
        return standing(
            goal, task, belief, game.cells, lambda: generator(seed, 0), draws=_DRAWS, at_random=game.anchors
        )

    goal = rule if rule.rules else usual_stop(task, at(rule).rules[1].now)
    return goal, bool(rule.rules), at(goal)


def _ahead(game: Game, stop: Stop, labels: int, most: int | None) -> int:
    """The number of labels to try: as many as asked for, within the budget and the items."""
    far = max(_AHEAD, _TIMES * labels) if most is None else whole_number(most, "The 'most' of forecast()")
    return min(far, game.open, *([] if stop.labels is None else [max(stop.labels - labels, 0)]))


def _end(items: int, stop: Stop, labels: int, ahead: int) -> End:
    """The reason why no more than `ahead` labels are tried."""
    if stop.labels is not None and ahead >= stop.labels - labels:
        return "budget"
    return "items" if ahead >= items else "sight"


def _known(stop: Stop, is_set: bool, now: Standing, ahead: int, items: int, spec: Spec) -> Forecast:
    """A forecast without simulation: the rule is met, nothing is left to ask, or only the budget counts."""
    if now.reached:
        met = "; ".join(rule.words for rule in now.rules if rule.reached)
        words = now.words if is_set else f"By a usual rule the labels are enough: {met}."
        return Forecast(0, 0, 0, 1.0, ahead, 0, stop, is_set, words)
    if not ahead:
        goal = f"that {aim(stop, spec.task)}" if aim(stop, spec.task) else f"{stop.labels:,} labels"
        missed = f"The goal, {goal}, is not reached." if is_set else f"A usual goal, {goal}, is not reached."
        words, others = f"Nothing is left to ask. {missed}", spec.target == "population" and bool(aim(stop))
        return Forecast(None, None, None, 0.0, ahead, 0, stop, is_set, words, all_items=others)
    left = int(stop.labels or 0) - int(now.rules[0].now)
    if left > items:
        words = (
            f"Only {counted(items, 'more item')} can be asked about, fewer than the budget of {stop.labels:,} labels "
            "has left."
        )
        return Forecast(None, None, None, 0.0, ahead, 0, stop, is_set, words)
    words = f"{counted(left, 'more label')} {'uses' if left == 1 else 'use'} up the budget."
    return Forecast(left, left, left, 1.0, ahead, 0, stop, is_set, words)


def _forecast(needed: Sequence[float], stop: Stop, is_set: bool, ahead: int, end: End, task: Task) -> Forecast:
    low, more, high = (quantile(needed, q) for q in (0.1, 0.5, 0.9))
    share = float(np.isfinite(needed).mean())
    counts = [None if np.isinf(count) else round(count) for count in (more, low, high)]
    words = more_labels(low, more, high, share, stop, ahead, end, task)
    goal, others = aim(stop, task), bool(np.isinf(more)) and end == "items"
    return Forecast(
        counts[0], counts[1], counts[2], share, ahead, len(needed), stop, is_set, words, goal, all_items=others
    )
