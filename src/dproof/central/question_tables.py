"""The tables and sums that the [[questions]] of a plan of the central model need, and what their answers cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import prod

from dproof.central.objective import Costs, cell_costs
from dproof.central.question_sums import QuestionSums, Weights
from dproof.central.workload import Domain, Residual, Table, parts
from dproof.errors import InputError
from dproof.plans.plan import Plan
from dproof.plans.reader import Misplaced
from dproof.plans.release_table import Axis, plan_axes
from dproof.plans.schema import schema_of
from dproof.questions.schema import resolve
from dproof.questions.sql import parse

_LEAST = 1e-4  # of what a cell of a table costs: what no question needs of the table gets at least so much


def with_question_tables(plan: Plan) -> Plan:
    """The plan with the tables that its questions need or, where it lists tables, with questions that these answer.

    >>> columns = {name: {"space": "categories", "values": ["x", "y", "z"]} for name in ("a", "b", "c")}
    >>> asked = [{"sql": "SELECT a, count(*) FROM release GROUP BY a"}]
    >>> asked += [{"sql": "SELECT c, count(*) FROM release WHERE b = 'x' GROUP BY c", "weight": 3}]
    >>> promise = {"model": "central", "epsilon": 1, "delta": "1e-6"}
    >>> plan = Plan.from_dict({"privacy": promise, "columns": columns, "questions": asked})
    >>> [(names, int(weight)) for names, weight in plan.asked.tables]
    [(('a',), 1), (('b', 'c'), 3)]
    """
    assert plan.asked is not None
    axes = plan_axes(plan.columns)
    tables: dict[tuple[str, ...], Fraction] = {}
    sums: dict[tuple[tuple[str, ...], str], Fraction] = {}
    for n, question in enumerate(plan.questions):
        needed = {(one.table, one.number): None for _, one in _sums(plan, axes, n)}
        for table, number in needed:
            names = tuple(axes[place].name for place in table)
            if not plan.asked.questions:
                _refuse_unlisted(plan, n, names, None if number is None else axes[number].name)
            elif number is None:
                tables[names] = tables.get(names, Fraction(0)) + question.weight
            else:
                key = names, axes[number].name
                sums[key] = sums.get(key, Fraction(0)) + question.weight
    if not plan.asked.questions:
        return plan
    used = {name for names in tables for name in names} | {name for names, number in sums for name in (*names, number)}
    for column in (column for column in plan.columns if column.private):
        if not any(axis.name in used for axis in axes if axis.column is column):
            raise Misplaced(
                ("columns", column.name), "is needed by no question: ask about it, or leave it out (drop = true)"
            )
    listed = tuple((names, number, weight) for (names, number), weight in sums.items())
    return replace(plan, asked=replace(plan.asked, tables=tuple(tables.items()), sums=listed))


def _sums(plan: Plan, axes: tuple[Axis, ...], n: int) -> list[tuple[float, Weights]]:
    """The sums that a question needs; a question that tables do not answer is refused with its place in the plan."""
    try:
        parsed = parse(plan.questions[n].sql)
        schema = replace(schema_of(plan, "release"), table=parsed.table)
        return list(QuestionSums(resolve(parsed, schema), schema, axes).every())
    except InputError as error:
        raise Misplaced(("questions", str(n + 1), "sql"), f"has no answer from tables: {error}") from None


def _refuse_unlisted(plan: Plan, n: int, names: tuple[str, ...], number: str | None) -> None:
    """Refuse a question that needs more than the tables and sums that the plan lists."""
    assert plan.asked is not None
    if number is None:
        there = any(set(names) <= set(listed) for listed, _ in plan.asked.tables)
    else:
        there = any(number == summed and set(names) <= set(listed) for listed, summed, _ in plan.asked.sums)
    if not there:
        what = f"the table of {' × '.join(names)}" if number is None else f"sums of {number}"
        by = f" by {' × '.join(names)}" if number is not None and names else ""
        raise Misplaced(
            ("questions", str(n + 1), "sql"),
            f"needs {what}{by}, which [release] does not list: add it, or leave `tables` out: then questions choose",
        )


def question_costs(plan: Plan, domain: Domain) -> list[tuple[float, Costs]]:
    """What the answer to every question costs, with its weight: the mean over its groups of the variance of each sum.

    Numbers and curves are in units of half their range, so that a mean and a share of the same rows count alike.
    """
    axes = plan_axes(plan.columns)
    return [(float(question.weight), _added(domain, _sums(plan, axes, n))) for n, question in enumerate(plan.questions)]


def _added(domain: Domain, sums: list[tuple[float, Weights]]) -> Mapping[Residual, float]:
    found: dict[Residual, float] = {}
    for weight, one in sums:
        least = cell_costs(domain, Residual(one.table, one.number))
        for residual, cost in _costs(domain, one):
            found[residual] = found.get(residual, 0.0) + weight * max(cost, _LEAST * least[residual])
    return found


def _costs(domain: Domain, one: Weights) -> Iterator[tuple[Residual, float]]:
    """The variance of a sum for each unit of the variance of a residual, on average over the groups that it has.

    ‖P_A q_A‖² = Σ_{B ⊆ A} Π_{A∖B} (−1/k) ‖q_B‖² / Π_{M∖A} k², with q_B the weights of the table M added up over M∖B.
    Weights of numbers are in units of half their range already.
    """
    k, unit = domain.sizes, domain.added(one.number).unit if one.number in domain.curves else 1
    squares: dict[Table, float] = {}
    for part in parts([one.table]):
        _, weights = one.margin(part, k)
        squares[part] = float(weights @ weights)
    groups = max(1, len(one.margin((), k)[0]))
    for part in squares:
        outside = prod(k[i] for i in one.table if i not in part)
        inside = sum(
            square * prod(-1 / k[i] for i in part if i not in inner)
            for inner, square in squares.items()
            if set(inner) <= set(part)
        )
        yield Residual(part, one.number), inside / outside**2 / groups / unit
