"""How often each of several models is right, learned together: where they differ, and where all say the same."""

from __future__ import annotations

from fewlabels.learned.models.answers import Answers, compare_answers
from fewlabels.learned.models.believed import ModelsBelief, OneModelBelief
from fewlabels.learned.models.panel import Learning, Panel
from fewlabels.learned.models.voices import Features, Point, draw_chances, fit_sets, listen

__all__ = [
    "Answers",
    "Features",
    "Learning",
    "ModelsBelief",
    "OneModelBelief",
    "Panel",
    "Point",
    "compare_answers",
    "draw_chances",
    "fit_sets",
    "listen",
]
