"""Several models on one pool: the best of them, the difference of two, honesty.

python benchmarks/models.py --data DIR [--runs 60] [--what best,oracle,compare,gaps,steered,pairs,honest,lots,anchors]
    [--pools NAMES] [--parts all]

DIR has NPZ files with `predicted` (items × models), `labels`, `models`, `classes` and perhaps `confidence`.

best: percent of runs in which the chosen model is the best, on 1,000 items drawn at random, beside the baselines.
oracle: the same if somebody knew which two models are the best, and labels went only where these two differ.
compare: error, stated sd and coverage of the difference of the two best models, with and without their confidences.
gaps: the same for the best model and others that are about 0, 5, 15, 30 and 50 points behind.
steered: how far the leader of a search and the last model differ, from the labels of the search: read as the search
reads them, and as if they were a random sample of where the two differ.
pairs: the same for two pairs of public models that have confidences, as they are, said in five words, and left out.
honest: how often "95% sure" is right, at the moment it is first said, also on parts of each pool: the ten best models,
ten at random, all but the three best, half of the items.
lots: the same on many pools that `model_pools.py DIR --lots 60` makes by lot.
anchors: what a share of labels drawn at random from all items costs for the choice, and tells about the level.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fewlabels as fl
from fewlabels.learned.models import Panel
from fewlabels.outcomes import Outcomes
from fewlabels.simulation.contest import simulate_models
from fewlabels.simulation.contest_learned import field_of
from fewlabels.simulation.kernels.best import best_run
from fewlabels.tasks.models import apart, joint, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.pool import Pool

POOLS = ("models_emotion", "models_sst2", "models_mrpc", "models_imagenet")
BUDGETS = (20, 50, 100, 200, 300)
METHODS = "learned+default,random,disagreements,selector"


def read(folder: Path, name: str) -> tuple[Pool, list[int]]:
    """A pool of several models, and its labels."""
    path = folder / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"there is no {path}. Name the folder with the NPZ files by --data.")
    with np.load(path, allow_pickle=False) as file:
        return fl.read_pool(path), file["labels"].tolist()


def show(title: str, table: Any, scores: tuple[str, ...]) -> None:
    """Print the means of some scores with their standard errors, a line for each method, a column for each budget."""
    print(f"\n{title}")
    rows = list(table.rows())
    for score in scores:
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [row for row in rows if (row["method"], row["score"]) == (method, score)]
            values = [f"{row['mean']:8.2f} ± {row['se']:.2f}" for row in mine]
            if values:
                print(f"  {score:11} {method:18} {' '.join(values)}", flush=True)


def best(pool: Pool, labels: list[int], name: str, runs: int) -> None:
    """Which model is chosen, and how often those that were sure were right."""
    methods = METHODS if len(pool.choices) < 100 else "learned+default,random,disagreements"
    table = simulate_models(
        pool, labels, task=fl.Best(fl.Accuracy()), methods=methods, budgets=BUDGETS, items=1_000, runs=runs
    )
    show(f"{name}: best of {len(pool.models)} at {BUDGETS} labels", table, ("best", "regret", "sure", "sure-right"))


def oracle(pool: Pool, labels: list[int], name: str, runs: int) -> None:
    """What choosing could be at best: the two best models are known, and only which of them is better is asked.

    Labels are random where the two differ, on the items of the same runs as `best`. Random labels of all items are
    beside it, with the same number of runs.
    """
    right = pool.answers == np.asarray(labels)[:, None]
    found = np.zeros((2, len(BUDGETS), 2))
    for run in range(runs):
        rng = np.random.default_rng([0, run, 0])
        pick = np.sort(rng.choice(len(labels), min(1_000, len(labels)), replace=False))
        here, said = right[pick], pool.answers[pick]
        share = here.mean(axis=0)
        first, second = np.argsort(-share, kind="stable")[:2].tolist()
        apart = rng.permutation(np.flatnonzero(said[:, first] != said[:, second]))
        for k, (models, order) in enumerate(
            (((first, second), apart), (range(len(share)), rng.permutation(len(here))))
        ):
            mine = np.array(list(models))
            for at, budget in enumerate(BUDGETS):
                hits = here[np.ix_(order[:budget], mine)].sum(axis=0) + 1e-6 * rng.random(len(mine))
                lost = share.max() - share[mine[hits.argmax()]]
                found[k, at] += (lost < 1e-9, lost)
    for k, who in enumerate(("the two best known", "random")):
        percent, points = np.round(100 * found[k].T / runs, 2)
        print(f"{name}, {runs} runs, {BUDGETS} labels, {who}: best {percent}%, lost {points} points", flush=True)


def compare(pool: Pool, labels: list[int], name: str, runs: int) -> None:
    """The difference of the two best models, with confidences and without."""
    right = pool.answers == np.asarray(labels)[:, None]
    a, b = np.argsort(-right.mean(axis=0))[:2].tolist()
    task = fl.CompareModels(fl.Accuracy(), pool.models[a], pool.models[b])
    rest = tuple(replace(one, confidence=None) for one in pool.rest)
    bare = replace(pool, confidence=None, score_sums=None, rest=rest)
    for title, some in (("with confidences", pool), ("answers only", bare)):
        if some is pool and pool.confidences is None:
            continue
        table = simulate_models(
            some, labels, task=task, methods="learned+default,random,disagreements", budgets=(50, 100, 200),
            items=min(len(labels), 5_000), runs=runs,
        )  # fmt: skip
        scores = ("error", "sd", "coverage", "sure", "sure-right")
        show(f"{name}, {title}: {task.a} against {task.b} at 50, 100, 200 labels", table, scores)


PARTS = ("all", "ten best", "any ten", "all but three", "half")


def part(kind: str, pool: Pool, labels: list[int], run: int) -> tuple[Pool, list[int]]:
    """A pool of some models and items of another, at random by the number of the run."""
    rng, said, true = np.random.default_rng([run, 1]), pool.answers, np.asarray(labels)
    ranked, items = np.argsort(-(said == true[:, None]).mean(axis=0), kind="stable"), np.arange(len(true))
    models = {"ten best": ranked[:10], "all but three": ranked[3:]}.get(kind, ranked)
    if kind == "any ten":
        models = rng.permutation(ranked)[:10]
    if kind == "half":
        items = rng.permutation(items)[: len(items) // 2]
    items = np.sort(rng.permutation(items)[:1_000])
    arrays: dict[str, Any] = {
        "id": [f"i{k}" for k in range(len(items))],
        "predicted": said[np.ix_(items, models)],
        "models": [pool.models[h] for h in models],
        "classes": list(pool.choices),
    }
    if pool.confidences is not None:
        arrays["confidence"] = pool.confidences[np.ix_(items, models)]
    return fl.read_pool(arrays), true[items].tolist()


def honest(pool: Pool, labels: list[int], name: str, runs: int, parts: list[str], most: int = 200) -> None:
    """How many runs are 95% sure by 50 labels and by the most, and how many of these were right when they were."""
    for kind in parts:
        if len(pool.models) <= 10 and kind in ("ten best", "any ten", "all but three"):
            continue
        sure = np.zeros((2, 2), dtype=int)
        for run in range(runs):
            some, true = part(kind, pool, labels, run)
            table = simulate_models(
                some, true, task=fl.Best(fl.Accuracy()), methods="learned+default", budgets=(50, most), runs=1,
                seed=run, jobs=1,
            )  # fmt: skip
            for row in table.rows():
                if row["score"] == "sure-right":
                    sure[int(row["budget"] > 50)] += (1, int(row["mean"] > 50))
        (early, right), (later, all_right) = sure.tolist()
        print(
            f"{name}, {kind}, {runs} runs: sure by 50 {early} ({right} right), by {most} {later} ({all_right} right)",
            flush=True,
        )


def lots(folder: Path, runs: int, budgets: tuple[int, ...] = (50, 100, 200)) -> None:
    """Do the same on all pools by lot of a folder (model_pools.py --lots), each run on 1,000 of their items."""
    found: dict[tuple[str, int], list[float]] = {}
    wrong = []
    paths = sorted(folder.glob("models_lot_*.npz"), key=lambda path: int(path.stem.split("_")[-1]))
    for path in paths:
        table = simulate_models(
            *read(folder, path.stem), task=fl.Best(fl.Accuracy()), methods="learned+default", budgets=budgets,
            items=1_000, runs=runs, jobs=1,
        )  # fmt: skip
        for row in table.rows():
            found.setdefault((row["score"], row["budget"]), []).append(row["mean"])
        last = {row["score"]: row["mean"] for row in table.rows() if row["budget"] == budgets[-1]}
        if last.get("sure-right", 100.0) < 100:
            wrong.append(f"{path.stem} (sure in {last['sure']:.0f}%, right in {last['sure-right']:.0f}% of these)")
    for budget in budgets:
        sure, best_, lost = (np.array(found[score, budget]) for score in ("sure", "best", "regret"))
        right = np.array(found.get(("sure-right", budget), [])) @ sure[sure > 0] / max(sure.sum(), 1e-9)
        print(
            f"{len(paths)} pools by lot, {runs} runs each, {budget} labels: best {best_.mean():.1f}%, lost "
            f"{lost.mean():.2f} points, sure in {sure.sum() * runs / 100:.0f}, right in {right:.1f}% of these",
            flush=True,
        )
    print("not always right:", "; ".join(wrong) or "none")


def anchors(pool: Pool, labels: list[int], name: str, runs: int, budget: int = 100) -> None:
    """The best model and its level after some labels, with a share of them drawn from all items."""
    for share in (0.0, 0.1, 0.3):
        found = []
        for run in range(runs):
            some, true = part("all", pool, labels, run)
            right = (some.answers == np.asarray(true)[:, None]).mean(axis=0)
            audit = fl.create(None, "a", some, task=fl.Best(fl.Accuracy()), target="pool", anchor=share, seed=run)
            while audit.labelled < budget:
                ids = audit.ask(10).ids
                audit.tell({item: some.choices[true[int(item[1:])]] for item in ids})
            first = next(iter(audit.answer(draws=1_000).table.rows()))
            level = right[some.models.index(first["group"])]
            found.append(
                (level >= right.max() - 1e-9, right.max() - level, abs(first["mean"] - level),
                 first["high"] - first["low"], first["low"] <= level <= first["high"])
            )  # fmt: skip
        best_, lost, error, wide, held = 100 * np.mean(np.array(found, dtype=float), axis=0)
        print(f"{name}, anchors {share:.0%}, {budget} labels: best {best_:.0f}%, lost {lost:.2f} points; level: error "
              f"{error:.2f} points, interval {wide:.1f} points wide, holds in {held:.0f}%", flush=True)  # fmt: skip


# Two files of one model each, in the same order.
PAIRS = {"imagenet": ("imagenet", "imagenet_resnet101"), "cifar100": ("cifar100", "cifar100_wrn")}
# What a language model says instead of a number: unlikely, perhaps, probably, very probably, certainly.
VERBAL = np.array([0.2, 0.5, 0.7, 0.9, 0.99])


def pairs(folder: Path, runs: int, items: int, budgets: tuple[int, ...] = (50, 100, 200)) -> None:
    """The difference of two models on items drawn at random, from labels at random where they differ.

    The belief is read at the budgets only, which is all that error, stated sd and coverage need.
    """
    for name, files in PAIRS.items():
        both = [np.load(folder / f"{file}.npz", allow_pickle=False) for file in files]
        said = np.column_stack(
            [one["predicted"] if "predicted" in one else one["scores"].argmax(axis=1) for one in both]
        )
        sure = np.column_stack(
            [one["confidence"] if "confidence" in one else one["scores"].max(axis=1) for one in both]
        )
        true, classes = both[0]["labels"].astype(np.int64), [str(c) for c in both[0]["classes"]]
        in_words = VERBAL[np.abs(sure[..., None] - VERBAL).argmin(axis=2)]
        for how, known in (("as they are", sure.astype(float)), ("in five words", in_words), ("left out", None)):
            found = []
            for run in range(runs):
                rng = np.random.default_rng(run)
                pick = rng.choice(len(true), min(items or len(true), len(true)), replace=False)
                arrays = {"predicted": said[pick], "models": ["a", "b"], "classes": classes}
                pool = fl.read_pool(arrays if known is None else arrays | {"confidence": known[pick]})
                found.append(_pair(pool, true[pick], ("a", "b"), budgets, rng))
            _tell(f"{name}, confidences {how}, {budgets} labels", found)


def _tell(title: str, found: list[list[tuple[float, float, bool]]]) -> None:
    """Print the errors of runs, what was stated, and how often the intervals held."""
    error, sd, covered = np.moveaxis(np.array(found, dtype=float), 2, 0)
    rmse, held = np.sqrt((error**2).mean(axis=0)), covered.mean(axis=0)
    binomial = np.sqrt(np.maximum(held * (1 - held), 0.05 * 0.95) / len(found))
    print(
        f"{title}: rmse {np.round(100 * rmse, 2)}, stated sd {np.round(100 * sd.mean(axis=0), 2)}, covered "
        f"{np.round(100 * held)} ± {np.round(100 * binomial, 1)}%",
        flush=True,
    )  # fmt: skip


def gaps(pool: Pool, labels: list[int], name: str, runs: int, budgets: tuple[int, ...] = (20, 50, 100, 200)) -> None:
    """The difference of the best model and others, near and far, on 1,000 items, as in `pairs`."""
    right = (pool.answers == np.asarray(labels)[:, None]).mean(axis=0)
    first, *others = np.argsort(-right, kind="stable").tolist()
    wanted = [min(others, key=lambda h: abs(right[first] - right[h] - gap / 100)) for gap in (0, 5, 15, 30, 50)]
    for second in dict.fromkeys(wanted):
        pair, found = (pool.models[first], pool.models[second]), []
        for run in range(runs):
            some, true = part("all", pool, labels, run)
            found.append(_pair(some, np.asarray(true), pair, budgets, np.random.default_rng(run)))
        apart = 100 * (right[first] - right[second])
        _tell(f"{name}, {pair[0]} and {pair[1]}, {apart:.1f} points apart, {budgets} labels", found)


def steered(pool: Pool, labels: list[int], name: str, runs: int, budgets: tuple[int, ...] = (20, 50, 100)) -> None:
    """The difference of the leader and the model that is right least often, from labels of a search for the best."""
    found: dict[str, list[list[tuple[float, float, bool]]]] = {"as the search reads it": [], "as a random sample": []}
    for run in range(runs):
        some, true = part("all", pool, labels, run)
        shown, rng = np.asarray(true), np.random.default_rng(run)
        right = (some.answers == shown[:, None]).mean(axis=0)
        task = fl.Best(fl.Accuracy())
        cells = rows_of(task.cells(some, fl.whole(some)))
        panel = Panel.of(cells.said, cells.classes, cells.confidences, cells.home, 1)
        field = field_of(panel, shown.astype(np.int32))
        order = panel.contested[best_run(rng, np.random.default_rng(1), field, 2.0, np.array(budgets))[0]]
        rows: dict[str, list[tuple[float, float, bool]]] = {how: [] for how in found}
        for budget in budgets:
            items = order[:budget]
            belief = fl.Learned().on(cells, "pool").belief(Outcomes.of(cells, items, shown[items]))
            lead, last = int(joint(belief).look.expected.sum(axis=0).argmax()), int(right.argmin())
            alone = fl.CompareModels(fl.Accuracy(), some.models[lead], some.models[last]).cells(some, fl.whole(some))
            pair = joint(fl.Learned().on(alone, "pool").belief(Outcomes.of(alone, items, shown[items])))
            nobody = np.zeros(len(shown), dtype=bool)
            for how, read in zip(found, (pair.from_lot(nobody), pair), strict=True):
                draws = task.split(read.draws(rng, 400)[..., 0], cells)
                rows[how].append(_scored(apart(draws, read, cells, lead, last)[:, 0], right[lead] - right[last]))
        for how, row in rows.items():
            found[how].append(row)
    for how, scores in found.items():
        _tell(f"{name}, the leader and the last, {budgets} labels of a search, {how}", scores)


def _scored(draws: NDArray[np.float64], exact: float) -> tuple[float, float, bool]:
    """Error, stated sd, and whether the interval holds."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(draws.mean()) - exact, float(draws.std()), bool(low - 1e-9 <= exact <= high + 1e-9)


def _pair(
    pool: Pool, true: Any, pair: tuple[str, str], budgets: tuple[int, ...], rng: np.random.Generator
) -> list[tuple[float, float, bool]]:
    """Error, stated sd and whether the interval holds, at each budget of one run."""
    task = fl.CompareModels(fl.Accuracy(), *pair)
    cells = task.cells(pool, fl.whole(pool))
    right = (pool.answers == true[:, None]).mean(axis=0)
    a, b = (pool.models.index(one) for one in pair)
    exact = float(right[a] - right[b])
    order, prior = rng.permutation(np.flatnonzero(task.asks(cells))), fl.Learned().on(cells, "pool")
    found = []
    for budget in budgets:
        items = order[:budget]
        belief = prior.belief(Outcomes.of(cells, items, true[items]))
        draws = task.split(belief.draws(rng, 400)[..., 0], cells)
        found.append(_scored(task.apart(draws, belief, cells)[:, 0], exact))
    return found


def of_pool(folder: Path, name: str, what: list[str], runs: int, parts: list[str]) -> None:
    """Run what is asked about one pool."""
    asked = [ask for ask in (best, oracle, anchors, compare, gaps, steered) if ask.__name__ in what]
    if not asked and "honest" not in what:
        return
    pool, labels = read(folder, name)
    for ask in asked:
        ask(pool, labels, name, runs)
    if "honest" in what:
        honest(pool, labels, name, runs, parts)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--what", default="best,compare")
    parser.add_argument("--items", type=int, default=5_000, help="of pairs, each run on so many; 0 for all")
    parser.add_argument("--parts", default=",".join(PARTS), help="of honest")
    parser.add_argument("--pools", default=",".join(POOLS))
    given = parser.parse_args()
    what = given.what.split(",")
    if "pairs" in what:
        pairs(given.data, given.runs, given.items)
    if "lots" in what:
        lots(given.data, given.runs)
    for name in given.pools.split(","):
        of_pool(given.data, name, what, given.runs, given.parts.split(","))


if __name__ == "__main__":
    main()
