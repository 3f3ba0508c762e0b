"""The demo runs and says what it measured, and its data are what the scripts make."""

from __future__ import annotations

import base64
import importlib.util
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.common import program
from fewlabels.cli.demo import Run, check, saving
from fewlabels.cli.main import cli
from fewlabels.data import load_digits, load_fashion, png

ROOT = Path(__file__).parents[2]


def loaded(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_demo_answers_measures_and_writes_its_report(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(cli, ["demo", "--runs", "1", "--keep", "demo.db"])
    assert found.exit_code == 0
    assert re.search(
        r"After \d+ labels it is \d+% sure: the class that the network gets wrong most often is Shirt\.", found.stdout
    )
    assert "Here the truth is known. The answer is right" in found.stdout
    said = re.search(
        r"Random sampling would have needed about (\d+) labels .*; fewlabels needs about (\d+)", found.stdout
    )
    random, ours = map(int, said.groups())
    audit = fl.load("demo.db", "demo")
    assert len(audit.labels()) == ours < random  # with one run, the middle is the run that was shown
    # Progress goes to stderr, and to few lines when nobody watches.
    assert 1 <= found.stderr.count("labels: best guess") <= 1 + ours // 50
    html = (tmp_path / "demo-report.html").read_text(encoding="utf-8")
    assert "The class it gets wrong most often is Shirt" in html
    assert html.count('src="data:image/png;base64,') == 12
    # What it says to type next works.
    (tmp_path / "predictions.csv").write_text(
        "id,p_a,p_b\n" + "".join(f"{i},0.{i % 9 + 1},0.{9 - i % 9}\n" for i in range(60))
    )
    typed = re.findall(rf"^  {re.escape(program())} (.*?)(?:   .*)?$", found.stdout, flags=re.MULTILINE)
    assert [line.split()[0] for line in typed if not line.startswith("chooses:")] == ["new", "label", "report"]
    for line in (typed[-3], typed[-1]):
        assert CliRunner().invoke(cli, line.split()).exit_code == 0
    answer = CliRunner().invoke(cli, ["answer", "demo.db"]).stdout
    assert answer.startswith("The class it gets wrong most often is Shirt")
    audit.close()


def test_the_demo_says_where_it_cannot_write_before_it_works() -> None:
    found = CliRunner().invoke(cli, ["demo", "-o", "report.pdf"])
    assert (found.exit_code, found.stdout) == (2, "")
    assert "ends in .html, .md or .json" in found.stderr


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ((100, 200, 300), (400, 400, 500), "needed about 400 labels .* needs about 200"),
        ((300,), (200,), "needed about 200 labels .* needs about 300"),
        ((50,), (1200, 1200, 90), "needed more than 1200 labels"),
    ],
)
def test_the_saving_is_the_middle_of_the_runs_whoever_won(ours, theirs, said) -> None:
    chosen, random = ([Run(labels, "coat", labels < 1200) for labels in runs] for runs in (ours, theirs))
    assert re.search(said, saving(chosen, random, "coat")[0])


def test_the_saving_says_how_often_either_way_named_the_wrong_class() -> None:
    chosen, random = [Run(50, "coat", sure=True), Run(60, "bag", sure=True)], [Run(90, "coat", sure=True)]
    lines = saving(chosen, random, "coat")
    assert lines[2].endswith("from 50 to 60; named the right class 1 of 2 times")
    assert lines[3].endswith("from 90 to 90; named the right class 1 of 1 times")


def test_a_wrong_answer_is_owned_up_to() -> None:
    rows: dict[str, list[Any]] = {"group": ["coat", "bag"], "low": [0.1, 0.8], "high": [0.3, 0.9]}
    answer = fl.Answer("", 0.9, fl.Table(rows), ("coat",))
    first, second = check(answer, {"coat": 0.5, "bag": 0.2})
    assert "The answer is wrong: the worst class is bag. 20% of" in first
    assert "0 of 2 classes" in second


def test_the_digits_are_what_the_script_makes() -> None:
    made = loaded(ROOT / "scripts" / "make_digits.py").make_digits()
    digits = load_digits()
    assert digits.ids == tuple(made["ids"])
    assert digits.labels == tuple(made["labels"])
    assert digits.classes == tuple(made["classes"])
    assert (digits.images == made["images"]).all()
    # Another version of the libraries may round differently; naive Bayes multiplies 64 densities.
    np.testing.assert_allclose(digits.scores, made["scores"], atol=1e-4)
    assert digits.scores.shape == (len(digits), 10)
    assert digits.images.shape == (len(digits), 8, 8)


def test_the_fashion_data_are_what_their_readme_says() -> None:
    """The original files are not in the project, so the script is tested on its rule for thinning."""
    fashion = load_fashion()
    script = loaded(ROOT / "scripts" / "make_fashion.py")
    assert fashion.classes == script.NAMES
    rows = np.array([int(item.removeprefix("fashion-")) for item in fashion.ids])
    assert len(np.unique(rows)) == len(fashion) == 3_971
    counts = [fashion.labels.count(name) for name in script.COMMON]
    assert counts == [round(1000 * rank**-0.7) for rank in range(1, 11)]
    labels = np.tile(np.arange(10), 1000)
    assert np.bincount(labels[script.thinned(labels, 0)])[script.NAMES.index("Shirt")] == counts[-1]
    predicted = fashion.scores.argmax(axis=1)
    right = np.array(fashion.classes)[predicted] == np.array(fashion.labels)
    assert right.mean().round(2) == 0.89
    assert right[predicted == fashion.classes.index("Shirt")].mean().round(2) == 0.5
    np.testing.assert_allclose(fashion.scores.sum(axis=1), 1, atol=1e-5)


def test_the_package_stays_small() -> None:
    files = (ROOT / "src" / "fewlabels" / "data").glob("*.npz")
    assert sum(file.stat().st_size for file in files) < 3_000_000


def test_pictures_are_png_files() -> None:
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    data = png(image)
    start = data.index(b"IDAT") + 4
    length = int.from_bytes(data[start - 8 : start - 4], "big")
    rows = np.frombuffer(zlib.decompress(data[start : start + length]), np.uint8).reshape(3, 5)
    assert (rows[:, 0] == 0).all()
    assert (255 - rows[:, 1:] == image).all()
    digits = load_digits()
    assert base64.b64decode(digits.addresses()[5].partition(",")[2]) == png(digits.images[5])
