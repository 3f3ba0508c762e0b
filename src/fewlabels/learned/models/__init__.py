"""How often each of several models is right, learned together: where they differ, and where all say the same."""

from __future__ import annotations

from fewlabels.learned.models.answers import Answers, compare_answers
from fewlabels.learned.models.believed import ModelsBelief
from fewlabels.learned.models.levels import LevelsBelief
from fewlabels.learned.models.one_model import OneModelBelief
from fewlabels.learned.models.panel import Learning, Panel
from fewlabels.learned.models.record import BEFORE, SILENT, Margin, Record
from fewlabels.learned.models.truth import TruthBelief
from fewlabels.learned.models.voices import (
    ALONE,
    CROWD,
    CROWD_SLOPE,
    NONE,
    VOICE_SLOPE,
    Features,
    Guess,
    Point,
    draw_chances,
    fit_sets,
    guesses,
    listen,
)

__all__ = [
    "ALONE",
    "BEFORE",
    "CROWD",
    "CROWD_SLOPE",
    "NONE",
    "SILENT",
    "VOICE_SLOPE",
    "Answers",
    "Features",
    "Guess",
    "Learning",
    "LevelsBelief",
    "Margin",
    "ModelsBelief",
    "OneModelBelief",
    "Panel",
    "Point",
    "Record",
    "TruthBelief",
    "compare_answers",
    "draw_chances",
    "fit_sets",
    "guesses",
    "listen",
]
