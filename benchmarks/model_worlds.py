"""Several models in worlds that are made here: which is best, how much two differ, and how honest "95% sure" is.

python benchmarks/model_worlds.py [--what kinds,lots,pairs,speed] [--kinds "twins,a hair"] [--runs 60] [--lots 60]
    [--first 0]

kinds: thirteen kinds of worlds: 2 to 100 models, 2 to 50 classes, independent or relatives, one good among bad, models
that nobody can tell apart, a rare class, with confidences, specialists, twins, best by one item, missing answers.
lots: worlds by lot, and the rules of Best beside each other; pairs: how far two models of these worlds differ. A world
has 2 to 100 models in families that make the same mistakes, 2 to 1,000 classes, and kinds of items on which families
are good or bad. By lot it also has two leaders that are nearly equal, a very weak model, confidences in numbers or in
words, and models that leave items unanswered. `--first 1000` takes worlds that nobody has looked at.
speed: seconds of one core that a run with 100 models, 10,000 items and 100 labels takes.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import fewlabels as fl
from fewlabels.simulation.contest import simulate_models

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Made worlds: models, classes, and the range of their accuracies.
WORLDS = {
    "independent": (8, 4, (0.65, 0.85)),
    "equals": (8, 4, (0.8, 0.8)),
    "relatives": (30, 4, (0.6, 0.85)),
    "one good": (20, 4, (0.3, 0.5)),
    "two": (2, 3, (0.6, 0.85)),
    "many": (100, 2, (0.6, 0.9)),
    "classes": (6, 50, (0.5, 0.8)),
    "rare": (8, 3, (0.7, 0.9)),
    "sure": (8, 4, (0.65, 0.85)),
    "specialists": (4, 4, (0.7, 0.7)),
    "twins": (6, 4, (0.65, 0.85)),
    "a hair": (3, 3, (0.8, 0.8)),
    "gaps": (2, 3, (0.7, 0.9)),
}


def world(kind: str, seed: int, n: int = 1_000) -> dict[str, Any]:
    """The answers and the truth of a made world, as arrays of a pool and `labels`.

    Some items are hard for everybody. relatives: copies of three parents, with noise; one good: the first model is far
    better; rare: one class in a hundred; sure: with confidences that know half of what makes an item hard; specialists:
    each is good at a quarter of the items; twins: the first two always say the same; a hair: the first is right about
    one item more than the second; gaps: each leaves a tenth of the items unanswered.
    """
    rng = np.random.default_rng(seed)
    models, classes, (low, high) = WORLDS[kind]
    common = np.full(classes, 1.0) if kind != "rare" else np.array([0.9, 0.09, 0.01])
    true = rng.choice(classes, n, p=common / common.sum()).astype(np.int32)
    hard = rng.beta(0.6, 0.6, n)[:, None]
    rate = rng.uniform(low, high, 3 if kind == "relatives" else models)
    if kind == "one good":
        rate[0] = 0.8
    right = np.clip(rate * (1.3 - 0.6 * hard), 0.01, 0.99)
    if kind == "specialists":
        right = np.where(np.arange(n)[:, None] % models == np.arange(models), 0.95, right)
    wrong = (true[:, None] + rng.integers(1, classes, right.shape)) % classes
    said = np.where(rng.random(right.shape) < right, true[:, None], wrong)
    if kind == "relatives":
        said = said[:, rng.integers(0, 3, models)]
        noise = rng.random(said.shape) < rng.uniform(0.01, 0.1, models)
        said = np.where(noise, rng.integers(0, classes, said.shape), said)
    if kind == "twins":
        said[:, 1] = said[:, 0]
    if kind == "a hair":
        lead = int((said[:, 0] == true).sum() - (said[:, 1] == true).sum()) - 1
        change = rng.permutation(np.flatnonzero((said[:, 0] == true) & (said[:, 1] == true)))[: abs(lead)]
        said[change, int(lead < 0)] = wrong[change, 0]
    if kind == "gaps":
        said = np.where(rng.random(said.shape) < 0.1, -1, said)
    names = {"models": [f"m{h}" for h in range(models)], "classes": [f"c{k}" for k in range(classes)]}
    made = {"predicted": said, "labels": true, **names}
    if kind == "sure":
        made["confidence"] = np.clip((right + rng.uniform(0.5, 0.99, right.shape)) / 2, 0.01, 0.99)
    return made


def kinds(runs: int, names: list[str]) -> None:
    """How often the chosen model is best, and "95% sure" is right, in made worlds, each run in a world of its own."""
    for kind in names:
        found: dict[str, list[float]] = {}
        for run in range(runs):
            made = world(kind, run)
            true = made.pop("labels")
            table = simulate_models(
                fl.read_pool(made), true.tolist(), task=fl.Best(fl.Accuracy()), methods="learned+default",
                budgets=(50, 100, 200), runs=1, seed=run, jobs=1,
            )  # fmt: skip
            for row in table.rows():
                found.setdefault(f"{row['score']} {row['budget']}", []).append(row["mean"])
        scores = (f"{name} {np.mean(values):.1f}" for name, values in found.items())
        print(f"\n{kind}: " + ", ".join(scores), flush=True)


ITEMS, EACH, BUDGETS = 3_000, 1_000, (20, 50, 100, 200)
# What a language model says instead of a number: unlikely, perhaps, probably, very probably, certainly.
VERBAL = np.array([0.2, 0.5, 0.7, 0.9, 0.99])


def lot(seed: int) -> tuple[dict[str, Any], str]:
    """A world by lot, as arrays of a pool and `labels`, and what it is in a few words.

    A model is right about an item if its skill for this kind of item exceeds the difficulty, with noise that it shares
    in part with its family. Where it is wrong, it names the class that is most easily taken for the true one, the wrong
    class of its family, or any.
    """
    rng = np.random.default_rng([seed, 77])
    models, classes = round(2 ** rng.uniform(1, np.log2(100))), round(2 ** rng.uniform(1, np.log2(1000)))
    families, sorts = int(rng.integers(1, models + 1)), int(rng.integers(1, 12))
    family, sort = rng.integers(0, families, models), rng.choice(sorts, ITEMS, p=rng.dirichlet(np.ones(sorts)))
    skill = rng.uniform(-0.5, 2) + rng.normal(0, rng.uniform(0.05, 0.8), families)[family]
    skill = skill + rng.normal(0, rng.uniform(0.02, 0.4), models)
    notes = []
    if models > 2 and rng.random() < 0.4:
        lead, next_ = np.argsort(-skill)[:2]
        skill[next_] = skill[lead] + rng.uniform(-0.03, 0.03)
        notes.append("two leaders")
    if models > 2 and rng.random() < 0.4:
        skill[rng.integers(models)] -= 3
        notes.append("a very weak one")
    special = rng.normal(0, rng.uniform(0, 0.8), (sorts, families))
    shared = rng.uniform(0, 0.9)
    noise = np.sqrt(shared) * rng.normal(size=(ITEMS, families))[:, family]
    noise = noise + np.sqrt(1 - shared) * rng.normal(size=(ITEMS, models))
    hard = rng.normal(0, rng.uniform(0.3, 2), (ITEMS, 1))
    sure = skill + special[sort][:, family] - hard + noise
    true = rng.choice(classes, ITEMS, p=rng.dirichlet(np.full(classes, rng.choice([0.3, 3.0]))))
    said = np.where(sure > 0, true[:, None], _mistakes(rng, true, classes, family))
    made = {
        "predicted": said,
        "labels": true,
        "models": [f"m{h}" for h in range(models)],
        "classes": [f"c{k}" for k in range(classes)],
    }
    how = str(rng.choice(["no confidences", "numbers", "words"], p=[0.4, 0.3, 0.3]))
    if how != "no confidences":
        made["confidence"] = _confidence(rng, sure, classes, in_words=how == "words")
    if rng.random() < 0.35:
        said[_silent(rng, sure)] = -1
        notes.append("silent ones")
    return made, ", ".join([f"{models} models, {families} families, {classes} classes, {how}", *notes])


def _mistakes(
    rng: np.random.Generator, true: NDArray[np.int64], classes: int, family: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What each model says where it is wrong, shape (items, models)."""
    shape, by = (len(true), len(family)), rng.dirichlet([1.0, 1.0, 1.0])
    alike = np.repeat(rng.integers(1, classes, classes)[true][:, None], len(family), axis=1)
    of_family = rng.integers(1, classes, (len(true), int(family.max()) + 1))[:, family]
    which = rng.choice(3, shape, p=by)
    off = np.choose(which, [alike, of_family, rng.integers(1, classes, shape)])
    return np.asarray((true[:, None] + off) % classes)


def _confidence(
    rng: np.random.Generator, sure: NDArray[np.float64], classes: int, *, in_words: bool
) -> NDArray[np.float64]:
    """Confidences that know a part of how sure each is, most of them too high, some models more so than others."""
    known = rng.uniform(0.1, 0.9) * np.abs(sure) + rng.normal(0, 1, sure.shape)
    bold = rng.uniform(-0.5, 2.5, sure.shape[1])
    confidence = np.clip(1 / (1 + np.exp(-(known + bold))), 1 / classes, 0.999)
    return VERBAL[np.abs(confidence[..., None] - VERBAL).argmin(axis=2)] if in_words else confidence


def _silent(rng: np.random.Generator, sure: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The items that models leave unanswered: some models many, at random, or where they are least sure."""
    share = np.where(rng.random(sure.shape[1]) < 0.5, rng.uniform(0, 0.3, sure.shape[1]), 0)
    if rng.random() < 0.5:
        return np.asarray(rng.random(sure.shape) < share)
    unsure = np.abs(sure) + rng.normal(0, 0.5, sure.shape)
    return np.asarray(unsure < np.quantile(unsure, share, axis=0).diagonal())


def lots(count: int, first: int, runs: int) -> None:
    """Which model is chosen in worlds by lot, beside the baselines; the first `runs` runs of each world."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for seed in range(first, first + count):
        made, what = lot(seed)
        true = made.pop("labels").tolist()
        pool = fl.read_pool(made)
        methods = ("learned+default", "random", "disagreements", "selector")
        table = simulate_models(
            pool, true, task=fl.Best(fl.Accuracy()), methods=methods, budgets=BUDGETS, items=EACH, runs=runs, jobs=1
        )
        rows: dict[tuple[str, str], list[float]] = {}
        for row in table.rows():
            rows.setdefault((row["method"], row["score"]), [np.nan] * len(BUDGETS))[BUDGETS.index(row["budget"])] = row[
                "mean"
            ]
        for key, values in rows.items():
            found.setdefault(key, []).append(values)
        ours = rows["learned+default", "best"], rows["learned+default", "sure"]
        right = rows.get(("learned+default", "sure-right"), [np.nan])[-1]
        print(f"{seed} ({what}): best {np.round(ours[0])}, sure {np.round(ours[1])}, of these right {right:.0f}%; "
              f"selector {np.round(rows['selector', 'best'])}", flush=True)  # fmt: skip
    for (method, score), means in found.items():
        if score != "sure-right":
            print(f"{method:16} {score:7} {np.round(np.nanmean(means, axis=0), 2)}", flush=True)
    sure = np.array(found["learned+default", "sure"])
    held = np.array(found.get(("learned+default", "sure-right"), [[np.nan] * len(BUDGETS)]))
    counts = np.round(sure * runs / 100).sum(axis=0)
    known = sure[sure[:, -1] > 0][:, -1]
    print(f"runs that are sure: {counts.astype(int).tolist()} of {count * runs}; right when they were: "
          f"{(held[:, -1] @ known) / max(known.sum(), 1e-9):.1f}%")  # fmt: skip


def pairs(count: int, first: int, runs: int) -> None:
    """How far two models of each world differ: the two best, and any two."""
    for title in ("the two best", "any two"):
        found: dict[str, list[list[float]]] = {}
        for seed in range(first, first + count):
            made, _ = lot(seed)
            true = made.pop("labels")
            order = np.argsort(-(made["predicted"] == true[:, None]).mean(axis=0), kind="stable")
            order = order if title == "the two best" else np.random.default_rng(seed).permutation(order)
            pool = fl.read_pool(made)
            a, b = (pool.models[h] for h in order[:2])
            table = simulate_models(
                pool, true.tolist(), task=fl.CompareModels(fl.Accuracy(), a, b), budgets=BUDGETS[:3],
                methods="learned+default,disagreements", items=EACH, runs=runs, jobs=1,
            )  # fmt: skip
            rows: dict[str, list[float]] = {}
            for row in table.rows():
                name = f"{row['score']} {row['method']}"
                rows.setdefault(name, [np.nan] * 3)[BUDGETS.index(row["budget"])] = row["mean"]
            for name, values in rows.items():
                found.setdefault(name, []).append(values)
        print(f"{title}, {count} worlds, {runs} runs each, {BUDGETS[:3]} labels")
        for name, means in found.items():
            print(f"  {name:30} {np.round(np.nanmean(means, axis=0), 2)}", flush=True)


def speed(runs: int) -> None:
    """How long a run takes on a made world of a hundred models, once everything is compiled."""
    made = world("many", 0, 10_000)
    true = made.pop("labels").tolist()
    for method in ("learned+default", "selector"):
        for budget, count in ((2, 1), (100, runs)):  # the first compiles
            start = time.process_time()
            simulate_models(
                fl.read_pool(made), true, task=fl.Best(fl.Accuracy()), methods=method, budgets=(budget,), runs=count,
                jobs=1,
            )  # fmt: skip
        print(f"{method}: {(time.process_time() - start) / runs:.2f} s for each of {runs} runs", flush=True)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", default="kinds")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--kinds", default=",".join(WORLDS))
    parser.add_argument("--lots", type=int, default=60, help="how many worlds by lot")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    given = parser.parse_args()
    what = given.what.split(",")
    if "kinds" in what:
        kinds(given.runs, given.kinds.split(","))
    if "lots" in what:
        lots(given.lots, given.first, given.runs)
    if "speed" in what:
        speed(given.runs)
    if "pairs" in what:
        pairs(given.lots, given.first, given.runs)


if __name__ == "__main__":
    main()
