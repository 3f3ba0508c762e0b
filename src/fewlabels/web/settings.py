"""What the owner may choose when serving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fewlabels.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """How the web app behaves; the defaults are the careful ones.

    Parameters
    ----------
    content
        A folder with the files (images, texts) that the pool's content column names, or None.
    columns
        The columns of the pool that annotators look at; the pool's content column if none is named.
    image_hosts
        Origins such as "https://images.example.com" from which pages may show images that the pool names by address.
    show
        What annotators may see beside the item: any of "predicted", "confidence" and "group". Nothing by default:
        who sees the model's answer tends to agree with it.
    lease
        Seconds after which an item that was handed out and not answered comes back.
    ahead
        Items that a page may hold beside the one shown, so that the next is there at once.
    secure
        Whether cookies are sent over https only: for a server behind a proxy that speaks https.
    largest
        Bytes of the largest request.
    rate
        Requests a second that one person may make on average, in bursts of up to ten seconds' worth.
    attempts
        Failed sign-ins a minute from one address.

    >>> Settings().show
    ()
    """

    content: Path | None = None
    columns: tuple[str, ...] = ()
    image_hosts: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    lease: float = 900.0
    ahead: int = 3
    secure: bool = False
    largest: int = 2**20
    rate: float = 50.0
    attempts: int = 20

    def __post_init__(self) -> None:
        if self.content is not None and not self.content.is_dir():
            raise InputError(
                f"the content folder {self.content} is no folder. It must hold the files that the pool names."
            )
        for host in self.image_hosts:
            _check_origin(host)
        if unknown := set(self.show) - {"predicted", "confidence", "group"}:
            raise InputError(f"cannot show {min(unknown)!r}: only predicted, confidence and group.")
        for name in ("lease", "largest", "rate", "attempts"):
            if not getattr(self, name) > 0:
                raise InputError(f"The {name!r} of the web app must be above 0. Got {getattr(self, name)!r} instead.")
        if self.ahead < 0:
            raise InputError(f"The 'ahead' of the web app must be 0 or more. Got {self.ahead!r} instead.")


def _check_origin(host: str) -> None:
    parts = urlsplit(host)
    # What is put into the content security policy must be an origin and nothing else.
    plain = host == f"{parts.scheme}://{parts.netloc}" and not set(host) & set(" ;,'\"*@")
    if parts.scheme not in {"http", "https"} or not parts.netloc or not plain:
        raise InputError(f"the image host {host!r} is no origin. Write it such as https://images.example.com")
