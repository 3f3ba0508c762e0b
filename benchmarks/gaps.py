"""How often is the largest gap between groups called nearly certain, where groups do not differ, and where one does?

Run: python benchmarks/gaps.py [--groups 6] [--gap 1.2] [--confidences] [--target pool] [--runs 100] [--labels 300]

A classifier says yes or no to 3,000 people. It is equally good in all groups, so every gap in accuracy, true positive
rate, false positive rate and precision is chance; with --gap it is worse in the first group, by so much in log-odds.
Labels are asked for in each group, as `fewlabels new --groups column:site --stop-width 0.2` does. For each measure, the
table says in how many runs `audit.fairness` gave the largest of its gaps a probability of at least 95%, in how many the
groups were the other way round among these very people, and in how many the interval contained their gap.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

import fewlabels as fl

if TYPE_CHECKING:
    from numpy.typing import NDArray

PEOPLE, ENOUGH = 3_000, 0.95
MEASURES = ("accuracy", "true positive rate", "false positive rate", "precision")


def world(
    rng: np.random.Generator, groups: int, gap: float, *, confidences: bool
) -> tuple[dict[str, Any], NDArray[np.bool_], NDArray[np.int64]]:
    """The file, who is truly a yes, and the group of each person."""
    group, true = rng.integers(0, groups, PEOPLE), rng.random(PEOPLE) < 0.6
    log_odds = rng.normal(1.73, 1.2, PEOPLE) if confidences else np.full(PEOPLE, 1.73)
    right = rng.random(PEOPLE) < 1 / (1 + np.exp(gap * (group == 0) - log_odds))
    rows: dict[str, Any] = {
        "id": [f"p{i}" for i in range(PEOPLE)],
        "predicted": np.where(right == true, "yes", "no"),
        "site": [f"site {g}" for g in group],
    }
    if confidences:
        rows["confidence"] = np.clip(1 / (1 + np.exp(-log_odds)), 0.5, 0.9999)
    return rows, true, group


def true_values(said: NDArray[np.bool_], true: NDArray[np.bool_], group: NDArray[np.int64]) -> dict[str, Any]:
    """Each measure of each group among these very people."""
    measures = ((said == true, said | True), (said, true), (said, ~true), (true, said))
    return {
        name: np.bincount(group, hit & of) / np.maximum(np.bincount(group, of), 1)
        for name, (hit, of) in zip(MEASURES, measures, strict=True)
    }


def largest_gaps(seed: int, labels: int, groups: int, gap: float, target: Any, *, confidences: bool) -> dict[str, Any]:
    """Whether each largest gap is said to be nearly certain, whether it is then the wrong way round, and whether it is
    inside its interval.
    """
    rows, true, group = world(np.random.default_rng(seed), groups, gap, confidences=confidences)
    pool = fl.read_pool(rows, columns=["site"])
    people = dict(zip(rows["id"], np.where(true, "yes", "no").tolist(), strict=True))
    task, stop = fl.Estimate(fl.Accuracy()), fl.Stop(width=0.2)
    audit = fl.create(None, "gaps", pool, "column:site", task=task, stop=stop, seed=seed, target=target)
    audit.tell({item: people[item] for item in audit.ask(labels).ids})
    truth = true_values(rows["predicted"] == "yes", true, group)
    found = {}
    for row in audit.fairness(positive="yes").gaps.rows():
        if row["probability"] is not None:
            low, high = (truth[row["measure"]][int(row[end].split()[1])] for end in ("lowest", "highest"))
            sure = row["probability"] >= ENOUGH
            found[row["measure"]] = (sure, sure and high <= low, row["low"] <= high - low <= row["high"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--labels", type=int, default=300)
    parser.add_argument("--groups", type=int, default=6)
    parser.add_argument("--gap", type=float, default=0.0)
    parser.add_argument("--confidences", action="store_true")
    parser.add_argument("--target", default="population")
    given = parser.parse_args()
    found = defaultdict(list)
    for seed in range(given.runs):
        asked = given.labels, given.groups, given.gap, given.target
        for name, row in largest_gaps(seed, *asked, confidences=given.confidences).items():
            found[name].append(row)
    print(f"{given.groups} groups, {given.labels} labels, {given.runs} runs:")
    for name in MEASURES:
        shares = np.sum(found[name], axis=0) / given.runs if found[name] else np.zeros(3)
        errors = np.sqrt(shares * (1 - shares) / given.runs)
        sure, wrong, inside = (f"{100 * s:5.1f} ± {100 * e:3.1f}%" for s, e in zip(shares, errors, strict=True))
        print(f"  {name:20} sure in {sure}, the wrong way round in {wrong}, inside in {inside}")


if __name__ == "__main__":
    main()
