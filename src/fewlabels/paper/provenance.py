"""The settings and the time that made the files in a folder of results: its `made.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "made.json"


def note(path: Path, settings: Mapping[str, Any], cpu_seconds: float) -> None:
    """Write down the settings that a file was made with, and the seconds of all processors together.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> note(folder / "ece.csv", {"name": "ece", "runs": 3, "as_published": False, "seed": 1}, 2.34)
    >>> notes(folder)
    {'ece.csv': {'name': 'ece', 'runs': 3, 'as_published': False, 'seed': 1, 'cpu_seconds': 2.34}}
    """
    kept = notes(path.parent)
    kept[path.name] = {**settings, "cpu_seconds": float(f"{cpu_seconds:.3g}")}
    text = json.dumps(dict(sorted(kept.items())), indent=1)
    (path.parent / FILE).write_text(text + "\n", encoding="utf-8")


def notes(folder: Path) -> dict[str, dict[str, Any]]:
    """The notes about the files of a folder, by file."""
    path = folder / FILE
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def command(settings: Mapping[str, Any]) -> str:
    """The command that makes a file, from what was written down about it.

    >>> command({"name": "ece", "runs": 1000, "as_published": True, "seed": 1, "datasets": ["svhn"], "cpu_seconds": 3})
    'fewlabels paper ece --data DIR --runs 1000 --datasets svhn --as-published --seed 1 --out results'
    """
    words = [f"fewlabels paper {settings['name']} --data DIR --runs {settings['runs']}"]
    words += ["--all-runs"] * bool(settings.get("all_runs"))
    if names := settings.get("datasets"):
        words.append(f"--datasets {','.join(names)}")
    words += ["--as-published"] * bool(settings["as_published"])
    return " ".join([*words, f"--seed {settings['seed']} --out results"])
