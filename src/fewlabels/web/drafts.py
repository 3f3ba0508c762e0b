"""Assessments that are being made in the browser: the uploaded files, what was understood, what was chosen so far.

A draft is kept in this process alone, its files in a temporary folder. Both are gone when the assessment is made, when
its owner begins another draft, gives it up or leaves it for an hour, and when the server stops. The next server removes
what a killed one left behind.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from fewlabels.errors import FewlabelsError, InputError
from fewlabels.io.columns import ARROW_ERRORS
from fewlabels.io.files import ENDINGS, open_file
from fewlabels.io.finder import columns_of, guess
from fewlabels.io.holding import TemporaryFolder, remove_left_behind
from fewlabels.io.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa

    from fewlabels.io.source import Source
    from fewlabels.pool import Pool
    from fewlabels.understanding.options import ReadOptions
    from fewlabels.understanding.words import Understood

_LIFE = 3600.0  # seconds since somebody used it last
_MOST = 8  # drafts at once: each may hold a file and a pool
_LIMITS = Limits(columns=12_000, unpacked=10**9, ratio=10)  # a server has other things to do than to unpack one file
_PREFIX = "fewlabels-draft-"
_SAMPLE = 3  # rows that are shown
_SHOWN = 40  # columns of them
_FEW = 30  # columns of a file that are always listed
_MOST_COLUMNS = 200  # columns that are listed
_LONGEST = 80  # characters of a value that are shown
_NAME = 100  # characters of a file's name
_FILES = 3  # names of files that a title or the name of an assessment is made of


class DraftGoneError(HTTPException):
    """The draft has ended, perhaps in another tab while one of its pages was being made."""

    def __init__(self) -> None:
        super().__init__(
            404,
            "this draft is gone: it was finished, another was begun, it was left for an hour, or the server was "
            "started again. If several servers share the work here, all pages of a draft must come from one. Begin "
            "again.",
        )


@dataclass
class Draft:
    """An assessment that is being made by one owner."""

    id: str
    owner: str
    sources: tuple[Source, ...]
    """The file, or one for each of several models."""
    columns: list[str]
    """The columns that a page lists."""
    sample: dict[str, list[str]]
    """The first values of the first columns."""
    folder: Path | None = None
    typed: dict[str, dict[str, Any]] = field(default_factory=lambda: {"columns": {}})
    """What was typed, by form."""
    example: bool = False
    ended: bool = False
    used: float = field(default_factory=time.monotonic)
    """When its owner last used it."""
    _read: tuple[object, Pool, list[Understood]] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def title(self) -> str:
        """The names of the files, for people."""
        names = [source.name for source in self.sources]
        if len(names) > _FILES:
            return f"{names[0]} and {len(names) - 1} more files"
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

    @property
    def stem(self) -> str:
        """A name for the assessment, as the command line gives it."""
        stems = [source.name.partition(".")[0] for source in self.sources]
        return "-".join(stems) if len(stems) <= _FILES else "models"

    @property
    def names(self) -> list[str]:
        """All columns, those of the first file first."""
        return list(dict.fromkeys(name for source in self.sources for name in source.columns))

    def read(self, options: ReadOptions, content: list[str] | None) -> tuple[Pool, list[Understood]]:
        """Read the pool as the options say, and how it was understood; once for the same options."""
        from fewlabels.understanding.predictions import understood_in

        key = (options, content)
        with self._lock:
            if self._read is None or self._read[0] != key:
                self._read = None
                try:
                    self._read = (key, *understood_in(self._by_model(options), options, content=content))
                except (OSError, FewlabelsError):
                    if self.ended:  # the file was removed while it was read
                        raise DraftGoneError from None
                    raise
            return self._read[1], self._read[2]

    def _by_model(self, options: ReadOptions) -> Source | dict[str, Source]:
        """The file, or the files by the names of their models."""
        from fewlabels.understanding.models import model_names
        from fewlabels.understanding.options import split_names

        if len(self.sources) == 1:
            return self.sources[0]
        names = model_names([source.name for source in self.sources], split_names(options.models))
        return dict(zip(names, self.sources, strict=True))


def _sample(sources: Sequence[Source], columns: list[str]) -> dict[str, list[str]]:
    """The first values of the first columns, short enough for a page; if several files have one, those of the first."""
    examples: dict[str, list[str]] = {}
    for source in sources:
        wanted = [name for name in columns[:_SHOWN] if name in source.columns and name not in examples]
        if wanted:
            batch = next(iter(source.batches(wanted, _SAMPLE)))
            examples |= {name: [_short(value) for value in batch.column(name)] for name in wanted}
    return examples


def _columns(source: Source) -> list[str]:
    """The columns that a page lists; if there are very many, those that seem to be scores are left out."""
    names = source.columns
    if len(names) <= _FEW:
        return names
    scores = set(columns_of(source, guess(source).scores))
    return [name for name in names if name not in scores][:_MOST_COLUMNS] or names[:_FEW]


def _short(stored: pa.Scalar[Any]) -> str:
    try:
        value = stored.as_py()
    except (ValueError, OverflowError, KeyError, *ARROW_ERRORS):  # a time or a zone that Python does not know
        value = "?"
    if isinstance(value, list):  # scores: all digits of the first would hide the others
        value = f"[{', '.join(f'{score:.3g}' if isinstance(score, float) else str(score) for score in value)}]"
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _shown(name: str) -> tuple[str, str]:
    """The name of a file without its folder, and its ending; an error if such files cannot be read."""
    shown = Path(name.replace("\\", "/")).name[-_NAME:] or "the file"
    ending = next((ending for ending in sorted(ENDINGS, key=len, reverse=True) if shown.lower().endswith(ending)), None)
    if ending is None:
        raise InputError(f"files like {shown!r} cannot be read. Use one that ends in {', '.join(ENDINGS)}.")
    return shown, ending


def _free(name: str, used: Collection[str]) -> str:
    """A name that no other file has.

    >>> _free("answers.csv", ["answers.csv"]), _free("answers.csv", [])
    ('answers-2.csv', 'answers.csv')
    """
    stem, dot, ending = name.partition(".")
    names = (name, *(f"{stem}-{i}{dot}{ending}" for i in range(2, len(used) + 2)))
    return next(name for name in names if name not in used)


class Drafts:
    """The drafts of a server: one of each owner, and not too many in all."""

    def __init__(self, life: float = _LIFE) -> None:
        self._life = life
        self._drafts: dict[str, tuple[Draft, threading.Timer]] = {}
        self._lock = threading.Lock()
        self._folder: TemporaryFolder | None = None
        remove_left_behind(_PREFIX)

    def begin(self, owner: str, *files: tuple[IO[bytes], str]) -> Draft:
        """Keep uploaded files, each with its name, and look into them. If one cannot be read, none is kept."""
        named = [(file, *_shown(name)) for file, name in files]
        folder = Path(tempfile.mkdtemp(dir=self._place()))
        sources: dict[str, Source] = {}
        try:
            for file, shown, ending in named:
                path = folder / f"predictions-{len(sources)}{ending}"
                with path.open("wb") as kept:
                    shutil.copyfileobj(file, kept, 2**20)
                name = _free(shown, sources)  # a browser does not say in which folder a file was
                sources[name] = open_file(path, name, _LIMITS)
            return self._keep(owner, tuple(sources.values()), folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def example(self, owner: str) -> Draft:
        """Begin with the built-in pictures of clothes."""
        from dataclasses import replace

        from fewlabels.data import load_fashion
        from fewlabels.io.opening import open_source

        fashion = load_fashion()
        columns = {"id": fashion.ids, "scores": fashion.scores, "picture": fashion.addresses()}
        source = replace(open_source(columns), name="fashion", classes=tuple(fashion.classes))
        draft = self._keep(owner, (source,), None)
        draft.example = True
        return draft

    def of(self, owner: str, draft: str) -> Draft | None:
        """An owner's draft; None if it is gone, or somebody else's."""
        with self._lock:
            entry = self._drafts.get(draft)
            if entry is None or entry[0].owner != owner:
                return None
            entry[0].used = time.monotonic()
            self._drafts[draft] = self._drafts.pop(draft)  # those that nobody uses come first
        return entry[0]

    def end(self, draft: str) -> None:
        """Forget a draft, and remove its file."""
        with self._lock:
            entry = self._drafts.pop(draft, None)
        if entry is None:
            return
        entry[1].cancel()
        entry[0].ended = True
        if entry[0].folder is not None:
            shutil.rmtree(entry[0].folder, ignore_errors=True)

    def _place(self) -> Path:
        """The folder of all files, which is removed when the process ends."""
        with self._lock:
            if self._folder is None:
                self._folder = TemporaryFolder(_PREFIX)
                weakref.finalize(self, self._folder.remove)
            return self._folder.path

    def _keep(self, owner: str, sources: tuple[Source, ...], folder: Path | None) -> Draft:
        columns = list(dict.fromkeys(name for source in sources for name in _columns(source)))[:_MOST_COLUMNS]
        draft = Draft(secrets.token_urlsafe(12), owner, sources, columns, _sample(sources, columns), folder)
        timer = self._timer(draft, self._life)
        with self._lock:
            old = [name for name, (other, _) in self._drafts.items() if other.owner == owner]
            others = [name for name in self._drafts if name not in old]
            old += others[: max(0, len(others) + 1 - _MOST)]  # those that were left longest
            self._drafts[draft.id] = draft, timer
        timer.start()
        for name in old:
            self.end(name)
        return draft

    def _timer(self, draft: Draft, seconds: float) -> threading.Timer:
        """Make sure that the draft ends even if nobody comes back."""
        timer = threading.Timer(seconds, self._end_if_left, [draft])
        timer.daemon = True
        return timer

    def _end_if_left(self, draft: Draft) -> None:
        """End a draft that nobody has used for too long; otherwise check again when that time may be over."""
        left = draft.used + self._life - time.monotonic()
        if left <= 0:
            self.end(draft.id)
            return
        timer = self._timer(draft, left)
        with self._lock:
            if draft.id in self._drafts:
                self._drafts[draft.id] = draft, timer
                timer.start()
