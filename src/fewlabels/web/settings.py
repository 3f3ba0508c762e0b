"""The settings that the owner may choose for the web app."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fewlabels.errors import InputError
from fewlabels.web.proxies import PREFIX
from fewlabels.web.rich import is_web

if TYPE_CHECKING:
    from pathlib import Path

# The first parts of our own paths: a prefix of the same name could not be told from them.
_PAGES = ("label", "answers", "guide", "dashboard", "groups", "decide", "people", "part", "form", "download", "sign-in")
_OURS = [[part] for part in ("static", "api", "new", *_PAGES)]


@dataclass(frozen=True)
class Settings:
    """The settings of the web app; the defaults are cautious.

    Parameters
    ----------
    content
        A folder with the files (images, texts) that the pool's content column names, or None.
    columns
        The columns of the pool that annotators see; the pool's content column if none is named.
    image_hosts
        Origins such as "https://images.example.com" from which pages may show images that the pool names by address.
    show
        What annotators may see beside the item: any of "predicted", "confidence" and "group". Nothing by default, since
        people who see the classifier's answer tend to agree with it.
    plain
        Whether texts are shown as they are written. Otherwise Markdown, JSON and code are shown formatted, and one key
        shows them as they are written.
    address
        The address at which people reach the server, such as "https://label.example.com/lab", for the links of
        invitations. If it is empty, they have the address that the owner's browser uses.
    nearby
        The address of this computer in its network, if the server listens there: for the links of invitations if the
        owner's browser calls this computer localhost.
    lease
        The seconds after which an item that was handed out but not answered is handed out again.
    ahead
        The number of items that a page may fetch in advance, so that the next one appears at once.
    secure
        Whether cookies are sent only over https: for a server behind an https proxy.
    largest
        The size of the largest request, in bytes.
    upload
        The size of the largest file that an owner may upload to make an assessment, in bytes; 0 takes no files.
    rate
        The requests per second that one person may make on average; bursts may be ten seconds' worth.
    attempts
        The failed sign-ins per minute that are allowed from one address.
    held
        The number of items that one person may have at a time without answering them.
    remember
        The seconds for which a sign-in is remembered. Somebody who is locked out by another program, such as `fewlabels
        revoke`, can still get in for that long; by the page *People*, not at all.
    root_path
        The path under which people reach the server, such as "/lab", if a proxy serves other things beside it.
    proxies
        The addresses of reverse proxies that are trusted to say who called and under which path.

    >>> Settings().show
    ()
    """

    content: Path | None = None
    columns: tuple[str, ...] = ()
    image_hosts: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    plain: bool = False
    address: str = ""
    nearby: str = ""
    lease: float = 900.0
    ahead: int = 3
    secure: bool = False
    largest: int = 2**20
    upload: int = 100 * 10**6
    rate: float = 50.0
    attempts: int = 20
    held: int = 100
    remember: float = 1.0
    root_path: str = ""
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")

    def __post_init__(self) -> None:
        if self.content is not None and not self.content.is_dir():
            raise InputError(
                f"the content folder {self.content} is not a folder. Name the folder with the files of the pool."
            )
        for host in self.image_hosts:
            _check_origin(host)
        _check_address(self.address)
        if unknown := set(self.show) - {"predicted", "confidence", "group"}:
            raise InputError(f"cannot show {min(unknown)!r}. Choose from predicted, confidence and group.")
        if not PREFIX.fullmatch(self.root_path):
            raise InputError(
                f"the path {self.root_path!r} is not a prefix. Write it as in /lab, without a / at the end."
            )
        if self.root_path.split("/")[1:2] in _OURS:
            raise InputError(
                f"the server has pages of its own below {self.root_path}. Choose another path, as in /lab."
            )
        for name in ("lease", "largest", "rate", "attempts", "held"):
            if not getattr(self, name) > 0:
                raise InputError(f"The {name!r} of the web app must be above 0. Got {getattr(self, name)!r} instead.")
        for name in ("ahead", "remember", "upload"):
            if not getattr(self, name) >= 0:
                raise InputError(f"The {name!r} of the web app must be 0 or more. Got {getattr(self, name)!r} instead.")


def _check_address(address: str) -> None:
    if address and (not is_web(address) or set(address) & set(" #?")):
        raise InputError(f"the address {address!r} is not one of a server. Write it as in https://label.example.com")


def _check_origin(host: str) -> None:
    parts = urlsplit(host)
    # Only an origin may go into the content security policy.
    plain = host == f"{parts.scheme}://{parts.netloc}" and not set(host) & set(" ;,'\"*@")
    if parts.scheme not in {"http", "https"} or not parts.netloc or not plain:
        raise InputError(f"the image host {host!r} is not an origin. Write it as in https://images.example.com")
