"""What would help a plan of the central model: each change is written down and priced as the plan itself is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil, log, pi, prod, sqrt
from statistics import fmean
from typing import Any

from dproof.advice.expect import asked_questions, cost_shares
from dproof.advice.plan_advice import CLEARLY, MOST_HINTS, Hint, part_left
from dproof.advice.ways import (
    MEAN,
    AnswerRow,
    Draft,
    Key,
    WaysTable,
    answers_of,
    asking_only,
    draft_and_plan,
    geometric_mean,
)
from dproof.central.recipe import TableLaw
from dproof.central.workload import Residual
from dproof.exact import written
from dproof.plans.plan import TableAxis
from dproof.plans.questions import PlannedQuestion

_MOST_PRICED = 20_000  # cells of all tables: with more, changes that leave as many take too long to price
_MANY_BINS, _KEPT_BINS = 8, 4  # of a number: from so many on, what fewer would give


def central_advice(law: TableLaw, table: WaysTable) -> tuple[Hint, ...]:
    """At most five changes that help clearly, the best first, with ± of one of the table's answers.

    It is the answer whose ± changes as those of all answers do in the mean. Where the plan leaves out what makes an
    answer possible at all, that comes first.

    >>> from dproof.advice.expect import law_of
    >>> from dproof.advice.ways import ways_table
    >>> columns = {f"c{n}": {"space": "categories", "values": ["a", "b", "c"]} for n in range(6)}
    >>> draft = {"privacy": {"model": "central", "epsilon": 1}, "columns": columns}
    >>> table = ways_table(draft, rows=1000)
    >>> [hint.kind for hint in central_advice(law_of(table.plan), table)]
    ['tables', 'delta', 'neighbours']
    """
    changes = _Changes(law, table)
    kinds: list[Callable[[], Iterator[Hint]]] = [changes.delta]
    kinds += [changes.questions, changes.tables, changes.rows]
    if law.domain.count(law.noise) <= _MOST_PRICED:
        kinds += [changes.sums, changes.neighbours, changes.bins]
    found = [hint for kind in kinds for hint in kind() if part_left(hint) <= CLEARLY]
    return tuple(sorted(found, key=part_left)[:MOST_HINTS])


class _Changes:
    """The changes of one plan."""

    def __init__(self, law: TableLaw, table: WaysTable) -> None:
        self.law, self.table, (self.draft, self.plan) = law, table, draft_and_plan(table.plan)
        self.release: Mapping[str, Any] = self.draft.get("release", {})
        self.way = next(way for way in table.ways if way.name == table.own)
        self.asked: list[PlannedQuestion] = []
        texts = list(dict.fromkeys(row.key[0] for row in table.answers if row.what is None))
        if texts:
            self.asked = list(asked_questions(self.plan, texts))

    def delta(self) -> Iterator[Hint]:
        """Some δ, where the plan has none: the table has that way already."""
        if self.table.own == "central_pure":
            way = next(way for way in self.table.ways if way.name == "central_delta")
            after = {row.key: row.known(way.name) for row in self.table.answers}
            yield from self._hint("delta", (), after, f'delta = "{way.title.rpartition(" ")[2]}" under [privacy]')

    def sums(self) -> Iterator[Hint]:
        """Sums of numbers, without which no mean can be asked."""
        asked, summed = self.law.asked, {number for _, number, _ in self.law.asked.sums}
        lacking = [a.name for a in self.law.axes if a.is_added_up and not a.has_curves and a.name not in summed]
        if not asked.listed or not lacking:
            return
        plan = {**self.draft, "release": {**self.release, "sums": True}}
        names: list[Key] = [(MEAN, name) for name in lacking]
        found = answers_of(self.way, plan, self.table.rows, names, []).found
        widths = [f"{name} ± {written(one.half_width)}" for (_, name), one in found.items() if one.half_width]
        if widths:
            text = f"no mean can be asked: sums = true under [release] gives the mean of {', '.join(widths[:3])}"
            yield Hint("sums", tuple(lacking), None, next(one.half_width or 0.0 for one in found.values()), text)

    def questions(self) -> Iterator[Hint]:
        """The questions declared, so that nothing else is measured."""
        asked = self.law.asked
        if self.asked and asked.listed:
            texts = [{"sql": planned.sql} for planned in self.asked]
            kept = {key: value for key, value in self.release.items() if key == "objective"}
            plan = {**asking_only(self.draft, self.asked), "release": kept, "questions": texts}
            text = "declaring your questions under [[questions]]"
            if asked.questions:
                written_keys = [f"`{key}`" for key in self.release if key not in kept]
                text = f"leaving out {' and '.join(written_keys)} under [release], if only your questions are asked"
            yield from self._priced("questions", (), plan, text)

    def tables(self) -> Iterator[Hint]:
        """Every column by itself, where tables of several are measured."""
        if self.law.asked.questions or self.plan.questions or max(map(len, self.law.tables)) < 2:
            return
        plan = {**self.draft, "release": {**self.release, "tables": 1}}
        text = "tables = 1 under [release], if no question is about two columns at once"
        if noise_alone(self.law, self.table.rows) > 1:
            text = (
                f"tables = 1 under [release]: with {self.table.rows:,} rows the noise of tables of several columns "
                "hides what they say beyond single ones"
            )
        yield from self._priced("tables", (), plan, text)

    def rows(self) -> Iterator[Hint]:
        """One row of a person, where several count."""
        if self.plan.person is not None and self.plan.rows_per_person > 1:
            plan = {**self.draft, "privacy": {**self.draft["privacy"], "rows_per_person": 1}}
            text = "rows_per_person = 1 under [privacy], if one row of each person will do: the others are left out"
            yield from self._priced("rows", (), plan, text)

    def neighbours(self) -> Iterator[Hint]:
        """The promise that others quote."""
        if self.plan.privacy.neighbours == "change-one":
            plan = {**self.draft, "privacy": {**self.draft["privacy"], "neighbours": "add-remove"}}
            text = 'neighbours = "add-remove", the promise that most other tools quote for the same ε'
            yield from self._priced("neighbours", (), plan, text)

    def bins(self) -> Iterator[Hint]:
        """Fewer bins of the number that costs most."""
        axes = self.law.axes
        costs = cost_shares(self.law, [[place] for place in range(len(axes))])
        wide = [n for n, axis in enumerate(axes) if axis.is_binned and axis.bins.size >= _MANY_BINS]
        if wide:
            axis = axes[max(wide, key=costs.__getitem__)]
            edges = _coarser(axis)
            column = {**self.draft["columns"][axis.name], "bins": edges}
            plan = {**self.draft, "columns": {**self.draft["columns"], axis.name: column}}
            text = f"{len(edges) - 1} bins of {axis.name!r} instead of {axis.bins.size}"
            yield from self._priced("bins", (axis.name,), plan, text)

    def _priced(self, kind: str, columns: tuple[str, ...], draft: Draft, text: str) -> Iterator[Hint]:
        # The usual question about a column is another one with other bins.
        names = [row.key for row in self.table.answers if row.what is not None and row.key[1] not in columns]
        found = answers_of(self.way, draft, self.table.rows, names, self.asked).found
        yield from self._hint(kind, columns, {key: one.half_width for key, one in found.items()}, text)

    def _hint(
        self, kind: str, columns: tuple[str, ...], after: Mapping[Key, float | None], text: str
    ) -> Iterator[Hint]:
        """The change, with ± of the answer that stands for all."""
        own = self.table.own
        rows = [(row, one.half_width) for row in self.table.answers if (one := row.widths[own]) and one.half_width]
        known = [(row, width, before) for row, before in rows if (width := after.get(row.key))]
        for row in self.table.answers:
            if row.widths[own] is None and (width := after.get(row.key)):
                yield Hint(kind, columns, None, width, f"{text}: {label_of(row)} is known, to ± {written(width)}")
                return
        mean = geometric_mean([(one, before) for _, one, before in known])
        if mean is not None:
            row, width, before = min(known, key=lambda each: abs(log(each[1] / each[2] / mean)))
            told = f"{text}: {label_of(row)} ± {written(width)} instead of ± {written(before)}"
            yield Hint(kind, columns, before, width, told)


def noise_alone(law: TableLaw, rows: int) -> float:
    """What Σ |share − true share| of the tables of several columns would be by their noise alone, in the mean.

    Beyond about 1 what columns would be if they were independent of each other is nearer (docs/benchmarks-central.md).
    """
    noisy = (
        prod(law.domain.sizes[place] for place in table) * law.cell_variance(Residual(table)) ** 0.5
        for table in law.tables
        if len(table) > 1
    )
    return sqrt(2 / pi) * fmean(noisy) / max(rows, 1)


def label_of(row: AnswerRow) -> str:
    """What an answer is called in a table or a sentence."""
    if row.what is None:
        return repr(row.key[1])
    return f"the {row.what} {'by' if row.what == 'count' else 'of'} {row.key[1]}"


def _coarser(axis: TableAxis) -> list[Any]:
    """Some of the edges between the bins of a number, from end to end."""
    space, each = axis.column.space.without_missing, ceil(axis.bins.size / _KEPT_BINS)
    starts = [start for start in axis.bins.starts if start < space.size]
    return [space.candidate(start) for start in starts[::each]] + [space.candidate(space.size - 1)]
