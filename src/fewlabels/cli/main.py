"""The command `fewlabels`: its commands, each imported when it is used, and how errors end it."""

from __future__ import annotations

import atexit
import difflib
import errno
import gc
import os
import shlex
import sys
import threading
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli import imports
from fewlabels.errors import Argument, Call, FewlabelsError
from fewlabels.wording import harmless, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

# Each command with its place and its line in the list of commands, so that showing the list imports none of them.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("fewlabels.cli.demo:demo", "See the whole loop on built-in data, in under a minute."),
        "plan": ("fewlabels.cli.plan:plan", "Estimate how many labels you will need, before you buy any."),
        "new": ("fewlabels.cli.new:new", "Begin an assessment from a file of predictions."),
        "remove": ("fewlabels.cli.remove:remove", "Remove an assessment that was begun by mistake."),
        "relocate": ("fewlabels.cli.relocate:relocate", "Say where a table of predictions is now."),
    },
    "Label": {
        "label": ("fewlabels.cli.label:label", "Label items here in the terminal, one at a time."),
        "ask": ("fewlabels.cli.ask:ask", "Write the items to label next to a file to fill in."),
        "tell": ("fewlabels.cli.tell:tell", "Take labels from a file, or as ID=LABEL."),
        "withdraw": ("fewlabels.cli.withdraw:withdraw", "Take back labels, or requests that nobody will answer."),
    },
    "Label together": {
        "serve": ("fewlabels.cli.serve:serve", "Label in the browser, alone or with others."),
        "invite": ("fewlabels.cli.people:invite", "Make a personal link for somebody who labels in the browser."),
        "guide": ("fewlabels.cli.guide:guide", "Show or change what annotators are told."),
        "people": ("fewlabels.cli.people:people", "List who was invited."),
        "revoke": ("fewlabels.cli.people:revoke", "Lock somebody out; their answers stay."),
    },
    "Read": {
        "show": ("fewlabels.cli.show:show", "Show estimates with intervals, and the progress of labelling."),
        "answer": ("fewlabels.cli.answer:answer", "Answer the question, and say how sure the answer is."),
        "classes": ("fewlabels.cli.classes:classes", "Precision, recall and F1 of every class, with intervals."),
        "fairness": ("fewlabels.cli.fairness:fairness", "Compare groups of people: error rates, gaps and ratios."),
        "check": ("fewlabels.cli.check:check", "Does it pass? Pass, fail or not enough evidence, by exit code."),
        "report": ("fewlabels.cli.report:report", "Write one HTML file with everything, to pass on."),
        "plot": ("fewlabels.cli.plot:plot", "Draw one picture of the results."),
        "list": ("fewlabels.cli.list:list_", "List the assessments in a database."),
        "export": ("fewlabels.cli.export:export", "Write labels, log, estimates or open requests to a file."),
    },
    "Keep safe": {
        "backup": ("fewlabels.cli.keeping:backup", "Write a checked copy to a file, even while people label."),
        "copy": ("fewlabels.cli.keeping:copy", "Copy everything from one database to another."),
        "verify": ("fewlabels.cli.keeping:verify", "Check that nothing was damaged, changed or lost."),
    },
    "Research": {
        "simulate": (
            "fewlabels.cli.simulate:simulate",
            "Find the method that needs the fewest labels, on labelled data.",
        ),
        "paper": ("fewlabels.cli.paper:paper", "Reproduce the tables and figures of the paper."),
    },
    "More": {
        "completion": ("fewlabels.cli.completion:completion", "Print the completion script for your shell."),
    },
}
_PLACES = {name: place for section in COMMANDS.values() for name, place in section.items()}

# Why an output cannot be written that the shell has put into a file.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}

# The arguments of Python functions that are also options of the command line, under the same name.
_OPTIONS = (
    "id", "label", "scores", "predicted", "confidence", "classes", "content", "annotator",
    "normalize", "logits", "adopt", "models", "model", "unlisted", "any_spelling", "in_sentences", "positive",
    "evidence", "never_right", "table", "any_size", "noisy", "metric", "groups", "task", "prior", "policy",
    "target", "items", "rope", "guarantee", "together", "stop_labels", "stop_probability", "stop_width", "stop_overall",
)  # fmt: skip

_REPEATED = ("never_right",)  # options that are given once for each value


class Commands(click.Group):
    """A group whose commands are imported on use. After an error it prints one line and exits with code 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with every --import first, wherever it stands."""
        return super().parse_args(ctx, imports.first(args))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names, in the order of the table."""
        return list(_PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in _PLACES:
            return None
        module, _, attribute = _PLACES[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that is meant; for a mistyped one, suggest the nearest."""
        if args[0] not in _PLACES and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], _PLACES, 1)
            hint = f"Did you mean '{near[0]}'?" if near else "See: fewlabels --help"
            ctx.fail(f"there is no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, from the table alone."""
        for section, places in COMMANDS.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(10), words) for name, (_, words) in places.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Complete names of commands without importing them."""
        from click.shell_completion import CompletionItem

        matches = [(name, words) for name, (_, words) in _PLACES.items() if name.startswith(incomplete)]
        own = [CompletionItem(name, help=words) for name, words in matches]
        return own + click.Command.shell_complete(self, ctx, incomplete)

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run a command; as a program of its own (`standalone_mode`), end it with its code."""
        if not extra.pop("standalone_mode", True):
            return super().main(args, standalone_mode=False, **extra)
        try:
            result = super().main(args, standalone_mode=False, **extra)
            sys.stdout.flush()  # now, while an error can still be reported
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(2)
        except click.ClickException as error:
            _say(_with_usage(error))
            sys.exit(2)
        except FewlabelsError as error:
            _say(error.spelt(as_options))
            sys.exit(2)
        except (click.Abort, KeyboardInterrupt):
            _say("stopped.")
            sys.exit(130)
        except BrokenPipeError:
            _let_go_of_output()  # its reader has closed it
            sys.exit(1)
        except OSError as error:
            if error.filename is None and error.errno in _NO_ROOM:
                _let_go_of_output()
                _say(f"cannot write the output: {error.strerror}. Make room, or write it elsewhere.")
                sys.exit(2)
            if error.filename is None:
                raise
            # The name can also be the number of an open file, and the reason can be missing.
            name = error.filename
            name = os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else name
            _say(f"cannot use {name}: {error.strerror or type(error).__name__}. Check the path.")
            sys.exit(2)
        sys.exit(result if isinstance(result, int) else 0)


def _let_go_of_output() -> None:
    """Discard the output: nothing more can be written to it, and Python must not complain about that at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_options(part: Argument | Call) -> str:
    r"""Write the arguments in a message of the library as options; arguments that are not options stay Python.

    >>> as_options(Argument("normalize", value=True)), as_options(Argument("id")), as_options(Argument("draws", 9))
    ('--normalize', '--id', 'draws=9')
    >>> as_options(Call("read_pool", (Argument("scores", ["cat", "wild dog"]), Argument("id", "key"))))
    "--scores 'cat,wild dog' --id key"
    >>> as_options(Argument("never_right", ["I'm sorry*", "as an AI*"]))
    '--never-right "I\'m sorry*" --never-right \'as an AI*\''
    >>> as_options(Call("Stop", (Argument("width", 0.2), Argument("guarantee", "anytime"))))
    '--stop-width 0.2 --guarantee anytime'
    """
    if isinstance(part, Call):
        return " ".join(map(as_options, part.options))
    if part.name not in _OPTIONS:
        return str(part)
    from fewlabels.parts import Part, cli_name  # after an error, time does not matter

    option = f"--{part.name.replace('_', '-')}"
    if part.value is None or part.value is True:
        return option
    value = cli_name(type(part.value)) if isinstance(part.value, Part) else part.value
    names = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    if part.name in _REPEATED:
        return " ".join(f"{option} {_quoted(str(name))}" for name in names)
    return f"{option} {_quoted(','.join(map(str, names)))}"


def _quoted(text: str) -> str:
    """Quote a word for the shell if it needs it, so that a person can still read it."""
    readable = "'" in text and not any(mark in text for mark in '"$`\\!')
    return f'"{text}"' if readable else shlex.quote(text)


def _with_option(option: str) -> list[str]:
    """The commands that have an option."""
    commands = {name: cli.get_command(click.Context(cli), name) for name in _PLACES}
    return [name for name, each in commands.items() if each and any(option in param.opts for param in each.params)]


def _with_usage(error: click.ClickException) -> str:
    """Return the message of click and, for wrong usage, where to read more."""
    words = error.format_message()
    context = getattr(error, "ctx", None)
    if not isinstance(error, click.UsageError) or context is None or context.command is cli:
        return words
    if isinstance(error, click.NoSuchOption) and (others := _with_option(error.option_name)):
        words = f"{context.command_path} has no option {error.option_name!r}. These commands have it: {listed(others)}."
    return f"{words} See: {context.command_path} --help"


def _say(message: str) -> None:
    """Print one line on stderr."""
    click.echo(harmless(f"fewlabels: {' '.join(message.split())}"), err=True)


_HELP = """Find out how good a black-box classifier is on your data from few labels, and how sure that is.

\b
A first assessment, from a file with one row per item and the classifier's scores or predicted classes:
  fewlabels new audit.db predictions.csv      reads the file and says what it understood
  fewlabels label audit.db                    shows one item after another, for you to label
  fewlabels show audit.db                     shows the accuracy of each class, with intervals
"""


@click.group(
    "fewlabels",
    cls=Commands,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="fewlabels", message="%(prog)s %(version)s")
@click.option(
    imports.OPTION,
    "modules",
    multiple=True,
    metavar="FILE_OR_MODULE",
    help="Python code with your own parts, such as my_metrics.py; anywhere on the line.",
)
@click.pass_context
def cli(ctx: click.Context, modules: Sequence[str]) -> None:
    """See `_HELP`."""
    for module in modules:
        imports.import_parts(module)
    if os.environ.get("NO_COLOR"):
        ctx.color = False


def main() -> None:
    """Run the command line of this process."""
    # Importing makes many objects, none of which is garbage. Searching for garbage all the time takes a sixth of a
    # command's time, and doing so once, when there are a hundred thousand objects, a twentieth.
    gc.set_threshold(400_000)
    # The matrices of a command are small: more threads of OpenBLAS, which NumPy uses, would only wait and cost time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocator does not return memory to the system, which costs a sixth of a command's memory and time.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        cli.main(prog_name="fewlabels")
    except SystemExit as ended:
        if isinstance(ended.code, int):
            _leave(ended.code)
        raise


def _leave(code: int) -> None:
    """End the process at once, if nothing in it could still have something to do.

    Destroying everything that was imported, object by object, takes a tenth of a command's time. Everything due at the
    end is done first: databases are closed, and the output is written.
    """
    # DuckDB's objects must be released, or its library complains about leaks. Threads, profilers and debuggers may have
    # work left.
    if "_duckdb" in sys.modules or threading.active_count() > 1 or sys.getprofile() or sys.gettrace():
        return
    gc.freeze()  # otherwise releasing these objects would start another collection
    atexit._run_exitfuncs()  # noqa: SLF001  (there is no other name for it)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
