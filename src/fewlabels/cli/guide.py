"""`fewlabels guide`: what annotators are told, to read and to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from fewlabels.cli.common import assessment_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fewlabels.store import Store
    from fewlabels.store.guides import Guide

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_GUIDELINES = "How to label, in Markdown: shown to whoever labels in the browser."
_DESCRIPTIONS = "What classes mean: a table with the columns class and description."
_HELP = """Show what annotators are told about an assessment, or change it: guidelines, and what each class means.

Without options it prints what there is. A new version replaces the one before, which is kept: --versions lists when
each was written, so that you can tell which answers were given under which. The owner can also write the guide in the
browser, on the page "Guide".

\b
Examples:
  fewlabels guide audit.db
  fewlabels guide audit.db --guidelines guidelines.md --class-descriptions classes.csv
  fewlabels guide audit.db worst --json
"""


def guide_options(command: Decorated) -> Decorated:
    """Add the options that name the files of a guide."""
    file = click.Path(exists=True, dir_okay=False)
    command = click.option("--class-descriptions", metavar="FILE", type=file, help=_DESCRIPTIONS)(command)
    return click.option("--guidelines", metavar="FILE", type=file, help=_GUIDELINES)(command)


@click.command(help=_HELP, short_help="Show or change what annotators are told.")
@assessment_arguments
@guide_options
@click.option("--annotator", metavar="WHO", help="Who changes it.")
@click.option("--versions", is_flag=True, help="List when each version was written, and by whom.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def guide(
    address: str,
    name: str | None,
    *,
    guidelines: str | None,
    class_descriptions: str | None,
    annotator: str | None,
    versions: bool,
    as_json: bool,
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit, emit_json, open_store, resolve, talk
    from fewlabels.store.guides import Guides
    from fewlabels.table import Table
    from fewlabels.wording import harmless

    name = resolve(address, name)
    with open_store(address) as store:
        if guidelines is not None or class_descriptions is not None:
            classes = store.pool(store.open(name).fingerprint).choices
            written = write_guide(store, name, read_guide(guidelines, class_descriptions, classes), annotator)
            talk(_written(written))
            return
        kept = Guides(store)
        if versions:
            all_of_it = kept.versions(name)
            columns = ("version", "at", "by")
            emit(Table({what: [getattr(guide, what) for guide in all_of_it] for what in columns}), as_json)
            return
        now = kept.of(name)
    if as_json:
        emit_json({"version": now.version, "guidelines": now.guidelines, "descriptions": dict(now.descriptions)})
        return
    if not now.version:
        talk("Nothing was written yet. Write it with --guidelines FILE.md and --class-descriptions FILE.csv.")
        return
    means = [f"{name}: {' '.join(text.split())}" for name, text in now.descriptions.items()]
    click.echo(harmless("\n\n".join(filter(None, [now.guidelines, "\n".join(means)]))))


def read_guide(guidelines: str | None, class_descriptions: str | None, classes: Sequence[str]) -> dict[str, Any]:
    """Read the files of a guide, before anything is written."""
    from fewlabels.io.guides import read_descriptions, read_guidelines

    return {
        "guidelines": None if guidelines is None else read_guidelines(guidelines),
        "descriptions": None if class_descriptions is None else read_descriptions(class_descriptions, classes),
    }


def write_guide(store: Store, name: str, given: dict[str, Any], annotator: str | None = None) -> Guide:
    """Write what `read_guide` has read."""
    from fewlabels.store.guides import Guides

    return Guides(store).write(name, **given, by=annotator)


def _written(guide: Guide) -> str:
    from fewlabels.wording import counted

    words = f"guidelines of {counted(len(guide.guidelines), 'character')}" if guide.guidelines else "no guidelines"
    means = counted(len(guide.descriptions), "description") if guide.descriptions else "no descriptions of classes"
    return f"Annotators now see version {guide.version}: {words}, {means}."
