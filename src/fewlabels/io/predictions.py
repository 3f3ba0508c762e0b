"""Reading predictions from files, frames or arrays into a checked Pool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fewlabels.errors import Argument, InputError
from fewlabels.io.finder import find_roles
from fewlabels.io.finder.models import has_several, roles_by_model, split_by
from fewlabels.io.joining import join
from fewlabels.io.manner import Manner
from fewlabels.io.never_right import patterns_of
from fewlabels.io.one_model import check_spelling, read_one
from fewlabels.io.opening import by_model, open_answers, open_source
from fewlabels.io.positive import of_one_class
from fewlabels.io.source import Source
from fewlabels.io.table_roles import is_table, read_from, sampled
from fewlabels.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.io.finder import Roles


def read_pool(
    source: object,
    *,
    id: str | None = None,  # noqa: A002  (the word users know)
    scores: str | Sequence[str] | None = None,
    predicted: str | None = None,
    confidence: str | None = None,
    classes: Iterable[object] | None = None,
    columns: Sequence[str] | None = None,
    content: str | None = None,
    normalize: bool = False,
    logits: bool = False,
    models: Sequence[str] | str | None = None,
    unlisted: Literal["refuse", "wrong"] = "refuse",
    any_spelling: bool = False,
    in_sentences: bool = False,
    positive: str | None = None,
    never_right: Sequence[str] = (),
    evidence: Sequence[str] = (),
    any_size: bool = False,
    table: str | None = None,
    dialect: str | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Pool:
    """Read the predictions of a classifier, or of several, and check them.

    An InputError names the place of anything wrong. Scores are read in blocks and never kept whole, so a file may be
    larger than memory. A table on an engine stays there: its size does not matter (docs/scale.md).

    Parameters
    ----------
    source
        A path (.csv, .tsv, .csv.gz, .parquet, .feather, .arrow, .json, .jsonl, .npz, .npy, .xlsx), a pandas, Polars or
        Arrow frame, a mapping of names to arrays, a list of records, or a 2-D array of scores (items × classes).
        Results of Inspect, lm-evaluation-harness, promptfoo, DeepEval and MLflow are recognised by their content, and
        so are the folders of saved datasets: see docs/bridges.md.
        Or a table that stays where it is: a pattern of files ("predictions/*.parquet"), a folder, an address such as
        "s3://bucket/*.parquet", "postgresql://..." or "sc://...", or an open connection or session, with `table`.
        For several models, a mapping of their names to any of these or to pools, which are joined by id; or one
        source with `models`.
    id
        The column of ids, which become text and must all differ. By default the column "id" (or "ID"), or a column
        named like an id, such as "applicant_id", if its values all differ; or the index of a pandas frame, unless it
        just numbers the rows; else the items are numbered "0", "1", ...
    scores
        One column per class: a pattern such as "p_*" (the * stands for the class name) or a list of columns;
        or one column (or 2-D array) of whole vectors. The predicted class is the one with the largest score,
        the first of equals. A row must sum to 1 within 0.01, which leaves room for rounded numbers.
    predicted
        The column of predicted classes. Values are class names, except that whole numbers are positions in
        the list of classes if that is known (from `classes` or `scores`) and no name in it is another number.
        With `scores` it replaces the largest score, for classifiers that use thresholds.
    confidence
        The column with the probability, from 0 to 1 (or as 74.6% in a CSV file), that the predicted class is
        right. It may be left out.
    classes
        The names of all classes, in order. By default those of the score columns, of the key "classes" in
        .npz files and mappings, or else the predicted values that occur, sorted.
    columns
        Which further columns to keep. By default all that are left and hold text, numbers or dates, except
        "label" and "labels": a pool never holds labels. Of a table, those that groups can be made of; by default none.
    content
        The column that an annotator sees: text, image path or address.
    normalize
        Divide each row of scores by its sum, or a confidence by 100: for weights and percentages.
    logits
        Turn each row of scores s into exp(s_k) / sum_j exp(s_j).
    models
        The names of several models whose answers are in one source. The answers of `a` are in the column a (or
        a_predicted, predicted_a and the like), its confidences in a_confidence, or its scores in a_p_*. Or the column
        "predicted" has the answers of all models in each row, as in an array of shape (items, models); in .npz files
        and mappings the key "models" has their names. If there is a row for each item and model, give the name of the
        column that says which model the row is about.
    unlisted
        With "wrong", an answer that is not in `classes` counts as no answer, which is never right: for language
        models that say something else. By default it is refused.
    any_spelling
        Read "Yes." as the class "yes" of `classes`: the case, spaces and punctuation of answers do not matter. Without
        `classes` the commonest spelling of an answer is the class.
    in_sentences
        Read "The sentiment is positive." as the class "positive" of `classes`: an answer is the one class that it
        names, in any spelling. One that names two or none, or says "not", is treated like any answer not in the list.
    positive
        For two classes with one column of probabilities: the class that they are about. `scores` (or `confidence`)
        names the column, unless it has a usual name such as y_prob. The other class is named by `classes`, by the
        predicted classes, or "no" beside "yes", "0" beside "1", and "not spam" beside "spam". The pool remembers the
        class and uses it for false positives, unless you name another.
    never_right
        Answers that can never be right, such as ["I'm sorry*", "cannot determine", ""]: * stands for any text, and ""
        for an empty answer; letter case does not matter. They count as no answer. With scores, they are class names.
    evidence
        Columns that help the learned prior to tell right answers from wrong ones, besides the confidence: the verdicts
        of judges, scores, lengths. They are numbers, true or false, or a few words; values may be missing.
    any_size
        Lift the limits on a file: 12,000 columns, and unpacked 1 GB or 100 times its own size, whichever is more.
    table
        The name of the table or view that a database, connection or session has.
    dialect
        The SQL dialect of a connection, such as "snowflake" for pyodbc, if the driver does not say.
    sample
        For a table: read this many items into memory, drawn at random by their ids. Everything that works with a file
        then works with them: several models, score vectors, simulations. All results are about these items.
    seed
        For a table: the order in which its items are asked for depends only on the seed and their ids.

    An item that one of several models did not answer stays in the pool: that model is wrong there. The classes are
    those of all models together. Columns on which two files disagree are kept separately, as old_note and new_note.

    By default the predictions are the vectors "scores", or the columns "predicted" and "confidence", or those
    that match p_*, prob_* or score_*. Otherwise an InputError says which call the names of the columns suggest.

    Examples
    --------
    >>> import fewlabels as fl
    >>> fl.read_pool({"id": ["a", "b"], "predicted": ["cat", "dog"], "confidence": [0.9, 0.6]})
    <Pool: 2 items, 2 classes, confidence, from arrays>
    >>> pool = fl.read_pool([[2.0, -1.0, 0.0], [0.0, 3.0, 0.0]], classes=["cat", "dog", "eel"], logits=True)
    >>> pool.confidence.round(3)
    array([0.844, 0.909])
    >>> answers = {"text": ["Hi", "Bye", "Yo"], "gpt_a": ["yes", "no", "no"], "gpt_b": ["yes", "yes", None]}
    >>> fl.read_pool(answers, models=["gpt_a", "gpt_b"])
    <Pool: 3 items, 2 models, 2 classes, predictions, from arrays>
    >>> mails = fl.read_pool({"id": ["a", "b"], "y_prob": [0.9, 0.2]}, positive="spam")
    >>> mails.classes, mails.confidence
    (('not spam', 'spam'), array([0.9, 0.8]))
    """
    if unlisted not in ("refuse", "wrong"):
        raise InputError(Argument("unlisted"), f" must be 'refuse' or 'wrong'. Got {unlisted!r} instead.")
    asked: dict[str, Any] = {
        "id": id,
        "scores": scores,
        "predicted": predicted,
        "confidence": confidence,
        "classes": None if classes is None else _names(classes, "classes"),
        "columns": None if columns is None else _names(columns, "columns"),
        "content": content,
    }
    evidence = _names(evidence, "evidence")
    if sample is not None:
        source = _drawn(source, table, dialect, asked, sample, seed)
    elif is_table(source, table):
        refused = {"models": models, "normalize": normalize, "logits": logits, "unlisted": unlisted == "wrong"}
        refused |= {"any_spelling": any_spelling, "in_sentences": in_sentences}
        refused |= {"never_right": tuple(never_right), "positive": positive}
        return read_from(source, table, dialect, asked, seed, refused, tuple(dict.fromkeys(evidence)))
    manner = Manner(normalize, logits, unlisted == "wrong", any_spelling, in_sentences, patterns_of(never_right))
    if (sources := by_model(source)) is not None:
        check_one_model(evidence, positive)
        if models is not None:
            raise InputError("the models have their names already. Leave out ", Argument("models"), ".")
        each = _asked_of_each(sources, asked, any_size=any_size)
        return read_models({name: (*given, manner) for name, given in each.items()})
    opened = open_source(source, any_size=any_size) if models is None else open_answers(source, any_size=any_size)
    if models is not None or has_several(opened, models):
        check_one_model(evidence, positive)
        return _read_several(opened, models, asked, manner)
    if positive is not None:
        opened, asked = of_one_class(opened, asked, positive, percent=normalize)
    return replace(_read_with_evidence(opened, asked, manner, evidence), positive=positive)


def _names(given: Iterable[Any], argument: str) -> tuple[Any, ...]:
    """A list of names that is an argument; a text, which is a row of letters to Python, is an error."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InputError(Argument(argument), " must be a list of names. Write ", Argument(argument, [given]), ".")
    return tuple(given)


def _drawn(
    source: object, table: str | None, dialect: str | None, asked: dict[str, Any], sample: int, seed: int
) -> object:
    """Items of a table, drawn at random, as a source in memory; of tables of several models the same items."""
    if (sources := by_model(source)) is None:
        if not is_table(source, table) and not isinstance(source, (str, Path)):
            raise InputError(Argument("sample"), " is about tables that stay where they are. Leave it out.")
        return sampled(source, table, sample, id=asked["id"], seed=seed, dialect=dialect)[0]
    drawn: dict[str, object] = {}
    upto = None
    for name, given in sources.items():
        drawn[name], upto = sampled(given, table, sample, id=asked["id"], seed=seed, upto=upto, dialect=dialect)
    return drawn


def check_one_model(evidence: Sequence[str], positive: str | None = None) -> None:
    """Refuse arguments about the column of one model if there are several models."""
    if evidence:
        raise InputError(
            "evidence columns are about the answers of one model, and there are several models here. Read one "
            "of them, or leave out ",
            Argument("evidence"),
            ". A judge's verdicts on each model's answers can be given as that model's confidence: 0.9 for pass and "
            "0.1 for fail, in a column such as NAME_confidence.",
        )
    if positive is not None:
        raise InputError(
            "there are several models here, and ",
            Argument("positive"),
            " is about the column of one. Read one of them, or give each a column of predicted classes.",
        )


def _read_several(source: Source, models: Sequence[str] | str | None, asked: dict[str, Any], manner: Manner) -> Pool:
    """Read the answers of several models from one source."""
    if isinstance(models, str):
        return read_models({name: (part, asked, manner) for name, part in split_by(source, models).items()})
    if not has_several(source, models):
        return read_one(source, find_roles(source, **asked), asked["content"], manner)
    source, roles = roles_by_model(source, models, **asked)
    check_spelling(manner, roles.values())
    pools = {name: read_one(source, its, asked["content"], manner, gaps=True) for name, its in roles.items()}
    named = next(iter(roles.values())).classes is not None
    return join(pools, named=named, any_spelling=manner.any_spelling)


def _read_with_evidence(source: Source, asked: dict[str, Any], manner: Manner, evidence: tuple[str, ...]) -> Pool:
    """Read the predictions of one model, and keep the evidence columns among the further ones."""
    for name in evidence:
        source.need(name, "evidence")
    if asked["columns"] is not None:
        asked = asked | {"columns": [*asked["columns"], *evidence]}
    roles = find_roles(source, **asked)
    if taken := [name for name in evidence if name in (roles.id, roles.predicted, roles.confidence, *roles.scores)]:
        raise InputError(
            f"{taken[0]!r} is the prediction itself, its confidence or the id, so it is not further evidence. Leave it "
            "out of ",
            Argument("evidence"),
            ".",
        )
    pool = replace(read_one(source, roles, asked["content"], manner), evidence=tuple(dict.fromkeys(evidence)))
    _ = pool.known  # refuse what cannot be evidence here, and not at the first label
    return pool


def read_models(sources: Mapping[str, tuple[Source | Pool, dict[str, Any], Manner]]) -> Pool:
    """Read a source for each model, with the arguments of `find_roles`, and join them by id."""
    pools, numbered = {}, []
    roles_of: dict[str, Roles] = {}
    for name, (source, asked, manner) in sources.items():
        if isinstance(source, Pool):
            pools[name] = source
            continue
        roles = roles_of[name] = find_roles(source, **asked)
        pools[name] = read_one(source, roles, asked["content"], manner, gaps=True)
        if roles.id is None:
            numbered.append(name)
    for name in roles_of:
        check_spelling(sources[name][2], roles_of.values())
    _check_numbered(pools, numbered)
    named = bool(roles_of) and all(roles.classes is not None for roles in roles_of.values())
    return join(pools, named=named, any_spelling=any(manner.any_spelling for _, _, manner in sources.values()))


def _asked_of_each(
    sources: Mapping[str, object], asked: dict[str, Any], *, any_size: bool
) -> dict[str, tuple[Source | Pool, dict[str, Any]]]:
    """The arguments for each source: a column that only some of them have is asked of those."""
    opened = {
        name: given if isinstance(given, Pool) else open_source(given, any_size=any_size)
        for name, given in sources.items()
    }
    each = {}
    for name, given in opened.items():
        own = dict(asked)
        for role in ("confidence", "content", "columns"):
            if isinstance(given, Source) and any(_has(other, asked[role]) for other in opened.values()):
                wanted = asked[role]
                if role == "columns" and wanted is not None:
                    own[role] = [column for column in wanted if column in given.columns]
                elif not _has(given, wanted):
                    own[role] = None
        each[name] = given, own
    return each


def _has(source: Source | Pool, wanted: str | Sequence[str] | None) -> bool:
    """Whether a source has a column, or one of several."""
    columns = source.columns if isinstance(source, Source) else []
    names = [wanted] if isinstance(wanted, str) else wanted or []
    return any(name in columns for name in names)


def _check_numbered(pools: Mapping[str, Pool], numbered: Sequence[str]) -> None:
    """Refuse files without ids that cannot be joined by their rows."""
    if not numbered:
        return
    with_ids = [name for name in pools if name not in numbered]
    lengths = {len(pools[name]) for name in numbered}
    if with_ids or len(lengths) > 1:
        why = (
            f"{pools[with_ids[0]].source} has"
            if with_ids
            else f"the files have {' and '.join(f'{n:,}' for n in sorted(lengths))} rows"
        )
        raise InputError(
            f"{pools[numbered[0]].source} has no column of ids, and {why}: it is not known which rows belong together. "
            "Name the column of ids with ",
            Argument("id"),
            ".",
        )
