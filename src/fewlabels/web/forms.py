"""The two forms of a new assessment: they turn what was typed into the options of the command line, and errors back.

Nothing that is typed here can name a file of the server: groups and metrics are chosen from lists, classes are a list.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fewlabels.errors import Argument, Call, FewlabelsError, SpecError
from fewlabels.web.fields import WrongFieldError, lines, share, whole
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fewlabels.pool import Pool
    from fewlabels.understanding.options import QuestionOptions, ReadOptions

NOTHING = "none"
COLUMNS = {
    "id": "Id of each item",
    "predicted": "Predicted class",
    "confidence": "Confidence",
    "scores": "Scores",
    "unit": "Numbers are",
    "content": "What people see",
    "classes": "All classes",
    "unlisted": "Other answers",
    "any_spelling": "Spelling",
    "positive": "Positive class",
    "verdict": "Verdicts of a judge",
    "models": "Several models",
    "never_right": "Never right",
    "evidence": "Evidence",
}
"""The fields about the file, with their labels."""
COLUMNS_OF_FILES = COLUMNS | {"models": "Names of the models"}
"""The same, if each model has a file of its own."""
QUESTION = {
    "task": "What do you want to know?",
    "lowest": "How many",
    "a": "First",
    "b": "Second",
    "rope": "Differences that do not matter",
    "line": "Line",
    "metric": "Measure",
    "positive": "Of the class",
    "groups": "Groups",
    "also": "Crossed with",
    "model": "Model",
    "target": "About which items?",
    "sure": "How sure",
    "overall": "How exact",
    "labels": "Budget",
    "overlap": "People for each item",
    "noisy": "Wrong labels",
    "labels_right": "Labels that are right",
    "gold": "Labels you are sure of",
    "name": "Name",
}
"""The fields about the question, with their labels."""
TASKS = {
    "estimate": "How good is it, overall and in each group?",
    "lowest": "Which groups does it get wrong most often?",
    "compare": "Is it better for one group than for another?",
    "certify": "Does every group reach a line, such as 90% right?",
}
TASKS_OF_VERDICTS = {
    "estimate": "How many would people pass, and how good is the judge?",
    "lowest": "Which groups pass least often?",
    "compare": "Does one group pass more often than another?",
    "certify": "Do enough items pass in every group, such as 90%?",
}
TASKS_OF_MODELS = {"best": "Which model is best?", "compare-models": "Is one model better than another?"}
METRICS = {
    "accuracy": "accuracy: how often it is right",
    "precision": "precision: how much of what it calls a class really is",
    "recall": "recall: how much of a class it finds",
    "f1": "F1: precision and recall in one number",
    "fpr": "false positive rate: how much of everything else it calls the class",
    "calibration": "calibration error: how far confidence is from how often it is right",
    "confusion": "confusion: which classes it mixes up",
}
METRICS_OF_VERDICTS = {
    "prevalence": "pass rate: how many items people would pass",
    "accuracy": "agreement: how often the judge says what people say",
}
OF_A_CLASS = ("precision", "recall", "f1", "fpr")
_OTHER_NAMES = {"stop_labels": "labels", "stop_probability": "sure", "stop_overall": "overall"}
_OTHER_NAMES |= {"compare": "a", "compare_models": "a", "certify": "line", "normalize": "unit", "logits": "unit"}
_OTHER_NAMES |= {"in_sentences": "any_spelling"}
_OTHER_NAMES |= {"highest": "lowest", "stop_width": "overall", "only": "groups"}
_SWITCHED_ON = {"any_spelling": "does not matter"}  # what to choose where the command line has a switch
_OPTION = re.compile(r"--([a-z][a-z-]*)(?:[ =]([A-Z][A-Z,]*\b|'[^']*'|\"[^\"]*\"))?")
_MOST_GROUPS = 1_000  # values of a column that is offered for groups


def columns_options(typed: Mapping[str, Any], groups: str | None = None) -> tuple[ReadOptions, list[str] | None]:
    """The options of a file of predictions, and the columns that people see (None: as found)."""
    from fewlabels.understanding.options import ReadOptions

    def text(name: str) -> str | None:
        return str(typed.get(name) or "").strip() or None

    unit, verdict, positive = typed.get("unit"), text("verdict"), text("positive")
    if verdict and positive:  # the verdict that passes
        verdict, positive = f"{verdict}={positive}", None
    options = ReadOptions(
        id=text("id"),
        scores=text("scores"),
        predicted=text("predicted"),
        confidence=text("confidence"),
        classes=lines(typed.get("classes")) or None,
        models=text("models"),
        unlisted="wrong" if typed.get("unlisted") == "wrong" else "refuse",
        any_spelling=typed.get("any_spelling") == "any",
        in_sentences=typed.get("any_spelling") == "sentence",
        positive=positive,
        never_right=tuple(lines(typed.get("never_right"))),
        evidence=text("evidence"),
        normalize=None if not unit else unit == "percent",
        logits=None if not unit else unit == "logits",
        groups=groups,
        verdict=verdict,
    )
    return options, list(typed["content"]) if typed.get("content") is not None else None


def passed(options: ReadOptions, pool: Pool) -> str | None:
    """The metric of a question about a judge's verdicts, the share of items that people would pass; None without."""
    from fewlabels.understanding.question import pass_rate
    from fewlabels.wording import some_of

    if options.verdict is None:
        return None
    try:
        return pass_rate(options.verdict, pool)
    except SpecError:
        words = f"it is not clear which of the verdicts {some_of(pool.choices)} means pass. Write that one here."
        raise WrongFieldError("positive", words) from None


def question_options(typed: Mapping[str, Any], pool: Pool, pass_rate: str | None = None) -> QuestionOptions:
    """The options of a question and of when to stop; `pass_rate` is the metric of that name, if there is a judge."""
    from fewlabels.understanding.options import QuestionOptions

    task, sure = typed.get("task") or "estimate", share(typed, "sure")
    if task not in TASKS and not (task in TASKS_OF_MODELS and pool.models):
        raise WrongFieldError("task", "choose one of these questions.")
    if task in TASKS_OF_MODELS and typed.get("metric") not in (None, "", "accuracy"):
        raise WrongFieldError("metric", "models are compared by how often they are right. Choose accuracy.")
    if typed.get("metric") == "confusion" and (task, groups_text(typed)) != ("estimate", "predicted"):
        raise WrongFieldError("metric", "confusion answers how good it is, in groups by predicted class.")
    asked = QuestionOptions(
        metric=_metric(typed, pool, pass_rate), groups=groups_text(typed), model=_model(typed, pool, task)
    )
    if task == "lowest":
        asked = replace(asked, lowest=whole(typed, "lowest", needed=True))
    elif task == "compare":
        asked = replace(asked, compare=_pair(typed), rope=share(typed, "rope"))
    elif task == "compare-models":
        asked = replace(asked, compare_models=_pair(typed), rope=share(typed, "rope"))
    elif task == "certify":
        asked = replace(asked, certify=_rule(typed, asked.metric), metric="accuracy", sure=sure)
    overall = task == "estimate"
    return replace(
        asked,
        best=task == "best",
        stop_labels=whole(typed, "labels"),
        stop_probability=None if overall else sure,
        stop_overall=share(typed, "overall") if overall else None,
    )


def _pair(typed: Mapping[str, Any]) -> str:
    """Two names, as the command line writes them."""
    pair = [str(typed.get(field) or "").strip() for field in ("a", "b")]
    for field, name in zip(("a", "b"), pair, strict=True):
        if not name:
            raise WrongFieldError(field, "write the names of both.")
    return ",".join(pair)


def _rule(typed: Mapping[str, Any], metric: str) -> str:
    """A metric and the line that it must reach."""
    line = share(typed, "line")
    if line is None:
        raise WrongFieldError("line", "write the line, such as 90%.")
    return f"{metric} {'<=' if typed.get('side') == '<=' else '>='} {line!r}"


def _metric(typed: Mapping[str, Any], pool: Pool, pass_rate: str | None) -> str:
    metric, positive = typed.get("metric") or "accuracy", str(typed.get("positive") or "").strip()
    if metric == "prevalence" and pass_rate is not None:
        return pass_rate
    if metric not in METRICS:
        raise WrongFieldError("metric", "choose one of these measures.")
    if metric not in OF_A_CLASS or not positive:
        return str(metric)
    if positive not in pool.choices:
        raise WrongFieldError("positive", f"there is no class {positive!r}. Choose one of the list.")
    return f"{metric}:{positive}"


def _model(typed: Mapping[str, Any], pool: Pool, task: str) -> str | None:
    if not pool.models or task in TASKS_OF_MODELS:
        return None
    model = typed.get("model")
    if model not in pool.models:
        raise WrongFieldError("model", "this question is about one model. Choose it.")
    return str(model)


def groups_text(typed: Mapping[str, Any]) -> str | None:
    """The groups as the command line writes them; two that are crossed are separated by a comma."""
    chosen = [str(typed.get(name) or "") for name in ("groups", "also")]
    for field, column in zip(("groups", "also"), chosen, strict=True):
        kind, _, rest = column.partition(":")
        if column and not (
            column in ("predicted", "whole", "score:10") or (kind == "column" and rest and "," not in rest)
        ):
            raise WrongFieldError(field, "choose one of these groups.")
    if chosen[1] and chosen[1] == chosen[0]:
        raise WrongFieldError("also", "choose another way of grouping, or none.")
    return ",".join(filter(None, chosen)) or None


def label_options(typed: Mapping[str, Any], pool: Pool) -> dict[str, Any]:
    """What is said about labels: how many people give each, and whether they may be wrong."""
    noisy = typed.get("noisy") == "yes"
    if noisy and typed.get("task") in TASKS_OF_MODELS:
        raise WrongFieldError("noisy", "this works only for questions about one model.")
    right, sure = share(typed, "labels_right"), _gold(typed, pool)
    if right is not None and right <= 0.5:
        raise WrongFieldError("labels_right", "write more than 50%: labels that are wrong more often say nothing.")
    if not noisy and (right is not None or sure is not None):
        words = "you have also said how often labels are right, or which are sure. Tick this, or clear those fields."
        raise WrongFieldError("noisy", words)
    return {"overlap": whole(typed, "overlap") or 1, "noisy": noisy, "labels_right": right, "gold": sure}


def _gold(typed: Mapping[str, Any], pool: Pool) -> dict[str, str] | None:
    """The labels that an owner is sure of: lines of an id and a class, as typed or as copied from a spreadsheet."""
    from fewlabels.io.labels import checked, labelled_rows

    pairs: dict[str, str] = {}
    for line in lines(typed.get("gold")):
        item, _, label = line.partition("\t" if "\t" in line else ",")
        if not (item.strip() and label.strip()):
            raise WrongFieldError("gold", f"{line!r} is not an id, a comma and a class.")
        item, label = item.strip(), label.strip()
        if pairs.setdefault(item, label) != label:
            raise WrongFieldError("gold", f"the item {item!r} is listed as {pairs[item]!r} and as {label!r}. Keep one.")
    try:
        return dict(checked(labelled_rows(pairs), pool)) if pairs else None
    except FewlabelsError as error:
        words = trouble(error, QUESTION | {"classes": COLUMNS["classes"]}, "gold").words
        words = words.replace(" Nothing was changed.", "")
        where = "must be named on the page about the file, under"
        raise WrongFieldError("gold", words.replace("must be named when the pool is read, with", where)) from error


def groups_offered(pool: Pool, columns: Collection[str]) -> dict[str, str]:
    """The ways of grouping that make sense for a pool, with their words; `columns` are those of its files."""
    import pyarrow.compute as pc

    from fewlabels.bins import USUAL, worth_bins

    offered = {"predicted": "by predicted class", "whole": "all items together"}
    if pool.models:
        of_first = "by predicted class (of the first model, where models are compared)"
        offered = {"whole": "all items together", "predicted": of_first}
    elif pool.confidence is not None or pool.score_sums is not None:
        offered["score:10"] = "by confidence, in ten steps"
    table = pool.columns
    for name in [] if table is None else table.column_names:
        if "," in name or name == pool.content or name not in columns:
            continue
        try:
            values = pc.count_distinct(table.column(name), mode="all").as_py()  # type: ignore[union-attr]
        except (NotImplementedError, ValueError, TypeError):  # lists and the like
            continue
        if 2 <= values <= min(_MOST_GROUPS, len(pool) // 2):
            offered[f"column:{name}"] = f"by {name} ({counted(values, 'group')})"
        if worth_bins(name, table.column(name)):  # type: ignore[union-attr]
            offered[f"column:{name}:{USUAL}"] = f"by {name}, in {USUAL} bins"
    return offered


def trouble(
    error: Exception, labels: Mapping[str, str], where: str, typed: Mapping[str, Any] | None = None
) -> WrongFieldError:
    """Turn an error of the library into one about a field: it names fields instead of options and arguments.

    The field is the one in which the column at fault was chosen, or else the first one that the message names.

    >>> from fewlabels.errors import InputError
    >>> trouble(InputError("not clear. Use --predicted NAME, or --scores 'p_*'."), COLUMNS, "id").words
    "not clear. Use “Predicted class”, or “Scores” 'p_*'."
    """
    if isinstance(error, WrongFieldError):
        return error
    assert isinstance(error, FewlabelsError)
    mentioned: list[str] = []

    def field_of(name: str) -> str:
        plain = name.replace("-", "_")
        return _OTHER_NAMES.get(plain, plain)

    def label(name: str) -> str | None:
        field = field_of(name)
        if field not in labels:
            return None
        mentioned.append(field)
        on = f": {_SWITCHED_ON[name]}" if name in _SWITCHED_ON else ""
        return f"“{labels[field]}{on}”"

    def spell(part: Argument | Call) -> str:
        if isinstance(part, Call):
            return " and ".join(map(spell, part.options))
        value = "" if part.value in (None, True) else f" {part.value!r}"
        # An option without a field here is shown as on the command line, or stays as it is.
        switch = f"fewlabels new --{part.name.replace('_', '-')}" if part.value is True else part.name
        return f"{label(part.name) or switch}{value}"

    def option(match: re.Match[str]) -> str:
        value = match[2] or ""
        return f"{label(match[1]) or match[0]}{'' if value.isupper() or not value else f' {value}'}"

    words = _OPTION.sub(option, error.spelt(spell))
    about = error.at.columns if error.at is not None else ()
    chosen = [field for field, value in (typed or {}).items() if value and value in about]
    return WrongFieldError([*chosen, *mentioned, where][0], words)
