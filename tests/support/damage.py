"""Damaged files of every format that is read: only our own errors may come out, and no process may die of one.

    python -m tests.support.damage FIRST COUNT [FORMAT...]

reads the damaged files of some formats, or of all, with the seeds FIRST, FIRST + 1, ... in a process with limited
memory, and prints by format how many were read and refused, and what went wrong, as JSON. What is read of predictions
must have the ids that a plain reader finds in the same file, where it finds any.
tests/io/test_read_damaged.py calls it. `python -m tests.support.damage 0 650` reads 20,000 files.
"""

from __future__ import annotations

import csv
import faulthandler
import gzip
import io
import json
import resource
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY = 4 * 2**30
FORMATS = (
    *("csv", "csv.gz", "tsv", "json", "columns.json", "jsonl", "npz", "packed.npz", "npy", "parquet", "zstd.parquet"),
    *("arrow", "stream.arrow", "feather", "labels.csv", "labels.json", "labels.parquet", "studio.json", "rules.toml"),
    *("inspect.eval", "inspect.json", "lm.jsonl", "promptfoo.json", "deepeval.json", "traces.jsonl", "table.json"),
    *("prodigy.jsonl", "doccano.jsonl", "argilla.json", "xlsx", "inside.xlsx", "inside.npz"),
)
# Formats of other programs, recorded: the damage is done to a part of each file, which is large.
RECORDED = {
    "inspect.eval": "inspect-sums.eval",
    "inspect.json": "inspect.json",
    "lm.jsonl": "lm-eval-tickets.jsonl",
    "promptfoo.json": "promptfoo.json",
    "deepeval.json": "deepeval.json",
    "traces.jsonl": "mlflow-traces.jsonl",
    "table.json": "mlflow-table.json",
    "prodigy.jsonl": "prodigy.jsonl",
    "doccano.jsonl": "doccano.jsonl",
    "argilla.json": "argilla.json",
}
# What a text is made of, and what its readers stumble over.
TOKENS = (
    *(
        b"null",
        b"true",
        b"[",
        b"]",
        b"{",
        b"}",
        b"[" * 3000,
        b'"',
        b"'",
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r",
        b"\0",
        b"\xff",
    ),
    *(b"18446744073709551616", b"-9223372036854775809", b"1e999", b"NaN", b"-0", b"1" * 5000, b"0x10", b"1_000"),
    *(b"\\ud800", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"=1+1", b"[null]", b"[[1]]", b'{"a": {"b": [1]}}', b"[[rule]]"),
)


def _table() -> pa.Table:
    rng = np.random.default_rng(3)
    n = 40
    scores = rng.dirichlet(np.ones(3), size=n)
    return pa.table({
        "id": [f"item-{i}" for i in range(n)],
        "predicted": pa.array([["cat", "dog", "eel"][k] for k in scores.argmax(1)]).dictionary_encode(),
        "confidence": scores.max(1),
        "text": pa.array([f"text {i % 5}" for i in range(n)], pa.large_string()),
        "n": pa.array([i if i % 7 else None for i in range(n)], pa.int32()),
        "when": pa.array(range(n), pa.timestamp("us", "UTC")),
        "map": pa.array([[("a", i)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
        "more": pa.array([{"x": [i]} for i in range(n)]),
    })  # fmt: skip


def sound(kind: str) -> bytes:
    """A sound file of a format."""
    from fewlabels.io.excel import workbook

    if kind in RECORDED:
        return (Path(__file__).parents[1] / "fixtures" / "bridges" / RECORDED[kind]).read_bytes()
    table = _table()
    flat = table.drop_columns(["map", "more"])
    rows = [{**row, "when": str(row["when"])} for row in flat.to_pylist()]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    scores = np.random.default_rng(4).dirichlet(np.ones(3), size=40)
    labels = [{"id": f"item-{i}", "label": "cat" if i % 2 else "dog"} for i in range(30)]
    out = io.BytesIO()

    def lines(gap: str, table: list[dict[str, Any]]) -> bytes:
        head = [gap.join(table[0])]
        return "\n".join(
            [*head, *(gap.join("" if v is None else str(v) for v in row.values()) for row in table)]
        ).encode()

    def ipc(make: Callable[..., Any], **options: Any) -> bytes:
        with make(out, table.schema, **options) as writer:
            writer.write_table(table, max_chunksize=15)
        return out.getvalue()

    def through(write: Callable[..., Any], *what: Any, **options: Any) -> bytes:
        write(*what, **options)
        return out.getvalue()

    studio = [
        {"id": i, "data": {"text": "x", "item_id": f"item-{i}"}, "annotations": [
            {"completed_by": {"email": "a@b.c"}, "was_cancelled": i % 5 == 0,
             "result": [{"type": "choices", "value": {"choices": ["cat"]}}]}]}
        for i in range(10)
    ]  # fmt: skip
    rules = (
        '[[rule]]\nevery = "accuracy >= 0.9"\nonly = ["cat", "dog"]\nsure = 0.9\n[[rule]]\noverall = "cost <= 80%"\n'
    )
    made: dict[str, Callable[[], bytes]] = {
        "csv": lambda: lines(",", rows),
        "csv.gz": lambda: gzip.compress(lines(",", rows), mtime=0),
        "tsv": lambda: lines("\t", rows),
        "json": lambda: json.dumps(rows).encode(),
        "columns.json": lambda: json.dumps({"scores": scores.tolist(), "id": list(range(40))}).encode(),
        "jsonl": lambda: "\n".join(map(json.dumps, rows)).encode(),
        "npz": lambda: through(np.savez, out, scores=scores, id=np.arange(40), classes=np.array(["a", "b", "c"])),
        "inside.npz": lambda: through(np.savez, out, scores=scores, id=np.arange(40)),
        "packed.npz": lambda: through(np.savez_compressed, out, scores=scores, text=np.array(["x"] * 40)),
        "npy": lambda: through(np.save, out, scores),
        "parquet": lambda: through(parquet.write_table, table, out),
        "zstd.parquet": lambda: through(parquet.write_table, table, out, compression="zstd", row_group_size=9,
                                        data_page_version="2.0"),
        "arrow": lambda: ipc(pa.ipc.new_file),
        "stream.arrow": lambda: ipc(pa.ipc.new_stream, options=pa.ipc.IpcWriteOptions(compression="zstd")),
        "feather": lambda: through(feather.write_feather, table, out, compression="lz4"),
        "labels.csv": lambda: lines(",", labels),
        "labels.json": lambda: json.dumps(labels).encode(),
        "labels.parquet": lambda: through(parquet.write_table, pa.Table.from_pylist(labels), out),
        "studio.json": lambda: json.dumps(studio).encode(),
        "rules.toml": rules.encode,
    } | dict.fromkeys(("xlsx", "inside.xlsx"), lambda: workbook(columns))  # fmt: skip
    return made[kind]()


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with one to four damages: bits turned, bytes set, parts cut out, doubled or moved, the end cut off, and
    pieces of text put in.
    """
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(data) + 1)) if rng.random() < 0.7 else int(rng.beta(0.3, 0.3) * len(data))
        far = min(len(data), at + int(rng.integers(1, 40)))
        other = int(rng.integers(len(data) + 1))
        value = int(rng.choice([0, 1, 127, 128, 255, int(rng.integers(256))]))
        turned = data[at] ^ (1 << int(rng.integers(8))) if at < len(data) else 0
        data = [
            data[:at] + bytes([turned]) + data[at + 1 :],
            data[:at] + bytes([value]) + data[at + 1 :],
            data[:at] + bytes([value] * (far - at)) + data[far:],
            data[:at] + data[far:],
            data[:at] + data[at:far] + data[at:],
            data[:other] + data[at:far] + data[other:],
            data[: max(at, 1)],
            data[:at] + TOKENS[int(rng.integers(len(TOKENS)))] + data[at:],
            data[:at] + TOKENS[int(rng.integers(len(TOKENS)))] + data[far:],
            data[:at] + int(rng.integers(-2, 2**31)).to_bytes(8, "little", signed=True) + data[at + 8 :],
        ][int(rng.integers(10))] or data  # fmt: skip
    return data


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    2**64,
    -(2**63) - 1,
    10**40,
    1e308,
    -0.5,
    "",
    "x",
    "\ud800",
    "a\0b",
    [],
    {},
    [None],
    [[]],
)
_VALUES += ({"a": 1}, ["x", 1], [1, 2.5], {"choices": None}, {"choices": [1]}, float("nan"))


def misshapen(value: Any, rng: np.random.Generator) -> Any:
    """A value of JSON with one to three of its parts replaced by something odd, left out, or doubled."""
    for _ in range(int(rng.integers(1, 4))):
        which = int(rng.integers(-2, len(_VALUES)))
        here, odd = value, _nested(-400 * which) if which < 0 else json.loads(json.dumps(_VALUES[which]))
        while isinstance(here, (list, dict)) and here:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            key = keys[int(rng.integers(len(keys)))]
            if isinstance(here[key], (list, dict)) and here[key] and rng.random() < 0.7:
                here = here[key]
                continue
            how = rng.random()
            if how < 0.2:
                del here[key]
            elif how < 0.3 and isinstance(here, list):
                here.append(json.loads(json.dumps(here[key])))
            else:
                here[key] = odd
            break
        else:
            value = odd
    return value


def inside(whole: bytes, rng: np.random.Generator) -> bytes:
    """An archive that is sound, but for one of its members."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        names = archive.namelist()
        sizes = [archive.getinfo(name).file_size for name in names]
        # By size, since large members hold the data; but every member has a chance.
        chance = np.add(sizes, sum(sizes) / len(sizes)) / (2 * sum(sizes))
        chosen = names[int(rng.choice(len(names), p=chance))]
        for name in names:
            data = archive.read(name)
            made.writestr(name, damaged(data, rng) if name == chosen else data)
    return out.getvalue()


def spoilt(kind: str, whole: bytes, rng: np.random.Generator) -> bytes:
    """A damaged file: of JSON, half of them are still JSON."""
    if kind.startswith("inside"):
        return inside(whole, rng)
    if "json" not in kind or rng.random() < 0.5:
        return damaged(whole, rng)
    if kind.endswith("jsonl"):
        rows = misshapen([json.loads(line) for line in whole.splitlines()], rng)
        return "\n".join(map(json.dumps, rows if isinstance(rows, list) else [rows])).encode()
    return json.dumps(misshapen(json.loads(whole), rng), ensure_ascii=bool(rng.integers(2))).encode(
        errors="surrogatepass"
    )


def ids_in(kind: str, data: bytes) -> list[str] | None:
    """The ids that a plain reader finds in a damaged file of predictions; None if it finds none."""
    try:
        if kind in {"csv", "tsv"}:
            lines = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=",\t"[kind == "tsv"])
            table = [row for row in lines if any(map(str.strip, row))]
            return [row[table[0].index("id")] for row in table[1:]]
        if kind in {"json", "jsonl"}:
            rows = json.loads(data) if kind == "json" else [json.loads(row) for row in data.splitlines() if row.strip()]
            return [str(row["id"]) for row in rows]
        if kind.endswith("parquet"):
            return parquet.read_table(pa.BufferReader(data), columns=["id"])["id"].to_pylist()
        if kind in {"arrow", "feather"}:
            return pa.ipc.open_file(pa.BufferReader(data)).read_all()["id"].to_pylist()
    except Exception:  # noqa: BLE001  (it has no idea of damage)
        pass
    return None


def reader(kind: str) -> Callable[[Path], object]:
    """What reads the files of a format, to the end."""
    from fewlabels.gate.rules import read_rules
    from fewlabels.interop import read_annotations, read_label_studio
    from fewlabels.io import read_labels, read_pool
    from fewlabels.io.finder import guess
    from fewlabels.store.archive import pack_pool

    def pool(path: Path) -> object:
        guess(path)
        made = read_pool(path)
        if not 0 <= made.predicted.min() <= made.predicted.max() < len(made.classes):
            raise AssertionError("a predicted class is not one of the classes")
        plain = ids_in(kind, path.read_bytes())
        if plain is not None and [item.strip() for item in plain] != [
            str(item).strip() for item in made.ids.to_pylist()
        ]:
            raise AssertionError("the items are not those of the file")
        return made.fingerprint, pack_pool(made)

    exports = dict.fromkeys(("prodigy.jsonl", "doccano.jsonl", "argilla.json"), read_annotations)
    special: dict[str, Callable[[Path], object]] = {
        **exports,
        "studio.json": read_label_studio,
        "rules.toml": read_rules,
    }
    return special.get(kind, read_labels if kind.startswith("labels") else pool)


def try_all(kind: str, first: int, count: int) -> dict[str, Any]:
    """Read damaged files; count those that were read and refused, and list what else happened."""
    from fewlabels.errors import InputError, LabelError, SpecError

    whole, read = sound(kind), reader(kind)
    outcome: dict[str, Any] = {"read": 0, "refused": 0, "wrong": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file.{kind}"
        path.write_bytes(whole)
        read(path)  # the sound file can be read
        for seed in range(first, first + count):
            path.write_bytes(spoilt(kind, whole, np.random.default_rng([seed, FORMATS.index(kind)])))
            sys.stderr.write(f"{kind} {seed}\n")  # the last line says which file killed the process
            try:
                read(path)
                outcome["read"] += 1
            except (InputError, LabelError, SpecError) as error:
                outcome["refused"] += 1
                if not str(error).strip() or "\n" in str(error).strip() or len(str(error)) > 2000:
                    outcome["wrong"].append([seed, f"not a clear message: {str(error)[:500]}"])
            except BaseException:  # noqa: BLE001  (that is the question)
                outcome["wrong"].append([seed, traceback.format_exc(limit=-6)])
    return outcome


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    first, count, *kinds = sys.argv[1:]
    sys.stdout.write(json.dumps({kind: try_all(kind, int(first), int(count)) for kind in kinds or FORMATS}))
