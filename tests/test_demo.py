"""The demo runs, and its data are what the script makes."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import fewlabels as fl

ROOT = Path(__file__).parents[1]


def loaded(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where dataclasses look their types up
    spec.loader.exec_module(module)
    return module


def test_the_demo_answers_and_writes_its_report(tmp_path, monkeypatch, capsys) -> None:
    demo = loaded(ROOT / "examples" / "demo.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "RUNS", 2)
    demo.main()
    out, err = capsys.readouterr()
    assert "The answer: it is worst where it says eight" in out
    assert "That is right." in out
    assert len(re.findall(r"labels in the middle of 2 runs", out)) == 2
    # Progress goes to stderr, and never more often than every 25 labels when nobody watches.
    counts = [int(line.split()[0]) for line in err.splitlines() if not line.startswith("Now")]
    assert len(counts) >= 2
    assert len({count // 25 for count in counts}) == len(counts)
    report = (tmp_path / "demo-report.md").read_text(encoding="utf-8")
    assert all(line in report for line in out.splitlines()[:-1])


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [((100, 200), (400, 400), "62% fewer"), ((300,), (200,), "50% more"), ((50,), (50,), "no fewer")],
)
def test_the_demo_says_who_won(ours, theirs, said) -> None:
    demo = loaded(ROOT / "examples" / "demo.py")
    runs = [[demo.Run(count, True, None) for count in counts] for counts in (ours, theirs)]
    assert said in demo.cost_lines(*runs)[-2]


def test_the_demo_data_are_what_the_script_makes() -> None:
    made = loaded(ROOT / "scripts" / "make_digits.py").make_digits()
    digits = fl.load_digits()
    assert digits.ids == tuple(made["ids"])
    assert digits.labels == tuple(made["labels"])
    assert digits.classes == tuple(made["classes"])
    assert (digits.images == made["images"]).all()
    # Another version of the libraries may round differently; naive Bayes multiplies 64 densities.
    np.testing.assert_allclose(digits.scores, made["scores"], atol=1e-4)
    assert digits.scores.shape == (len(digits), 10)
    assert digits.images.shape == (len(digits), 8, 8)
