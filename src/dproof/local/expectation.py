"""What a local release would tell of a question, before there is one: `dproof.advice.expect` makes ± of it."""

from __future__ import annotations

from dproof.local.answer import Dispatched, RowsAnswerSource
from dproof.local.recipe import RowLaw
from dproof.local.stored import ExpectedRelease
from dproof.questions.estimated import Options
from dproof.questions.measured import AnswerSource, Shares
from dproof.questions.question import Question


def expected_source(law: RowLaw, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
    """What a release of so many rows, with values that are spread evenly, would tell of a question."""
    source = law.source(ExpectedRelease(law, rows), question, Options(level))
    for part in source.all_parts() if isinstance(source, Dispatched) else [source]:
        if isinstance(part, RowsAnswerSource) and shares != Shares():
            part.estimated = part.estimated.with_shares(bool(question.group_by), shares, rows)
    return source
