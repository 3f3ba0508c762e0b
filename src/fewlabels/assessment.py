"""The assessment: ask which items to label, tell the labels, and read what is known."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fewlabels.batch import Batch, Request
from fewlabels.belief import Belief, Strata
from fewlabels.errors import InputError, LabelError, PoolChangedError
from fewlabels.estimates import affordable, check_level, estimate, value_draws
from fewlabels.io import read_labels
from fewlabels.ledger import Ledger
from fewlabels.metrics import Accuracy, Metric
from fewlabels.partition import Partition, by_predicted, by_score, cross
from fewlabels.policies import Policy, Thompson
from fewlabels.priors import Prior, Uniform
from fewlabels.spec import Spec
from fewlabels.store import Event, Store
from fewlabels.table import Table
from fewlabels.tasks import Answer, Estimate, Rewards, Task

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Target
    from fewlabels.cells import Cells
    from fewlabels.pool import Pool

# Reading results must not use the generators of the steps, which begin with 1: they have a stream of their own.
_RESULTS = 0x726573


class Assessment:
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

    def __init__(self, store: Store, name: str, pool: Pool, partition: Partition, spec: Spec) -> None:
        self.name = name
        self.pool = pool
        self.groups = partition
        self.spec = spec
        self._store = store
        self._cells = spec.cells(pool, partition)
        self._askable = spec.task.askable(self._cells)
        self._ledger = Ledger(pool, spec.task.metric, self._cells)
        self._lock = threading.RLock()
        self._believed: tuple[int, Belief] | None = None

    def __repr__(self) -> str:
        with self._current() as ledger:
            pending = int(ledger.pending.sum())
            return (
                f"<Assessment {self.name!r}: {self.spec.task!r} of {len(self.groups):,} groups, "
                f"{ledger.labelled:,} labels, {pending:,} pending>"
            )

    # --- asking and telling: one transaction each

    def ask(self, n: int = 1, *, annotator: str | None = None) -> Batch:
        """Choose n items to label next. Fewer, or none, come back when the groups run out.

        Pending items count as if they had been answered as expected, so a batch spreads itself. Where a step is
        about several groups (the m worst) and fewer items are wanted, they are a random part of the step's groups.
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"The 'n' of ask() must be a whole number from 1 up. Got {n!r} instead.")
        with self._lock:
            with self._store.transaction(self.name, self._ledger.seq) as log:
                self._ledger.read(log.events)
                chosen = self._choose(int(n))
                new = log.append(
                    [Event("request", self._id(item), step=step, annotator=annotator) for item, step in chosen]
                )
            self._ledger.read(new)
        return Batch(tuple(self._request(item, step) for item, step in chosen))

    def tell(
        self,
        labels: Mapping[Any, Any] | str | os.PathLike[str] | Any,  # noqa: ANN401  (any frame)
        *,
        annotator: str | None = None,
        note: str | None = None,
        adopt: bool = False,
    ) -> int:
        """Take labels: a mapping from id to class name, a file, or a frame with the columns id and label.

        They are on disk when this returns. A second label for an item replaces the first, which stays in the log.
        If one of them cannot be taken, none is. `adopt=True` takes labels of items that were never asked for: see the
        documentation for what that does to the guarantees. Returns the number of labels.
        """
        given = read_labels(labels)
        items = self.pool.positions(given)
        self.pool.class_positions(given.values())
        with self._lock:
            with self._store.transaction(self.name, self._ledger.seq) as log:
                self._ledger.read(log.events)
                strangers = items[~self._ledger.asked[items]]
                if len(strangers) and not adopt:
                    more = f" (and {len(strangers) - 1:,} more)" if len(strangers) > 1 else ""
                    raise LabelError(
                        f"cannot tell {self._id(strangers[0])!r}{more}: it was never asked for. Nothing was changed. "
                        "Ask first, or pass adopt=True to take labels collected elsewhere."
                    )
                new = log.append(
                    [Event("label", item, label=label, annotator=annotator, note=note) for item, label in given.items()]
                )
            self._ledger.read(new)
        return len(given)

    def withdraw(self, ids: Sequence[Any], *, annotator: str | None = None, note: str | None = None) -> int:
        """Take back requests that will not be answered, or labels that were wrong: the items can be asked again.

        The log keeps what was withdrawn. Withdrawing items because they are hard to label makes the rest
        look easier than the pool is. Returns the number of items.
        """
        if isinstance(ids, (str, bytes)):
            raise InputError(f"withdraw() takes a list of ids. Got the text {ids!r}; write [{ids!r}].")
        wanted = list(dict.fromkeys(str(item) for item in ids))
        items = self.pool.positions(wanted)
        with self._lock:
            with self._store.transaction(self.name, self._ledger.seq) as log:
                self._ledger.read(log.events)
                free = [item for item in items.tolist() if self._ledger.is_free(item)]
                if free:
                    raise LabelError(
                        f"cannot withdraw {self._id(free[0])!r}: it is neither pending nor labelled. "
                        "Nothing was changed."
                    )
                new = log.append([Event("withdraw", item, annotator=annotator, note=note) for item in wanted])
            self._ledger.read(new)
        return len(wanted)

    # --- reading

    def estimates(
        self,
        *,
        level: float = 0.95,
        metric: Metric | None = None,
        groups: Partition | None = None,
        draws: int = 10_000,
    ) -> Table:
        """Mean and credible interval of each group: columns group, n, labelled, mean, low, high.

        Another metric, or other groups, can be asked for than the assessment is about. Labels are then
        weighted by the groups in which they were asked, since only within those they are a random sample.
        """
        check_level(level)
        metric, belief, cells = self._view(metric, groups)
        table = estimate(metric, belief, cells, self._results_rng(), level=level, draws=draws)
        return Table(table.columns, {**table.settings, **self._settings(metric)})

    def draws(
        self, n: int = 10_000, *, metric: Metric | None = None, groups: Partition | None = None
    ) -> NDArray[np.float64]:
        """Draws of the metric from its posterior, shape (n, groups): for anything that is not here."""
        metric, belief, cells = self._view(metric, groups)
        return value_draws(metric, belief, cells, self._results_rng(), affordable(n, belief))

    def answer(self, *, level: float = 0.95, draws: int = 10_000) -> Answer:
        """What the task concludes from the labels so far, and how sure it is."""
        check_level(level)
        answer = self.spec.task.answer(self.belief(), self._cells, self._results_rng(), level=level, draws=draws)
        table = Table(answer.table.columns, {**answer.table.settings, **self._settings(self.spec.task.metric)})
        return Answer(answer.words, answer.probability, table, answer.groups)

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
        confidence = np.bincount(asked.group, self.pool.confidence, minlength=len(asked))
        mean = [c / n if n else None for c, n in zip(confidence.tolist(), asked.sizes.tolist(), strict=True)]
        return Table({**table.columns, "confidence": mean}, table.settings)

    def belief(self) -> Belief:
        """What is believed about the cells of the assessment's own metric and groups."""
        with self._current() as ledger:
            return self._believe(ledger)

    def labels(self) -> dict[str, str]:
        """The labels that count now: id to class name."""
        with self._current() as ledger:
            items = np.flatnonzero(ledger.true >= 0)
            return {self._id(item): self.pool.classes[ledger.true[item]] for item in items.tolist()}

    def pending(self) -> list[str]:
        """The items that were asked for and have no answer yet."""
        with self._current() as ledger:
            return [self._id(item) for item in np.flatnonzero(ledger.pending).tolist()]

    def log(self) -> Table:
        """Everything that happened, in order: columns seq, at, kind, item, label, step, annotator, note."""
        names = ("seq", "at", "kind", "item", "label", "step", "annotator", "note")
        events = self._store.events(self.name)
        return Table({name: [getattr(event, name) for event in events] for name in names})

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    # --- inside

    @contextmanager
    def _current(self) -> Iterator[Ledger]:
        """The ledger, up to date with the log, and not moved by other threads meanwhile."""
        with self._lock:
            self._ledger.read(self._store.events(self.name, after=self._ledger.seq))
            yield self._ledger

    def _choose(self, n: int) -> list[tuple[int, int]]:
        """Items and the steps that chose them."""
        spec, ledger, cells = self.spec, self._ledger, self._cells
        belief = self._believe(ledger)
        room, waiting = ledger.room * self._askable, ledger.waiting.copy()
        chosen: dict[int, int] = {}
        step = ledger.step
        while len(chosen) < n:
            step += 1
            rng = np.random.default_rng([spec.seed, step])
            rewards = Rewards(spec.task, cells, belief.awaiting(waiting))
            groups = spec.policy.choose(rewards, room, spec.task.plays, rng)
            if not len(groups):
                break
            if len(groups) > n - len(chosen):
                groups = rng.permutation(groups)[: n - len(chosen)]
            for group in groups.tolist():
                item = ledger.pick(group, rng, chosen.keys())
                chosen[item] = step
                room[group] -= 1
                waiting[cells.cell[item]] += 1
        return list(chosen.items())

    def _view(self, metric: Metric | None, groups: Partition | None) -> tuple[Metric, Belief | Strata, Cells]:
        """The belief about any metric on any groups, from the labels as they were asked."""
        if metric is None and groups is None:
            return self.spec.task.metric, self.belief(), self._cells
        metric, groups = metric or self.spec.task.metric, groups or self.groups
        if len(groups.group) != len(self.pool):
            raise InputError("these groups are of another pool: they have another number of items.")
        metric.check(self.pool, groups)
        cells = metric.cells(self.pool, groups)
        with self._current() as ledger:
            items = np.flatnonzero(ledger.true >= 0)
            true = ledger.true[items].copy()
            random = self._is_random_sample and not ledger.adopted
        if random or groups.recipe == self.groups.recipe:
            return metric, self._counted(metric, cells, items, true), cells
        fine = metric.cells(self.pool, cross(groups, self.groups))
        first = np.unique(fine.cell, return_index=True)[1]
        belief = self._counted(metric, fine, items, true)
        return metric, Strata(belief, cells.cell[first].astype(np.int64), cells.size), cells

    @property
    def _is_random_sample(self) -> bool:
        """Whether every item of the pool is equally likely to be asked: not where a task leaves out groups."""
        return self.spec.policy.ignorable and bool(self._askable[self.groups.sizes > 0].all())

    def _counted(self, metric: Metric, cells: Cells, items: NDArray[np.int64], true: NDArray[np.int32]) -> Belief:
        counts, outcomes = np.zeros((len(cells), len(cells.outcomes))), metric.outcome(self.pool, items, true)
        np.add.at(counts, (cells.cell[items], outcomes), 1)
        self.spec.prior.check(cells)
        return self.spec.prior.belief(cells, counts, self.spec.target, (items, outcomes))

    def _believe(self, ledger: Ledger) -> Belief:
        """The belief about the assessment's own cells; kept until a label comes or goes."""
        if self._believed is None or self._believed[0] != ledger.changes:
            labels = ledger.outcomes() if self.spec.prior.looks_at_items else None
            belief = self.spec.prior.belief(self._cells, ledger.counts.copy(), self.spec.target, labels)
            self._believed = (ledger.changes, belief)
        return self._believed[1]

    def _settings(self, metric: Metric) -> dict[str, Any]:
        return {
            "metric": repr(metric),
            "prior": repr(self.spec.prior),
            "policy": repr(self.spec.policy),
            "seed": self.spec.seed,
        }

    def _results_rng(self) -> np.random.Generator:
        return np.random.default_rng([self.spec.seed, 0, _RESULTS])

    def _id(self, item: int) -> str:
        return str(self.pool.ids[int(item)].as_py())

    def _request(self, item: int, step: int) -> Request:
        group = self.groups.names[self.groups.group[item]]
        content = None if self.pool.content is None else self.pool.column(self.pool.content)[item].as_py()
        return Request(self._id(item), group, f"step {step} of {type(self.spec.policy).__name__}", content)


def create(
    address: str | os.PathLike[str] | None,
    name: str,
    pool: Pool,
    groups: Partition | None = None,
    *,
    task: Task | None = None,
    prior: Prior | None = None,
    policy: Policy | None = None,
    target: Target = "population",
    seed: int = 0,
) -> Assessment:
    """Begin an assessment.

    Parameters
    ----------
    address
        Where the log is kept: None for memory only, `"sqlite:///audit.db"` or a path for a file,
        `"postgresql://..."` for a team.
    name
        The name of the assessment in that database.
    pool
        The items and predictions, from `read_pool`. A copy is kept in the database.
    groups
        The partition; by predicted class if not given.
    task
        The question; `Estimate(Accuracy())` if not given.
    prior
        `Uniform()` if not given, whose intervals hold whatever the classifier says of itself.
    policy
        `Thompson()` if not given.
    target
        "population" for the classifier on items like these, "pool" for exactly these items.
    seed
        The same seed and the same labels give the same requests.

    Examples
    --------
    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool)
    >>> audit.tell({item: "cat" for item in audit.ask(2).ids})
    2
    """
    groups = by_predicted(pool) if groups is None else groups
    if len(groups.group) != len(pool):
        raise InputError("the groups are not of this pool: they have another number of items.")
    spec = Spec(
        task=task or Estimate(Accuracy()),
        groups=groups.recipe,
        prior=prior or Uniform(),
        policy=policy or Thompson(),
        target=target,
        seed=seed,
    )
    made = spec.partition(pool)
    if made.names != groups.names or not np.array_equal(made.group, groups.group):
        raise InputError("the groups are not of this pool: made from it, they are others. Make them from this pool.")
    spec.cells(pool, groups)
    store = Store(address)
    store.create(name, spec.to_json(), pool)
    return Assessment(store, name, pool, groups, spec)


def load(address: str | os.PathLike[str], name: str, *, pool: Pool | None = None) -> Assessment:
    """Go on with an assessment: the next request is the one it would have been.

    The database has a copy of the pool. If `pool` is given as well, it must be the same one: otherwise the
    labels would be read against other predictions, so a changed pool is a PoolChangedError that says what changed.

    Examples
    --------
    >>> import fewlabels as fl, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "audit.db"
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> fl.create(file, "pets", pool).close()
    >>> audit = fl.load(file, "pets")
    >>> len(audit.ask(2))
    2
    >>> audit.close(); folder.cleanup()
    """
    store = Store(address, existing=True)  # a mistyped path must not look like an empty database
    record = store.open(name)
    stored = store.pool(record.fingerprint)
    if pool is not None and pool.fingerprint != stored.fingerprint:
        raise PoolChangedError(
            f"the pool (from {pool.source}) is not the one that {name!r} was made with (from {stored.source}): "
            f"{stored.differences(pool)}. Its labels are about the old predictions. "
            "Create a new assessment for the new pool, or load without pool= to go on with the old one."
        )
    spec = Spec.from_json(record.spec)
    return Assessment(store, name, stored, spec.partition(stored), spec)
