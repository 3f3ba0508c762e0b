"""The results that a number of labels will probably give, before any label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.checks import number_in, of_kind, whole_number
from fewlabels.errors import InputError, SpecError
from fewlabels.labelling.askers import Asker
from fewlabels.metrics import Accuracy
from fewlabels.named import check_groups, groups_from, policy_from, prior_from
from fewlabels.outcomes import Outcomes
from fewlabels.partition import by_predicted, of_pool, whole
from fewlabels.planning.asking import Game
from fewlabels.planning.doubtful import USUAL, heard
from fewlabels.planning.watching import Watch, generator, quantile, sharp, usual_stop
from fewlabels.planning.words import BEGIN, alike, buys, never, only_these, recommendation, rounded, several, too_soon
from fewlabels.planning.worlds import draw_world
from fewlabels.policies import Policy, default_policy
from fewlabels.policies.anchors import default_anchor, default_strips
from fewlabels.pool import Pool
from fewlabels.sample import Sample
from fewlabels.spec import Spec, check_one_model, to_json
from fewlabels.stopping import Stop
from fewlabels.table import Table
from fewlabels.tasks import Estimate, Task
from fewlabels.tasks.snapshot import LEVEL
from fewlabels.undefined import averaged
from fewlabels.wording import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fewlabels.belief import Target
    from fewlabels.partition import Partition
    from fewlabels.planning.worlds import World
    from fewlabels.priors import Prior
    from fewlabels.tasks.snapshot import Snapshot

# Draws at a look, and the worlds that are played: fewer where one draw has many numbers.
_DRAWS = 300
_WORK, _FEWEST, _MOST = 16_000, 12, 120
# A recommended budget is enough in this share of the worlds.
ENOUGH = 0.8
# No budget is recommended for a rule whose answers are true this much less often than they claim.
_TOO_FAR = 0.15
# If no budget is recommended, the words describe the results of the budget nearest to this one.
_EXAMPLE = 200
# Beyond the largest budget, worlds are played on to this many times as many labels until the rule is met.
_FARTHER = 4


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """The results that budgets will probably give.

    Parameters
    ----------
    table
        A row for each budget, averages over the worlds. Columns: labels; overall, the width of the 95% interval of the
        average over the pool, and held, the share of worlds where it contains the true value; where there are several
        groups, width and widest of their intervals; rmse of the groups' estimates, weighted by size; where the answer
        is right or wrong, the probability that it states, and right, the share of worlds where it is right; verdict,
        the share where there is one; found, the share of the groups looked for that are named; reached, the share of
        worlds where the rule has been met by then.
    recommended
        The number of labels by which the rule is met in four worlds of five; None if no budget tried is enough.
    stop
        The rule.
    is_set
        Whether the rule was given, or is a usual one because none was.
    stopped, honesty
        How many worlds stopped by the rule, and how often its claim was true then: that the answer is right, or that
        the intervals contain the true values. In the worlds that stop the plan checks its own assumptions.
    sentence
        The recommendation in plain words, and a description of the worlds; without the advice of `words`.
    all_items
        Whether labels of all items will probably not be enough, because the numbers are also about other items like
        them.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b"] * 100})
    >>> list(plan(pool, budgets=[10], runs=1).table.columns)
    ['labels', 'overall', 'held', 'width', 'widest', 'rmse', 'reached']
    """

    table: Table
    recommended: int | None
    stop: Stop
    is_set: bool
    stopped: int
    honesty: float | None
    sentence: str
    all_items: bool = False

    @property
    def words(self) -> str:
        """The recommendation, the advice where all items are not enough, and a description of the worlds."""
        return self.advised()

    def advised(self, how: str = BEGIN) -> str:
        """The words, with `how` to ask about exactly these items."""
        return f"{self.sentence} {only_these(how)}" if self.all_items else self.sentence

    def __repr__(self) -> str:
        return f"{self.words}\n\n{self.table}"

    def to_json(self) -> dict[str, Any]:
        """Convert the plan to plain JSON values."""
        return {
            "recommended": self.recommended,
            "words": self.words,
            "stop": self.stop.rules,
            "is_set": self.is_set,
            "stopped": self.stopped,
            "honesty": self.honesty,
            "rows": list(self.table.rows()),
            "settings": dict(self.table.settings),
        }


@dataclass(frozen=True, eq=False)
class _Course:
    """The results of one world: numbers at each budget, when the rule was met, and whether its claim was true then."""

    at: Sequence[dict[str, float]]
    met: float
    honesty: float
    promise: float
    accuracy: float


def plan(
    pool: Pool,
    groups: Partition | str | None = None,
    *,
    task: Task | None = None,
    prior: Prior | str | None = None,
    policy: Policy | str | None = None,
    target: Target = "population",
    stop: Stop | None = None,
    budgets: Iterable[int] = (50, 100, 200, 500),
    expect: float | None = None,
    worlds: Prior | str | None = None,
    runs: int | None = None,
    seed: int = 0,
    noisy: bool = False,
    labels_right: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Simulate an assessment in many worlds before the first label, to see what each budget achieves.

    Parameters
    ----------
    pool, groups, task, prior, policy, target
        The assessment, as in `create`.
    stop
        The stopping rule; if not given, an answer that is right with probability 0.95, or an interval of the average
        that is 0.1 wide.
    budgets
        The numbers of labels to try.
    expect
        The accuracy to expect over the pool, if you know it roughly, such as 0.9.
    worlds
        The prior to draw worlds from; `Learned()` if not given, whose classifiers are like public ones. The prior of
        the assessment often does not suit: under the uniform prior, groups of any accuracy are equally likely.
    runs
        The number of worlds; if not given, as many as take some seconds.
    seed
        The same seed gives the same plan.
    noisy, labels_right
        Whether labels may be wrong, and how often they are right; by default one in twenty is wrong.
    progress
        A function that is called with the worlds done and the worlds in all.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.stopping import Stop
    >>> pool = fl.read_pool({"predicted": ["a", "b"] * 1000})
    >>> made = plan(pool, budgets=(20, 80), stop=Stop(overall=0.2), expect=0.8, runs=20)
    >>> made.table["labels"], made.recommended is not None
    ([20, 80], True)
    """
    of_kind(pool, Pool, "The 'pool' of plan()")
    task, prior, policy = task or Estimate(Accuracy()), prior_from(prior), policy_from(policy)
    of_kind(task, Task, "The 'task'", error=SpecError)
    check_one_model(pool, task, "Plan for the pool of one, which is pool.of(name)")
    groups = None if groups is None else groups_from(groups, pool)
    partition = (whole(pool) if task.of_models else by_predicted(pool)) if groups is None else groups
    check_groups(of_pool(partition, pool))
    spec = Spec(task, partition.recipe, prior, policy or default_policy(task, prior), target, seed, stop or Stop())
    game = first_game(spec, pool, partition, usual=policy is None)
    spec, cells = game.spec, game.cells
    task.check_new(cells)
    at = _budgets(budgets, spec.stop, game.open)
    source = prior_from(worlds)
    source.check(cells)
    _check(expect, labels_right)
    blank = source.on(cells, target).blank()
    runs = runs_of_plan(game) if runs is None else runs
    runs = whole_number(runs, "The 'runs' of plan()")
    goal = spec.stop if spec.stop.rules.keys() - {"labels"} else usual_stop(task)
    wrong = 1 - labels_right if labels_right is not None else USUAL * noisy
    courses = []
    for run in range(runs):
        rng = generator(seed, run)
        world = draw_world(blank, cells, game.known, rng, expect)
        if wrong:
            world = heard(world, wrong, len(pool.choices), rng)
        courses.append(_course(game, world, goal, at, rng))
        if progress is not None:
            progress(run + 1, runs)
    made = _plan(game, goal, at, courses, source, expect)
    if not wrong:
        return made
    note = f"The plan assumes that {percent(wrong)} of the labels are wrong, and that this is known."
    table = made.table.with_settings(labels_right=1 - wrong)
    # Labels that may be wrong make no number exact, however many there are.
    return replace(made, sentence=f"{made.sentence} {note}", table=table, all_items=False)


def first_game(spec: Spec, pool: Pool, partition: Partition, *, usual: bool) -> Game:
    """The assessment before its first label; `usual` says whether it asks as it does if nobody names a policy."""
    cells, task = spec.cells(pool, partition), spec.task
    if usual and not task.of_models:
        spec = spec.in_strips(default_strips(task, spec.prior, cells))
        cells = spec.cells(pool, spec.asking(pool, partition))
        spec = replace(spec, anchor=default_anchor(task, spec.prior, spec.policy, cells))
    one_share = task.averages and task.metric.marginal and cells.right is None
    if not (one_share and spec.prior.uses_items and Asker(spec, pool).steers):
        return Game(spec, cells, Outcomes.none(cells))
    return Game(spec, cells, Outcomes.none(cells), drawn=Sample.none(), everything=spec.cells(pool, whole(pool)))


def runs_of_plan(game: Game) -> int:
    """The number of worlds that take some seconds: fewer for many groups, and for a prior that is fitted."""
    return int(np.clip(_WORK // (game.prior.blank().numbers + 20), _FEWEST, _MOST))


def _check(expect: float | None, labels_right: float | None) -> None:
    if labels_right is not None:
        number_in(labels_right, "The 'labels_right' of plan()", low=0.5, high=1, hint="such as 0.95")
    if expect is not None:
        number_in(expect, "The 'expect' of plan()", high=1, hint="such as 0.9")


def _budgets(given: Iterable[int], stop: Stop, room: int) -> list[int]:
    """The label counts in increasing order, none above the number of items; the budget of the rule is one of them."""
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError(f"The 'budgets' of plan() are a list, such as [50, 200]. Got {given!r} instead.")
    counts = [*given, *([] if stop.labels is None else [stop.labels])]
    counts = [whole_number(count, "Each of the 'budgets' of plan()") for count in counts]
    if not counts:
        raise InputError("plan() needs at least one budget, such as budgets=[200].")
    if not room:
        raise SpecError("plan() cannot plan for a pool without items. Read a pool with items.")
    return sorted({min(count, room) for count in counts})


def _course(game: Game, world: World, goal: Stop, budgets: Sequence[int], rng: np.random.Generator) -> _Course:
    """Play one world."""
    cells = game.cells
    truth = game.truth(world)
    watch, met = Watch(game, goal), None
    at: list[dict[str, float]] = []
    farthest = budgets[-1] if watch.is_vain(world, rng) else min(_FARTHER * budgets[-1], game.open)
    for look in game.play(world, rng, farthest, budgets):
        snapshot = None
        if look.labels in budgets:
            snapshot = game.snapshot(look, rng, sharp(look.belief, _DRAWS))
            at.append(_numbers(snapshot, truth))
        if met is None:
            met = watch.met(look, rng, snapshot)
        if look.labels >= budgets[-1] and met is not None:
            break
    if met is None:
        return _Course(at, np.inf, np.nan, np.nan, world.right(cells))
    promise = goal.rules["probability"] if met.rule == "probability" else LEVEL
    return _Course(at, met.labels, met.snapshot.honesty(met.rule, truth), promise, world.right(cells))


def _numbers(snapshot: Snapshot, truth: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    """The numbers of the table for one world and budget."""
    task, cells = snapshot.task, snapshot.cells
    numbers: dict[str, float] = {}
    if task.of_models:  # labels go where models differ: they are not meant to show how often each is right
        return {"probability": snapshot.probability, "right": float(snapshot.is_right(truth))}
    if task.pair is None:
        numbers |= {"overall": snapshot.overall, "held": snapshot.honesty("overall", truth)}
    if "overall" not in numbers or int((cells.partition.sizes > 0).sum()) > 1:
        known = snapshot.widths[~np.isnan(snapshot.widths)]  # among groups that have a number, as elsewhere
        numbers |= {"width": float(known.mean()) if known.size else snapshot.width, "widest": snapshot.width}
    square = (snapshot.mean - truth) ** 2
    square = square.sum(axis=1) if task.metric.vector else square
    weight = cells.partition.shares * task.askable(cells)
    numbers["rmse"] = float(np.sqrt(np.nan_to_num(averaged(square, weight / weight.sum(), axis=0))))
    if task.conclusive:
        numbers |= {"probability": snapshot.probability, "right": float(snapshot.is_right(truth))}
    if task.surety:
        numbers["verdict"] = float(snapshot.probability >= task.surety)
    if task.plays > 1:
        numbers["found"] = snapshot.found(truth)
    return numbers


def _plan(
    game: Game, goal: Stop, budgets: Sequence[int], courses: Sequence[_Course], worlds: Prior, expect: float | None
) -> Plan:
    met = np.array([course.met for course in courses])
    columns: dict[str, list[Any]] = {"labels": list(budgets)}
    for name in courses[0].at[0]:
        columns[name] = [float(np.mean([course.at[i][name] for course in courses])) for i in range(len(budgets))]
    columns["reached"] = [float((met <= budget).mean()) for budget in budgets]
    spec = game.spec
    settings = {
        "task": to_json(spec.task),
        "groups": to_json(spec.groups),
        "prior": repr(spec.prior),
        "policy": repr(spec.policy),
        "target": spec.target,
        "level": LEVEL,
        "worlds": repr(worlds),
        "expect": expect,
        "runs": len(courses),
        "seed": spec.seed,
        "items": int(game.cells.partition.sizes.sum()),
    }
    is_set = bool(spec.stop.rules.keys() - {"labels"})
    stopped = [course for course in courses if np.isfinite(course.met)]
    honesty = float(np.mean([course.honesty for course in stopped])) if stopped else None
    recommended, advice, others = _advice(game, goal, budgets, courses)
    low, high = np.quantile([course.accuracy for course in courses], [0.1, 0.9]).tolist()
    sentences = []
    if recommended is None:  # what a budget achieves is the best guide here, so it comes first
        at = spec.stop.labels or _EXAMPLE
        i = int(np.argmin(np.abs(np.log(np.array(budgets) / at))))
        row, share = {name: column[i] for name, column in columns.items()}, spec.task.metric.in_percent
        sentences.append(buys(budgets[i], row, spec.task.plays, share=share))
    if not is_set:
        given = "No stopping rule was given" if spec.stop.labels is None else "A budget is not a goal"
        sentences.append(f"{given}, so the plan assumes a usual one.")
    sentences.append(advice)
    if spec.task.of_models:
        sentences.append(several(low, high, len(courses)))
    else:
        sentences.append(alike(low, high, len(courses), repr(worlds), game.cells.scores is not None, expect))
    table = Table(columns, settings)
    return Plan(table, recommended, goal, is_set, len(stopped), honesty, " ".join(sentences), others)


def _advice(game: Game, goal: Stop, budgets: Sequence[int], courses: Sequence[_Course]) -> tuple[int | None, str, bool]:
    """The recommended budget, if there is one, the reasons, and whether all items are not enough."""
    stopped = [course for course in courses if np.isfinite(course.met)]
    honesty = float(np.mean([course.honesty for course in stopped])) if stopped else 1.0
    promise = float(np.mean([course.promise for course in stopped])) if stopped else 1.0
    by_chance = 2 * np.sqrt(promise * (1 - promise) / max(len(stopped), 1))
    if honesty < promise - _TOO_FAR - by_chance:
        return None, too_soon(honesty, promise, goal, repr(game.spec.prior), game.spec.task), False
    when = quantile([course.met for course in courses], ENOUGH)
    if np.isinf(when):
        far = min(_FARTHER * budgets[-1], game.open)
        every = far == game.open and game.spec.target == "population"
        return None, never(len(stopped) / len(courses), far, goal, game.spec.task, all_items=every), every
    recommended = min(max(rounded(when, up=True), 1), game.open)
    return recommended, recommendation(recommended, ENOUGH, honesty, len(stopped), goal, game.spec.task), False
