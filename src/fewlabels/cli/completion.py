"""`fewlabels completion`: the script that completes commands, options and names of assessments."""

from __future__ import annotations

import click

_HELP = """Print the completion script for a shell. It completes commands, options, files and names of assessments.

\b
Bash:  fewlabels completion bash > ~/.local/share/bash-completion/completions/fewlabels
Zsh:   fewlabels completion zsh > "${fpath[1]}/_fewlabels"
Fish:  fewlabels completion fish > ~/.config/fish/completions/fewlabels.fish
"""


@click.command(help=_HELP, short_help="Print the completion script for your shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """See `_HELP`."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "fewlabels", "_FEWLABELS_COMPLETE")
    # .source() would start bash to check its version.
    click.echo(script.source_template % script.source_vars())
