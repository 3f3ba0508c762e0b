"""Update docs/paper-results.md and results/README.md from results/*.csv and results/made.json.

Run from the project's folder, after `fewlabels paper all --data DIR --out results`: python scripts/paper_results.py
The words around the tables are kept as they are: read them again when numbers have changed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill

from fewlabels.paper import footnotes
from fewlabels.paper.plan import PaperPlan
from fewlabels.paper.provenance import command, notes
from fewlabels.paper.tables import read_csv, side_by_side

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "results", ROOT / "docs" / "paper-results.md"

# A command, the table that it made, and the footnotes of that.
BLOCK = re.compile(
    r"^`fewlabels paper (?P<name>[a-z-]+) --data DIR --runs \d+(?P<published> --as-published)? [^\n]*`\n\n"
    r"```text\n.*?\n```\n(?:\n(?:\d+\. [^\n]*\n(?:   [^\n]*\n)*)+)?",
    re.MULTILINE | re.DOTALL,
)

HEAD = """# Results of `fewlabels paper`

Made on the pools described in `docs/paper-results.md`, where the tables are shown beside the paper's numbers. The data
are not part of the project. Each file is a table with one number to a line: data set, method, number of labels (empty
where the score itself counts labels), score, mean over runs, standard error, the number that the paper prints, runs,
and whether the method is among the best (Wilcoxon, 0.05). `fewlabels paper` writes them, and `made.json`, from which
`python scripts/paper_results.py` makes this page and the tables of the other.

| file | command | CPU seconds |
|---|---|---|
"""

TAIL = """
`fewlabels paper all` makes all files of one kind, and the figures. Curves are means of 200 runs (ImageNet: 20, a tenth,
unless `--all-runs` is given), with standard errors; the bars of `ece-error` are of 200. A thousand runs would take
about five times as long. CPU seconds are those of all processors together, on a machine that was busy with other work;
two processors that have nothing else to do need half of them.
"""


def block(match: re.Match[str]) -> str:
    """A table of the page, with the numbers of its file."""
    published = bool(match["published"])
    file = f"{match['name']}{'-as-published' * published}.csv"
    plan = PaperPlan(Path(), as_published=published)
    notes_of = getattr(footnotes, match["name"].replace("-", "_"))
    told = notes_of() if match["name"] == "least-accurate" else notes_of(plan)
    numbered = "\n".join(fill(f"{i}. {note}", 120, subsequent_indent="   ") for i, note in enumerate(told, 1))
    return f"`{command(MADE[file])}`\n\n```text\n{side_by_side(read_csv(RESULTS / file))}\n```\n\n{numbered}\n"


def readme() -> str:
    """The page about the files."""
    lines = [
        f"| `{'figures/' * (made['name'] == 'figures')}{file}` | `{command(made)}` | {made['cpu_seconds']:,.0f} |"
        for file, made in MADE.items()
    ]
    kinds = {"the figures": DRAWN, "the tables as the text says": AS_TEXT, "the tables as published": AS_PUBLISHED}
    sums = [f"{words} {sum(one['cpu_seconds'] for one in made):,.0f}" for words, made in kinds.items()]
    return HEAD + "\n".join(lines) + f"\n\nIn all, {', '.join(sums)} CPU seconds.\n" + TAIL


if __name__ == "__main__":
    MADE = notes(RESULTS)
    for picture in RESULTS.glob("*.png"):
        picture.replace(RESULTS / "figures" / picture.name)
    TABLES = [one for one in MADE.values() if one["name"] != "figures"]
    DRAWN = [one for one in MADE.values() if one["name"] == "figures"]
    AS_PUBLISHED = [one for one in TABLES if one["as_published"]]
    AS_TEXT = [one for one in TABLES if not one["as_published"]]
    page, changed = BLOCK.subn(block, PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")
    (RESULTS / "README.md").write_text(readme(), encoding="utf-8")
    print(f"{changed} tables on the page, {len(TABLES)} files")
    sys.exit(changed != len(TABLES))
