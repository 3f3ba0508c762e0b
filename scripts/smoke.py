"""Build the wheel, the sdist and the image, and try each where there is nothing else: `make smoke`.

    python scripts/smoke.py [--only wheel|sdist|container] [--engine docker] [--dist dist]

The wheel is built from the sdist, so that an sdist with a file missing shows. Both are installed into fresh
environments without extras, in which a path from a file to a report and the demo run outside the source tree. With the
extra `web` the server starts, and its pages are there.

The image is built if a container engine answers: docker, podman or buildah. The same path is gone in its containers,
and the server is asked for its pages and its health, at a port of this machine. Buildah needs no daemon, and with
`BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs` not even rights that a container itself lacks; it runs the demo and the
server. If no engine answers, that is said, and the instructions of the Dockerfile are followed in a folder: what is
copied, run and set, the command that it begins with (on the loopback only) and the question about its health. What
needs an image is left out and named.

It needs a package index, Python with `venv`, and for the image the base image that the Dockerfile names.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
PREDICTIONS = "id,text,predicted,confidence\n" + "".join(
    f"t{i},message {i},{('billing', 'delivery', 'other')[i % 3]},0.{5 + i % 5}\n" for i in range(60)
)
PATH = (  # from a file to a report, as the tutorial goes
    "fewlabels --version",
    "fewlabels new audit.db predictions.csv --stop-labels 20",
    "fewlabels ask audit.db -n 4 -o batch.csv",
    "fewlabels tell audit.db t0=billing t1=delivery t2=billing --adopt",
    "fewlabels show audit.db",
    "fewlabels answer audit.db",
    "fewlabels report audit.db -o audit.html",
    "fewlabels backup audit.db",
    "fewlabels demo",
)
IN_WHEEL = ("py.typed", "web/templates/label.html", "web/static/style.css", "data/", "report/", "pytest_plugin.py")
PORT = "{port}"  # in the command of a server
LEFT_OUT = ("useradd", "chown")  # what only an image has: users and their files


def main() -> None:
    """Try what is asked for, and say how it went."""
    parser = argparse.ArgumentParser(description="Build and try wheel, sdist and image.")
    parser.add_argument("--only", choices=["wheel", "sdist", "container"])
    parser.add_argument("--engine", default="docker")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fewlabels-smoke-") as folder:
        if options.only != "container":
            wheel, sdist = build(Path(folder), options.dist)
            for kind, file in (("wheel", wheel), ("sdist", sdist)):
                if options.only in (None, kind):
                    try_package(Path(folder) / kind, file)
        if options.only in (None, "container"):
            try_container(Path(folder) / "container", options.engine)


def run(command: str | list[str], folder: Path, path: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    """Run a command in a folder, with the programs of an environment first; what fails ends everything."""
    words = shlex.split(command) if isinstance(command, str) else command
    print(f"$ {shlex.join(words)}", flush=True)
    done = subprocess.run(words, cwd=folder, env=alone(path, env), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nThis failed with code {done.returncode}: {shlex.join(words)}")


def alone(path: Path | None, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a process that must not find this source tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    if path is not None:
        kept["PATH"] = f"{path}{os.pathsep}{kept.get('PATH', '')}"
    return kept | dict(more or {})


def fresh(folder: Path, *packages: str) -> Path:
    """Make an environment with some packages; the folder of its programs."""
    run([sys.executable, "-m", "venv", "--clear", str(folder)], ROOT)
    programs = folder / "bin"
    run([str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], ROOT)
    return programs


def build(folder: Path, dist: Path) -> tuple[Path, Path]:
    """Build the sdist, the wheel from it, and look into both."""
    programs = fresh(folder / "build", "build", "twine")
    shutil.rmtree(dist, ignore_errors=True)
    run([str(programs / "python"), "-m", "build", "--outdir", str(dist), str(ROOT)], folder)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    run([str(programs / "python"), "-m", "twine", "check", "--strict", str(wheel), str(sdist)], folder)
    with zipfile.ZipFile(wheel) as packed_wheel:
        inside = packed_wheel.namelist()
    for part in IN_WHEEL:
        if not any(name.startswith(f"fewlabels/{part}") for name in inside):
            sys.exit(f"{wheel.name} has no {part}.")
    if strange := [name for name in inside if not name.startswith(("fewlabels/", "fewlabels-"))]:
        sys.exit(f"{wheel.name} has files that do not belong there: {strange[:5]}.")
    with zipfile.ZipFile(wheel) as packed_wheel:
        (file,) = (name for name in inside if name.endswith(".dist-info/METADATA"))
        if lost := re.findall(r"\]\((?!https?://|#)[^)]*\)", packed_wheel.read(file).decode()):
            sys.exit(f"On a package index, these links of the README lead nowhere: {lost[:5]}.")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    for part in ("pyproject.toml", "tests/conftest.py", "docs/tutorial.md", "mkdocs.yml", "Dockerfile", "LICENSE"):
        if part not in names:
            sys.exit(f"{sdist.name} has no {part}.")
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes. {sdist.name}: {sdist.stat().st_size:,} bytes.")
    return wheel, sdist


def try_package(folder: Path, file: Path) -> None:
    """Install a file where there is nothing else, and go from a file of predictions to a report and to a page."""
    programs = fresh(folder / "env", str(file))
    work = folder / "work"
    work.mkdir()
    (work / "predictions.csv").write_text(PREDICTIONS, encoding="utf-8")
    for command in PATH:
        run(command, work, programs)
    serve = [str(programs / "fewlabels"), "serve", "audit.db"]
    refused = subprocess.run(serve, cwd=work, env=alone(programs), capture_output=True, text=True, check=False)  # noqa: S603
    if refused.returncode != 2 or "web" not in refused.stderr or "Traceback" in refused.stderr:
        sys.exit(f"Without the extra web, `fewlabels serve` should say what to install. It said:\n{refused.stderr}")
    fresh(folder / "env", f"{file}[web]")
    with serving(["fewlabels", "serve", "audit.db", "--port", PORT], work, alone(programs)) as address:
        look(address)
    print(f"{file.name} works.\n")


@contextmanager
def serving(command: list[str], folder: Path, env: Mapping[str, str]) -> Iterator[str]:
    """A server that is told its port, for as long as the block; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [word.replace(PORT, str(port)) for word in command]
    print(f"$ {shlex.join(words)}", flush=True)
    words[0] = shutil.which(words[0], path=env["PATH"]) or sys.exit(f"There is no {words[0]}.")
    server = subprocess.Popen(words, cwd=folder, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=5).close()  # noqa: S310
                break
            except OSError:
                time.sleep(0.2)
        else:
            sys.exit("The server did not start.")
        yield address
    finally:
        server.terminate()
        server.wait(timeout=60)


def look(address: str) -> None:
    """The pages and files of the server are there, and strangers get no further."""
    for place in ("/sign-in", "/static/style.css", "/static/label.js", "/static/plots.css"):
        with urllib.request.urlopen(address + place, timeout=30) as page:  # noqa: S310
            if not page.read():
                sys.exit(f"{place} is empty.")
    try:
        urllib.request.urlopen(f"{address}/api/v1/assessments/predictions/estimates", timeout=30)  # noqa: S310
    except urllib.error.HTTPError as refused:
        if refused.code == 401:
            return
    sys.exit("A stranger can read the results.")


def try_container(folder: Path, engine: str) -> None:
    """Build the image and try it; without an engine, follow the Dockerfile in a folder."""
    folder.mkdir()
    words = shlex.split(engine)
    asked = [*words, "info"] if shutil.which(words[0]) else ["false"]
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    if subprocess.run(asked, capture_output=True, check=False).returncode == 0:  # noqa: S603
        # Images of the other format that podman and buildah know have no question about their health.
        build = [*words, "build", "--pull=false", "--tag", "fewlabels", str(ROOT)]
        run(build, folder, env={"BUILDAH_FORMAT": "docker"})
        if Path(words[0]).name == "buildah":
            try_with_buildah(text, folder, words)
        else:
            try_with_engine(text, folder, words)
        print("The image is built, and the demo and the server run in it.")
        return
    print(f"No container engine answers as {engine!r}, so NO IMAGE IS BUILT. The Dockerfile is followed in a folder:")
    follow(text, folder)
    print("Every instruction was followed but FROM, USER, VOLUME, EXPOSE and users of the image: these need an engine.")


def try_with_engine(text: str, folder: Path, engine: list[str]) -> None:
    """Go from a file to a report in containers of the image, then serve it at a port of this machine."""
    (folder / "predictions.csv").write_text(PREDICTIONS, encoding="utf-8")
    folder.chmod(0o777)  # the user of the image is none of this machine
    inside = [*engine, "run", "--rm", "--volume", f"{folder}:/data"]
    for command in PATH:
        run([*inside, "fewlabels", *command.split()[1:]], folder)
    name = f"fewlabels-smoke-{os.getpid()}"
    served = [*inside, "--name", name, "--publish", f"127.0.0.1:{PORT}:8000", "fewlabels"]
    with serving(served, folder, alone(None)) as address:
        look(address)
        run([*engine, "exec", name, *told(text)["HEALTHCHECK"]], folder)
        asked = [*engine, "inspect", "--format", "{{json .Config.Healthcheck}}", name]
        if "/healthz" not in subprocess.run(asked, capture_output=True, text=True, check=True).stdout:  # noqa: S603
            sys.exit("The image has no question about its health.")


def try_with_buildah(text: str, folder: Path, engine: list[str]) -> None:
    """Run the demo and the server in a container of the image; its network is that of this machine."""
    begin = [*engine, "from", "--pull-never", "fewlabels"]
    made = subprocess.run(begin, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    inside = [*engine, "run", made, "--"]
    start, then, health = (told(text)[word] for word in ("ENTRYPOINT", "CMD", "HEALTHCHECK"))
    try:
        run([*inside, "fewlabels", "demo"], folder)
        command = [one.replace("0.0.0.0", "127.0.0.1") for one in (*start, *then)]  # noqa: S104
        with serving([*inside, *command, "--port", PORT], folder, alone(None)) as address:
            look(address)
            run([*inside, *(one.replace("http://127.0.0.1:8000", address) for one in health)], folder)
    finally:
        run([*engine, "rm", made], folder)


def told(text: str) -> dict[str, list[str]]:
    """The commands of a Dockerfile that an image keeps, by instruction."""
    kept = [(word, rest[rest.index("[") :]) for word, rest in instructions(text) if rest.endswith("]")]
    return {word: json.loads(words) for word, words in kept}


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile: the word and the rest, with continued lines joined."""
    lines = re.sub(r"\\\n", " ", text).splitlines()
    parts = [line.strip().partition(" ") for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [(word.upper(), rest.strip()) for word, _, rest in parts]


def follow(text: str, root: Path) -> None:
    """Follow a Dockerfile with a folder in place of the image's root, up to a server that is in good health."""
    here, variables = root, {"PATH": ""}
    command: list[str] = []
    health: list[str] = []
    for word, rest in instructions(text):
        if word == "WORKDIR":
            here = placed(rest, root)
            here.mkdir(parents=True, exist_ok=True)
        elif word == "COPY" and "--from" not in rest:
            *names, target = rest.split()
            copy(names, (here / target) if not target.startswith("/") else placed(target, root))
        elif word == "RUN":
            step(rest, root, here)
        elif word == "ENV":
            variables |= {name: within(value, root) for name, value in (one.split("=", 1) for one in shlex.split(rest))}
        elif word == "HEALTHCHECK":
            health = json.loads(rest[rest.index("[") :])
        elif word in ("ENTRYPOINT", "CMD"):
            command += json.loads(rest)
    if not health or not command:
        sys.exit("The Dockerfile has no command, or no question about its health.")
    programs = Path(variables.pop("PATH").partition(":")[0])
    env = alone(programs, variables)
    (here / "predictions.csv").write_text(PREDICTIONS, encoding="utf-8")
    run("fewlabels new audit.db predictions.csv", here, programs, variables)
    # The container has a network of its own; this machine's is nobody else's business.
    local = [one.replace("0.0.0.0", "127.0.0.1") for one in command]  # noqa: S104
    with serving([*local, "--port", PORT], here, env) as address:
        look(address)
        run([one.replace("http://127.0.0.1:8000", address) for one in health], here, programs, variables)


def copy(names: list[str], target: Path) -> None:
    """Copy what .dockerignore leaves."""
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"]
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not any(fnmatch(name, pattern) for pattern in kept):
            sys.exit(f".dockerignore leaves out {name}, which the Dockerfile copies.")
        if (ROOT / name).is_dir():  # the folder's content, as Docker has it
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, target)


def step(text: str, root: Path, here: Path) -> None:
    """Run the commands of a RUN, but those that only an image can run."""
    for command in re.split(r"\s*&&\s*", text):
        if command.split()[0] in LEFT_OUT:
            print(f"(left out: {command})")
            continue
        # The base image has Python as `python`.
        run(["sh", "-c", re.sub(r"^python ", f"{sys.executable} ", within(command, root))], here)


def within(text: str, root: Path) -> str:
    """A text with the absolute paths of the image moved under a folder."""
    return re.sub(r"(?<![\w./-])/(?=[a-z])", f"{root}/", text)


def placed(path: str, root: Path) -> Path:
    return root / path.lstrip("/")


if __name__ == "__main__":
    main()
