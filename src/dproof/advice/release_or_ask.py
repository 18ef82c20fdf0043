"""Sanitise or ask? Which of a release and a curator errs less for some questions, and from how many questions on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from math import ceil, exp, inf, log
from typing import Any

from dproof.advice.expect import (
    ExpectedWidth,
    asked_questions,
    expected_at,
    expected_of_asking,
    expected_of_release,
    law_if_allowed,
    sharing_evenly,
    turning_point,
)
from dproof.arguments import whole
from dproof.central.recipe import LEVEL
from dproof.curator.account import even_prices
from dproof.exact import written
from dproof.limits import MOST_EXPECTED_ROWS
from dproof.plans.plan import Plan
from dproof.plans.questions import PlannedQuestion
from dproof.privacy import Cost, Privacy
from dproof.questions.answer import NOTHING, rarely

_FIRST = 20  # questions that are looked at, in search of those for which both ways are as sharp
_ROUNDING = 1e-9  # of a number of questions, which logarithms may add to it


@dataclass(frozen=True, slots=True)
class Comparison:
    """One column of one question: ± each way, the half-width of the 95% interval, over all groups.

    `release` is that of a release; `ask` that of a curator who spends all of ε on this question, and `ask_shared` of
    one who shares ε evenly among all questions. None is what depends on the data, or cannot be answered that way.
    `rare` has ± of the ways in which it is another one for a rare group, None where that would tell nothing;
    `informative` whether the answer would leave out anything that is possible. `estimated` where ± of the curator
    depends on the data and is that for evenly spread values, as ± of the release always is. `break_even` is the number
    of questions that share ε from which on a release errs less.
    """

    question: str
    column: str
    release: float | None
    ask: float | None
    ask_shared: float | None
    rare: Mapping[str, float | None]
    informative: Mapping[str, bool]
    estimated: bool
    break_even: int | None
    weight: Fraction
    share_of_rows: Fraction | None

    @classmethod
    def of(
        cls, release: ExpectedWidth | None, ask: ExpectedWidth, ask_shared: ExpectedWidth, break_even: int | None
    ) -> Comparison:
        """The comparison of what is expected each way; without a release where the plan allows none."""
        ways = {"release": release, "ask": ask, "ask_shared": ask_shared}
        return cls(
            ask.question,
            ask.column,
            None if release is None else release.half_width,
            ask.half_width,
            ask_shared.half_width,
            rare={way: one.rare_told for way, one in ways.items() if one is not None and one.rare is not None},
            informative={way: one is None or one.informative for way, one in ways.items()},
            estimated=ask.half_width is not None and not ask.exact,
            break_even=break_even,
            weight=ask.weight,
            share_of_rows=ask.share_of_rows,
        )

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        share = self.share_of_rows
        about = {"weight": float(self.weight), "share_of_rows": None if share is None else float(share)}
        return {one.name: getattr(self, one.name) for one in fields(self)} | about


@dataclass(frozen=True, slots=True)
class Advice:
    """Which way errs less for these questions at this price, and from how many questions on sanitising does.

    A table with evenly spread values is assumed, and ± of a rare group is told as well; the curator shares ε evenly
    among the questions.
    """

    rows: int
    privacy: Privacy
    questions: int
    comparisons: tuple[Comparison, ...]
    has_release: bool = True  # a release of rows needs change-one neighbours

    @property
    def break_even(self) -> int | None:
        """The number of questions of this kind from which on a release errs less, over all of them by their weights."""
        known = [(c.break_even, float(c.weight)) for c in self.comparisons if c.break_even is not None]
        if not known:
            return None
        return ceil(exp(sum(w * log(n) for n, w in known) / sum(w for _, w in known)) * (1 - _ROUNDING))

    @property
    def better(self) -> str | None:
        """ "sanitise" or "ask"; None where neither ± is known beforehand. Without a release it is "ask"."""
        if not self.has_release:
            return "ask"
        if self.break_even is None:
            return None
        return "sanitise" if self.questions >= self.break_even else "ask"

    def __str__(self) -> str:
        lines = [["question", "column", "release: ±", "ask: ±", "the release is better from"]]
        for c in self.comparisons:
            wins = "–" if c.break_even is None else f"{c.break_even:,} questions"
            widths = (_width_text(c, way) for way in ("release", "ask_shared"))
            lines.append([c.question, c.column, *widths, wins])
        room = [max(len(line[n]) for line in lines) for n in range(5)]
        table = ["  ".join(text.ljust(w) for text, w in zip(line, room, strict=True)).rstrip() for line in lines]
        return "\n".join([*table, "", self.verdict])

    @property
    def verdict(self) -> str:
        """Which way to go, in a sentence."""
        many = "1 question" if self.questions == 1 else f"{self.questions} questions"
        if not self.has_release:
            return f"For {many}: ask the table under a budget; a release needs change-one neighbours."
        if self.break_even is None:
            return f"For {many} on {self.rows:,} rows the two ways cannot be compared beforehand."
        way = "sanitise once and ask the release" if self.better == "sanitise" else "ask the table under a budget"
        wins = f"a release is better from {self.break_even:,} questions like these"
        return f"For {many} on {self.rows:,} rows: {way}; {wins}."

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "rows": self.rows,
            "epsilon": float(self.privacy.epsilon),
            "delta": float(self.privacy.delta),
            "level": LEVEL,
            "questions": self.questions,
            "better": self.better,
            "break_even": self.break_even,
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
        }


def _width_text(comparison: Comparison, way: str) -> str:
    """± one way in a table."""
    width = getattr(comparison, way)
    if width is None or not comparison.informative[way]:
        return "–" if width is None else NOTHING
    return written(width) + (rarely(comparison.rare[way]) if way in comparison.rare else "")


def advise(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    *,
    rows: int,
    questions: str | Sequence[str] | None = None,
) -> Advice:
    """Compare a release with a curator, for the same promise, the same questions and a table of `rows` rows.

    The questions are the plan's own [[questions]] where none are given; each asks FROM data or FROM release. A release
    costs the same whatever is asked of it, and errs by the noise of every row; a curator errs by the noise of one
    answer, which grows with the number of questions that share ε (HLM15, Theorem 4 against section 2.4).

    >>> columns = {"hobby": {"space": "categories", "values": ["Cars", "Chess", "Golf"], "outside": "category",
    ...     "missing": "category"}}
    >>> plan = {"privacy": {"epsilon": 1}, "columns": columns}
    >>> found = advise(plan, rows=10_000, questions="SELECT hobby, count(*) AS n FROM data GROUP BY hobby")
    >>> found.better, found.break_even
    ('ask', 50)
    """
    chosen = Plan.of(plan)
    rows, asked = whole(rows, "rows", 1, MOST_EXPECTED_ROWS), asked_questions(chosen, questions)
    law = law_if_allowed(chosen)
    comparisons: list[Comparison] = []
    _, together = sharing_evenly(chosen, asked, rows)[0]
    for planned, shared in zip(asked, together, strict=True):
        ask = expected_of_asking(chosen, planned, rows)
        release = [None] * len(ask) if law is None else expected_of_release(law, planned, rows)

        @cache
        def sharing(many: int, planned: PlannedQuestion = planned) -> Sequence[tuple[Cost, list[ExpectedWidth]]]:
            """± of each column of the answer by each price, where so many questions share the budget."""
            prices = even_prices(chosen.privacy, many)
            return [(price, expected_at(chosen, planned, rows, price)) for price in prices]

        turning = (_turning(one, n, sharing) for n, one in enumerate(release))
        comparisons += map(Comparison.of, release, ask, shared, turning)
    return Advice(rows, chosen.privacy, len(asked), tuple(comparisons), law is not None)


def _turning(
    release: ExpectedWidth | None, n: int, sharing: Callable[[int], Sequence[tuple[Cost, list[ExpectedWidth]]]]
) -> int | None:
    """The number of questions from which on ± of a release, in one column of the answer, is no wider."""
    if release is None or not release.half_width:
        return None
    width = release.half_width

    def at(many: int) -> Iterator[tuple[Cost, float | None]]:
        for price, found in sharing(many):
            other = found[n].half_width
            yield price, None if other is None else width / other if other else inf

    return turning_point(at, _FIRST)
