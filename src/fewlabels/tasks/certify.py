"""Certify: does every group reach a line? Pass, fail, or not enough evidence."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from fewlabels.checks import check_guarantee, number_field, several
from fewlabels.errors import Argument, SpecError
from fewlabels.estimates import affordable, estimate, guaranteed, value_draws
from fewlabels.parts import register
from fewlabels.table import Table
from fewlabels.tasks import certify_words
from fewlabels.tasks.backing import backed_groups
from fewlabels.tasks.base import Answer, Conclusion, Task
from fewlabels.tasks.certify_bets import Line
from fewlabels.tasks.estimate import value_variance, variance_drop
from fewlabels.undefined import has_number, mean_of
from fewlabels.wording import is_exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric
    from fewlabels.tasks.grounds import Ahead, Grounds
    from fewlabels.tasks.snapshot import Snapshot

Verdict = Literal["pass", "fail", "open"]
_LEAST = 1e-200


@register
@dataclass(frozen=True)
class Certify(Task):
    """Does every group reach a line?

    Pass: P(all groups reach it) ≥ sure, and each group's own labels agree. Fail: some group misses it with that
    probability, and its own labels agree. Otherwise there is not enough evidence. A group's own labels must agree
    because a posterior that relies on scores or on other groups is too sure of an unusual group. They show that a group
    reaches the line if bets on it have won 1/(1 − sure); for a group below the line the probability of that is at most
    1 − sure, over all looks together; see `anytime`. They show that it misses the line if a group exactly on the line
    would have so few right predictions with a probability of at most (1 − sure)/G, for G groups (an exact binomial
    test).

    A label in g is worth drop_g · N(line; mean_g, Var_g): how much it is expected to lower the variance, where the line
    is in doubt. With the guarantee it is worth something where bets are not won yet: see `certify_bets`.

    Parameters
    ----------
    at_least, at_most
        The line: one of the two.
    only
        The groups that must reach it; all of them if none are named.
    sure
        The probability with which a verdict is given.
    guarantee
        "anytime": bets alone decide, and a false fail also has a probability of at most 1 − sure, whatever the truth
        and however often you look; anything that would break this is refused. None: the posterior and the group's own
        labels decide.

    >>> import fewlabels as fl
    >>> fl.Certify(fl.Accuracy(), at_least=0.9)
    Certify(metric=Accuracy(), at_least=0.9, at_most=None, only=(), sure=0.95, guarantee=None)
    """

    conclusive: ClassVar[bool] = True
    aim: ClassVar[str] = "there is a verdict, pass or fail, at {}"
    wants: ClassVar[str] = "greedy"

    at_least: float | None = None
    at_most: float | None = None
    only: tuple[str, ...] = ()
    sure: float = 0.95
    guarantee: Literal["anytime"] | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise SpecError("Certify() needs either at_least= or at_most=, such as Certify(Accuracy(), at_least=0.9).")
        side = "at_most" if self.at_least is None else "at_least"
        number_field(self, side, "The line of Certify()", low=-inf)
        number_field(self, "sure", "The 'sure' of Certify()", high=1, hint="such as 0.95")
        check_guarantee(self.guarantee, what="The 'guarantee' of Certify()")
        object.__setattr__(self, "only", several(self.only, "The 'only' of Certify()", error=SpecError))

    @classmethod
    def examples(cls, metric: Metric, groups: Sequence[str]) -> tuple[Self, ...]:
        """Every group above a line, and one group below it."""
        return (cls(metric, at_least=0.6), cls(metric, at_most=0.4, only=(groups[0],)))

    @property
    def line(self) -> float:
        """The value that groups must reach."""
        return float(self.at_most if self.at_least is None else self.at_least)  # type: ignore[arg-type]

    def check(self, cells: Cells) -> None:
        """Raise SpecError if a group is missing or empty, or the metric has no single number or no guarantee."""
        if self.metric.vector:
            raise SpecError(
                f"only one number for each group can reach a line, but {self.metric.name} has one for each class. "
                "Use a cost."
            )
        if unknown := [group for group in self.only if group not in cells.partition.names]:
            known = ", ".join(map(repr, cells.partition.names[:8])) + (", ..." if len(cells.partition) > 8 else "")
            raise SpecError(f"there is no group {unknown[0]!r} to certify. Use one of the groups: {known}.")
        if not self.askable(cells).any():
            raise SpecError("there is nothing to certify: the groups have no items. Use groups with items.")
        if self.metric.in_unit_interval and not 0 <= self.line <= 1:
            raise SpecError(f"the {self.metric.name} lies between 0 and 1; a line at {self.line:g} says nothing.")
        if self.guarantee and not self.metric.marginal:
            raise SpecError(
                Argument("guarantee", "anytime"),
                f" needs a metric that is a single share, such as accuracy. For the {self.metric.name}, leave the "
                "guarantee out.",
            )

    def askable(self, cells: Cells) -> NDArray[np.bool_]:
        """The groups that must reach the line, shape (groups,)."""
        named = np.isin(np.array(cells.partition.names, dtype=object), self.only) if self.only else True
        return (cells.partition.sizes > 0) & named

    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The worth of a label in each group: (..., cells, outcomes) to (..., groups); 0 for groups not asked about.

        A metric that is not a single share has no bets: a label is worth the fall in variance it brings where the line
        is near. There a group with too few labels of its own is worth as much as the best one elsewhere.
        """
        if self.metric.marginal:
            return self._line.worth(
                self.metric.value(theta, cells),
                self._wealth(belief, cells),
                self.askable(cells),
                backed_groups(self.metric, belief, cells),
            )
        mean = self.metric.value(belief.mean(), cells)
        variance = np.maximum(value_variance(self, belief, cells, belief.mean()), _LEAST)
        density = np.exp(-((mean - self.line) ** 2) / (2 * variance)) / np.sqrt(variance)
        # Where the value is 0/0 there is no distance from the line, and such a label is worth nothing for it.
        worth = variance_drop(self, belief, cells, theta) * np.nan_to_num(density) * self.askable(cells)
        lacking = self.askable(cells) & ~backed_groups(self.metric, belief, cells)
        return np.where(lacking, np.maximum(worth.max(axis=-1, keepdims=True), _LEAST), worth)

    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        """The verdict, and for each group the probability that it reaches the line; the worst group first."""
        used = affordable(draws, belief)
        # Intervals and chances are of the same draws.
        table = estimate(self.metric, belief, cells, deepcopy(rng), level=level, draws=draws)
        if self.guarantee:
            table = guaranteed(self.metric, belief, cells, table)
        asked = np.flatnonzero(self.askable(cells))
        chance, together = self._chances(value_draws(self.metric, belief, cells, rng, used), asked)
        verdicts = self._verdicts(belief, cells, chance)
        verdict = self._verdict([verdicts[g] for g in asked], together)
        # Of groups that are equally likely to reach the line, the one nearest to it comes first.
        spare = np.array(table["mean"], dtype=float)[asked] * (1 if self.at_most is None else -1)
        order = asked[np.lexsort((spare, chance[asked]))]
        names = ("group", "n", "labelled", "mean", "low", "high")
        columns = {name: [table.columns[name][g] for g in order] for name in names}
        columns |= {"reaches": [None if np.isnan(p) else p for p in chance[order].tolist()]}
        columns |= self._won(belief, cells, order)
        columns["backed"] = backed_groups(self.metric, belief, cells)[order].tolist()
        columns["verdict"] = [verdicts[g] for g in order]
        failed = tuple(cells.partition.names[g] for g in order if verdicts[g] == "fail")
        settings: dict[str, Any] = {
            "level": level,
            "target": belief.target,
            "draws": used,
            "line": self.line,
            "verdict": verdict,
        }
        settings |= {"at_least": self.at_least is not None, "sure": self.sure, "guarantee": self.guarantee}
        settings |= {"undefined": undefined} if (undefined := columns["reaches"].count(None)) else {}
        settings |= {"classes_left_out": some} if (some := self.metric.left_out(belief.counts, cells)) else {}
        probability, table = self._probability(verdict, together), Table(columns, settings)
        return Answer(certify_words.of_table(self, table, probability, failed), probability, table, failed)

    def doubted(self, answer: Answer, belief: Belief, cells: Cells, progress: Table) -> Answer:
        """The answer without verdicts that the labels, given how they were collected, do not support.

        Adopted labels are for items that somebody picked, so a group with such labels is open. Items that were
        withdrawn, skipped or disputed may be the hard ones: a group passes only if it would pass with all of them on
        the wrong side. None of this matters if all items are known.
        """
        adopted, missing = (np.array(progress[name]) for name in ("adopted", "withdrawn"))
        missing = missing + np.array(progress["unresolved"])
        if not (adopted.any() or missing.any()):
            return answer
        at = [cells.partition.position(group) for group in answer.table["group"]]
        exact = [is_exact(row["low"], row["high"]) for row in answer.table.rows()]
        stands = self._stands(belief, cells, missing)
        verdicts: list[Verdict] = []
        for g, verdict, is_known in zip(at, answer.table["verdict"], exact, strict=True):
            holds = is_known or not (adopted[g] or (verdict == "pass" and not stands[g]))
            verdicts.append(verdict if holds else "open")
        if verdicts == list(answer.table["verdict"]):
            return answer
        verdict = "fail" if "fail" in verdicts else "open"
        failed = tuple(name for name, own in zip(answer.table["group"], verdicts, strict=True) if own == "fail")
        settings = dict(answer.settings) | {"verdict": verdict}
        settings |= {"adopted": int(adopted.sum()), "missing": int(missing.sum())}
        table = Table({**answer.table.columns, "verdict": verdicts}, settings)
        sure = answer.probability or 0.0
        sure = sure if verdict == answer.settings["verdict"] else min(sure, self.sure - 0.01)
        words = certify_words.of_table(self, table, sure, failed)
        return replace(answer, words=words, probability=sure, table=table, groups=failed)

    def _stands(self, belief: Belief, cells: Cells, missing: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether bets on each group would be won with its missing labels all on the wrong side, shape (groups,)."""
        if not self.metric.marginal:
            return missing == 0
        counts = belief.counts.copy()
        counts[:, 1 if self.at_most is None else 0] += missing[cells.group]
        return (self._line.wealth(counts, belief.target, cells)[0] >= self._thresholds(cells)[0]) | (missing == 0)

    def guaranteed(self, belief: Belief, cells: Cells) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether bets on each group reaching the line are won, and those against it; two of shape (groups,)."""
        (reach, miss), (alone, together) = self._wealth(belief, cells), self._thresholds(cells)
        return reach >= alone, miss >= together

    @property
    def surety(self) -> float:
        """`sure`: below it there is no verdict."""
        return self.sure

    def progress(self, now: float) -> str:
        """Whether there is a verdict, and how sure it is."""
        if now < self.sure:
            return "there is no verdict yet{of}"
        return (
            "the verdict is guaranteed at {now}{of}"
            if self.guarantee
            else "the verdict is right with probability {now}{of}"
        )

    def certainty(self, answer: Answer) -> tuple[str, str, str]:
        """The verdict, and how many groups pass, fail and are open."""
        return certify_words.certainty(self, answer)

    @property
    def main_plot(self) -> str:
        """The name of the plot of the groups beside the line."""
        return "verdicts"

    def unguaranteed(self) -> Certify:
        """Drop the guarantee: the posterior answers."""
        return replace(self, guarantee=None)

    @property
    def can_assure(self) -> bool:
        """Whether `assurance` has a number."""
        return self.guarantee is not None

    def assurance(self, belief: Belief, cells: Cells) -> float | None:
        """The largest probability with which pass or fail is guaranteed; None without the guarantee."""
        if not self.guarantee:
            return None
        backed = self.askable(cells) & backed_groups(self.metric, belief, cells)
        reach, miss = (np.where(backed, side, -np.inf)[self.askable(cells)] for side in self._wealth(belief, cells))
        return float(max(1 - np.exp(-reach.min()), 1 - len(miss) * np.exp(-miss.max()), 0.0))

    def right(self, values: NDArray[np.float64], cells: Cells, rng: np.random.Generator) -> NDArray[np.int64]:
        """1 where all groups reach the line, 0 where one misses it: (n, groups) to (n, 1)."""
        misses = ~(self._line.reached(values) | np.isnan(values))
        return np.asarray(~misses[:, self.askable(cells)].any(axis=1), dtype=np.int64)[:, None]

    def conclude(self, snapshot: Snapshot) -> Conclusion:
        """Pass or fail, whichever is more probable."""
        cells = snapshot.cells
        asked = np.flatnonzero(self.askable(cells))
        chance, together = self._chances(snapshot.values, asked)
        verdicts = self._verdicts(snapshot.belief, cells, chance)
        verdict = self._verdict([verdicts[g] for g in asked], together)
        passes = verdict == "pass" or (verdict == "open" and together >= 0.5)
        return Conclusion(np.array([int(passes)]), self._probability(verdict, together))

    # --- inside

    def _chances(self, values: NDArray[np.float64], asked: NDArray[np.intp]) -> tuple[NDArray[np.float64], float]:
        """The chance that each group reaches the line, shape (groups,), and that all of those asked about do.

        A group whose value is 0/0 in most draws has none (NaN), and is left out of the second, which is 1/2 if all are.
        """
        missing, reaches = np.isnan(values), self._line.reached(values)
        known = asked[has_number(values)[asked]]
        together = float((reaches | missing)[:, known].all(axis=1).mean()) if len(known) else 0.5
        return mean_of(np.where(missing, np.nan, reaches)), together

    def own_labels(self, belief: Belief, cells: Cells) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each group's own labels say that it reaches the line, and that it misses it; two of shape (groups,).

        By bets and by the exact test, for metrics that are a single share. For others five labels are enough, and the
        posterior decides.
        """
        supported = backed_groups(self.metric, belief, cells)
        if not self.metric.marginal:
            return supported, supported
        reach = self._wealth(belief, cells)[0] >= self._thresholds(cells)[0]
        miss = self._line.missed(belief.counts, belief.target, cells, int(self.askable(cells).sum()))
        return reach & supported, miss & supported

    def _verdicts(self, belief: Belief, cells: Cells, chance: NDArray[np.float64]) -> list[Verdict]:
        """The verdict about each group by itself."""
        reach, miss = self.own_labels(belief, cells)
        passes, fails = reach & (chance >= self.sure), miss & (1 - chance >= self.sure)
        if self.guarantee:
            supported = backed_groups(self.metric, belief, cells)
            passes, fails = (won & supported for won in self.guaranteed(belief, cells))
        return ["pass" if passes[g] else "fail" if fails[g] else "open" for g in range(len(cells.partition))]

    def _verdict(self, verdicts: Sequence[Verdict], together: float) -> Verdict:
        """The verdict about all groups together.

        With the guarantee every group's bets must be won, and no correction for their number is needed: were one
        group below the line, its own bets would be lost with probability `sure`.
        """
        if "fail" in verdicts:
            return "fail"
        sure = all(verdict == "pass" for verdict in verdicts) if self.guarantee else together >= self.sure
        return "pass" if sure and "open" not in verdicts else "open"

    def _probability(self, verdict: Verdict, together: float) -> float:
        """The probability of the verdict; while there is none, that of the likelier verdict, kept below `sure`.

        Labels or won bets may be missing, and a high posterior probability alone must not meet a stopping rule.
        """
        if verdict == "open":
            return min(max(together, 1 - together), self.sure - 0.01)
        right = together if verdict == "pass" else 1 - together
        return max(right, self.sure) if self.guarantee else right

    def _won(self, belief: Belief, cells: Cells, order: NDArray[np.int64]) -> dict[str, list[float]]:
        """With the guarantee, a column: how much of the evidence needed for a verdict is there.

        It is the logarithm of the wealth that bets on the likelier side have won, divided by that of the wealth needed.
        """
        if not self.guarantee:
            return {}
        (reach, miss), (alone, together) = self._wealth(belief, cells), self._thresholds(cells)
        return {"won": np.clip(np.maximum(reach / alone, miss / together)[order], 0.0, 1.0).tolist()}

    @property
    def _line(self) -> Line:
        return Line(self.line, self.at_most is None, self.sure)

    def _thresholds(self, cells: Cells) -> tuple[float, float]:
        return self._line.thresholds(int(self.askable(cells).sum()))

    def _wealth(self, belief: Belief, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._line.wealth(belief.counts, belief.target, cells)

    # --- words

    def question(self, noun: str, groups: int) -> str:
        """The task as a question."""
        return certify_words.question(self, noun, groups)

    def headline(self, grounds: Grounds) -> str:
        """The verdict in words."""
        return certify_words.headline(self, grounds)

    def next_steps(self, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
        """The next steps after the verdict."""
        return certify_words.next_steps(self, grounds, ahead)

    def legend(self) -> str:
        """The meaning of the columns of the answer."""
        return certify_words.legend(self)
