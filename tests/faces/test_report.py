"""The report says what the assessment says, in three formats, and hides what is not known."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import asdict, replace
from functools import cache
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.errors import InputError, SpecError
from fewlabels.named import metric_from
from fewlabels.report import FORMAT, read, rendered, write
from fewlabels.report.markdown import escaped
from fewlabels.wording import Style, probability
from tests.support.reports import CLASSES, EVIL, QUESTIONS, many, pool, told

VOID = {"meta", "br", "img", "input", "link"}


@cache
def asked(question: str) -> fl.Assessment:
    return QUESTIONS[question]()


@cache
def found(question: str):
    return read(asked(question), draws=1_000, foresee=False)


@cache
def page(question: str) -> Page:
    parsed = Page()
    parsed.feed(found(question).html())
    return parsed


class Page(HTMLParser):
    """The elements of a page, with the text in them; an element that is not closed is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.text.setdefault(tag, []).append("")

    def handle_startendtag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open:
            self.text[self.open[-1]][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


# --- the page


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_is_whole_and_loads_nothing(question) -> None:
    parsed = page(question)
    assert parsed.open == []
    for _, attributes in parsed.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/png;base64,"))
    assert not {"link", "iframe", "object", "embed", "form"} & {tag for tag, _ in parsed.elements}
    style = "".join(parsed.text["style"])
    assert "@import" not in style
    assert "url(" not in style
    assert len(parsed.all("script")) == 1
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_content_policy_lets_through_only_what_is_there() -> None:
    import base64
    import hashlib

    parsed = page("identify")
    policy = next(m["content"] for m in parsed.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(parsed.text[kind][0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_names_are_text_wherever_they_stand() -> None:
    html, text = found("evil").html(), found("evil").markdown()
    assert "<script>alert" not in html
    assert "<b>audit" not in html
    assert EVIL[0] in page("evil").text["th"]
    assert re.search(r"(?<!\\)<script", text) is None
    assert "\n| \\<script\\>alert(1)\\</script\\> |" in text
    widths = {line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("| ")}
    assert widths <= {3, 6, 8}  # no cell of a table was split by a name


def test_every_group_is_in_the_table_and_every_fact_on_the_page() -> None:
    text = page("identify").text
    assert set(CLASSES) <= set(text["th"])
    facts = [cell for cell in text["td"] if cell]
    assert asked("identify").pool.fingerprint in facts
    assert fl.__version__ in facts
    assert "Thompson" in facts
    assert "3" in facts  # the seed


# --- the numbers


@pytest.mark.parametrize("question", QUESTIONS)
def test_numbers_are_those_of_the_assessment(question) -> None:
    audit, report = asked(question), found(question)
    answer = audit.answer(draws=1_000)
    assert report.answer.words == answer.words
    assert list(report.answer.table.rows()) == list(answer.table.rows())
    metric = fl.Accuracy() if audit.spec.task.metric.vector else None
    groups = audit.groups if metric else None
    estimates = audit.estimates(metric=metric, groups=groups, draws=1_000, guarantee=answer.settings.get("guarantee"))
    known = {row["group"]: row for row in estimates.rows()}
    assert {row.group for row in report.groups} == set(audit.groups.names)
    for row in report.groups:
        assert {name: asdict(row)[name] for name in known[row.group]} == known[row.group]
    whole = next(audit.estimates(metric=fl.Accuracy(), groups=fl.whole(audit.pool), draws=1_000).rows())
    assert (report.overall.mean, report.overall.low, report.overall.high) == (
        whole["mean"],
        whole["low"],
        whole["high"],
    )
    assert report.labels.labelled == len(audit.labels())


def test_the_headline_has_the_numbers_of_the_answer() -> None:
    report = found("identify")
    assert report.headline.startswith("The two classes it gets wrong most often are ")
    for name in report.answer.groups:
        row = next(row for row in report.groups if row.group == name)
        assert name in report.headline
        assert Style(share=True).between(row.low, row.high) in report.headline
    assert f"We are {probability(report.answer.probability)} sure that these are the right two." in report.headline


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("best", "The class it gets right most often is"),
        ("estimate", "The classifier is right for"),
        ("compare", "north"),
        ("confusion", "The largest mix-up seen so far: where it says"),
        ("calibration", "The classifier's confidence is off by"),
        ("cost", "The class with the highest cost is"),
        ("recall", "The classifier's mean recall, averaged over the groups, is"),
        ("nothing", "Nothing can be said yet: no item has a label so far."),
    ],
)
def test_every_question_has_its_sentence(question, said) -> None:
    assert said in found(question).headline


def test_every_policy_prior_and_metric_has_plain_words() -> None:
    from fewlabels.parts import own

    lacking = [name for name, part in own().items() if part.family != "task" and not vars(part).get("phrase")]
    assert lacking == []


@pytest.mark.parametrize(
    ("sure", "said"),
    [
        (0.95, "The two classes it gets wrong most often are "),
        (0.6, "The two classes it gets wrong most often are probably "),
        (0.3, " are likely to be among the two classes it gets wrong most often."),
    ],
)
def test_an_answer_is_told_as_a_fact_only_if_it_is_sure(sure: float, said: str) -> None:
    audit = told(200, task=fl.Identify(fl.Accuracy(), lowest=2))
    report = read(audit, draws=500, foresee=False)
    rows = tuple(replace(row, chance=0.7, evidence="enough") for row in report.groups)
    words = audit.spec.task.headline(
        replace(report.grounds, rows=rows, read_answer=lambda: replace(report.answer, probability=sure))
    )
    assert said in words
    assert ("probably" in words) == (sure == 0.6)


def test_too_early_is_said() -> None:
    report = read(told(6, task=fl.Identify(fl.Accuracy(), lowest=1)), draws=500, foresee=False)
    assert report.headline.startswith("It is too early to name the class it gets wrong most often.")


def test_confusions_are_those_that_labels_showed_and_then_the_largest() -> None:
    report, table = found("confusion"), asked("confusion").estimates(draws=1_000)
    known = {row.group for row in report.groups if row.evidence == "enough"}
    off = {(row["group"], row["true"]): row for row in table if row["group"] != row["true"] and row["group"] in known}
    shown = {(pair.group, pair.true) for pair in report.confusions}
    assert all(pair.seen or pair.items[0] >= 1 for pair in report.confusions)
    assert len(off.keys() - shown) > 0  # what no label shows and what hardly any item would be is not a line
    order = [(pair.seen == 0, -pair.mean * off[pair.group, pair.true]["n"]) for pair in report.confusions]
    assert order == sorted(order)
    assert sum(pair.seen for pair in report.confusions) == sum(row.labelled - row.right for row in report.groups)
    assert f"{report.confusions[0].seen} of {report.confusions[0].labelled} labels" in report.html()


def test_what_was_learned_is_told_by_band() -> None:
    bands = found("learned").learned
    assert sum(band.items for band in bands) == len(asked("learned").pool)
    assert all(band.said_from <= band.said <= band.said_to and band.low <= band.mean <= band.high for band in bands)
    assert found("estimate").learned == ()


# --- formats


@pytest.mark.parametrize("question", QUESTIONS)
def test_json_is_plain_and_has_the_same_names_for_every_question(question) -> None:
    data = json.loads(rendered(found(question), "json"))
    assert data["format"] == FORMAT == "fewlabels-report/1"
    assert set(data) == {
        *("format", "fewlabels", "made", "assessment", "level", "question", "headline", "doubts", "answer", "groups"),
        *("overall", "confusions", "mistakes", "labels", "chosen", "more", "learned", "settings", "pool", "plots"),
        *("next", "basis", "checks", "classes", "judges", "fairness"),
    }
    assert data["settings"] == json.loads(json.dumps(asked(question).spec.to_json()))
    assert [row["mean"] for row in data["groups"]] == [row.mean for row in found(question).groups]
    assert set(data["plots"]) == set(found(question).plots)


def test_markdown_has_the_answer_and_every_group() -> None:
    report = found("identify")
    lines = report.markdown().splitlines()
    assert lines[0] == f"# {escaped(report.question)}"
    assert f"**{escaped(report.headline)}**" in lines
    assert all(any(line.startswith(f"| {name} |") for line in lines) for name in CLASSES)


def test_the_name_of_the_file_says_the_format(tmp_path) -> None:
    for name, start in (("a.html", "<!doctype html>"), ("a.md", "# Which"), ("a.json", "{")):
        assert write(found("identify"), tmp_path / name).read_text(encoding="utf-8").startswith(start)
    with pytest.raises(InputError, match=r"ends in \.html, \.md or \.json"):
        write(found("identify"), tmp_path / "a.pdf")
    with pytest.raises(InputError, match="cannot write"):
        write(found("identify"), tmp_path / "missing" / "a.html")


@pytest.mark.slow
def test_a_thousand_groups_stay_small() -> None:
    audit = fl.create(None, "many", many(1000), task=fl.Identify(fl.Accuracy(), lowest=10))
    audit.tell(dict.fromkeys(audit.ask(300).ids, "class number 7"))
    html = read(audit, foresee=False, draws=200).html()
    assert html.count("<tr><th>class number") == 1000
    assert len(html.encode()) < 600_000


@pytest.mark.slow
def test_the_command_writes_every_format(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    items, truth = pool()
    audit = fl.create("audit.db", "worst: of/all", items, task=fl.Identify(fl.Accuracy(), lowest=1))
    audit.tell({item: truth[item] for item in audit.ask(30).ids})
    audit.close()
    runner = CliRunner()
    base = ["report", "audit.db", "--no-forecast"]
    assert runner.invoke(cli, base).exit_code == 0
    assert (tmp_path / "worst- of-all.html").exists()
    out = runner.invoke(cli, [*base, "-o", "-", "--format", "json", "--level", "0.8"])
    assert json.loads(out.stdout)["level"] == 0.8
    assert runner.invoke(cli, [*base, "-o", "other.md", "--examples", "0"]).exit_code == 0
    assert "mistakes" not in (tmp_path / "other.md").read_text(encoding="utf-8")
    with pytest.raises(InputError):
        runner.invoke(cli, [*base, "-o", "other.pdf"], catch_exceptions=False, standalone_mode=False)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_ranges_with_negative_ends_are_sorted_by_them() -> None:
    script = files("fewlabels.report").joinpath("templates/report.js").read_text(encoding="utf-8")
    cells = ["0.12 – 0.5", "-0.02 – 0.2", "−2 – 1", "1,200", "over 99.9% – 100%", "1.2.3", "class 1", "under 0.1%"]
    test = f"""{script[: script.index("for (const button")]}
    const read = (text) => value({{ dataset: {{}}, textContent: text }});
    console.log(JSON.stringify({json.dumps(cells)}.map(read)));"""
    shown = subprocess.run(["node", "-e", test], capture_output=True, text=True, check=True, encoding="utf-8")
    assert json.loads(shown.stdout) == [0.12, -0.02, -2, 1200, 99.9, "1.2.3", "class 1", 0]


def test_a_forecast_says_how_many_more_labels() -> None:
    from fewlabels.stopping import Stop

    audit = told(20, stop=Stop(overall=0.2))
    more = read(audit, draws=200).more
    assert more.forecast is not None
    assert more.forecast.words in more.sentences()
    assert read(told(0), draws=200).more.forecast is None


@pytest.mark.slow
def test_a_thousand_classes_fit_into_half_a_megabyte() -> None:
    names = [f"class {k:04}" for k in range(1_000)]
    rng = np.random.default_rng(4)
    data = {"id": [f"i{i}" for i in range(4_000)], "predicted": names * 4, "confidence": rng.uniform(0.3, 1, 4_000)}
    task = fl.Identify(fl.Accuracy(), lowest=3)
    audit = fl.create(None, "big", fl.read_pool(data), task=task, prior=fl.Uniform(), policy=fl.UniformItems())
    audit.tell({item: names[int(rng.integers(1_000))] for item in audit.ask(300).ids})
    page = read(audit, draws=200, foresee=False).html()
    assert len(page.encode()) < 500_000
    assert all(f"<th>{name}</th>" in page for name in names)


def test_groups_of_people_are_compared() -> None:
    rng = np.random.default_rng(2)
    sex, said = np.array(["women", "men"])[np.arange(300) % 2], np.where(rng.random(300) < 0.4, "yes", "no")
    truth = np.where((sex == "women") & (rng.random(300) < 0.4), "no", said)
    items = fl.read_pool({"id": [f"i{i}" for i in range(300)], "predicted": said, "sex": sex})
    audit = fl.create(None, "loans", items, fl.by_column(items, "sex"))
    audit.tell({item: str(truth[int(item[1:])]) for item in audit.ask(120).ids})
    report = read(audit, draws=500, foresee=False)
    assert report.fairness is not None
    page, text, data = report.html(), report.markdown(), report.to_json()
    assert report.fairness.words == audit.fairness().words
    assert report.fairness.compared.startswith("Positive is yes. Every group is compared with all other items.")
    for sentence in (report.fairness.compared, *report.fairness.words):
        assert sentence in unescape(page)
        assert escaped(sentence) in text
    assert "False positive rate" in page
    assert "minus the rest" in text
    assert data["fairness"]["settings"]["positive"] == "yes"
    # Classes are no people, and of two classes one must be the positive one.
    other = fl.create(None, "classes", items)
    other.tell({item: str(truth[int(item[1:])]) for item in other.ask(20).ids})
    assert read(other, draws=100, foresee=False).fairness is None


def test_the_report_about_a_judge_speaks_of_the_judge() -> None:
    rng = np.random.default_rng(3)
    good = rng.random(400) < 0.7
    said = np.where(rng.random(400) < 0.85, good, ~good)
    words = np.array(["fail", "pass"])
    data = {"id": [f"i{i}" for i in range(400)], "predicted": words[said.astype(int)]}
    items = fl.read_pool(data)
    audit = fl.create(None, "judge", items, "whole", task=fl.Estimate(fl.Prevalence("pass")), seed=1)
    audit.tell({item: str(words[int(good[int(item[1:])])]) for item in audit.ask(80).ids})
    report = read(audit, draws=300, foresee=False)
    page = report.html()
    assert report.classes is None  # the judge has measures of its own
    assert "How good the judge is" in page
    assert "The verdict is <b>" in page
    assert "people say <b>" in page
    assert "Items were taken at random from all of them." in page
    # One group is the whole, and needs neither a table nor a picture of where its labels went.
    assert 'id="groups"' not in page
    assert "allocation" not in report.plots
    assert "confidence" not in report.words.glossary
    # A rule about the pass rate needs no class, and is about the items.
    check = audit.check("pass rate >= 0.5", overall=True)
    assert check.words.startswith("Pass: all items together have a true pass rate of at least 50%")
    assert audit.check("prevalence >= 0.95", overall=True).words.startswith("Fail: all items together do not have a ")
    with pytest.raises(SpecError, match=r"'prevalence' needs a class, as in prevalence:c\."):
        metric_from("prevalence", fl.read_pool({"predicted": ["a", "b", "c"]}))


def test_the_table_of_the_clearest_gap_is_not_folded() -> None:
    """One table for each measure, all open, made a report of 16,000 pixels on a phone."""
    rng = np.random.default_rng(4)
    positive, sex = rng.random(1200) < 0.5, np.where(np.arange(1200) % 2, "m", "f")
    # It misses women who are positive, and takes men who are not for positive: it is as often right for both.
    flipped = rng.random(1200) < 0.4
    said = np.where(np.where(sex == "f", positive & flipped, ~positive & flipped), ~positive, positive)
    data = {"predicted": np.where(said, "yes", "no").tolist(), "sex": sex.tolist()}
    people = fl.read_pool(data | {"id": [f"i{i}" for i in range(1200)]})
    audit = fl.create(None, "loans", people, "column:sex")
    audit.tell({f"i{i}": "yes" if positive[i] else "no" for i in range(400)}, adopt=True)
    made = read(audit, draws=1_000, foresee=False).html()
    folded = {name: not is_open for is_open, name in re.findall(r"<details( open)?>\n<summary><b>([\w ]+)</b>", made)}
    assert not folded.pop("Every class"), "two classes take little room"
    (shown,) = [name for name, is_folded in folded.items() if not is_folded]
    gaps = {row["measure"]: row["low"] for row in audit.fairness(draws=1_000).gaps.rows()}
    assert shown.lower() in ("true positive rate", "false positive rate", "precision")
    assert gaps[shown.lower()] > 0.2
