"""`fewlabels tell`: read labels from files, stdin or the command line, and say where one is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import PROGRAMS, complete_names, json_option
from fewlabels.cli.predictions import any_size_option
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.errors import Place
    from fewlabels.interop.annotations import Annotation
    from fewlabels.io.labels import LabelRow
    from fewlabels.pool import Pool

_SPELLINGS = 3  # spellings that are listed

_HELP = """Read labels.

They come from files with the columns id and label (.csv, .tsv, .json, .jsonl, .parquet, ...), from stdin (as -), or
from the command line as ID=LABEL. Rows without a label are left out. If nobody can label an item, write (skip) or
(skip: reason): the item then waits for your decision. If one label is refused, none is taken. A second label for an
item replaces the first, which stays in the log. NAME can be left out if the database has only one assessment.

Exports of Label Studio and Argilla (.json), Prodigy and doccano (.jsonl) are recognised by their content, and each
answer is told by the person who gave it.

\b
Examples:
  fewlabels tell audit.db batch.csv
  fewlabels tell audit.db worst batch.csv --annotator ann
  fewlabels tell audit.db img_17=lizard img_18=frog
  fewlabels tell audit.db old-labels.csv --adopt      items that were never asked for
  cat batch.csv | fewlabels tell audit.db -
  fewlabels tell audit.db export.json                 what people said in a labelling program
"""


@click.command(help=_HELP, short_help="Read labels from a file, or as ID=LABEL.")
@click.argument("address", metavar="DATABASE")
@click.argument("words", nargs=-1, required=True, metavar="[NAME] FILE|-|ID=LABEL...", shell_complete=complete_names)
@click.option("--annotator", metavar="WHO", help="Who labelled.")
@click.option("--note", metavar="TEXT", help="A note to keep in the log with the labels.")
@click.option("--adopt", is_flag=True, help="Also take labels of items that were never asked for.")
@click.option("--decide", is_flag=True, help="Take them as the owner's decision, which counts whatever others said.")
@click.option("--from", "program", type=click.Choice(PROGRAMS), help="FILE is an export of this labelling program.")
@click.option("--label-studio", is_flag=True, hidden=True)  # its name before there were others
@click.option("--id", "id_", default="id", metavar="NAME", show_default=True, help="Column of ids.")
@click.option("--label", default="label", metavar="NAME", show_default=True, help="Column of labels.")
@any_size_option
@json_option
def tell(
    address: str,
    words: Sequence[str],
    *,
    annotator: str | None,
    note: str | None,
    adopt: bool,
    decide: bool,
    program: str | None,
    label_studio: bool,
    id_: str,
    label: str,
    any_size: bool,
    as_json: bool,
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit_json, name_and_rest, open_assessment, talk
    from fewlabels.errors import InputError, LabelError
    from fewlabels.io.labels import checked, skip_reason

    name, rest = name_and_rest(address, words)
    if not rest:
        raise InputError("no labels were given: add a file, - for stdin, or ID=LABEL.")
    audit = open_assessment(address, name)
    if exported := _exports(rest, "label-studio" if label_studio else program, columns=(id_, label)):
        if decide:
            raise InputError("--decide takes a table of id and label, not an export of a labelling program.")
        _tell_annotations(audit, exported, annotator=annotator, adopt=adopt, as_json=as_json)
        return
    rows = [row for word in rest for row in _rows(word, audit.pool, id_, label, any_size=any_size)]
    if adopt:
        audit.look_up([name for row in rows if row.label for name in (row.item, row.item.strip())])
    spelt, changed = _spelt([row for row in rows if row.label], audit.pool)
    labels = checked(spelt, audit.pool, skips=not decide)
    skipped = sum(skip_reason(label, audit.pool.choices) is not None for label in labels.values())
    before = _valid_labels(audit, list(labels))
    own = _own_labels(audit, annotator) if (audit.spec.noisy or audit.spec.overlap > 1) and not decide else before
    try:
        take = audit.decide if decide else audit.tell
        taken = take(labels, annotator=annotator, note=note, adopt=adopt) if labels else 0
    except LabelError as error:
        error.at = _place(spelt, error.items)
        raise
    counts = {
        "told": taken - skipped,
        "skipped": skipped,
        "blank": sum(not row.label for row in rows),
        "further": sum(item in before and item not in own for item in labels),
        "known": sum(own.get(item) == label for item, label in labels.items()),
        "replaced": sum(own.get(item, label) != label for item, label in labels.items()),
        "labels": audit.labelled,
        "pending": len(audit.pending()),
    }
    if changed:
        talk(changed)
    talk(_summary(counts, audit, address))
    if as_json:
        emit_json(counts)


def _valid_labels(audit: Assessment, items: Sequence[str]) -> dict[str, str]:
    """The labels of some items that are valid now; in a long log, those of all items would be very many."""
    import numpy as np

    labelled, true = audit.labelled_items()
    class_of = np.full(audit.pool.rows, -1)
    class_of[labelled] = true
    numbers = class_of[audit.pool.positions(items)].tolist()
    return {item: audit.pool.classes[k] for item, k in zip(items, numbers, strict=True) if k >= 0}


def _own_labels(audit: Assessment, annotator: str | None) -> dict[str, str]:
    """What this person has said before: if several people vote, nobody replaces another person's answer."""
    answers = audit.answers(annotator, most=len(audit.pool))
    return {item: label for item, label in zip(answers["id"], answers["label"], strict=True) if label is not None}


def _exports(words: Sequence[str], given: str | None, *, columns: tuple[str, str]) -> dict[str, str]:
    """The files that are exports of labelling programs, with the program of each; empty if none is.

    An export is recognised by its content. If one word is an export, all must be.
    """
    from fewlabels.errors import InputError

    exports: dict[str, str] = {}
    for word in words:
        path = Path(word)
        if given is not None and not path.is_file():
            raise InputError(f"there is no file {word}. Export it from the labelling program first.")
        looks = path.suffix.lower() in (".json", ".jsonl", ".ndjson") and path.is_file() and path.stat().st_size > 0
        if given is not None:
            exports[word] = given
        elif looks and columns == ("id", "label") and (program := _program_of(path, word)) is not None:
            exports[word] = program
    if exports and len(exports) < len(words):
        other = next(word for word in words if word not in exports)
        raise InputError(
            f"{next(iter(exports))} is an export of a labelling program, and {other!r} is not. Tell them in separate "
            "calls."
        )
    return exports


def _program_of(path: Path, name: str) -> str | None:
    """The labelling program that a file is an export of, or None. Readers are imported only for such files."""
    from fewlabels.interop.labelling_programs import of_export
    from fewlabels.io.jsons import read_values

    program = of_export(read_values(path, name))
    return None if program is None else program.name


def _tell_annotations(
    audit: Assessment, exports: dict[str, str], *, annotator: str | None, adopt: bool, as_json: bool
) -> None:
    """Read labels and skips, with the names of those who gave them."""
    from fewlabels.cli.common import emit_json, talk
    from fewlabels.interop.annotations import tell_annotations
    from fewlabels.interop.labelling_programs import named, read_annotations

    annotations = []
    for file, program in exports.items():
        read = read_annotations(file, program=program)
        talk(f"{file} is an export of {named(program).title} with {counted(len(read), 'answer')}.")
        annotations += [replace(answer, annotator=answer.annotator or annotator) for answer in read]
    title = named(next(iter(exports.values()))).title
    known = _known(audit, annotations)
    taken, skipped = tell_annotations(audit, annotations, adopt=adopt, program=title)
    said = f"{counted(taken, 'label')} taken{f' ({known:,} known before)' if known else ''}, {skipped:,} skipped"
    if known and known == taken:
        known_ones = f"{counted(known, 'label')} known before"
        said = f"{known_ones}, {skipped:,} skipped" if skipped else f"Nothing new: {known_ones}"
    talk(f"{said}. {counted(audit.labelled, 'label')} so far.")
    if as_json:
        counts = {"told": taken, "skipped": skipped, "known": known}
        emit_json({**counts, "labels": audit.labelled, "pending": len(audit.pending())})


def _known(audit: Assessment, annotations: Sequence[Annotation]) -> int:
    """How many of the labels their annotators have given before, as when an export is told twice."""
    told = {(each.annotator, each.item): each.label for each in annotations if each.label is not None}
    own = {who: _own_labels(audit, who) for who, _ in told}
    return sum(own[who].get(item) == label for (who, item), label in told.items())


def _rows(word: str, pool: Pool, id_: str, label: str, *, any_size: bool) -> list[LabelRow]:
    """Read the labels that a word of the command line stands for."""
    from fewlabels.cli.predictions import opened
    from fewlabels.errors import InputError
    from fewlabels.io.labels import LabelRow, label_rows

    if "=" in word and not Path(word).exists():
        # Ids and classes may contain an =: take the first split whose id exists, or else the first split.
        splits = [(word[:i].strip(), word[i + 1 :].strip()) for i, letter in enumerate(word) if letter == "="]
        known = pool.has([item for item, _ in splits]).tolist()
        item, name = next((pair for pair, has in zip(splits, known, strict=True) if has), splits[0])
        return [LabelRow(item, name)]
    if word != "-" and not Path(word).exists():
        raise InputError(f"{word!r} is not a file, not ID=LABEL, and not an assessment of this database. Check it.")
    return label_rows(opened(word, any_size=any_size), id=id_, label=label)


def _place(rows: Sequence[LabelRow], items: Sequence[str]) -> Place | None:
    """Find the items in the first file that has any of them; None if they were typed."""
    wrong = [row for row in rows if row.item in set(items) and row.source is not None]
    if not wrong or wrong[0].source is None:
        return None
    return wrong[0].source.at([row.row for row in wrong if row.source is wrong[0].source])


def _spelt(rows: Sequence[LabelRow], pool: Pool) -> tuple[list[LabelRow], str]:
    """Return the rows in the pool's own spelling, if it is clear, and a sentence about what was changed."""
    from fewlabels.io.labels import skip_reason
    from fewlabels.io.spellings import as_typed

    classes = set(pool.choices)
    alike: dict[str, list[str]] = {}
    for name in pool.choices:
        alike.setdefault(as_typed(name), []).append(name)
    spelt: list[LabelRow] = []
    changed: Counter[tuple[str, str]] = Counter()
    for row, known in zip(rows, pool.has([row.item for row in rows]).tolist(), strict=True):
        is_clear = row.label in classes or skip_reason(row.label, classes) is not None
        near = [row.label] if is_clear else alike.get(as_typed(row.label), [])
        label = near[0] if len(near) == 1 else row.label
        if label != row.label:
            changed[row.label, label] += 1
        spelt.append(replace(row, item=row.item if known else row.item.strip(), label=label))
    return spelt, _changes(changed)


def _changes(changed: Counter[tuple[str, str]]) -> str:
    """One sentence about spellings that were changed, with the most frequent ones; empty if there are none.

    >>> _changes(Counter({("CAT ", "cat"): 3, ("Dog", "dog"): 1}))
    "4 labels were read in the pool's spelling: 'CAT ' as 'cat' (3 times), 'Dog' as 'dog' (once)."
    """
    if not changed:
        return ""
    some = [f"{old!r} as {new!r} ({times(count)})" for (old, new), count in changed.most_common(_SPELLINGS)]
    rest = len(changed) - len(some)
    more = f" and {counted(rest, 'other spelling')}" if rest else ""
    were = "label was" if changed.total() == 1 else "labels were"
    return f"{changed.total():,} {were} read in the pool's spelling: {', '.join(some)}{more}."


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _summary(counts: dict[str, int], audit: Assessment, address: str) -> str:
    """Say what happened, and what to type next."""
    from fewlabels.cli.common import quoted, shown

    where = f"{shown(address)} {quoted(audit.name)}"
    if not counts["told"] and not counts["skipped"]:
        blank = "the only row is" if counts["blank"] == 1 else f"all {counts['blank']:,} rows are"
        return f"No label was taken: {blank} blank. Fill in the column label, and try again."
    extra = [f"{counts['further']:,} of items that somebody else had labelled"] if counts["further"] else []
    extra += [f"{counts['known']:,} known before"] if counts["known"] else []
    extra += [f"{counts['replaced']:,} replaced an earlier one"] if counts["replaced"] else []
    extra += [f"left out {counted(counts['blank'], 'row')} without a label"] if counts["blank"] else []
    more = f" ({'; '.join(extra)})" if extra else ""
    settled = ", with the votes of enough people" if audit.spec.overlap > 1 else ""
    taken = f"{counted(counts['told'], 'label')} taken{more}."
    if counts["told"] and counts["known"] == counts["told"] and not counts["further"]:
        taken = f"Nothing new: {counted(counts['told'], 'label')} known before."
    words = [
        taken,
        *([f"{counted(counts['skipped'], 'item')} skipped."] if counts["skipped"] else []),
        f"{counts['labels']:,} so far{settled}, {counts['pending']:,} pending.",
    ]
    if audit.spec.stop.rules and (standing := audit.standing()).reached:
        words.append(standing.words)
    return " ".join([*words, f"Next: fewlabels show {where}"])
