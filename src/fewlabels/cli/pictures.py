"""Where a pool's pictures are: what `fewlabels serve` needs to show them, and a report to include them."""

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
    for picture in pictures_in(pool, shown):
        if picture.by == "address":
            options += [f"--image-host {quoted(host)}" for host in picture.hosts]
            words.append(
                f"Column {picture.column!r} has addresses of pictures. Annotators see them if you allow the host."
            )
            continue
        folder = picture.folder or folder_of(picture.example, near)
        options.append("--content FOLDER" if folder is None else f"--content {quoted(str(folder))}")
        words.append(_about_paths(picture, folder))
    return " ".join(dict.fromkeys(options)), words


def folder_beside(pool: Pool) -> Path | None:
    """The folder of the pictures that a pool names, if it is beside the file that the pool was read from, or here."""
    from fewlabels.io.cards import columns_of_card
    from fewlabels.io.pictures import folder_of, pictures_in

    shown = columns_of_card(pool) or ([pool.content] if pool.content else [])
    near = list(dict.fromkeys([Path(pool.source).parent, Path()]))
    named = [picture for picture in pictures_in(pool, shown) if picture.by == "path"]
    return next(
        (folder for picture in named if (folder := picture.folder or folder_of(picture.example, near)) is not None),
        None,
    )


def _about_paths(picture: Pictured, folder: Path | None) -> str:
    if folder is not None:
        return f"Column {picture.column!r} has paths of pictures, which are in {str(folder)!r}."
    return (
        f"Column {picture.column!r} has paths of pictures, and {picture.example!r} was not found here. Annotators see "
        "the pictures if the server knows the folder in which these paths begin."
    )
