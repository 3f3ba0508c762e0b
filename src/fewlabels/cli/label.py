"""`fewlabels label`: label items one by one in the terminal; each answer is stored at once."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import assessment_arguments
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.assessment import Assessment
    from fewlabels.cli.keys import Action, Keyboard
    from fewlabels.labelling.batch import Request

_HELP = """Label items here, one at a time. Every answer is stored at once; quit whenever you like.

You see the content of an item, but not what the classifier predicted. If there are few classes, each has a key; if
there are many, type part of the name. Commands: s skips an item that you cannot label (and asks why), u takes back your
last answer, o opens an image or address, m shows the rest of a long text, q quits (so do Ctrl-C and Ctrl-D). If there
are many classes, put a colon before a command, as in :q.

An item that was open when you quit comes first next time. If stdin is not a terminal, each line answers one item.

\b
Examples:
  fewlabels label audit.db
  fewlabels label audit.db worst -n 20 --annotator ann
"""
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".svg")
# Characters that would move the cursor, change colours or reverse text: content can come from anywhere.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_EVERY = 10  # answers between two looks at the stopping rules


@click.command(help=_HELP, short_help="Label items here in the terminal, one at a time.")
@assessment_arguments
@click.option("-n", "count", type=click.IntRange(1), help="Stop after this many answers.")
@click.option("--annotator", metavar="WHO", help="Who labels.")
@click.option("--open", "open_all", is_flag=True, help="Open each image or address as it comes.")
def label(address: str, name: str | None, *, count: int | None, annotator: str | None, open_all: bool) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import open_assessment, quoted, shown, talk
    from fewlabels.cli.keys import Pipe, Terminal

    audit = open_assessment(address, name)
    keyboard = Terminal() if sys.stdin.isatty() else Pipe()
    sitting = Sitting(audit, keyboard, talk, annotator=annotator, open_all=open_all)
    sitting.run(count)
    talk(f"{sitting.summary()} Next: fewlabels show {shown(address)} {quoted(audit.name)}")


@dataclass
class Sitting:
    """One person labelling: the items that wait for them, and their answers since they began."""

    audit: Assessment
    keyboard: Keyboard
    say: Callable[[str], None]
    annotator: str | None = None
    open_all: bool = False
    launch: Callable[[str], object] = click.launch
    _queue: list[Request] = field(default_factory=list)
    _answered: list[tuple[Request, str]] = field(default_factory=list)

    def run(self, count: int | None = None) -> None:
        """Label until the person quits, nothing is left, or there are enough answers."""
        from fewlabels.cli.keys import chooser

        self._queue = [item for item in self.audit.held(self.annotator) if item.annotator == self.annotator]
        if self._queue:
            self.say(f"You begin with {counted(len(self._queue), 'item')} that you were handed before.")
        if self.audit.pool.content is None:
            self.say(
                "Only ids are shown: the assessment has no content column. To have one, see fewlabels new --content."
            )
        budget = self.audit.spec.stop.labels
        if budget is not None and self.audit.labelled >= budget:
            self._say_if_reached()
        choose = chooser(self.audit.pool.choices, self.keyboard, self.say)
        try:
            while count is None or len(self._answered) < count:
                item = self._next()
                if item is None:
                    self.say("Nothing is left to label.")
                    return
                self._show(item, choose.legend())
                while self._answer(item, choose.choose()):
                    pass  # the person looked more closely, and the item still waits
        except (EOFError, KeyboardInterrupt, click.Abort):
            self.say("")  # what was open stays pending, and comes first the next time
        except _Quit:
            pass

    def summary(self) -> str:
        """Summarise the sitting in words."""
        labels = sum(kind == "label" for _, kind in self._answered)
        skips = len(self._answered) - labels
        skipped = f", {skips:,} skipped" if skips else ""
        total = self.audit.labelled
        return f"{counted(labels, 'label')}{skipped} in this sitting; {total:,} in all."

    def _next(self) -> Request | None:
        """Return the item that waits, or a new one."""
        if not self._queue:
            self._queue = list(self.audit.ask(1, annotator=self.annotator))
        return self._queue[0] if self._queue else None

    def _answer(self, item: Request, action: Action) -> bool:
        """Carry out an action, and return whether the same item waits for another answer."""
        if action.kind == "quit":
            raise _Quit
        if action.kind == "undo":
            return self._undo()
        if action.kind in ("open", "more"):
            self._open(item) if action.kind == "open" else self.say(_plain(item.content))
            return True
        if action.kind == "label":
            self.audit.tell({item.id: action.word}, annotator=self.annotator)
        else:
            self.audit.skip([item.id], reason=action.word, annotator=self.annotator)
        self.say(f"{item.id}: {action.word if action.kind == 'label' else f'skipped ({action.word})'}")
        self._queue.remove(item)
        self._answered.append((item, action.kind))
        self._say_if_enough()
        return False

    def _undo(self) -> bool:
        if not self._answered:
            self.say("There is nothing to take back: you have not answered anything yet.")
            return True
        item, _ = self._answered.pop()
        self.audit.retract([item.id], annotator=self.annotator)
        self._queue.insert(0, item)
        self.say(f"{item.id}: taken back.")
        return False

    def _say_if_enough(self) -> None:
        """Say when there are enough labels: at the last label of the budget, and now and then for the slower rules."""
        stop = self.audit.spec.stop
        last = self._answered[-1][1] == "label" and self.audit.labelled == stop.labels
        if stop.rules and (last or len(self._answered) % _EVERY == 0):
            self._say_if_reached()

    def _say_if_reached(self) -> None:
        standing = self.audit.standing()
        if standing.reached:
            self.say(f"{standing.words} You can stop here, or go on.")

    def _show(self, item: Request, legend: str) -> None:
        width, height = shutil.get_terminal_size((80, 24))
        width = min(width, 100)
        head = f"-- {self._number()} -- {_plain(item.id)} "
        self.say("\n" + head + "-" * max(0, width - len(head)))
        if item.content is not None:
            lines = [part for line in _plain(item.content).split("\n") for part in textwrap.wrap(line, width) or [""]]
            room = max(height - 8, 5)
            self.say("\n".join(lines[:room]))
            if len(lines) > room:
                self.say(f"... {len(lines) - room:,} more lines")
            if self.open_all:
                self._open(item)
        self.say(f"\n{legend}")

    def _number(self) -> str:
        """Return the number of this item within the budget, if there is one, or else within this sitting."""
        budget, done = self.audit.spec.stop.labels, self.audit.labelled
        if budget is None:
            return f"{len(self._answered) + 1:,}"
        return f"{done + 1:,} of {budget:,}" if done < budget else f"{done + 1:,}, past the budget of {budget:,}"

    def _open(self, item: Request) -> None:
        """Open an image or address with the system's program for it."""
        where = str(item.content)
        address = where.startswith(("http://", "https://"))
        if address or (Path(where).is_file() and where.lower().endswith(_IMAGES)):
            self.launch(where)
        else:
            self.say("There is nothing to open: the content is neither an address nor an existing image file.")


class _Quit(Exception):  # noqa: N818  (not an error)
    """The person wants to quit."""


def _plain(content: object) -> str:
    """Remove control characters from a text, which a terminal would obey."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", str(content).replace("\r\n", "\n"))
