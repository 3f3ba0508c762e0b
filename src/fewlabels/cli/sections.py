"""Headings for the options of commands that have many: what a newcomer looks for comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Options by the names of their parameters. What no section has comes last, under "Other options".
SECTIONS: Mapping[str, Sequence[str]] = {
    "Columns of the file": (
        "labels", "id", "predicted", "confidence", "scores", "classes", "content", "positive", "evidence", "normalize",
        "logits",
    ),
    "The question": (
        "groups", "metric", "lowest", "highest", "compare", "rope", "by", "certify", "only", "sure", "guarantee",
        "verdict", "task",
    ),
    "When to stop": ("stop_labels", "stop_probability", "stop_width", "stop_overall"),
    "Simulated runs": ("methods", "budgets", "expect", "worlds", "runs", "items", "jobs"),
    "Several models": ("models", "best", "compare_models", "model"),
    "Answers that are not exactly a class": ("unlisted", "any_spelling", "in_sentences", "never_right"),
    "The people who label": (
        "guidelines", "class_descriptions", "overlap", "noisy", "labels_right", "gold", "gold_rate",
    ),
    "What is assumed, and how items are chosen": ("prior", "policy", "target", "anchor"),
    "Large files and tables": ("table", "sample", "any_size"),
}  # fmt: skip
_REST = "Other options"


class SectionedCommand(click.Command):
    """A command whose help lists the options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings, those without one last."""
        records = {str(param.name): record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))}
        for title, names in SECTIONS.items():
            _write(formatter, title, [records.pop(name) for name in names if name in records])
        _write(formatter, _REST, list(records.values()))


def _write(formatter: click.HelpFormatter, title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)
