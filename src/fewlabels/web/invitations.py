"""Personal links: at the address where people really reach the server, and as a QR code for a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from fewlabels.web.settings import Settings

_ONLY_HERE = {"localhost", "127.0.0.1", "::1"}


def link_of(settings: Settings, token: str, origin: str | None, root: str) -> str:
    """Return somebody's personal link.

    Its address is the one that the owner has named; otherwise the one that the owner's browser uses, unless that is a
    name, such as localhost, by which every computer calls itself.

    >>> from fewlabels.web.settings import Settings
    >>> link_of(Settings(nearby="http://192.168.1.5:8000"), "TOKEN", "http://localhost:8000", "")
    'http://192.168.1.5:8000/sign-in#TOKEN'
    """
    here = f"{origin or ''}{root}"
    if settings.address:
        here = settings.address
    elif settings.nearby and (origin is None or is_only_here(origin)):
        here = settings.nearby
    return f"{here}/sign-in#{token}"


def is_only_here(address: str) -> bool:
    """Return whether an address is that of the computer it is used on, so that nobody else can use it.

    >>> is_only_here("http://localhost:8000"), is_only_here("https://label.example.com")
    (True, False)
    """
    try:
        return urlsplit(address).hostname in _ONLY_HERE
    except ValueError:  # an incomplete address in brackets
        return False


def qr_of(link: str) -> str:
    """Return a link as a QR code, in a data: address that contains the whole picture."""
    import segno

    # Dark on light in both colour schemes, since not every phone reads it the other way round.
    code: str = segno.make(link, micro=False).svg_data_uri(scale=4, border=3, dark="#000", light="#fff")
    return code
