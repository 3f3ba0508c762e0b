"""`import fewlabels` is light, and the core dependencies alone are enough."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fewlabels as fl

# What somebody who only wants to look at the help or a pool should not wait for, or need to have.
NOT_LOADED = (
    "sqlalchemy",
    "numba",
    "matplotlib",
    "pandas",
    "polars",
    "fastapi",
    "sklearn",
    "psycopg",
    "click",
    "rich",
    "jinja2",
    "scipy.stats",
)

# The dependencies of pyproject.toml, and what SQLAlchemy itself requires.
CORE = {"fewlabels", "numpy", "scipy", "pyarrow", "sqlalchemy", "typing_extensions", "greenlet"}

REFUSE_ALL_BUT = """
import sys

class Refuse:
    def __init__(self, allowed):
        self.allowed = allowed | set(sys.stdlib_module_names)

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        # The one module of the standard library whose name depends on the machine.
        if top not in self.allowed and not top.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"not a core dependency: {name}", name=name)
        return None
"""

ASK_AND_TELL = """
import fewlabels as fl

pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], classes=["cat", "dog"])
audit = fl.create(ADDRESS, "audit", pool, fl.by_predicted(pool), task=fl.Estimate(fl.Accuracy()), seed=1)
audit.tell({request.id: "cat" for request in audit.ask(3)})
table = audit.estimates()
assert sum(table["labelled"]) == 3, table
for low, mean, high in zip(table["low"], table["mean"], table["high"], strict=True):
    assert 0 <= low <= mean <= high <= 1, table
audit.close()
"""


def run(program: str) -> str:
    """What a fresh Python prints for a program; it must end well and without warnings."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy() -> None:
    loaded = run("import sys, fewlabels; print(*sys.modules, sep='\\n')").split()
    assert "fewlabels" in loaded
    assert [name for name in NOT_LOADED if name in loaded] == []


# What no everyday command needs. Arrow would import pandas by itself, wherever it is installed.
NOT_IN_COMMANDS = (
    *("pandas", "polars", "numba", "matplotlib", "sklearn", "scipy.stats", "fastapi", "jinja2", "rich", "psycopg"),
    *("sqlalchemy.dialects.postgresql", "pyarrow.parquet", "pyarrow.dataset"),
    *("fewlabels.simulation", "fewlabels.planning", "fewlabels.plots", "fewlabels.report", "fewlabels.web"),
)
# What only the commands need that compute something from labels, or read a file.
COMPUTING = ("scipy.special", "numpy.ma", "pyarrow.compute", "fewlabels.io.predictions")
HELP = ("numpy", "pyarrow", "sqlalchemy", "scipy", "fewlabels.assessment", "fewlabels.store")


# What reading a file needs: Arrow must not think of pandas, and a plan needs no database.
READING = (
    *("pandas", "polars", "numba", "matplotlib", "sklearn", "scipy.stats", "fastapi", "jinja2", "rich", "psycopg"),
    *("fewlabels.simulation", "fewlabels.plots", "fewlabels.report", "fewlabels.web"),
)


def loaded_by(*words: str) -> list[str]:
    """The modules that a command imports."""
    return (
        run(
            "import sys\nfrom fewlabels.cli.main import cli\n"
            f"try:\n    cli.main({list(words)!r}, standalone_mode=False)\n"
            "finally:\n    print('\\nLOADED', *sys.modules, sep='\\n')"
        )
        .partition("LOADED")[2]
        .split()
    )


@pytest.mark.parametrize(
    ("words", "not_needed"),
    [
        (["--help"], (*NOT_IN_COMMANDS, *COMPUTING, *HELP)),
        (["show", "--help"], (*NOT_IN_COMMANDS, *COMPUTING, *HELP)),
        (["list", "audit.db"], (*NOT_IN_COMMANDS, *COMPUTING)),
        (["ask", "audit.db", "-n", "2"], (*NOT_IN_COMMANDS, "scipy.special", "pyarrow.compute", "numpy.ma")),
        (["tell", "audit.db", "a=cat", "--adopt"], (*NOT_IN_COMMANDS, *COMPUTING)),
        (["tell", "audit.db", "labels.csv", "--adopt"], (*NOT_IN_COMMANDS, "scipy.special")),
        (["export", "audit.db", "labels"], (*NOT_IN_COMMANDS, *COMPUTING)),
        (["show", "audit.db"], (*NOT_IN_COMMANDS, "scipy.special", "pyarrow.compute", "numpy.ma")),
        (["show", "audit.db", "--groups", "column:place"], NOT_IN_COMMANDS),
        (["answer", "audit.db"], (*NOT_IN_COMMANDS, "scipy.special", "pyarrow.compute", "numpy.ma")),
        (["verify", "audit.db"], (*NOT_IN_COMMANDS, *COMPUTING)),
        (["new", "other.db", "pool.csv"], READING),
        (["plan", "pool.csv", "--budgets", "2", "--runs", "1"], (*READING, "sqlalchemy", "fewlabels.assessment")),
    ],
    ids=" ".join,
)
def test_commands_load_only_what_they_need(words, not_needed, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text("id,label\nb,dog\n", encoding="utf-8")
    Path("pool.csv").write_text("id,predicted,confidence\na,dog,0.9\nb,cat,0.8\nc,cat,0.7\n", encoding="utf-8")
    columns = {"id": list("abcd"), "scores": [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], "place": [1, 2, 1, None]}
    pool = fl.read_pool(columns, classes=["cat", "dog"], columns=["place"])
    audit = fl.create("audit.db", "audit", pool, seed=1)
    audit.tell(dict.fromkeys(audit.ask(2).ids, "cat"))
    audit.close()
    found = loaded_by(*words)
    assert "fewlabels.cli.main" in found
    assert [name for name in not_needed if name in found] == []


def test_values_that_a_driver_hands_to_arrow_do_not_load_pandas(tmp_path) -> None:
    """As those of PostgreSQL do when items of a table are compared; pandas takes a second of the command."""
    fl.create(tmp_path / "audit.db", "audit", fl.read_pool({"predicted": ["cat", "dog"] * 5})).close()
    said = run(
        "import sys\nfrom fewlabels.cli.main import cli\n"
        f"cli.main(['ask', {str(tmp_path / 'audit.db')!r}], standalone_mode=False)\n"
        "import pyarrow as pa\npa.array(['a', None])\nprint('\\nLOADED', 'pandas' in sys.modules)"
    )
    assert said.endswith("LOADED False\n")


def test_in_memory_with_the_core_dependencies_alone() -> None:
    run(f"{REFUSE_ALL_BUT}\nsys.meta_path.insert(0, Refuse({CORE!r}))\nADDRESS = None\n{ASK_AND_TELL}")


@pytest.mark.slow
def test_in_sqlite_with_the_core_dependencies_alone(tmp_path) -> None:
    address = f"sqlite:///{tmp_path / 'audit.db'}"
    run(f"{REFUSE_ALL_BUT}\nsys.meta_path.insert(0, Refuse({CORE!r}))\nADDRESS = {address!r}\n{ASK_AND_TELL}")


def test_what_is_not_core_is_refused_there() -> None:
    said = run(
        f"{REFUSE_ALL_BUT}\nsys.meta_path.insert(0, Refuse({CORE!r}))\n"
        "try:\n    import pandas\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    assert "not a core dependency: pandas" in said


@pytest.mark.slow
def test_without_the_compiler_every_name_is_there_and_simulating_says_what_is_missing() -> None:
    said = run(
        f"{REFUSE_ALL_BUT}\nsys.meta_path.insert(0, Refuse({CORE | {'click'}!r}))\n"
        "import inspect\n"
        "import fewlabels as fl\n"
        "from fewlabels import *\n"
        "assert hasattr(fl, 'simulate')\n"
        "assert {name for name, _ in inspect.getmembers(fl)} == {*fl.__all__, '__version__', 'testing'}\n"
        "pool = fl.read_pool({'predicted': ['a', 'b']})\n"
        "from fewlabels.simulation.kernels.choose import ask_items\n"
        "from fewlabels.cli.paper import paper\n"
        "from fewlabels.cli.simulate import _simulated\n"
        "printed = lambda: paper.callback('figures', data=None, out=None, as_json=False, datasets=None)\n"
        "simulate = lambda: fl.simulate(pool, ['a', 'b'], task=None, methods=[], budgets=[])\n"
        "for call in (simulate, ask_items, printed, lambda: _simulated('nowhere.csv', {})):\n"
        "    try:\n        call()\n"
        "    except fl.FewlabelsError as error:\n        print(error)"
    )
    first, *others = said.splitlines()
    assert others == [first] * 3
    assert first.startswith("simulating needs numba, which is not installed. In the project's folder: pip install")
