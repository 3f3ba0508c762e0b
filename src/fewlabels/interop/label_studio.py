"""Label Studio: batches as its tasks with a matching labelling configuration, and its export back as labels."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import quoteattr

from fewlabels.errors import InputError, LabelError
from fewlabels.io.jsons import read_json
from fewlabels.io.saving import save

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.labelling.batch import Batch

Kind = Literal["text", "image"]
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg")
_MANY = 24  # from this many classes on, a searchable list replaces the buttons
_HOTKEYS = "123456789"
_EXPORT = "Export it again from Label Studio as JSON."
_SKIPPED = "skipped in Label Studio"


@dataclass(frozen=True)
class Annotation:
    """One person's answer about one item in Label Studio: a label, or None for a skip."""

    item: str
    label: str | None
    annotator: str | None


def write_label_studio(
    batch: Batch, path: str | os.PathLike[str], classes: Sequence[str], *, kind: Kind | None = None
) -> Path:
    """Write a batch as Label Studio tasks (JSON), and beside it the labelling configuration; returns the path of that.

    The tasks have the item's id and content and nothing about the model: labelling must stay blind.

    Parameters
    ----------
    batch
        From `ask`.
    path
        The tasks, such as tasks.json. The configuration is tasks.xml.
    classes
        The labels to choose from, as in `pool.choices`.
    kind
        The kind of content; guessed from the content if not given.

    Examples
    --------
    >>> import fewlabels as fl, tempfile, pathlib
    >>> batch = fl.Batch((fl.Request("a", group="cat", why="step 1", content="a furry thing"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     config = fl.write_label_studio(batch, pathlib.Path(folder) / "tasks.json", ["cat", "dog"])
    ...     print(config.read_text())
    <View>
      <Text name="text" value="$text"/>
      <Choices name="label" toName="text" choice="single" required="true">
        <Choice value="cat" hotkey="1"/>
        <Choice value="dog" hotkey="2"/>
      </Choices>
    </View>
    <BLANKLINE>
    """
    path = Path(path)
    kind = kind or _kind(request.content for request in batch)
    tasks = [
        {"data": {kind: request.id if request.content is None else str(request.content), "item_id": request.id}}
        for request in batch
    ]
    save(json.dumps(tasks, ensure_ascii=False, indent=1), path)
    return save(label_studio_config(classes, kind), path.with_suffix(".xml"))


def label_studio_config(classes: Sequence[str], kind: Kind = "text") -> str:
    """The labelling configuration that goes with the tasks: one choice among the classes."""
    layout = ' layout="select"' if len(classes) > _MANY else ""
    shown = {"text": '<Text name="text" value="$text"/>', "image": '<Image name="image" value="$image"/>'}[kind]
    keys = [f' hotkey="{key}"' for key in _HOTKEYS] if not layout else []
    keys += [""] * (len(classes) - len(keys))
    choices = "".join(f"    <Choice value={quoteattr(name)}{key}/>\n" for name, key in zip(classes, keys, strict=False))
    head = f'<Choices name="label" toName="{kind}" choice="single" required="true"{layout}>'
    return f"<View>\n  {shown}\n  {head}\n{choices}  </Choices>\n</View>\n"


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
    try:
        tasks, is_more = read_json(Path(path), str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}. Check the path.") from None
    if is_more or not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise InputError(f"{path} is not a list of tasks. Export from Label Studio as JSON (not JSON-MIN or CSV).")
    return [vote for number, task in enumerate(tasks, 1) for vote in _votes(task, f"task {number} of {path}")]


def tell_annotations(audit: Assessment, annotations: Iterable[Annotation], *, adopt: bool = False) -> tuple[int, int]:
    """Take annotations as labels and skips, each by its annotator; returns how many of each.

    If one of them cannot be taken, none is. If one person is enough for an item but several have answered it, their
    answers must agree. `adopt` is as in `tell`.
    """
    annotations = list(annotations)
    if audit.spec.overlap == 1:
        _check_agreement(annotations)
    labels: dict[str | None, dict[str, str]] = {}
    skips: dict[str | None, list[str]] = {}
    for annotation in annotations:
        if annotation.label is None:
            skips.setdefault(annotation.annotator, []).append(annotation.item)
        else:
            labels.setdefault(annotation.annotator, {})[annotation.item] = annotation.label
    taken = audit.tell_each(labels, skips, reason=_SKIPPED, adopt=adopt)
    skipped = sum(map(len, skips.values()))
    return taken - skipped, skipped


def _check_agreement(annotations: Sequence[Annotation]) -> None:
    labels_of: dict[str, set[str]] = {}
    for annotation in annotations:
        if annotation.label is not None:
            labels_of.setdefault(annotation.item, set()).add(annotation.label)
    if disputed := [item for item, labels in labels_of.items() if len(labels) > 1]:
        more = f" (and {len(disputed) - 1:,} more)" if len(disputed) > 1 else ""
        raise LabelError(
            f"{disputed[0]!r}{more} has different labels from several people, but this assessment takes one person's "
            "label for each item. Settle them in Label Studio, or make the assessment with overlap=2 or more. "
            "Nothing was changed.",
            items=disputed,
        )


def _votes(task: dict[str, Any], where: str) -> list[Annotation]:
    item = task.get("data", {}).get("item_id") if isinstance(task.get("data"), dict) else None
    if item is None:
        raise InputError(f"{where} has no data.item_id. Import the tasks that fewlabels wrote, and export those.")
    if "annotations" not in task:
        raise InputError(f"{where} has no annotations. Export from Label Studio as JSON (not JSON-MIN or CSV).")
    answers = _objects(task["annotations"], f"the annotations of {where}")
    return [Annotation(_name(item, where), _choice(answer, where), _who(answer, where)) for answer in answers]


def _choice(annotation: dict[str, Any], where: str) -> str | None:
    if annotation.get("was_cancelled"):
        return None
    chosen: list[str] = []
    for result in _objects(annotation.get("result", []), f"the result of {where}"):
        if result.get("type", "choices") != "choices":
            continue
        value = result.get("value", {})
        choices = value.get("choices", []) if isinstance(value, dict) else None
        if not isinstance(choices, list):
            raise InputError(f"{where} has an answer without a list of choices. {_EXPORT}")
        chosen += [_name(choice, where) for choice in choices]
    if len(chosen) > 1:
        many = ", ".join(repr(choice) for choice in Counter(chosen))
        raise LabelError(f"{where} has several labels at once ({many}). Use the configuration that fewlabels wrote.")
    return chosen[0] if chosen else None


def _who(annotation: dict[str, Any], where: str) -> str | None:
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id")
    return None if who is None else _name(who, where)


def _objects(value: object, what: str) -> list[dict[str, Any]]:
    """A list of objects, as it stands in an export; anything else is damage."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InputError(f"{what} are not a list of objects. {_EXPORT}")
    return value


def _name(value: object, where: str) -> str:
    """An id, a class or a person: a text or a whole number, and nothing that a text would be made of in silence."""
    if value is True or value is False or not isinstance(value, (str, int)):
        raise InputError(f"{where} has {str(value)[:40]!r} where a name or a number belongs. {_EXPORT}")
    return str(value)


def _kind(contents: Iterable[Any]) -> Kind:
    shown = [str(content).lower().split("?")[0] for content in contents if content is not None]
    return (
        "image" if shown and all(text.endswith(_IMAGES) or text.startswith("data:image/") for text in shown) else "text"
    )
