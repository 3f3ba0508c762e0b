"""How each assessment of a pool draws its items, which must be known to read a label, whoever asked for it."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.cells import ModelCells
from fewlabels.errors import FewlabelsError
from fewlabels.labelling.twin import twin
from fewlabels.policies.anchors import are_anchors
from fewlabels.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.store import Store, Transaction


class Asker:
    """The way in which one assessment draws items.

    Parameters
    ----------
    spec
        Its definition.
    pool
        The pool that its question is about.
    """

    def __init__(self, spec: Spec, pool: Pool) -> None:
        self.spec = spec
        self._pool = pool

    @cached_property
    def asking(self) -> Partition:
        """The groups in which it asks: a policy chooses one, and the item in it is random."""
        return self.spec.asking(self._pool, self.spec.partition(self._pool))

    @cached_property
    def cells(self) -> Cells:
        """The cells of its metric in these groups."""
        return self.spec.cells(self._pool, self.asking)

    @cached_property
    def askable(self) -> NDArray[np.bool_]:
        """Which of the groups of asking it asks about, shape (groups,)."""
        return self.spec.task.asks(self.cells)

    @property
    def steers(self) -> bool:
        """Whether labels go to some groups more than to others, according to the belief about them."""
        return self.spec.policy.uses_belief and int((self.asking.sizes > 0).sum()) > 1

    @cached_property
    def is_random(self) -> bool:
        """Whether every item of the pool is equally likely to be asked for; it is not if a task leaves out groups."""
        return self.spec.policy.ignorable and self._asks_everywhere

    def at_random(self, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each step took items at random from the whole pool; items that were not asked for have step 0."""
        if self.spec.policy.ignorable or not self._asks_everywhere:
            return (steps > 0) & self.is_random
        return are_anchors(self.spec.seed, steps, self.spec.anchor)

    def compares_as(self, cells: Cells) -> bool:
        """Whether it compares the same two models as a question with these cells, over all or in the same groups.

        Then it draws at random where the two differ, in each of these groups.
        """
        if not (isinstance(self.cells, ModelCells) and isinstance(cells, ModelCells) and self.cells.focus):
            return False
        same = len(self.cells.filled) == 1 or np.array_equal(self.cells.home, cells.home)
        return same and set(self.cells.focus) == set(cells.focus)

    @property
    def _asks_everywhere(self) -> bool:
        return bool(self.askable[self.cells.asking.sizes > 0].all())


class Askers:
    """All assessments of the pool of one of them, found by name when their items are met in a log.

    Parameters
    ----------
    store, name, own
        The store, and the assessment that reads.
    whole
        The pool with all its models.
    """

    def __init__(self, store: Store, name: str, own: Asker, whole: Pool) -> None:
        self._whole = whole
        self._opened: Store | Transaction = store
        self._name, self._own = name, own
        self._found: dict[str, Asker | None] = {name: own}

    def copy(self) -> Askers:
        """Return the same assessments, found apart from this one: another thread may read while this one writes."""
        return twin(self, _found=dict(self._found))

    def __getitem__(self, name: str) -> Asker:
        asker = self.find(name)
        assert asker is not None, f"the items of {name!r} are not read"
        return asker

    def find(self, name: str) -> Asker | None:
        """How an assessment draws; None if it has a part that is not registered here."""
        if name not in self._found:
            record = self._opened.open(name)
            try:
                spec = Spec.from_json(record.spec)
                asker = Asker(spec, spec.of(self._whole))
                asker.askable  # noqa: B018  (made now: whatever is wrong with it is an error here)
                self._found[name] = asker
            except FewlabelsError:
                self._found[name] = None
        return self._found[name]

    @contextmanager
    def within(self, log: Transaction) -> Iterator[None]:
        """Look for definitions in an open transaction, while nothing else can be read."""
        before, self._opened = self._opened, log
        try:
            yield
        finally:
            self._opened = before

    def reads(self, name: str) -> bool:
        """Whether items that another assessment has drawn count for this one as they are.

        They do if its prior knows how to read labels that were asked in other groups. Where a prior judges each group
        by its own labels alone, or something is guaranteed, an item counts when this assessment has drawn it itself.
        Labels that went where models differ say how often each model is right, and nothing else: they count for
        questions about several models, and those of other questions do not count for these.
        """
        own, other = self._own.spec, self.find(name)
        if other is None or own.promises or not own.prior.reads_across:
            return False
        return own.task.of_models == other.spec.task.of_models

    def asked(self, ledger: Ledger) -> list[Partition]:
        """The groupings within which the labels that count here are a random sample, where others have drawn some too.

        They are the same, and in the same order, for every assessment that reads these labels: so the same quantity is
        the same number wherever one looks. Empty if this one alone has drawn them, or all were drawn at random.
        """
        if self._own.spec.task.of_models:
            return []  # the model of several models' answers allows for how items differ
        drew = [self[name] for name in ledger.askers()]
        return [asker.asking for asker in drew if not asker.is_random and len(asker.asking) > 1]
