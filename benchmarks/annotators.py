"""Labels that may be wrong: how far off is the accuracy, and how often is the truth inside its interval?

    python benchmarks/annotators.py cifar10h.npz --runs 100 --labels 500 --second 0.1
    python benchmarks/annotators.py cifar10h.npz --runs 20 --labels 300 --asked lowest
    python benchmarks/annotators.py cifar10h.npz --runs 12 --labels 80 --asked estimate --until 0.045

The file has `scores` (items, classes), `labels` (items,) and `human_counts` (items, classes): how many of about fifty
people gave each class to each item. A simulated annotator says what one of those people said, at random; so items that
are hard for people are hard for all of them. Items are drawn at random, a part of them gets a second vote, and two
ways of reading the votes are compared: every label as true, and the model of `fewlabels.noise`. `--part` takes only the
first or the second half of the items. With `--asked`, a whole assessment is played instead: its policy steers labels to
the worst class, or to what the average needs, and it asks for second votes where they are worth it. With `--until` as
well, the assessment says after those labels how many more it will take until the interval of the average is so wide,
and goes on until it is: did the forecast come true, and the plan made before the first label?
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import fewlabels as fl
from fewlabels.labelling.voting import Chance
from fewlabels.noise import Ballots, NoisyBelief, Usual, impute
from fewlabels.outcomes import Outcomes

if TYPE_CHECKING:
    from fewlabels.tasks import Task


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--labels", type=int, default=500)
    parser.add_argument("--second", type=float, default=0.1, help="the share of items with a second vote")
    parser.add_argument("--people", type=int, default=5)
    parser.add_argument("--asked", choices=["random", "lowest", "estimate"], default="random")
    parser.add_argument("--part", choices=["all", "first", "second"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--until", type=float, help="the width at which an assessment stops: is it foreseen?")
    given = parser.parse_args()
    study = Study(given.file, given.part)
    if given.until is None:
        compared(study, given)
    else:
        foreseen(study, given)


def compared(study: Study, given: argparse.Namespace) -> None:
    """Print both ways of reading."""
    start = time.process_time()
    play = study.run if given.asked == "random" else study.play
    rows = [play(np.random.default_rng([given.seed, run]), given) for run in range(given.runs)]
    seconds = (time.process_time() - start) / given.runs
    names = ("every label as true", "model of people")
    print(f"accuracy {study.accuracy:.4f}; people are right in {study.people_right:.4f} of their votes")
    second = float(np.mean([row.second for row in rows]))
    print(f"{given.runs} runs of {given.labels} items, {second:.0%} with a second vote; {seconds:.1f} s each")
    print(f"{'':22}{'bias':>8}{'± 2 se':>8}{'rmse':>8}{'coverage':>10}{'width':>8}{'labels right':>14}")
    for place, name in enumerate(names):
        off, inside, width, right = (np.array([row.ways[place][k] for row in rows]) for k in range(4))
        error, rmse = 2 * off.std() / np.sqrt(len(off)), np.sqrt((off**2).mean())
        print(
            f"{name:22}{off.mean():+8.4f}{error:8.4f}{rmse:8.4f}{inside.mean():10.0%}{width.mean():8.4f}{right.mean():14.4f}"
        )
    wrong = np.array([row.wrong for row in rows])
    print(f"people are wrong, by the model: {wrong.mean():.4f}; really {1 - study.people_right:.4f}")


def foreseen(study: Study, given: argparse.Namespace) -> None:
    """Print what forecasts said beside what it took, and the plan."""
    stop = fl.Stop(overall=given.until)
    rows = [study.foresee(np.random.default_rng([given.seed, run]), given, stop) for run in range(given.runs)]
    for row in rows:
        print(f"foreseen {row.more} ({row.low} to {row.high}), took {row.items} items and {row.votes} votes")
    inside = [(row.low or 0) <= row.items <= (np.inf if row.high is None else row.high) for row in rows]
    went_on = [row for row in rows if row.items]
    ratio = np.median([row.more / row.items for row in went_on if row.more is not None])
    again = np.median([row.votes / row.items for row in went_on])
    print(f"{np.mean(inside):.0%} of {given.runs} in the 80 % range; foreseen ÷ took {ratio:.2f}")
    print(f"votes ÷ items {again:.2f}")
    budgets = (100, 200, 300, 400, 600, 800)
    task = study.task(given)
    made = fl.plan(study.pool, task=task, target="pool", stop=stop, budgets=budgets, runs=30, noisy=True)
    took = np.quantile([given.labels + row.items for row in rows], 0.8)
    print(f"the plan recommended {made.recommended}; 80 % of the runs had it after {took:.0f} items")


class Foreseen(NamedTuple):
    """A forecast, and the further items and votes that it took."""

    more: int | None
    low: int | None
    high: int | None
    items: int
    votes: int


class Read(NamedTuple):
    """Both ways of reading (how far off, inside, width, labels that are right), how often people are wrong, and the
    share of items with a second vote."""

    ways: tuple[tuple[float, ...], tuple[float, ...]]
    wrong: float
    second: float


class Study:
    """A pool with many people's votes about each item."""

    def __init__(self, file: str, part: str) -> None:
        data = np.load(file, allow_pickle=False)
        half = len(data["labels"]) // 2
        which = {"all": slice(None), "first": slice(0, half), "second": slice(half, None)}[part]
        self.true = data["labels"][which].astype(np.int64)
        votes = data["human_counts"][which].astype(float)
        self.votes = votes / votes.sum(axis=1, keepdims=True)
        self.pool = fl.read_pool(data["scores"][which].astype(float), classes=[str(c) for c in data["classes"]])
        self.predicted = self.pool.predicted.astype(np.int64)
        self.cells = fl.Accuracy().cells(self.pool, fl.by_predicted(self.pool))
        self.prepared = fl.Learned().on(self.cells, "pool")
        self.share = self.cells.size / self.cells.size.sum()
        self.accuracy = float((self.predicted == self.true).mean())
        self.people_right = float(self.votes[np.arange(len(self.true)), self.true].mean())

    def run(self, rng: np.random.Generator, given: argparse.Namespace) -> Read:
        """Label some items, and read them both ways."""
        items = rng.choice(len(self.true), given.labels, replace=False)
        votes: dict[int, dict[str, int]] = {}
        for place, item in enumerate(items.tolist()):
            who = rng.choice(given.people, 2 if place < given.second * given.labels else 1, replace=False)
            votes[item] = {f"p{r}": int(rng.choice(self.votes.shape[1], p=self.votes[item])) for r in who}
        ballots = Ballots.of(votes, classes=self.votes.shape[1])
        chance = Chance(self.cells, self.prepared, self.predicted)
        sums = self.pool.score_sums
        assert sums is not None
        looks = np.asarray(sums, dtype=float)
        imputed = impute(ballots, self.predicted, chance, looks, Usual(), rng, confidence=self.pool.confidence)
        plain = self._numbers(self._beliefs(ballots.items, ballots.majority()[None])[0], rng)
        model = self._numbers(NoisyBelief.of(self._beliefs(imputed.items, imputed.labels)), rng)
        true = self.true[ballots.items]
        most_probable = imputed.probability.argmax(axis=1)
        return Read(
            ((*plain, float((ballots.majority() == true).mean())), (*model, float((most_probable == true).mean()))),
            float(imputed.wrong.mean()),
            float((ballots.votes > 1).mean()),
        )

    def play(self, rng: np.random.Generator, given: argparse.Namespace) -> Read:
        """Play whole assessments that ask by their own policy: with labels taken as true, and with the model."""
        seed, ways = int(rng.integers(2**31)), []
        for noisy in (False, True):
            audit = fl.create(None, "played", self.pool, task=self.task(given), target="pool", seed=seed, noisy=noisy)
            self._label(audit, rng, given)
            row = next(iter(audit.estimates(groups=fl.whole(self.pool)).rows()))
            labels = audit.labels()
            right = self.pool.class_positions(labels.values()) == self.true[self.pool.positions(labels)]
            inside = row["low"] <= self.accuracy <= row["high"]
            ways.append((row["mean"] - self.accuracy, float(inside), row["high"] - row["low"], float(right.mean())))
        votes = Counter(event.item for event in audit.history() if event.label is not None)
        return Read((ways[0], ways[1]), audit.annotators().floor, float(np.mean([n > 1 for n in votes.values()])))

    def task(self, given: argparse.Namespace) -> Task:
        """The question of the assessments that are played."""
        return fl.Estimate(fl.Accuracy()) if given.asked == "estimate" else fl.Identify(fl.Accuracy(), lowest=1)

    def foresee(self, rng: np.random.Generator, given: argparse.Namespace, stop: fl.Stop) -> Foreseen:
        """Play a noisy assessment, let it forecast, and go on until its rule is met."""
        seed = int(rng.integers(2**31))
        audit = fl.create(None, "x", self.pool, task=self.task(given), target="pool", seed=seed, noisy=True, stop=stop)
        turn = self._label(audit, rng, given)
        seen, before, votes = fl.forecast(audit), audit.labelled, audit.seq
        while not audit.standing().reached and audit.labelled < before + 1_000:
            turn = self._turn(audit, rng, given, turn)
        given_since = sum(event.label is not None for event in audit.history() if event.seq > votes)
        return Foreseen(seen.more, seen.low, seen.high, audit.labelled - before, given_since)

    def _label(self, audit: fl.Assessment, rng: np.random.Generator, given: argparse.Namespace) -> int:
        """Let people label in turn, 20 items each time; the number of turns."""
        turn = 0
        while audit.labelled < given.labels:
            turn = self._turn(audit, rng, given, turn)
        return turn

    def _turn(self, audit: fl.Assessment, rng: np.random.Generator, given: argparse.Namespace, turn: int) -> int:
        """Let the next person label 20 items."""
        who = f"p{turn % given.people}"
        items = audit.ask(20, annotator=who, slack=0.3).ids
        votes = self.votes[self.pool.positions(items)]
        said = [self.pool.classes[rng.choice(votes.shape[1], p=one)] for one in votes]
        audit.tell(dict(zip(items, said, strict=True)), annotator=who)
        return turn + 1

    def _beliefs(self, items: np.ndarray, labels: np.ndarray) -> list[fl.Belief]:
        wrong = (labels != self.predicted[items]).astype(np.int64)
        return self.prepared.beliefs([Outcomes.of(self.cells, items, one) for one in wrong])

    def _numbers(self, belief: fl.Belief, rng: np.random.Generator) -> tuple[float, float, float]:
        draws = belief.draws(rng, 2_000)[:, :, 0] @ self.share
        low, high = np.quantile(draws, [0.025, 0.975])
        return float(draws.mean()) - self.accuracy, float(low <= self.accuracy <= high), float(high - low)


if __name__ == "__main__":
    main()
