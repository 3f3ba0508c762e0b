"""Which answers are taken: those about items that were asked for, or only about those handed to the person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.errors import MOST_NAMED, Argument, Call, InputError, LabelError, Piece
from fewlabels.labelling.progress import NO_NAME
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.spec import Spec
    from fewlabels.store import Event

CALLS = {"label": "tell", "decide": "decide", "skip": "skip"}
"""The call behind each kind of answer."""
_MOST_SKIPS = 100  # skips of one person that may wait for the owner, if people may only answer their own items


def check_asked(ledger: Ledger, new: list[Event], items: list[int], *, adopt: bool) -> None:
    asked = ledger.asked
    strangers = [
        event
        for event, item in zip(new, items, strict=True)
        if not asked[item] and not (adopt and event.label is not None)
    ]
    if strangers:
        ids = [event.item for event in strangers]
        call, were = CALLS[strangers[0].kind], "it was" if len(strangers) == 1 else "they were"
        what: tuple[Piece, ...] = (
            ", or pass ",
            Argument("adopt", value=True),
            " to take labels collected elsewhere.",
        )
        raise LabelError(
            f"cannot {call} {some_of(ids, MOST_NAMED)}: {were} never asked for. Nothing was changed. Ask first",
            *(what if strangers[0].kind != "skip" else (".",)),
            items=ids,
        )


def check_own(ledger: Ledger, new: list[Event], items: list[int]) -> None:
    for event, item in zip(new, items, strict=True):
        who = event.annotator
        if not ledger.was_handed(item, who):
            lost = item in ledger.lost.get(who, ())
            why = f"withdrawn after {who} got it, so it needs no answer now" if lost else f"not handed to {who}"
            raise LabelError(
                f"cannot {CALLS[event.kind]} {event.item!r}: it was {why}. Nothing was changed.",
                items=[event.item],
            )
    if any(event.kind == "skip" for event in new):
        _check_skips(ledger, new)


def _check_skips(ledger: Ledger, new: list[Event]) -> None:
    """Refuse skips of somebody who has already skipped a great deal: every skipped item waits for the owner."""
    for who in {event.annotator for event in new if event.kind == "skip"}:
        skipped = [
            item
            for item in ledger.answered.get(who, ())
            if ledger.votes[item].given[who].true < 0 and ledger.true[item] < 0
        ]
        now = sum(event.kind == "skip" and event.annotator == who for event in new)
        if len(skipped) + now > _MOST_SKIPS:
            raise LabelError(
                f"{who} has skipped {len(skipped):,} items that wait for the owner's decision, and at most "
                f"{_MOST_SKIPS:,} can wait. Nothing was changed. Ask the owner to decide some of them first.",
                items=[event.item for event in new],
            )


def check_name(spec: Spec, call: str, annotator: str | None) -> None:
    if annotator is not None and (not isinstance(annotator, str) or not annotator.strip()):
        raise InputError(f"The 'annotator' of {call}() must be a name. Got {annotator!r} instead.")
    if annotator == NO_NAME:
        raise InputError(f"{NO_NAME!r} stands for people without a name. Give another one, or None.")
    if annotator is None and spec.overlap > 1:
        raise InputError(
            f"{spec.overlap} different people are asked about each item here, so {call}() needs a name: ",
            Call(call, (Argument("annotator", "ann"),)),
            ".",
        )
