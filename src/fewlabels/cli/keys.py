"""Input of labels from a terminal, by key or by search, or from a pipe, line by line."""

from __future__ import annotations

import difflib
import shutil
import string
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import click

from fewlabels.cli.common import filled
from fewlabels.wording import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MOST_KEYS = 20  # up to this many classes each have a key; more are searched
_COMMANDS = {"s": "skip", "u": "undo", "o": "open", "m": "more", "q": "quit"}
_UNCLEAR = "unclear"
_SHOWN = 9


@dataclass(frozen=True)
class Action:
    """What the person wants: a label, or one of the commands; `word` is the class, or why an item is skipped."""

    kind: Literal["label", "skip", "undo", "open", "more", "quit"]
    word: str = ""


class Keyboard(Protocol):
    """The source of keys and lines. EOFError or KeyboardInterrupt is the end."""

    def key(self) -> str:
        """The next key that is pressed."""

    def line(self, prompt: str) -> str:
        """A line of text."""

    def show(self, text: str) -> None:
        """Show what was typed so far, in place of what was shown before."""


class Terminal:
    """The real keyboard."""

    def key(self) -> str:
        """The next key, without waiting for Enter; the first of several, since no item was shown for the rest."""
        read = click.getchar()
        # Keys such as arrows come as several characters, which begin with Escape or a code of Windows.
        if len(read) == 1 or not read[0].isprintable():
            return read
        click.echo(f"Only {read[0]!r} of {harmless(read)!r} was taken: the next item was not shown yet.", err=True)
        return read[0]

    def line(self, prompt: str) -> str:
        """A line, typed after a prompt."""
        text: str = click.prompt(prompt, default="", show_default=False, err=True)
        return text

    def show(self, text: str) -> None:
        """Draw over the line that the cursor is in."""
        click.echo(f"\r\x1b[K{harmless(text)[: shutil.get_terminal_size((80, 24)).columns - 1]}", err=True, nl=False)


class Pipe:
    """Lines from stdin where it is not a terminal."""

    def key(self) -> str:
        """The first letter of the next line."""
        return self.line("")[:1]

    def line(self, prompt: str) -> str:
        """The next line."""
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    def show(self, text: str) -> None:
        """Show nothing: nobody is looking."""


class Chooser(ABC):
    """Turns what is pressed or typed into an action. `say` is called with what the person should see."""

    def __init__(self, classes: Sequence[str], keyboard: Keyboard, say: Callable[[str], None]) -> None:
        self.classes = classes
        self.keyboard = keyboard
        self.say = say

    @abstractmethod
    def legend(self) -> str:
        """Return the line of possible keys, which is shown below each item."""

    @abstractmethod
    def choose(self) -> Action:
        """Wait until the person has given a valid answer."""


def chooser(classes: Sequence[str], keyboard: Keyboard, say: Callable[[str], None]) -> Chooser:
    """Return the chooser that suits the number of classes and the kind of input."""
    if isinstance(keyboard, Pipe):
        return ByLine(classes, keyboard, say)
    return (ByKey if len(classes) <= MOST_KEYS else BySearch)(classes, keyboard, say)


def keys_for(classes: Sequence[str]) -> dict[str, str]:
    """Return a key for each of a few classes: their own names if these are single letters, or else 1-9 and letters.

    >>> keys_for(["cat", "dog"])
    {'1': 'cat', '2': 'dog'}
    >>> keys_for(["0", "1", "2"])
    {'0': '0', '1': '1', '2': '2'}
    """
    if all(len(name) == 1 and name.isprintable() and name.casefold() not in _COMMANDS for name in classes):
        return {name: name for name in classes}
    free = [*"123456789", *(letter for letter in string.ascii_lowercase if letter not in _COMMANDS)]
    return dict(zip(free, classes, strict=False))


class ByKey(Chooser):
    """One key for each class."""

    def legend(self) -> str:
        """Keys and classes, and the commands."""
        return f"{_keys_in_lines(keys_for(self.classes))}\n{_commands('')}"

    def choose(self) -> Action:
        """The action of the first key that has one."""
        keys = keys_for(self.classes)
        while True:
            key = self.keyboard.key()
            if key in keys:
                return Action("label", keys[key])
            if key.casefold() in _COMMANDS:
                return _command(key.casefold(), self.keyboard)
            if key.casefold() in keys:
                return Action("label", keys[key.casefold()])
            if key not in ("\r", "\n"):  # Enter, out of habit, is no answer and no mistake
                self.say(f"{key!r} is not a key here.\n{self.legend()}")


class BySearch(Chooser):
    """Search by typing part of the name: the matching classes are shown, and a digit or Enter picks one."""

    def legend(self) -> str:
        """How to search, and the commands."""
        return f"Type part of the class name, then Enter for the first match or 1-9. Esc clears it.\n{_commands(':')}"

    def choose(self) -> Action:
        """Search until a class is taken, or a command is given after a colon."""
        action = self._searched()
        self.say("")  # below the line that was drawn over
        return action

    def _searched(self) -> Action:
        typed, shown = "", 0
        while True:
            matches = search(typed, self.classes)
            key = self.keyboard.key()
            if key in ("\r", "\n"):
                if typed and matches:
                    return Action("label", matches[0])
            elif typed == ":" and key.casefold() in _COMMANDS:
                return _command(key.casefold(), self.keyboard)
            elif key in ("\x7f", "\b"):
                typed = typed[:-1]
            elif key == "\x1b":
                typed = ""
            elif key.isdecimal() and typed and not search(typed + key, self.classes):
                if 1 <= int(key) <= shown:
                    return Action("label", matches[int(key) - 1])
            elif key.isprintable() and len(key) == 1:
                typed += key
            shown = self._show(typed)

    def _show(self, typed: str) -> int:
        """Show what was typed and the classes it matches, and return how many of them had room."""
        matches = search(typed, self.classes) if typed and typed != ":" else []
        line, shown = f"> {typed}  ", 0
        room = shutil.get_terminal_size((80, 24)).columns - len("  and 1,000 more") - 1
        for name in matches[:_SHOWN]:
            if shown and len(line) + len(name) + 6 > room:
                break
            shown += 1
            line += f"  [{shown}] {name}"
        if len(matches) > shown:
            line += f"  and {len(matches) - shown:,} more"
        elif typed and typed != ":" and not matches:
            line += "  no class has this in its name"
        self.keyboard.show(line)
        return shown


class ByLine(Chooser):
    """A line for each item: the class, its key, or a command."""

    def legend(self) -> str:
        """The classes, if they are few, and the commands."""
        keys = self._keys()
        return f"{_keys_in_lines(keys)}\n{_commands('')}" if keys else f"Write the class. {_commands(':')}"

    def _keys(self) -> dict[str, str]:
        return keys_for(self.classes) if len(self.classes) <= MOST_KEYS else {}

    def choose(self) -> Action:
        """The action of the first line that has one."""
        while True:
            text = self.keyboard.line("> ").strip()
            command, _, rest = text.removeprefix(":").partition(" ")
            if text in self.classes:
                return Action("label", text)
            if command in _COMMANDS and (text.startswith(":") or self._keys()):
                kind = _COMMANDS[command]
                return Action("skip", rest.strip() or _UNCLEAR) if kind == "skip" else Action(kind)  # type: ignore[arg-type]
            if text in self._keys():
                return Action("label", self._keys()[text])
            matches = exactly(text, self.classes)
            if len(matches) == 1:
                return Action("label", matches[0])
            if text:
                near = matches or difflib.get_close_matches(text, self.classes, 3)
                hint = f" Did you mean {' or '.join(map(repr, near[:3]))}?" if near else ""
                self.say(f"{text!r} is not a class here.{hint}")


def search(typed: str, classes: Sequence[str]) -> list[str]:
    """Return the classes that match: first the same name, then names that begin so, then names with such a word.

    >>> search("ca", ["scar", "wild cat", "cat"])
    ['cat', 'wild cat', 'scar']
    """
    wanted = typed.strip().casefold()
    if not wanted:
        return []
    ranked = []
    for place, name in enumerate(classes):
        plain = name.casefold()
        if wanted in plain:
            words = plain.replace("_", " ").replace("-", " ").split()
            begins = plain.startswith(wanted), any(word.startswith(wanted) for word in words)
            ranked.append((plain != wanted, not begins[0], not begins[1], place, name))
    return [name for *_, name in sorted(ranked)]


def exactly(text: str, classes: Sequence[str]) -> list[str]:
    """Return the classes with this name, ignoring case and spaces; if there are none, those that begin with it."""
    wanted = " ".join(text.split()).casefold()
    if not wanted:
        return []
    same = [name for name in classes if " ".join(name.split()).casefold() == wanted]
    return same or [name for name in classes if name.casefold().startswith(wanted)]


def _command(letter: str, keyboard: Keyboard) -> Action:
    kind = _COMMANDS[letter]
    if kind == "skip":
        return Action("skip", keyboard.line(f"Why? (Enter: {_UNCLEAR})").strip() or _UNCLEAR)
    return Action(kind)  # type: ignore[arg-type]


def _keys_in_lines(keys: Mapping[str, str]) -> str:
    """Write keys and classes in lines that fit the screen, without breaking a class."""
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    return "\n".join(filled([f"[{key}] {name}" for key, name in keys.items()], width))


def _commands(prefix: str) -> str:
    return "  ".join(f"[{prefix}{letter}] {kind}" for letter, kind in _COMMANDS.items())
