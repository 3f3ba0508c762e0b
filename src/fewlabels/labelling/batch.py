"""Requests handed out for labelling, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from fewlabels.io import write_rows
from fewlabels.io.saving import check_new
from fewlabels.table import Table

if TYPE_CHECKING:
    import os
    from datetime import datetime


@dataclass(frozen=True)
class Request:
    """One item handed out for labelling.

    Parameters
    ----------
    id
        The item.
    group
        The group that was asked in; for the owner, not for the annotator.
    why
        The reason why the group was chosen; for the owner.
    content
        What the annotator looks at, or None.
    annotator
        Who was asked, if they gave a name.
    at
        When it was handed out.

    >>> import fewlabels as fl
    >>> fl.Request("img_17", group="lizard", why="step 3 of Thompson").id
    'img_17'
    """

    id: str
    group: str
    why: str
    content: Any = None
    annotator: str | None = None
    at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, repr=False)
class Batch(Sequence[Request]):
    """The requests of one `ask`. It prints with group and reason; `write` leaves these out, for annotators.

    Parameters
    ----------
    requests
        The items that were handed out.
    trouble
        Why there are none although some may be left, such as a table that cannot be read; empty if there is no trouble.

    >>> import fewlabels as fl
    >>> fl.Batch((fl.Request("img_17", group="lizard", why="step 3 of Thompson"),))
    id      group   why
    img_17  lizard  step 3 of Thompson
    """

    requests: tuple[Request, ...]
    trouble: str = ""

    def __len__(self) -> int:
        return len(self.requests)

    @overload
    def __getitem__(self, index: int) -> Request: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Request, ...]: ...
    def __getitem__(self, index: int | slice) -> Request | tuple[Request, ...]:
        return self.requests[index]

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests)

    def __repr__(self) -> str:
        if not self.requests:
            return f"<Batch: {self.trouble or 'no items'}>"
        names = ("id", "group", "why")
        return str(Table({name: [getattr(r, name) for r in self.requests] for name in names}))

    @property
    def ids(self) -> list[str]:
        """The items to label."""
        return [request.id for request in self.requests]

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a CSV or JSON-lines file with id, content and an empty label, without prediction and group.

        A file that exists may have been filled in, and is replaced only with `overwrite`.
        """
        if not overwrite:
            check_new(path, unless="pass overwrite=True")
        content = any(request.content is not None for request in self.requests)
        rows = [{"id": r.id, "content": r.content, "label": ""} for r in self.requests]
        write_rows(rows, Path(path), columns=("id", "content", "label") if content else ("id", "label"))
