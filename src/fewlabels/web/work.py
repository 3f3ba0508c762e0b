"""The work on an assessment: answers over time, who is labelling now and how quickly, and the latest events."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from fewlabels.labelling.notes import KNOWN, TAKEN_BACK
from fewlabels.labelling.progress import called
from fewlabels.plots import svg
from fewlabels.plots.drawing.picture import Area, Axis, Line, Panel, Picture, Tick, counting
from fewlabels.plots.plot import Plot
from fewlabels.web.clocks import straightened
from fewlabels.wording import counted, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.table import Table

_WINDOW = 900.0  # seconds that "now" looks back, for the speed
_BEGUN = 120.0  # seconds of work before a speed is shown
_PRESENT = 300.0  # seconds after which somebody who did nothing is no longer there
_LATEST = 5_000  # acts that are looked at for it
_MOST_POINTS = 150  # of the line
_LAST_POINTS = 20  # of them, for when the last answer came
_EVENTS = 10  # that are listed
_READ = 200  # events that are read for them: many only hand out items
_WIDE = 480  # pixels of the drawing
_STEPS = (60, 300, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800, 2592000, 31536000)  # of the axis
_UNITS = ((31536000, "year"), (2592000, "month"), (604800, "week"), (86400, "day"), (3600, "hour"), (60, "minute"))


class Act(NamedTuple):
    """Something that a person did: by the clock, who, and whether it is an answer."""

    at: float
    who: str
    answer: bool


class Pace:
    """When each person answered, read from the log of an assessment: only what is new since the last look.

    Threads may share it. Where clocks were wrong, the order of the log counts: see `clocks`.
    """

    def __init__(self) -> None:
        self._seq = 0
        self._lock = threading.Lock()
        self._standing: set[int] = set()
        self._all: list[tuple[float, int]] = []
        self._acts: deque[Act] = deque(maxlen=_LATEST)
        self._seen: dict[str, float] = {}  # by the clock, when each person last did something
        self._answered: dict[str, float] = {}  # and last answered
        self._at_once: set[tuple[str, float]] = set()  # who gave several answers in one instant: those of a file

    def catch_up(self, audit: Assessment) -> None:
        """Read what others have written."""
        with self._lock:
            log = audit.log(after=self._seq)
            for row in log.rows():
                self._take(row)
                self._seq = row["seq"]

    def _take(self, row: Mapping[str, Any]) -> None:
        at, who = row["at"].timestamp(), called(row["annotator"])
        answer = hash((who if row["kind"] != "decide" else None, row["item"]))
        if row["kind"] in ("label", "decide"):
            if answer not in self._standing:  # a correction does not count as another answer
                self._standing.add(answer)
                self._all.append((at, 1))
            if self._answered.get(who) == at:
                self._at_once.add((who, at))
            self._answered[who] = at
        elif row["kind"] == "retract" and answer in self._standing:
            self._standing.remove(answer)
            self._all.append((at, -1))
        elif row["kind"] == "withdraw":  # what anybody has answered or decided about the item
            gone = self._standing & {hash((person, row["item"])) for person in (None, *self._answered)}
            self._standing -= gone
            self._all.append((at, -len(gone)))
        own = not (row["note"] or "").startswith(TAKEN_BACK)
        if row["kind"] in ("label", "decide", "skip", "retract") and own:
            self._acts.append(Act(at, who, row["kind"] in ("label", "decide")))
            self._seen[who] = at

    def recent(self, now: float) -> Recent:
        """What was done lately, other than handing in a file of answers, and when."""
        with self._lock:
            acts, at_once = list(self._acts), self._at_once.copy()
        times = straightened([act.at for act in acts], now)
        done = [(at, act) for at, act in zip(times, acts, strict=True) if (act.who, act.at) not in at_once]
        return Recent(
            now,
            {act.who: at for at, act in zip(times, acts, strict=True)},
            {act.who for at, act in done if now - at < _PRESENT},
            # When an answer was given by a clock that was wrong, only the order says: it has a time, and no speed.
            [(at, act.who) for at, act in done if act.answer and now - at <= _WINDOW and at in (act.at, now)],
        )

    def seen(self, who: str) -> float | None:
        """When somebody last did something, by the clock of that time."""
        return self._seen.get(who)

    def latest(self) -> float:
        """When anybody last did something; 0 if nobody ever did."""
        return straightened([act.at for act in self._acts], inf)[-1] if self._acts else 0.0

    def over_time(self, now: float) -> OverTime:
        """The answers so far as a chart."""
        steps = self._all[:]  # while it is read, another thread may add to it
        totals = list(accumulate(change for _, change in steps))
        every = max(1, len(steps) // _MOST_POINTS)
        shown = sorted({*range(0, len(steps), every), *range(len(steps))[-_LAST_POINTS:]})
        times = straightened([steps[i][0] for i in shown], now)
        points = tuple((at - now, float(totals[i])) for at, i in zip(times, shown, strict=True))
        return OverTime(points, self.recent(now).per_hour())


@dataclass(frozen=True)
class Recent:
    """Who did something last and when, who is there, and the answers of the last quarter of an hour."""

    now: float
    last: Mapping[str, float]
    present: AbstractSet[str]
    answers: Sequence[tuple[float, str]]

    def per_hour(self, who: str | None = None) -> int | None:
        """The answers an hour of the last quarter of an hour, of one person or of all.

        0 if they are not there now, and None if they have only just begun: a minute says nothing about an hour.
        """
        if not self.present or (who is not None and who not in self.present):
            return 0
        times = [at for at, person in self.answers if who in (None, person)]
        if not times:
            return 0
        # Somebody who began five minutes ago is measured by these five minutes.
        return round(len(times) * 3600 / (self.now - times[0])) if self.now - times[0] >= _BEGUN else None


@dataclass(frozen=True)
class OverTime(Plot):
    """Answers so far, against the time: seconds before now (negative), and how many there were then."""

    name: ClassVar[str] = "over-time"
    title: ClassVar[str] = "Answers over time"

    points: tuple[tuple[float, float], ...]
    per_hour: int | None

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """There is no obstacle: it is made from the log alone."""
        return ""

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the whole log, as of its last event."""
        pace = Pace()
        pace.catch_up(reading.audit)
        made = pace.over_time(pace.latest())
        return cls(made.points, made.per_hour)

    def finding(self) -> str:
        """How many answers there are, and how quickly they come now or when the last one came."""
        if not self.points:
            return self.title
        total = counted(int(self.points[-1][1]), "answer")
        if self.per_hour is None:
            return f"{total} so far"
        return f"{total}, {self.per_hour:,} an hour now" if self.per_hour else f"{total}, the latest {ago(*self._last)}"

    @property
    def _last(self) -> tuple[float, float]:
        """When the last answer came, and now: after it, others may have been taken back."""
        before = (0.0, *(total for _, total in self.points))
        came = [at for (at, total), earlier in zip(self.points, before, strict=False) if total > earlier]
        return (came or [self.points[-1][0]])[-1], 0.0

    def caption(self) -> str:
        """Explain how to read the plot."""
        return "Answers so far. Where the line is flat, nobody was labelling."

    def picture(self) -> Picture:
        """Draw the line, with the area below it."""
        first = min(self.points[0][0], -60.0)
        most = max(total for _, total in self.points)
        steps = [(first, 0.0)]
        for at, total in self.points:
            steps += [(at, steps[-1][1]), (at, total)]
        steps.append((0.0, steps[-1][1]))
        tip = self.finding()
        marks = (Area((*steps, (0.0, 0.0)), tip), Line(tuple(steps), tip))
        return Picture((Panel(_ago(first), counting(most, ""), marks, height=150),))


def _ago(first: float) -> Axis:
    """An axis of time before now, with at most five ticks."""
    step = next((step for step in _STEPS if -first / step <= 5), _STEPS[-1])
    ticks = [
        Tick(-i * step, "now" if i == 0 else lasting(i * step, short=True)) for i in range(int(-first // step) + 1)
    ]
    return Axis(first, 0.0, tuple(reversed(ticks)), "before now", grid=False)


def lasting(seconds: float, *, short: bool = False) -> str:
    """A length of time in words, in its largest unit.

    >>> lasting(30), lasting(7300), lasting(2 * 86400), lasting(7200, short=True)
    ('less than a minute', '2 hours', '2 days', '2 h')
    """
    for size, noun in _UNITS:
        if seconds >= size:
            many = round(seconds / size)
            return (
                f"{many} {'mo' if noun == 'month' else noun[:3] if noun == 'minute' else noun[0]}"
                if short
                else counted(many, noun)
            )
    return "less than a minute"


def ago(at: float | None, now: float) -> str:
    """How long ago something was; empty if it never was.

    >>> ago(0.0, 30.0), ago(0.0, 120.0), ago(None, 1.0)
    ('just now', '2 min ago', '')
    """
    if at is None:
        return ""
    return "just now" if now - at < 60 else f"{lasting(now - at, short=True)} ago"


@dataclass(frozen=True)
class Member:
    """What one person has done, and whether they are there now."""

    name: str
    here: bool
    labels: int
    per_hour: int | None
    skips: int
    held: int
    last: str
    right: str


@dataclass(frozen=True)
class Happening:
    """An event in words: who did what, and when."""

    at: datetime
    who: str
    words: str


@dataclass(frozen=True)
class Work:
    """The work so far, for a page."""

    title: str
    chart: str
    caption: str
    members: tuple[Member, ...]
    here: tuple[str, ...]
    right: bool
    agreement: str | None
    events: tuple[Happening, ...]
    others: tuple[str, ...]


def work(
    pace: Pace,
    people: Table,
    agreement: str | None,
    events: Sequence[Happening],
    now: datetime,
    others: Sequence[str] = (),
) -> Work:
    """Put together what a page shows about the work.

    `people` are the counts of each person; they include `others`, the other assessments of the same items.
    """
    clock = now.timestamp()
    chart, lately = pace.over_time(clock), pace.recent(clock)
    right = "right" in people.columns
    members = [
        Member(
            row["annotator"], row["annotator"] in lately.present, row["labels"] + row["decided"],
            lately.per_hour(row["annotator"]), row["skips"], row["held"],
            ago(lately.last.get(row["annotator"]) or pace.seen(row["annotator"]) or _stamp(row["last"]), clock),
            row["right"] if right else "",
        )
        for row in people.rows()
    ]  # fmt: skip
    members.sort(key=lambda member: (not member.here, -member.labels))
    # What came at one instant has no course.
    drawn = svg(chart, _WIDE) if len({at for at, _ in chart.points}) > 1 else ""
    names = tuple(member.name for member in members if member.here)
    title, caption = chart.finding(), chart.caption()
    return Work(title, drawn, caption, tuple(members), names, right, agreement, tuple(events), tuple(others))


def _stamp(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


def happenings(log: Table) -> list[Happening]:
    """The latest events in words, newest first. Handing out is left out: it goes with every answer."""
    rows = [row for row in log.rows() if row["kind"] != "request" and not _is_formal(row)][-_EVENTS:]
    return [Happening(row["at"].astimezone(UTC), called(row["annotator"]), _in_words(row)) for row in reversed(rows)]


def latest(audit: Assessment) -> list[Happening]:
    """The latest events of an assessment in words."""
    return happenings(audit.log(last=_READ))


def _is_formal(row: Mapping[str, Any]) -> bool:
    """Whether the program wrote that a request ended, and nobody missed anything."""
    return row["kind"] == "expire" and (row["note"] or "").startswith((KNOWN, TAKEN_BACK))


def _in_words(row: Mapping[str, Any]) -> str:
    item, label = shortened(str(row["item"]), 40), shortened(str(row["label"] or ""), 40)
    note = f": {shortened(row['note'], 80)}" if row["note"] else ""
    kinds = {
        "label": f"labelled {item} as {label}{note}",
        "decide": f"decided that {item} is {label}{note}",
        "skip": f"skipped {item}{note}",
        "retract": f"lost the answer about {item}{note}" if note else f"took back the answer about {item}",
        "expire": f"did not answer {item} in time",
        "withdraw": f"withdrew {item}{note}",
    }
    return kinds[row["kind"]]
