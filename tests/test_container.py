"""The container and Compose files agree with the project; no engine runs here, so they are read and not built."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from fewlabels.cli.main import cli
from scripts import smoke

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def instructions(name: str) -> list[str]:
    return re.findall(rf"^\s*{name}\s+(.+)$", DOCKERFILE, flags=re.MULTILINE)


def test_everything_that_is_copied_is_there_and_not_left_out() -> None:
    left = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in left if line.startswith("!")}
    assert "*" in left
    copied = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert any(fnmatch(name, pattern) for pattern in kept), name


def test_everything_that_the_build_needs_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    copied = " ".join(instructions("COPY"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", *project["license-files"], "src"):
        assert name in copied
    extras = re.search(r"\[([\w,]+)\]", " ".join(instructions("RUN")))
    assert extras
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    assert set(extras[1].split(",")) == {"web", "postgres"}


@pytest.mark.parametrize(
    "command", [json.loads(instructions("CMD")[-1]), COMPOSE["services"]["web"]["command"]], ids=["image", "compose"]
)
def test_the_commands_are_commands_of_fewlabels(command: list[str]) -> None:
    name, *arguments = command
    found = cli.get_command(None, name)
    assert found is not None
    # A command keeps the help option of its first context, so this one has the names of the real one.
    names = cli.context_settings["help_option_names"]
    context = found.make_context(name, list(arguments), help_option_names=names)  # refuses unknown options
    assert context.params["host"] == "0.0.0.0"
    assert context.params["port"] == int(instructions("EXPOSE")[0])
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["fewlabels"]


def test_the_image_runs_without_rights_and_is_asked_for_its_health() -> None:
    assert instructions("USER") == ["fewlabels"]
    assert DOCKERFILE.index("USER fewlabels") > DOCKERFILE.rindex("RUN ")
    assert "/healthz" in " ".join(instructions("HEALTHCHECK"))


def test_the_dockerfile_can_be_followed_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make smoke` does so for good; here without the index: what would be run, and what is copied."""
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in smoke.instructions(TEXT)} <= known
    ran: list[tuple[Any, Path]] = []
    monkeypatch.setattr(smoke, "run", lambda command, folder, *_: ran.append((command, folder)))
    monkeypatch.setattr(smoke, "serving", lambda *_: contextlib.nullcontext("http://127.0.0.1:9"))
    monkeypatch.setattr(smoke, "look", lambda address: None)
    smoke.follow(TEXT, tmp_path)
    assert (tmp_path / "source/src/fewlabels/__init__.py").exists()
    assert not list(tmp_path.rglob("__pycache__"))
    built = ran[0][0][-1]
    assert f"--wheel-dir {tmp_path}/wheels ." in built
    assert f"{tmp_path}/opt/fewlabels/bin/python -m pip install" in ran[2][0][-1]
    assert not any(word in str(command) for command, _ in ran for word in smoke.LEFT_OUT)
    health, where = ran[-1]
    assert where == tmp_path / "data"
    assert "http://127.0.0.1:9/healthz" in health[-1]


def test_the_services_fit_together() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"database", "web"}
    assert services["web"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in services["database"]
    settings = services["database"]["environment"]
    address = services["web"]["command"][1]
    assert address == f"postgresql://{settings['POSTGRES_USER']}@database/{settings['POSTGRES_DB']}"
    assert services["web"]["environment"]["PGPASSWORD"] == settings["POSTGRES_PASSWORD"]
    assert settings["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")  # nothing starts without one
    volume = services["database"]["volumes"][0].partition(":")[0]
    assert volume in COMPOSE["volumes"]
    assert all(port.startswith("127.0.0.1:") for port in services["web"]["ports"])
