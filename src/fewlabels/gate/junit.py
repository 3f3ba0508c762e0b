"""Verdicts as JUnit XML, which continuous integration shows as a table of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from fewlabels.gate.checking import support

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fewlabels.gate.checking import Check

# Not allowed in XML 1.0, whatever the quotes.
_BAD = {code: "�" for code in range(32) if code not in (9, 10, 13)} | {0xFFFE: "�", 0xFFFF: "�"}


def junit(checks: Sequence[Check], name: str) -> str:
    """One test suite for each rule, with one test case for the rule and one for each of its groups.

    A fail is a failure. Not enough evidence is skipped, with the reason: nothing is known to be wrong.
    """
    suites = [_suite(check, name) for check in checks]
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>", *suites, "</testsuites>", ""])


def _suite(check: Check, name: str) -> str:
    rows, hit = list(check.table.rows()), check.task.metric.hit
    cases = [_case(check.rule.title, name, check.verdict, f"{check.words} {check.forecast}".strip())]
    cases += [_case(row["group"], f"{name}: {check.rule.title}", row["verdict"], _said(row, hit)) for row in rows]
    verdicts = [check.verdict, *(row["verdict"] for row in rows)]
    counts = f'tests="{len(cases)}" failures="{verdicts.count("fail")}" errors="0" skipped="{verdicts.count("open")}"'
    inside = "\n".join(cases)
    return f"  <testsuite name={_quoted(check.rule.title)} {counts}>\n{inside}\n  </testsuite>"


def _case(title: str, where: str, verdict: str, words: str) -> str:
    head = f"    <testcase classname={_quoted(where)} name={_quoted(title)}"
    if verdict == "pass":
        return f"{head}><system-out>{escape(words.translate(_BAD))}</system-out></testcase>" if words else f"{head}/>"
    tag = "failure" if verdict == "fail" else "skipped"
    return f"{head}><{tag} message={_quoted(words)}/></testcase>"


def _said(row: Mapping[str, Any], hit: str) -> str:
    if row["verdict"] == "pass":
        return ""
    begin = "Does not reach the line" if row["verdict"] == "fail" else "Not enough evidence"
    return f"{begin}: {support(row, hit)}."


def _quoted(text: str) -> str:
    return quoteattr(text.translate(_BAD))
