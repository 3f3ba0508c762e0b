"""Logs of Inspect, as .eval or .json: version 2 of the log, tried with inspect_ai 0.3.285."""

from __future__ import annotations

import json
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fewlabels.errors import InputError
from fewlabels.interop.samples import Evaluation, Sample, worded
from fewlabels.interop.shapes import a_name, a_text, an_object, objects
from fewlabels.io.jsons import parsed
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fewlabels.io.limits import Limits

_FIX = "Write the log again, or convert it with: inspect log convert"
_ZSTD = 93  # the number of this compression in zip files; zipfile knows it from Python 3.14 on
_WORDS = {"C": "correct", "I": "incorrect", "P": "partly correct", "N": "incorrect"}  # N: no answer, which scores 0


def is_log(data: object) -> bool:
    """Whether a JSON value is a log of Inspect."""
    return isinstance(data, dict) and {"version", "status", "eval"} <= data.keys() and isinstance(data["eval"], dict)


def from_json(data: dict[str, Any], name: str) -> Evaluation:
    """Read a log that is one JSON value."""
    return _evaluation(data, objects(data.get("samples") or [], f"the samples of {name}", _FIX), name)


def from_archive(path: Path, name: str, within: Limits) -> Evaluation:
    """Read a log that is an archive, with a file for each sample."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        within.check_bytes(path, name, sum(member.file_size for member in members))
        names = {member.filename: member for member in members}
        header = names.get("header.json", names.get("_journal/start.json"))  # without a header the run was cut short
        if header is None:
            raise InputError(f"{name} is an archive, but not a log of Inspect: it has no header.json. {_FIX}")
        about = an_object(_read(path, archive, header, name, within), f"the header of {name}", _FIX)
        samples = [
            an_object(_read(path, archive, names[inner], name, within), f"{inner} of {name}", _FIX)
            for inner in sorted(names)
            if inner.startswith("samples/") and inner.endswith(".json")
        ]
    return _evaluation(about, samples, name)


def _read(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, within: Limits) -> Any:
    inside = f"{member.filename} of {name}"
    if member.flag_bits & 1:
        raise InputError(f"{name} is encrypted. Write it again without a password.")
    data = _unpacked(path, member) if member.compress_type == _ZSTD else archive.read(member)
    if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
        raise InputError(f"{inside} is damaged: its checksum is wrong. {_FIX}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{inside} is not text in UTF-8. {_FIX}") from None
    return parsed(text, inside, within)[0]


def _unpacked(path: Path, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member that was compressed with Zstandard; no more of them than its entry says."""
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(30)
        if header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile("a member has no header")
        file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
        packed = file.read(member.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read(member.file_size + 1))


def _evaluation(about: dict[str, Any], samples: Sequence[dict[str, Any]], name: str) -> Evaluation:
    """Put the header and the samples together."""
    run = an_object(about.get("eval", {}), f"the key 'eval' of {name}", _FIX)
    choices = _choices(samples)
    read = [_sample(sample, number, name, choices) for number, sample in enumerate(samples, 1)]
    packages = run.get("packages")
    made = f", inspect_ai {packages['inspect_ai']}" if isinstance(packages, dict) and "inspect_ai" in packages else ""
    which = f"task {run.get('task')!r}, model {run.get('model')!r}"
    failed = sum(bool(sample.get("error")) for sample in samples)
    lost = f", {counted(failed, 'sample')} with an error" if failed else ""
    return Evaluation(
        f"Inspect log, version {about.get('version')}{made} ({which}{lost})",
        worded(read, "correct", "incorrect"),
        choices,
    )


def _choices(samples: Iterable[dict[str, Any]]) -> tuple[str, ...] | None:
    """The classes, if every sample has choices: their texts if these are always the same, and else their letters."""
    lists = [sample.get("choices") for sample in samples]
    if not lists or not all(
        isinstance(texts, list) and texts and all(isinstance(c, str) for c in texts) for texts in lists
    ):
        return None
    if len({json.dumps(texts) for texts in lists}) == 1 and len(set(lists[0] or [])) == len(lists[0] or []):
        return tuple(lists[0] or [])
    return tuple(_letter(place) for place in range(max(len(texts or []) for texts in lists)))


def _letter(place: int) -> str:
    """How Inspect calls a choice: A to Z, then 1, 2, ...

    >>> _letter(0), _letter(25), _letter(26)
    ('A', 'Z', '1')
    """
    return chr(ord("A") + place) if place < 26 else str(place - 25)


def _sample(sample: dict[str, Any], number: int, name: str, choices: tuple[str, ...] | None) -> Sample:
    where = f"sample {number} of {name}"
    epoch = sample.get("epoch", 1)
    scores = an_object(sample.get("scores") or {}, f"the scores of {where}", _FIX)
    given = {scorer: an_object(score, f"a score of {where}", _FIX) for scorer, score in scores.items()}
    output = an_object(sample.get("output") or {}, f"the output of {where}", _FIX)
    answers = [a_text(score.get("answer")) for score in given.values()]
    answer = next((text for text in answers if text), None) or a_text(output.get("completion"))
    target = sample.get("target")
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else None
    names = {_letter(place): choice for place, choice in enumerate(choices or ())}
    identifier = a_name(sample.get("id"), where, _FIX)
    return Sample(
        id=identifier if epoch == 1 else f"{identifier} (epoch {epoch})",
        input=_with_choices(sample, choices),
        answer=names.get(answer or "", None if choices else answer),
        whole=a_text(output.get("completion")),
        target=names.get(target, target) if isinstance(target, str) else a_text(target),
        verdicts={key: value for scorer, score in given.items() for key, value in _verdicts(scorer, score).items()},
        others=an_object(sample.get("metadata") or {}, f"the metadata of {where}", _FIX),
    )


def _with_choices(sample: dict[str, Any], choices: tuple[str, ...] | None) -> str | None:
    """The question, with its own choices where these differ from sample to sample."""
    text, own = a_text(sample.get("input")), sample.get("choices")
    if choices is None or not isinstance(own, list) or tuple(own) == choices:
        return text
    return "\n".join([text or "", *(f"{_letter(place)}) {choice}" for place, choice in enumerate(own))])


def _verdicts(scorer: str, score: dict[str, Any]) -> dict[str, Any]:
    value = score.get("value")
    several = {f"{scorer}_{key}": part for key, part in value.items()} if isinstance(value, dict) else {scorer: value}
    return {key: _WORDS.get(word, word) if isinstance(word, str) else word for key, word in several.items()}
