"""`fewlabels serve`: the labelling page and the dashboard."""

from __future__ import annotations

import contextlib
import gc
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from fewlabels.wording import harmless, shortened

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from fewlabels.store import Store
    from fewlabels.store.people import People
    from fewlabels.web.service import Service

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104  (only to be recognised)
_RUBBISH = 20_000  # new objects between two garbage collections
_LAST = 5  # seconds that open requests have to end

_UPLOAD = "Largest file that owners may upload to make an assessment; 0: none."

_HELP = """Serve the labelling page, the dashboard and the HTTP API of a database.

At the first start an owner is created, and their personal link is printed. Open it, make an assessment if there is none
yet (a DATABASE that does not exist is created), and invite others on the page "People" or with `fewlabels invite`. Only
this computer can connect unless --host says otherwise. To let others connect, put an https proxy in front and use
--secure.

\b
Examples:
  fewlabels serve audit.db
  fewlabels serve audit.db --content images/ --port 8080
  fewlabels serve postgresql://user@host/database --host 0.0.0.0 --secure
  fewlabels serve audit.db --secure --root-path /lab       https://example.com/lab/ behind a proxy
"""


@click.command(help=_HELP, short_help="Label in the browser, several people at once, with a live dashboard.")
@click.argument("database")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--content",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder of the pictures and files that the items name.",
)
@click.option("--columns", metavar="LIST", help="Columns of the pool that annotators see.  [default: its content]")
@click.option(
    "--image-host", "image_hosts", multiple=True, metavar="ORIGIN", help="Show images from this host. Repeatable."
)
@click.option("--show", metavar="LIST", help="Let annotators see any of predicted, confidence, group.  [default: none]")
@click.option("--plain", is_flag=True, help="Show texts as they are written, not Markdown, JSON and code formatted.")
@click.option(
    "--lease",
    default=900.0,
    show_default=True,
    type=click.FloatRange(1),
    help="Seconds to answer an item; after that, others are asked.",
)
@click.option("--upload", default=100.0, show_default=True, type=click.FloatRange(0), metavar="MB", help=_UPLOAD)
@click.option("--secure", is_flag=True, help="People reach the server by https: send cookies only that way.")
@click.option("--address", default="", metavar="URL", help="Where people reach the server, for the links you send.")
@click.option("--root-path", default="", metavar="PATH", help="The path under which a proxy shows the server: /lab.")
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Trust this proxy's headers. Repeatable.  [default: this computer]",
)
def serve(database: str, host: str, port: int, **options: Any) -> None:
    """See `_HELP`."""
    from fewlabels.errors import InputError, needs
    from fewlabels.store.people import People

    try:
        import uvicorn

        from fewlabels.web import Settings, create_app
        from fewlabels.web.connections import MOST, Connection
    except ModuleNotFoundError as error:
        raise InputError(needs("serving", f"the package {error.name}", "web")) from error
    for name in ("columns", "show"):
        options[name] = tuple(part.strip() for part in (options[name] or "").split(",") if part.strip())
    options["root_path"], options["address"] = options["root_path"].rstrip("/"), options["address"].rstrip("/")
    options["proxies"] = options["proxies"] or Settings.proxies
    options["upload"] = round(options["upload"] * 10**6)
    settings = Settings(**options)
    with _opened(database) as store:
        if host not in _LOOPBACK:
            nearby = _address(host, port, secure=settings.secure) + settings.root_path
            settings = replace(settings, nearby=nearby if port else "")
        app = create_app(store, settings)
        _check_shown(app.state.service)
        listening = _listen(host, port)
        # No server header, and no access log, which would add nothing to the log of events.
        config = uvicorn.Config(app, log_level="warning", server_header=False, access_log=False, http=Connection)
        config.proxy_headers, config.timeout_graceful_shutdown = False, _LAST  # web/proxies.py reads their headers
        config.limit_concurrency = 2 * MOST  # idle connections make room long before
        server = uvicorn.Server(config)
        app.state.service.closing = lambda: server.should_exit  # or an open dashboard would keep it from stopping
        port = listening.getsockname()[1]
        address = settings.address or _address(host, port, secure=settings.secure) + settings.root_path
        _greet(People(store), database, address, host, secure=settings.secure)
        # Pools and ledgers are millions of objects that live as long as the server, so none of them is ever garbage.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_RUBBISH)
        threading.Thread(target=app.state.service.warm_up, daemon=True).start()
        server.run(sockets=[listening])


def _opened(database: str) -> AbstractContextManager[Store]:
    """Open a database; a file that does not exist is created, to be filled in the browser."""
    from fewlabels.cli.common import shown
    from fewlabels.store import Store
    from fewlabels.store.address import NoFileError

    try:
        store = Store(database, existing=True)
    except NoFileError:
        store = Store(database)
        click.echo(f"fewlabels: {shown(database)} is new. Make the first assessment in the browser.", err=True)
    return contextlib.closing(store)


def _check_shown(service: Service) -> None:
    """Warn at the start about what annotators would run into later, while the owner can still correct it."""
    from fewlabels.errors import InputError

    names = _opening(service)
    blind = {name: why for name in names if (why := service.blind(name)) is not None}
    if blind and service.settings.columns and len(blind) == len(names):
        raise InputError(next(iter(blind.values())))
    for name, why in blind.items():
        click.echo(harmless(f"fewlabels: annotators cannot see the items of {name!r}: {why}"), err=True)
    for name in names:
        if name not in blind and (value := service.unseen(name)) is not None:
            click.echo(
                harmless(
                    f"fewlabels: annotators of {name!r} will see names of pictures instead of pictures, such as "
                    f"{shortened(value, 60)}. Name their folder with --content DIR, or their host with --image-host."
                ),
                err=True,
            )


def _opening(service: Service) -> list[str]:
    """The names of the assessments that can be opened. One that cannot must not keep people from the others."""
    from fewlabels.errors import StoreError

    names = []
    for name in service.names():
        try:
            service.audit(name)
            names.append(name)
        except StoreError as error:
            click.echo(harmless(f"fewlabels: {name!r} cannot be opened, and is left out: {error}"), err=True)
    return names


def _listen(host: str, port: int) -> socket.socket:
    from fewlabels.errors import InputError

    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InputError(
            f"cannot listen at {host}, port {port}: {error.strerror}. Choose another with --port or --host."
        ) from error
    # Connections inherit this. Without it, the second packet of an answer waits 40 ms until the first is acknowledged.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _address(host: str, port: int, *, secure: bool) -> str:
    """Return the address at which people reach the server, as far as it can know."""
    name = "localhost" if host in _LOOPBACK else _this_computer() if host in _EVERYWHERE else host
    shown = f"[{name}]" if ":" in name else name
    return f"{'https' if secure else 'http'}://{shown}:{port}"


def _this_computer() -> str:
    """Return the address of this computer in its network: a phone nearby rarely knows it by name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(("192.0.2.1", 9))  # nothing is sent: this only chooses the route
            return str(route.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _greet(people: People, database: str, address: str, host: str, *, secure: bool) -> None:
    from fewlabels.cli.common import quoted, shown

    owners = [person for person in people.list() if person.role == "owner" and person.revoked_at is None]
    if owners:
        click.echo(
            f"fewlabels: serving at {address}. The owner's link was shown when it was made. To make a new one:",
            err=True,
        )
        whose = f"{shown(database)} {quoted(owners[0].name)}"
        click.echo(f"  fewlabels invite {whose} --again --address {address}", err=True)
    else:
        link = f"{address}/sign-in#{people.invite('owner', 'owner')}"
        click.echo(
            "fewlabels: serving. Your personal link, shown only this once (whoever has it is the owner):", err=True
        )
        click.echo(f"  {link}", err=True)
    if host not in _LOOPBACK and not secure:
        click.echo(
            "fewlabels: without https, others on the network can read everything. Use an https proxy and --secure.",
            err=True,
        )
    at = urlsplit(address)
    if host in _EVERYWHERE and at.port is not None:
        # In a container, its own name and address are known to nobody outside.
        click.echo(
            f"fewlabels: on this computer, or if it runs in a container, write localhost for {at.hostname}.", err=True
        )
    click.echo("Press Ctrl-C to stop. Nothing is lost: every answer is saved at once.", err=True)
