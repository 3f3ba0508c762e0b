"""`fewlabels label`: one item after the other in the terminal; each answer is stored at once."""

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

You see the content of an item, and nothing of what the classifier said. With few classes each has a key; with many,
type a part of the name. Commands: s skips an item that cannot be labelled (it asks why), u takes back your last answer,
o opens an image or address, m shows the rest of a long text, q quits (so do Ctrl-C and Ctrl-D). With many
classes put a colon before them, as in :q.

An item that was open when you quit comes first the next time. If stdin is not a terminal, each line answers one item.

\b
Examples:
  fewlabels label audit.db
  fewlabels label audit.db worst -n 20 --annotator ann
"""
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".svg")
# Letters that would move the cursor, change colours or turn text around: content comes from anywhere.
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
    """One person labelling: which items wait for them, and what they have answered since they sat down."""

    audit: Assessment
    keyboard: Keyboard
    say: Callable[[str], None]
    annotator: str | None = None
    open_all: bool = False
    launch: Callable[[str], object] = click.launch
    _queue: list[Request] = field(default_factory=list)
    _said: list[tuple[Request, str]] = field(default_factory=list)

    def run(self, count: int | None = None) -> None:
        """Label until the person quits, nothing is left, or there are enough answers."""
        from fewlabels.cli.keys import chooser

        self._queue = [one for one in self.audit.held(self.annotator) if one.annotator == self.annotator]
        if self._queue:
            self.say(f"First what was handed out before: {counted(len(self._queue), 'item')}.")
        if self.audit.pool.content is None:
            self.say("Only ids are shown: the assessment was made without a content column (new --content).")
        budget = self.audit.spec.stop.labels
        if budget is not None and len(self.audit.labels()) >= budget:
            self._say_how_it_stands()
        choose = chooser(self.audit.pool.classes, self.keyboard, self.say)
        try:
            while count is None or len(self._said) < count:
                item = self._next()
                if item is None:
                    self.say("Nothing is left to label.")
                    return
                self._show(item, choose.legend())
                while self._answer(item, choose.choose()):
                    pass  # looked at more closely: the item still waits
        except (EOFError, KeyboardInterrupt, click.Abort):
            self.say("")  # what was open stays pending, and comes first the next time
        except _Quit:
            pass

    def summary(self) -> str:
        """What was done, in words."""
        labels = sum(kind == "label" for _, kind in self._said)
        skips = len(self._said) - labels
        skipped = f", {skips:,} skipped" if skips else ""
        total = len(self.audit.labels())
        return f"{counted(labels, 'label')}{skipped} in this sitting; {total:,} in all."

    def _next(self) -> Request | None:
        """The item that waits, or a new one."""
        if not self._queue:
            self._queue = list(self.audit.ask(1, annotator=self.annotator))
        return self._queue[0] if self._queue else None

    def _answer(self, item: Request, action: Action) -> bool:
        """Do what the person wants; True if the same item waits for another answer."""
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
        self._said.append((item, action.kind))
        self._say_if_enough()
        return False

    def _undo(self) -> bool:
        if not self._said:
            self.say("Nothing to take back: this sitting has no answer yet.")
            return True
        item, _ = self._said.pop()
        self.audit.retract([item.id], annotator=self.annotator)
        self._queue.insert(0, item)
        self.say(f"{item.id}: taken back.")
        return False

    def _say_if_enough(self) -> None:
        """Say that it is enough: at the last label of the budget, and from time to time for the other, slower rules."""
        stop = self.audit.spec.stop
        last = self._said[-1][1] == "label" and len(self.audit.labels()) == stop.labels
        if stop.rules and (last or len(self._said) % _EVERY == 0):
            self._say_how_it_stands()

    def _say_how_it_stands(self) -> None:
        standing = self.audit.standing()
        if standing.reached:
            self.say(f"{standing.words} You can quit, or go on.")

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
        """The number of this item within the budget, if there is one, or else within this sitting."""
        budget, done = self.audit.spec.stop.labels, len(self.audit.labels())
        if budget is None:
            return f"{len(self._said) + 1:,}"
        return f"{done + 1:,} of {budget:,}" if done < budget else f"{done + 1:,}, past the budget of {budget:,}"

    def _open(self, item: Request) -> None:
        """Open an image or address with the program that the system has for it."""
        where = str(item.content)
        address = where.startswith(("http://", "https://"))
        if address or (Path(where).is_file() and where.lower().endswith(_IMAGES)):
            self.launch(where)
        else:
            self.say("There is nothing to open: the content is neither an address nor an existing image file.")


class _Quit(Exception):  # noqa: N818  (no error)
    """The person has had enough."""


def _plain(content: object) -> str:
    """Remove what a terminal would obey from a text."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", str(content).replace("\r\n", "\n"))
