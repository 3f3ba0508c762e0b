"""The assessment: ask which items to label, tell the labels, and read what is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from fewlabels.belief import Belief, Strata
from fewlabels.cells import cell_means
from fewlabels.checks import check_guarantee
from fewlabels.errors import Argument, InputError, SpecError, StoreError
from fewlabels.estimates import affordable, check_level, estimate, guaranteed, value_draws
from fewlabels.labelling.record import Record
from fewlabels.learned.models import ModelsBelief, OneModelBelief, TruthBelief
from fewlabels.metrics import Accuracy, Metric
from fewlabels.noise import NoisyBelief, Reliability, reliability
from fewlabels.partition import Partition, by_score, cross, partition_from_recipe, whole
from fewlabels.rectified import rectified
from fewlabels.stopping import Standing, standing
from fewlabels.tasks import Answer, Task

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.estimates import Believed
    from fewlabels.findings.classes import ClassReport
    from fewlabels.findings.fairness import Fairness
    from fewlabels.gate import Check, Rule
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.plots import Display
    from fewlabels.pool import Pool
    from fewlabels.table import Table

# Reading results must not use the generators of the steps, which begin with 1: they have a stream of their own.
_RESULTS = 0x726573


class Assessment(Record):
    """One question about one pool, from the first request to the answer. Made by `create` and `load`.

    The log of requests and labels in the store is the whole truth: several processes can ask and tell at the
    same time, and an assessment that is loaded again goes on with the identical next request.

    Examples
    --------
    >>> import fewlabels as fl
    >>> digits = fl.load_digits()
    >>> pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
    >>> truth = dict(zip(digits.ids, digits.labels))
    >>> audit = fl.create(None, "worst", pool, task=fl.Identify(fl.Accuracy(), lowest=2), seed=7)
    >>> for _ in range(30):
    ...     batch = audit.ask(10)
    ...     told = audit.tell({item: truth[item] for item in batch.ids})
    >>> audit
    <Assessment 'worst': Identify(metric=Accuracy(), lowest=2, highest=None) of 10 groups, 300 labels, 0 pending>
    """

    _overall: tuple[tuple[int, int, Metric, str | None], tuple[Metric, Believed, Cells]] | None = None

    def __repr__(self) -> str:
        with self._current() as ledger:
            pending = int(ledger.pending.sum())
            return (
                f"<Assessment {self.name!r}: {self.spec.task!r} of {len(self.groups):,} groups, "
                f"{ledger.labelled:,} labels, {pending:,} pending>"
            )

    # --- reading

    def estimates(
        self,
        *,
        level: float = 0.95,
        metric: Metric | None = None,
        groups: Partition | None = None,
        draws: int = 10_000,
        guarantee: Literal["anytime"] | None = None,
        together: bool = False,
        model: str | None = None,
    ) -> Table:
        """Mean and credible interval of each group: columns group, n, labelled, mean, low, high.

        You can choose another metric or other groups than the assessment's own, and another model of a pool that has
        several: one label is about all of them. Labels are then weighted by the groups in which they were asked,
        because they are a random sample only within those groups.

        With `guarantee="anytime"` the intervals hold for every truth at all looks together, however often you look:
        each of them with the probability `level`, or with `together=True` all groups at once. They are longer.
        """
        check_level(level)
        check_guarantee(guarantee, together=together)
        metric, belief, cells = self._view(metric, groups, model)
        table = estimate(metric, belief, cells, self._results_rng(), level=level, draws=draws)
        if guarantee:
            self.check_promise(metric, cells.partition)
            assert isinstance(belief, Belief)
            table = guaranteed(metric, belief, cells, table, together=together)
        return table.with_settings(**self._settings(metric))

    def draws(
        self,
        n: int = 10_000,
        *,
        metric: Metric | None = None,
        groups: Partition | None = None,
        model: str | None = None,
    ) -> NDArray[np.float64]:
        """Draws of the metric from its posterior, shape (n, groups): for results that no method computes."""
        metric, belief, cells = self._view(metric, groups, model)
        return value_draws(metric, belief, cells, self._results_rng(), affordable(n, belief))

    def answer(self, *, level: float = 0.95, draws: int = 10_000) -> Answer:
        """The task's conclusion from the labels so far, with its probability."""
        check_level(level)
        with self._current() as ledger:
            adopted = ledger.adopted
        # What is promised for every look needs items drawn at random.
        task = self.spec.task.unguaranteed() if adopted else self.spec.task
        belief, cells = self._answering()
        answer = task.answer(belief, cells, self._results_rng(), level=level, draws=draws)
        table = answer.table.with_settings(**self._settings(self.spec.task.metric))
        return Answer(answer.words, answer.probability, table, answer.groups, self._plainly(answer.words, level, draws))

    def put(
        self,
        task: Task,
        groups: Partition | None = None,
        *,
        model: str | None = None,
        level: float = 0.95,
        draws: int = 10_000,
    ) -> Answer:
        """Put another question to the labels that are there, for a task that can be read by any groups, as Certify can.

        It can be about another model of the pool. Nothing is asked and nothing changes. The answer's words are the
        task's own.
        """
        check_level(level)
        metric, belief, cells = self._view(task.metric, groups or self.groups_of(model), model)
        task.check(cells)
        if task.unguaranteed() != task:
            self.check_promise(metric, cells.partition)
        answer = task.answer(cast("Belief", belief), cells, self._results_rng(), level=level, draws=draws)
        return replace(answer, table=answer.table.with_settings(**self._settings(metric)))

    def check(
        self,
        rule: str | Rule,
        *,
        overall: bool = False,
        groups: str | None = None,
        only: Sequence[str] = (),
        sure: float = 0.95,
        guarantee: Literal["anytime"] | None = None,
        model: str | None = None,
        foresee: bool = False,
    ) -> Check:
        """Does it pass? Whether every group reaches a line such as "accuracy >= 0.9", by the labels that are there.

        Parameters
        ----------
        rule
            A metric, >= or <=, and a number; or a `Rule`, which says the rest as well.
        overall
            Whether the line is for all items together, and not for every group.
        groups
            Other groups, as the command line writes them, such as "column:sex".
        only
            The groups that must reach it; all of them if none are named.
        sure
            The probability with which a verdict is given.
        guarantee
            "anytime": for every truth, and however often you look, a false pass has a probability of at most
            1 − sure.
        model
            Another model of the same pool than the one that the question is about.
        foresee
            Whether to say how many more labels it will probably take, which takes some seconds.

        Examples
        --------
        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"predicted": ["a", "b"] * 50})
        >>> fl.create(None, "pets", pool).check("accuracy >= 0.9").verdict
        'open'
        """
        from fewlabels.gate import Rule, check

        if isinstance(rule, str):
            rule = Rule(rule, overall, "", groups, tuple(only), sure, guarantee)
        return check(self, rule, model=model, foresee=foresee)

    def standing(self, *, draws: int = 10_000) -> Standing:
        """Progress towards the stopping rules: the value of each now, the value wanted, and whether one is met."""
        with self._current() as ledger:
            adopted = ledger.adopted
        task = self.spec.task.unguaranteed() if adopted else self.spec.task
        _, belief, cells = self._view(None, None)
        everything = self.over_all() if "overall" in self.spec.stop.rules else None
        return standing(
            self.spec.stop, task, cast("Belief", belief), cells, self._results_rng,
            draws=draws, adopted=adopted, everything=everything,
        )  # fmt: skip

    def reliability(
        self,
        bins: int = 10,
        *,
        equal: Literal["width", "weight"] = "width",
        groups: Partition | None = None,
        level: float = 0.95,
        draws: int = 10_000,
    ) -> Table:
        """The reliability diagram: accuracy with interval beside mean confidence, for each score bin.

        Columns group (the bin), n, labelled, mean, low, high and confidence. With `groups`, a row for each group × bin.
        """
        by_bin = by_score(self.pool, bins, equal)
        asked = by_bin if groups is None else cross(groups, by_bin)
        table = self.estimates(level=level, metric=Accuracy(), groups=asked, draws=draws)
        assert self.pool.confidence is not None
        with np.errstate(invalid="ignore"):
            confidence = cell_means(self.pool.confidence, asked.group, len(asked), self.pool.count)
        mean = [c if n else None for c, n in zip(confidence.tolist(), asked.sizes.tolist(), strict=True)]
        return table.with_column("confidence", mean)

    def classes(self, *, level: float = 0.95, draws: int = 4_000, model: str | None = None) -> ClassReport:
        """Precision, recall and F1 of every class with intervals, and their averages: the classification report.

        Examples
        --------
        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"predicted": ["spam", "ham"] * 50})
        >>> report = fl.create(None, "mail", pool).classes()
        >>> report.classes["class"], len(report.averages)
        (['ham', 'spam'], 3)
        """
        from fewlabels.findings.classes import read_classes

        return read_classes(self, level=level, draws=draws, model=model)

    def fairness(
        self,
        groups: Partition | None = None,
        *,
        positive: str | None = None,
        reference: str | None = None,
        level: float = 0.95,
        draws: int = 4_000,
        model: str | None = None,
    ) -> Fairness:
        """Every group against a reference group, or against the rest of the items: differences, ratios, largest gap.

        Parameters
        ----------
        groups
            Other groups than the assessment's own, such as `by_column(audit.pool, "sex")`.
        positive
            The class that counts as positive, for the true and false positive rate, precision and selection rate. In a
            pool of two classes named yes and no, or 1 and 0, it is known.
        reference
            The name of the group to compare with; if not given, every group is compared with all other items.

        Examples
        --------
        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"predicted": ["yes", "no"] * 50, "sex": ["f"] * 40 + ["m"] * 60})
        >>> audit = fl.create(None, "loans", pool)
        >>> sorted(set(audit.fairness(fl.by_column(pool, "sex")).groups["measure"]))
        ['accuracy', 'false positive rate', 'precision', 'selection rate', 'true positive rate']
        """
        from fewlabels.findings.fairness import read_fairness

        return read_fairness(
            self, groups, positive=positive, reference=reference, level=level, draws=draws, model=model
        )

    def judges(self, *, level: float = 0.95, groups: Partition | None = None) -> Table:
        """How good each judge is against people: agreement, TPR, TNR, kappa and the pass rate corrected for its errors.

        A judge is an evidence column of two verdicts such as pass and fail; and, if the question is about a true pass
        rate (`Prevalence`), the predictions. Over all items, and in each group. Columns judge, group, measure, k and of
        (the labels that show it), mean, low and high.
        """
        from fewlabels.findings.judges import judge_table

        check_level(level)
        return judge_table(self, level, groups)

    def pool_of(self, model: str | None) -> Pool:
        """The pool of one of the models; that of the question if none is named."""
        return self.pool if self._is_own(model) else self.whole.of(str(model))

    def groups_of(self, model: str | None) -> Partition:
        """The assessment's groups for one of the models: those by predicted class are others for each model."""
        return self.groups if self._is_own(model) else self.spec.partition(self.pool_of(model))

    def _is_own(self, model: str | None) -> bool:
        return model is None or (model == self.spec.model and model in self.whole.models)

    def belief(self) -> Belief:
        """The belief about the cells of the assessment's own metric and groups, or of the strips that it asks in."""
        with self._current() as ledger:
            return self._believe(ledger).belief

    def plot(self, kind: str | None = None, *, level: float = 0.95) -> Display:
        """A plot: a notebook shows it with values where you point, `.plot(ax)` draws it, `.save(path)` writes it.

        `kind` is a name in `plots.PLOTS`; without it, the plot that shows the answer.
        """
        from fewlabels import plots

        kind = kind or plots.main_kind(self)
        return plots.display(plots.read_all(self, level, kinds=[kind])[kind])

    def report(self, path: str | os.PathLike[str], *, level: float = 0.95, rules: Sequence[str | Rule] = ()) -> Path:
        """Write the report into one file, in the format that its name shows: .html, .md or .json. Returns its path.

        With `rules`, such as ["accuracy >= 0.9"], it also says whether they pass; see `check`.
        """
        from fewlabels.gate import Rule
        from fewlabels.report import format_of, read, write

        format_of(path)  # refuse a wrong name before the work, not after it
        put = [Rule(rule) if isinstance(rule, str) else rule for rule in rules]
        return write(read(self, level, rules=put), path)

    def close(self) -> None:
        """Close the database, unless it was passed in open."""
        self._supply.close()
        if not self._shared:
            self._store.close()

    def _repr_html_(self) -> str:
        """The summary that a notebook shows, as on the first lines of the report."""
        from fewlabels.report.notebook import notebook

        return notebook(self)

    # --- inside

    def _plainly(self, words: str, level: float, draws: int) -> Callable[[], str]:
        """A function that makes the headline; it falls back to the task's words if the log has changed or is closed."""
        seq = self._ledger.events

        def headline() -> str:
            from fewlabels.findings.finding import find

            try:
                return find(self, level, draws).headline if self.seq == seq else words
            except StoreError:
                return words

        return headline

    def _answering(self) -> tuple[Belief, Cells]:
        """The belief that the task's answer is made from: where that is one share of all items, the one about these."""
        return self.over_all() or (self.belief(), self._cells)

    def over_all(self, at: Ledger | None = None) -> tuple[Belief, Cells] | None:
        """The belief about all items, now or after a part of the log, if the answer is one share of them; else None."""
        if not (self.spec.task.averages and self.spec.task.metric.marginal):
            return None
        _, belief, cells = self._view(None, whole(self.pool), at=at)
        return cast("Belief", belief), cells

    def belief_then(self, ledger: Ledger) -> Belief:
        """The belief about the assessment's own groups after a part of the log, where labels may be wrong."""
        return cast("Belief", self._viewed(None, None, at=ledger)[1])

    def _view(
        self,
        metric: Metric | None,
        groups: Partition | None,
        model: str | None = None,
        *,
        at: Ledger | None = None,
    ) -> tuple[Metric, Believed, Cells]:
        """The belief about any metric on any groups, of any model, from the labels as they were asked.

        They are the labels that are there now, or those of a ledger.
        """
        if metric is None and groups is None and self._is_own(model) and not self.spec.strips:
            return self.spec.task.metric, self.belief(), self._cells
        if at is not None or groups is None or groups.recipe != {"by": "whole"}:
            return self._viewed(metric, groups, model, at=at)
        # The number over all items is read in several places, and takes as long as all groups do.
        key = (self.seq, len(groups.group), metric or self.spec.task.metric, model)
        if self._overall is None or self._overall[0] != key:
            self._overall = key, self._viewed(metric, groups, model)
        return self._overall[1]

    def _viewed(
        self,
        metric: Metric | None,
        groups: Partition | None,
        model: str | None = None,
        *,
        at: Ledger | None = None,
    ) -> tuple[Metric, Believed, Cells]:
        if self.spec.task.of_models:
            return self._view_of_models(metric or self.spec.task.metric, groups or self.groups, model)
        pool = self.pool_of(model)
        metric, groups = metric or self.spec.task.metric, groups or self.groups_of(model)
        if len(groups.group) != self.pool.rows and self.pool.reserve is not None:
            groups = partition_from_recipe(pool, groups.recipe)  # items were named since the groups were made
        if len(groups.group) != self.pool.rows:
            raise InputError(
                "these groups belong to another pool: they have another number of items. Make them from audit.pool."
            )
        metric.check(pool, groups)
        cells = metric.cells(pool, groups)
        # The number over all items can be off after steered asking, if it is one share.
        off = self._is_steered() and len(cells) == 1 == len(groups) and metric.marginal and cells.right is None
        with self._current() as now:
            ledger = now if at is None else at
            labels = self._possible_labels(ledger, then=at is not None)
            random = self._is_random_sample(ledger)
            alone, asked = not ledger.drawn.elsewhere, self._askers.asked(ledger)
            sample = self._sample(ledger) if off else None
        self.spec.prior.check(cells)
        fine, prepared = cells, None
        if not (alone and np.array_equal(groups.group, self._asking.group)):
            prepared = self.spec.prior.across(cells, self.spec.target, *([self._asking] if alone else asked))
            if not random and prepared is None:
                fine = metric.cells(pool, cross(groups, self._asking))
                self.spec.prior.check(fine)
        prepared = prepared or self.spec.prior.on(fine, self.spec.target)

        def read(items: NDArray[np.int64], true: NDArray[np.int32]) -> Believed:
            """What some labels say."""
            belief: Belief | Strata = prepared.belief(metric.outcomes(pool, fine, items, true))
            if fine is not cells:
                first = np.unique(fine.cell, return_index=True)[1]
                belief = Strata(cast("Belief", belief), cells.cell[first].astype(np.int64), cells.size)
            if sample is None:
                return belief
            shown = sample if self._voting is None else sample.relabelled(items, true == pool.predicted[items])
            return rectified(belief, pool.confidence, shown, self._results_rng(), pool.count)

        items, *each = labels
        if self._voting is None:
            return metric, read(items, each[0]), cells
        return metric, NoisyBelief.of([read(items, true) for true in each]), cells

    def possible_labels(self) -> tuple[NDArray[np.int64], list[NDArray[np.int32]]]:
        """The labelled items, and their true classes: once, or where labels may be wrong as often as they were drawn.

        Shapes (labels,), and (labels,) each.
        """
        with self._current() as ledger:
            items, *each = self._possible_labels(ledger)
        return items, each

    def _possible_labels(self, ledger: Ledger, *, then: bool = False) -> list[NDArray[Any]]:
        """The labelled items and their true classes; several times their classes, where labels may be wrong."""
        if self._voting is None:
            return [*ledger.labels()]
        imputed = self._voting.told_then(ledger) if then else self._voting.told(ledger).imputed
        return [imputed.items, *imputed.labels]

    def annotators(self, *, level: float = 0.95) -> Reliability:
        """How often each person is right, with intervals, and how far these labels can be trusted.

        Only where labels may be wrong: `create(..., noisy=True)`.
        """
        check_level(level)
        if self._voting is None:
            raise SpecError(
                f"{self.name!r} takes every label as true. How often people are right is learned in an assessment made "
                "with ",
                Argument("noisy", value=True),
                "; agreement() says how far they agree.",
            )
        with self._current() as ledger:
            imputed = self._voting.told(ledger).imputed
        return reliability(imputed, self._voting.predicted, self.spec.labels_right, level)

    def _is_steered(self) -> bool:
        """Whether labels were steered to some groups and speak for the others: then the number over all can be off."""
        with self._current() as ledger:
            askers = [self._asker, *(self._askers[name] for name in ledger.drawn.askers)]
        steered = any(asker.spec.policy.uses_belief and int((asker.asking.sizes > 0).sum()) > 1 for asker in askers)
        return steered and self.spec.prior.uses_items

    def _view_of_models(
        self, metric: Metric, groups: Partition, model: str | None
    ) -> tuple[Metric, Belief | Strata, Cells]:
        """The belief about all models, or one, in any groups: labels went where models differ, so all are needed."""
        task = self.spec.task
        rows, simple = task.cells(self.whole, groups), metric.marginal and not metric.high_is_bad
        if model is None and not simple:
            raise SpecError(
                f"{self.name!r} is about several models, and {type(metric).__name__}() is about one. Name it, with ",
                Argument("model"),
                ".",
            )
        with self._current() as ledger:
            items, true = ledger.labels()
        outcomes = task.metric.outcomes(self.whole, rows, items, true)
        belief = cast("ModelsBelief", self.spec.prior.on(rows, self.spec.target).belief(outcomes))
        if model is None:
            return metric, belief, rows
        pool = self.whole.of(model)
        cells = metric.cells(pool, groups)
        if simple:
            return metric, OneModelBelief.of(belief, self.whole.models.index(model)), cells
        counts = metric.outcomes(pool, cells, items, true).counts
        known = np.full(len(pool), -1, dtype=np.int32)
        known[items] = true
        truth = TruthBelief(
            np.zeros_like(counts),
            counts,
            cells.size,
            self.spec.target,
            joint=belief,
            true=known,
            shown=lambda drawn: cells.shown(metric, pool, np.arange(len(pool)), drawn),
            cell=cells.cell.astype(np.int64),
            classes=len(pool.choices),
        )
        return metric, truth, cells

    def _settings(self, metric: Metric) -> dict[str, Any]:
        return {
            "metric": repr(metric),
            "prior": repr(self.spec.prior),
            "policy": repr(self.spec.policy),
            "seed": self.spec.seed,
        }

    def _results_rng(self) -> np.random.Generator:
        return np.random.default_rng([self.spec.seed, 0, _RESULTS])
