"""A model is a recipe: what is drawn of a table, what that costs a person, and how a question is answered from it.

A recipe is made before any data is opened. What would be drawn of an even table is `expected_source`, and a question is
answered from it as from what is drawn: so ± is told before there is any data. `local.recipe.RowLaw` draws rows one by
one and `central.recipe.TableLaw` measures tables of the whole: what they draw is kept as a `Release`, whose `law` they
are, and from which `answer_source` answers a question. A curator has one recipe for each question,
`curator.recipe.Measurement`: it draws the numbers of the answer, and there is no release.

The recipe of a stored release is read by `recorded_row_law` or `recorded_table_law`: what was chosen stands in the
certificate, and what the plan determines is worked out again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from dproof.coins import NOT_PRIVATE
from dproof.errors import MissingExtra, QuestionError
from dproof.plans.plan import ASKED, Plan
from dproof.privacy import Cost, Privacy

if TYPE_CHECKING:
    from dproof.laws.debias import Target
    from dproof.questions.answer import Answer
    from dproof.questions.curve_estimate import CurveEstimate
    from dproof.questions.estimated import Options
    from dproof.questions.measured import AnswerSource, Shares
    from dproof.questions.question import Question, Schema
    from dproof.questions.sql import Asked

Drawn = TypeVar("Drawn", contravariant=True)


class Recipe(Protocol):
    """What is drawn, whatever the model: known before any data is opened."""

    @property
    def person(self) -> Privacy:
        """What a person may lose by what is drawn."""

    @property
    def schema(self) -> Schema:
        """What a question may ask."""

    def expected_source(self, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
        """What would answer a question from what is drawn of so many rows, whose values are spread evenly."""


class ReleaseRecipe(Recipe, Protocol[Drawn]):
    """What is drawn by a plan and kept as a release."""

    @property
    def plan(self) -> Plan:
        """What is public about the table."""

    @property
    def cost(self) -> Cost:
        """What a ledger counts of it."""

    def answer_source(self, drawn: Drawn, question: Question, options: Options) -> AnswerSource:
        """What answers a question that the schema resolved, from what was drawn."""

    def record(self, release: Mapping[str, Any], *, private: bool) -> dict[str, Any]:
        """The sealed certificate of what was drawn and what it costs, with what is recorded about a release."""


@runtime_checkable
class Release(Protocol):
    """What `sanitise` made of a table: questions on it are free, for ever (HLM15, Theorem 4).

    It is one draw, kept in a folder or in memory; it is never a view that would draw again. A `LocalRelease` has
    sanitised rows, a `CentralRelease` has measured tables.
    """

    __slots__ = ()

    law: Any  # its recipe
    certificate: Mapping[str, Any]
    folder: Path | str | None  # a folder here, or the URI of one elsewhere
    table: Any  # an Arrow table of its rows, where the release is held in memory
    unchecked: tuple[str, ...]  # files in its folder that `verify` does not look at

    @property
    def plan(self) -> Plan:
        """What is public about the table, and what was done with each column."""
        plan: Plan = self.law.plan
        return plan

    @property
    def rows(self) -> int | None:
        """How many rows its source has; None where that is not public."""
        rows = self.certificate["release"]["rows"]
        return None if rows is None else int(rows)

    @property
    def private(self) -> bool:
        """False where it was drawn with seeded coins."""
        return bool(self.certificate["private"])

    @property
    def privacy(self) -> Privacy:
        """What it promises: what the plan has under [privacy], or less where the central model needs no δ."""
        return self.plan.privacy

    @property
    def data(self) -> Any:
        """Where its rows are: the paths of stored files, or an Arrow table."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of its sanitised rows on this machine's disks, in the order of the rows; none where it has none."""
        return ()

    @property
    def _content(self) -> str:
        """What it holds, in words."""

    def __repr__(self) -> str:
        where = "in memory" if self.folder is None else f"in {str(self.folder)!r}"
        promise = f"epsilon = {self.privacy.epsilon}, delta = {self.privacy.delta}"
        stamp = "" if self.private else f", {NOT_PRIVATE}"
        return f"<release of {self._content} {where}, {promise}{stamp}>"

    def to_arrow(self) -> Any:
        """Its rows as an Arrow table."""

    def to_pandas(self) -> Any:
        """Its rows as a pandas frame."""
        MissingExtra.or_module("pandas", "a pandas.DataFrame")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Its rows as a Polars frame."""
        polars = MissingExtra.or_module("polars", "a polars.DataFrame")
        return polars.from_arrow(self.to_arrow())

    def query(self, asked: Asked, **options: Any) -> Answer:
        """Unbiased answers with intervals to SQL, where the table is called `release`, or to what `Select` built.

        `level` of the intervals; `simultaneous=True` for intervals that hold all at once; `method` "inverse", or
        "projection" for counts with less noise and without negative ones, whose interval is the unbiased one, made
        wider where the count lies outside.

        Of rows also `method` "likelihood", "shrinkage" or "loglinear"; `target` of the intervals, "table" or
        "population"; `assume="smooth"` for narrower intervals of conditions on numbers under wide noise, which hold
        only where the numbers are spread smoothly. Of tables also `method="model"`: the synthetic rows answer any
        question, without an interval.

        >>> import pyarrow, dproof as dp
        >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
        >>> release = dp.sanitise(pyarrow.table({"read": ["yes"] * 300 + ["no"] * 700}), plan)
        >>> [row["read"] for row in release.query("SELECT read, count(*) FROM release GROUP BY read").rows]
        ['yes', 'no']
        """
        from dproof.questions.estimated import options_of
        from dproof.questions.measured import answer
        from dproof.questions.question import resolve
        from dproof.questions.sql import as_question

        chosen, law = options_of(options), self.law
        question = resolve(as_question(asked, "release"), law.schema)
        found = answer(
            question, law.schema, lambda level: law.answer_source(self, question, chosen.at(level)), chosen.level
        )
        return self._described(found, question, chosen)

    def _described(self, answer: Answer, question: Question, options: Options) -> Answer:
        """An answer with how it was made."""

    def raw(self, sql: str) -> Answer:
        """The answer to SQL on its rows as they are."""
        from dproof.questions.raw import raw

        stored = set(self.law.stored)  # synthetic rows leave out curves
        columns = {column.name: column.sql for column in self.plan.kept if stored.issuperset(column.stored)}
        asked = {ASKED: f'"{ASKED}"'} if ASKED in stored else {}
        return raw(self.data, columns | asked, sql, private=self.private)

    def mean_curve(
        self,
        column: str,
        *,
        where: str | None = None,
        total: bool = False,
        level: float = 0.95,
        target: Target = "table",
    ) -> CurveEstimate:
        """The mean of a curve column, with a band that holds at all points at once.

        `where`, a condition in SQL; `total=True` for the total at each grid point instead; `level` of the band;
        `target` "table" (privacy noise only) or "population" (noise and sampling).

        >>> import dproof as dp, pyarrow
        >>> plan = {"privacy": {"epsilon": 1}, "columns": {
        ...     "load": {"space": "curves", "points": 9, "low": 0, "high": 2, "terms": 3}}}
        >>> dp.sanitise(pyarrow.table({"load": [[1.0] * 9] * 400}), plan).mean_curve("load").estimate.shape
        (9,)
        """
        from dproof.questions.curve_estimate import curve_question
        from dproof.questions.estimated import Options

        question = curve_question(self.law.schema, column, where, total)
        measured = self.law.answer_source(self, question, Options(level=level, target=target))
        (curve,) = measured.functions(question.select[0].expression, [0])
        if curve is None:
            raise QuestionError("the condition may select no rows, so there may be no mean: choose more rows")
        return curve  # type: ignore[no-any-return]

    def on(self, session: Any) -> Release:
        """The stored release, counted by the workers of a Spark session, who must see its folder."""

    def save(self, out: str | os.PathLike[str]) -> Release:
        """Store a release that is held in memory, in a new folder."""
