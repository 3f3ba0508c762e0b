"""Where the pictures are that a pool names: what `fewlabels serve` needs to show them, and a report to have them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.io.pictures import Pictured
    from fewlabels.pool import Pool


def pictures_shown(pool: Pool, files: Sequence[str]) -> tuple[str, list[str]]:
    """The options of `fewlabels serve` that show the pictures of a pool, and a sentence about them; empty without any.

    Paths are looked for beside the files of predictions, where people usually have them, and here.
    """
    from fewlabels.cli.common import quoted
    from fewlabels.io.cards import columns_of_card
    from fewlabels.io.pictures import folder_of, pictures_in

    shown = columns_of_card(pool) or ([pool.content] if pool.content else [])
    options: list[str] = []
    words: list[str] = []
    near = list(dict.fromkeys([*(Path(file).parent for file in files if Path(file).is_file()), Path()]))
    for one in pictures_in(pool, shown):
        if one.by == "address":
            options += [f"--image-host {quoted(host)}" for host in one.hosts]
            words.append(f"Column {one.column!r} has addresses of pictures. Annotators see them if you allow the host.")
            continue
        folder = one.folder or folder_of(one.example, near)
        options.append("--content FOLDER" if folder is None else f"--content {quoted(str(folder))}")
        words.append(_about_paths(one, folder))
    return " ".join(dict.fromkeys(options)), words


def folder_beside(pool: Pool) -> Path | None:
    """The folder of the pictures that a pool names, if it is beside the file that the pool was read from, or here."""
    from fewlabels.io.cards import columns_of_card
    from fewlabels.io.pictures import folder_of, pictures_in

    shown = columns_of_card(pool) or ([pool.content] if pool.content else [])
    near = list(dict.fromkeys([Path(pool.source).parent, Path()]))
    named = [one for one in pictures_in(pool, shown) if one.by == "path"]
    return next((folder for one in named if (folder := one.folder or folder_of(one.example, near)) is not None), None)


def _about_paths(one: Pictured, folder: Path | None) -> str:
    if folder is not None:
        return f"Column {one.column!r} has paths of pictures, which are in {str(folder)!r}."
    return (
        f"Column {one.column!r} has paths of pictures, and {one.example!r} was not found here. Annotators see the "
        "pictures if the server knows the folder in which these paths begin."
    )
