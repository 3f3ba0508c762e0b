"""Claims need labels: on pools where little or nothing is known, no face says that something is certain."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.findings.key_figures import key_figures
from fewlabels.report import read
from fewlabels.report.notebook import notebook
from fewlabels.tasks.backing import FEW

CLASSES = [f"class{k}" for k in range(12)]
# Words that call a thing sure; what follows them must have labels.
SURE = re.compile(
    r"nearly certain|enough to act on|We are (?:over )?\d+% sure|^Pass|^Fail|with probability (?:over )?99%"
)
NEVER = re.compile(
    r"probability 1\.00|\b1\.00 sure|probability 100%|100% sure|chance 100%|(?<!nearly )certain to be|100% \(between"
)


def made_pool(rng: np.random.Generator) -> tuple[fl.Pool, dict[str, str]]:
    """Twelve classes: one has no items, some have one, and there may be no scores."""
    sizes = rng.choice([1, 1, 2, 3, 8, 30, 60], size=len(CLASSES))
    sizes[rng.integers(len(CLASSES))] = 0
    predicted = np.repeat(np.arange(len(CLASSES)), sizes)
    right = rng.random(len(predicted)) < rng.choice([0.02, 0.6, 0.98], size=len(CLASSES))[predicted]
    true = np.where(right, predicted, (predicted + 1) % len(CLASSES))
    ids = [f"i{i}" for i in range(len(predicted))]
    data: dict[str, Any] = {"id": ids, "predicted": [CLASSES[k] for k in predicted]}
    if rng.random() < 0.7:
        data["confidence"] = np.clip(rng.beta(8, 1, len(predicted)), 0.1, 1.0)
    made = fl.read_pool(data, classes=CLASSES)
    return made, {item: CLASSES[k] for item, k in zip(ids, true, strict=True)}


def some_audit(seed: int) -> fl.Assessment:
    """An assessment with few labels, or with all of them."""
    rng = np.random.default_rng([seed, 2])
    made, truth = made_pool(rng)
    present = [CLASSES[k] for k in np.flatnonzero(np.bincount(made.predicted, minlength=len(CLASSES)))]
    tasks: list[fl.Task] = [
        fl.Estimate(fl.Accuracy()),
        fl.Identify(fl.Accuracy(), lowest=int(rng.integers(1, 4))),
        fl.Identify(fl.Accuracy(), highest=1),
        fl.Compare(fl.Accuracy(), present[0], present[1]),
        fl.Certify(fl.Accuracy(), at_least=float(rng.choice([0.05, 0.5, 0.9]))),
        fl.Certify(fl.Accuracy(), at_least=0.1, guarantee="anytime"),
    ]
    target: Any = "pool" if rng.random() < 0.3 else "population"
    prior = fl.Learned() if rng.random() < 0.7 else fl.Uniform()
    audit = fl.create(None, "few", made, task=tasks[seed % len(tasks)], prior=prior, target=target, seed=seed)
    most = int(rng.choice([1, 3, 12, 40, len(made)]))
    while (n := min(most - len(audit.labels()), 15)) > 0:
        asked = audit.ask(n).ids
        if not asked:
            break
        audit.tell({item: truth[item] for item in asked})
    return audit


def sentences(audit: fl.Assessment) -> list[str]:
    """Every sentence that is about the answer, on every face."""
    report = read(audit, draws=400, foresee=False)
    texts = [report.headline, report.answer.words, *report.next, *report.doubts, report.more.standing.words]
    texts += [figure for plot in report.plots.values() for figure in (plot.caption(),)]
    for rule in ("accuracy >= 0.5", "accuracy >= 0.02"):
        check = audit.check(rule)
        texts += [check.words]
    return [part for text in texts for part in re.split(r"(?<=[.]) (?=[A-Z0-9])", text)]


@pytest.mark.parametrize(
    "seed", [seed if seed < 6 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(36)]
)
def test_nothing_is_called_sure_without_labels(seed: int) -> None:
    audit = some_audit(seed)
    labelled = {row["group"]: (row["labelled"], row["n"]) for row in audit.by_group().rows()}
    bare = [group for group, (k, n) in labelled.items() if n and k < min(FEW, n)]
    for sentence in sentences(audit):
        assert not NEVER.search(sentence), sentence
        if SURE.search(sentence) and not sentence.startswith(("Nothing", "Not ")):
            named = [group for group in bare if re.search(rf"\b{group}\b", sentence)]
            assert not named, (sentence, {group: labelled[group] for group in named})
            if sentence.startswith("Pass: each"):
                assert not bare


@pytest.mark.parametrize("seed", [1, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 30, 3))])
def test_labels_stand_beside_every_number_of_a_group(seed: int) -> None:
    audit = some_audit(seed)
    report = read(audit, draws=400, foresee=False)
    for part in re.findall(r"\(([^()]*between [^()]*)\)", report.headline):
        if "all items" not in report.headline.split(part)[0].rsplit(".", 1)[-1] and "these" not in report.headline:
            assert re.search(r"\d+ of \d+ right|\d+ labels?|no label", part), report.headline
    page, text = report.html(), report.markdown()
    for row in report.groups:
        if row.labelled and row.right is not None:
            assert f"{row.right} of {row.labelled} right" in page
            assert f"{row.right} of {row.labelled} right" in text
    for written in (page, text, notebook(audit)):
        assert not NEVER.search(written)
    for plot in report.plots.values():
        assert not NEVER.search(plots.svg(plot))


def sure_by_scores(task: fl.Task, labelled: int) -> fl.Assessment:
    """The scores say that class0 is bad and the others good, labels agree, and class0 has few labels of its own."""
    sure = np.where(np.arange(400) < 100, 0.2, 0.97)
    data = {
        "id": [f"i{i}" for i in range(400)],
        "predicted": [CLASSES[i // 100] for i in range(400)],
        "confidence": sure,
    }
    audit = fl.create(None, "scores", fl.read_pool(data, classes=CLASSES[:4]), task=task, prior=fl.Learned(), seed=1)
    right = {f"i{i}": CLASSES[i // 100] for i in range(100, 400) if i % 100 < 40}
    audit.ask(400)
    audit.tell(right | {f"i{i}": CLASSES[1] for i in range(labelled)}, adopt=True)
    return audit


@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [
        fl.Identify(fl.Accuracy(), lowest=1),
        fl.Compare(fl.Accuracy(), "class0", "class1"),
        fl.Certify(fl.Accuracy(), at_least=0.7),
    ],
    ids=lambda task: type(task).__name__,
)
def test_scores_alone_make_nothing_sure(task: fl.Task) -> None:
    for labelled in (0, 1, FEW - 1, FEW + 3):
        audit = sure_by_scores(task, labelled)
        report = read(audit, draws=2_000, foresee=False)
        said = [report.headline, report.answer.words, *report.next]
        known = any(
            re.search(r"\d+% sure|enough to act on\.|^Fail|is below|is class0, with prob|chance that this", text)
            for text in said
        )
        assert known == (labelled >= FEW), (labelled, said)
        assert (report.answer.probability or 0.0) > 0.5  # the posterior is sure, all the same
        if labelled < FEW and not isinstance(task, fl.Certify):
            assert key_figures(report)[0].value == "not known yet"


def test_a_pool_of_one_item_is_known_once_it_has_its_label() -> None:
    one = fl.read_pool({"predicted": ["a"], "confidence": [0.6]}, classes=["a", "b"])
    audit = fl.create(None, "one", one, fl.whole(one), target="pool")
    audit.tell(dict.fromkeys(audit.ask(1).ids, "b"))
    assert "too early" not in audit.answer().headline
