"""The dashboard: its numbers and tables, the work over time, who is labelling now, and the events in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fewlabels as fl
from fewlabels.findings.doubts import _INSTEAD
from fewlabels.findings.labels import tally
from fewlabels.table import Table
from fewlabels.web import pages
from fewlabels.web.views import dashboard
from fewlabels.web.work import OverTime, Pace, happenings, latest, work
from tests.support.web import bearer, client_of, make_site, pool_of_texts

if TYPE_CHECKING:
    from httpx2 import Response

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def words(answer: Response | str) -> str:
    """What a page says, without its markup."""
    text = answer if isinstance(answer, str) else answer.text
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


class Told:
    """An assessment as far as its log is concerned: rows (minutes before now, who, kind, item)."""

    def __init__(self, rows: list[tuple[float, str, str, str]]) -> None:
        self.rows = [
            {"seq": i, "at": NOW - timedelta(minutes=minutes), "kind": kind, "item": item, "label": "cat",
             "annotator": who, "note": None}
            for i, (minutes, who, kind, item) in enumerate(rows, 1)
        ]  # fmt: skip
        self.read = 0

    def log(self, *, after: int = 0) -> Table:
        new = self.rows[after:]
        self.read += len(new)
        return Table({name: [row[name] for row in new] for name in self.rows[0]})


def paced(rows: list[tuple[float, str, str, str]]) -> Pace:
    pace = Pace()
    pace.catch_up(Told(rows))  # type: ignore[arg-type]
    return pace


def test_the_pace_is_that_of_the_last_quarter_of_an_hour() -> None:
    steady = [(float(minutes), "ann", "label", f"i{minutes}") for minutes in range(60, -1, -1)]
    now = NOW.timestamp()
    assert paced(steady).recent(now).per_hour() == 64  # 16 answers in 15 minutes
    both = sorted([*steady, (2.0, "bob", "label", "x"), (1.0, "bob", "label", "y")], key=lambda row: -row[0])
    pace = paced(both)
    assert pace.recent(now).per_hour("bob") == 60  # two in two minutes
    assert pace.recent(now).per_hour("ann") == 64
    assert pace.recent(now + 301).per_hour("bob") == 0  # away for five minutes
    assert pace.recent(now + 239).present == {"ann", "bob"}
    assert pace.recent(now + 301).present == set()
    assert pace.recent(now).per_hour("nobody") == 0
    begun = paced([(0.5, "ann", "label", "a"), (0.4, "ann", "label", "b")])
    assert (
        begun.recent(now).per_hour() is begun.recent(now).per_hour("ann") is None
    )  # half a minute says nothing about an hour
    assert begun.over_time(now).finding() == "2 answers so far"


def test_a_file_of_answers_is_nobody_at_work() -> None:
    file = [(3.0, "ann", "label", f"i{i}") for i in range(60)]
    now = NOW.timestamp()
    pace = paced(file)
    assert pace.recent(now).present == set()
    assert pace.recent(now).per_hour("ann") == pace.recent(now).per_hour() == 0  # and not 1,200
    people = Table({"annotator": ["ann"], "labels": [60], "decided": [0], "skips": [0], "held": [0], "last": [NOW]})
    page = work(pace, people, None, (), NOW)
    assert page.here == ()
    assert page.chart == ""  # a block from its left end to its right would show nothing
    earlier = [(5.0 - i / 10, "ann", "label", f"e{i}") for i in range(15)]
    files = [(0.5, "ann", "label", f"j{i}") for i in range(9)]
    assert paced([*earlier, *file, *files]).recent(now).present == {"ann"}, "somebody at work can hand in files as well"
    both = paced([*file, (2.5, "ann", "label", "x"), (0.4, "ann", "label", "y")])
    assert both.recent(now).present == {"ann"}
    assert both.recent(now).per_hour() == 48  # two in two and a half minutes
    assert "<svg" in work(both, people, None, (), NOW).chart


def test_a_correction_is_one_answer_and_one_that_was_taken_back_is_none() -> None:
    rows = [
        (50, "ann", "request", "a"), (50, "ann", "label", "a"), (40, "ann", "label", "a"), (30, "bob", "label", "a"),
        (20, "bob", "retract", "a"), (10, "ann", "skip", "b"), (5, "boss", "decide", "b"),
    ]  # fmt: skip
    chart = paced([(float(minutes), who, kind, item) for minutes, who, kind, item in rows]).over_time(NOW.timestamp())
    assert [total for _, total in chart.points] == [1, 2, 1, 2]
    assert chart.points[0][0] == -3000
    assert chart.finding() == "2 answers, the latest 5 min ago"


def test_only_what_is_new_is_read() -> None:
    told, pace = Told([(9.0, "ann", "label", "a"), (8.0, "ann", "label", "b")]), Pace()
    pace.catch_up(told)  # type: ignore[arg-type]
    told.rows += Told([(1.0, "ann", "label", "c")] * 3).rows[2:]
    pace.catch_up(told)  # type: ignore[arg-type]
    pace.catch_up(told)  # type: ignore[arg-type]
    assert told.read == 3
    assert pace.over_time(NOW.timestamp()).points[-1][1] == 3


def test_a_chart_of_many_answers_stays_small_and_ends_with_the_last() -> None:
    many = [(10_000 - i / 2, "ann", "label", f"i{i}") for i in range(20_000)]
    chart = paced([*many, (-1.0, "ann", "label", "late")]).over_time(NOW.timestamp())
    assert len(chart.points) < 200
    assert chart.points[-1] == (0, 20_001)  # another server's clock is a minute ahead
    assert isinstance(chart, OverTime)
    assert chart.picture().panels[0].x.high == 0


@pytest.mark.parametrize("wrong", [365 * 24 * 60.0, 45.0, -50 * 365 * 24 * 60.0])
def test_a_clock_that_was_wrong_for_a_while_changes_no_speed(wrong: float) -> None:
    """A year ahead, less than the time since, or in 1970, as a computer without a battery: the order shows it."""
    rows = [(60.0 - i / 2, "ann" if i % 2 else "bob", "label", f"i{i}") for i in range(120)]
    now, right = NOW.timestamp(), paced(rows)
    at, who, kind, item = zip(*rows, strict=True)
    told = [t - wrong if 20 <= i < 35 else t for i, t in enumerate(at)]
    pace = paced(list(zip(told, who, kind, item, strict=True)))
    for name in (None, "ann", "bob"):
        assert pace.recent(now).per_hour(name) == right.recent(now).per_hour(name) > 0
    assert pace.recent(now + 600).present == set(), "nobody is there for a year"
    points = pace.over_time(now).points
    assert [total for _, total in points] == [*range(1, 121)]
    assert [at for at, _ in points] == sorted(at for at, _ in points)
    assert points[0][0] == -3600
    assert pace.latest() == right.latest()


@pytest.mark.parametrize("ahead", [1, 2, 5, 10, 60])
def test_answers_by_a_clock_that_was_ahead_are_no_speed(ahead: float) -> None:
    """Sixteen answers in fifteen minutes, of which eight came by a clock ten minutes ahead, were 137 an hour."""
    pace = paced([(15.0 - i - (ahead if i < 8 else 0), "ann", "label", f"i{i}") for i in range(16)])
    assert pace.recent(NOW.timestamp()).per_hour() == pytest.approx(64, abs=14)


def test_people_whose_clock_was_ahead_when_they_stopped_are_not_there_for_ever() -> None:
    pace, now = paced([(30.0, "ann", "label", "a"), (29.0, "ann", "label", "b"), (-600.0, "ann", "label", "c")]), NOW
    people = Table({"annotator": ["ann"], "labels": [3], "decided": [0], "skips": [0], "held": [0], "last": [None]})
    page = work(pace, people, None, (), now)
    assert page.here == ()
    assert page.members[0].last == "29 min ago"
    assert page.title == "3 answers, the latest 29 min ago"


def test_events_are_in_words_newest_first_without_the_handing_out() -> None:
    rows: list[dict[str, Any]] = [
        {"kind": "request", "item": "a", "label": None, "note": None},
        {"kind": "label", "item": "a", "label": "cat", "note": "blurred"},
        {"kind": "skip", "item": "b", "label": None, "note": "unclear"},
        {"kind": "decide", "item": "b", "label": "dog", "note": None},
        {"kind": "retract", "item": "a", "label": None, "note": None},
        {"kind": "expire", "item": "c", "label": None, "note": None},
        {"kind": "withdraw", "item": "d", "label": None, "note": "twice in the file"},
    ]
    log = Table({name: [row[name] for row in rows] for name in rows[0]})
    log = log.with_column("annotator", ["ann"] * 7).with_column("at", [NOW] * 7)
    assert [one.words for one in happenings(log)] == [
        "withdrew d: twice in the file",
        "did not answer c in time",
        "took back the answer about a",
        "decided that b is dog",
        "skipped b: unclear",
        "labelled a as cat: blurred",
    ]


def test_the_work_page_says_only_what_people_did() -> None:
    """Items that are known from elsewhere end at once, and an owner takes back in the name of a person."""
    pool = fl.read_pool({"predicted": ["a", "b"] * 10})
    store = fl.Store(None)
    first, second = (fl.create(store, name, pool, prior=fl.Uniform()) for name in ("first", "second"))
    first.tell(dict.fromkeys(first.ask(20, annotator="ann").ids, "a"), annotator="ann")
    second.ask(3, annotator="bob")
    assert "expire" in second.log()["kind"]
    assert latest(second) == []
    first.withdraw_person("ann", annotator="boss", note="a robot")
    assert {happening.words.split(":", 1)[1] for happening in latest(first)} == {" taken back by boss: a robot"}
    assert all(happening.words.startswith("lost the answer about") for happening in latest(first))


def test_what_is_withdrawn_is_no_answer() -> None:
    audit = fl.create(None, "d", fl.read_pool({"predicted": ["a", "b"] * 10}), overlap=2)
    for who in ("ann", "bob"):
        audit.tell(dict.fromkeys(audit.ask(4, annotator=who).ids, "a"), annotator=who)
    pace, now = Pace(), datetime.now(UTC).timestamp()
    pace.catch_up(audit)
    assert pace.over_time(now).points[-1][1] == 8
    audit.withdraw(list(audit.labels())[:3])
    pace.catch_up(audit)
    assert pace.over_time(now).points[-1][1] == 2


def test_people_who_are_there_come_first() -> None:
    pace = paced([(60.0, "ann", "label", "a"), (59.0, "ann", "label", "b"), (1.0, "bob", "label", "c")])
    people = Table({"annotator": ["ann", "bob"], "labels": [2, 1], "skips": [0, 0], "held": [0, 3], "decided": [0, 0],
                    "last": [None, None]})  # fmt: skip
    made = work(pace, people, None, (), NOW)
    assert [(one.name, one.here, one.last) for one in made.members] == [
        ("bob", True, "1 min ago"),
        ("ann", False, "59 min ago"),
    ]
    assert made.here == ("bob",)
    assert made.chart.startswith("<svg")


def test_the_parts_of_the_page() -> None:
    site = make_site(stop=fl.Stop(labels=20))
    with client_of(site) as client:
        head = bearer(site.owner)
        empty = client.get("/part/work/audit", headers=head)
        assert "Nobody has labelled yet" in words(empty)
        assert 'href="/people"' in empty.text
        assert "<svg" not in client.get("/part/live/audit", headers=head).text
        audit = site.audit()
        for item in audit.ask(8, annotator="ann").ids:  # one after another, as a person at work does
            audit.tell({item: "class 1"}, annotator="ann")
        live, work_part = (client.get(f"/part/{part}/audit", headers=head) for part in ("live", "work"))
        assert "Labels 8 of 20" in words(live)
        assert "Labelling now: ann" in words(work_part)
        assert work_part.text.count("<li>") == 8
        for part in ("live", "work"):
            assert client.get(f"/part/{part}/audit", headers=bearer(site.ann)).status_code == 403
        whole = client.get("/dashboard/audit?whole=1", headers=head)
        assert "Labelling now: ann" in words(whole)
        assert "<script" not in whole.text
        # Without a script the page goes to the one that has everything.
        assert "?whole=1" in client.get("/dashboard/audit", headers=head).text


def test_labels_of_another_assessment_are_explained() -> None:
    site = make_site()
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(8, annotator="ann").ids, "class 1"), annotator="ann")
    fl.create(site.store, "second", audit.pool)
    with client_of(site) as client:
        said = words(client.get("/dashboard/second", headers=bearer(site.owner)))
        assert "8 labels came from audit: the items are the same" in said
        assert "came from" not in words(client.get("/dashboard/audit", headers=bearer(site.owner)))
        part = words(client.get("/part/work/second", headers=bearer(site.owner)))
    assert "Who has labelled" in part or "Labelling now" in part
    assert "Latest events" not in part  # its own log has none
    assert "The table also counts answers that were given in audit." in part


def test_a_page_names_the_fields_of_its_forms() -> None:
    fields = f"{pages.ONLY_THESE} {_INSTEAD}"
    parts = ("templates/new_question.html", "forms.py")
    forms = "".join((Path(pages.__file__).parent / part).read_text(encoding="utf-8") for part in parts)
    for field in ("About which items?", "exactly these", "all items together"):
        assert field in fields
        assert field in forms


def test_how_often_people_are_right_takes_the_place_of_lesser_numbers() -> None:
    site = make_site(overlap=2, noisy=True, prior=fl.Uniform())
    audit = site.audit()
    for who in ("ann", "bob"):
        audit.tell(dict.fromkeys(audit.ask(6, annotator=who).ids, "class 1"), annotator=who)
    with client_of(site) as client:
        part = client.get("/part/work/audit", headers=bearer(site.owner))
    assert "Right" in words(part)
    assert "Holds" not in words(part)
    assert re.search(r"<td class=\"number\">\d[\d.]*%<br>", part.text)


def test_noughts_take_no_room() -> None:
    """Beside the labels stood "0 handed out" and "0 to decide", and columns of noughts pushed the last one out."""
    site = make_site(overlap=2)
    audit = site.audit()
    for who, label in (("ann", "class 0"), ("bob", "class 0")):
        audit.tell(dict.fromkeys(audit.ask(3, annotator=who).ids, label), annotator=who)
    with client_of(site) as client:

        def shown() -> tuple[list[str], list[str], str]:
            live, done, home = (
                client.get(path, headers=bearer(site.owner)).text
                for path in ("/part/live/audit", "/part/work/audit", "/")
            )
            tiles = [words(tile) for tile in re.findall(r'<div class="tile">.*?</div>', live)]
            return tiles, re.findall(r'<th scope="col"[^>]*>([^<]*)<', done), words(home)

        tiles, heads, home = shown()
        assert tiles == ["Labels 3", "Classes 4 0 with enough labels"]
        assert heads == ["Who", "Answers", "Last"]
        assert "handed out" not in home
        assert "to decide" not in home

        for who, label in (("ann", "class 0"), ("bob", "class 1")):
            audit.tell(dict.fromkeys(audit.ask(2, annotator=who).ids, label), annotator=who)
        audit.ask(1, annotator="ann")
        tiles, heads, home = shown()
        work = [tile for tile in tiles if not tile.startswith("Classes")]
        assert work == ["Labels 3", "Handed out 1", "To decide 2"]  # what waits for the owner is with nobody else
        assert heads == ["Who", "Answers", "Holds", "Last"]
        assert "3 labels, 1 handed out, 2 to decide;" in home


def test_votes_that_differ_are_counted_once_where_they_are_weighed() -> None:
    site = make_site(pool=pool_of_texts(20, 3), overlap=2, noisy=True, prior=fl.Uniform(), stop=fl.Stop(labels=2))
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(6, annotator="ann").ids, "class 1"), annotator="ann")
    audit.tell(dict.fromkeys(audit.ask(2, annotator="bob").ids, "class 2"), annotator="bob")
    assert audit.labelled == 0, "until they are weighed"
    view, known = dashboard(audit), tally(audit)
    assert (view.labels, view.pending, view.disputed) == (2, 4, 0)
    assert (known.labelled, known.pending + known.unresolved, known.unresolved) == (2, 4, 0)
    with client_of(site) as client:
        (listed,) = client.get("/api/v1/assessments", headers=bearer(site.ann)).json()
        assert (listed["labels"], listed["pending"]) == (2, 4)
        assert "The goal of 2 labels is reached" in words(client.get("/label/audit", headers=bearer(site.ann)))


@pytest.mark.parametrize("part", ["live", "groups"])
def test_headers_stand_as_their_numbers_do_and_shares_are_in_percent(part: str) -> None:
    site = make_site(task=fl.Identify(fl.Accuracy(), lowest=1))
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(12, annotator="ann").ids, "class 1"), annotator="ann")
    with client_of(site) as client:
        text = client.get("/part/live/audit" if part == "live" else "/groups/audit", headers=bearer(site.owner)).text
    table = re.findall(r"<table.*?</table>", text, re.DOTALL)[0]
    heads = re.findall(r'<th scope="col" class="([^"]*)">([^<]*)<', table)
    rows = [re.findall(r'<t[hd][^>]* class="([^"]*)">([^<]*)<', row) for row in table.split("<tr>")[2:]]
    assert [title for _, title in heads][:5] == ["Class", "Items", "Right", "Estimate", "95% range"]
    assert len(rows) == 4
    for row in rows:
        assert [kind for kind, _ in row] == [kind for kind, _ in heads]
        assert re.fullmatch(r"\d+ of \d+|–", row[2][1])
        assert re.fullmatch(r"[\d.]+%", row[3][1])
        assert re.fullmatch(r"[\d.]+% – [\d.]+%", row[4][1])
    estimates = [float(row[3][1].rstrip("%")) for row in rows]
    assert estimates == sorted(estimates)


@pytest.mark.slow
def test_a_thousand_groups_are_on_a_page_of_their_own() -> None:
    pool = pool_of_texts(1000, 5)
    columns = {"id": pool.ids.to_pylist(), "predicted": [f"class {i}" for i in range(1000)]}
    site = make_site(pool=fl.read_pool(columns))
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(5, annotator="ann").ids, "class 1"), annotator="ann")
    with client_of(site) as client:
        live = client.get("/part/live/audit", headers=bearer(site.owner)).text
        groups = client.get("/groups/audit", headers=bearer(site.owner)).text
        assert client.get("/groups/audit", headers=bearer(site.ann)).status_code == 403
    assert live.count("<th scope=row") == 30
    assert 'href="/groups/audit">All 1,000 rows' in live
    assert groups.count("<th scope=row") == 1000
