"""How many labels a verdict takes, and how often a pass is false: `Certify` by policy.

python benchmarks/gate.py [--what labels,near,under,promise,length] [--data DIR] [--pools fashion,cifar10h] [--runs 20]
                          [--policies Greedy,UniformItems]

labels:  real classifiers, groups by predicted class, the learned prior, a look after every tenth label. The line lies
         twelve points below the worst class (the verdict should be pass) or 15 above it (fail, at most 97 %). Labels
         until the verdict, on average, and how often it was the wrong one; by the posterior and with the guarantee.
near:    the line lies one point above the worst class, so that every pass is a false one: how often a run passes at one
         look (after 100, 200 and 300 labels), and how often at some look, if somebody looks after every ten of them.
under:   the line lies one point below the worst class, so that every fail is a false one: likewise.
promise: made-up populations, one group half a point below the line, a look after every label, the guarantee at 0.95:
         how often the bets of this group are ever won. That is the most that false passes can be, whatever the policy.
length:  how many times as long as the posterior's the guaranteed interval of one group is.

DIR has NPZ files of predictions with labels; fashion is built in.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

import fewlabels as fl
from fewlabels.anytime import Bets, evidence_above, population_sequence
from fewlabels.outcomes import Outcomes
from fewlabels.policies.step import Queue, ask_step
from fewlabels.tasks import Rewards

if TYPE_CHECKING:
    from collections.abc import Iterator

POLICIES = (fl.Greedy(), fl.Thompson(), fl.UniformGroups(), fl.UniformItems())
LINES = {"pass": -0.12, "fail": 0.15, "near": 0.01, "under": -0.01}
BATCH = 10
DRAWS = 2_000
MOST = {"pass": 1_500, "fail": 1_500, "near": 300, "under": 300}
AT = (100, 200, 300)


@dataclass(frozen=True, eq=False)
class Case:
    """A pool with what the label of each item shows, its groups' true shares, and a line."""

    name: str
    pool: fl.Pool
    outcome: np.ndarray
    truth: np.ndarray
    line: float

    def task(self, guarantee: bool) -> fl.Certify:
        return fl.Certify(fl.Accuracy(), at_least=self.line, guarantee="anytime" if guarantee else None)

    @property
    def right(self) -> str:
        return "pass" if (self.truth >= self.line).all() else "fail"


def case_of(name: str, folder: Path | None, line: str) -> Case:
    """A pool by its name; the line is relative to its worst class."""
    if name == "fashion":
        data = fl.load_fashion()
        pool = fl.read_pool({"id": data.ids, "scores": data.scores}, classes=data.classes)
        true = pool.class_positions(list(data.labels))
    else:
        path = Path(folder or ".") / f"{name}.npz"
        if not path.exists():
            raise SystemExit(f"There is no {path.name} in the folder. Say where the NPZ files are with --data DIR.")
        with np.load(path) as data:
            pool = fl.read_pool({"scores": data["scores"]}, classes=[str(c) for c in data["classes"]])
            true = data["labels"].astype(np.int64)
    outcome = (pool.predicted != true).astype(np.int64)
    counts = np.bincount(pool.predicted, minlength=len(pool.classes))
    truth = np.bincount(pool.predicted, 1 - outcome, minlength=len(counts))[counts > 0] / counts[counts > 0]
    return Case(name, pool, outcome, truth, round(min(float(truth.min()) + LINES[line], 0.97), 3))


def play(case: Case, policy: fl.Policy, guarantee: bool, most: int, seed: int) -> tuple[int, str]:
    """Ask until there is a verdict or `most` labels: how many labels, and the verdict."""
    last = 0, "open"
    for last in look_by_look(case, policy, guarantee, most, seed):
        if last[1] != "open":
            break
    return last


def wrong(case: Case, policy: fl.Policy, guarantee: bool, most: int, seed: int) -> list[int]:
    """The label counts at which a run that goes on to `most` labels has the wrong verdict."""
    looks = look_by_look(case, policy, guarantee, most, seed)
    return [labels for labels, verdict in looks if verdict not in ("open", case.right)]


def look_by_look(case: Case, policy: fl.Policy, guarantee: bool, most: int, seed: int) -> Iterator[tuple[int, str]]:
    """Ask for ten labels at a time: how many there are, and the verdict."""
    groups, task = fl.by_predicted(case.pool), case.task(guarantee)
    cells = task.metric.cells(case.pool, groups)
    prior = fl.Learned().on(cells, "population")
    rng = np.random.default_rng([seed, 7])
    free = Queue.of(groups, task.askable(cells), ()).copy()
    asked: list[int] = []
    while True:
        items = np.array(asked, dtype=np.int64)
        belief = prior.belief(Outcomes.of(cells, items, case.outcome[items]))
        verdict = task.answer(belief, cells, rng, level=0.95, draws=DRAWS).settings["verdict"] if asked else "open"
        yield len(asked), verdict
        if len(asked) >= most or not free.room.any():
            return
        waiting = np.zeros(len(cells), dtype=np.int64)
        for _ in range(BATCH):
            taken = ask_step(policy, Rewards(task, cells, belief.awaiting(waiting)), free, rng, 1, best_first=True)
            asked += taken
            waiting[cells.cell[taken]] += 1


def named(policy: fl.Policy) -> str:
    return type(policy).__name__


def wrong_verdicts(
    line: str, names: list[str], folder: Path | None, policies: tuple[fl.Policy, ...], runs: int, jobs: int
) -> None:
    with ProcessPoolExecutor(jobs) as work:
        for name in names:
            case = case_of(name, folder, line)
            for policy, guarantee in product(policies, (False, True)):
                parts = [work.submit(wrong, case, policy, guarantee, MOST[line], seed) for seed in range(runs)]
                found = [part.result() for part in parts]
                shares = [np.mean([at in looks for looks in found]) for at in AT] + [np.mean([*map(bool, found)])]
                ends = "  ".join(f"{s:4.0%} ± {np.sqrt(s * (1 - s) / runs):3.0%}" for s in shares)
                how = "anytime" if guarantee else "posterior"
                print(
                    f"{name:11s} {line:5s} line {case.line:.3f} {named(policy):13s} {how:9s} wrong at "
                    f"{', '.join(map(str, AT))} labels, at some look: {ends} of {runs} runs",
                    flush=True,
                )


def real(
    names: list[str], folder: Path | None, lines: tuple[str, ...], policies: tuple[fl.Policy, ...], runs: int, jobs: int
) -> None:
    with ProcessPoolExecutor(jobs) as work:
        for name in names:
            for line in lines:
                case = case_of(name, folder, line)
                for policy, guarantee in product(policies, (False, True)):
                    parts = [work.submit(play, case, policy, guarantee, MOST[line], seed) for seed in range(runs)]
                    tell(case, line, policy, guarantee, [part.result() for part in parts])


def tell(case: Case, line: str, policy: fl.Policy, guarantee: bool, ends: list[tuple[int, str]]) -> None:
    counts = np.array([labels for labels, _ in ends])
    wrong = sum(verdict not in (case.right, "open") for _, verdict in ends)
    undecided = sum(verdict == "open" for _, verdict in ends)
    error = counts.std(ddof=1) / np.sqrt(len(counts)) if len(counts) > 1 else np.nan
    how = "anytime" if guarantee else "posterior"
    print(
        f"{case.name:11s} {line:5s} line {case.line:.3f} {named(policy):13s} {how:9s} "
        f"labels {counts.mean():6.0f} ± {error:3.0f}  undecided {undecided}/{len(ends)}  wrong {wrong}",
        flush=True,
    )


def promise(runs: int) -> None:
    """How often the bets of a group half a point below the line are ever won, at some of 1,000 looks.

    All groups must win theirs, so no policy, no other group and no way of stopping makes a false pass more frequent.
    """
    rng = np.random.default_rng(11)
    for line in (0.5, 0.8, 0.9, 0.95):
        for expected in (line - 0.2, line + 0.04):
            right = np.cumsum(rng.random((runs, 1_000)) < line - 0.005, axis=1, dtype=np.int64)
            wrong = np.arange(1, 1_001) - right
            bets = Bets.on(np.full(right.size, expected))
            won = evidence_above(line, right.ravel(), wrong.ravel(), bets).reshape(right.shape) >= np.log(20)
            share = float(won.any(axis=1).mean())
            error = np.sqrt(share * (1 - share) / runs)
            print(f"promise  line {line} bets on {expected:.2f}  ever passed {share:.1%} ± {error:.1%} of {runs} runs")


def length() -> None:
    """Print how many times as long as the posterior's the guaranteed interval of one group is, at 20 to 400 labels."""
    labels = np.array([20, 50, 100, 200, 400])
    for share in (0.5, 0.8, 0.9, 0.95):
        right = np.rint(share * labels).astype(np.int64)
        wrong = labels - right
        low, high = population_sequence(right, wrong, Bets.on(np.full(len(labels), share)), 0.95)
        usual = betaincinv(right + 1, wrong + 1, 0.975) - betaincinv(right + 1, wrong + 1, 0.025)
        times = ", ".join(f"{ratio:.2f}" for ratio in (high - low) / usual)
        print(f"length   share {share}  at 20, 50, 100, 200, 400 labels: {times} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", default="labels,near,under,promise,length")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", default="fashion")
    parser.add_argument("--policies", default=",".join(map(named, POLICIES)))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    wanted = given.what.split(",")
    pools = given.pools.split(",")
    policies = tuple(policy for policy in POLICIES if named(policy) in given.policies.split(","))
    if "labels" in wanted:
        real(pools, given.data, ("pass", "fail"), policies, given.runs, given.jobs)
    for line in ("near", "under"):
        if line in wanted:
            wrong_verdicts(line, pools, given.data, policies, given.runs, given.jobs)
    if "length" in wanted:
        length()
    if "promise" in wanted:
        promise(given.runs * 100)


if __name__ == "__main__":
    main()
