"""± of an answer before there is any data: on an even table in every model, for the worst data; and the ε for a ±.

`expect`: each model says what it would draw of a table whose values are spread evenly, or whose groups have a stated
share of the rows, if no noise were drawn; that is answered as a question always is, and ± is half of the length of its
intervals; of quantiles, which end at values, in the mean over some errors of the noise. Values of a question's columns
are taken to be independent of each other.

What holds for all tables cannot be read from one: `row_widths`, ± of what a release of rows tells of each column, for
the worst data; `TableLaw.half_widths`, ± of the cells of tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import lru_cache, partial, reduce
from math import ceil, inf, isclose, isfinite, isinf, log, prod, sqrt
from statistics import NormalDist
from typing import Any, Literal

from dproof.arguments import choice, listed, whole
from dproof.central.recipe import LEVEL, TableLaw, certify_tables
from dproof.central.workload import Residual
from dproof.columns.codec import Column, quoted
from dproof.curator.account import even_prices
from dproof.curator.preview import known_widths
from dproof.curator.recipe import measure
from dproof.errors import ArgumentError, InputError, TooLarge
from dproof.exact import exact, least_with, written
from dproof.limits import LARGEST_FOUND_EPSILON, MOST_ASKED_GROUPS, MOST_EXPECTED_ROWS
from dproof.local.recipe import JointColumns, RowLaw, certify_row
from dproof.plans.plan import Plan, TableAxis, data_schema, schema_of, true_columns
from dproof.plans.questions import PlannedQuestion, planned_question
from dproof.privacy import Cost, Privacy
from dproof.questions.aggregates import Rank
from dproof.questions.answer import Range
from dproof.questions.measured import HalfWidths, Shares, interval_widths, possible_columns, refuse_calculation
from dproof.questions.partition import declared_labels
from dproof.questions.question import (
    Aggregate,
    Compare,
    Contains,
    Item,
    Key,
    Missing,
    Not,
    Predicate,
    Question,
    Schema,
    aggregates_of,
    asks_for_curves,
    both,
    condition,
    resolve,
)
from dproof.recipe import Recipe, ReleaseRecipe

Way = Literal["release", "ask"]
_LEAST_EPSILON = Fraction(1, 10**6)  # that is tried
DEVIATIONS = NormalDist().inv_cdf((1 + LEVEL) / 2)
_BIAS = 1e-9  # of the interval's length, which rounding floats may feign
_FEW, _MANY = 10**2, 10**9  # rows: a ± that is the same with both does not depend on their number
_ALIKE = 1e-6  # of a ±
_TRIED = 12  # numbers of questions, in search of that from which on a release is as sharp


@dataclass(frozen=True, slots=True)
class ExpectedWidth:
    """± at 95% of one column of the answer to a question, over its groups; None where it is not known beforehand.

    It is that of a table whose values are spread evenly, or as `share_of_rows` and `mean` of a planned question say.
    `rare` is the greatest ± where values are uneven (see `Shares`): a group, or a condition, has a tenth of the rows
    that it would have, half of the values are missing, a mean lies near an end of its range, as far as nothing is
    stated; beside a stated mean that of other rows lies near the other end. It is None where that makes no difference,
    infinite where the answer would tell nothing. `exact` is whether ± is the same whatever the data are, as far as that
    is known; `possible` is what the answer can be at all; `refused` why this way gives none.
    """

    question: str
    column: str
    weight: Fraction
    widths: HalfWidths | None
    rare: float | None = None
    possible: Range = field(default_factory=Range)
    share_of_rows: Fraction | None = None
    exact: bool = False
    refused: str | None = None

    @property
    def half_width(self) -> float | None:
        """± over all groups, in the root of the mean square; None where nothing would be known."""
        return self.widths.typical if self.widths is not None and isfinite(self.widths.typical) else None

    @property
    def rare_told(self) -> float | None:
        """± of a rare group; None where it is no other one, or where it would tell nothing."""
        return self.rare if self.rare is not None and isfinite(self.rare) else None

    @property
    def informative(self) -> bool:
        """Whether the answer would leave out anything that is possible: if not, it tells nothing."""
        return self.possible.is_narrowed_by(None if self.widths is None else self.widths.typical)

    def known(self, half_width: float | None) -> ExpectedWidth:
        """With the ± that it has whatever the data are, if there is one."""
        if half_width is None:
            return self
        error = None if self.widths is None else self.widths.error
        return replace(self, widths=HalfWidths(half_width, half_width, half_width, error), rare=None, exact=True)


def expect(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    *,
    rows: int | None,
    questions: str | Sequence[str] | None = None,
    way: Way = "release",
) -> tuple[ExpectedWidth, ...]:
    """± of every column of the answers to some questions, about a table of `rows` rows.

    The questions are the plan's own [[questions]] where none are given; each asks FROM data or FROM release. `way` is
    "release" for a release by the plan's own model, or "ask" for `Curator.ask` with all of ε for each question. Without
    a number of rows ± is told where it does not depend on it.

    >>> columns = {"read": {"space": "categories", "values": ["yes", "no"]}}
    >>> central = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns}
    >>> found = expect(central, rows=5000, questions="SELECT count(*) AS n FROM data WHERE read = 'yes'")
    >>> [(one.column, round(one.half_width or 0, 1)) for one in found]
    [('n', 3.0)]
    """
    chosen = Plan.of(plan)
    choice(way, ("release", "ask"), "way")
    rows = None if rows is None else whole(rows, "rows", 1, MOST_EXPECTED_ROWS)
    asked = asked_questions(chosen, questions)
    if way == "ask":
        return tuple(one for planned in asked for one in expected_of_asking(chosen, planned, rows))
    law = law_of(chosen)
    return tuple(one for planned in asked for one in expected_of_release(law, planned, rows))


@lru_cache(maxsize=32)  # a form and its advice look at the same plans again and again
def law_of(plan: Plan) -> ReleaseRecipe[Any]:
    """What draws a release by the plan, whatever its model; no data is involved."""
    return certify_tables(plan) if plan.model == "central" else certify_row(plan)


def law_if_allowed(plan: Plan) -> ReleaseRecipe[Any] | None:
    """What draws a release by the plan; None where its neighbours allow none, so that a curator must be asked."""
    return law_of(plan) if plan.model == "central" or plan.has_row_law else None


def asked_questions(plan: Plan, questions: str | Sequence[str] | None) -> Sequence[PlannedQuestion]:
    """The questions of the plan, or those given: these count alike, and what the plan knows of their rows it knows."""
    asked: Sequence[PlannedQuestion] = plan.questions
    if questions is not None:
        known = {one.sql: one for one in plan.questions}
        texts = (
            [questions] if isinstance(questions, str) else listed(questions, "questions", "one or more texts of SQL")
        )
        known = {sql: replace(one, weight=Fraction(1)) for sql, one in known.items()}
        asked = [known.get(str(text)) or planned_question(text, plan.columns) for text in texts]
    if not asked:
        raise ArgumentError("questions must be one or more: give them here, or as [[questions]] in the plan")
    return asked


def expected_of_release(law: ReleaseRecipe[Any], planned: PlannedQuestion, rows: int | None) -> list[ExpectedWidth]:
    """± of each column of the answer to one question, from a release by this law."""
    schema = law.schema
    try:
        question = resolve(replace(planned.question, table=schema.table), schema)
    except InputError as error:  # such as whether curves are missing, which a release without missing ones cannot tell
        return _refused(planned, error)
    if not isinstance(law, RowLaw):
        return _expected(planned, question, law, rows)
    _check_numbers_of_groups(question, schema)
    parts = _parts_of_local_answers(question, schema, planned.share_of_rows is not None)
    try:
        for expression in question.expressions:
            if not isinstance(expression, Aggregate):
                refuse_calculation(expression, [a for a in aggregates_of(expression) if a.definition.formula is None])
        return _expected(planned, question, law, rows, parts)
    except InputError as error:  # a law that cannot be undone, or columns that no row is asked for together
        return _refused(planned, error)


def expected_of_asking(plan: Plan, planned: PlannedQuestion, rows: int | None) -> list[ExpectedWidth]:
    """± of each column of the answer to one question, from `Curator.ask` with all of the budget."""
    return sharing_evenly(plan, [planned], rows)[0][1][0]


def sharing_evenly(
    plan: Plan, asked: Sequence[PlannedQuestion], rows: int | None
) -> list[tuple[Cost | None, list[list[ExpectedWidth]]]]:
    """± of questions that share the budget evenly, by each way to price them: that which is the sharpest for all first.

    Where so many leave nothing for one of them, there is no price.
    """
    options: list[tuple[Cost | None, list[list[ExpectedWidth]]]] = [
        (price, [expected_at(plan, planned, rows, price) for planned in asked])
        for price in even_prices(plan.privacy, len(asked))
    ]
    options.sort(key=lambda option: blur(one for found in option[1] for one in found))
    nothing = InputError("so many questions leave nothing for one of them")
    return options or [(None, [_refused(planned, nothing) for planned in asked])]


def blur(widths: Iterable[ExpectedWidth]) -> tuple[int, float]:
    """What is least where answers are sharpest together: how many tell nothing, and the logarithms of the others' ±."""
    told = [one.half_width for one in widths if one.informative and one.half_width is not None]
    return -len(told), sum(log(max(width, _BIAS)) for width in told)


def turning_point(at: Callable[[int], Iterable[tuple[Cost | None, float | None]]], many: int) -> int | None:
    """The number of questions that share the budget from which on ± of a release is no wider than that of asking.

    `at` a number of questions, by each way to price them, is how many times as wide ± of the release is, None where
    asking tells nothing. That falls about as their number grows, or at a price in ρ as its root does. It is looked at
    for `many` first.
    """
    sharper, wider = 0, inf  # numbers for which asking is sharper, and for which it is not
    for _ in range(_TRIED):
        known = [(price, times) for price, times in at(many) if times is not None]
        found = max((many * times ** (2 if price and price.rho else 1) for price, times in known), default=None)
        if found is None and many == 1:
            return None
        sharper, wider = (many, wider) if found is not None and found > many else (sharper, many)
        if wider == sharper + 1:
            break
        guess = (sharper + many) // 2 if found is None else 2 * many if isinf(found) else ceil(found)
        many = int(min(max(guess, sharper + 1), wider - 1))
    return int(wider) if isfinite(wider) else many


def expected_at(plan: Plan, planned: PlannedQuestion, rows: int | None, price: Cost) -> list[ExpectedWidth]:
    """± of each column of the answer to one question, from `Curator.ask` at this price."""
    privacy = Privacy(price.epsilon, price.delta, neighbours=plan.privacy.neighbours)
    try:
        schema, question = _asked_of(plan.columns, planned.question)
        measurement = measure(question, schema, privacy, rho=price.rho, unit=plan.unit)
        known = known_widths(measurement, LEVEL, rows if plan.rows_are_public else None)
    except InputError as error:  # a curator cannot be asked about public columns, whose values nobody declared
        return _refused(planned, error)
    is_covariance = measurement.curves is not None and measurement.curves.is_covariance
    found = _expected(planned, question, measurement, rows, [] if is_covariance else None)
    return [one.known(known[one.column][0]) for one in found]


@lru_cache(maxsize=8)  # at every price and every ε that is tried, what a row does to the sums is the same
def _asked_of(columns: tuple[Column, ...], question: Question) -> tuple[Schema, Question]:
    """The schema of a private table with these columns, and the question as it has been checked for it."""
    schema = data_schema(columns, true_columns(columns))
    return schema, resolve(replace(question, table=schema.table), schema)


def _refused(planned: PlannedQuestion, error: InputError) -> list[ExpectedWidth]:
    """The columns of an answer that cannot be had this way."""
    items, why = [item.alias for item in planned.question.select if aggregates_of(item.expression)], sentence_of(error)
    return [ExpectedWidth(planned.sql, alias, planned.weight, None, refused=why) for alias in items]


def sentence_of(error: InputError) -> str:
    """What is wrong, without the place in a plan that nobody wrote."""
    return str(getattr(error, "sentence", error))


def _check_numbers_of_groups(question: Question, schema: Schema) -> None:
    """Refuse a group for each of very many numbers: from noisy rows each is worked out by itself, for minutes."""
    keys = [key for key in question.group_by if schema.spaces[key.column].line is not None]
    groups = prod(len(declared_labels(key, schema)) for key in keys)
    if groups > MOST_ASKED_GROUPS:
        names = " and ".join(dict.fromkeys(repr(key.column) for key in keys))
        raise TooLarge(
            f"the question has {groups:,} groups of {names}, and ± is told of {MOST_ASKED_GROUPS:,} at most where rows "
            "have noise: declare `bins`, or group by ranges with CASE"
        )


def _parts_of_local_answers(question: Question, schema: Schema, of_groups: bool) -> list[Question]:
    """Every column by itself, as rows may not be asked for the columns of all together; but for those of curves, whose
    band is not one ±, and those that are chosen by counts, or are an extreme, whose ± depends on the data. So does that
    of a quantile `of_groups` with a stated share of the rows."""
    if asks_for_curves(question, schema):
        return []
    known = (None,) if of_groups else (None, Rank())
    items = [
        item
        for item in question.select
        if all(a.definition.chosen in known and a.definition.counts != "values" for a in aggregates_of(item.expression))
    ]
    return [replace(question, select=(item,)) for item in items]


def _expected(
    planned: PlannedQuestion,
    question: Question,
    recipe: Recipe,
    rows: int | None,
    parts: Sequence[Question] | None = None,
) -> list[ExpectedWidth]:
    """± of each column, for the share of the rows that the plan states, or for even values and for a rare group.

    `parts` are what is asked instead of the question as a whole, if they are given.
    """
    schema = recipe.schema

    def widths(count: int, shares: Shares) -> dict[str, HalfWidths | None]:
        found: dict[str, HalfWidths | None] = {}
        for part in [question] if parts is None else parts:
            # Every group may be shown, and all items of a set are alike.
            first = None if part.unnest is None else replace(part.unnest, items=part.unnest.items[:1])
            one_item = replace(part, unnest=first)
            everywhere = replace(one_item, having=(), order_by=(), limit=None)
            at = partial(recipe.expected_source, everywhere, count, shares)
            _refuse_what_chooses(one_item, recipe, count, shares)
            found |= interval_widths(part, schema, at, LEVEL)
        return found

    stated, mean = planned.share_of_rows, planned.mean
    by_rows = [widths(count, Shares(stated, False, mean)) for count in ((_FEW, _MANY) if rows is None else (rows,))]
    has_curves = any(schema.spaces[name].holds_curves for name in question.columns)
    rare = {} if has_curves or rows is None else widths(rows, Shares(stated, True, mean))
    # A band that is too wide at one point may still tell something at another.
    reach = {} if has_curves else possible_columns(question, schema, rows)
    expected = []
    for item in question.select:
        if aggregates_of(item.expression):
            first, *others = (found.get(item.alias) for found in by_rows)
            same = all(other and first and isclose(other.greatest, first.greatest, rel_tol=_ALIKE) for other in others)
            facts = reach.get(item.alias, Range()), stated
            told = _rare_width(first, rare.get(item.alias), facts[0])
            one = ExpectedWidth(planned.sql, item.alias, planned.weight, first if same else None, told, *facts)
            expected.append(one)
    return expected


def _refuse_what_chooses(question: Question, recipe: Recipe, rows: int, shares: Shares) -> None:
    """Refuse a calculation by which HAVING or ORDER BY choose, where an answer would be refused for it."""
    chosen_by = *question.tested, *(order.expression for order in question.order_by)
    if any(aggregates_of(part) and not isinstance(part, Aggregate) for part in chosen_by):
        source = recipe.expected_source(question, rows, shares, LEVEL)
        for expression in question.expressions:
            if aggregates_of(expression):
                source.cells(expression, [0])


def _rare_width(common: HalfWidths | None, rare: HalfWidths | None, reach: Range) -> float | None:
    """± of a rare group where it is wider: infinite where it would tell nothing."""
    if common is None or rare is None or not reach.is_narrowed_by(common.greatest):
        return None
    if rare.greatest <= common.greatest * (1 + _ALIKE):
        return None
    return rare.greatest if reach.is_narrowed_by(rare.greatest) else inf


def means_by_tables(law: TableLaw, rows: int) -> dict[str, float | None]:
    """± of the mean of a number, or of curves, in each cell of the tables of their sums, by what is measured."""
    together: dict[Any, list[Residual]] = {}
    added = {key: law.axes[key.number] for key in law.sums if key.number is not None}
    for key, axis in added.items():  # numbers by the same columns are asked for together, and curves alone
        together.setdefault((key.table, axis.name if axis.has_curves else None), []).append(key)
    found: dict[str, float | None] = {}
    for keys in together.values():
        items = [Item(law.measured_name(key), Aggregate("avg", (added[key].name,))) for key in keys]
        cells = [_of_cell(law.axes[place]) for place in keys[0].table]
        where = reduce(both, (cell for cell in cells if not isinstance(cell, Key)), None)
        by = tuple(cell for cell in cells if isinstance(cell, Key))
        asked = resolve(Question(law.schema.table, tuple(items), where, by), law.schema)
        widths = interval_widths(asked, law.schema, partial(law.expected_source, asked, rows, Shares()), LEVEL)
        found |= {name: each.typical if each and isfinite(each.typical) else None for name, each in widths.items()}
    return found


def _of_cell(axis: TableAxis) -> Key | Predicate:
    """What tells the cells of a measured table apart along a column; of an item of sets the rows that hold it."""
    name, items = axis.column.name, axis.column.space.items
    if axis.has_curves:
        return Not(Missing(name))
    if items is None or axis.item is None:
        return Key(name)
    return Contains(name, items[axis.item]) if axis.is_item else Missing(name)


# The usual question about a column -----------------------------------------------------------------------------------


def usual_question(plan: Plan, column: str) -> PlannedQuestion:
    """The question for the count of the first value, item or bin of a column, or for its mean.

    >>> age = {"space": "interval", "low": 0, "high": 110, "step": 1}
    >>> usual_question(Plan.of({"privacy": {"epsilon": 1}, "columns": {"age": age}}), "age").sql
    'SELECT avg("age") FROM release'
    """
    space, schema = plan.column(column).space, schema_of(plan, "release")
    if plan.column(column).is_averaged:
        return planned_question(f"SELECT avg({quoted(column)}) FROM release", plan.columns)
    value = _in_sql(space.candidate(0))
    where: Predicate = Compare(column, "=", value)
    if space.items is not None:
        where = Contains(column, value)
    elif column in schema.bins and space.has_order and space.without_missing.line is not None:
        # Categories that are numbers have an order, too, but may be declared in another one.
        starts = [space.label(start) for start in schema.bins[column].starts if start != space.absent]
        where = Compare(column, "<", _in_sql(starts[1])) if len(starts) > 1 else Not(Missing(column))
    return planned_question(f"SELECT count(*) FROM release WHERE {condition(where)}", plan.columns)


def _in_sql(value: Any) -> Any:
    """A value of a space as a question has it: a date is its ISO text, a number is exact."""
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, (str, bool)) else exact(value)


# ± whatever the data are ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowWidths:
    """± at 95% of a count, a mean and the number of missing values of a group of columns; None where there is none."""

    count: float | None
    mean: float | None
    missing: float | None


def row_widths(law: RowLaw, rows: int) -> dict[str, RowWidths]:
    """± of what `rows` sanitised rows tell of each group of columns, debiased, at its worst.

    Of sets it is the count of rows that hold an item; of numbers the mean is told under an unbiased law.

    >>> columns = {"read": {"space": "categories", "values": [0, 1]}}
    >>> law = certify_row(Plan.from_dict({"privacy": {"epsilon": 1}, "columns": columns}))
    >>> round(row_widths(law, 10_000)["read"].count, 1)
    188.1
    """
    if rows < 0:
        raise ArgumentError("the number of rows cannot be negative")
    found = {}
    for group, chance in zip(law.groups, law.chances, strict=True):
        inputs, shown = group.mechanism.inputs, shown_chances(group)
        count, mean = group.mechanism.family.count_variance(inputs), _mean_variance(group) if rows else None
        missing = None
        if shown is not None:
            apart = float(shown[0] - shown[1])
            most = float(max(chance_shown * (1 - chance_shown) for chance_shown in shown))
            missing = DEVIATIONS * sqrt(rows * _of_part(most, apart**2 / 4, chance)) / apart
        if count is not None:
            count = DEVIATIONS * sqrt(rows * _of_part(count, 0.25, chance))
        if mean is not None:
            mean = DEVIATIONS * sqrt(_of_part(mean, float(inputs.diameter) ** 2 / 4, chance) / rows)
        found[group.name] = RowWidths(count, mean, missing)
    return found


def readable_widths(law: RowLaw, rows: int) -> dict[str, float | None]:
    """± of a count of each group whose rows hold codes, if they held values: the price of rows that can be read."""
    laws = {group.name: group.mechanism for group in law.groups}
    chosen = law.plan.chosen_bins  # of numbers that are no values to read in any case
    coded = [n for n, own in laws.items() if own.inputs.is_counted and own.outputs != own.inputs and n not in chosen]
    if not coded:
        return {}
    from dproof.local.mechanisms import READABLE, choose  # designs are loaded where a law is chosen

    def readable(group: JointColumns) -> JointColumns:
        space = group.mechanism.inputs
        return replace(group, mechanism=choose(space, group.privacy, READABLE[space.mechanisms]))

    known = row_widths(replace(law, groups=tuple(readable(g) if g.name in coded else g for g in law.groups)), rows)
    return {name: known[name].count for name in coded}


def _of_part(variance: float, sampling: float, chance: Fraction) -> float:
    """The variance for each row of a sum over all rows, from the rows that were asked, each with this chance.

    Sampling is that of the true values, at its worst.
    """
    return variance if chance == 1 else (variance + float(1 - chance) * sampling) / float(chance)


def _mean_variance(group: JointColumns) -> float | None:
    """The variance of a released number, at its worst, from which a mean is right on average; None where none is."""
    released = group.mechanism.bias_and_variance()
    if released is not None and released.bias <= _BIAS * float(group.mechanism.inputs.diameter):
        return released.variance
    return group.mechanism.family.mean_variance(group.mechanism.inputs)


def shown_chances(group: JointColumns) -> tuple[Fraction, Fraction] | None:
    """How likely a value is shown that is there, and a missing one, where missing values are kept apart."""
    if group.mechanism.inputs.present is None:
        return None
    absent = group.mechanism.outputs.absent
    assert absent is not None
    return group.mechanism.family.shown_chances(absent)


def too_noisy_message(law: TableLaw, rows: float) -> str | None:
    """A sentence where no count says more than that there are so many rows, as is public or measured; else None."""
    least, rows = law.least_half_width, max(rows, 0.0)
    if least < max(rows, 1.0):
        return None
    return (
        f"no count says anything about {written(rows)} row{'s' * (rows != 1)}: the sharpest has ± {written(least)}; "
        "allow a larger epsilon, or ask for fewer and smaller tables"
    )


def unused_delta(law: TableLaw) -> str | None:
    """A sentence where the plan allows a δ that its tables do not use; None where they do."""
    allowed = law.plan.privacy.delta
    if law.person.delta == allowed:
        return None
    return (
        f"The plan allows δ = {written(allowed)}, and the release will not use it: Laplace noise, which needs no δ, "
        "has the smaller error for these tables."
    )


def cost_shares(law: TableLaw, groups: Sequence[Collection[int]]) -> list[float]:
    """For each group of axes, the part of the privacy loss that goes to measurements with one of them."""
    costs = {
        measured: cost if law.is_pure else law.domain.norm(measured) / cost for measured, cost in law.noise.items()
    }
    losses = {measured: float(cost) for measured, cost in costs.items()}
    total = sum(losses.values()) or 1.0
    used = [{place for place in (*measured.table, measured.number) if place is not None} for measured in losses]
    return [
        sum(loss for loss, places in zip(losses.values(), used, strict=True) if not places.isdisjoint(group)) / total
        for group in groups
    ]


# The ε for a ± -------------------------------------------------------------------------------------------------------


def epsilon_for(plan: Plan, rows: int, half_width: Any, questions: str | Sequence[str] | None = None) -> Fraction:
    """The least ε, to three digits, with which answers about `rows` rows are right to ± the half-width.

    The answers are those to the questions given, else every count, whatever the data are: of categories, sets and
    joined columns that are sanitised, of the cells of measured tables, or of one value where a curator is asked. The
    shares, δ and everything else stay as the plan has them.
    """
    wanted, rows = exact(half_width, "the half-width"), whole(rows, "rows", 1, MOST_EXPECTED_ROWS)
    if wanted <= 0:
        raise ArgumentError("the half-width must be positive")
    asked = [] if questions is None else asked_questions(plan, questions)
    if not asked and plan.model == "local" and not any(group.space.is_counted for group in plan.groups):
        raise ArgumentError("no column of the plan is counted: choose epsilon by the error of its values instead")

    def widest(epsilon: Fraction) -> float | None:
        promise = Privacy(epsilon, plan.privacy.delta, neighbours=plan.privacy.neighbours)
        with suppress(InputError):  # so small an ε allows no noise that can be drawn
            return max(_widths(replace(plan, privacy=promise), asked, rows), default=inf)
        return None

    most = Fraction(LARGEST_FOUND_EPSILON)
    found = least_with(widest, wanted, plan.privacy.epsilon, _LEAST_EPSILON, most, 3)
    if found is None:
        what = "that answer" if asked else "every count"
        raise ArgumentError(
            f"no epsilon up to {LARGEST_FOUND_EPSILON} makes {what} over {rows} rows accurate to ± {half_width}: "
            "ask for a larger ±, or give the plan fewer columns"
        )
    return found


def _widths(plan: Plan, asked: Sequence[PlannedQuestion], rows: int) -> list[float]:
    """± of the answers, or of every count; infinite where it is not known beforehand."""
    law = law_if_allowed(plan)
    if law is None:
        counted = [c.name for c in plan.columns if c.private and not c.is_averaged and not c.space.holds_curves]
        asked = asked or [usual_question(plan, name) for name in counted]
    if law is None or asked:
        answers = (
            expected_of_asking(plan, planned, rows) if law is None else expected_of_release(law, planned, rows)
            for planned in asked
        )
        return [inf if width.half_width is None else width.half_width for each in answers for width in each]
    if isinstance(law, TableLaw):
        return [table.half_width for table in law.half_widths if table.sum_of is None]
    assert isinstance(law, RowLaw)
    counts = row_widths(law, rows)
    known = [counts[group.name].count for group in law.groups if group.mechanism.inputs.is_counted]
    return [inf if count is None else count for count in known]
