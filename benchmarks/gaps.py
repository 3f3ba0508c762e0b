"""How often is the largest gap between groups called nearly certain, where the groups do not differ?

Run: python benchmarks/gaps.py [--runs 100] [--labels 300] [--races 3]

A classifier says yes or no to 3,000 people. It is equally good for both sexes and all races, so every gap in accuracy,
true positive rate, false positive rate and precision is chance. Labels are asked for in each group, as `fewlabels new
--groups column:sex,column:race --stop-width 0.2` does. For each measure, the table says in how many runs
`audit.fairness` gave the largest of its gaps a probability of at least 95%.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

import fewlabels as fl

PEOPLE, ENOUGH = 3_000, 0.95
MEASURES = ("accuracy", "true positive rate", "false positive rate", "precision")


def sure_gaps(seed: int, labels: int, races: int) -> list[str]:
    """The measures of one run whose largest gap is said to be nearly certain."""
    rng = np.random.default_rng(seed)
    columns = {"sex": rng.choice(["f", "m"], PEOPLE), "race": rng.choice(list("abcdefgh")[:races], PEOPLE)}
    true = rng.random(PEOPLE) < 0.6
    said = rng.random(PEOPLE) < np.where(true, 0.85, 0.15)
    ids = [f"p{i}" for i in range(PEOPLE)]
    rows = {"id": ids, "predicted": np.where(said, "yes", "no"), **columns}
    pool = fl.read_pool(rows, columns=list(columns))
    people = dict(zip(ids, np.where(true, "yes", "no").tolist(), strict=True))
    groups = fl.cross(*(fl.by_column(pool, name) for name in columns))
    task, stop = fl.Estimate(fl.Accuracy()), fl.Stop(width=0.2)
    audit = fl.create(None, "gaps", pool, groups, task=task, stop=stop, seed=seed)
    audit.tell({item: people[item] for item in audit.ask(labels).ids})
    gaps = audit.fairness(groups, positive="yes").gaps
    return [row["measure"] for row in gaps.rows() if (row["probability"] or 0) >= ENOUGH]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--labels", type=int, default=300)
    parser.add_argument("--races", type=int, default=3)
    given = parser.parse_args()
    found = Counter(name for seed in range(given.runs) for name in sure_gaps(seed, given.labels, given.races))
    print(f"{2 * given.races} groups that do not differ, {given.labels} labels, {given.runs} runs:")
    for name in MEASURES:
        share = found[name] / given.runs
        print(f"  {name:20} {share:5.1%} ± {np.sqrt(share * (1 - share) / given.runs):.1%}")


if __name__ == "__main__":
    main()
