"""Label Studio: batches as its tasks with a matching labelling configuration, and its export back as labels."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from fewlabels.errors import InputError, LabelError
from fewlabels.interop.annotations import Annotation, kind_of, shown_of
from fewlabels.interop.shapes import a_name, objects
from fewlabels.io.saving import save

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from fewlabels.interop.annotations import Kind
    from fewlabels.labelling.batch import Batch

_MANY = 24  # from this many classes on, a searchable list replaces the buttons
_HOTKEYS = "123456789"
_EXPORT = "Export it again from Label Studio as JSON."


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
    kind = kind or kind_of(batch)
    tasks = [{"data": {kind: content, "item_id": item}} for item, content in shown_of(batch)]
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


def is_export(data: object) -> bool:
    """Whether a JSON value is a list of Label Studio's tasks with annotations."""
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and isinstance(first.get("data"), dict) and "annotations" in first


def from_json(tasks: object, name: str) -> list[Annotation]:
    """Read an export that is one JSON value."""
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise InputError(f"{name} is not a list of tasks. Export from Label Studio as JSON (not JSON-MIN or CSV).")
    return [vote for number, task in enumerate(tasks, 1) for vote in _votes(task, f"task {number} of {name}")]


def _votes(task: dict[str, Any], where: str) -> list[Annotation]:
    item = task.get("data", {}).get("item_id") if isinstance(task.get("data"), dict) else None
    if item is None:
        raise InputError(f"{where} has no data.item_id. Import the tasks that fewlabels wrote, and export those.")
    if "annotations" not in task:
        raise InputError(f"{where} has no annotations. Export from Label Studio as JSON (not JSON-MIN or CSV).")
    answers = objects(task["annotations"], f"the annotations of {where}", _EXPORT)
    return [Annotation(a_name(item, where, _EXPORT), _choice(answer, where), _who(answer, where)) for answer in answers]


def _choice(annotation: dict[str, Any], where: str) -> str | None:
    if annotation.get("was_cancelled"):
        return None
    chosen: list[str] = []
    for result in objects(annotation.get("result", []), f"the results of {where}", _EXPORT):
        if result.get("type", "choices") != "choices":
            continue
        value = result.get("value", {})
        choices = value.get("choices", []) if isinstance(value, dict) else None
        if not isinstance(choices, list):
            raise InputError(f"{where} has an answer without a list of choices. {_EXPORT}")
        chosen += [a_name(choice, where, _EXPORT) for choice in choices]
    if len(chosen) > 1:
        many = ", ".join(repr(choice) for choice in Counter(chosen))
        raise LabelError(f"{where} has several labels at once ({many}). Use the configuration that fewlabels wrote.")
    return chosen[0] if chosen else None


def _who(annotation: dict[str, Any], where: str) -> str | None:
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id")
    return None if who is None else a_name(who, where, _EXPORT)
