"""`fewlabels plot`: one picture of an assessment, or all that suit it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import assessment_arguments, json_option, level_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.assessment import Assessment
    from fewlabels.plots import Plot

# The names in fewlabels.plots, so that showing the help need not import them; a test compares.
PLOT_NAMES = (
    "verdicts",
    "forest",
    "ranking",
    "chances",
    "reliability",
    "calibration",
    "confusion",
    "scatter",
    "rope",
    "allocation",
    "curve",
    "models",
    "differences",
)
_HELP = """Draw a picture of an assessment.

\b
  forest       each group with its interval            confusion    which classes are confused
  ranking      the rank of each group                  scatter      accuracy against calibration error
  chances      the chance of each to be the worst      rope         the difference of two groups
  reliability  confidence against accuracy             allocation   where the labels went
  calibration  the calibration error                   curve        what the labels bought
  models       each model with its interval            verdicts     each group beside the line
  differences  of two models, in each group

Without --kind, the picture shows the answer. The ending of the file name is the format: .svg (shows values where you
point, and needs no other package), .png or .pdf. Without -o the file is named after the assessment and the picture;
with -o - the SVG goes to stdout.

\b
Examples:
  fewlabels plot audit.db
  fewlabels plot audit.db worst --kind ranking -o ranking.png
  fewlabels plot audit.db --kind all -o pictures/
  fewlabels plot audit.db --kind forest --json
"""


@click.command(help=_HELP, short_help="Draw one picture of the results.")
@assessment_arguments
@click.option("--kind", type=click.Choice([*PLOT_NAMES, "all"]), help="[default: the one that shows the answer]")
@click.option(
    "-o", "--output", "--out", "out", metavar="FILE", help="Where to write: .svg, .png, .pdf, a directory, or -."
)
@level_option
@json_option
def plot(address: str, name: str | None, *, kind: str | None, out: str | None, level: float, as_json: bool) -> None:
    """See `_HELP`."""
    from fewlabels import plots
    from fewlabels.cli.common import emit_json, names_in, open_assessment, progress

    if kind is None and name in (*PLOT_NAMES, "all") and name not in names_in(address):
        kind, name = name, None  # `plot audit.db ranking` can only mean the picture
    audit = open_assessment(address, name)
    kinds = plots.suited(audit) if kind == "all" else (kind or plots.main_kind(audit),)
    targets = {} if as_json and out is None else _targets(audit, kinds, out, many=kind == "all")
    with progress("drawing") as bar:
        read: dict[str, Plot] = {}
        for done, (name_of, numbers) in enumerate(plots.read_each(audit, kinds, level)):
            read[name_of] = numbers
            bar(done + 1, len(kinds))
    if as_json:
        shown = {name_of: numbers.to_json() for name_of, numbers in read.items()}
        emit_json(shown if kind == "all" else next(iter(shown.values())))
    _write(read, targets)


def _targets(audit: Assessment, kinds: tuple[str, ...], out: str | None, *, many: bool) -> dict[str, Path | None]:
    """Return the file of each kind, None for stdout; an error, before anything is drawn, if it cannot be written."""
    from fewlabels.errors import InputError
    from fewlabels.plots.drawing.display import SUFFIXES, check_drawing

    if out == "-" and not many:
        return {kinds[0]: None}
    if many or (out is not None and (Path(out).is_dir() or out.endswith("/"))):
        if out == "-" or (out is not None and Path(out).suffix.lower() in SUFFIXES and not Path(out).is_dir()):
            raise InputError("--kind all draws several pictures: name a directory with -o, as in -o pictures/.")
        folder = Path(out or f"{_file_name(audit.name)}-plots")
        if folder.exists() and not folder.is_dir():
            raise InputError(f"cannot write into {folder}: it is a file. Name a directory with -o.")
        return {kind: folder / f"{kind}.svg" for kind in kinds}
    path = Path(out or f"{_file_name(audit.name)}-{kinds[0]}.svg")
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"the ending of {path} is not a known format. End it in {', '.join(SUFFIXES)}, or name a directory."
        )
    if not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {path}: there is no directory {path.parent}. Make it first.")
    if path.suffix.lower() != ".svg":
        check_drawing()
    return {kinds[0]: path}


def _write(read: Mapping[str, Plot], targets: Mapping[str, Path | None]) -> None:
    from fewlabels import plots
    from fewlabels.cli.common import talk
    from fewlabels.errors import InputError

    for kind, path in targets.items():
        if path is None:
            click.echo(plots.standalone(read[kind]), nl=False)
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the directory {path.parent}: {error.strerror}. Name another.") from None
        plots.display(read[kind]).save(path)
        talk(f"Wrote {path}: {read[kind].finding()}.")


def _file_name(name: str) -> str:
    """Return the name of an assessment without the characters that file names cannot have."""
    kept = "".join(letter if letter.isalnum() or letter in "-_. " else "-" for letter in name).strip(" .")
    return kept[:80] or "plot"
