"""How many labels a verdict takes, and how often a pass is false: `Certify` by policy.

python benchmarks/gate.py [--what labels,near,under,promise,misses,length] [--data DIR] [--pools fashion,cifar10h]
                          [--runs 20] [--policies Greedy,UniformItems] [--verdicts posterior,anytime]

labels:  real classifiers, groups by predicted class, the learned prior, a look after every tenth label. The line lies
         twelve points below the worst class (the verdict should be pass) or 15 above it (fail, at most 97 %). Labels
         until the verdict, on average, and how often it was the wrong one; by the posterior and with the guarantee.
near:    the line lies one point above the worst class, so that every pass is a false one: how often a run passes at one
         look (after 100, 200 and 300 labels), and how often at some look, if somebody looks after every ten of them.
under:   the line lies one point below the worst class, so that every fail is a false one: likewise.
promise: made-up populations, one group half a point below the line, a look after every label, the guarantee at 0.95:
         how often the bets of this group are ever won. That is the most that false passes can be, whatever the policy.
misses:  made-up populations and pools of three groups, twenty truths, three policies, a look after every label: how
         often a guaranteed interval ever misses the true value, as whoever stops at the worst moment would find.
length:  how many times as long as the posterior's the guaranteed interval of one group is.

Policies that steer draw anchors, as assessments do. DIR has NPZ files of predictions with labels; fashion and digits
are built in.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaincinv

import fewlabels as fl
from fewlabels.anytime import Bets, evidence_above, pool_sequence, population_sequence
from fewlabels.outcomes import Outcomes
from fewlabels.policies.anchors import default_anchor
from fewlabels.policies.step import Queue, ask_step
from fewlabels.tasks import Rewards

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewlabels.belief import Target
    from fewlabels.cells import Cells
    from fewlabels.priors import Prepared

BUILT_IN = {"fashion": fl.load_fashion, "digits": fl.load_digits}
POLICIES = (fl.Greedy(), fl.Thompson(), fl.UniformGroups(), fl.UniformItems())
LINES = {"pass": -0.12, "fail": 0.15, "near": 0.01, "under": -0.01}
BATCH = 10
DRAWS = 2_000
MOST = {"pass": 1_500, "fail": 1_500, "near": 300, "under": 300}
AT = (100, 200, 300)
TRUTHS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.99)


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
    if name in BUILT_IN:
        data = BUILT_IN[name]()
        pool = fl.read_pool({"id": data.ids, "scores": data.scores}, classes=data.classes)
        true = pool.class_positions(list(data.labels))
    else:
        path = Path(folder or ".") / f"{name}.npz"
        if not path.exists():
            raise SystemExit(f"There is no {path.name} in the folder. Say where the NPZ files are with --data DIR.")
        pool = fl.read_pool(path)
        with np.load(path, allow_pickle=False) as file:
            true = file["labels"].astype(np.int64)
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
    share = default_anchor(task, fl.Learned(), policy, cells)
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
            anchor, rewards = share > 0 and rng.random() < share, Rewards(task, cells, belief.awaiting(waiting))
            taken = ask_step(policy, rewards, free, rng, 1, best_first=True, anchor=anchor)
            asked += taken
            waiting[cells.cell[taken]] += 1


def named(policy: fl.Policy) -> str:
    return type(policy).__name__


class Plan(NamedTuple):
    """What is run: pools, policies, verdicts with and without the guarantee, and how often."""

    pools: list[str]
    folder: Path | None
    policies: tuple[fl.Policy, ...]
    guarantees: tuple[bool, ...]
    runs: int
    jobs: int

    def cases(self, line: str) -> Iterator[tuple[Case, fl.Policy, bool]]:
        for name in self.pools:
            case = case_of(name, self.folder, line)
            for policy, guarantee in product(self.policies, self.guarantees):
                yield case, policy, guarantee


def wrong_verdicts(line: str, plan: Plan) -> None:
    with ProcessPoolExecutor(plan.jobs) as work:
        for case, policy, guarantee in plan.cases(line):
            parts = [work.submit(wrong, case, policy, guarantee, MOST[line], seed) for seed in range(plan.runs)]
            found = [part.result() for part in parts]
            shares = [np.mean([at in looks for looks in found]) for at in AT] + [np.mean([*map(bool, found)])]
            ends = "  ".join(f"{s:4.0%} ± {np.sqrt(s * (1 - s) / plan.runs):3.0%}" for s in shares)
            how = "anytime" if guarantee else "posterior"
            print(
                f"{case.name:11s} {line:5s} line {case.line:.3f} {named(policy):13s} {how:9s} wrong at "
                f"{', '.join(map(str, AT))} labels, at some look: {ends} of {plan.runs} runs",
                flush=True,
            )


def real(line: str, plan: Plan) -> None:
    with ProcessPoolExecutor(plan.jobs) as work:
        for case, policy, guarantee in plan.cases(line):
            parts = [work.submit(play, case, policy, guarantee, MOST[line], seed) for seed in range(plan.runs)]
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


def misses(runs: int) -> None:
    """How often the guaranteed interval of a group ever misses its true value, in percent of the groups of all runs."""
    size, labels, others = 200, 150, (0.7, 0.9)
    pool = fl.read_pool({"predicted": [f"g{k}" for k in range(3) for _ in range(size)]})
    cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    targets: tuple[Target, ...] = ("population", "pool")
    for policy, target in product((fl.Thompson(), fl.Greedy(), fl.UniformGroups()), targets):
        prior, rng = fl.Uniform().on(cells, target), np.random.default_rng(13)
        found = []
        for share in TRUTHS:
            right = np.rint(size * np.array([share, *others])).astype(np.int64)
            missed = [ever_missed(prior, target, cells, policy, right, labels, rng) for _ in range(runs)]
            found.append(float(np.mean(missed)))
        mean, worst = float(np.mean(found)), int(np.argmax(found))
        print(
            f"misses   {named(policy):13s} {target:10s} ever missed {mean:.1%} ± "
            f"{np.sqrt(mean * (1 - mean) / (3 * runs * len(TRUTHS))):.1%}, at most {found[worst]:.1%} ± "
            f"{np.sqrt(found[worst] * (1 - found[worst]) / (3 * runs)):.1%} (at {TRUTHS[worst]}); {runs} runs of each "
            f"of {len(TRUTHS)} truths",
            flush=True,
        )


def ever_missed(
    prior: Prepared,
    target: Target,
    cells: Cells,
    policy: fl.Policy,
    right: np.ndarray,
    labels: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Whether the interval of each group misses its true share after some of the labels, shape (groups,)."""
    task, size = fl.Estimate(fl.Accuracy()), cells.size
    if target == "pool":  # exactly so many right items
        outcome = np.concatenate([rng.permutation(n) >= r for n, r in zip(size, right, strict=True)]).astype(np.int64)
    else:
        outcome = (rng.random(int(size.sum())) >= (right / size)[cells.cell]).astype(np.int64)
    free, asked = Queue.of(cells.partition, task.askable(cells), ()).copy(), np.empty(0, dtype=np.int64)
    told: list[np.ndarray] = []
    for _ in range(labels):
        belief = prior.belief(Outcomes.of(cells, asked, outcome[asked]))
        asked = np.append(asked, ask_step(policy, Rewards(task, cells, belief), free, rng, 1, best_first=True))
        told.append(np.rint(Outcomes.of(cells, asked, outcome[asked]).counts).astype(np.int64))
    counts = np.concatenate(told)
    bets = Bets.on(np.full(len(counts), 0.75))
    if target == "pool":
        low, high = pool_sequence(counts[:, 0], counts[:, 1], np.tile(size, labels), bets, 0.95)
    else:
        low, high = population_sequence(counts[:, 0], counts[:, 1], bets, 0.95)
    true = np.tile(right / size, labels)
    outside = (low > true + 1e-9) | (high < true - 1e-9)
    return np.asarray(outside.reshape(labels, -1).any(axis=0))


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
    parser.add_argument("--what", default="labels,near,under,promise,misses,length")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", default="fashion")
    parser.add_argument("--policies", default=",".join(map(named, POLICIES)))
    parser.add_argument("--verdicts", default="posterior,anytime")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    wanted = given.what.split(",")
    policies = tuple(policy for policy in POLICIES if named(policy) in given.policies.split(","))
    guarantees = tuple(how == "anytime" for how in given.verdicts.split(","))
    plan = Plan(given.pools.split(","), given.data, policies, guarantees, given.runs, given.jobs)
    for line in ("pass", "fail") if "labels" in wanted else ():
        real(line, plan)
    for line in ("near", "under"):
        if line in wanted:
            wrong_verdicts(line, plan)
    if "length" in wanted:
        length()
    if "promise" in wanted:
        promise(given.runs * 100)
    if "misses" in wanted:
        misses(given.runs)


if __name__ == "__main__":
    main()
