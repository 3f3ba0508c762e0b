"""`fewlabels new`: begin an assessment from a file of predictions, and say how the file was understood."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli.common import json_option
from fewlabels.cli.guide import guide_options
from fewlabels.cli.predictions import pool_options
from fewlabels.cli.question import method_options, question_options, stop_options
from fewlabels.cli.sections import SectionedCommand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.spec import Spec
    from fewlabels.stopping import Stop
    from fewlabels.tasks import Task
    from fewlabels.understanding.words import Understood

# The settings of an assessment that are options as they are.
_SETTINGS = ("target", "seed", "anchor", "model", "noisy", "labels_right", "gold", "gold_rate")
_HELP = """Begin an assessment.

DATABASE is a file such as audit.db (created if it does not exist) or postgresql://user@host/database. FILE has the
predictions, one row per item: .csv, .tsv, .json, .jsonl, .parquet, .npz and so on, or - for stdin. NAME is the name of
the assessment in the database; if you leave it out, it is the name of the file.

FILE can also be a table of any size, which stays where it is: a pattern such as 'predictions/*.parquet', a folder, an
address such as s3://bucket/*.parquet, or postgresql://user@host/database or sc://host with --table.

Several files are the predictions of several models for the same items, joined by id, and each file's name is the name
of its model. One file with a column of answers for each model works too: --models gpt_a,gpt_b. Then the question is
which model is best, unless you ask another.

Results of other programs are recognised by their content: logs of Inspect (.eval, .json), samples of
lm-evaluation-harness (.jsonl), the output of promptfoo (.json), test runs of DeepEval (.json), traces and tables of
MLflow (.jsonl, .json), and folders of datasets that Hugging Face's library has saved to disk.

The columns of ids, scores, predicted classes and content are guessed from their names and values, and printed. If a
guess is wrong, use the option printed beside it. --dry-run only prints, and writes nothing.

\b
Examples:
  fewlabels new audit.db predictions.csv
  fewlabels new audit.db worst predictions.parquet --id image --scores 'p_*' --lowest 10
  fewlabels new audit.db fair predictions.csv --groups column:sex --compare female,male --stop-probability 0.95
  fewlabels new audit.db predictions.csv --certify 'accuracy >= 0.9' --sure 0.95
  fewlabels new audit.db old.csv new.csv --best
  fewlabels new audit.db answers.csv --models gpt_a,gpt_b --compare-models gpt_b,gpt_a --rope 0.01
  fewlabels new audit.db logs/run.eval
  fewlabels new audit.db predictions.csv --noisy --gold gold.csv
  fewlabels new audit.db predictions.csv --predicted answer --content question --dry-run
  fewlabels new audit.db 'predictions/*.parquet' --groups column:region
  fewlabels new audit.db postgresql://me@host/ml --table predictions
"""
_MANY = 20  # from this many groups on, a warning says that most of them are too small
_CLASSES = 50  # from more classes than this on, a warning asks whether they are free texts
_ANCHOR = (
    "Share of labels drawn at random from all items.  [default: 0.1, or 0.2 to 0.8 to estimate; 0 with --policy and "
    "for several models]"
)
_NOISY = "Labels may be wrong: learn how often, and allow for it in every number."
_RIGHT = "How often labels are right, if you know it. It implies --noisy."
_GOLD = "Labels that you are sure of (id, label), mixed in unseen to check people. It implies --noisy."
_CONTENT = "Columns that annotators see: text, image path or address; separate with commas (none: only the id)."


@click.command(cls=SectionedCommand, help=_HELP, short_help="Begin an assessment from a file of predictions.")
@click.argument("address", metavar="DATABASE")
@click.argument("words", nargs=-1, metavar="[NAME] FILE...", type=click.Path())
@pool_options
@click.option("--content", metavar="NAMES", help=_CONTENT)
@guide_options
@question_options
@method_options
@click.option("--anchor", type=click.FloatRange(0, 1), metavar="SHARE", help=_ANCHOR)
@click.option(
    "--overlap", type=click.IntRange(1), default=1, show_default=True, help="How many people label each item."
)
@stop_options
@click.option("--noisy", is_flag=True, help=_NOISY)
@click.option("--labels-right", type=click.FloatRange(0.5, 1, min_open=True, max_open=True), metavar="P", help=_RIGHT)
@click.option("--gold", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help=_GOLD)
@click.option("--gold-rate", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="Share of gold items.")
@click.option(
    "--seed", default=0, type=click.IntRange(0), show_default=True, help="Another seed asks about other items."
)
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@json_option
def new(address: str, words: Sequence[str], *, dry_run: bool, as_json: bool, **options: Any) -> None:
    """See `_HELP`."""
    from fewlabels.beginning import create
    from fewlabels.cli.common import emit_json, open_store, shown, talk
    from fewlabels.cli.guide import read_guide, write_guide
    from fewlabels.cli.pictures import pictures_shown
    from fewlabels.cli.predictions import asked_options, read_options, read_predictions
    from fewlabels.understanding.question import asked_about, question, stop_rule
    from fewlabels.understanding.words import in_bins
    from fewlabels.wording import counted

    name, files = _name_and_files(address, words, options["table"])
    pool, understood = read_predictions(files, read_options(options), content=_content(options["content"]))
    guide = read_guide(options["guidelines"], options["class_descriptions"], pool.choices)
    asked = asked_options(options)
    groups, task = question(asked, asked_about(asked, pool))
    stop = stop_rule(asked)
    audit = create(
        None if dry_run else address,
        name,
        pool,
        groups,
        task=task,
        prior=options["prior"],
        policy=options["policy"],
        stop=stop,
        **{setting: options[setting] for setting in _SETTINGS},
        **({"overlap": options["overlap"]} if options["overlap"] > 1 else {}),
    )
    known = {} if dry_run else audit.others()
    audit.close()
    if not dry_run and any(guide.values()):
        with open_store(address) as store:
            write_guide(store, name, guide)
    lines = [*understood, *_about(groups, task, stop, options["model"]), *_on_votes(audit.spec)]
    _say(f"{', '.join(files)}: {counted(len(pool), 'item')}", lines, "files were" if len(files) > 1 else "file was")
    if pool.score_sums is None and options["classes"] is None and not options["verdict"]:
        talk("If some true classes are never predicted, name all classes with --classes: labels must be one of them.")
    for warning in filter(None, (_texts(pool), _grades(pool), _small(groups, task))):
        talk(warning)
    if advice := in_bins(groups, pool):
        talk(advice)
    serving, about_pictures = pictures_shown(pool, files)
    elsewhere = [] if dry_run or known or len(pool.models) < 2 else _on_same_ids(address, name, pool)
    for sentence in (*about_pictures, *_on_known(known, stop.labels), *elsewhere):
        talk(sentence)
    undone = f"Nothing was written to {shown(address)}: leave out --dry-run to begin."
    several = audit.spec.overlap > 1 or audit.spec.noisy
    talk(undone if dry_run else _next(address, name, serving, several=several))
    if as_json:
        about = {line.what: line.text for line in understood}
        emit_json({"name": name, "items": len(pool), "groups": list(groups.names), "understood": about})


def _on_known(known: Mapping[str, int], budget: int | None) -> list[str]:
    """Sentences on the labels that the pool already has, by the assessment they came from."""
    from fewlabels.wording import counted

    if not known:
        return []
    labels = sum(known.values())
    already = f"This pool has {counted(labels, 'label')} already, from {', '.join(known)}."
    already = f"{already} They count for this question too, and nobody is asked about these items again."
    if budget is None:
        return [already]
    left = f"so {budget - labels:,} are left" if budget > labels else "so it is used up already"
    more = f"For {budget:,} new ones: --stop-labels {budget + labels}"
    return [already, f"The budget of {counted(budget, 'label')} counts them too, {left}. {more}"]


def _on_same_ids(address: str, name: str, pool: Pool) -> list[str]:
    """Sentences on labels of items with the same ids in another pool: that of the models before one was added."""
    from fewlabels.cli.common import open_store, quoted, shown
    from fewlabels.errors import StoreError
    from fewlabels.wording import counted

    ids, best = set(pool.ids.to_pylist()), ("", 0)
    with open_store(address) as store:
        seen = {store.open(name).fingerprint}
        for other in store.names():
            with contextlib.suppress(StoreError):  # one that is damaged is no reason not to begin another
                if (fingerprint := store.open(other).fingerprint) not in seen:
                    seen.add(fingerprint)
                    same = len(ids & store.labels(other).keys())
                    best = max(best, (other, same), key=lambda each: each[1])
    other, same = best
    if not same:
        return []
    where, labels = shown(address), counted(same, "label")
    begin = f"{other!r} has {labels} of items with the same ids, in a pool with other answers."
    return [
        f"{begin} If they are the same items, these labels can count here too:",
        f"  fewlabels export {where} {quoted(other)} -o labels.csv",
        f"  fewlabels tell {where} {quoted(name)} labels.csv --adopt",
    ]


def _name_and_files(address: str, words: Sequence[str], table: str | None) -> tuple[str, list[str]]:
    """Return the name of the assessment and its files of predictions; an error if the name is already used."""
    from fewlabels.cli.common import open_store, quoted, shown
    from fewlabels.errors import InputError, StoreError
    from fewlabels.store.address import NoFileError

    if not words:
        raise InputError("a database and a file are needed, as in: fewlabels new audit.db predictions.csv")
    named = len(words) > 1 and not _is_file(words[0])
    files = list(words[1:] if named else words)
    if len(files) > 1 and (missing := [file for file in files if not _is_file(file)]):
        raise InputError(
            f"{missing[0]!r} is not a file. Give at most one name, and then one file for each model, as in: "
            f"fewlabels new {shown(address)} NAME FILE"
        )
    stems = ["audit" if file == "-" else _stem(file, table) for file in files]
    name = words[0] if named else "-".join(stems) if len(stems) <= 3 else "models"
    if not name.strip():
        raise InputError("the name of an assessment cannot be empty. Write one, such as worst-classes.")
    with contextlib.suppress(NoFileError), open_store(address) as store:
        if name in store.names():
            raise StoreError(
                f"{shown(address)} already has an assessment {name!r}. To continue it: fewlabels show "
                f"{shown(address)} {quoted(name)}. To begin another, put a new name before the file. If it was a "
                f"mistake and nobody was asked yet: fewlabels remove {shown(address)} {quoted(name)}"
            )
    return name, files


def _stem(file: str, table: str | None) -> str:
    """The name of an assessment by its file, the folder of a pattern, or the table of a database.

    >>> _stem("day/predictions.csv", None), _stem("predictions/*.parquet", None), _stem("sc://host", "ml.answers")
    ('predictions', 'predictions', 'answers')
    """
    if table is not None:
        return table.rpartition(".")[2].strip('"`') or "audit"
    parts = [part.partition(".")[0] for part in file.partition("?")[0].split("/")]
    return next((part for part in reversed(parts) if part and not set(part) & set("*[:")), "audit")


def _is_file(word: str) -> bool:
    """Whether a word is a file of predictions and not the name of an assessment, by its ending or because it exists."""
    from fewlabels.interop.saved_dataset import is_saved
    from fewlabels.io.files import ENDINGS
    from fewlabels.io.table_roles import is_table

    return Path(word).name.endswith(tuple(ENDINGS)) or Path(word).exists() or is_saved(Path(word)) or is_table(word)


def _content(text: str | None) -> list[str] | None:
    from fewlabels.understanding.predictions import NOTHING

    if text is None:
        return None
    return [] if text == NOTHING else [part.strip() for part in text.split(",")]


def _about(groups: Partition, task: Task, stop: Stop, model: str | None) -> list[Understood]:
    """Describe the groups, the question and the stopping rules in words."""
    from fewlabels.findings.phrases import asked
    from fewlabels.planning.words import aim
    from fewlabels.understanding.words import Understood
    from fewlabels.wording import counted

    sizes = groups.sizes[groups.sizes > 0]
    most = counted(int(sizes.max()), "item")
    each = f"{sizes.min():,} to {most}" if sizes.min() < sizes.max() else most
    about = f"{len(groups):,} {groups.words}, with {each}{' each' * (len(groups) > 1)}"
    empty = f"; {len(groups) - len(sizes):,} without items" if len(sizes) < len(groups) else ""
    goals = [counted(stop.labels, "label")] if stop.labels is not None else []
    rules = " or ".join(filter(None, [*goals, aim(stop, task)])) or "when you say so"
    return [
        Understood("groups", about + empty, "--groups HOW"),
        Understood("question", asked(task, groups, model), _changed_by(task)),
        Understood("enough", rules, "--stop-labels N, --stop-probability P, ..."),
    ]


def _on_votes(spec: Spec) -> list[Understood]:
    """Describe how labels are taken, unless each is taken as true from one person."""
    from fewlabels.understanding.words import Understood
    from fewlabels.wording import chosen, counted

    words = [f"from {spec.overlap} people for each item"] if spec.overlap > 1 else []
    if spec.noisy:
        words.append("may be wrong" + (f" ({chosen(spec.labels_right)} are right)" if spec.labels_right else ""))
    if spec.gold:
        words.append(f"{counted(len(spec.gold), 'gold item')} among them, {chosen(spec.gold_rate)} of what is asked")
    return [Understood("labels", "; ".join(words), "--noisy, --gold FILE, --overlap K")] if words else []


def _changed_by(task: Task) -> str:
    """Name the options that change the question."""
    return "--best, --compare-models A,B, --model" if task.of_models else "--lowest M, --compare A,B, --metric"


def _texts(pool: Pool) -> str:
    """Warn about answers that are free texts, of which nobody can choose the right one; empty if they are classes."""
    many = len(pool.choices)
    if many <= _CLASSES or 2 * many <= len(pool):
        return ""
    texts = (
        f"There are {many:,} classes for {len(pool):,} items. If these are free texts, a label cannot be one of them."
    )
    return (
        f"{texts} Put each answer in a row of its own, with a column that says pass or fail, and name that column with "
        "--verdict: people then pass or fail each answer."
    )


def _grades(pool: Pool) -> str:
    """Warn about columns that may grade each model's own answer, so that no one label is true for all; empty if not."""
    from fewlabels.opposites import is_grade

    if not pool.models or not is_grade(pool.choices):
        return ""
    words = " or ".join(repr(name) for name in pool.choices[:3])
    return (
        f"If {words} grades each model's own answer, one label cannot be true of all models: put each answer in a row "
        "of its own, with columns for the model and the grade, named with --groups column:MODEL and --verdict. "
        "If these are judges that grade the same answer, go on."
    )


def _small(groups: Partition, task: Task) -> str:
    """Warn about groups that are too small, if the task looks for groups or most are; empty if none are."""
    from fewlabels.tasks.backing import FEW
    from fewlabels.wording import counted

    tiny, filled = int(((groups.sizes > 0) & (groups.sizes < FEW)).sum()), int((groups.sizes > 0).sum())
    if filled > _MANY and 2 * tiny > filled:
        return (
            f"{tiny:,} of {counted(filled, 'group')} have fewer than {FEW} items. A label of one group says little "
            "about another, so most of them will have no number of their own. A column with fewer values makes groups "
            "that can be compared; --groups whole takes all items together."
        )
    small = [(name, n) for name, n in zip(groups.names, groups.sizes.tolist(), strict=True) if 0 < n < FEW]
    if not small or task.sought is None or filled < 2:  # the whole pool has no others to be compared with
        return ""
    which = ", ".join(f"{name!r} ({n})" for name, n in small[:5]) + (" and more" if len(small) > 5 else "")
    begin = (
        f"{counted(len(small), 'group')} with fewer than {FEW} items: {which}. A group this small can look good or bad"
    )
    if len(small) == filled:  # among larger groups, a small one is often a typo
        return f"{begin} by chance."
    return f"{begin} by chance. If these are typos, correct the file; or join small groups with --groups map:FILE."


def _say(head: str, lines: Sequence[Understood], read: str) -> None:
    """Print how the file was understood, with the option that changes each line, on stderr."""
    from fewlabels.cli.common import filled, talk

    talk(f"{head}. How the {read} understood, and the option to change it:")
    wide = min(max(len(line.text) for line in lines), 60)
    for line in lines:
        first, *rest = filled(line.pieces, wide, " ")
        talk(f"  {line.what:10}  {first:{wide}}  {line.option}".rstrip())
        for more in rest:
            talk(f"{'':14}{more}")


def _next(address: str, name: str, serving: str, *, several: bool) -> str:
    """What to type next; where several people may label an item, every sheet is one person's."""
    from fewlabels.cli.common import quoted, shown

    where, who = f"{shown(address)} {quoted(name)}", " --annotator ann" if several else ""
    sheet, whose = ("ann.csv", ", for each person") if who else ("batch.csv", "")
    typed = {
        f"fewlabels label {where}{who}": "label here, one item at a time",
        f"fewlabels serve {shown(address)} {serving}".rstrip(): "or in the browser, alone or with others",
        f"fewlabels ask {where} -n 20{who} > {sheet}": f"or write 20 items to a file to fill in{whose}",
    }
    wide = max(map(len, typed))
    lines = [f"  {command:{wide}}    {what}" for command, what in typed.items()]
    return "\n".join([f"{name!r} is in {shown(address)}. Next:", *lines])
