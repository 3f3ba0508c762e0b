"""Plots as SVG: well-formed and harmless, with a tooltip for every mark, readable words, and bounded sizes."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.plots.confusion import _STRONG
from fewlabels.plots.drawing import markup
from fewlabels.plots.drawing.layout import TURNED, fitted, text_width
from fewlabels.plots.drawing.picture import Box, Line, Note
from fewlabels.plots.drawing.style import DARK, LIGHT
from tests.support.pools import by_kind, zoo

NASTY = (
    "<script>alert(1)</script>",
    'a & b "quoted"',
    "東京タワーと富士山のとても長い名前のクラスです",
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenknopf " * 3,
    "bell\x07 and \uffff nothing",
    "مرحبا بالعالم",
    "$5 or $6",
)


UNFIT = "[\x07\uffff\ufffd]"  # what XML cannot hold, and what stands in its place


def told(pool: fl.Pool, groups: fl.Partition | None, labels: int, **more: Any) -> fl.Assessment:
    """An assessment in which every third label says that the prediction is wrong."""
    usual: dict[str, Any] = {"seed": 3, "prior": fl.Uniform()}
    audit = fl.create(None, "audit", pool, groups, **usual | more)
    if labels:
        ids = audit.ask(labels).ids
        at = pool.predicted[pool.positions(ids)]
        shift = np.arange(len(ids)) % 3 == 0
        names = pool.classes
        audit.tell({i: names[(k + s) % len(names)] for i, k, s in zip(ids, at, shift, strict=True)})
    return audit


@cache
def every_plot(case: str) -> dict[str, plots.Plot]:
    """The plots of a small, a nasty, an unlabelled, a single, a compared, or a very large set of groups."""
    rng = np.random.default_rng(9)
    if case == "large":
        data = {
            "confidence": rng.uniform(0.4, 1, 4000),
            "predicted": [f"c{k}" for k in rng.integers(0, 3, 4000)],
            "place": [f"{NASTY[g % 7 if g % 50 == 0 else 1]} {g}" for g in np.arange(4000) % 1000],
        }
        pool = fl.read_pool(data, classes=["c0", "c1", "c2"])
        task = fl.Identify(fl.Accuracy(), lowest=7)
        kinds = ("forest", "ranking", "chances", "confusion", "scatter", "allocation")  # the curve is long the same way
        return plots.read_all(told(pool, fl.by_column(pool, "place"), 900, task=task), draws=100, kinds=kinds)
    if case == "nasty":
        data = {"confidence": rng.uniform(0.4, 1, 300), "predicted": [NASTY[k] for k in rng.integers(0, 6, 300)]}
        pool = fl.read_pool(data, classes=NASTY)
        return plots.read_all(told(pool, None, 60), draws=200)
    if case == "classes":
        data = {"predicted": [f"class {k}" for k in rng.integers(0, 60, 600)]}
        pool = fl.read_pool(data, classes=[f"class {k}" for k in range(60)])
        return plots.read_all(told(pool, None, 120, task=fl.Estimate(fl.Confusion())), draws=200)
    known = zoo()
    groups = fl.whole(known.pool) if case == "one" else None
    if case == "compared":
        compare = fl.Compare(fl.F1(), "insects", "mammals")
        return plots.read_all(told(known.pool, by_kind(known.pool), 9, task=compare), draws=200)
    return plots.read_all(told(known.pool, groups, {"unlabelled": 0}.get(case, 25)), draws=200)


CASES = ("small", "unlabelled", "one", "compared", "nasty", "classes", "large")
EACH = [(case, width) for case in CASES for width in (720, 380)]


@pytest.mark.parametrize(("case", "width"), EACH)
def test_well_formed_and_without_script_or_style(case: str, width: int) -> None:
    for name, numbers in every_plot(case).items():
        text = plots.svg(numbers, width)
        root = ET.fromstring(text)
        assert root.get("role") == "img"
        assert [child.tag for child in root][:2] == ["title", "desc"]
        assert root[0].text == markup._UNFIT.sub("\ufffd", numbers.finding())
        assert root.get("class", "").split()[:2] == ["fl-plot", f"fl-{name}"]
        allowed = {"svg", "g", "title", "desc", "path", "rect", "circle", "text"}
        assert {element.tag for element in root.iter()} <= allowed
        names = {attribute for element in root.iter() for attribute in element.attrib}
        assert not [one for one in names if one == "style" or one.startswith("on") or "href" in one]
        assert "<script" not in text
        assert len(text.encode()) < 300_000
        assert all(0 < float(v) < 5_000 for v in root.get("viewBox", "").split()[2:])


def words_of(element: ET.Element) -> str:
    """What is seen of a text, without its tooltip."""
    return (element.text or "") + "".join(child.tail or "" for child in element)


def titles(text: str) -> set[str]:
    return {element.text or "" for element in ET.fromstring(text).iter("title")}


def covered(mark: Any, above: Any) -> bool:
    """Whether a place to point at, with a tip, lies over a mark: the next such one does."""
    ys = [y for _, y in mark.points] if isinstance(mark, Line) else mark.ys if isinstance(mark, Box) else (mark.y,)
    place = next(one for one in above if isinstance(one, Box) and not one.shade)
    return bool(place.tip) and min(place.ys) <= min(ys) and max(ys) <= max(place.ys)


@pytest.mark.parametrize("case", CASES)
def test_every_mark_has_a_tooltip_with_the_full_name(case: str) -> None:
    for numbers in every_plot(case).values():
        found = {re.sub(UNFIT, "", one) for one in titles(plots.svg(numbers))}
        for panel in numbers.picture().panels:
            for i, mark in enumerate(panel.marks):
                assert mark.tip or isinstance(mark, Note) or covered(mark, panel.marks[i + 1 :])
                # Words that do not fit on a small square are left out with their tooltip, which the square has.
                assert not mark.tip or re.sub(UNFIT, "", mark.tip) in found
        shapes = [one for one in ET.fromstring(plots.svg(numbers)) if one.tag in ("g", "rect", "circle")]
        bare = [one for one in shapes if one.find("title") is None]
        panels = numbers.picture().panels
        below = sum(not mark.tip for panel in panels for mark in panel.marks)
        assert len(bare) <= sum(len(panel.keys) for panel in panels) + below  # the rest are signs of the legend


def test_long_names_are_cut_and_whole_in_the_tooltip() -> None:
    text = plots.svg(every_plot("nasty")["forest"], 380)
    assert any(NASTY[3][:100] in one for one in titles(text))
    shown = [words_of(element) for element in ET.fromstring(text).iter("text")]
    assert any(one.endswith("…") and one.startswith("Donau") for one in shown)
    assert "<script>al" in "".join(shown)  # as text
    assert "�" in "".join(shown)  # in place of what XML cannot hold


@pytest.mark.parametrize(("case", "width"), EACH)
def test_words_stay_inside_and_do_not_run_into_each_other(case: str, width: int) -> None:
    for name, numbers in every_plot(case).items():
        lines: dict[float, list[tuple[float, float, str]]] = {}
        for element in ET.fromstring(plots.svg(numbers, width)).iter("text"):
            words = words_of(element)
            if "transform" in element.attrib:  # written upwards, in the room that is left for it
                assert text_width(words) <= TURNED
                continue
            x, wide = float(element.get("x", 0)), text_width(words)
            left = x - {"end": wide, "middle": wide / 2}.get(element.get("text-anchor", ""), 0)
            assert left >= -1, (name, words)
            assert left + wide <= width + 1, (name, words)
            if "paint-order" not in element.attrib:  # words on top of marks have a rim instead
                lines.setdefault(float(element.get("y", 0)), []).append((left, left + wide, words))
        for line in lines.values():
            line.sort()
            for (_, end, one), (start, _, other) in pairwise(line):
                assert end <= start + 1, (name, one, other)


def test_a_thousand_groups_show_both_ends_and_a_band() -> None:
    forest: Any = every_plot("large")["forest"]
    (panel,) = forest.picture().panels
    assert len(panel.y.ticks) == 21
    assert [tick.text for tick in panel.y.ticks][15] == "980 more"
    assert panel.y.ticks[0].text == forest.rows[0].group
    assert panel.y.ticks[-1].text == forest.rows[-1].group
    places = [mark for mark in panel.marks if "from the top: " in mark.tip]
    assert len(places) == 30
    assert "from the top: 16 to 47" in places[0].tip
    assert "and 31 more groups" in places[0].tip


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(a: str, b: str) -> float:
    """As the Web Content Accessibility Guidelines define it."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_colours_can_be_seen(theme: dict[str, str]) -> None:
    for tone in ("ink", "muted"):
        assert contrast(theme[tone], theme["paper"]) >= 4.5
    for tone in ("main", "accent", "third", "fourth", "fifth"):
        assert contrast(theme[tone], theme["paper"]) >= 3
    # Words on the most opaque orange square of a small confusion matrix.
    mixed = [
        round(0.55 * int(theme["accent"][i : i + 2], 16) + 0.45 * int(theme["paper"][i : i + 2], 16)) for i in (1, 3, 5)
    ]
    assert contrast(theme["ink"], "#" + "".join(f"{c:02x}" for c in mixed)) >= 4.5
    # And on its blue ones: weak up to a share of a half, and strong above.
    for opacity, words in ((0.03 + 0.97 * 0.25, "ink"), (0.03 + 0.97 * _STRONG, "paper")):
        ends = [[int(theme[tone][i : i + 2], 16) for i in (1, 3, 5)] for tone in ("main", "paper")]
        blue = [round(opacity * a + (1 - opacity) * b) for a, b in zip(*ends, strict=True)]
        assert contrast(theme[words], "#" + "".join(f"{c:02x}" for c in blue)) >= 4.5


def test_every_class_has_its_colours_in_the_stylesheet() -> None:
    light: dict[Any, str] = dict(LIGHT)
    css = plots.stylesheet()
    for case in ("small", "compared"):
        for numbers in every_plot(case).values():
            for element in ET.fromstring(plots.svg(numbers)).iter():
                for one in element.get("class", "").split():
                    if one.startswith(("fl-f-", "fl-s-")):
                        assert f".{one}{{" in css
                        assert light[one[5:]] in (element.get("fill"), element.get("stroke"))
    assert css.count("[data-theme=dark]") == 1
    assert "prefers-color-scheme:dark" in css


def test_a_file_of_its_own_has_title_caption_and_colours() -> None:
    numbers = every_plot("small")["forest"]
    text = plots.standalone(numbers)
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert plots.stylesheet() in "".join(root.itertext())
    words = "".join(root.itertext())
    assert numbers.finding() in words
    assert numbers.caption().split()[-1] in words


def test_a_figure_has_a_drawing_for_wide_and_for_narrow_windows() -> None:
    root = ET.fromstring(plots.figure(every_plot("small")["forest"]))
    assert [one.get("class", "").split()[-1] for one in root] == ["fl-wide", "fl-narrow"]
    assert [float(one.get("width", 0)) for one in root] == [720, 380]


def test_fitted_words_fit() -> None:
    for words in NASTY:
        for room in (30, 60, 120, 400):
            assert text_width(fitted(words, room)) <= max(room, text_width("…"))


@pytest.mark.parametrize(("width", "said"), [(720, " right"), (380, "%")])
def test_long_names_leave_room_for_the_values(width: int, said: str) -> None:
    """Names took 0.42 of the width, and the values beside the rows, which are what one looks for, were left out."""
    classes = [f"a rather long name of a category in the catalogue, number {i}" for i in range(4)]
    scores = np.random.default_rng(2).dirichlet(np.ones(4), 60)
    pool = fl.read_pool({"id": [f"i{i}" for i in range(60)], "scores": scores}, classes=classes)
    audit = fl.create(None, "long", pool)
    audit.tell(dict.fromkeys(audit.ask(40).ids, classes[0]))
    drawn = plots.svg(plots.PLOTS["forest"].of(audit, draws=200), width)
    words = [words_of(text) for text in ET.fromstring(drawn).iter("text") if text.get("text-anchor") is None]
    assert sum(text.endswith(said) for text in words) == 4
    names = [words_of(text) for text in ET.fromstring(drawn).iter("text") if text.get("text-anchor") == "end"]
    assert all(len(name) > 10 for name in names)


def test_the_tips_of_a_figure_are_written_once() -> None:
    shown = every_plot("nasty")["forest"]
    wide, narrow = (plots.svg(shown, width) for width in (720, 380))
    first, second = re.findall("<svg.*?</svg>", plots.figure(shown), flags=re.DOTALL)
    tips = re.findall("<title>([^<]*)</title>", first)
    assert tips == re.findall("<title>([^<]*)</title>", wide)
    said = [tips[int(place)] for place in re.findall('<title data-tip="([0-9]+)"></title>', second)]
    assert "<title>" not in second
    assert said == re.findall("<title>([^<]*)</title>", narrow)
