"""The labelling programs that batches go to and labels come from: each by its name, and exports by their content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewlabels.errors import Argument, InputError
from fewlabels.interop import argilla, doccano, label_studio, prodigy
from fewlabels.io.jsons import read_values

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from fewlabels.interop.annotations import Annotation
    from fewlabels.labelling.batch import Batch


@dataclass(frozen=True)
class Program:
    """A labelling program.

    Parameters
    ----------
    name
        Its name on the command line.
    title
        Its name in sentences.
    ending
        How the file of tasks ends.
    write
        Writes a batch for the classes, and returns the path of a second file if there is one.
    recognises
        Whether a JSON value, or the values of a file of JSON lines, is an export.
    read
        Reads an export; the name of the file is for messages.
    then
        What to do with the files, in words.
    """

    name: str
    title: str
    ending: str
    write: Callable[[Batch, Path, Sequence[str]], Path | None]
    recognises: Callable[[object], bool]
    read: Callable[[Any, str], list[Annotation]]
    then: str


PROGRAMS = {
    program.name: program
    for program in (
        Program(
            "label-studio", "Label Studio", ".json",
            label_studio.write_label_studio, label_studio.is_export, label_studio.from_json,
            "import {tasks} into a project with the configuration {beside}, and export it as JSON",
        ),
        Program(
            "argilla", "Argilla", ".json", argilla.write, argilla.is_export, argilla.read,
            "make a dataset with rg.Settings.from_json({beside!r}), then dataset.records.from_json({tasks!r}), and in "
            "the end dataset.records(with_responses=True).to_json('export.json')",
        ),
        Program(
            "prodigy", "Prodigy", ".jsonl", prodigy.write, prodigy.is_export, prodigy.read,
            "prodigy mark DATASET {tasks} --view-id choice, and in the end prodigy db-out DATASET > export.jsonl",
        ),
        Program(
            "doccano", "doccano", ".jsonl", doccano.write, doccano.is_export, doccano.read,
            "import {tasks} as JSONL into a project for text classification with a single label, and {beside} as its "
            "label types; export it as JSONL",
        ),
    )
}  # fmt: skip
"""By name, in the order of the help."""


def write_tasks(batch: Batch, path: str | os.PathLike[str], classes: Sequence[str], *, program: str) -> Path | None:
    """Write a batch as tasks of a labelling program; returns the path of the second file, if the program needs one.

    The tasks have the item's id and content and nothing about the model: labelling must stay blind.

    Parameters
    ----------
    batch
        From `ask`.
    path
        The tasks: .json for Label Studio and Argilla, .jsonl for Prodigy and doccano.
    classes
        The labels to choose from, as in `pool.choices`.
    program
        "label-studio", "argilla", "prodigy" or "doccano".

    Examples
    --------
    >>> import fewlabels as fl, tempfile, pathlib
    >>> batch = fl.Batch((fl.Request("a", group="cat", why="step 1", content="a furry thing"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tasks.jsonl"
    ...     fl.write_tasks(batch, file, ["cat", "dog"], program="prodigy")
    ...     print(file.read_text())
    {"text": "a furry thing", "options": [{"id": "cat", "text": "cat"}, {"id": "dog", "text": "dog"}], "item_id": "a"}
    <BLANKLINE>
    """
    return named(program).write(batch, Path(path), classes)


def read_annotations(path: str | os.PathLike[str], *, program: str | None = None) -> list[Annotation]:
    """What people said in another labelling program, from its export; a skip has the label None.

    Parameters
    ----------
    path
        The export: JSON of Label Studio or Argilla, JSON lines of Prodigy or doccano.
    program
        "label-studio", "argilla", "prodigy" or "doccano"; recognised by the content if not given.

    Examples
    --------
    >>> import fewlabels as fl, json, tempfile, pathlib
    >>> row = {"item_id": "a", "accept": ["cat"], "answer": "accept", "_task_hash": 1, "_annotator_id": "ann"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "export.jsonl"
    ...     _ = file.write_text(json.dumps(row))
    ...     fl.read_annotations(file)
    [Annotation(item='a', label='cat', annotator='ann')]
    """
    form = None if program is None else named(program)
    data = read_values(Path(path), str(path))
    form = form or of_export(data)
    if form is None:
        raise InputError(
            f"{path} is not an export of {_titles()} that fewlabels knows. Name the program with ",
            Argument("program"),
            ", or read a table of id and label.",
        )
    return form.read(data, str(path))


def read_label_studio(path: str | os.PathLike[str]) -> list[Annotation]:
    """The answers in Label Studio's JSON export: one for each annotation; a skip has the label None.

    Examples
    --------
    >>> import fewlabels as fl, json, tempfile, pathlib
    >>> task = {"data": {"item_id": "a"}, "annotations": [
    ...     {"completed_by": 3, "result": [{"type": "choices", "value": {"choices": ["cat"]}}]}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "export.json"
    ...     _ = file.write_text(json.dumps([task]))
    ...     fl.read_label_studio(file)
    [Annotation(item='a', label='cat', annotator='3')]
    """
    return read_annotations(path, program="label-studio")


def of_export(data: object) -> Program | None:
    """The program that wrote an export; None if it is none of them."""
    return next((program for program in PROGRAMS.values() if program.recognises(data)), None)


def named(name: str) -> Program:
    """The program of a name."""
    if name not in PROGRAMS:
        raise InputError(Argument("program"), f" must be one of {', '.join(PROGRAMS)}. Got {name!r} instead.")
    return PROGRAMS[name]


def _titles() -> str:
    *some, last = (program.title for program in PROGRAMS.values())
    return f"{', '.join(some)} or {last}"
