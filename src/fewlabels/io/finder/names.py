"""Usual names for the columns of a file of predictions, and how names and patterns are compared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fewlabels.io.source import Source

# Names as people write them, the most reliable first; they are compared after `bare`.
IDS = ("id", "itemid", "item", "uid", "uuid", "guid", "key", "docid", "imageid", "sampleid", "rowid", "idx", "index")
FILES = ("image", "imagepath", "img", "imgpath", "filename", "file", "filepath", "path", "url", "uri")
PREDICTED = (
    "predicted", "prediction", "predictedclass", "predictedlabel", "predclass", "predlabel", "pred", "preds",
    "ypred", "yhat", "modelprediction", "modellabel", "modeloutput", "modelanswer", "scoredlabels", "winner",
    "preference", "output", "response",
)  # fmt: skip
CERTAINTY = ("confidence", "conf", "predictedconfidence", "predictionconfidence", "certainty")  # nothing else
CONFIDENCE = (
    *CERTAINTY, "probability", "prob", "proba", "score", "predictedprobability", "predictedscore", "maxprob",
    "maxprobability", "p", "yprob", "yproba", "yscore", "ypredproba", "positiveprobability", "probpositive",
)  # fmt: skip
# The words of other names that exports have: "Predicted category (AI)", "Decision (model)", "Prediction_Score", "top1".
_PREDICTS = frozenset({"predicted", "prediction", "predictions", "pred", "predict", "top1"})
_MACHINE = frozenset({"model", "classifier", "ai", "llm", "ml", "bot", "machine", "algorithm"})
_SAID = frozenset(
    {"class", "label", "category", "intent", "topic", "tag", "type", "sentiment", "department", "queue", "decision",
     "output", "answer", "result", "choice", "value", "outcome", "classification", "says", "said", "guess", "assigned"}
)  # fmt: skip
_SURE = frozenset({"confidence", "conf", "certainty", "probability", "prob", "proba", "score", "likelihood", "sure"})
# How a language model's own confidence is called: "verbalized confidence", "self-reported confidence".
_OWN = frozenset({"verbalized", "verbalised", "self", "reported", "stated", "response", "calibrated", "raw"})
_BESIDE = frozenset({"max", "maximum", "top", "y", "by", "of", "the", "how", "is", "it"})
CONTENT = (
    "text", "content", "sentence", "review", "question", "prompt", "input", "message", "body", "document", "title",
    "description", "abstract", "tweet", "comment", *FILES,
)  # fmt: skip
# What a verdict is about: people who judge an answer must see it beside the question.
ANSWERED = ("answer", "response", "output", "completion", "generation", "modelanswer", "modelresponse", "modeloutput")
# The better one of two answers: people who choose between them must see both.
PREFERENCE = ("winner", "preference")
TRUTH = (
    "label", "labels", "truth", "truelabel", "trueclass", "target", "ytrue", "gold", "goldlabel",
    "groundtruth", "actual", "class",
)  # fmt: skip
# Patterns of score columns: those that the documentation names, and those that are guessed.
DOCUMENTED = ("p_*", "prob_*", "score_*")
_PREFIXES = (
    "p_", "prob_", "proba_", "probability_", "score_", "scores_", "logit_", "logits_", "pred_proba_", "pred_prob_",
    "y_proba_", "y_prob_",
)  # fmt: skip
PATTERNS = (
    *(f"{prefix}*" for prefix in _PREFIXES),
    *(f"{prefix.capitalize()}*" for prefix in _PREFIXES),
    *("p(*)", "P(*)", "P (*)", "proba(*)", "prob(*)", "confidence(*)"),
)
# The probability of one class, told by a name such as proba_1 or spam_probability.
ONE_CLASS = (*(pattern for pattern in PATTERNS if "ogit" not in pattern), "*_prob", "*_proba", "*_probability")
# Columns that say which of several models a row is about.
MODELS = ("model", "modelname", "modelid", "llm", "classifier", "system", "prompt", "promptid", "variant", "run")
# Columns with long text that give the answer away: an annotator who reads them is not blind.
TELLING = re.compile("(?i)pred|reason|rational|explan|thought|response|output|completion|answer|model|llm|gpt|raw")
# What may stand before or after the name of a model in the name of a column with its answers.
ANSWER = (*PREDICTED, "answer", "label", "class", "verdict", "judgement", "judgment")
# Names that several columns of answers have, and names that columns of people's answers have.
MODEL = re.compile(
    r"(?xi) pred|answer|output|response|verdict|model|prompt|classifier"
    r"| llm|gpt|claude|gemini|llama|mistral|qwen|bert"
    r"| (?: ^|[\W_] ) (?: old|new|base|baseline|candidate|control|treatment|[ab]|v\d+ ) (?: [\W_]|$ )"
)
# What a program has decided, or the outcome: a guess would be wrong too often.
DECIDED = re.compile(r"(?i)(final[ _-]?)?(decision|outcome|result|classification)")
VERDICT = re.compile("(?i)verdict|judg|grade|passe[ds]|is_?correct")
PERSON = re.compile("(?i)annot|rater|human|gold|truth|target|actual|expert|coder|worker|person")
ENDS_IN_ID = re.compile("[ _-][iI][dD]$|[a-z]I[dD]$")
UNNAMED = ("column_1", "Unnamed: 0", "__index_level_0__")
# "Confidence (%)", "confidence [0-100]", "Confidence in percent": the unit of the numbers is found by looking at them.
_UNIT = re.compile(
    r"""(?xi)
    [(\[] \s* (?: in\s )? (?: % | percent | pct | 0 \s* (?: - | – | to | \.\. ) \s* 1(?:00)? ) \s* [)\]]
    | (?: [\s_-] in )? (?: \s* % | [\s_-] (?: percent | pct ) ) $
    """
)


def bare(name: str) -> str:
    """Reduce a name to its essentials: no case, spaces, points, -, _ or unit.

    >>> bare("Predicted_Class"), bare("Confidence (%)")
    ('predictedclass', 'confidence')
    """
    return re.sub(r"[\s_\-.]", "", _UNIT.sub("", name.strip())).casefold()


def _words(name: str) -> list[str]:
    """The words of a name: "Top-1 Label" and "top1Label" both have top1 and label."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", _UNIT.sub("", name)).replace("_", " ")
    return re.findall(r"[^\W_]+", re.sub(r"(?i)\btop[\s-]*1(?!\d)", "top1 ", apart).lower())


def says_predicted(name: str) -> bool:
    """Whether the words of a name say that a column has predicted classes.

    >>> [says_predicted(name) for name in ("Predicted category (AI)", "Model says", "top_1", "decision")]
    [True, True, True, False]

    An "answer_model" is the name of a model.

    >>> says_predicted("answer_model"), says_predicted("prediction_score")
    (False, False)
    """
    words = _words(name)
    said = {*words} & _PREDICTS or ({*words} & _MACHINE and {*words} & _SAID)
    of_model = words[-1:] and words[-1] in _MACHINE and "by" not in words and not name.rstrip().endswith((")", "]"))
    return bool(said) and not of_model and {*words} <= _PREDICTS | _MACHINE | _SAID | _BESIDE


def says_confidence(name: str) -> bool:
    """Whether the words of a name say that a column has confidences.

    >>> [says_confidence(name) for name in ("top1_prob", "How sure (%)", "verbalized_confidence", "credit score")]
    [True, True, True, False]
    """
    words = {*_words(name)}
    return bool(words & _SURE) and words <= _SURE | _PREDICTS | _MACHINE | _SAID | _OWN | _BESIDE


def is_confidence(name: str) -> bool:
    """Whether a column is named like a confidence, perhaps that of one of several models.

    >>> is_confidence("gpt_a_confidence"), is_confidence("gpt_a")
    (True, False)
    """
    return any(word in bare(name) for word in CERTAINTY) or bare(name).endswith(("probability", "prob", "score"))


def may_be_answers(name: str) -> bool:
    """Whether a column can have the answers of a model, by its name: not if it has a person's, or scores.

    >>> may_be_answers("gpt_a"), may_be_answers("annotator_1"), may_be_answers("p_a")
    (True, False, False)
    """
    scores = any(matching(pattern, [name]) for pattern in PATTERNS)
    return not (scores or is_confidence(name) or PERSON.search(name))


def model_of(column: str) -> str:
    """The name of the model in the name of a column with its answers.

    >>> model_of("gpt_a"), model_of("gpt_a_answer"), model_of("predicted_new"), model_of("prediction")
    ('gpt_a', 'gpt_a', 'new', 'prediction')
    """
    words = re.split(r"([\s_\-.]+)", column)
    for rest, word in (("".join(words[:-2]), words[-1]), ("".join(words[2:]), words[0])):
        if rest and bare(word) in ANSWER:
            return rest
    return column


def judged(columns: Sequence[str]) -> list[str]:
    """The columns that a person who judges answers needs to see: the question and the answer.

    >>> judged(["id", "Question", "answer", "verdict"]), judged(["id", "text"])
    (['Question', 'answer'], ['text'])
    """
    by_name = {bare(name): name for name in reversed(columns)}
    kinds = ([by_name[word] for word in words if word in by_name][:1] for words in (CONTENT, ANSWERED))
    return [name for names in kinds for name in names]


def compared(columns: Sequence[str]) -> list[str]:
    """The columns that a person who says which of two answers is better needs to see, if a column has such verdicts.

    >>> compared(["id", "prompt", "response_a", "response_b", "winner"]), compared(["id", "prompt", "response_a"])
    (['prompt', 'response_a', 'response_b'], [])
    """
    answers = [name for name in columns if bare(name)[:-1] in ANSWERED and bare(name)[-1] in "ab12"]
    asked = [name for word in CONTENT for name in columns if bare(name) == word][:1]
    chosen = any(bare(name) in PREFERENCE for name in columns)
    return [*asked, *answers] if chosen and len(answers) == 2 else []


def of_one_class(columns: Iterable[str]) -> dict[str, str]:
    """The columns that are named like the probability of one class, and what their names call that class.

    >>> of_one_class(["id", "pred_proba_1", "age"])
    {'pred_proba_1': '1'}
    """
    columns = list(columns)
    return {name: called for pattern in ONE_CLASS for called, name in matching(pattern, columns).items()}


def matching(pattern: str, columns: Iterable[str]) -> dict[str, str]:
    """Map what the * of a pattern stands for to the column, for every column that matches.

    >>> matching("p_*", ["id", "p_cat", "p_dog", "p_"])
    {'cat': 'p_cat', 'dog': 'p_dog'}
    """
    before, _, after = pattern.partition("*")
    least = len(before) + len(after) + 1
    fitting = (name for name in columns if len(name) >= least and name.startswith(before) and name.endswith(after))
    return {name[len(before) : len(name) - len(after)]: name for name in fitting}


def columns_of(source: Source, scores: str | Sequence[str] | None) -> list[str]:
    """List the columns that a word for scores means: a name, a pattern or a list of names."""
    if scores is None:
        return []
    if not isinstance(scores, str):
        return [source.need(name, "scores") for name in scores]
    if "*" not in scores:
        return [scores] if scores in source.columns else []
    fitting = {scores, *matching(scores, source.columns).values()}
    return [name for name in source.columns if name in fitting]


def neighbours(columns: Sequence[str], wanted: Sequence[str]) -> list[list[str]]:
    """List the runs of two or more wanted columns that stand side by side, the longest first.

    >>> neighbours(["id", "a", "b", "text", "c"], ["a", "b", "c"])
    [['a', 'b']]
    """
    chosen = set(wanted)
    runs: list[list[str]] = [[]]
    for name in columns:
        if name in chosen:
            runs[-1].append(name)
        else:
            runs.append([])
    return sorted((run for run in runs if len(run) >= 2), key=len, reverse=True)
