"""A page is computed once: no number twice, the log not again; and "the prior decides it" is one thing everywhere."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.findings.finding import find
from fewlabels.findings.labels import count_labels, tally
from fewlabels.findings.prior_pull import swayed
from fewlabels.report import read
from fewlabels.web.views import dashboard, done
from tests.support.reports import QUESTIONS, pool, told


@pytest.fixture
def calls(monkeypatch) -> Counter[tuple]:
    """How often each number is asked of an assessment, by what is asked."""
    found: Counter[tuple] = Counter()

    def watched(name):
        real = getattr(fl.Assessment, name)

        def call(self, *args, **how):
            found[name, *(f"{key}={value!r}" for key, value in how.items() if key in ("metric", "groups", "last"))] += 1
            return real(self, *args, **how)

        return call

    for name in ("estimates", "answer", "standing", "log", "draws", "agreement"):
        monkeypatch.setattr(fl.Assessment, name, watched(name))
    return found


@pytest.mark.parametrize("question", ["identify", "estimate", "compare", "confusion"])
def test_a_dashboard_computes_each_number_once_and_reads_the_end_of_the_log(question: str, calls) -> None:
    audit = QUESTIONS[question]()
    calls.clear()
    shown = dashboard(audit)
    so_far = done(audit)
    assert set(calls.values()) == {1}, calls
    assert [call for call in calls if call[0] == "log"] == [("log", "last=200")]
    assert so_far.events
    assert shown.finding.headline == find(audit).headline
    own = audit.estimates()
    assert {name: shown.finding.estimates[name] for name in own.columns} == {name: own[name] for name in own.columns}


@pytest.mark.parametrize("policy", [fl.Thompson(), fl.UniformItems()])
def test_neither_the_finding_nor_which_plots_suit_takes_the_log(policy: fl.policies.Policy, calls) -> None:
    audit = told(60, policy=policy)
    find(audit, draws=200)
    plots.suited(audit)
    assert not any(call[0] == "log" for call in calls)


@pytest.mark.parametrize("seed", range(4))
def test_the_tally_is_that_of_the_log(seed: int) -> None:
    """Asked, told by one or two, skipped, adopted, taken back and asked again: as counted from the log itself."""
    rng = np.random.default_rng(seed)
    items, truth = pool()
    audit = fl.create(None, "many", items, overlap=1 + seed % 2, seed=seed, prior=fl.Uniform())
    for _ in range(12):
        for who in ("ann", "bob"):
            ids = audit.ask(4, annotator=who).ids
            audit.tell({item: truth[item] if rng.random() < 0.7 else "bag" for item in ids[1:]}, annotator=who)
            audit.skip(ids[:1], annotator=who)
        seen = set(audit.log()["item"])
        audit.tell({rng.choice([i for i in truth if i not in seen]): "coat"}, annotator="cyd", adopt=True)
        audit.withdraw([rng.choice(sorted(audit.labels()))])
    log, counting = list(audit.log().rows()), audit.labels()
    of = {kind: {row["item"] for row in log if row["kind"] == kind} for kind in ("request", "withdraw")}
    found = tally(audit)
    assert found.labelled == len(counting)
    assert found.unresolved == len(audit.disputed())
    assert found.pending == len(audit.pending()) - found.unresolved
    assert found.adopted == len(counting.keys() - of["request"])
    assert found.withdrawn == len(of["withdraw"] - counting.keys())
    assert (found.withdrawn > 0) & (found.unresolved > 0) & (found.labelled > 0)
    assert count_labels(audit).to_json().items() >= vars(found).items()


def places(each: int, number: int = 40, **spec) -> tuple[fl.Assessment, dict[str, str]]:
    """So many labels in each of some places with 1,600 items in all; four in five predictions are right."""
    rng = np.random.default_rng(1)
    ids = [str(i) for i in range(1600)]
    items = fl.read_pool(
        {"predicted": ["yes"] * 1600, "id": ids, "place": [i % number for i in range(1600)]}, classes=["no", "yes"]
    )
    truth = dict(zip(ids, np.where(rng.permutation(1600) < 1280, "yes", "no").tolist(), strict=True))
    how = {"prior": fl.Uniform(), "policy": fl.UniformGroups()} | spec
    audit = fl.create(None, "places", items, fl.by_column(items, "place"), **how)
    audit.tell({item: truth[item] for item in audit.ask(number * each).ids})
    return audit, truth


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "pool"])
def test_a_report_draws_the_average_that_it_tells_and_no_other(target: str) -> None:
    told_at = []
    for each in (1, 2, 4, 6, 8, 12, 20):
        audit, _ = places(each, 10, target=target)
        report = read(audit, draws=200, foresee=False)
        forest: Any = report.plots["forest"]
        assert report.overall.enough == (forest.average is not None) == (not swayed(audit)[0])
        assert ("what was assumed before any label would decide it" in report.overall.words) != report.overall.enough
        told_at.append(report.overall.enough)
    assert told_at == sorted(told_at)  # first not, and with more labels it is
    assert {*told_at} == {False, True}


@pytest.mark.slow
def test_a_sway_of_less_than_a_point_is_none() -> None:
    """Of very many labels the interval is shorter than any prior's pull; half a point is no reason for silence."""
    n = 40_000
    items = fl.read_pool({"predicted": ["yes"] * n, "place": [i % 40 for i in range(n)]}, classes=["no", "yes"])
    audit = fl.create(None, "many", items, fl.by_column(items, "place"), prior=fl.Uniform(), policy=fl.UniformGroups())
    labels = {str(i): "no" if i % 1000 < 200 else "yes" for i in range(n // 5)}
    audit.tell(labels, adopt=True)
    assert not swayed(audit)[0]


def test_one_label_that_nobody_asked_for_ends_the_plain_counting_in_the_report_too() -> None:
    audit, truth = places(2, policy=fl.UniformItems())
    assert read(audit, draws=200, foresee=False).overall.enough
    item = next(item for item in truth if item not in audit.labels())
    audit.tell({item: truth[item]}, adopt=True)
    assert not read(audit, draws=200, foresee=False).overall.enough


def test_where_labels_may_be_wrong_the_sway_is_from_what_votes_mean() -> None:
    """Two people say that every prediction is right, and the last one to answer is wrong about half of them."""
    rows = {"predicted": ["yes", "no"] * 200, "place": [str(i // 10) for i in range(400)]}
    items = fl.read_pool(rows)
    asked: dict[str, Any] = {"prior": fl.Uniform(), "policy": fl.UniformGroups(), "noisy": True, "labels_right": 0.95}
    audit = fl.create(None, "places", items, fl.by_column(items, "place"), **asked)
    ids = audit.ask(80, annotator="ann").ids
    right = {item: items.classes[k] for item, k in zip(ids, items.predicted[items.positions(ids)], strict=True)}
    for who in ("ann", "bob"):
        audit.tell(right, annotator=who)
    wrong = {item: "no" if label == "yes" else "yes" for item, label in list(right.items())[::2]}
    audit.tell(right | wrong, annotator="eve")
    assert swayed(audit).tolist() == [True]  # by the last answers, half are right, as the prior has it
