"""The command line as documented: help is quick and complete, the reference is current, the tutorial runs."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fewlabels.cli.main import _PLACES, cli
from fewlabels.cli.sections import SECTIONS
from tests.test_docs import WALKED, blocks

ROOT = Path(__file__).parents[2]
SMALL_OPTIONS = {"--seed", "--dry-run", "--json", "--help", "--plot", "--dask"}
HEAVY = ("numpy", "pyarrow", "sqlalchemy", "numba", "matplotlib", "rich", "jinja2", "fastapi", "fewlabels.cli.new")


def test_help_imports_no_command_and_nothing_heavy() -> None:
    program = (
        "import sys; from fewlabels.cli.main import cli; cli.main(['--help'], standalone_mode=False); "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_an_assessment_needs_no_extra(tmp_path) -> None:
    """With numba, matplotlib and the rest missing: from the file to the forecast."""
    (tmp_path / "p.csv").write_text("id,predicted\n1,a\n2,b\n3,a\n4,b\n")
    steps = [
        "new a.db p.csv --stop-labels 4",
        "ask a.db -n 2 -o b.csv",
        "tell a.db 1=a --adopt",
        "show a.db",
        "list a.db",
    ]
    program = (
        "import sys\n"
        f"refused = {('numba', 'matplotlib', 'fastapi', 'uvicorn', 'xarray', 'pandas', 'polars', 'psycopg')!r}\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in refused: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from fewlabels.cli.main import cli\n"
        f"for step in {steps!r}: cli.main(step.split(), standalone_mode=False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "more labels" in done.stdout


@pytest.mark.parametrize("name", _PLACES)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0, result.output
    if result.stdout.count("\n  -") <= 2:
        return  # nothing to choose
    assert f"fewlabels {name}" in result.stdout.split("Usage:", 1)[1].split("\n", 1)[1], "the help has no example"


def test_every_command_of_the_help_exists() -> None:
    said = CliRunner().invoke(cli, ["--help"]).stdout
    for name, (_, words) in _PLACES.items():
        assert re.search(rf"^  {name} +{re.escape(words[:30])}", said, flags=re.MULTILINE), name
        assert len(words) < 70


def test_a_mistyped_command_is_corrected() -> None:
    result = CliRunner().invoke(cli, ["shwo", "audit.db"])
    assert (result.exit_code, result.stderr) == (2, "fewlabels: there is no command 'shwo'. Did you mean 'show'?\n")
    assert "See: fewlabels ask --help" in CliRunner().invoke(cli, ["ask", "a.db", "-n", "0"]).stderr


def test_the_reference_is_current() -> None:
    spec = importlib.util.spec_from_file_location("cli_reference", ROOT / "scripts" / "cli_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == module.reference(), "docs/cli.md is stale: run python scripts/cli_reference.py"
    written = module.NAMES.read_text(encoding="utf-8")
    assert written == module.names(), "cli/part_names.py is stale: run python scripts/cli_reference.py"


def test_the_help_of_new_lists_the_parts_without_importing_them() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from fewlabels.cli.main import cli; "
        "print(CliRunner().invoke(cli, ['new', '--help']).output); assert 'numpy' not in sys.modules"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "accuracy, calibration, confusion, cost:FILE" in told
    assert "best, estimate, certify, compare, compare" in told


@pytest.mark.parametrize("name", ["new", "plan", "simulate"])
def test_options_of_long_commands_have_headings(name: str) -> None:
    """What a newcomer looks for comes first, and every option is listed once."""
    told = CliRunner().invoke(cli, [name, "--help"]).stdout.split("Examples:", 1)[1]
    headings = re.findall(r"^(\w[^:\n]*):$", told, flags=re.MULTILINE)
    assert headings[headings.index("Columns of the file") + 1] == "The question"
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    written = re.findall(r"^  (?:-\w, )?(--[\w-]+)", told, flags=re.MULTILINE)
    own = [option.opts[-1] for option in command.params if isinstance(option, click.Option)]
    assert sorted(written) == sorted([*own, "--help"])
    rest = told.split("Other options:", 1)[1]
    assert set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", rest, flags=re.MULTILINE)) <= SMALL_OPTIONS


def test_sections_name_options_that_exist() -> None:
    """A mistyped name would leave its option at the end, among the others."""
    context = click.Context(cli)
    commands = [cli.get_command(context, name) for name in ("new", "plan", "simulate")]
    known = {option.name for command in commands if command for option in command.params}
    named = [name for names in SECTIONS.values() for name in names]
    assert len(set(named)) == len(named)
    assert set(named) <= known


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    script = CliRunner().invoke(cli, ["completion", shell]).stdout
    assert "_FEWLABELS_COMPLETE" in script
    assert "fewlabels" in script


def completed(words: str, folder: Path) -> list[str]:
    """What the shell would offer for the last of some words."""
    place = str(len(words.split(" ")) - 1)
    asked = {"_FEWLABELS_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": place}
    done = subprocess.run(
        [sys.executable, "-c", "from fewlabels.cli.main import main; main()"],
        env=os.environ | asked, capture_output=True, text=True, timeout=60, check=False, cwd=folder,
    )  # fmt: skip
    return [line.split(",", 1)[1] for line in done.stdout.splitlines() if "," in line]


def test_commands_options_and_names_are_completed(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,predicted\n1,a\n2,b\n")
    made = CliRunner().invoke(cli, ["new", str(tmp_path / "audit.db"), "worst", str(tmp_path / "p.csv")])
    assert made.exit_code == 0, made.output
    assert completed("fewlabels wi", tmp_path) == ["withdraw"]
    assert "--annotator" in completed("fewlabels ask audit.db --a", tmp_path)
    assert completed("fewlabels show audit.db w", tmp_path) == ["worst"]
    assert completed("fewlabels show nothing.db w", tmp_path) == []
    assert not (tmp_path / "nothing.db").exists()


def commands(page: str) -> list[str]:
    """The commands of the `sh` blocks of a page that are meant to run."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.startswith("fewlabels ")]


@pytest.mark.parametrize("page", ["tutorial.md", "llm.md", "which-task.md"])
@pytest.mark.slow
def test_the_commands_of_a_page_run(page: str, tmp_path, monkeypatch) -> None:
    """With the files that the page itself shows, in blocks marked csv and their name."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for name, content in re.findall(r"^```csv (\S+)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    ran = commands(page)
    assert ran
    for line in ran:
        command, _, target = line.partition(" > ")
        words = shlex.split(command)[1:]
        typed = "1\n2\ns unclear\nu\n1\nq\n" if words[0] == "label" else None
        result = CliRunner().invoke(cli, words, input=typed)
        # A check says by its exit code that it fails, or that there is too little evidence.
        assert result.exit_code in ({0, 3, 4} if words[0] == "check" else {0}), f"{line}\n{result.output}"
        if target:  # a batch, which somebody now fills in
            rows = list(csv.DictReader(io.StringIO(result.stdout)))
            with (tmp_path / target).open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, rows[0].keys())
                writer.writeheader()
                writer.writerows(row | {"label": "other"} for row in rows)


@pytest.mark.parametrize("page", WALKED)
@pytest.mark.slow
def test_a_page_is_one_path(page: str, tmp_path, monkeypatch) -> None:
    """Code and commands in the order of the page; and what it shows is what the commands before have printed."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "__main__"}
    printed, shown = "", 0
    for block in blocks((ROOT / "docs" / page).read_text(encoding="utf-8")):
        kind, name = (*block.info, "", "")[:2]
        if kind == "python" and name != "no-run":
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile("\n" * (block.line - 1) + block.text, page, "exec", dont_inherit=True), space)
            printed = said.getvalue()
        elif kind in {"csv", "toml"} and name:
            (tmp_path / name).write_text(block.text, encoding="utf-8")
        elif kind == "sh":
            printed = "".join(run_line(line, tmp_path) for line in block.text.replace("\\\n", " ").splitlines())
        elif kind == "text":
            shown += 1
            for line in block.text.splitlines():
                assert line in printed, printed
    assert shown


def run_line(line: str, folder: Path) -> str:
    """Run a command of a page and return what it prints, to stderr too; `> FILE` writes a file."""
    command, _, target = line.split("  #", maxsplit=1)[0].strip().partition(" > ")
    words = shlex.split(command)[1:]
    result = CliRunner().invoke(cli, words)
    # A check says by its exit code that it fails, or that there is too little evidence.
    assert result.exit_code in ({0, 3, 4} if words[0] == "check" else {0}), f"{line}\n{result.output}"
    if target:
        (folder / target).write_text(result.stdout, encoding="utf-8")
    return result.output


def test_the_tutorial_shows_what_is_printed(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (tmp_path / "predictions.csv").write_text(text.split("```csv predictions.csv\n")[1].split("```")[0])
    printed = text.split("```text\n")[1].split("```")[0]
    assert CliRunner().invoke(cli, ["new", "audit.db", "predictions.csv"]).stderr == printed
