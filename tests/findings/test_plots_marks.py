"""What pictures must not do: print words over points, call an uncertain share 100%, hide a small mistake."""

from __future__ import annotations

from typing import Any

import fewlabels as fl
from fewlabels import plots
from fewlabels.plots.drawing.layout import FONT, _left_words, frames, text_width
from fewlabels.plots.drawing.picture import CORNERS, Box, Note, Tick
from fewlabels.plots.scatter import Both, Scatter
from tests.support.reports import told, told_exactly


def crowded(names: list[str]) -> Scatter:
    """Groups whose points are close together at the bottom of the accuracies, and others beside them."""
    near = [(0.5 + 0.01 * i, 0.30 - 0.015 * i) for i in range(len(names))]
    far = [(0.6 + 0.004 * i, 0.1 + 0.002 * i) for i in range(80)]
    rows = [
        Both(name, 50, 20, (x, x - 0.1, x + 0.1), (y, y - 0.05, y + 0.05), thin=False)
        for name, (x, y) in zip([*names, *(f"other {i}" for i in range(80))], [*near, *far], strict=True)
    ]
    return Scatter(0.95, tuple(rows))


def test_names_in_a_scatter_are_not_printed_over_points_or_each_other() -> None:
    shown = crowded(["a long name of a class", "another long name", "third", "fourth of them", "the fifth"])
    picture = shown.picture()
    for width in (380, 720):
        (frame,) = frames(picture, width)
        notes = [mark for mark in frame.panel.marks if isinstance(mark, Note)]
        assert len(notes) >= 2
        boxes = []
        for note in notes:
            (dx, dy), wide = CORNERS[note.side], text_width(note.text)
            left, middle = frame.x(note.x) + dx - (wide if dx < 0 else 0), frame.y(note.y) + dy
            boxes.append((left, middle - FONT / 2, left + wide, middle + FONT / 2))
        for i, (a, b, c, d) in enumerate(boxes):
            assert all(c < e or g < a or d < f or h < b for e, f, g, h in boxes[i + 1 :])
            for row in shown.rows[:5]:
                x, y = frame.x(row.accuracy[0]), frame.y(row.error[0])
                assert not (a < x < c and b < y < d)


def test_a_share_below_one_is_never_written_as_100_percent() -> None:
    shown: Any = plots.PLOTS["confusion"].of(told_exactly({"bag": (100, 0), "coat": (12, 8)}), draws=200)
    (panel,) = shown.picture().panels
    right = next(row for row in shown.rows if row.predicted == "bag")
    assert 0.99 < max(right.mean) < 1
    assert {mark.text for mark in panel.marks if isinstance(mark, Note) and mark.y == 2.5} == {"99%"}
    whole: Any = plots.PLOTS["confusion"].of(told_exactly({"bag": (100, 0)}, target="pool"), draws=200)
    (panel,) = whole.picture().panels
    assert [mark.text for mark in panel.marks if isinstance(mark, Note) and mark.y == 2.5] == ["100%"]


def test_the_smallest_mistake_can_be_seen() -> None:
    (panel,) = plots.PLOTS["confusion"].of(told(300), draws=200).picture().panels
    shades = [mark.shade for mark in panel.marks if isinstance(mark, Box) and mark.tone == "accent"]
    assert min(shades) > 0.15


def test_a_difference_of_shares_is_in_points() -> None:
    audit = told(60, task=fl.Compare(fl.Accuracy(), "shirt", "coat"))
    curve: Any = plots.PLOTS["curve"].of(audit, draws=200)
    chance, difference = curve.picture().panels
    assert all(tick.text.endswith("%") for tick in chance.y.ticks)
    assert difference.y.label.startswith("difference in points")
    assert not any("%" in tick.text for tick in difference.y.ticks)
    assert not any("%" in mark.tip for mark in difference.marks)
    rope: Any = plots.PLOTS["rope"].of(audit, draws=200)
    assert rope.finding().startswith("Accuracy of shirt minus coat: ")


def test_of_two_names_something_is_left_of_both() -> None:
    both = _left_words(Tick(0.5, "a very long name of a class → another very long name"), 150)
    assert text_width(both) <= 150
    first, second = both.split(" → ")
    assert len(first) > 4
    assert len(second) > 4
    uneven = _left_words(Tick(0.5, "cat → another very long name"), 150)
    assert uneven.startswith("cat → another v")
    assert text_width(uneven) <= 0.42 * 380 - 10


def test_a_heading_says_how_sure_it_is_of_the_groups_it_names() -> None:
    one = plots.PLOTS["forest"].of(told(400, task=fl.Identify(fl.Accuracy(), lowest=1), target="pool"), draws=200)
    assert one.finding().startswith("Lowest accuracy: shirt (")
    near = {"shirt": (12, 8), "coat": (13, 7), "bag": (14, 6), "boot": (19, 1)}
    some: Any = plots.PLOTS["forest"].of(told_exactly(near, task=fl.Identify(fl.Accuracy(), lowest=2)), draws=2_000)
    assert some.means == "probably among those looked for"
    assert some.finding().startswith("Probably of the lowest accuracy: ")
