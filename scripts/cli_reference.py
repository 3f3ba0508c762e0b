"""Write docs/cli.md from the help of every command, and the names of the parts that the help shows.

Run `python scripts/cli_reference.py` after changing a command, or adding a part.
"""

from __future__ import annotations

from pathlib import Path

import click

from fewlabels.cli.main import COMMANDS, cli
from fewlabels.cli.question import living

NAMES = Path(__file__).parents[1] / "src" / "fewlabels" / "cli" / "part_names.py"
PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
_WIDTH = 82  # what the site shows without scrolling
_HEAD = """# The command line

This page shows the help of `fewlabels` and of each command. `python scripts/cli_reference.py` writes it.

- Tables and answers go to stdout, and all other messages to stderr, so `fewlabels ask audit.db > batch.csv` writes only
  the batch.
- `--json` prints `{"rows": [...], "settings": {...}}` instead of a table; some commands add further keys.
- A command that cannot do what it was asked to do says why in one line and exits with code 2. A command that was
  interrupted exits with code 130.
- DATABASE is a file such as `audit.db`, or an address such as `postgresql://user@host/database`. You can leave
  out NAME if the database has only one assessment.
- Colour is used only on a terminal, and not if `NO_COLOR` is set.
- [completion](#fewlabels-completion) sets up your shell. The [tutorial](tutorial.md) has the first steps.
"""


def names() -> str:
    """The module with the names of this package's parts, as it should be."""
    lines = [f'    "{family}": "{living(family)}",' for family in ("task", "metric", "prior", "policy")]
    about = "The names of the parts, for the help texts; scripts/cli_reference.py writes this file."
    return "\n".join([f'"""{about}"""', "", "NAMES = {", *lines, "}", ""])


def reference() -> str:
    """The page as it should be."""
    root = click.Context(cli, info_name="fewlabels")
    parts = [_HEAD]
    for section, commands in COMMANDS.items():
        links = [f"- [`{name}`](#fewlabels-{name}): {words}" for name, (_, words) in commands.items()]
        parts += [f"**{section}**\n\n" + "\n".join(links) + "\n"]
    for commands in COMMANDS.values():
        for name in commands:
            command = cli.get_command(root, name)
            assert command is not None
            context = click.Context(
                command, info_name=name, parent=root, terminal_width=_WIDTH, max_content_width=_WIDTH,
                help_option_names=["-h", "--help"],
            )  # fmt: skip
            parts.append(f"## fewlabels {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    NAMES.write_text(names(), encoding="utf-8")
    print(f"wrote {NAMES}")
    PAGE.write_text(reference(), encoding="utf-8")
    print(f"wrote {PAGE}")
