"""Labelling in the terminal: keys, search and lines; every answer is kept, and nothing gives the prediction away."""

from __future__ import annotations

from collections import deque

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.keys import MOST_KEYS, Action, ByKey, ByLine, BySearch, Terminal, chooser, keys_for, search
from fewlabels.cli.label import Sitting
from fewlabels.cli.main import cli
from fewlabels.stopping import Stop

CLASSES = ("zebra", "yak", "xerus")
MANY = (*(f"kind {k}" for k in range(40)), "cat", "catfish", "wild cat")


class Typed:
    """A keyboard whose keys were pressed beforehand; Ctrl-C follows the last one."""

    def __init__(self, *pressed: str) -> None:
        self.left = deque(pressed)
        self.shown: list[str] = []

    def key(self) -> str:
        if not self.left:
            raise KeyboardInterrupt
        return self.left.popleft()

    def line(self, prompt: str) -> str:
        return self.key()

    def show(self, text: str) -> None:
        self.shown.append(text)


def new_audit(classes=CLASSES, items: int = 12, **options):
    texts = [f"the text of item {i}" for i in range(items)]
    predicted = [classes[i % len(classes)] for i in range(items)]
    columns = {"id": [f"i{i}" for i in range(items)], "predicted": predicted, "text": texts, "sex": ["f", "m"] * 6}
    pool = fl.read_pool(columns, classes=classes, content="text")
    return fl.create(None, "it", pool, fl.by_column(pool, "sex"), seed=1, **options)


def sit(audit, *pressed: str, count: int | None = None, **options) -> list[str]:
    """What somebody saw who pressed these keys."""
    said: list[str] = []
    sitting = Sitting(audit, Typed(*pressed), said.append, **options)
    sitting.run(count)
    said.append(sitting.summary())
    return said


def test_keys_label_skip_and_undo() -> None:
    audit = new_audit()
    said = sit(audit, "1", "x", "\r", "3", "s", "blurry", "u", "2", "q")
    first, second, third = (row["item"] for row in audit.log().rows() if row["kind"] == "label")
    assert audit.labels() == {first: "zebra", second: "xerus", third: "yak"}
    kinds = [row["kind"] for row in audit.log().rows() if row["item"] == third]
    assert kinds == ["request", "skip", "retract", "label"]
    (unknown,) = [line for line in said if "is not a key here" in line]
    assert unknown.startswith("'x' is not a key here.\n[1] zebra  [2] yak"), "Enter is passed over"
    assert said[-1] == "3 labels in this sitting; 3 in all."
    assert audit.disputed() == []


@pytest.mark.parametrize(
    ("read", "key", "told"),
    [("2", "2", ""), ("22", "2", "Only '2' of '22' was taken"), ("\x1b[A", "\x1b[A", ""), ("\r", "\r", "")],
)
def test_a_key_pressed_before_its_item_is_shown_is_no_answer(
    read: str, key: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("click.getchar", lambda: read)
    assert Terminal().key() == key
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert bool(said) == bool(told)


def test_a_skip_keeps_its_reason_and_waits_for_the_owner() -> None:
    audit = new_audit()
    assert sit(audit, "s", "two at once", "s", "", "q")[-1] == "0 labels, 2 skipped in this sitting; 0 in all."
    assert [one.skips for one in audit.disputed()] == [{"(no name)": "two at once"}, {"(no name)": "unclear"}]


def test_nothing_seen_says_what_the_classifier_said() -> None:
    """The screen has the content, id, keys and all classes in their fixed order; no prediction, score or group."""
    audit = new_audit()
    said = "\n".join(sit(audit, "1", "1", "1", "q"))
    item = audit.held()[0]
    assert item.content in said
    assert "predicted" not in said
    seen = said.replace("[1] zebra  [2] yak  [3] xerus", "").replace(": zebra", "")
    assert not any(name in seen for name in CLASSES)
    assert not any(f" {group} " in seen for group in audit.groups.names)


@pytest.mark.parametrize("last", [(), ("q",), ("Q",)])
def test_quitting_loses_nothing_and_the_open_item_comes_first(last: tuple[str, ...]) -> None:
    audit = new_audit()
    sit(audit, "1", *last)
    (waiting,) = audit.pending()
    said = sit(audit, "2", "q")
    assert said[0] == "You begin with 1 item that you were handed before."
    assert audit.labels()[waiting] == "yak"


def test_undo_before_any_answer_and_back_to_the_beginning() -> None:
    audit = new_audit()
    said = sit(audit, "u", "1", "1", "u", "u", "u", "q")
    assert sum("There is nothing to take back" in line for line in said) == 2
    assert audit.labels() == {}
    assert len(audit.held()) == 3


def test_it_ends_by_itself() -> None:
    audit = new_audit()
    assert sit(audit, *"123123123", count=4)[-1] == "4 labels in this sitting; 4 in all."
    said = sit(audit, *["1"] * 20)
    assert said[-2:] == ["Nothing is left to label.", "8 labels in this sitting; 12 in all."]


def test_people_have_their_own_items() -> None:
    audit = new_audit(overlap=2)
    sit(audit, "1", "1", "q", annotator="ann")
    sit(audit, "1", "2", "3", "q", annotator="bob")
    table = audit.by_person()
    assert dict(zip(table["annotator"], table["labels"], strict=True)) == {"ann": 2, "bob": 3}
    (hers,) = audit.held("ann").ids
    sit(audit, "1", annotator="ann", count=1)
    assert audit.answers("ann")["id"][0] == hers


def test_the_budget_is_counted_at_every_answer() -> None:
    audit = new_audit(stop=Stop(labels=5))
    said = sit(audit, "1", "s", "blurry", "1", "u", *["1"] * 6, "q")
    heads = [line.split("--")[1].strip() for line in said if line.startswith("\n--")]
    assert heads[:4] == ["1 of 5", "2 of 5", "2 of 5", "3 of 5"]  # a skip is no label, and what is taken back is none
    assert heads[-3:] == ["6, past the budget of 5", "7, past the budget of 5", "8, past the budget of 5"]
    enough = [
        i for i, line in enumerate(said) if line.startswith("The budget is used up: 5 of 5 labels. You can stop here")
    ]
    assert [said[i + 1].split("--")[1].strip() for i in enough] == ["6, past the budget of 5"]
    assert sit(audit, "q")[1] == "The budget is used up: 7 of 5 labels. You can stop here, or go on."
    assert sit(new_audit(), "q")[0].startswith("\n-- 1 -- ")


def test_other_stopping_rules_are_looked_at_now_and_then() -> None:
    said = sit(new_audit(stop=Stop(overall=0.9)), *["1"] * 10, "q")
    assert sum("wanted 90 points" in line and line.endswith("You can stop here, or go on.") for line in said) == 1


def test_classes_are_never_cut_at_the_end_of_a_line(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    classes = [f"a class with words {k}" for k in range(15)]
    for choose in (ByKey(classes, Typed(), print), ByLine(classes, Typed(), print)):
        lines = choose.legend().splitlines()
        assert all(len(line) <= 80 for line in lines)
        assert all(sum(f"] {name}" in line for line in lines) >= 1 for name in classes)
        assert len(lines) == 6  # three classes in each, and the commands


def test_terminals_are_not_obeyed_and_images_are_opened(tmp_path) -> None:
    image = tmp_path / "a.png"
    image.touch()
    contents = ["\x1b[2Jred\u202eline\nsecond", str(image), "https://example.org/x", "nothing.png"]
    pool = fl.read_pool({"predicted": ["a", "b", "a", "b"], "text": contents}, content="text")
    opened: list[str] = []
    audit = fl.create(None, "it", pool)
    said = "\n".join(sit(audit, "o", "a", "o", "a", "o", "a", "o", "a", launch=opened.append))
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\nsecond" in said
    assert sorted(opened) == sorted([str(image), "https://example.org/x"])
    assert said.count("nothing to open") == 2


def test_long_texts_are_cut_and_shown_whole_on_demand() -> None:
    long = "\n".join(f"line {i}" for i in range(100))
    pool = fl.read_pool({"predicted": ["a", "b"], "text": [long, long]}, content="text")
    said = sit(fl.create(None, "it", pool), "m", "q")
    assert any("more lines" in line for line in said)
    assert long in said


def test_keys_for_few_classes() -> None:
    assert keys_for(["0", "1"]) == {"0": "0", "1": "1"}
    assert keys_for(["s", "q"]) == {"1": "s", "2": "q"}  # those are commands
    keys = keys_for([f"c{i}" for i in range(MOST_KEYS)])
    assert len(keys) == MOST_KEYS
    assert not set(keys) & set("suomq")
    assert isinstance(chooser(CLASSES, Typed(), print), ByKey)
    assert isinstance(chooser(MANY, Typed(), print), BySearch)


@pytest.mark.parametrize(
    ("pressed", "wanted"),
    [
        ("cat\r", Action("label", "cat")),
        ("fish1", Action("label", "catfish")),
        ("cat3", Action("label", "wild cat")),
        ("kind 3\r", Action("label", "kind 3")),
        ("kind 39\r", Action("label", "kind 39")),
        ("zzz\r\x1bwild\r", Action("label", "wild cat")),
        ("catx\x7f\r", Action("label", "cat")),
        ("\r:u", Action("undo")),
        (":q", Action("quit")),
    ],
)
def test_search_among_many_classes(pressed: str, wanted: Action) -> None:
    assert BySearch(MANY, Typed(*pressed), lambda _: None).choose() == wanted


def test_search_shows_what_it_found() -> None:
    keyboard = Typed(*"cat\r")
    BySearch(MANY, keyboard, lambda _: None).choose()
    assert keyboard.shown[-1] == "> cat    [1] cat  [2] catfish  [3] wild cat"
    assert search("CAT", MANY) == ["cat", "catfish", "wild cat"]
    assert search(" ", MANY) == []


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("yak", Action("label", "yak")),
        ("2", Action("label", "yak")),
        ("  YAK ", Action("label", "yak")),
        ("xer", Action("label", "xerus")),
        ("s", Action("skip", "unclear")),
        ("s not in the list", Action("skip", "not in the list")),
        (":u", Action("undo")),
        ("q", Action("quit")),
    ],
)
def test_lines(line: str, wanted: Action) -> None:
    said: list[str] = []
    assert ByLine(CLASSES, Typed("", "yaak", line), said.append).choose() == wanted
    assert said == ["'yaak' is not a class here. Did you mean 'yak'?"]


def test_a_class_called_like_a_command_wins_in_a_line() -> None:
    assert ByLine(("q", "r"), Typed("q"), print).choose() == Action("label", "q")
    assert ByLine(("q", "r"), Typed(":q"), print).choose() == Action("quit")


def test_through_a_pipe(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,predicted\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(6)))
    database = str(tmp_path / "audit.db")
    CliRunner().invoke(cli, ["new", database, str(tmp_path / "p.csv")])
    result = CliRunner().invoke(cli, ["label", database], input="a\nB\nnonsense\nb\ns why not\n")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "3 labels, 1 skipped in this sitting; 3 in all. Next: fewlabels show" in result.stderr
    assert "Only ids are shown" in result.stderr
    audit = fl.load(database, "p")
    assert sorted(audit.labels().values()) == ["a", "b", "b"]
    assert len(audit.held()) == 1
