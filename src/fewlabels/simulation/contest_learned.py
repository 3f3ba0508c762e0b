"""Runs of the learned prior with several models: compiled for the search for the best model, otherwise step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.learned.models import ALONE, CROWD, CROWD_SLOPE, NONE, VOICE_SLOPE, Panel, guesses
from fewlabels.outcomes import Outcomes
from fewlabels.policies import Lottery
from fewlabels.priors import Learned
from fewlabels.simulation.contest_case import Contest, Scores
from fewlabels.simulation.kernels.best import best_run, is_due
from fewlabels.simulation.kernels.voices import Field
from fewlabels.tasks import Best, Rewards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.policies import Policy

_PARTS = 2  # a run has one generator for the order of asking, and another for the scores


def learned_run(
    case: Contest, policy: Policy, at: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, list[float]]:
    """Play one run of the learned prior with a policy; returns its scores at the budgets `at`, in increasing order."""
    order, judge = rng.spawn(_PARTS)
    if isinstance(case.task, Best) and isinstance(policy, Lottery) and len(case.cells.filled) == 1:
        return compiled_run(case, policy, at, order, judge)
    return stepwise_run(case, policy, at, order, judge)[0]


def stepwise_run(
    case: Contest, policy: Policy, at: NDArray[np.int64], rng: np.random.Generator, judge: np.random.Generator
) -> tuple[dict[str, list[float]], list[int]]:
    """Play a run with the library's own beliefs, rewards and policies; returns its scores, and the items as asked."""
    cells, task = case.cells, case.task
    prior = Learned().on(cells, "pool")
    free = task.asks(cells).astype(np.int64)
    items: list[int] = []
    scores = Scores(case)
    last, marks = int(at.max()), set(at.tolist())
    for label in range(last + 1):
        ends = label in marks or not free.any()
        if is_due(label) or ends:
            asked = np.array(items, dtype=np.int64)
            belief = prior.belief(Outcomes.of(cells, asked, case.true[asked].astype(np.int64)))
            rewards = Rewards(task, cells, belief)
            scores.look(belief, judge, label, ends=ends)
        if ends:
            for mark in sorted(marks) if not free.any() else [label]:
                if mark >= label and mark in marks:
                    scores.note()
                    marks.discard(mark)
            if not free.any() or label == last:
                break
        item = int(policy.choose(rewards, free, 1, rng)[0])
        items.append(item)
        free[item] = 0
    return scores.found, items


def field_of(panel: Panel, true: NDArray[np.int32]) -> Field:
    """The contested items of a panel with their true classes, in the form that the kernel needs."""
    items, features, answers = panel.contested, panel.features, panel.answers
    shown = answers.shown(items, true[items])
    all_ = guesses(answers.models, panel.pair)
    main = features.base[:, : answers.width, 0].argmax(axis=1)
    item, apart = np.nonzero(features.option != main[:, None])
    return Field(
        option=features.option,
        options=answers.options[items],
        others=answers.others[items],
        main=main,
        start=np.searchsorted(item, np.arange(len(items) + 1)),
        apart=apart,
        base=features.base,
        x=np.empty((0, 0)) if features.x is None else features.x,
        true=np.where(shown < answers.options[items], shown, answers.width),
        uniform=panel.noise.uniform,
        normals=panel.noise.normals(features.size),
        spreads=np.array([guess.weight[1] for guess in all_ if guess.weight != ALONE]),
        alone=np.array(ALONE),
        log_prior=np.array([guess.log_prior for guess in all_]),
        before=np.array([CROWD, NONE, CROWD_SLOPE, VOICE_SLOPE]),
        wider=panel.wider,
    )


def compiled_run(
    case: Contest, policy: Lottery, at: NDArray[np.int64], rng: np.random.Generator, judge: np.random.Generator
) -> dict[str, list[float]]:
    """Play a run that looks for the model that is best over all items, with the kernel."""
    cells = case.cells
    panel = Panel.of(cells.said, cells.classes, cells.confidences, cells.home, 1)
    scores = Scores(case)
    budgets = np.unique(at)
    _, leads, sure = best_run(rng, judge, field_of(panel, case.true), policy.power, budgets)
    for budget, lead in zip(budgets.tolist(), leads.tolist(), strict=True):
        if 0 <= sure[0] <= budget and scores.sure is None:
            scores.chosen(int(sure[1]), 1.0)
        scores.chosen(lead, 0.0)
        scores.note()
    return scores.found
