"""An answer brings the next item: in one transaction, by a belief that a server keeps for a while."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.labelling import choosing
from fewlabels.labelling.next_items import choose
from tests.support.web import bearer, client_of, events_of, make_site, pool_of_texts

if TYPE_CHECKING:
    from pathlib import Path

    from fewlabels.outcomes import Outcomes
    from fewlabels.priors import Prepared

ONE = "/api/v1/assessments/audit"


def test_an_answer_brings_the_next_items_in_one_transaction() -> None:
    site, twin = make_site(seed=4), fl.create(None, "audit", pool_of_texts(), seed=4)
    with client_of(site) as client:
        here = client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"]
        assert [one["id"] for one in here] == twin.ask(2, annotator="ann").ids
        for i in range(6):
            first = here[0]["id"]
            body: dict[str, Any] = {"next": 2, "key": f"key-{i:05}"}
            verb = "skip" if i == 3 else "tell"
            if verb == "tell":
                body["labels"] = [{"id": first, "label": "class 1"}]
                twin.tell({first: "class 1"}, annotator="ann")
            else:
                body |= {"ids": [first], "reason": "unclear"}
                twin.skip([first], annotator="ann")
            answer = client.post(f"{ONE}/{verb}", json=body, headers=bearer(site.ann)).json()
            again = client.post(f"{ONE}/{verb}", json=body, headers=bearer(site.ann)).json()
            assert answer == again  # sent again since its yes was lost: taken once, and the same items come
            assert answer["taken"] == 1
            here = answer["requests"]
            assert [one["id"] for one in here] == twin.ask(2, annotator="ann", again=True).ids
    kinds = [kind for kind, *_ in events_of(site)]
    assert kinds == ["request"] * 2 + ["label", "request"] * 3 + ["skip", "request"] + ["label", "request"] * 2
    assert site.audit().labels() == twin.labels()


def test_answers_that_are_refused_bring_nothing_and_change_nothing() -> None:
    site = make_site()
    with client_of(site) as client:
        item = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["id"]
        before = events_of(site)
        other = "item-000" if item != "item-000" else "item-001"
        for labels in ([{"id": item, "label": "nothing"}], [{"id": other, "label": "class 0"}]):
            answer = client.post(f"{ONE}/tell", json={"labels": labels, "next": 3}, headers=bearer(site.ann))
            assert answer.status_code == 409
        assert events_of(site) == before


def test_a_choice_that_failed_leaves_the_ledger_as_the_log_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger reads the answer before it is in the log: if the transaction fails, it must forget it again."""
    site = make_site()
    audit = site.audit()
    (item,) = audit.ask(1, annotator="ann").ids

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no more items")

    with monkeypatch.context() as patch:
        patch.setattr(choosing.Chooser, "chosen", broken)
        with pytest.raises(RuntimeError, match="no more"):
            audit.tell_and_ask({item: "class 1"}, 1, annotator="ann")
    assert audit.labels() == site.audit().labels() == {}
    assert audit.tell_and_ask({item: "class 1"}, 1, annotator="ann")[0] == 1
    assert audit.labels() == site.audit().labels() == {item: "class 1"}


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of labels that each belief was computed from, in the order in which they were."""
    known: list[int] = []
    on = fl.Learned.on

    def watched(prior: fl.Learned, *given: Any) -> Prepared:
        prepared = on(prior, *given)

        def belief(outcomes: Outcomes) -> fl.Belief:
            known.append(int(outcomes.counts.sum()))
            return prepared.belief(outcomes)

        return replace(prepared, belief=belief)

    monkeypatch.setattr(fl.Learned, "on", watched)
    return known


@pytest.fixture
def chosen_by(monkeypatch: pytest.MonkeyPatch) -> list[fl.Belief]:
    """The beliefs by which items were chosen, in the order in which they were."""
    seen: list[fl.Belief] = []

    def watched(*given: Any) -> dict[int, int]:
        seen.append(given[3])
        return choose(*given)

    monkeypatch.setattr(choosing, "choose", watched)
    return seen


def test_with_slack_the_belief_is_kept_until_a_share_of_the_labels_is_new(fits: list[int]) -> None:
    audit = fl.create(None, "audit", pool_of_texts(400), seed=1)
    audit.tell(dict.fromkeys(audit.ask(200).ids, "class 0"))
    fits.clear()
    (item,) = audit.ask(1, annotator="a", slack=0.02).ids
    for _ in range(20):
        _, (request,) = audit.tell_and_ask({item: "class 0"}, 1, annotator="a", slack=0.02)
        item = request.id
    assert 3 <= len(fits) <= 6  # after 4 of 200 labels, each time
    fits.clear()
    for _ in range(5):
        _, (request,) = audit.tell_and_ask({item: "class 0"}, 1, annotator="a")
        item = request.id
    assert len(fits) == 5  # without slack, the choice knows every label
    assert len(audit.labels()) == 225


def test_with_slack_a_label_that_was_taken_back_is_not_waited_for(fits: list[int]) -> None:
    audit = fl.create(None, "audit", pool_of_texts(400), seed=1)
    told = dict.fromkeys(audit.ask(200, annotator="a").ids, "class 0")
    audit.tell(told, annotator="a")
    first, second = list(told)[:2]
    fits.clear()
    audit.ask(1, annotator="a", slack=0.5)
    audit.ask(1, annotator="a", slack=0.5)
    assert fits == [200]
    audit.tell({first: "class 1"}, annotator="a")
    audit.ask(1, annotator="a", slack=0.5)
    assert fits == [200, 200]
    audit.retract([second], annotator="a")
    audit.ask(1, annotator="a", slack=0.5)
    assert fits == [200, 200, 199]


@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Learned()])
def test_with_slack_labels_count_for_their_own_group_at_once(prior: fl.Prior, chosen_by: list[fl.Belief]) -> None:
    """Without a fit, the choice knows the counts of every label; for independent groups that is the whole belief."""
    audit = fl.create(None, "audit", pool_of_texts(400), seed=1, prior=prior, policy=fl.Thompson())
    audit.tell(dict.fromkeys(audit.ask(200).ids, "class 0"))
    audit.ask(1, slack=0.5)
    chosen_by.clear()
    for _ in range(3):
        audit.tell(dict.fromkeys(audit.ask(20).ids, "class 1"))
        audit.ask(30, slack=0.5)
    assert [belief.labels for belief in chosen_by] == [200, 220, 220, 240, 240, 260]
    cells = audit.spec.cells(audit.pool, audit.groups)
    true = np.array([audit.pool.classes.index(name) for name in audit.labels().values()])
    outcomes = audit.spec.task.metric.outcomes(audit.pool, cells, audit.pool.positions(audit.labels()), true)
    exact = audit.spec.prior.on(cells, "population").belief(outcomes)
    close = np.abs(chosen_by[-1].mean() - exact.mean()).max()
    assert close < (1e-12 if isinstance(prior, fl.Uniform) else 0.15)
    np.testing.assert_array_equal(chosen_by[-1].counts, exact.counts)


def test_items_drawn_ahead_are_never_handed_out_twice(tmp_path: Path) -> None:
    """Two servers of one database, each with items drawn ahead: what one has handed out, the other must not."""
    address = tmp_path / "audit.db"
    fl.create(address, "audit", pool_of_texts(300), task=fl.Identify(fl.Accuracy(), lowest=2), seed=1).close()
    both = [fl.load(address, "audit") for _ in range(2)]
    got: list[str] = []
    for i in range(120):
        one = both[i % 2 if i % 7 else 0]
        (request,) = one.ask(1, annotator=f"person {i % 5}", slack=0.2)
        got.append(request.id)
        if i % 3:
            one.tell({request.id: "class 0"}, annotator=f"person {i % 5}")
    assert len(set(got)) == 120
    for one in both:
        one.close()


@pytest.mark.parametrize(
    "metric",
    [fl.Recall(), fl.Confusion(), fl.CalibrationError(), fl.F1("cat")],
    ids=lambda metric: type(metric).__name__,
)
def test_with_slack_every_metric_counts_what_its_belief_has_not_seen(
    metric: fl.Metric, fits: list[int], chosen_by: list[fl.Belief]
) -> None:
    rng = np.random.default_rng(1)
    pool = fl.read_pool(rng.dirichlet([1, 1, 1], 90), classes=["ant", "bee", "cat"])
    groups = fl.by_predicted(pool) if isinstance(metric, fl.Confusion) else fl.by_score(pool, bins=3)
    audit = fl.create(None, "audit", pool, groups, task=fl.Estimate(metric), policy=fl.Thompson(), seed=2)
    audit.tell({item: rng.choice(pool.classes) for item in audit.ask(30).ids})
    (item,) = audit.ask(1, slack=0.5).ids
    fits.clear()
    for _ in range(10):
        _, (request,) = audit.tell_and_ask({item: rng.choice(pool.classes)}, 1, slack=0.5)
        item = request.id
    assert fits == []
    assert chosen_by[-1].labels == 40
    assert len(audit.labels()) == 40
