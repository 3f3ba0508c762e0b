"""The assessment: ask which items to label, tell the labels, and read what is known."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Literal, Self

from fewlabels.checks import several, whole_number
from fewlabels.estimates import check_level
from fewlabels.labelling.ask_and_tell import Labelling
from fewlabels.labelling.beliefs import Beliefs
from fewlabels.labelling.supply import Supply
from fewlabels.metrics import Confusion, Metric
from fewlabels.results import Results
from fewlabels.views import Views
from fewlabels.wording import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.findings.classes import ClassReport
    from fewlabels.findings.fairness import Fairness
    from fewlabels.gate import Check, Rule
    from fewlabels.labelling.journal import Journal
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.noise import Reliability
    from fewlabels.partition import Partition
    from fewlabels.plots import Display
    from fewlabels.sample import Sample
    from fewlabels.standing import Standing
    from fewlabels.stopping import Stop
    from fewlabels.table import Table
    from fewlabels.tasks import Answer, Task


class Assessment(Labelling):
    """One question about one pool, from the first request to the answer. Made by `create` and `load`.

    The log of requests and labels in the store is the whole truth: several processes can ask and tell at the same time,
    and an assessment that is loaded again continues with exactly the same next request.

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

    def __init__(
        self, journal: Journal, *, views: Views | None = None, supply: Supply | None = None, shared: bool = False
    ) -> None:
        self._views = views = Views(journal, Beliefs(journal)) if views is None else views
        super().__init__(journal, views.beliefs, Supply() if supply is None else supply, shared=shared)
        self._results = Results(views)
        self._snapshot: Self | None = None

    def __repr__(self) -> str:
        ledger = self._journal.ledger  # as it was read last: a debugger shows this at any time
        read = f", {counted(ledger.labelled, 'label')}, {int(ledger.pending.sum()):,} pending" if ledger.events else ""
        closed = ", closed" if self._journal.store.database.is_closed else ""
        return f"<Assessment {self.name!r}: {self.spec.task!r} of {counted(len(self.groups), 'group')}{read}{closed}>"

    # --- reading

    def estimates(
        self,
        *,
        level: float = 0.95,
        metric: Metric | str | None = None,
        groups: Partition | str | None = None,
        draws: int = 10_000,
        guarantee: Literal["anytime"] | None = None,
        together: bool = False,
        model: str | None = None,
    ) -> Table:
        """Mean and credible interval of each group: columns group, n, labelled, mean, low, high.

        You can choose another metric or other groups, as objects or by their names on the command line, such as
        "recall:spam" and "column:sex", and another model of a pool that has several: each label counts for all of them.
        Labels are then weighted by the groups in which they were asked for, because they are a random sample only
        within those groups.

        With `guarantee="anytime"` the intervals hold whatever the truth and however often you look: each of them with
        the probability `level`, or with `together=True` all groups at once. They are longer.
        """
        return self._results.estimates(
            metric, groups, model, level=level, draws=draws, guarantee=guarantee, together=together
        )

    def draws(
        self,
        n: int = 10_000,
        *,
        metric: Metric | str | None = None,
        groups: Partition | str | None = None,
        model: str | None = None,
    ) -> NDArray[np.float64]:
        """Posterior draws of the metric, shape (n, groups), for results that no method computes.

        There are fewer than n draws, but at least 200, if n would be more than 67 million numbers, as with a confusion
        matrix of hundreds of classes; see the shape of the array. You may change the array.
        """
        return self._results.draws(n, metric, groups, model)

    def answer(
        self,
        task: Task | None = None,
        groups: Partition | str | None = None,
        *,
        model: str | None = None,
        level: float = 0.95,
        draws: int = 10_000,
    ) -> Answer:
        """The task's conclusion from the labels so far, with its probability.

        With `task`, `groups` or `model` it is the answer to another question, such as
        `answer(Certify(Accuracy(), at_least=0.9), "whole")`. Nobody is asked anything for it, and nothing changes. Its
        words are the task's own.
        """
        if task is not None or groups is not None or model is not None:
            task = self.spec.task if task is None else task
            return self._results.other_answer(task, groups, model, level=level, draws=draws)
        level = check_level(level)
        if (still := self.snapshot()) is not self:
            return still.answer(level=level, draws=draws)
        # Of a snapshot: the words and the table that pages show are about the same labels when they are wanted later.
        return replace(self._results.answer(level, draws), in_plain_words=lambda: self._plainly(level, draws))

    def check(
        self,
        rule: str | Rule | None = None,
        *,
        overall: bool = False,
        groups: Partition | str | None = None,
        only: Sequence[str] = (),
        sure: float | None = None,
        guarantee: Literal["anytime"] | None = None,
        model: str | None = None,
        foresee: bool = False,
    ) -> Check:
        """Does it pass? Check whether every group reaches a line such as "accuracy >= 0.9", from the labels so far.

        Parameters
        ----------
        rule
            A metric, >= or <=, and a number; or a `Rule`, which already contains `overall` to `guarantee`, so these are
            then refused. None: the rule that an assessment made with `Certify` is about.
        overall
            Whether the line is for all items together instead of for every group.
        groups
            Other groups, such as by_column(audit.pool, "sex"), or as the command line writes them: "column:sex".
        only
            The groups that must reach it; all of them if none are named.
        sure
            The probability with which a verdict is given; 0.95 if None.
        guarantee
            "anytime": a false pass has a probability of at most 1 − sure, whatever the truth and however often you
            look.
        model
            A model of the pool other than the one the question is about.
        foresee
            Whether to say how many more labels it will probably take, which takes some seconds.

        Examples
        --------
        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"predicted": ["a", "b"] * 50})
        >>> fl.create(None, "pets", pool).check("accuracy >= 0.9").verdict
        'open'
        """
        from fewlabels.gate import check, rule_of

        only = several(only, "The 'only' of check()")
        asked = rule_of(rule, self.spec.task, overall=overall, groups=groups, only=only, sure=sure, guarantee=guarantee)
        return check(self, asked, model=model, foresee=foresee)

    def standing(self, *, stop: Stop | None = None, draws: int = 10_000) -> Standing:
        """Progress towards the stopping rules: the value of each now, the value wanted, and whether one is met.

        With `stop`, towards rules other than the assessment's own.
        """
        return self._results.standing(stop, draws)

    def reliability(
        self,
        bins: int = 10,
        *,
        equal: Literal["width", "weight"] = "width",
        groups: Partition | str | None = None,
        level: float = 0.95,
        draws: int = 10_000,
    ) -> Table:
        """The reliability diagram: accuracy with interval beside mean confidence, for each score bin.

        Columns group (the bin), n, labelled, mean, low, high and confidence. With `groups`, a row for each group × bin.
        """
        return self._results.reliability(bins, equal, groups, level=level, draws=draws)

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

    def confusions(
        self,
        most: int = 20,
        *,
        groups: Partition | str | None = None,
        level: float = 0.95,
        draws: int = 10_000,
        model: str | None = None,
    ) -> Table:
        """The largest mistakes: what the classifier says and what is true, starting with those seen in labels.

        Columns group, true, n, labelled, seen (how many of the group's labels show that class), and mean, low and high:
        the share of the group that truly is of that class. `groups` are the predicted classes, or a cross of them.

        Examples
        --------
        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"predicted": ["spam", "ham"] * 50})
        >>> audit = fl.create(None, "mail", pool)
        >>> _ = audit.tell({item: "ham" for item in audit.ask(20).ids})
        >>> next(audit.confusions(1).rows())["true"]
        'ham'
        """
        from fewlabels.findings.confusions import read_confusions

        level = check_level(level)
        most = whole_number(most, "The 'most' of confusions()")
        metric, belief, cells = self._views.view(Confusion(), "predicted" if groups is None else groups, model)
        table = read_confusions(belief, cells, self._views.rng(), level=level, most=most, draws=draws)
        return self._results.stamped(table, metric)

    def fairness(
        self,
        groups: Partition | str | None = None,
        *,
        positive: str | None = None,
        reference: str | None = None,
        level: float = 0.95,
        draws: int = 4_000,
        model: str | None = None,
    ) -> Fairness:
        """Compare every group with a reference group, or with all other items: differences, ratios, largest gap.

        Parameters
        ----------
        groups
            Groups other than the assessment's own, such as `by_column(audit.pool, "sex")`, or "column:sex".
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

    def judges(self, *, level: float = 0.95, groups: Partition | str | None = None) -> Table:
        """Compare each judge with people: agreement, TPR, TNR, kappa and the pass rate corrected for its errors.

        A judge is an evidence column of two verdicts such as pass and fail; and, if the question is about a true pass
        rate (`Prevalence`), the predictions. Over all items, and in each group. Columns judge, group, measure, k and of
        (the labels that show it), mean, low and high (None where nothing can show it), and whole: whether the row is
        about all items.
        """
        from fewlabels.findings.judges import read_judges

        return read_judges(self, level, groups)

    def plot(self, kind: str | None = None, *, level: float = 0.95) -> Display:
        """A plot: a notebook shows it with values where you point, `.plot(ax)` draws it, `.save(path)` writes it.

        `kind` is a name in `plots.PLOTS`; without it, the plot that shows the answer.
        """
        from fewlabels import plots

        kind = kind or plots.main_kind(self)
        return plots.display(plots.read_all(self, level, kinds=[kind])[kind])

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        level: float = 0.95,
        rules: Sequence[str | Rule] = (),
        content: str | os.PathLike[str] | None = None,
    ) -> Path:
        """Write the report into one file, in the format that its name shows: .html, .md or .json. Returns its path.

        With `rules`, such as ["accuracy >= 0.9"], it also says whether they pass; see `check`. `content` is the folder
        of the pictures that the items name: the report then has small versions of some of them.
        """
        from fewlabels.gate import Rule
        from fewlabels.report import format_of, read, write

        format_of(path)  # refuse a wrong name before the work, not after it
        checked = [Rule(rule) if isinstance(rule, str) else rule for rule in several(rules, "The 'rules' of report()")]
        return write(read(self, level, rules=checked, content=content), path)

    def _repr_html_(self) -> str:
        """The summary that a notebook shows, as on the first lines of the report; one line if it is closed."""
        from fewlabels.report.notebook import notebook

        return f"<p>{escape(repr(self))}</p>" if self._journal.store.database.is_closed else notebook(self)

    def _plainly(self, level: float, draws: int) -> tuple[str, Table]:
        """The headline and the table of the answer as pages show them."""
        from fewlabels.findings.finding import find

        return find(self, level, draws).plain_answer

    def annotators(self, *, level: float = 0.95) -> Reliability:
        """How often each person is right, with intervals, and how far these labels can be trusted.

        Only where labels may be wrong: `create(..., noisy=True)`.
        """
        return self._results.annotators(level)

    # --- what results are made from

    def snapshot(self) -> Self:
        """A read-only copy of the assessment as it is now: labels that come in later are not in it.

        Anything that combines several numbers reads them all from one snapshot, so that they agree.
        """
        if self._journal.is_snapshot:
            return self
        with self._journal.reading() as ledger:
            kept = self._snapshot
            if kept is None or kept.events != ledger.events or kept.pool is not self.pool:
                views = self._views.snapshot()
                kept = type(self)(views.journal, views=views, supply=self._supply, shared=self._shared)
                self._snapshot = kept
            return kept

    def belief(self) -> Belief:
        """The belief about the cells of the assessment's own metric and groups, or of the strips that it asks in."""
        return self._views.belief()

    def over_all(self, at: Ledger | None = None) -> tuple[Belief, Cells] | None:
        """The belief about all items, now or after a part of the log, if the answer is one share of them; else None."""
        return self._views.over_all(at)

    def replay(self, parts: int, cells: Cells) -> Iterator[tuple[Ledger, Belief]]:
        """The ledger and the belief about cells of the groups, at first and after each of so many parts of the log."""
        return self._views.replay(parts, cells)

    def drawn_from_all(self) -> Sample | None:
        """The items asked for, and which were drawn at random from all; None if these do not correct the answer."""
        return self._views.drawn_from_all()

    def possible_labels(self) -> tuple[NDArray[np.int64], list[NDArray[np.int32]]]:
        """The labelled items, and their true classes: once, or where labels may be wrong as often as they were drawn.

        Shapes (labels,), and (labels,) each.
        """
        return self._views.possible_labels()

    def majority_items(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The positions of the labelled items and of the class that most people gave each, two of shape (labels,)."""
        return self._results.majority_items()
