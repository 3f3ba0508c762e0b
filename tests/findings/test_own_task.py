"""A task of one's own with `reward` and `answer` alone: every face has something sensible to say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.estimates import estimate, value_draws
from fewlabels.findings.finding import find
from fewlabels.findings.key_figures import key_figures
from fewlabels.report import read
from fewlabels.table import Table
from fewlabels.tasks import Answer, Task
from fewlabels.tasks.estimate import variance_drop
from fewlabels.web.views import dashboard
from tests.support.reports import pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells


@dataclass(frozen=True)
class AllAbove(Task):
    """Is every group above a bar?"""

    bar: float = 0.5

    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return variance_drop(self, belief, cells, theta)

    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        above = value_draws(self.metric, belief, cells, rng, draws) > self.bar
        table = estimate(self.metric, belief, cells, rng, level=level, draws=draws)
        columns = {name: table[name] for name in ("group", "n", "labelled", "mean", "low", "high")}
        chance = float(above.all(axis=1).mean())
        words = f"Every group is above {self.bar:g} with probability {chance:.2f}."
        return Answer(words, chance, Table(columns, table.settings))


@pytest.fixture
def audit(registry: None) -> fl.Assessment:
    fl.register(AllAbove)
    items, truth = pool()
    made = fl.create(None, "own", items, task=AllAbove(fl.Accuracy(), 0.4), seed=1, prior=fl.Uniform())
    made.tell({item: truth[item] for item in made.ask(60).ids})
    return made


def test_its_own_words_are_the_headline(audit: fl.Assessment) -> None:
    finding = find(audit)
    assert finding.question == "AllAbove: what can be said about the classifier's accuracy, in each class?"
    assert finding.headline == audit.answer().words
    assert repr(audit.answer()).startswith(audit.answer().words)
    assert finding.named == ()
    assert finding.basis.startswith("Based on 60 labels (")
    figure = key_figures(finding)[0]
    assert (figure.name, figure.about) == ("Answer is right", "by the labels so far")


def test_there_is_no_next_step_that_it_did_not_name(audit: fl.Assessment) -> None:
    report = read(audit, draws=500, foresee=False)
    assert report.next == ()
    assert "Next:" not in report.html()
    assert "Next:" not in report.markdown()
    empty = fl.create(None, "empty", audit.pool, task=audit.spec.task)
    assert read(empty, draws=500).next == ("Label some items first.",)
    assert find(empty).headline == "Nothing can be said yet: no item has a label so far."


def test_its_plot_is_the_forest_and_every_plot_that_suits_can_be_drawn(audit: fl.Assessment) -> None:
    assert plots.main_kind(audit) == "forest"
    drawn = plots.read_all(audit, draws=300)
    assert {"forest", "ranking", "chances", "curve"} <= set(drawn)
    assert "rope" not in drawn
    for plot in drawn.values():
        assert plots.standalone(plot).startswith("<svg")


def test_the_dashboard_shows_it(audit: fl.Assessment) -> None:
    assert dashboard(audit).finding.headline == audit.answer().words
    titles = [column.title for column in dashboard(audit).groups]
    assert titles[:5] == ["Class", "Items", "Right", "Estimate", "95% range"]
