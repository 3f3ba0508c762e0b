"""Write docs/cli.md from the help of every command: run `python scripts/cli_reference.py` after changing one."""

from __future__ import annotations

from pathlib import Path

import click

from fewlabels.cli.main import COMMANDS, cli

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
_WIDTH = 100
_HEAD = """# The command line

What `fewlabels --help` and the help of each command say. This page is made by `python scripts/cli_reference.py`.

- Tables and answers go to stdout, all other talk to stderr: `fewlabels ask audit.db > batch.csv` writes only the batch.
- `--json` prints `{"rows": [...], "settings": {...}}` in place of a table, with more keys where there is more to say.
- A command that cannot do what it was asked to says why in one line and ends with code 2; one that was interrupted
  ends with 130.
- DATABASE is a file such as `audit.db`, or an address such as `postgresql://user@host/database`. NAME may be left
  out where a database has one assessment only.
- Colour is used on a terminal only, and not if `NO_COLOR` is set.
- Completion for your shell: see [completion](#fewlabels-completion). First steps: the [tutorial](tutorial.md).
"""


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
    PAGE.write_text(reference(), encoding="utf-8")
    print(f"wrote {PAGE}")
