"""Record in which order items are asked for, and every number read, so that a rebuilt program can be compared.

Run from the project's folder: python benchmarks/orders.py --out after.json
To record another version, put its source first: PYTHONPATH=OLD/src python benchmarks/orders.py --out before.json
Then: python benchmarks/orders.py --compare before.json after.json [--tolerance 1e-9]

Only the numbers are recorded, not the words. What refuses to go together is recorded as refused.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fewlabels as fl
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.methods import Method
from fewlabels.simulation.order import asker
from fewlabels.simulation.truth import truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Labelled = tuple[fl.Pool, dict[str, str]]
Record = dict[str, Any]

CLASSES = ("ant", "bee", "cat", "eel", "fox")
PRICES = ((0, 1, 2, 1, 5), (1, 0, 2, 1, 1), (3, 1, 0, 1, 1), (1, 1, 2, 0, 1), (1, 2, 2, 1, 0))
BY_CLASS = (fl.Accuracy(), fl.CalibrationError(bins=3), fl.Confusion(), fl.Cost(PRICES))
BY_PLACE = (fl.F1(), fl.FalsePositiveRate("bee"), fl.Precision(), fl.Recall(), fl.Recall("ant"))
PRIORS = (fl.Uniform(), fl.Informed(3), fl.Learned())
POLICIES = (
    fl.Boundary(),
    fl.EpsilonGreedy(0.3),
    fl.Greedy(),
    fl.Thompson(),
    fl.Thompson(plays=1),
    fl.TopTwo(),
    fl.UCB(),
    fl.UniformGroups(),
    fl.UniformItems(),
)
TARGETS = ("population", "pool")
DRAWS = 20
MOST = 20  # differences that are printed


def made_pool() -> Labelled:
    """60 items of five classes in three places: "fox" is never predicted, "eel" once."""
    rng = np.random.default_rng(11)
    predicted = np.repeat(np.arange(5), [25, 20, 14, 1, 0])
    true = np.where(rng.random(60) < 0.7, predicted, rng.integers(0, 5, 60))
    scores = rng.dirichlet(np.ones(5), 60) * 0.4
    scores[np.arange(60), predicted] += 0.6
    ids = [f"m{i:02d}" for i in range(60)]
    data = {"id": ids, "scores": scores, "place": rng.choice(["north", "south", "west"], 60).tolist()}
    return fl.read_pool(data, classes=CLASSES), dict(zip(ids, (CLASSES[k] for k in true), strict=True))


def digits_pool() -> Labelled:
    digits = fl.load_digits()
    pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
    return pool, dict(zip(digits.ids, digits.labels, strict=True))


def tasks_of(metric: Any, a: str, b: str) -> list[Any]:
    return [
        fl.Estimate(metric),
        fl.Identify(metric, lowest=2),
        fl.Identify(metric, highest=1),
        fl.Compare(metric, a, b),
        fl.Compare(metric, a, b, rope=0.1, by="confidence"),
    ]


def questions(pool: fl.Pool) -> list[tuple[fl.Partition, Any]]:
    """Every task about every metric, on groups that the metric is for."""
    by_class, by_place = fl.by_predicted(pool), fl.by_column(pool, "place")
    asked = [(by_class, task) for metric in BY_CLASS for task in tasks_of(metric, "ant", "bee")]
    return asked + [(by_place, task) for metric in BY_PLACE for task in tasks_of(metric, "north", "west")]


def columns(table: fl.Table) -> dict[str, list[Any]]:
    """The numbers of a table, and which groups they are of."""
    return {name: list(values) for name, values in table.columns.items() if name != "words"}


# --- assessments


def labelled(audit: fl.Assessment, labels: dict[str, str], rounds: list[int], people: list[str | None]) -> Record:
    """Ask and tell in rounds, leaving the last item of each batch without an answer, and read all there is."""
    asked = []
    for n in rounds:
        for who in people:
            batch = [request.id for request in audit.ask(n, annotator=who)]
            asked.append(batch)
            audit.tell({item: labels[item] for item in batch[:-1] or batch}, annotator=who)
    answer = audit.answer(draws=DRAWS)
    return {
        "asked": asked,
        "estimates": columns(audit.estimates(draws=DRAWS)),
        "answer": [answer.probability, list(answer.groups), columns(answer.table)],
    }


def assess() -> Iterator[tuple[str, Callable[[], Record]]]:
    """Every task, metric, policy, prior and target that go together, on the made pool."""
    pool, labels = made_pool()
    store = fl.Store(None)
    cases = itertools.product(questions(pool), POLICIES, PRIORS, TARGETS)
    for i, ((groups, task), policy, prior, target) in enumerate(cases):

        def run(i: int = i, groups: Any = groups, **parts: Any) -> Record:
            return labelled(fl.create(store, f"a{i}", pool, groups, seed=i, **parts), labels, [4, 3, 1], [None])

        yield (
            name("assess", task, policy, prior, target),
            bound(run, task=task, policy=policy, prior=prior, target=target),
        )


def assess_more() -> Iterator[tuple[str, Callable[[], Record]]]:
    """Two people for each item, groups and a metric other than those asked for, and longer runs on the digits."""
    small, digits = made_pool(), digits_pool()
    tasks = [fl.Estimate(fl.Accuracy()), fl.Identify(fl.Accuracy(), lowest=2), fl.Estimate(fl.Confusion())]
    for (task, prior), policy in itertools.product(itertools.product(tasks, PRIORS), (None, fl.UniformItems())):

        def twice(task: Any = task, prior: Any = prior, policy: Any = policy) -> Record:
            pool, labels = small
            audit = fl.create(None, "two", pool, task=task, prior=prior, policy=policy, seed=3, overlap=2)
            numbers = labelled(audit, labels, [3, 2, 2], ["ann", "bob"])
            by_place = fl.by_column(pool, "place")
            numbers["places"] = columns(audit.estimates(metric=fl.Accuracy(), groups=by_place, draws=DRAWS))
            numbers["recall"] = columns(audit.estimates(metric=fl.Recall(), groups=by_place, draws=DRAWS))
            numbers["bins"] = columns(audit.reliability(3, draws=DRAWS))
            return numbers

        def longer(task: Any = task, prior: Any = prior, policy: Any = policy) -> Record:
            pool, labels = digits
            audit = fl.create(None, "digits", pool, task=task, prior=prior, policy=policy, seed=4)
            return labelled(audit, labels, [20, 1, 10, 1, 1, 30], [None])

        yield name("two people", task, policy, prior), twice
        yield name("digits", task, policy, prior), longer


# --- simulations and plans


def orders() -> Iterator[tuple[str, Callable[[], Record]]]:
    """The library's own loop and, where there is one, the kernel: for all that go together, on the made pool."""
    pool, labels = made_pool()
    for (groups, task), policy, prior, target in itertools.product(questions(pool), POLICIES, PRIORS, TARGETS):
        way = Method("way", prior, policy, target)

        def run(groups: Any = groups, task: Any = task, way: Any = way) -> Record:
            case = truth(pool, labels, groups, task, [way])
            loop = ask_and_tell(case, way, np.random.default_rng(5), 5)
            kernel = asker(case, way)(np.random.default_rng(6), 5)
            return {"loop": loop.tolist(), "asker": kernel.tolist()}

        yield name("order", task, policy, prior, target), run


def simulations() -> Iterator[tuple[str, Callable[[], Record]]]:
    """Whole studies of the digits."""
    pool, labels = digits_pool()
    priors, policies = ("uniform", "informed:3"), ("thompson", "greedy", "epsilon", "ucb", "toptwo", "boundary")
    names = [f"{prior}+{policy}{end}" for prior in priors for policy in policies for end in ("", "+pool")]
    names += ["uniform+items", "uniform+groups", "learned+items", "learned+thompson", "learned+boundary+pool"]
    accuracy = fl.Accuracy()
    tasks = [fl.Estimate(accuracy), fl.Identify(accuracy, lowest=2), fl.Identify(fl.CalibrationError(), highest=1)]
    for task in [*tasks, fl.Compare(accuracy, "one", "eight")]:

        def run(task: Any = task) -> Record:
            return columns(fl.simulate(pool, labels, task=task, methods=names, budgets=[10, 25], runs=2, jobs=1))

        yield name("simulate", task), run
    yield (
        "simulate confusion",
        lambda: columns(
            fl.simulate(
                pool,
                labels,
                task=fl.Estimate(fl.Confusion()),
                methods=["uniform+thompson", "informed+greedy", "learned+thompson"],
                budgets=[20],
                runs=2,
                jobs=1,
            )
        ),
    )


def plans() -> Iterator[tuple[str, Callable[[], Record]]]:
    """Plans and forecasts with fixed seeds, with and without pending items."""
    pool, labels = made_pool()
    accuracy = fl.Accuracy()
    tasks = [fl.Estimate(accuracy), fl.Identify(accuracy, lowest=2), fl.Compare(accuracy, "ant", "bee")]
    tasks += [fl.Estimate(fl.Confusion()), fl.Identify(fl.CalibrationError(bins=3), highest=1)]
    for task, prior, policy in itertools.product(tasks, PRIORS, (fl.Thompson(), fl.Greedy(), fl.UniformItems())):

        def planned(**parts: Any) -> Record:
            made = fl.plan(pool, budgets=[10, 30], runs=2, seed=1, **parts)
            return {"table": columns(made.table), "numbers": [made.recommended, made.stopped, made.honesty]}

        def foreseen(**parts: Any) -> Record:
            audit = fl.create(None, "f", pool, seed=2, **parts)
            batch = audit.ask(12).ids
            audit.tell({item: labels[item] for item in batch[:9]})
            ahead = fl.forecast(audit, runs=2, most=30, seed=1)
            return {"numbers": [ahead.more, ahead.low, ahead.high, ahead.share, ahead.most]}

        parts = {"task": task, "prior": prior, "policy": policy}
        yield name("plan", *parts.values()), bound(planned, **parts)
        yield name("forecast", *parts.values()), bound(foreseen, **parts, target="pool")


# --- recording and comparing

PARTS = {part.__name__: part for part in (assess, assess_more, orders, simulations, plans)}


def name(*parts: Any) -> str:
    return " | ".join(part if isinstance(part, str) else repr(part) for part in parts)


def bound(work: Callable[..., Record], **parts: Any) -> Callable[[], Record]:
    return lambda: work(**parts)


def record(parts: list[str]) -> Record:
    """The records of all cases, by name; "refused" where the parts of one do not go together."""
    records: Record = {}
    for part in parts:
        began = time.process_time()
        before = len(records)
        for case, work in PARTS[part]():
            try:
                records[case] = work()
            except fl.SpecError:
                records[case] = "refused"
        new = len(records) - before
        print(f"{part}: {new:,} cases, {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
    return records


def differences(before: Any, after: Any, tolerance: float, at: str = "") -> Iterator[str]:
    """Where two records differ, in words."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in before or key not in after:
                yield f"{at}/{key}: only {'before' if key in before else 'after'}"
            else:
                yield from differences(before[key], after[key], tolerance, f"{at}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, tolerance, f"{at}[{i}]")
    elif before != after and not is_near(before, after, tolerance):
        yield f"{at}: {before!r} before, {after!r} after"


def is_near(before: Any, after: Any, tolerance: float) -> bool:
    if not isinstance(before, float) or not isinstance(after, (int, float)):
        return False
    both_nan = math.isnan(before) and math.isnan(after)
    return both_nan or math.isclose(before, after, rel_tol=tolerance, abs_tol=tolerance)


def compare(before: Path, after: Path, tolerance: float) -> int:
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    both = [case for case in old if case in new]
    texts = {case: list(differences(old[case], new[case], tolerance)) for case in both}
    lines = [f"{case}{text}" for case, parts in texts.items() for text in parts]
    print("\n".join(lines[:MOST]) or "no difference")
    refused, differing = sum(old[case] == "refused" for case in both), sum(map(bool, texts.values()))
    print(f"{len(both):,} cases in both, of which {refused:,} are refused before: {differing:,} differ")
    print(f"only before: {len(old) - len(both):,}, only after: {len(new) - len(both):,}")
    return int(bool(lines) or len(old) != len(both) or len(new) != len(both))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="record, and write to this file")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="record only these")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--tolerance", type=float, default=0.0, help="what numbers may differ by")
    options = parser.parse_args()
    if options.out:
        print(fl.__file__, file=sys.stderr)
        options.out.write_text(json.dumps(record(options.parts), indent=0), encoding="utf-8")
    return compare(options.compare[0], options.compare[1], options.tolerance) if options.compare else 0


if __name__ == "__main__":
    raise SystemExit(main())
