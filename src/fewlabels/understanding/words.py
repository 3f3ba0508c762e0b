"""How a file of predictions was understood, in words, with the option that changes each line."""

from __future__ import annotations

import dataclasses
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fewlabels.io.finder import Guess
    from fewlabels.io.source import Source
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.understanding.options import ReadOptions

MOST_NAMES = 30  # classes that are listed; there may be thousands
_FIRST = 10  # how many are listed if there are more
_MANY = 30  # more groups are too many to read


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


def formats(sources: Iterable[Source]) -> list[Understood]:
    """Lines about the files of other programs: what they are, and what of them is taken."""
    descriptions = dict.fromkeys(source.told for source in sources if source.told)
    sample, format_ = ("items", "--sample N"), ("format", "--predicted NAME")
    named = (sample if "drawn at random" in words else format_ for words in descriptions)
    return [
        Understood(what, "", option, tuple(words.split(" ")))
        for (what, option), words in zip(named, descriptions, strict=True)
    ]


def class_pieces(pool: Pool) -> tuple[str, ...]:
    """The classes, or the first of many."""
    from fewlabels.wording import some_pieces

    return tuple(some_pieces(pool.choices, MOST_NAMES if len(pool.choices) <= MOST_NAMES else _FIRST))


def unclear(source: Source, guessed: Guess) -> str:
    """Say that no predictions were found, and what to do."""
    from fewlabels.io.finder.names import DECIDED, MODELS, VERDICT, bare, of_one_class
    from fewlabels.wording import some_of

    truth, sure = guessed.truth, guessed.confidence
    verdict = next((name for name in source.columns if VERDICT.search(name)), None)
    decided = next((name for name in source.columns if name != truth and DECIDED.fullmatch(name)), None)
    words = f"{source.name} has the columns {some_of(source.columns)}, and none is clearly the classifier's answer. "
    if model := next((name for name in source.columns if bare(name) in MODELS), None):
        words += (
            f"If there is a row for each item and model, and {model!r} says which model it is, add --models {model!r} "
            "and name the column of items with --id. "
        )
    if truth is not None:
        words += f"{truth!r} looks like true labels; if it is the predicted class, add --predicted {truth!r}. "
    if decided is not None:
        words += f"If {decided!r} is what the classifier says, add --predicted {decided!r}. "
    if verdict is not None:
        words += f"If {verdict!r} says whether each answer passes, add --verdict {verdict!r}. "
    if sure is not None:
        words += (
            f"{sure!r} alone does not show which class it is about: if it is the probability of one of two classes, "
            "name that class with --positive CLASS. "
        )
    elif likely := of_one_class(source.columns):
        column, called = next(iter(likely.items()))
        words += f"If {column!r} is the probability of {called!r}, add --scores {column!r} --positive {called!r}. "
    return (
        f"{words}Use --predicted NAME for a column of predicted classes, or --scores 'p_*' (or names separated by "
        "commas) for one column of scores per class."
    )


def decided_line(source: Source, guessed: Guess, unused: Sequence[str]) -> list[Understood]:
    """The line about a column that may be what was decided by the probabilities of one class, at whatever threshold."""
    from fewlabels.io.finder.names import DECIDED

    if guessed.positive is None or guessed.predicted is not None:
        return []
    for name in filter(DECIDED.fullmatch, unused):
        values = next(iter(source.batches([name], 300))).column(0).drop_null().unique().to_pylist()
        if len(values) == 2 and guessed.positive.casefold() in {str(value).casefold() for value in values}:
            words = f"{name!r} is {values[0]!r} or {values[1]!r}: if the classifier says so, name it"
            return [Understood("", words, f"--predicted {shlex.quote(name)}")]
    return []


def unused_columns(source: Source, guessed: Guess, others: Sequence[str]) -> list[str]:
    """List the columns that are not used."""
    from fewlabels.io.finder import columns_of

    used = {guessed.id, guessed.predicted, guessed.confidence, guessed.content, guessed.truth, guessed.verbal, *others}
    used |= set(columns_of(source, guessed.scores))
    return [name for name in source.columns if name not in used]


def never_line(source: Source, guessed: Guess, pool: Pool, options: ReadOptions) -> list[Understood]:
    """The line about answers that are never right, with the most frequent of them."""
    from collections import Counter

    from fewlabels.io.never_right import never_right
    from fewlabels.wording import counted, shortened

    if not (options.never_right or pool.unanswered):
        return []
    count = int((pool.predicted >= len(pool.choices)).sum())
    if options.verdict:
        words = f"{counted(count, 'item')}; judged by people's labels"
        return [Understood("no verdict", words, "--never-right TEXT")]
    words = f"{counted(count, 'item')}, counted as wrong" if count else "none of these answers occurs"
    examples: tuple[str, ...] = ()
    if guessed.predicted is not None and guessed.scores is None and count:
        is_never, answers = never_right(options.never_right), source.table([guessed.predicted]).column(0).to_pylist()
        # An answer that is not in the list counts as none: which ones those are is seen by what became of their rows.
        none = pool.predicted >= len(pool.choices) if len(answers) == len(pool) else [False] * len(answers)
        given = ((str(answer).strip(), lost) for answer, lost in zip(answers, none, strict=True) if answer is not None)
        counts = Counter(answer for answer, lost in given if answer and (lost or is_never(answer)))
        often = [f"{shortened(answer, 40)!r} ({n:,}×)" for answer, n in counts.most_common(3)]
        more = f" and {len(counts) - 3:,} more" if len(counts) > 3 else ""
        examples = (*(f"{answer}," for answer in often[:-1]), often[-1] + more) if often else ()
    return [Understood("no answer", f"{words}: " if examples else words, "--never-right TEXT", examples)]


def left_over(unused: Sequence[str]) -> list[Understood]:
    """The line about columns that are not used, if there are any."""
    from fewlabels.wording import some_pieces

    how = "to group by one: --groups column:NAME, or column:NAME:4 in bins"
    return [Understood("not used", "", how, tuple(some_pieces(unused)))] if unused else []


def in_bins(groups: Partition, pool: Pool) -> str:
    """Advise bins where the values of a column of numbers or dates make many groups; empty if they do not.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b"] * 30, "age": list(range(60))})
    >>> in_bins(fl.by_column(pool, "age"), pool)
    "60 groups is a lot. Put the column 'age' into bins: --groups column:age:4"
    """
    from fewlabels.bins import USUAL, worth_bins
    from fewlabels.wording import counted

    if len(groups) <= _MANY:
        return ""
    for part in groups.recipe.get("of", [groups.recipe]):
        values = pool.column(part["column"]) if part["by"] == "column" and "bins" not in part else None
        if values is not None and worth_bins(part["column"], values):
            how = shlex.quote(f"column:{part['column']}:{USUAL}")
            return (
                f"{counted(len(groups), 'group')} is a lot. Put the column {part['column']!r} into bins: --groups {how}"
            )
    return ""


def understood_lines(guessed: Guess, pool: Pool, options: ReadOptions) -> list[Understood]:
    from fewlabels.evidence import tells_nothing
    from fewlabels.wording import listed, some_pieces

    unit = "logits" if guessed.logits or options.logits else "percentages" if guessed.normalize else "probabilities"
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
        *few, last = some_pieces(names, 4 if sum(map(len, names[:4])) < 30 else 2)
        last = f"{last}, {len(pool.classes):,} classes, {unit}"
        lines.append(Understood("scores", "", "--scores NAMES", (*few, last)))
    answer = f"column {guessed.predicted!r}" if guessed.predicted else "the class with the largest score"
    lines.append(Understood("predicted", answer, "--predicted NAME"))
    if guessed.verbal is not None:
        words = f"column {guessed.verbal!r} is in words: kept for grouping"
        lines.append(Understood("confidence", words, f"--groups column:{guessed.verbal}"))
    elif guessed.positive is not None:
        pass
    elif pool.score_sums is None:
        given = f"column {guessed.confidence!r}, {unit}" if guessed.confidence else "none: predicted classes only"
        lines.append(Understood("confidence", given, "--confidence NAME"))
        lines += likely_line(guessed)
    if pool.evidence:
        lines.append(Understood("evidence", "", "--evidence NAMES", tuple(some_pieces(pool.evidence))))
        if idle := [name for name in pool.evidence if tells_nothing(pool.column(name))]:
            words = f"{listed(list(map(repr, idle)))}: the same for all items, so uninformative"
            lines.append(Understood("", words, "--evidence NAMES"))
    classes = class_pieces(pool)
    lines.append(Understood("classes", f"{len(pool.choices):,}: ", "--classes NAMES", classes))
    lines += [] if options.classes else alike_line(pool)
    lines.append(Understood("content", content_words(pool), "--content NAME"))
    if guessed.truth is not None and guessed.truth != guessed.predicted:
        words = f"column {guessed.truth!r} looks like labels: not used"
        roles = [("--id", guessed.id, "id"), ("--label", guessed.truth, "label")]
        how = "".join(
            f" {option} {shlex.quote(name)}" for option, name, usual in roles if name and name.casefold() != usual
        )
        # Labels find their items by id: numbers of rows are in no column of the file.
        use = f"tell FILE --adopt{how}" if guessed.id else "to use them, add a column of ids to the file"
        lines.append(Understood("labels", words, use))
    return lines


def likely_line(guessed: Guess) -> list[Understood]:
    """The line about a column that may be the confidence, if there is one."""
    words = f"{guessed.likely!r} has numbers that look like confidences"
    return [Understood("", words, f"--confidence {shlex.quote(guessed.likely)}")] if guessed.likely else []


def alike_line(pool: Pool) -> list[Understood]:
    """The line about two classes that may be the same, if there are any: language models add full stops and quotes."""
    from fewlabels.io.spellings import alike

    same = None if pool.score_sums is not None else alike(pool.choices, marks=False)
    words = "" if same is None else f"{same[0]!r} and {same[1]!r} may be one answer"
    return [Understood("", words, "--any-spelling")] if words else []


def sentence_lines(columns: Iterable[tuple[Source, str | None]], pool: Pool, options: ReadOptions) -> list[Understood]:
    """Lines about sentences that name one class each: how many were read so, or could be.

    `columns` are the columns of answers, with their sources.
    """
    from collections import Counter

    from fewlabels.io.sentences import named, named_by_others
    from fewlabels.io.spellings import readings
    from fewlabels.wording import counted, shortened

    if not options.classes:
        pair = None if pool.score_sums is not None else named_by_others(pool.choices)
        words = "" if pair is None else f"{shortened(pair[0], 40)!r} names {pair[1]!r}"
        return [Understood("", words, "--classes A,B --in-sentences")] if words else []
    if not (options.in_sentences or options.unlisted == "wrong"):
        return []
    counts: Counter[str] = Counter()
    for source, name in columns:
        answers = [] if name is None else source.table([name]).column(0).to_pylist()
        counts.update(str(answer).strip() for answer in answers if answer is not None)
    spelt = {*pool.choices, *readings(counts, pool.choices)}
    sentences = Counter(
        {text: n for text, n in counts.items() if text not in spelt and len(named(text, pool.choices)) == 1}
    )
    if not sentences:
        return []
    are = "is a sentence that names" if sentences.total() == 1 else "are sentences that name"
    verb = "" if options.in_sentences else ", and count as wrong"
    often = shortened(sentences.most_common(1)[0][0], 40)
    words = f"{counted(sentences.total(), 'answer')} {are} one class{verb}, such as {often!r}"
    return [Understood("", words, "--in-sentences")]


def content_words(pool: Pool) -> str:
    """What annotators see, in words."""
    from fewlabels.io.cards import columns_of_card

    if card := columns_of_card(pool):
        return f"columns {', '.join(map(repr, card))}"
    return f"column {pool.content!r}" if pool.content else "nothing: annotators see the id only"
