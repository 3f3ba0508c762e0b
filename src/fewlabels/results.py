"""The results of an assessment: a view of its labels, as a table of estimates, an answer, or progress."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from fewlabels.belief import Belief
from fewlabels.cells import cell_means
from fewlabels.checks import check_guarantee, of_kind
from fewlabels.errors import Argument, SpecError
from fewlabels.estimates import affordable, averageable, check_level, estimate, guaranteed, value_draws
from fewlabels.labelling.progress import by_group
from fewlabels.labelling.promises import check_promise
from fewlabels.metrics import Accuracy
from fewlabels.named import groups_from
from fewlabels.partition import by_score, cross, whole
from fewlabels.standing import Standing, missing_labels, standing
from fewlabels.stopping import Stop
from fewlabels.table import Table
from fewlabels.tasks import Answer, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.metrics import Metric
    from fewlabels.noise import Reliability
    from fewlabels.partition import Partition
    from fewlabels.views import Views


class Results:
    """Makes results of views. `Assessment` says what each of them means.

    Parameters
    ----------
    views
        The beliefs behind them.
    """

    def __init__(self, views: Views) -> None:
        self._views = views
        self._journal = views.journal

    # --- numbers

    def estimates(
        self,
        metric: Metric | str | None,
        groups: Partition | str | None,
        model: str | None,
        *,
        level: float,
        draws: int,
        guarantee: Literal["anytime"] | None = None,
        together: bool = False,
    ) -> Table:
        """Mean and interval of each group."""
        level = check_level(level)
        check_guarantee(guarantee, together=together)
        metric, belief, cells = self._views.view(metric, groups, model)
        table = estimate(metric, belief, cells, self._views.rng(), level=level, draws=draws)
        if guarantee:
            self._check_promise(metric, cells)
            assert isinstance(belief, Belief)
            missing = missing_labels(self._progress(cells.partition))
            table = guaranteed(metric, belief, cells, table, together=together, missing=missing)
        return self.stamped(table, metric)

    def reliability(
        self,
        bins: int,
        equal: Literal["width", "weight"],
        groups: Partition | str | None,
        *,
        level: float,
        draws: int,
    ) -> Table:
        """Accuracy with interval beside mean confidence, for each score bin, or for each group × bin."""
        pool = self._journal.subject.pool
        by_bin = by_score(pool, bins, equal)
        asked = by_bin if groups is None else cross(groups_from(groups, pool), by_bin)
        table = self.estimates(Accuracy(), asked, None, level=level, draws=draws)
        assert pool.confidence is not None
        with np.errstate(invalid="ignore"):
            confidence = cell_means(pool.confidence, asked.group, len(asked), pool.count)
        mean = [c if n else None for c, n in zip(confidence.tolist(), asked.sizes.tolist(), strict=True)]
        return table.with_column("confidence", mean)

    def draws(
        self, n: int, metric: Metric | str | None, groups: Partition | str | None, model: str | None
    ) -> NDArray[np.float64]:
        """Draws of a metric, shape (n, groups) or fewer."""
        metric, belief, cells = self._views.view(metric, groups, model)
        if affordable(n, belief) < n:
            sums = metric.at_once(belief, cells, self._views.rng(), averageable(n, belief))
            if sums is not None:
                return sums
        drawn = value_draws(metric, belief, cells, self._views.rng(), affordable(n, belief))
        return drawn if drawn.flags.writeable else drawn.copy()

    # --- answers

    def answer(self, level: float, draws: int) -> Answer:
        """The answer to the assessment's own question."""
        with self._journal.reading() as ledger:
            task = self._task(ledger)
        belief, cells = self._views.answering() if self._views.is_over_all else self._asked_of(task, None, None)
        answer = self._answer(task, belief, cells, level, draws)
        return replace(answer, table=self.stamped(answer.table, task.metric))

    def other_answer(
        self, task: Task, groups: Partition | str | None, model: str | None, *, level: float, draws: int
    ) -> Answer:
        """The answer to another question."""
        level = check_level(level)
        of_kind(task, Task, "The 'task' of answer()", error=SpecError)
        groups = self._journal.subject.groups_of(model) if groups is None else groups
        belief, cells = self._asked_of(task, groups, model)
        task.check(cells)
        task.check_new(cells)
        if task.unguaranteed() != task:
            self._check_promise(task.metric, cells)
        answer = self._answer(task, belief, cells, level, draws)
        return replace(answer, table=self.stamped(answer.table, task.metric))

    def standing(self, stop: Stop | None, draws: int) -> Standing:
        """Progress towards stopping rules; the assessment's own, if none are given."""
        stop = self._journal.subject.spec.stop if stop is None else of_kind(stop, Stop, "The 'stop' of standing()")
        with self._journal.reading() as ledger:
            adopted, task = ledger.adopted, self._task(ledger)
        _, belief, cells = self._views.view(None, None)
        is_overall = "overall" in stop.rules
        everything, at_random = (self._views.over_all(), self._views.at_random()) if is_overall else (None, 0)
        return standing(
            stop, task, cast("Belief", belief), cells, self._views.rng,
            draws=draws, adopted=adopted, everything=everything, at_random=at_random,
            progress=self._progress(cells.partition),
        )  # fmt: skip

    # --- people

    def annotators(self, level: float) -> Reliability:
        """How often each person is right."""
        from fewlabels.noise import reliability

        level = check_level(level)
        subject = self._journal.subject
        with self._journal.reading() as ledger:
            voting = self._views.beliefs.voting
            if voting is None:
                raise SpecError(
                    f"{subject.name!r} takes every label as true. How often people are right is learned in an "
                    "assessment made with ",
                    Argument("noisy", value=True),
                    "; agreement() says how far they agree.",
                )
            imputed = voting.sampled(ledger).imputed
        gold = {item: subject.pool.ids[item] for item in voting.gold}
        return reliability(imputed, voting.predicted, subject.spec.labels_right, level, gold)

    def majority_items(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The labelled items, and the class that most people gave each; if votes are weighed, disputed ones too."""
        with self._journal.reading() as ledger:
            items, true = ledger.labels()
            voting = self._views.beliefs.voting
            if voting is None:
                return items, true
            ballots = voting.sampled(ledger).imputed.ballots
        return ballots.items[ballots.evidence], ballots.majority()[ballots.evidence].astype(np.int32)

    # --- inside

    def stamped(self, table: Table, metric: Metric) -> Table:
        """A table with the settings that made it."""
        spec = self._journal.subject.spec
        parts = {"metric": repr(metric), "prior": repr(spec.prior), "policy": repr(spec.policy)}
        return table.with_settings(**parts, seed=spec.seed)

    def _asked_of(self, task: Task, groups: Partition | str | None, model: str | None) -> tuple[Belief, Cells]:
        """The belief from which a task is answered; for an average that is a number over all items, that about these.

        So it is the same number whatever the groups are that it is averaged over.
        """
        metric, subject = task.metric, self._journal.subject
        if not (task.averages and metric.linear and not metric.vector):
            _, belief, cells = self._views.view(metric, groups, model)
            return cast("Belief", belief), cells
        pool = subject.pool_of(model)
        metric.check(pool, subject.groups_of(model) if groups is None else groups_from(groups, pool))
        _, belief, cells = self._views.view(metric, whole(pool), model)
        return cast("Belief", belief), cells

    def _task(self, ledger: Ledger) -> Task:
        """The task; without its promise for every look, if there are labels of items that were not drawn at random."""
        task = self._journal.subject.spec.task
        return task.unguaranteed() if ledger.adopted else task

    def _answer(self, task: Task, belief: Belief, cells: Cells, level: float, draws: int) -> Answer:
        answer = task.answer(belief, cells, self._views.rng(), level=level, draws=draws)
        return task.doubted(answer, belief, cells, self._progress(cells.partition))

    def _progress(self, groups: Partition) -> Table:
        """Where labels came from elsewhere or are missing; nowhere for rows of several models, which share labels."""
        if self._journal.subject.spec.task.of_models:
            return Table({name: [] for name in ("adopted", "withdrawn", "unresolved")}, {})
        with self._journal.reading() as ledger:
            return by_group(ledger, groups)

    def _check_promise(self, metric: Metric, cells: Cells) -> None:
        with self._journal.reading() as ledger:
            check_promise(self._journal.subject, ledger, metric, cells.partition)
