"""The settings at the end of a report: everything that defines the assessment, line by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fewlabels.findings.key_figures import KeyFigure
from fewlabels.wording import chosen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fewlabels.report.content import Report

_LONGEST = 300


def settings(report: Report) -> list[KeyFigure]:
    """List every setting, and the origin of the pool."""
    pool, answer = report.pool, report.answer.settings
    lines = [
        KeyFigure("assessment", report.name),
        KeyFigure("report made", f"{report.made:%Y-%m-%d %H:%M} UTC"),
        KeyFigure("fewlabels", report.version),
        KeyFigure("items from", pool["source"]),
        KeyFigure("fingerprint of the items and predictions (SHA-256)", pool["fingerprint"]),
        KeyFigure(
            "items, classes, groups", f"{pool['items']:,}, {pool['classes']:,}, {pool['groups']:,} {pool['grouped']}"
        ),
        *([KeyFigure("models", ", ".join(pool["models"]))] if pool["models"] else []),
        KeyFigure("certainty of the predictions", pool["scores"]),
        *([KeyFigure("evidence columns", ", ".join(pool["evidence"]))] if pool["evidence"] else []),
        KeyFigure("level of the ranges", chosen(report.level)),
        KeyFigure(
            "draws behind the ranges",
            f"{answer['draws']:,}" if isinstance(answer["draws"], int) else str(answer["draws"]),
        ),
    ]
    return lines + [KeyFigure(name, value) for name, value in _flat(report.settings)]


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the settings that are set, line by line: the kind of each part, then its own settings by dotted names."""
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
            yield path, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (the JSON report has all of it)"
