"""Print the lowest versions that pyproject.toml allows, as pins for pip: `make lowest` installs and tests them.

The dependencies of the package and of its extras are pinned. What the tests need beside them (from the extra "dev") is
named without a pin, so that versions are found that go with the others. Linters and type stubs are left out, and so is
the extra "docs": no user installs it, and the programs in it want newer versions of what users have.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"(?P<name>[\w.-]+(?:\[[\w,-]+\])?)>=(?P<version>[\w.]+)(?:,<[\w.]+)?")
DEVELOPERS = {"dev", "docs"}
LINTING = re.compile(r"fewlabels\[|mypy|ruff|[\w-]+-stubs")


def pinned(requirement: str) -> str:
    """The requirement at its lowest version.

    >>> pinned("psycopg[binary]>=3.2")
    'psycopg[binary]==3.2'
    >>> pinned("sqlglot>=30,<31")
    'sqlglot==30'
    """
    bound = BOUND.fullmatch(requirement)
    if bound is None:
        raise SystemExit(f"{requirement!r} has no single lower bound. Write it as name>=version.")
    return f"{bound['name']}=={bound['version']}"


def lowest(project: dict[str, Any]) -> list[str]:
    """Every requirement: pins of what users install, then the names of what developers need beside it."""
    extras: dict[str, list[str]] = project["optional-dependencies"]
    dependencies: list[str] = project["dependencies"]
    users = [extra for name, extra in extras.items() if name not in DEVELOPERS]
    used = [*dependencies, *(requirement for extra in users for requirement in extra)]
    tools = [tool for tool in extras["dev"] if not LINTING.match(tool)]
    return [*map(pinned, used), *tools]


if __name__ == "__main__":
    print("\n".join(lowest(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"])))
