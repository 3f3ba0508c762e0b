"""One style for shares, everywhere that people read: 62%, and 1.5 points. A number between 0 and 1 is for programs."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.findings.classes import readable_averages, readable_classes
from fewlabels.findings.fairness import readable_fairness
from fewlabels.planning import plan
from fewlabels.report import read
from fewlabels.stopping import Stop
from fewlabels.table import Table
from fewlabels.wording import Style
from tests.support.reports import QUESTIONS, pool, told

if TYPE_CHECKING:
    from collections.abc import Iterator

# A share with decimals, such as 0.199 or .95; not 0.4%, 0.3 points, or about 0.8 of the three groups.
DECIMAL = re.compile(r"(?<![\d.])0?\.\d+(?![\d.]*(%| (to|and) [+−]?[\d.]+ points?| points?| right| are expected| of ))")


def words_of(mark: Any) -> Iterator[str]:
    """Every text in a picture."""
    if isinstance(mark, str):
        yield mark
    elif isinstance(mark, tuple):
        for part in mark:
            yield from words_of(part)
    elif is_dataclass(mark):
        for field in fields(mark):
            yield from words_of(getattr(mark, field.name))


def decimals(texts: Any) -> list[str]:
    return [text for text in texts if DECIMAL.search(text)]


@pytest.mark.parametrize("question", sorted(QUESTIONS.keys() - {"evil", "cost"}))
def test_shares_are_written_in_percent(question: str) -> None:
    audit = QUESTIONS[question]()
    report = read(audit, draws=500, foresee=False)
    answer = report.answer.words
    said = [report.question, report.headline, report.basis, *report.doubts, *report.next, *report.chosen, answer]
    said += [*report.more.sentences(), *report.words.glossary.values(), report.words.reading, report.words.rule]
    said += [pair.words for pair in report.confusions]
    assert not decimals(said)
    for plot in report.plots.values():
        assert not decimals([plot.title, plot.finding(), plot.caption(), *words_of(plot.picture())])


@pytest.mark.parametrize("stop", [Stop(width=0.2), Stop(overall=0.05), Stop(labels=200, overall=0.1)])
def test_the_words_about_stopping_are_in_points(stop: Stop) -> None:
    audit = told(40, stop=stop)
    assert not decimals([audit.standing().words, fl.forecast(audit, runs=3).words])
    assert " points" in audit.standing().words
    foreseen = plan(pool()[0], stop=stop, budgets=[20, 40], runs=3, expect=0.9)
    assert not decimals([foreseen.words])


def test_the_pattern_finds_what_it_looks_for() -> None:
    assert decimals(["a probability of 0.95", "rope of .01", "is 0.199 wide", "an interval wider than 0.2"])
    assert not decimals(["0.4%", "under 0.1%", "−0.3 points", "between −0.4 and +0.9 points", "about 0.8 of them"])


def test_a_report_about_error_rates_has_no_plot_of_something_else() -> None:
    audit = told(60, task=fl.Estimate(fl.FalsePositiveRate("shirt")), place=True)
    assert {"reliability", "calibration", "scatter"} & set(plots.suited(audit))
    assert not {"reliability", "calibration", "scatter"} & set(plots.telling(audit))
    assert set(read(audit, draws=200, foresee=False).plots) == set(plots.telling(audit))


def test_a_share_is_written_in_whole_percent_unless_its_range_is_short() -> None:
    style = Style(share=True)
    assert style.spread(0.957, 0.921, 0.984) == "96% (92% – 98%)"
    assert style.spread(0.957, 0.951, 0.964) == "95.7% (95.1% – 96.4%)"
    # A table has as many digits in every row as suit most of its ranges.
    wide, short = (0.3, 0.6), (0.95, 0.96)
    assert style.fitting([wide, wide, short]).spread(0.955, *short) == "96% (95% – 96%)"
    assert style.fitting([wide, short, short]).spread(0.45, *wide) == "45.0% (30.0% – 60.0%)"
    assert style.fitting([(None, None)]).value(0.5) == "50%"


def test_what_somebody_chose_is_not_rounded() -> None:
    certified = told(40, task=fl.Certify(fl.Accuracy(), at_least=0.925))
    assert "at least 92.5%" in read(certified, draws=200, foresee=False).question
    compared = told(40, task=fl.Compare(fl.Accuracy(), "shirt", "bag", rope=0.075))
    assert "within 7.5 points" in read(compared, draws=200, foresee=False).question


def digits_of(table: Table) -> set[int]:
    """How many decimals the percentages and points of a table have; those of "over 99%" are whole."""
    texts = [str(value) for name, column in table.columns.items() if name not in ("class", "group") for value in column]
    numbers = [one for text in texts for one in re.findall(r"([\d.]+)(?:%| points?)", text)]
    return {len(number.partition(".")[2]) for number in numbers}


def test_all_shares_of_a_table_have_as_many_digits() -> None:
    audit = told(60, place=True)
    report = audit.classes()
    assert len(digits_of(readable_classes(report.classes))) == 1
    assert len(digits_of(readable_averages(report.averages))) == 1
    for table in readable_fairness(audit.fairness("column:place", positive="shirt").groups).values():
        assert len(digits_of(Table({"value": table["value"]}))) == 1
        apart = next(name for name in table.columns if name.startswith("minus"))
        assert len(digits_of(Table({"apart": [text for text in table[apart] if text]}))) <= 1
