"""Draw docs/pictures/shrinkage.svg: fifty labels on the built-in clothes, before and after learning from all groups.

python scripts/shrinkage_picture.py [--out docs/pictures/shrinkage.svg] [--labels 50] [--seed 0]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

import fewlabels as fl
from fewlabels.data import load_fashion

mpl.use("svg")
# Text stays text, and the same numbers give the same file.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fewlabels", "font.size": 9})

INK, GREY, BLUE = "#222222", "#9a9a9a", "#1f5fa8"


def assessed(labels: int, seed: int) -> tuple[list[str], dict[str, np.ndarray]]:
    """The names of the groups, and what is shown of each group."""
    data = load_fashion()
    pool = fl.read_pool({"id": data.ids, "scores": data.scores}, classes=data.classes)
    truth = dict(zip(data.ids, data.labels, strict=True))
    found: dict[str, np.ndarray] = {}
    for name, prior in (("own", fl.Uniform()), ("learned", fl.Learned())):
        audit = fl.create(None, "x", pool, prior=prior, target="pool", policy=fl.UniformItems(), seed=seed)
        audit.tell({item: truth[item] for item in audit.ask(labels).ids})
        table = audit.estimates()
        found |= {f"{name} {part}": np.array(table[part]) for part in ("mean", "low", "high")}
    counts = audit.belief().counts
    found["labels"] = counts.sum(axis=1)
    found["raw"] = counts[:, 0] / np.maximum(found["labels"], 1)
    right = np.array(data.labels) == np.array(data.classes)[pool.predicted]
    found["truth"] = np.bincount(audit.groups.group, right) / audit.groups.sizes
    order = np.argsort(found["truth"])
    return [audit.groups.names[i] for i in order], {name: values[order] for name, values in found.items()}


def draw(path: Path, labels: int, seed: int) -> None:
    """Left: from raw shares to learned estimates to the true values. Right: intervals without and with learning."""
    from matplotlib.figure import Figure

    names, found = assessed(labels, seed)
    picture = Figure(figsize=(9.6, 4.4), layout="constrained")
    left, right = picture.subplots(1, 2, width_ratios=[1, 1.25])
    for i in range(len(names)):
        points = [found["raw"][i], found["learned mean"][i], found["truth"][i]]
        if found["labels"][i]:
            left.plot([0, 1], points[:2], color=GREY, linewidth=1)
            left.plot(0, points[0], "o", color=GREY, markersize=3 + found["labels"][i] / 2)
        left.plot([1, 2], points[1:], color=BLUE, linewidth=1)
        left.plot(1, points[1], "o", color=BLUE, markersize=5)
        left.plot(2, points[2], "_", color=INK, markersize=14, markeredgewidth=2)
    left.set_xticks([0, 1, 2], ["share of its own labels", "learned", "truth"])
    left.set_xlim(-0.35, 2.3)
    left.set_ylabel("accuracy of a predicted class")
    left.set_title(f"{labels} labels: shares before, estimates after", loc="left", fontsize=10)
    rows = np.arange(len(names))
    for shift, name, colour in ((0.17, "own", GREY), (-0.17, "learned", BLUE)):
        right.hlines(rows + shift, found[f"{name} low"], found[f"{name} high"], color=colour, linewidth=2.5)
        words = "own labels only" if name == "own" else "learned"
        right.plot(found[f"{name} mean"], rows + shift, "o", color=colour, markersize=4.5, label=words)
    right.plot(found["truth"], rows, "|", color=INK, markersize=15, markeredgewidth=2, label="truth")
    right.set_yticks(rows, [f"{name} ({int(n)})" for name, n in zip(names, found["labels"], strict=True)])
    right.set_xlim(0, 1.01)
    right.set_xlabel("accuracy, 95 % intervals (in brackets: labels of the class)")
    right.set_title("Intervals before and after", loc="left", fontsize=10)
    picture.legend(loc="outside lower right", ncols=3, frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, format="svg", metadata={"Date": None})


def main() -> None:
    """Draw what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures/shrinkage.svg"))
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw(args.out, args.labels, args.seed)


if __name__ == "__main__":
    main()
