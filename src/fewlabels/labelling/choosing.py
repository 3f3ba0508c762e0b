"""The choice of items to hand out next: those that need more votes, then new ones, by a belief kept for a while."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.labelling.drawn import GOLD
from fewlabels.labelling.next_items import choose
from fewlabels.labelling.notes import KNOWN
from fewlabels.store import Event

if TYPE_CHECKING:
    from fewlabels.labelling.beliefs import Beliefs, Believed
    from fewlabels.labelling.journal import Journal, Page
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.stock import Stock
    from fewlabels.labelling.votes import Who
    from fewlabels.labelling.voting import Voting


class Chooser:
    """Chooses the items that people are handed next.

    Parameters
    ----------
    journal
        What was asked and answered so far.
    beliefs
        What is believed meanwhile.
    stock
        The items.
    """

    def __init__(self, journal: Journal, beliefs: Beliefs, stock: Stock) -> None:
        self._journal, self._beliefs, self._stock = journal, beliefs, stock
        self._drawn: dict[int, int] = {}
        self._drawn_by: Believed | None = None

    @property
    def is_slow(self) -> bool:
        """Whether choosing needs a model fitted to all labels."""
        spec = self._journal.subject.spec
        return spec.policy.uses_belief and spec.prior.uses_items

    def prepare(self, slack: float) -> None:
        """Fit that model, if there is one, now rather than while others wait for the log."""
        if self.is_slow:
            self._beliefs.now(slack)

    def chosen(self, page: Page, annotator: Who, n: int, slack: float) -> dict[int, int]:
        """Up to n items to hand out next, and the step of asking that chose each."""
        log, ledger = page
        elsewhere, voting = ledger.drawn.elsewhere, self._beliefs.voting
        # If an item that another assessment has drawn needs another vote, no step of this assessment chose it.
        lacking = ledger.lacking(annotator, n)
        steps = {item: 0 if item in elsewhere else ledger.votes[item].step for item in lacking}
        if voting is not None and len(steps) < n:
            steps |= dict.fromkeys(voting.again(ledger, annotator, n - len(steps), slack), 0)
        again = False
        while len(steps) < n:
            wanted = n - len(steps)
            # What was drawn a moment ago is not in the log yet, so it may be drawn once more.
            drawn = self._new_items(ledger, n if again else wanted, slack)
            new = dict(islice(((item, step) for item, step in drawn.items() if item not in steps), wanted))
            again = True
            # If another assessment has the label, nobody need be asked again: the item is drawn here too, and handed to
            # nobody.
            known = {item: step for item, step in new.items() if item in ledger.votes}
            ledger.read(log.append([event for item in known for event in self._drawn_too(ledger, item, known[item])]))
            steps |= {item: step for item, step in new.items() if item not in known}
            if not known:
                break
        return steps if voting is None else _with_gold(voting, ledger, annotator, steps)

    def _drawn_too(self, ledger: Ledger, item: int, step: int) -> list[Event]:
        """The events for an item that was drawn, and is handed to nobody: a request that ends at once."""
        asker, name = ledger.votes[item].asker, self._stock.id(item)
        who = KNOWN if asker is None else f"{KNOWN} from {asker!r}"
        return [Event("request", name, step=step, note=who), Event("expire", name, note=who)]

    def _new_items(self, ledger: Ledger, n: int, slack: float) -> dict[int, int]:
        """Up to n free items, and the step of asking that chose each.

        A step may name several groups. With slack, the items of a whole step are drawn at once and handed out one after
        the other, until the belief is computed again or somebody else has asked.
        """
        subject = self._journal.subject
        # For a policy that does not use the belief, nothing is fitted.
        believed = self._beliefs.now(slack) if subject.spec.policy.uses_belief else None
        before = self._drawn if believed is self._drawn_by else {}
        drawn = {item: step for item, step in before.items() if step >= ledger.drawn.step and ledger.is_free(item)}
        if len(drawn) < n or not slack:
            belief = self._beliefs.prior.blank() if believed is None else believed.belief
            unseen = None
            if believed is not None and self._beliefs.voting is None:
                belief = belief.counting(ledger.counts - believed.counts)
            elif believed is not None:  # they may be wrong: they count as answered as expected
                unseen = np.maximum((ledger.counts - believed.counts).sum(axis=1), 0).astype(np.int64)
            # No more than will be asked for before the belief is computed again.
            known = 0 if believed is None else believed.labelled
            most = max(n, min(subject.spec.task.plays, known + int(slack * known) - ledger.labelled + 1))
            drawn = choose(subject.spec, subject.cells, subject.askable, belief, ledger, most, unseen)
        taken = dict(islice(drawn.items(), n))
        self._drawn = {item: step for item, step in drawn.items() if item not in taken} if slack else {}
        self._drawn_by = believed
        return taken


def _with_gold(voting: Voting, ledger: Ledger, annotator: Who, steps: dict[int, int]) -> dict[int, int]:
    """Replace some items by gold items, which nobody can tell from the others."""
    mixed: dict[int, int] = {}
    for turn, (item, step) in enumerate(steps.items()):
        gold = voting.gold_for(ledger, annotator, turn)
        if gold is None or gold in mixed or gold in steps:
            mixed[item] = step
        else:
            # What was to be asked comes later: it was drawn, but is written to the log only when it is handed out.
            mixed[gold] = GOLD
    return mixed
