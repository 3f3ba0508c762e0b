"""Options that name the columns of a file of predictions, and reading the pool with them and with guesses."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fewlabels.io.finder import Guess
    from fewlabels.io.source import Source
    from fewlabels.pool import Pool

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

MOST_NAMES = 30  # classes that are listed; there may be thousands
NOTHING = "none"  # the word for "no such column, whatever it looks like"
_MODELS = "Several models: their columns, the column that says which it is, or names for their files."
_POSITIVE = "Two classes, one column of probabilities: the class that they are about."
_SAMPLE = "Of a table: read N random items into memory, for several models, scores or a simulation."
_LARGE = 250_000_000  # bytes: a larger file is left where it is, if DuckDB is installed
_LARGE_ENDINGS = (".parquet", ".pq")
_UNLISTED = "Whether an answer that is not in --classes is refused or counts as wrong.  [default: refuse]"
_NEVER = "An answer that is never right, such as \"I'm sorry*\" or '' for none at all; again for more."
_EVIDENCE = "Columns known of every item that may tell right from wrong, such as a judge's verdicts or a score."


any_size_option = click.option("--any-size", is_flag=True, help="Read a file that unpacks to very much.")


def pool_options(command: Decorated) -> Decorated:
    """Add the options that name columns, models and classes, and say how numbers are to be read."""
    for option in reversed((
        click.option("--id", "id_", metavar="NAME", help="Column of ids."),
        click.option("--scores", metavar="NAMES", help="Score columns: 'p_*', names with commas, or one of vectors."),
        click.option("--predicted", metavar="NAME", help="Column of predicted classes."),
        click.option("--confidence", metavar="NAME", help="Column of confidences (none: do not use any)."),
        click.option("--classes", metavar="NAMES|FILE", help="All classes, with commas, or a file of one per line."),
        click.option("--models", metavar="NAMES", help=_MODELS),
        click.option("--table", metavar="NAME", help="Table of a database that stays there."),
        click.option("--sample", type=click.IntRange(1), metavar="N", help=_SAMPLE),
        click.option("--unlisted", type=click.Choice(["refuse", "wrong"]), default="refuse", help=_UNLISTED),
        click.option("--positive", metavar="CLASS", help=_POSITIVE),
        click.option("--never-right", multiple=True, metavar="TEXT", help=_NEVER),
        click.option("--evidence", metavar="NAMES", help=_EVIDENCE),
        click.option("--normalize", is_flag=True, default=None, help="Scores are percentages or weights."),
        click.option("--logits", is_flag=True, default=None, help="Scores are logits."),
        any_size_option,
    )):  # fmt: skip
        command = option(command)
    return command


@dataclasses.dataclass(frozen=True)
class Understood:
    """How one thing in the file was understood, and the option that changes it.

    `names` are the pieces of a list that follows the words; lines may be broken between them.
    """

    what: str
    words: str
    option: str
    names: tuple[str, ...] = ()

    @property
    def pieces(self) -> list[str]:
        """The text in pieces; a line may be broken between two of them."""
        return [self.words + self.names[0], *self.names[1:]] if self.names else [self.words]

    @property
    def text(self) -> str:
        """The text on one line."""
        return " ".join(self.pieces)


def read_predictions(
    file: str | Source | Sequence[str | Source],
    options: dict[str, Any],
    *,
    content: Sequence[str] | None = None,
    columns: list[str] | None = None,
) -> tuple[Pool, list[Understood]]:
    """Read the pool in a file ("-" is stdin) with the options of `pool_options`, or else guesses, and report both.

    Several files are those of several models. `content` names the columns that annotators see: several become one
    text. An empty list means none.
    """
    from fewlabels.io.source import Source

    options = _with_verdict(options)
    if not isinstance(file, (str, Source)) and len(file) == 1:
        file = file[0]
    if options.get("sample"):
        from fewlabels.cli.tables import drawn

        drawn_ones = drawn([file] if isinstance(file, (str, Source)) else file, options)
        file = drawn_ones[0] if len(drawn_ones) == 1 else drawn_ones
    if not isinstance(file, (str, Source)):
        return _several(file, options, content, columns)
    if isinstance(file, str) and stays_put(file, options):
        from fewlabels.cli.tables import read_table_predictions

        return read_table_predictions(file, options, content=content)
    return _one(file, options, content, columns)


def _one(
    file: str | Source, options: dict[str, Any], content: Sequence[str] | None, columns: list[str] | None
) -> tuple[Pool, list[Understood]]:
    """Read one file, perhaps with the answers of several models."""
    from fewlabels.cli.parsing import group_columns
    from fewlabels.errors import InputError
    from fewlabels.io import read_pool
    from fewlabels.io.finder import guess
    from fewlabels.io.finder.models import has_several, split_by
    from fewlabels.io.finder.names import judged

    source = opened(file, any_size=options["any_size"]) if isinstance(file, str) else file
    if options["confidence"] == NOTHING:
        options, source = options | {"confidence": None}, _without_confidence(source)
    groups, evidence = group_columns(options.get("groups") or "", source), split_names(options["evidence"]) or []
    if content is None and options.get("verdict"):
        content = judged([name for name in source.columns if name != options["predicted"]]) or None
    single = content[0] if content and len(content) == 1 else None
    models = split_names(options["models"])
    guessed = guess(
        source,
        id=options["id_"],
        scores=score_names(options["scores"], source),
        predicted=options["predicted"],
        confidence=options["confidence"],
        content=single,
        not_content=groups,
        evidence=evidence,
    )
    if content is not None and single is None:
        guessed = dataclasses.replace(guessed, content=None)
    if models is not None and len(models) == 1 and guessed.predicted not in (None, models[0]):
        parts = split_by(source, models[0])  # a row for each item and model
        return _several_sources(parts, options, content, columns)
    if has_several(source, models) or guessed.models:
        models = models or (None if has_several(source, None) else guessed.models)
        return _wide(source, models, options, guessed, content, columns)
    positive = options["positive"] or guessed.positive
    if guessed.scores is None and guessed.predicted is None and positive is None:
        raise InputError(unclear(source, guessed))
    pool = read_pool(
        source,
        id=guessed.id,
        scores=guessed.scores,
        predicted=guessed.predicted,
        confidence=guessed.confidence,
        classes=class_list(options["classes"]),
        content=guessed.content,
        columns=columns,
        normalize=guessed.normalize if options["normalize"] is None and not options["logits"] else options["normalize"],
        logits=guessed.logits if options["logits"] is None and not options["normalize"] else options["logits"],
        unlisted=options["unlisted"],
        positive=positive,
        never_right=options["never_right"],
        evidence=evidence,
    )
    if content and single is None:
        pool = _with_card(pool, content)
    if guessed.truth not in (None, guessed.predicted, *groups, *evidence):
        pool = _without(pool, guessed.truth)  # a pool never holds labels
    unused = _unused(source, guessed, [*groups, *evidence, *(content or ())])
    understood = _understood(dataclasses.replace(guessed, positive=positive), pool, options)
    return pool, [*_formats([source]), *understood, *_never(source, guessed, pool, options), *left_over(unused)]


def _with_verdict(options: dict[str, Any]) -> dict[str, Any]:
    """The options with the first column of --verdict as the predictions, and the others as evidence."""
    from fewlabels.cli.question import verdict_columns
    from fewlabels.errors import SpecError

    names, _ = verdict_columns(options)
    if not names:
        return options
    if options["predicted"] is not None or options["scores"] is not None or options["models"] is not None:
        raise SpecError("--verdict names the predictions itself. Leave out --predicted, --scores and --models.")
    evidence = ",".join([*names[1:], *(split_names(options["evidence"]) or [])])
    return options | {"predicted": names[0], "evidence": evidence or None}


def _several(
    files: Sequence[str | Source], options: dict[str, Any], content: Sequence[str] | None, columns: list[str] | None
) -> tuple[Pool, list[Understood]]:
    """Read a file for each of several models."""
    from fewlabels.cli.models import model_names

    names = model_names([one if isinstance(one, str) else one.name for one in files], split_names(options["models"]))
    sources = {
        name: opened(file, any_size=options["any_size"]) if isinstance(file, str) else file
        for name, file in zip(names, files, strict=True)
    }
    if options["confidence"] == NOTHING:
        options = options | {"confidence": None}
        sources = {name: _without_confidence(source) for name, source in sources.items()}
    return _several_sources(sources, options, content, columns)


def _several_sources(
    sources: Mapping[str, Source],
    options: dict[str, Any],
    content: Sequence[str] | None,
    columns: list[str] | None,
) -> tuple[Pool, list[Understood]]:
    """Read a source for each of several models."""
    from fewlabels.cli.models import read_files
    from fewlabels.cli.parsing import columns_for_groups
    from fewlabels.io.predictions import check_one_model

    check_one_model(split_names(options["evidence"]) or ())

    groups = columns_for_groups(options.get("groups") or "")
    single = content[0] if content and len(content) == 1 else None
    pool, lines, unused = read_files(
        sources,
        options,
        classes=class_list(options["classes"]),
        content=single,
        columns=columns,
        groups=groups,
    )
    return _shown(pool, [*_formats(sources.values()), *lines], unused, content)


def _wide(
    source: Source,
    models: Sequence[str] | None,
    options: dict[str, Any],
    guessed: Guess,
    content: Sequence[str] | None,
    columns: list[str] | None,
) -> tuple[Pool, list[Understood]]:
    """Read one file with the answers of several models."""
    from fewlabels.cli.models import read_wide
    from fewlabels.cli.parsing import columns_for_groups
    from fewlabels.io.predictions import check_one_model

    check_one_model(split_names(options["evidence"]) or ())
    pool, lines, unused = read_wide(
        source,
        models,
        options,
        guessed,
        classes=class_list(options["classes"]),
        columns=columns,
        groups=columns_for_groups(options.get("groups") or ""),
    )
    return _shown(pool, [*_formats([source]), *lines], unused, content)


def _formats(sources: Iterable[Source]) -> list[Understood]:
    """Lines about the files of other programs: what they are, and what of them is taken."""
    told = dict.fromkeys(source.told for source in sources if source.told)
    named = (("items", "--sample N") if "drawn at random" in words else ("format", "--predicted") for words in told)
    return [
        Understood(what, "", option, tuple(words.split(" "))) for (what, option), words in zip(named, told, strict=True)
    ]


def _shown(
    pool: Pool, lines: list[Understood], unused: Sequence[str], content: Sequence[str] | None
) -> tuple[Pool, list[Understood]]:
    """Show annotators what --content names."""
    if content is not None and len(content) != 1:
        pool = _with_card(pool, content) if content else dataclasses.replace(pool, content=None)
        shown = f"column {pool.content!r}" if pool.content else "nothing: annotators see the id only"
        lines = [dataclasses.replace(line, words=shown) if line.what == "content" else line for line in lines]
    return pool, [*lines, *left_over([name for name in unused if name not in (content or ())])]


def stays_put(file: str, options: Mapping[str, Any]) -> bool:
    """Whether a file is left where it is, and asked what is needed: a pattern, folder or address, or a large file."""
    from importlib.util import find_spec
    from pathlib import Path

    from fewlabels.io.table_roles import is_table

    if is_table(file, options.get("table")):
        return True
    path = Path(file)
    large = path.is_file() and path.name.endswith(_LARGE_ENDINGS) and path.stat().st_size > _LARGE
    only_in_memory = any(options.get(name) for name in ("models", "scores", "normalize", "logits"))
    return large and not only_in_memory and find_spec("duckdb") is not None


def split_names(text: str | None) -> list[str] | None:
    """Names separated by commas; None if there are none."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def opened(file: str, *, any_size: bool = False) -> Source:
    """Open a file as a source of rows; "-" is stdin, whose format is detected."""
    import sys
    import tempfile
    from pathlib import Path

    from fewlabels.io.files import open_file
    from fewlabels.io.limits import limits
    from fewlabels.io.opening import open_source

    if file != "-":
        return open_source(file, any_size=any_size)
    data = sys.stdin.buffer.read()
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    # A source reads its file more than once, so what comes through a pipe is kept until the command ends.
    folder = tempfile.TemporaryDirectory(prefix="fewlabels-")
    if context := click.get_current_context(silent=True):
        context.call_on_close(folder.cleanup)
    path = Path(folder.name) / ("stdin.json" if start in (b"{", b"[") else "stdin.csv")
    path.write_bytes(data)
    return open_file(path, "standard input", limits(any_size))


def _without_confidence(source: Source) -> Source:
    """Remove every column that could be taken for a confidence from a source."""
    from fewlabels.io.finder import guess

    while (name := guess(source).confidence) is not None:
        source = dataclasses.replace(source, schema=source.schema.remove(source.schema.get_field_index(name)))
    return source


def score_names(text: str | None, source: Source) -> str | list[str] | None:
    """Split a text into names of columns, unless it is a pattern or one column."""
    if text is None or text in source.columns or "," not in text:
        return text
    return [part.strip() for part in text.split(",")]


def class_list(text: str | None) -> list[str] | None:
    """Read names of classes, separated by commas or from the lines of a file."""
    from pathlib import Path

    from fewlabels.errors import InputError

    if text is None:
        return None
    if "," not in text and Path(text).is_file():
        try:
            lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"cannot read the classes in {text}: {error}. Save them as UTF-8, one on a line."
            ) from None
        return [line.strip() for line in lines if line.strip()]
    return [part.strip() for part in text.split(",")]


def _without(pool: Pool, name: str | None) -> Pool:
    """Remove one of the further columns from a pool."""
    if name is None or pool.columns is None or name not in pool.columns.column_names:
        return pool
    return dataclasses.replace(pool, columns=pool.columns.drop_columns([name]))


def _with_card(pool: Pool, names: Sequence[str]) -> Pool:
    """Give a pool a content that shows several columns, each on a line of its own."""
    import pyarrow as pa

    columns = [pool.column(name).to_pylist() for name in names]
    rows = zip(*columns, strict=True)
    cards = ["\n".join(f"{n}: {'' if v is None else v}" for n, v in zip(names, row, strict=True)) for row in rows]
    assert pool.columns is not None
    title = "+".join(names)
    return dataclasses.replace(pool, columns=pool.columns.append_column(title, pa.array(cards)), content=title)


def unclear(source: Source, guessed: Guess) -> str:
    """Say that no predictions were found, and what to do."""
    from fewlabels.io.source import listed

    truth, sure = guessed.truth, guessed.confidence
    words = f"{source.name} has the columns {listed(source.columns)}, and none is clearly the classifier's answer. "
    if truth is not None:
        words += f"{truth!r} looks like true labels; if it is the predicted class, add --predicted {truth!r}. "
    if sure is not None:
        words += (
            f"{sure!r} alone does not show which class it is about: if it is the probability of one of two classes, "
            "name that class with --positive CLASS. "
        )
    return (
        f"{words}Use --predicted NAME for a column of predicted classes, or --scores 'p_*' (or names separated by "
        "commas) for one column of scores per class."
    )


def _unused(source: Source, guessed: Guess, others: Sequence[str]) -> list[str]:
    """List the columns that are not used."""
    from fewlabels.io.finder import columns_of

    used = {guessed.id, guessed.predicted, guessed.confidence, guessed.content, guessed.truth, guessed.verbal, *others}
    used |= set(columns_of(source, guessed.scores))
    return [name for name in source.columns if name not in used]


def _never(source: Source, guessed: Guess, pool: Pool, options: dict[str, Any]) -> list[Understood]:
    """The line about answers that are never right, with the most frequent of them."""
    from collections import Counter

    from fewlabels.io.never_right import never_right
    from fewlabels.io.source import listed_pieces
    from fewlabels.wording import counted, shortened

    if not (options["never_right"] or pool.unanswered):
        return []
    count = int((pool.predicted >= len(pool.choices)).sum())
    words = f"{counted(count, 'item')}, counted as wrong" if count else "none of these answers occurs"
    examples: tuple[str, ...] = ()
    if guessed.predicted is not None and guessed.scores is None and options["never_right"]:
        is_never, answers = never_right(options["never_right"]), source.table([guessed.predicted]).column(0).to_pylist()
        said = Counter(str(answer).strip() for answer in answers if answer is not None)
        found = {answer: n for answer, n in said.most_common() if is_never(answer)}
        said_so = [f"{shortened(answer, 40)} ({n:,}×)" for answer, n in found.items()]
        examples = tuple(listed_pieces(said_so, 3)) if said_so else ()
    return [Understood("no answer", f"{words}: " if examples else words, "--never-right TEXT", examples)]


def left_over(unused: Sequence[str]) -> list[Understood]:
    """The line about columns that are not used, if there are any."""
    from fewlabels.io.source import listed_pieces

    how = "to group by one: --groups column:NAME"
    return [Understood("not used", "", how, tuple(listed_pieces(unused)))] if unused else []


def _understood(guessed: Guess, pool: Pool, options: dict[str, Any]) -> list[Understood]:
    from fewlabels.cli.common import quoted
    from fewlabels.io.source import listed_pieces

    unit = "logits" if guessed.logits or options["logits"] else "percentages" if guessed.normalize else "probabilities"
    lines = [
        Understood(
            "id", f"column {guessed.id!r}" if guessed.id else "none: rows are numbered 0, 1, 2, ...", "--id NAME"
        ),
    ]
    if guessed.not_id is not None:
        lines.append(Understood("", guessed.not_id, "--id NAME, once you have corrected it"))
    if guessed.positive is not None:
        column = guessed.scores if isinstance(guessed.scores, str) else guessed.confidence
        words = f"column {column!r} is the probability of {guessed.positive!r}"
        lines.append(Understood("scores", words, "--positive CLASS"))
    elif pool.score_sums is not None:
        names = [guessed.scores] if isinstance(guessed.scores, str) else guessed.scores or ()
        *few, last = listed_pieces(names, 4 if sum(map(len, names[:4])) < 30 else 2)
        last = f"{last}, {len(pool.classes):,} classes, {unit}"
        lines.append(Understood("scores", "", "--scores", (*few, last)))
    best = "the class with the largest score"
    lines.append(Understood("predicted", f"column {guessed.predicted!r}" if guessed.predicted else best, "--predicted"))
    if guessed.verbal is not None:
        words = f"column {guessed.verbal!r} is in words: kept for grouping"
        lines.append(Understood("confidence", words, f"--groups column:{guessed.verbal}"))
    elif guessed.positive is not None:
        pass
    elif pool.score_sums is None:
        given = f"column {guessed.confidence!r}, {unit}" if guessed.confidence else "none: predicted classes only"
        lines.append(Understood("confidence", given, "--confidence"))
    if pool.evidence:
        lines.append(Understood("evidence", "", "--evidence NAMES", tuple(listed_pieces(pool.evidence))))
    classes = tuple(listed_pieces(pool.choices, MOST_NAMES))
    lines.append(Understood("classes", f"{len(pool.choices):,}: ", "--classes", classes))
    shown = f"column {pool.content!r}" if pool.content else "nothing: annotators see the id only"
    lines.append(Understood("content", shown, "--content NAME"))
    if guessed.truth is not None and guessed.truth != guessed.predicted:
        words = f"column {guessed.truth!r} looks like labels: not used"
        roles = [("--id", guessed.id, "id"), ("--label", guessed.truth, "label")]
        how = "".join(f" {option} {quoted(name)}" for option, name, usual in roles if name and name.casefold() != usual)
        lines.append(Understood("labels", words, f"tell FILE --adopt{how}"))
    return lines
