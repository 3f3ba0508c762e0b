"""Batches to labelling programs and what people said back: 50 items there and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli import common
from fewlabels.cli.main import cli
from fewlabels.errors import InputError, LabelError
from fewlabels.interop.labelling_programs import PROGRAMS
from tests.support.bridges import COUNT, TEAMS, said, team, ticket

FIXTURES = Path(__file__).parents[1] / "fixtures" / "bridges"
EXPORTS = {
    "label-studio": "label-studio.json",
    "argilla": "argilla.json",
    "prodigy": "prodigy.jsonl",
    "doccano": "doccano.jsonl",
}


def tickets(**settings: Any) -> fl.Assessment:
    columns = {
        "id": [f"t{i}" for i in range(COUNT)],
        "predicted": [said(i) for i in range(COUNT)],
        "text": [ticket(i) for i in range(COUNT)],
    }
    return fl.create(None, "tickets", fl.read_pool(columns, content="text", classes=TEAMS), **settings)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answered(program: str, path: Path, labels: dict[str, str | None]) -> None:
    """Do what the program and a person do: add answers to the tasks in a file, in the form of an export."""
    if program == "label-studio":
        tasks = json.loads(path.read_text())
        for task in tasks:
            label = labels[task["data"]["item_id"]]
            chosen = [] if label is None else [{"type": "choices", "value": {"choices": [label]}}]
            task["annotations"] = [{"completed_by": 1, "was_cancelled": label is None, "result": chosen}]
        path.write_text(json.dumps(tasks))
    elif program == "argilla":
        records = json.loads(path.read_text())
        for record in records:
            record["responses"] = {"label": [{"value": labels[record["id"]], "user_id": "1"}]}
        path.write_text(json.dumps(records))
    elif program == "prodigy":
        rows = lines(path)
        for number, row in enumerate(rows):
            label = labels[row["item_id"]]
            row |= {"_task_hash": number, "_annotator_id": "1", "answer": "ignore" if label is None else "accept"}
            row["accept"] = [] if label is None else [label]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        rows = [{**row, "id": 900 + n, "label": [labels[row["item_id"]]]} for n, row in enumerate(lines(path))]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows if row["label"] != [None]))


@pytest.mark.parametrize("program", PROGRAMS)
def test_fifty_items_there_and_back(tmp_path: Path, program: str) -> None:
    audit = tickets()
    batch = audit.ask(COUNT)
    file = tmp_path / f"tasks{PROGRAMS[program].ending}"
    fl.write_tasks(batch, file, audit.pool.choices, program=program)
    text = file.read_text(encoding="utf-8")
    assert all(text.count(f'"{item}"') == 1 for item in batch.ids)
    assert not any(word in text for word in ("predicted", "confidence", batch[0].why))  # labelling is blind
    labels: dict[str, str | None] = {f"t{i}": team(i) for i in range(COUNT)}
    labels["t7"] = None
    answered(program, file, labels)
    annotations = fl.read_annotations(file)  # recognised by its content
    assert annotations == fl.read_annotations(file, program=program)
    skips = 0 if program == "doccano" else 1  # doccano leaves out what has no label
    assert fl.tell_annotations(audit, annotations, program=PROGRAMS[program].title) == (COUNT - 1, skips)
    assert audit.labels() == {item: label for item, label in labels.items() if label is not None}
    if skips:
        assert [one.id for one in audit.disputed()] == ["t7"]
        assert list(audit.disputed()[0].skips.values()) == [f"skipped in {PROGRAMS[program].title}"]
        assert {one.annotator for one in annotations} == {"1"}


@pytest.mark.parametrize("answer", ["ignore", "reject"])
def test_a_choice_that_was_ignored_or_rejected_in_prodigy_is_a_skip(tmp_path: Path, answer: str) -> None:
    row = {"item_id": "t1", "_task_hash": 1, "answer": answer, "accept": ["billing"]}
    (tmp_path / "export.jsonl").write_text(f"{json.dumps(row)}\n")
    assert [one.label for one in fl.read_annotations(tmp_path / "export.jsonl")] == [None]


@pytest.mark.parametrize("program", EXPORTS)
def test_recorded_exports_are_read(program: str) -> None:
    found = fl.read_annotations(FIXTURES / EXPORTS[program])
    given = {one.item: one.label for one in found if one.label is not None}
    assert given == {f"t{i}": team(i) for i in range(COUNT - 1)}
    skipped = {f"t{COUNT - 1}"} if program in ("prodigy", "label-studio") else set()
    assert {one.item for one in found if one.label is None} == skipped
    people = {"argilla": {f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2)}, "doccano": {None}}
    people["label-studio"] = {"1", "2"}
    assert {one.annotator for one in found} == people.get(program, {"tickets-ann", "tickets-bob"})
    assert len(found) == {"argilla": 54, "prodigy": 50, "doccano": 49, "label-studio": 50}[program]
    audit = tickets()
    fl.tell_annotations(audit, [one for one in found if one.label is not None], adopt=True)
    assert audit.labels() == given


def test_every_recorded_file_has_a_program_and_its_version() -> None:
    table = (FIXTURES / "README.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    for file in FIXTURES.iterdir():
        if file.name != "README.md":
            (row,) = (line for line in rows if f"`{file.name}`" in line)
            assert all(cell.strip() for cell in row.strip("|").split("|")), row
    page = (FIXTURES.parents[2] / "docs" / "bridges.md").read_text(encoding="utf-8")
    for row in rows:
        version = row.strip("|").split("|")[2].strip()
        assert version.startswith("none") or version.split(",")[0].split()[-1] in page, row


def test_the_second_file_has_the_classes(tmp_path: Path) -> None:
    batch = tickets().ask(2)
    settings = fl.write_tasks(batch, tmp_path / "a.json", TEAMS, program="argilla")
    assert settings == tmp_path / "a.settings.json"
    question = json.loads(settings.read_text())["questions"][0]
    assert [option["value"] for option in question["settings"]["options"]] == list(TEAMS)
    types = fl.write_tasks(batch, tmp_path / "d.jsonl", [*map(str, range(12))], program="doccano")
    assert types == tmp_path / "d.labels.json"
    rows = json.loads(types.read_text())
    assert [row["text"] for row in rows] == [str(n) for n in range(12)]
    assert [row["suffix_key"] for row in rows[7:11]] == ["8", "9", None, None]
    assert fl.write_tasks(batch, tmp_path / "p.jsonl", TEAMS, program="prodigy") is None


def test_pictures_are_shown_as_pictures(tmp_path: Path) -> None:
    batch = fl.Batch((fl.Request("a", group="g", why="w", content="https://example.com/a.png"),))
    fl.write_tasks(batch, tmp_path / "p.jsonl", TEAMS, program="prodigy")
    assert lines(tmp_path / "p.jsonl")[0]["image"] == "https://example.com/a.png"
    settings = fl.write_tasks(batch, tmp_path / "a.json", TEAMS, program="argilla")
    assert json.loads(settings.read_text())["fields"][0]["settings"] == {"type": "image"}


@pytest.mark.parametrize(
    ("file", "text", "error", "said"),
    [
        ("e.json", "[]", InputError, "not an export of Label Studio, Argilla, Prodigy or doccano"),
        ("e.json", "{", InputError, "not JSON"),
        ("e.jsonl", '{"id": 1, "label": "cat"}\n', InputError, "not an export"),
        ("e.jsonl", '{"answer": "accept", "_task_hash": 1}\n', InputError, r"line 1 of .* \(item_id\)"),
        ("e.jsonl", '{"item_id": "a", "answer": "accept", "_task_hash": 1, "accept": ["x", 1]}', LabelError, "several"),
        ("e.jsonl", '{"id": 1, "item_id": "a", "label": ["x", "y"]}\n', LabelError, "several labels at once"),
        ("e.json", '[{"id": 1, "fields": {}, "suggestions": 0, "responses": {"": []}}]', InputError, "none to 'label'"),
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, file: str, text: str, error: type[Exception], said: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(error, match=said):
        fl.read_annotations(tmp_path / file)
    with pytest.raises(InputError, match="must be one of label-studio, argilla, prodigy, doccano"):
        fl.read_annotations(tmp_path / file, program="other")


def test_the_command_line_names_every_program() -> None:
    assert tuple(PROGRAMS) == common.PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_command_line_there_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*args: str, code: int = 0) -> str:
        result = CliRunner().invoke(cli, args)
        assert result.exit_code == code, result.stderr
        return result.stderr

    rows = "".join(f"t{i},{said(i)},{ticket(i)}\n" for i in range(COUNT))
    Path("p.csv").write_text(f"id,predicted,text\n{rows}")
    run("new", "a.db", "p.csv")
    tasks = f"tasks{PROGRAMS[program].ending}"
    assert f"-o {tasks}" in run("ask", "a.db", "--for", program, code=2)
    words = run("ask", "a.db", "-n", "50", "--for", program, "-o", tasks)
    assert f"50 items for {PROGRAMS[program].title} in {tasks}" in words
    assert f"fewlabels tell a.db p export{PROGRAMS[program].ending}" in words
    answered(program, Path(tasks), {f"t{i}": team(i) for i in range(COUNT)})
    words = run("tell", "a.db", tasks, "--annotator", "ann")
    assert f"{tasks} is an export of {PROGRAMS[program].title} with 50 answers." in words
    assert "50 labels taken, 0 skipped. 50 labels so far." in words
    words = run("tell", "a.db", tasks, "--annotator", "ann")
    assert "Nothing new: 50 labels known before. 50 labels so far." in words
    assert "taken" not in words
    assert "is an export of a labelling program, and 'p.csv' is not" in run("tell", "a.db", tasks, "p.csv", code=2)
    assert "--decide takes a table" in run("tell", "a.db", tasks, "--decide", code=2)
    who = set(fl.load("a.db", "p").log()["annotator"])
    assert ("ann" if program == "doccano" else "1") in who
