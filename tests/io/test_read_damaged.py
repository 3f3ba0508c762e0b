"""Damaged files of every format, read in a process of its own: nothing but our errors, and no crash."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.gate.rules import read_rules
from fewlabels.io import limits
from fewlabels.io.finder import guess
from tests.support.damage import FORMATS, RECORDED

if TYPE_CHECKING:
    from pathlib import Path


def try_damaged(first: int, count: int, *kinds: str) -> None:
    command = [sys.executable, "-m", "tests.support.damage", str(first), str(count), *kinds]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"the process died: {done.stderr[-1000:]}"
    outcomes = json.loads(done.stdout)
    assert list(outcomes) == list(kinds)
    for kind, outcome in outcomes.items():
        assert outcome["wrong"] == []
        assert outcome["read"] + outcome["refused"] == count
        # The damage is worth the name; of what other programs write, much is never read.
        assert outcome["refused"] > (0.2 if kind in RECORDED else 0.5) * count


@pytest.mark.slow
def test_damaged_files_are_read_or_refused() -> None:
    """A few of every format in one process, of which the start takes longest."""
    try_damaged(0, 30, *FORMATS)


@pytest.mark.slow
@pytest.mark.long  # the test above does the same with a tenth of the files
@pytest.mark.parametrize("kind", FORMATS)
def test_many_damaged_files_are_read_or_refused(kind: str) -> None:
    try_damaged(10_000, 300, kind)


# --- what an attack found


def test_an_arrow_file_with_a_wrong_offset_is_refused(tmp_path: Path) -> None:
    """The text offsets of the ids are 0, 5, 10, ...: one of them is made to point far behind the end."""
    path = tmp_path / "p.arrow"
    table = pa.table({"id": ["aaaaa", "bbbbb", "ccccc"], "predicted": ["x", "y", "x"]})
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    offsets = np.array([0, 5, 10, 15], np.int32).tobytes()
    assert path.read_bytes().count(offsets) == 1
    path.write_bytes(path.read_bytes().replace(offsets, np.array([0, 5, 2**30, 15], np.int32).tobytes()))
    with pytest.raises(InputError, match=r"p\.arrow is not a complete .arrow file"):
        fl.read_pool(path)


@pytest.mark.parametrize(
    "rows", [[{"predicted": "a", "n": 2**64}], [{"predicted": 10**30}], [{"id": -(2**70), "p": 1}]]
)
def test_integers_that_fit_nowhere_are_refused(tmp_path: Path, rows: list[object]) -> None:
    for name, text in {"p.json": json.dumps(rows), "p.jsonl": json.dumps(rows[0])}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=rf"{name}"):
            fl.read_pool(tmp_path / name)


def test_a_number_that_python_does_not_read_is_said_in_our_words(tmp_path: Path) -> None:
    for name in ("p.json", "p.jsonl"):
        (tmp_path / name).write_text('{"predicted": ' + "9" * 10_000 + "}")
        with pytest.raises(InputError, match="thousands of digits") as error:
            fl.read_pool(tmp_path / name)
        assert "set_int_max_str_digits" not in str(error.value)


def test_texts_that_no_database_can_store_are_refused(tmp_path: Path) -> None:
    """An item of which no label can be kept would be asked for again and again, and stop everybody."""
    (tmp_path / "id.json").write_text(json.dumps([{"id": "a\0", "predicted": "x"}, {"id": "b", "predicted": "y"}]))
    (tmp_path / "class.jsonl").write_text('{"predicted": "x"}\n{"predicted": "y\\u0000"}\n')
    for name, column in {"id.json": "id", "class.jsonl": "predicted"}.items():
        with pytest.raises(InputError, match=rf"{name}, .*column '{column}': the text contains the character NUL"):
            fl.read_pool(tmp_path / name)
    for classes in (["x", "y\0"], None):
        names = {"p_x": [0.5, 0.1], "p_y\0": [0.5, 0.9]} if classes is None else np.array([[0.5, 0.5], [0.1, 0.9]])
        with pytest.raises(InputError, match="NUL"):
            fl.read_pool(names, classes=classes)
    (tmp_path / "labels.json").write_text(json.dumps({"a": "x\0"}))
    with pytest.raises(InputError):
        fl.io.read_labels(tmp_path / "labels.json")


@pytest.mark.parametrize("header", [b"{", b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,2)", b"(" * 90])
def test_headers_of_arrays_that_are_no_python(tmp_path: Path, header: bytes) -> None:
    body = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(48)
    (tmp_path / "p.npy").write_bytes(body)
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        archive.writestr("scores.npy", body)
    for name in ("p.npy", "p.npz"):
        with pytest.raises(InputError, match=name):
            fl.read_pool(tmp_path / name)


def test_an_array_that_says_it_is_longer_than_it_is_takes_no_memory(tmp_path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 2), }\n"
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        archive.writestr("scores.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(48))
    with pytest.raises(InputError, match="is not as long as it says"):
        fl.read_pool(tmp_path / "p.npz")


def test_an_encrypted_archive_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    np.savez(path, scores=np.full((3, 2), 0.5))
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag in the header of the member,
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the list at the end
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"encrypted.*without a password"):
        fl.read_pool(path)


def test_columns_of_maps_are_refused_as_ids_and_left_out_otherwise(tmp_path: Path) -> None:
    maps = pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64()))
    parquet.write_table(pa.table({"predicted": ["x", "y"], "m": maps}), tmp_path / "p.parquet")
    with pytest.raises(InputError, match=r"column 'm': the column holds map<.*>, not text"):
        fl.read_pool(tmp_path / "p.parquet", id="m")
    assert fl.read_pool(tmp_path / "p.parquet").columns is None


@pytest.mark.parametrize("text", ["[" * 3000, "[" * 500 + "]" * 500, '[{"predicted": ' + "[" * 40 + "]" * 40 + "}]"])
def test_lists_within_lists_are_refused(tmp_path: Path, text: str) -> None:
    readers: dict[str, Any] = {"p.json": fl.read_pool, "p.jsonl": fl.read_pool, "l.json": fl.read_label_studio}
    for name, read in readers.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=name):
            read(tmp_path / name)


def test_a_key_twice_is_refused_since_nobody_knows_which_is_meant(tmp_path: Path) -> None:
    (tmp_path / "l.json").write_text('[{"id": "a", "label": "cat", "label": "dog"}]')
    with pytest.raises(InputError, match=r"l\.json.*'label' occurs twice"):
        fl.read_labels(tmp_path / "l.json")


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": [None]},
        {"annotations": "none"},
        {"annotations": [{"result": None}]},
        {"annotations": [{"result": [1]}]},
        {"annotations": [{"result": [{"value": []}]}]},
        {"annotations": [{"result": [{"value": {"choices": "cat"}}]}]},
        {"annotations": [{"result": [{"value": {"choices": [["cat"]]}}]}]},
        {"annotations": [{"completed_by": [1], "result": []}]},
        {"data": {"item_id": {"a": 1}}},
    ],
)
def test_misshapen_exports_of_label_studio_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    task = {"data": {"item_id": "a"}, "annotations": [{"result": [{"value": {"choices": ["cat"]}}]}]}
    (tmp_path / "e.json").write_text(json.dumps([task]))
    assert fl.read_label_studio(tmp_path / "e.json")[0].label == "cat"
    (tmp_path / "e.json").write_text(json.dumps([task | change]))
    with pytest.raises(InputError, match=r"task 1 of .*e\.json"):
        fl.read_label_studio(tmp_path / "e.json")


@pytest.mark.parametrize("rule", ["only = 5", "only = [1]", "name = 3", "groups = []", 'sure = "x"', "sure = [1]"])
def test_misshapen_rules_are_refused(tmp_path: Path, rule: str) -> None:
    (tmp_path / "r.toml").write_text(f'[[rule]]\nevery = "accuracy >= 0.9"\n{rule}\n')
    with pytest.raises((InputError, fl.SpecError)):
        read_rules(tmp_path / "r.toml")
    for text in ("rule = [1, 2]", "rule = " + "[" * 5000, "rule = 5"):
        (tmp_path / "r.toml").write_text(text)
        with pytest.raises(InputError, match=r"r\.toml"):
            read_rules(tmp_path / "r.toml")


# --- files that unpack to too much


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that need no large files to be reached."""
    few = limits.Limits(columns=50, unpacked=10**6, ratio=1)
    monkeypatch.setattr(limits, "LIMITS", few)


def bombs(folder: Path) -> list[Path]:
    """Files of every packed format that unpack to more than 1 MB, and to more than their size."""
    n = 3000
    long = pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), pa.array(["x" * 1000]))
    table = pa.table({"predicted": ["a", "b"] * (n // 2), "text": long})
    parquet.write_table(table, folder / "bomb.parquet")
    plain = pa.table({"predicted": ["a", "b"] * (n // 2), "text": ["x" * 1000] * n})
    with (
        pa.OSFile(str(folder / "bomb.arrow"), "wb") as out,
        pa.ipc.new_file(out, plain.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer,
    ):
        writer.write_table(plain)
    np.savez_compressed(folder / "bomb.npz", scores=np.full((100_000, 2), 0.5))
    rows = "id,predicted\n" + "".join(f"{i},{'ab'[i % 2]}{'c' * 1000}\n" for i in range(n))
    (folder / "bomb.csv.gz").write_bytes(gzip.compress(rows.encode()))
    return sorted(folder.glob("bomb.*"))


@pytest.mark.usefixtures("small")
def test_files_that_unpack_to_too_much_are_refused_unless_the_caller_insists(tmp_path: Path) -> None:
    files = bombs(tmp_path)
    assert len(files) == 4
    for file in files:
        with pytest.raises(InputError, match=r"unpacks to .* at most .* any_size=True") as refused:
            fl.read_pool(file)
        assert file.name in str(refused.value)
        assert len(fl.read_pool(file, any_size=True)) >= 3000


@pytest.mark.usefixtures("small")
def test_tables_that_are_too_wide_are_refused(tmp_path: Path) -> None:
    table = {f"p_{i}": [1 / 60, 1 / 60] for i in range(60)}
    parquet.write_table(pa.table(table), tmp_path / "wide.parquet")
    (tmp_path / "wide.json").write_text(json.dumps(table))
    (tmp_path / "wide.jsonl").write_text(json.dumps({name: column[0] for name, column in table.items()}))
    (tmp_path / "wide.csv").write_text(",".join(table) + "\n" + ",".join(["0.0166667"] * 60) + "\n")
    for file in sorted(tmp_path.iterdir()):
        with pytest.raises(InputError, match=r"60 columns; at most 50 are read.*any_size=True"):
            fl.read_pool(file)
        assert len(fl.read_pool(file, any_size=True).classes) == 60


@pytest.mark.slow
def test_the_most_columns_that_are_read_take_seconds_and_not_minutes(tmp_path: Path) -> None:
    """Finding the scores among thousands of columns looked at every column for every other."""
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"p_{i}" for i in range(3000)) + "\n" + ",".join([repr(1 / 3000)] * 3000) + "\n")
    assert guess(path).scores == "p_*"
