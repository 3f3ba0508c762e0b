"""The command `fewlabels`: its parts, and how it ends when something is wrong."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli.paper import paper
from fewlabels.cli.simulate import simulate
from fewlabels.errors import FewlabelsError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Commands(click.Group):
    """A group of commands that says in one line what is wrong, and then ends with code 2."""

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Run a command; as a program of its own (`standalone_mode`), end it with its code."""
        if not extra.pop("standalone_mode", True):
            return super().main(args, standalone_mode=False, **extra)
        try:
            result = super().main(args, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(2)
        except click.ClickException as error:
            _say(error.format_message())
            sys.exit(2)
        except FewlabelsError as error:
            _say(str(error))
            sys.exit(2)
        except (click.Abort, KeyboardInterrupt):
            _say("stopped.")
            sys.exit(130)
        except BrokenPipeError:
            # Whoever read the output has had enough; Python must not complain about it when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        sys.exit(result if isinstance(result, int) else 0)


def _say(message: str) -> None:
    """One line on stderr."""
    click.echo(f"fewlabels: {' '.join(message.split())}", err=True)


@click.group(
    "fewlabels", cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="fewlabels", message="%(prog)s %(version)s")
def cli() -> None:
    """How good a black-box classifier is on your data, from as few labels as possible, and how sure that is."""


cli.add_command(paper)
cli.add_command(simulate)


def main() -> None:
    """Run the command line of this process."""
    cli.main(prog_name="fewlabels")
