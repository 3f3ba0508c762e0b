"""What `make demo` runs: find a classifier's worst class from few labels, then check the answer and the cost."""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

import fewlabels as fl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# How many of the least accurate classes to look for. One, with TopTwo, was picked after trying others on these data:
# for three, Thompson needed about as many labels as random items. The demo is an illustration, not a benchmark.
WORST = 1
SURE = 0.95  # stop when the answer is right with this probability
BUDGET = 1_000  # or after this many labels
BATCH = 20  # labels between two looks at the answer
RUNS = 15  # repetitions of each way of choosing items, to compare their cost
DRAWS = 1_000
REPORT = Path("demo-report.md")

NAMED = "class" if WORST == 1 else f"{WORST} classes"


@dataclass(frozen=True)
class Run:
    """One assessment from the first label to the last."""

    labels: int
    sure: bool
    answer: fl.Answer


def assess(
    pool: fl.Pool,
    truth: Mapping[str, str],
    policy: fl.TopTwo | fl.UniformItems,
    seed: int,
    told: Callable[[int, fl.Answer], None] = lambda _labels, _answer: None,
) -> Run:
    """Ask, look the label up in the truth (the part a person would play), tell; until sure or out of budget."""
    task = fl.Identify(fl.Accuracy(), lowest=WORST)
    audit = fl.create(None, "demo", pool, fl.by_predicted(pool), task=task, policy=policy, target="pool", seed=seed)
    labels, answer = 0, audit.answer(draws=DRAWS)
    while labels < BUDGET and (answer.probability or 0) < SURE:
        batch = audit.ask(min(BATCH, BUDGET - labels))
        labels += audit.tell({item: truth[item] for item in batch.ids})
        answer = audit.answer(draws=DRAWS)
        told(labels, answer)
    audit.close()
    return Run(labels, (answer.probability or 0) >= SURE, answer)


def progress(stream: TextIO) -> Callable[[int, fl.Answer], None]:
    """A line that rewrites itself on a terminal; elsewhere a new line every 25 labels or so."""
    last = 0

    def told(labels: int, answer: fl.Answer) -> None:
        nonlocal last
        line = f"{labels:5d} labels: probably {', '.join(answer.groups)} ({answer.probability:.0%} sure)"
        if stream.isatty():
            stream.write(f"\r\x1b[K{line}")
        elif labels // 25 > last // 25:
            stream.write(f"{line}\n")
        last = labels
        stream.flush()

    return told


def true_accuracy(pool: fl.Pool, truth: Sequence[str]) -> dict[str, float]:
    """The share of right predictions in each group, from all labels: what the assessment tries to find out."""
    groups = fl.by_predicted(pool)
    right = pool.predicted == pool.class_positions(truth)
    shares = np.bincount(groups.group, right) / groups.sizes
    return dict(zip(groups.names, shares.tolist(), strict=True))


def result_lines(answer: fl.Answer, accuracy: Mapping[str, float]) -> list[str]:
    """The table of all classes, the most suspicious first."""
    lines = ["it says   items   labelled   right, about   between (95 %)   chance to be worst   truth"]
    for row in answer.table.rows():
        name = row["group"]
        known = f"{name:<8} {row['n']:6d}   {row['labelled']:8d}   {row['mean']:12.0%}"
        bounds = f"{row['low']:.0%} and {row['high']:.0%}"
        lines.append(f"{known}   {bounds:>14}   {row['chance']:18.1%}   {accuracy[name]:5.1%}")
    return lines


def check_lines(answer: fl.Answer, accuracy: Mapping[str, float]) -> list[str]:
    """How the answer and the intervals compare with the truth."""
    worst = sorted(accuracy, key=lambda name: accuracy[name])[:WORST]
    verdict = "That is right" if set(worst) == set(answer.groups) else f"That is wrong: it is {', '.join(worst)}"
    rows = list(answer.table.rows())
    held = sum(row["low"] <= accuracy[row["group"]] <= row["high"] for row in rows)
    return [
        f"The answer: it is worst where it says {', '.join(answer.groups)} ({answer.probability:.0%} sure). {verdict}.",
        f"The truth, from all labels, lies inside the interval for {held} of {len(rows)} classes.",
    ]


def cost_lines(chosen: Sequence[Run], random: Sequence[Run]) -> list[str]:
    """How many labels the two ways of choosing items needed, in words that fit whoever won."""

    def told(runs: Sequence[Run]) -> str:
        counts = sorted(run.labels for run in runs)
        never = sum(not run.sure for run in runs)
        spread = f"from {counts[0]} to {counts[-1]}" + (f", {never} of them not sure by then" if never else "")
        return f"{median(runs):5.0f} labels in the middle of {len(runs)} runs ({spread})"

    ratio = median(chosen) / median(random)
    verdict = f"{1 - ratio:.0%} fewer" if ratio < 1 else f"{ratio - 1:.0%} more" if ratio > 1 else "no fewer"
    return [
        f"What that certainty costs, measured just now with the same rule for stopping ({SURE:.0%} sure):",
        f"  fewlabels chooses the items: {told(chosen)}",
        f"  items taken at random:       {told(random)}",
        f"So choosing took {verdict} labels than taking items at random. {len(chosen)} runs make this a rough number,",
        "and data and question were picked to show the method: this is no benchmark.",
    ]


def median(runs: Sequence[Run]) -> float:
    """The middle number of labels; a run that never got sure counts with its budget, which is too low."""
    return statistics.median(run.labels for run in runs)


def main() -> None:
    """Run the demo and write the report."""
    digits = fl.load_digits()
    truth = dict(zip(digits.ids, digits.labels, strict=True))
    pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
    accuracy = true_accuracy(pool, digits.labels)

    claim = f"{digits.scores.max(axis=1).mean():.1%}"
    intro = [
        f"A classifier has read {len(pool):,} images of handwritten digits. It claims to be {claim} sure on average.",
        f"For which {NAMED} is it wrong most often? Labelling everything would tell, and take {len(pool):,} labels.",
        f"fewlabels picks {BATCH} images at a time, gets their labels, and stops when it is {SURE:.0%} sure.",
    ]
    print(*intro, sep="\n", flush=True)
    first = assess(pool, truth, fl.TopTwo(), 0, progress(sys.stderr))
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    stopped = "sure enough" if first.sure else "the budget is spent"
    result = result_lines(first.answer, accuracy)
    check = [f"Stopped after {first.labels} labels: {stopped}.", *check_lines(first.answer, accuracy)]
    print("", *result, "", *check, "", sep="\n", flush=True)

    sys.stderr.write(f"Now {RUNS} runs of each way of choosing, to see what the certainty costs ...\n")
    chosen = [first, *(assess(pool, truth, fl.TopTwo(), seed) for seed in range(1, RUNS))]
    random = [assess(pool, truth, fl.UniformItems(), seed) for seed in range(RUNS)]
    cost = cost_lines(chosen, random)
    print(*cost, sep="\n")

    report = ["# fewlabels demo", "", *intro, "", "```", *result, "```", "", *check, "", "```", *cost, "```", ""]
    REPORT.write_text("\n".join(report), encoding="utf-8")
    print(f"\nThe report is in {REPORT}. Next: the README, or examples/mini.py for the method on one page.")


if __name__ == "__main__":
    main()
