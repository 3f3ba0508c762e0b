"""Where to ask with the learned prior: labels to find the worst groups, and to decide between two, on real classifiers.

python benchmarks/asking.py [--data DIR] [--runs 100] [--pools cifar100,svhn] [--tasks identify,stop,compare,schedule]
    [--methods learned+boundary+pool]

DIR has NPZ files of predictions with labels; without it, the built-in data are asked about. ImageNet is run a fifth as
often. "identify" is the paper's count of labels to find the worst groups; "stop" stops by the answer's own probability;
"schedule" holds the simulator, which fits now and then, against fitting before every request.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fewlabels as fl
from fewlabels.data import load_digits, load_fashion
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.learned import next_fit
from fewlabels.simulation.methods import method
from fewlabels.simulation.order import asker
from fewlabels.simulation.parallel import run_generator
from fewlabels.simulation.scorer import scorer_of
from fewlabels.simulation.study import labels_to_identify
from fewlabels.simulation.truth import truth
from fewlabels.tasks import Compare
from fewlabels.tasks.compare import REGIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.pool import Pool
    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.truth import Truth
    from fewlabels.tasks import Answer
    from fewlabels.tasks.compare import RewardName

    Asker = Callable[[np.random.Generator, int], NDArray[np.int64]]

# How many worst groups are looked for, and with which share of the labels the learned prior's runs end.
CASES = {
    "cifar100": ((1, "12%"), (10, "40%")),
    "cifar100_wrn": ((10, "50%"),),
    "dbpedia": ((1, "20%"), (3, "60%")),
    "imagenet": ((1, "7%"), (10, "13%")),
    "newsgroups": ((1, "30%"), (3, "40%")),
    "svhn": ((1, "35%"), (3, "70%")),
    "clothes": ((1, "10%"), (3, "20%")),
    "digits": ((1, "50%"), (3, "70%")),
}
BUILT_IN = {"clothes": load_fashion, "digits": load_digits}
SELDOM = {"imagenet": 5}
METHODS = (
    "informed+thompson",
    "uniform+thompson",
    "uniform+boundary+pool",
    "learned+boundary+pool",
    "learned+thompson+pool",
    "learned+toptwo+pool",
    "learned+greedy+pool",
)
LOOKS = 50
SHARES = ("2%", "5%", "10%", "20%", "40%")

# Comparison: the paper's method with its own reward, and others with the variance of the difference.
WAYS: tuple[tuple[str, RewardName], ...] = (
    ("informed+thompson", "confidence"),
    ("informed+thompson", "neyman"),
    ("informed+greedy+pool", "neyman"),
    ("learned+thompson+pool", "neyman"),
    ("learned+greedy+pool", "neyman"),
)
PAIRS = 20
LARGE = 30  # items in each group of a pair
DRAWS = 1_000
CERTAIN = 0.9995
STOP = 0.95  # the probability of the answer
RIGHT = (0.9, 0.95, 0.98)  # of the decisions


def read(folder: Path | None, name: str) -> tuple[Pool, list[int]]:
    """A pool and its labels."""
    if name in BUILT_IN:
        data = BUILT_IN[name]()
        pool = fl.read_pool({"id": data.ids, "scores": data.scores}, classes=data.classes)
        return pool, [pool.classes.index(label) for label in data.labels]
    path = (folder or Path()) / f"{name}.npz"
    if folder is None or not path.exists():
        raise SystemExit(f"there is no {path}. Name the folder with the NPZ files by --data.")
    with np.load(path, allow_pickle=False) as file:
        return fl.read_pool(path), file["labels"].tolist()


def identify(folder: Path | None, name: str, methods: Sequence[str], runs: int) -> None:
    """Mean MRR at some shares of the labels, and the share at which it exceeds 0.99 with its standard error."""
    pool, labels = read(folder, name)
    for m, until in CASES[name]:
        task = fl.Identify(fl.Accuracy(), lowest=m)
        for words in methods:
            one = method(words)
            case = truth(pool, labels, fl.by_predicted(pool), task, [one])
            most = round(float(until[:-1]) / 100 * len(pool)) if one.prior.uses_items else len(pool)
            curves = np.array([mrr_curve(case, one, run_generator(0, run), most) for run in range(runs)])
            at = [round(float(share[:-1]) / 100 * len(pool)) for share in SHARES]
            mrr = " ".join(f"{curves[:, n].mean():.3f}" if n <= most else "  -  " for n in at)
            found, se = with_error(curves, 1.0 if one.target == "pool" else float(curves[0, -1]))
            print(
                f"identify  {name:13s} worst {m:2d} {words:24s} runs {runs:4d}  MRR at {', '.join(SHARES)}: {mrr}  "
                f"identified at {share_of(found, len(pool))} ± {share_of(se, len(pool))}",
                flush=True,
            )


def mrr_curve(
    case: Truth, one: Method, rng: np.random.Generator, most: int, ask: Asker | None = None
) -> NDArray[np.float64]:
    """The MRR after 0, 1, ... labels of a run, shape (most + 1,).

    Where each look is a fit there are fewer than in `simulate`, and between looks the curve stays as it was.
    """
    order, scorer = (ask or asker(case, one))(rng, most), scorer_of(case)
    if not one.prior.uses_items:
        curve = scorer.verdict(one, order, np.array([most]), rng).curve
        assert curve is not None
        return curve
    some = np.linspace(0, most, LOOKS).astype(int)
    found = np.array([mrr(case, scorer.belief(one, order[:n])) for n in some.tolist()])
    return found[np.searchsorted(some, np.arange(most + 1), side="right") - 1]


def mrr(case: Truth, belief: Belief) -> float:
    """(1/m) Σ 1/rank over the true m groups, the other members left out of the ranks."""
    value = case.task.metric.value(belief.mean(), case.cells)
    others = np.delete(value, np.union1d(case.members, np.flatnonzero(case.room == 0)))
    return float((1 / (1 + (others < value[case.members][:, None]).sum(axis=1))).mean())


def with_error(curves: NDArray[np.float64], ceiling: float = 1.0) -> tuple[float | None, float | None]:
    """Labels to identify, from curves of shape (runs, labels + 1), and their standard error (jackknife).

    `ceiling` is the MRR with all labels: 1 for the pool's own items; for the population a prior may keep it below.
    """
    total, runs = curves.sum(axis=0), len(curves)
    without = [labels_to_identify((total - curve) / (runs - 1), ceiling) for curve in curves]
    known = [n for n in without if n is not None]
    found = labels_to_identify(total / runs, ceiling)
    return found, float(np.sqrt((runs - 1) * np.var(known))) if len(known) == runs else None


def share_of(labels: float | None, items: int) -> str:
    """A number of labels in percent of the pool."""
    return "   - %" if labels is None else f"{100 * labels / items:4.1f} %"


def schedule(folder: Path | None, name: str, runs: int) -> None:
    """MRR, averaged over the labels, with fits now and then and with a fit before every request."""
    pool, labels = read(folder, name)
    m, until = CASES[name][-1]
    for policy in ("thompson", "boundary"):
        one = method(f"learned+{policy}+pool")
        case = truth(pool, labels, fl.by_predicted(pool), fl.Identify(fl.Accuracy(), lowest=m), [one])
        most = round(float(until[:-1]) / 100 * len(pool))
        for how, ask in (("now and then", asker(case, one)), ("every time", partial(ask_and_tell, case, one))):
            curves = np.array([mrr_curve(case, one, run_generator(0, run), most, ask) for run in range(runs)])
            each, (found, se) = curves.mean(axis=1), with_error(curves)
            print(
                f"schedule  {name:13s} worst {m:2d} {one.name:24s} runs {runs:4d}  fitted {how:12s}  mean MRR up to "
                f"{until}: {each.mean():.4f} ± {each.std(ddof=1) / np.sqrt(runs):.4f}  identified at "
                f"{share_of(found, len(pool))} ± {share_of(se, len(pool))}",
                flush=True,
            )


def compare(folder: Path | None, name: str, runs: int) -> None:
    """The labels that a decision between two groups takes if a given share of the decisions are to be right.

    Pairs of predicted classes at random. A run looks after every label at first, later whenever they grew by a
    twentieth, and stops once the answer's probability exceeds a threshold. The threshold is the one, for each method by
    itself, that takes the fewest labels for the wanted share of right decisions. Right is what holds in the pool.
    """
    pool, labels = read(folder, name)
    pairs = pairs_of(pool)
    each = max(1, round(runs / len(pairs)))
    for words, by in WAYS:
        one = method(words)
        paths = []
        for number, pair in enumerate(pairs):
            task = Compare(fl.Accuracy(), pool.classes[pair[0]], pool.classes[pair[1]], by=by)
            case = case_of(pool, labels, pair, task, one)
            some = (run_generator(0, number * each + run) for run in range(each))
            paths += [decide(case, one, rng, len(case.outcome)) for rng in some]
        print(f"compare   {name:13s} {words:22s} by {by:10s} {in_words(paths)}", flush=True)


def stop(folder: Path | None, name: str, methods: Sequence[str], runs: int) -> None:
    """The labels that naming the worst groups takes, and how often the name is right, as in `compare`."""
    pool, labels = read(folder, name)
    for m, until in CASES[name]:
        for words in methods:
            one = method(words)
            case = truth(pool, labels, fl.by_predicted(pool), fl.Identify(fl.Accuracy(), lowest=m), [one])
            most = round(float(until[:-1]) / 100 * len(pool))
            paths = [decide(case, one, run_generator(0, run), most) for run in range(runs)]
            print(f"stop      {name:13s} worst {m:2d} {words:24s} {in_words(paths)}", flush=True)


def in_words(paths: Sequence[Sequence[tuple[int, float, bool]]]) -> str:
    """The labels if runs stop at STOP, and with the thresholds that make a given share of decisions right."""
    tried = [stopped(paths, threshold) for threshold in 1 - np.logspace(-0.3, -3.5, 65)]
    taken, wrong = stopped(paths, STOP)
    sure = np.mean([any(look[1] >= STOP for look in path) for path in paths])
    line = f"runs {len(paths):4d}  labels when stopped at {STOP}: {labels_of(taken)}, "
    line += f"{1 - wrong.mean():.1%} right, {sure:.1%} before the end"
    for right in RIGHT:
        good = [taken for taken, wrong in tried if 1 - wrong.mean() >= right]
        line += f"; {right:.0%} right: {labels_of(min(good, key=np.mean)) if good else '-'}"
    return line


def labels_of(taken: NDArray[np.float64]) -> str:
    """Mean and standard error."""
    return f"{taken.mean():.1f} ± {taken.std(ddof=1) / np.sqrt(len(taken)):.1f}"


def pairs_of(pool: Pool) -> list[tuple[int, int]]:
    """Pairs of predicted classes that have enough items, at random, each at most once."""
    large = np.flatnonzero(np.bincount(pool.predicted, minlength=len(pool.classes)) >= LARGE).tolist()
    every = [(a, b) for i, a in enumerate(large) for b in large[i + 1 :]]
    chosen = np.random.default_rng(0).permutation(len(every))[:PAIRS].tolist()
    return [every[i] for i in chosen]


def case_of(pool: Pool, labels: list[int], pair: tuple[int, int], task: Compare, one: Method) -> Truth:
    """The comparison on a pool that has only the two groups."""
    items = np.flatnonzero(np.isin(pool.predicted, pair))
    columns: dict[str, NDArray[Any]] = {"predicted": pool.predicted[items]}
    if pool.confidence is not None:
        columns["confidence"] = pool.confidence[items]
    small = fl.read_pool(columns, classes=list(pool.classes))
    return truth(small, [labels[i] for i in items.tolist()], fl.by_predicted(small), task, [one])


def decide(case: Truth, one: Method, rng: np.random.Generator, most: int) -> list[tuple[int, float, bool]]:
    """At each look of a run: the labels so far, the probability of the answer, and whether it is right."""
    order, prior = asker(case, one)(rng, most), one.prior.on(case.cells, one.target)
    path, n = [], 0
    while True:
        belief = prior.belief(case.outcomes(order[:n]))
        answer = case.task.answer(belief, case.cells, rng, level=0.95, draws=DRAWS)
        assert answer.probability is not None
        path.append((n, answer.probability, is_right(case, answer)))
        if n == len(order) or answer.probability >= CERTAIN:
            return path
        # Ranks of many groups take longer than a difference of two: they are looked at half as often.
        ahead = next_fit(n) if isinstance(case.task, Compare) else next_fit(next_fit(n))
        n = min(ahead, len(order))


def is_right(case: Truth, answer: Answer) -> bool:
    """Whether an answer is true of the pool: the set of groups, or the region of the difference."""
    if not isinstance(case.task, Compare):
        return {case.cells.partition.names[g] for g in case.members.tolist()} == set(answer.groups)
    a, b = case.pair
    difference = case.value[a] - case.value[b]
    region = 1 if abs(difference) <= case.task.rope + 1e-12 else 0 if difference < 0 else 2
    row = next(answer.table.rows())
    return int(np.argmax([row[name] for name in REGIONS])) == region


def stopped(
    paths: Sequence[Sequence[tuple[int, float, bool]]], threshold: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The labels at which each run stops, and whether it then says the wrong thing, two of shape (runs,)."""
    ends = [next((look for look in path if look[1] >= threshold), path[-1]) for path in paths]
    return np.array([end[0] for end in ends], dtype=float), np.array([not end[2] for end in ends])


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--methods", default=",".join(METHODS), help="to identify with")
    parser.add_argument("--tasks", default="identify,compare")
    args = parser.parse_args()
    every = [name for name in CASES if (name in BUILT_IN) == (args.data is None)]
    for name in args.pools.split(",") if args.pools else every:
        runs = max(args.runs // SELDOM.get(name, 1), 2)
        if "identify" in args.tasks:
            identify(args.data, name, args.methods.split(","), runs)
        if "compare" in args.tasks:
            compare(args.data, name, args.runs)
        if "stop" in args.tasks:
            stop(args.data, name, args.methods.split(","), runs)
        if "schedule" in args.tasks:
            schedule(args.data, name, runs)


if __name__ == "__main__":
    main()
