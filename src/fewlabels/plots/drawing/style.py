"""The look of plots: a few colours in a light and a dark theme, and the stylesheet that switches between them."""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

Tone = Literal["main", "accent", "third", "fourth", "fifth", "ink", "muted", "grid", "paper"]

# The colours follow Okabe and Ito, for colour-blind readers. They are darkened or lightened until text has a contrast
# of 4.5 with the background, and marks one of 3. A test computes it.
LIGHT: dict[Tone, str] = {
    "main": "#0b61a4",
    "accent": "#b84a00",
    "third": "#00795a",
    "fourth": "#a2487c",
    "fifth": "#8a6a00",
    "ink": "#1c2127",
    "muted": "#59626d",
    "grid": "#dfe3e8",
    "paper": "#ffffff",
}
DARK: dict[Tone, str] = {
    "main": "#62b5f0",
    "accent": "#f5924e",
    "third": "#3cc79f",
    "fourth": "#e08fbc",
    "fifth": "#e3c04b",
    "ink": "#eceff3",
    "muted": "#a3adb9",
    "grid": "#343b44",
    "paper": "#15191e",
}
_TIP = (
    ".fl-tip{position:absolute;z-index:9;max-width:min(22rem,92vw);padding:.3rem .6rem;border-radius:6px;"
    "font-size:.8125rem;line-height:1.4;white-space:pre-line;overflow-wrap:anywhere;pointer-events:none;"
    "background:var(--fl-ink,#1c2127);color:var(--fl-paper,#fff)}"
)
LINES: tuple[Tone, ...] = ("main", "accent", "third", "fourth", "fifth", "ink", "muted")
"""The tones of several lines in one panel, in the order they are used."""


def stylesheet() -> str:
    """Return the CSS of the classes in `svg`: light, or dark by the system's setting or by `data-theme="dark"`.

    A page may set the variables --fl-main, --fl-accent, --fl-ink and so on to colours of its own.

    >>> ".fl-plot" in stylesheet()
    True
    """
    dark = ";".join(f"--fl-{tone}:{colour}" for tone, colour in DARK.items())
    light = ";".join(f"--fl-{tone}:{colour}" for tone, colour in LIGHT.items())
    rules = [
        f":root{{{light}}}",
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}",
        f"[data-theme=dark]{{{dark}}}",
        ".fl-plot{display:block;width:100%;height:auto}",
        ".fl-narrow{display:none}",
        "@media (max-width:560px){.fl-wide{display:none}.fl-narrow{display:block}}",
        "@media print{.fl-wide{display:block}.fl-narrow{display:none}}",
        ".fl-hit:hover,.fl-hit.fl-at,.fl-at .fl-hit{fill:var(--fl-ink,#1c2127);fill-opacity:.1}",
        _TIP,
        ".fl-tip:empty{display:none}",
        "@media print{.fl-tip{display:none}}",
    ]
    for tone, colour in LIGHT.items():
        rules.append(f".fl-f-{tone}{{fill:var(--fl-{tone},{colour})}}")
        rules.append(f".fl-s-{tone}{{stroke:var(--fl-{tone},{colour})}}")
    return "\n".join(rules)


def script() -> str:
    """Return the JavaScript that shows what marks mean by touch and by keys, for pages that have `stylesheet()`.

    >>> "fl-tip" in script()
    True
    """
    return files("fewlabels.plots.drawing").joinpath("tips.js").read_text(encoding="utf-8")
