"""The plan's own questions, answered from the release itself: the first thing that a reader of the page looks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, TypeGuard

from dproof.errors import DproofError
from dproof.plans.questions import PlannedQuestion
from dproof.questions.answer import Answer, Cell
from dproof.recipe import Release

_MOST_QUESTIONS = 40
_MOST_ROWS = 40  # of one answer
_MOST_STORED = 10**8  # sanitised rows that are counted again for the page
_LEFT = "the page answers the first 40 questions of the plan; ask this one as shown below"
_FAILED = "an error in dproof itself; the release is as it should be, and can be asked"


@dataclass(frozen=True, slots=True)
class Result:
    """A question of the plan and its answer: as bars where it has one number for each group, else as a table.

    `problem` says why there is no answer.
    """

    sql: str
    title: str = ""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: tuple[dict[str, Any], ...] = ()
    more: int = 0
    notes: tuple[str, ...] = ()
    problem: str = ""


def results_of(release: Release) -> tuple[Result, ...]:
    """The answers to the plan's questions; none where the rows are elsewhere, or too many to be counted for a page."""
    has_rows = release.plan.model == "local"
    if has_rows and ((release.table is None and not release.files) or (release.rows or 0) > _MOST_STORED):
        return ()
    questions = release.plan.questions
    answered = [_result(release, planned) for planned in questions[:_MOST_QUESTIONS]]
    return (*answered, *(Result(one.sql, one.title, problem=_LEFT) for one in questions[_MOST_QUESTIONS:]))


def _result(release: Release, planned: PlannedQuestion) -> Result:
    asked = Result(planned.sql, planned.title)
    try:
        answer = release.query(replace(planned.question, table="release"))
    except DproofError as error:
        return replace(asked, problem=str(error))
    except Exception:  # the release is paid for by now, and must not be lost for the sake of its page
        return replace(asked, problem=_FAILED)
    more, notes = max(0, len(answer.rows) - _MOST_ROWS), answer.notes
    bars = _bars(answer)
    if bars:
        return replace(asked, bars=bars, more=more, notes=notes)
    rows = tuple(map(tuple, answer.texts(_MOST_ROWS)))
    return replace(asked, head=answer.columns, rows=rows, more=more, notes=notes)


def _bars(answer: Answer) -> tuple[dict[str, Any], ...]:
    """A bar for each of several rows, where the last column alone is estimated and no number is below 0."""
    *keys, last = answer.columns
    shown = answer.rows[:_MOST_ROWS]
    cells = [row[last] for row in shown]
    if len(shown) < 2 or any(isinstance(row[key], Cell) for row in shown for key in keys):
        return ()
    if not all(isinstance(cell, Cell) and (not cell.informative or _has_length(cell)) for cell in cells):
        return ()
    most = max([cell.high for cell in cells if cell.informative], default=0) or 1
    return tuple(
        _bar(", ".join(texts[:-1]), texts[-1], cell, most)
        for texts, cell in zip(answer.texts(_MOST_ROWS), cells, strict=True)
    )


def _has_length(cell: Cell) -> bool:
    """Whether a bar can show an estimate: a number from 0 on, with an interval."""
    return all(_is_length(number) for number in (cell.clamped_estimate, cell.low, cell.high))


def _is_length(number: Any) -> TypeGuard[float]:
    return isinstance(number, (int, float)) and isfinite(number) and number >= 0


def _bar(label: str, text: str, cell: Cell, most: float) -> dict[str, Any]:
    ends: Sequence[Any] = (cell.low, cell.clamped_estimate, cell.high) if cell.informative else (0, 0, 0)
    low, middle, high = (float(number) / most for number in ends)
    return {"label": label, "count": text, "low": low, "middle": middle, "high": high}
