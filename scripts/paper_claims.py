"""Write docs/claims.md: each claim of the paper's text, and what our runs say about it, from results/*.csv.

    python scripts/paper_claims.py [--data DIR]

With the pools in DIR, results/claims.csv (what is said about whole pools and single classes) is made again first.
"""

from __future__ import annotations

import argparse
import csv
import math
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from fewlabels.paper.figures import beliefs
from fewlabels.paper.pools import SOURCES, load

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
PAGE, MEASURED = ROOT / "docs" / "claims.md", ROOT / "results" / "claims.csv"
Row = tuple[str, str, str]  # data set, number of labels, score
Table = dict[Row, dict[str, float]]  # the mean of each method


def table(name: str, column: str = "mean") -> Table:
    """The numbers of a table, by row and method: means, or their standard errors ("se")."""
    found: Table = {}
    with (ROOT / "results" / f"{name}.csv").open(encoding="utf-8") as file:
        for one in csv.DictReader(file):
            found.setdefault((one["dataset"], one["budget"], one["score"]), {})[one["method"]] = float(one[column])
    return found


def stars(name: str) -> list[int]:
    """How many of the three printed methods are among the best, for each row that has stars."""
    rows: dict[Row, int] = {}
    with (ROOT / "results" / f"{name}.csv").open(encoding="utf-8") as file:
        for one in csv.DictReader(file):
            if one["best"] and one["method"] != "UPrior+TS":
                row = one["dataset"], one["budget"], one["score"]
                rows[row] = rows.get(row, 0) + (one["best"] == "True")
    return list(rows.values())


def fewer(numbers: Table, method: str, than: str) -> tuple[int, int]:
    """In how many rows a method has the smaller number than another, and of how many."""
    pairs = [row for row in numbers.values() if method in row and than in row]
    return sum(row[method] < row[than] for row in pairs), len(pairs)


def ratios(numbers: Table, above: str, below: str) -> list[float]:
    """One method's number over another's, in each row, the smallest first."""
    return sorted(row[above] / row[below] for row in numbers.values() if row.get(below))


def first_rows(numbers: Table) -> Table:
    """The row with the fewest labels of each data set."""
    least: dict[str, int] = {}
    for dataset, budget, _ in numbers:
        least[dataset] = min(int(budget), least.get(dataset, 10**9))
    return {row: numbers[row] for row in numbers if int(row[1]) == least[row[0]]}


def scored(numbers: Table, beginning: str) -> Table:
    return {row: values for row, values in numbers.items() if row[2].startswith(beginning)}


def span(values: list[float], form: str = "{:,.1f}") -> str:
    """The smallest and the largest of some sorted values."""
    low, high = form.format(values[0]).replace("-", "−"), form.format(values[-1]).replace("-", "−")
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Claim:
    """What the paper says, what we find (a verdict and the numbers), and the command that makes these."""

    says: str
    find: Callable[[], tuple[str, str]]
    command: str


def verdict(good: int, of: int) -> str:
    """A verdict from the number of rows in which a claim holds."""
    return "holds" if good == of else "does not hold" if 2 * good < of else "holds in part"


def _accuracy_factor() -> tuple[str, str]:
    text, published = (first_rows(table(name)) for name in ("accuracy", "accuracy-as-published"))
    ours, theirs = ratios(text, "UPrior", "IPrior+TS"), ratios(published, "UPrior", "IPrior+TS")
    good = sum(one >= 2 for one in ours)
    return verdict(good, len(ours)), (
        "With two labels for each class, the error with informed prior and Thompson sampling is smaller by a factor of "
        f"{span(ours)} on the five pools, and 2 or more on {good} of them. With the authors' program, whose uniform "
        f"prior weighs nothing, it is {span(theirs)}, and 2 or more on {sum(one >= 2 for one in theirs)}."
    )


def _accuracy_active() -> tuple[str, str]:
    good, of = fewer(table("accuracy"), "IPrior+TS", "IPrior")
    gains = [100 * (1 - 1 / one) for one in ratios(table("accuracy"), "IPrior", "IPrior+TS")]
    typical = gains[len(gains) // 2]
    return verdict((good >= 11) + (typical < 10), 2), (
        f"Thompson sampling has the smaller error in {good} of {of} rows (the paper: 11 of 15). The error is smaller "
        f"by {span(gains, '{:+.0f}%')}, and by {typical:.0f}% in the middle row: on some pools the gain is large."
    )


def _confusion_orders() -> tuple[str, str]:
    text, published = (ratios(table(name), "UPrior", "IPrior") for name in ("confusion", "confusion-as-published"))
    return verdict(sum(one >= 10 for one in text), len(text)), (
        f"As the text defines the error, the uniform prior's is {span(text)} times that of the "
        f"informed prior: smaller, "
        f"not by orders of magnitude (10 times or more in {sum(one >= 10 for one in text)} of {len(text)} rows). The "
        f"authors' program computes another number, and there it is {span(published)} times."
    )


def _lower(name: str, method: str, than: str, words: str) -> Callable[[], tuple[str, str]]:
    def find() -> tuple[str, str]:
        good, of = fewer(table(name), method, than)
        return verdict(
            good, of
        ), f"{words} in {good} of {of} rows; the ratio is {span(ratios(table(name), than, method))}."

    return find


def _ece() -> tuple[str, str]:
    numbers = table("ece")
    images = {row: values for row, values in numbers.items() if row[0] in ("CIFAR-100", "ImageNet", "SVHN")}
    texts = {row: values for row, values in numbers.items() if row not in images}
    good, of = fewer(numbers, "IPrior+TS", "UPrior")
    return verdict(good, of), (
        f"With informed prior and Thompson sampling the error is smaller in {good} of {of} rows. The ratio is "
        f"{span(ratios(images, 'UPrior', 'IPrior+TS'))} on the three pools of images and "
        f"{span(ratios(texts, 'UPrior', 'IPrior+TS'))} on the two of texts."
    )


def _identify(name: str) -> Callable[[], tuple[str, str]]:
    def find() -> tuple[str, str]:
        numbers = scored(table(name), "percent-to-identify")
        good, of = fewer(numbers, "IPrior+TS", "IPrior")
        many = {row: values for row, values in numbers.items() if row[0] in ("CIFAR-100", "ImageNet")}
        few = {row: values for row, values in numbers.items() if row not in many}
        return verdict(good, of), (
            f"Thompson sampling needs fewer labels in {good} of {of} rows. The other methods need "
            f"{span(ratios(many, 'IPrior', 'IPrior+TS'))} times as many with 100 or 1,000 classes, and "
            f"{span(ratios(few, 'IPrior', 'IPrior+TS'))} times with 10 to 20."
        )

    return find


def _compare_reduction() -> tuple[str, str]:
    text, published, errors = table("comparison"), table("comparison-as-published"), table("comparison", "se")
    gains, theirs = (
        {row[0]: 100 * (1 - one["IPrior+TS"] / one["IPrior"]) for row, one in numbers.items() if one["IPrior"]}
        for numbers in (text, published)
    )
    good = sum(one >= 5 for one in gains.values())
    listed = ", ".join(f"{name} {span([gain], '{:+.0f}%')}" for name, gain in gains.items())
    doubt = sorted(
        100 * math.hypot(errors[row]["IPrior"], errors[row]["IPrior+TS"]) / one["IPrior"]
        for row, one in text.items()
        if one["IPrior"]
    )
    return verdict(good, len(gains)), (
        f"Fewer labels: {listed}, with standard errors of {span(doubt, '{:.0f}')} points; on "
        f"DBpedia the informed prior decides without any "
        f"label. As published it is {span(sorted(theirs.values()), '{:+.0f}%')}."
    )


def _significant() -> tuple[str, str]:
    names = ("accuracy", "confusion", "ece", "bins", "comparison")
    counts = [count for name in names for count in stars(name)]
    alone = sum(count == 1 for count in counts)
    return verdict(alone, len(counts)), (
        f"One method is significantly better than the other two in {alone} of {len(counts)} rows of our tables; in the "
        "others two or three cannot be told apart with 1,000 runs."
    )


def _human() -> tuple[str, str]:
    """P(θ_human < θ_trees − 0.05) with the two posteriors that the supplement prints, by quadrature."""
    human, trees = stats.beta(280, 203), stats.beta(351, 162)
    grid = np.linspace(0, 1, 20_001)
    middle = (grid[1:] + grid[:-1]) / 2
    sure = float(np.sum(np.diff(trees.cdf(grid)) * human.cdf(middle - 0.05)))
    return verdict(round(100 * sure) == 96, 1), (
        f"With the posteriors that the supplement prints, Beta(280, 203) and Beta(351, 162), and a margin of 5 points, "
        f"the probability is {100 * sure:.1f}%."
    )


def _measured(column: str) -> dict[str, float]:
    with MEASURED.open(encoding="utf-8") as file:
        return {row["dataset"]: float(row[column]) for row in csv.DictReader(file) if row[column]}


def _chance(column: str, printed: int, words: str) -> Callable[[], tuple[str, str]]:
    def find() -> tuple[str, str]:
        (sure,) = _measured(column).values()
        # The paper's are from 10,000 draws, ours too: each has a standard error of half a point.
        return verdict(abs(100 * sure - printed) <= 2, 1), f"{words} the probability is {100 * sure:.1f}%."

    return find


def _few_labels() -> tuple[str, str]:
    plain, bayesian = _measured("plain_ece_off"), _measured("bayesian_ece_off")
    good = sum(abs(bayesian[name]) < abs(plain[name]) for name in plain)
    both = {name: [f"{number:+,.0f}%".replace("-", "−") for number in (plain[name], bayesian[name])] for name in plain}
    listed = ", ".join(f"{name} {one} and {other}" for name, (one, other) in both.items())
    return verdict(good, len(plain)), (
        "With 100 random labels the frequentist ECE, and the mean of the posterior with the informed prior, are off on "
        f"average by: {listed} (200 runs). The posterior is nearer on {good} of {len(plain)} pools."
    )


def _varied() -> tuple[str, str]:
    parts, good, of = [], 0, 0
    for column, words in (("accuracy_sd", "accuracy"), ("ece_sd", "calibration error")):
        sd = _measured(column)
        low = max(sd["SVHN"], sd["DBpedia"])
        good, of = good + sum(sd[name] > low for name in ("CIFAR-100", "ImageNet", "20 News")), of + 3
        parts.append(f"{words} {', '.join(f'{name} {100 * one:.1f}' for name, one in sd.items())}")
    return verdict(good, of), f"Standard deviation over the classes, in points: {'; '.join(parts)}."


def _overconfident() -> tuple[str, str]:
    gaps = _measured("overconfidence")
    good = sum(gap > 0 for gap in gaps.values())
    listed = ", ".join(f"{name} {span([100 * gap], '{:+.1f}')}" for name, gap in gaps.items())
    return verdict(good, len(gaps)), (
        f"Average confidence minus accuracy, in points: {listed}. Our model of 20 News is not the paper's, and is not "
        "confident enough."
    )


def _correlation() -> tuple[str, str]:
    found = _measured("correlation")
    good = sum(one < 0 for one in found.values())
    listed = ", ".join(f"{name} {span([one], '{:.2f}')}" for name, one in found.items())
    return verdict(good, len(found)), f"Correlation of accuracy and calibration error over the classes: {listed}."


RUN = "fewlabels paper {} --data DIR --runs 1000 --seed 1 --out results"
CLAIMS = (
    Claim("Informed priors and active sampling reduce the error of classwise accuracy, by a factor of 2 or more with "
          "two labels for each class.", _accuracy_factor, RUN.format("accuracy")),
    Claim("Active sampling improves on the informed prior alone in 11 of 15 results; the gains are typically small.",
          _accuracy_active, RUN.format("accuracy")),
    Claim("For confusion matrices, informed priors often give errors that are orders of magnitude lower.",
          _confusion_orders, RUN.format("confusion")),
    Claim("For confusion matrices, active sampling reduces the error further.",
          _lower("confusion", "IPrior+TS", "IPrior", "Thompson sampling has the smaller error"),
          RUN.format("confusion")),
    Claim("Both informed methods have a significantly lower error of the ECE, particularly on images.",
          _ece, RUN.format("ece")),
    Claim("The accuracy of score bins shows similar gains.",
          _lower("bins", "IPrior+TS", "UPrior", "Informed prior and Thompson sampling have the smaller error"),
          RUN.format("bins")),
    Claim("To find the least accurate classes, the active method clearly outperforms the others on all five data sets, "
          "most where there are many classes.", _identify("least-accurate"), RUN.format("least-accurate")),
    Claim("Similar gains in finding the least calibrated classes.",
          _identify("least-calibrated"), RUN.format("least-calibrated")),
    Claim("The active method is much more efficient at finding the classes of highest cost, whatever the costs.",
          _lower("cost", "IPrior+TS", "IPrior", "Thompson sampling needs fewer labels"), RUN.format("cost")),
    Claim("To compare two groups, active allocation and informed priors always need fewer labels than neither.",
          _lower("comparison", "IPrior+TS", "UPrior", "Both together need fewer labels"), RUN.format("comparison")),
    Claim("To compare two groups, active sampling needs 5% to 35% fewer labels than the informed prior alone.",
          _compare_reduction, RUN.format("comparison")),
    Claim("Results are statistically significant in all rows of all tables but SVHN in the comparison.",
          _significant, RUN.format("all")),
    Claim("With 96% probability the model is less accurate on the superclass human than on trees.",
          _human, "python scripts/paper_claims.py"),
    Claim("With 82% probability its accuracy is lower on the class woman than on man.",
          _chance("woman_below_man", 82, "With Beta(1, 1), all labels of CIFAR-100 and a margin of 5 points"),
          "python scripts/paper_claims.py --data DIR"),
    Claim("There is a 68% chance that lizard is the least accurate class of CIFAR-100.",
          _chance("lizard_least", 68, "With Beta(1, 1) and all labels"), "python scripts/paper_claims.py --data DIR"),
    Claim("The Bayesian estimate of the ECE is consistently nearer than the frequentist one, most with few labels.",
          _few_labels, "python scripts/paper_claims.py --data DIR"),
    Claim("Accuracy and calibration of classes vary more on CIFAR-100, ImageNet and 20 News than on the other two.",
          _varied, "python scripts/paper_claims.py --data DIR"),
    Claim("The models are miscalibrated and overconfident on all five data sets.",
          _overconfident, "python scripts/paper_claims.py --data DIR"),
    Claim("Classes with low accuracy tend to be less calibrated, on all five data sets.",
          _correlation, "python scripts/paper_claims.py --data DIR"),
)  # fmt: skip

HEAD = """# The paper's claims, checked

Each claim of the text of *Active Bayesian Assessment of Black-Box Classifiers*, what our runs say about it, and the
command that makes the numbers. The runs do what the paper's text says; "as published" is what the authors' program did
where it differs ([all tables](paper-results.md)). CIFAR-100, ImageNet and SVHN are the paper's own pools; 20 News and
DBpedia are other models. `python scripts/paper_claims.py` writes this page from the files in `results/`.

A claim holds in part if it is true of at least half of the rows that it is about, and not of all. "Smaller" compares
means of 1,000 runs; [the tables](paper-results.md) have their standard errors.

| claim | verdict |
|---|---|
"""


def measure(folder: Path) -> None:
    """Write results/claims.csv: how far confidence and accuracy are apart, and what is said of single classes."""
    columns = (
        "overconfidence correlation accuracy_sd ece_sd plain_ece_off bayesian_ece_off woman_below_man lizard_least"
    )
    lines = [",".join(["dataset", *columns.split()])]
    for source in SOURCES:
        found = load(source, folder)
        sure, right, group = found.pool.confidence, found.right, found.pool.predicted
        assert sure is not None
        strip = np.minimum((sure * 10).astype(int), 9)
        cell = group * 10 + strip
        size = len(found.pool.classes) * 10
        apart = np.abs(np.bincount(cell, right, size) - np.bincount(cell, sure, size)).reshape(-1, 10).sum(axis=1)
        items = np.bincount(group, minlength=len(apart))
        some = items > 0
        accuracy = np.bincount(group, right, len(apart))[some] / items[some]
        error = apart[some] / items[some]
        bias = beliefs.ece_bias(found, 200, np.random.default_rng(1), most=100)
        numbers = [(sure - right).mean(), np.corrcoef(accuracy, error)[0, 1], accuracy.std(), error.std()]
        numbers += [bias.frequentist[0], bias.bayesian[0]]
        if source.dataset == "CIFAR-100":
            (woman,) = (one for one in beliefs.differences(found) if one.a == "woman")
            ranks = beliefs.ranks(found, np.random.default_rng(1))
            numbers += [woman.regions[0], ranks.least[ranks.names.index("lizard")]]
        lines.append(",".join([source.dataset, *(f"{one:.6g}" for one in numbers)]) + "," * (8 - len(numbers)))
    MEASURED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def filled(text: str) -> str:
    """A paragraph in lines of the usual length."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def page() -> str:
    """The whole page."""
    found = [(number, claim, *claim.find()) for number, claim in enumerate(CLAIMS, 1)]
    head = "".join(
        f"| [{number}. {claim.says}](#claim-{number}) | {verdict} |\n" for number, claim, verdict, _ in found
    )
    parts = [
        f"\n## Claim "
        f"{number}\n\n{filled(claim.says)}\n\n{filled(f'**{verdict.capitalize()}.** {words}')}\n\n`{claim.command}`\n"
        for number, claim, verdict, words in found
    ]
    return HEAD + head + "".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write docs/claims.md.")
    parser.add_argument("--data", type=Path)
    if (folder := parser.parse_args().data) is not None:
        measure(folder)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
