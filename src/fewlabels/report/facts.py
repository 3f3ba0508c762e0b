"""Short facts for the pages: the strip at the top, the settings at the end, and notes on groups."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fewlabels.findings.formatting import percent, spelled, sureness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fewlabels.findings.groups import GroupRow, Overall
    from fewlabels.report.content import Report

NOTES = {
    "enough": "",
    "scores": "mostly from scores",
    "few": "too few labels",
    "unasked": "not part of the question",
    "empty": "no items",
}
HEADINGS = {
    "few": "Not enough labels to say",
    "unasked": "Not part of the question",
    "empty": "Without items",
}
_LONGEST = 300


@dataclass(frozen=True)
class Fact:
    """A name, a value, and something said about it."""

    name: str
    value: str
    about: str = ""

    @property
    def text(self) -> str:
        """The value, and in brackets what is said about it."""
        return f"{self.value} ({self.about})" if self.about else self.value


def strip(report: Report) -> list[Fact]:
    """What stands at the top: how sure the answer is, overall accuracy, labels, items, groups.

    Where labels were steered to some groups, the overall accuracy is not what was asked for and stands behind.
    """
    overall, labels, items = report.overall, report.labels, report.pool["items"]
    found = []
    if report.answer.probability is not None and labels.labelled:
        found.append(_certainty(report, report.answer.probability))
    if not overall.doubt:
        found.append(_overall(overall))
    share = percent(labels.labelled / items) if items else "none"
    found.append(Fact("Labels", f"{labels.labelled:,}", f"{share} of {items:,} items"))
    if len(report.groups) > 1:
        enough = sum(row.evidence == "enough" for row in report.groups)
        found.append(Fact(report.words.nouns.capitalize(), f"{len(report.groups):,}", f"{enough:,} with enough labels"))
    if overall.doubt:
        found.append(_overall(overall))
    if overall.confidence is not None:
        found.append(Fact("Its own confidence", percent(overall.confidence), "says the classifier, on average"))
    return found


def _overall(overall: Overall) -> Fact:
    if not overall.enough:
        return Fact("Right, over all items", "not known yet", overall.words)
    return Fact("Right, over all items", percent(overall.mean), overall.about)


def _certainty(report: Report, probability: float) -> Fact:
    """How sure the answer is; where it names several groups, how many of them are expected to be right."""
    named = set(report.answer.groups)
    chances = [row.chance for row in report.groups if row.group in named and row.chance is not None]
    if len(chances) < 2:
        return Fact("Answer is right", sureness(probability), "going by the labels so far")
    about = f"expected; all of them: {sureness(probability)}"
    return Fact(f"Of the {spelled(len(chances))} named", f"{sum(chances):.1f} right", about)


def facts(report: Report) -> list[Fact]:
    """Every setting, the pool and where it comes from."""
    pool, answer = report.pool, report.answer.settings
    found = [
        Fact("assessment", report.name),
        Fact("report made", f"{report.made:%Y-%m-%d %H:%M} UTC"),
        Fact("fewlabels", report.version),
        Fact("items from", pool["source"]),
        Fact("fingerprint of the items and predictions (SHA-256)", pool["fingerprint"]),
        Fact("items, classes, groups", f"{pool['items']:,}, {pool['classes']:,}, {pool['groups']:,} {pool['grouped']}"),
        Fact("what the classifier says of its certainty", pool["scores"]),
        Fact("level of the ranges", percent(report.level)),
        Fact("draws behind them", f"{answer['draws']:,}" if isinstance(answer["draws"], int) else str(answer["draws"])),
    ]
    return found + [Fact(name, value) for name, value in _flat(report.settings)]


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """The settings line by line: a part by its kind, what it contains by dotted names; none that is not set."""
    for name, value in settings.items():
        if value is None:
            continue
        path = f"{above}.{name}" if above else name
        if isinstance(value, dict) and "kind" in value:
            yield path, value["kind"]
            yield from _flat({k: v for k, v in value.items() if k != "kind"}, path)
        elif isinstance(value, dict) and value and name != "classes":
            yield from _flat(value, path)
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield path, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (all of it in the JSON report)"


def note(row: GroupRow) -> str:
    """What to know about a group's number; empty where there is nothing."""
    return NOTES[row.evidence]


def place(row: GroupRow, groups: int) -> str:
    """Where a group stands among all, as far as that is known."""
    if row.rank_low is None or row.rank_high is None:
        return "–"
    if row.rank_high - row.rank_low > groups / 2:
        return "not known"
    low, high = round(row.rank_low), round(row.rank_high)
    return f"{low}" if low == high else f"{low} – {high}"
