"""`fewlabels report`: one file with everything, to read and to pass on."""

from __future__ import annotations

from pathlib import Path

import click

from fewlabels.cli.common import assessment_arguments, level_option

_HELP = """Write a report: one HTML file that loads nothing from elsewhere, for readers without statistics.

It has the answer in a sentence, a table and plots of all groups, how the labels were chosen, what more labels would
change, and every setting. The ending of the file name is the format: .html, .md or .json. Without -o the file is named
after the assessment; with -o - the report goes to stdout. A report of that name is replaced: nobody has typed anything
into it.

\b
Examples:
  fewlabels report audit.db
  fewlabels report audit.db worst -o worst.html --open
  fewlabels report audit.db --rules rules.toml -o gate.html
  fewlabels report audit.db --format json -o - | jq .headline
"""


@click.command(help=_HELP, short_help="Write one HTML file with everything, to pass on.")
@assessment_arguments
@click.option("-o", "--output", metavar="FILE", help="Where to write it; - for stdout.  [default: NAME.html]")
@click.option("--format", "form", type=click.Choice(["html", "md", "json"]), help="The format, whatever the file name.")
@level_option
@click.option("--examples", default=12, type=click.IntRange(0), show_default=True, help="Labelled mistakes to show.")
@click.option("--forecast/--no-forecast", default=True, help="Say how many more labels it will probably take.")
@click.option("--rules", metavar="FILE", help="Say whether the rules of this TOML file pass; see `fewlabels check`.")
@click.option(
    "--content",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder of the pictures that items name.  [default: found beside the predictions]",
)
@click.option("--open", "show", is_flag=True, help="Open the file in the browser.")
def report(
    address: str,
    name: str | None,
    *,
    output: str | None,
    form: str | None,
    level: float,
    examples: int,
    forecast: bool,
    rules: str | None,
    content: Path | None,
    show: bool,
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import open_assessment, progress, talk
    from fewlabels.cli.pictures import folder_beside
    from fewlabels.gate import read_rules
    from fewlabels.io.saving import save
    from fewlabels.report import format_of, read, rendered

    put = [] if rules is None else read_rules(rules)
    audit = open_assessment(address, name)
    if output != "-":
        output = output or f"{_file_name(audit.name)}.{form or 'html'}"
        form = form or format_of(output)
    with progress("making the report") as bar:
        content = content or folder_beside(audit.pool)
        made = read(audit, level, examples=examples, foresee=forecast, rules=put, content=content, progress=bar)
    text = rendered(made, form or "html")
    if output == "-":
        click.echo(text, nl=False)
        return
    path = save(text, output)
    talk(f"Wrote {path} ({len(text.encode()) / 1000:,.0f} kB).")
    if show:
        click.launch(str(path))


def _file_name(name: str) -> str:
    """Return the name of an assessment without the characters that file names cannot have."""
    kept = "".join(letter if letter.isalnum() or letter in "-_. " else "-" for letter in name).strip(" .")
    return kept[:80] or "report"
