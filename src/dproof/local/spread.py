"""How the promise is spread over the columns of a row: each gets a part of ε, or one of them is asked with all of it.

What is drawn for a row that answers for one *thing* (a column, or columns by their joint value) does not depend on its
data, so the row loses what that thing loses, and no sum. Let T be the variance that the noise of one row adds to all
counts of some columns together, or to the sum of a number on [−1, 1], M the mean square of what the row adds itself, 1
or 1/3, and S the variance of that; all for evenly spread values. Over n rows the total variance of these counts is

    split     n · (Π (T_g + M_g) − Π M_g), over the laws g of the columns
    sample    n · ((T_t + S)/w_t − S), where a row is asked the thing t with probability w_t

so the best weights have w_t ∝ √Σ (T_t + S), the sum over what the thing t is asked for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isqrt, prod
from typing import Any

from dproof.columns.codec import Column
from dproof.errors import PlanError
from dproof.limits import MOST_SAMPLED
from dproof.mechanisms.mechanism import Mechanism
from dproof.plans.plan import ColumnGroup, Plan, joint_mechanism, uses_of
from dproof.privacy import Privacy

DRAWN = 1 << 16  # what all weights sum to: a word of 16 bits draws one
_MOST_PAIRS, _LARGEST_PAIR = 256, 4096  # columns are asked in pairs where there are no more, each with so many values
_UNITS_PER_GROUP = 8  # of ε for each group: the best shares are whole numbers of them
_ROUNDED = 1 << 40  # of a variance


@dataclass(frozen=True, slots=True)
class Need:
    """Columns that are counted together, and how much that counts beside the other needs."""

    columns: frozenset[str]
    weight: Fraction


def needs(plan: Plan) -> list[Need]:
    """What is asked of a release: the plan's questions and joints, or all pairs where they fit, and every column.

    >>> column = {"space": "categories", "values": ["yes", "no"]}
    >>> plan = {"privacy": {"epsilon": 1, "spread": "sample"}, "columns": dict.fromkeys("abc", column)}
    >>> [sorted(need.columns) for need in needs(Plan.of(plan))]
    [['a', 'b'], ['a', 'c'], ['b', 'c']]
    """
    private = {column.name: column for column in plan.columns if column.private}
    weights: dict[frozenset[str], Fraction] = {}
    for columns, weight in _questioned(plan):
        asked = columns.intersection(private)
        if asked:
            weights[asked] = weights.get(asked, Fraction(0)) + weight
    joints = [group.names for group in plan.groups if len(group.columns) > 1]
    weights = dict.fromkeys(joints, Fraction(1)) | weights
    pairs = [frozenset(pair) for pair in combinations(private, 2)]
    if not weights and pairs and len(pairs) <= _MOST_PAIRS and all(_fits(plan, pair) for pair in pairs):
        weights = dict.fromkeys(pairs, Fraction(1))
    covered = frozenset[str]().union(*weights)
    return [
        Need(*item) for item in (weights | {frozenset([c]): Fraction(1) for c in private if c not in covered}).items()
    ]


def _questioned(plan: Plan) -> Iterable[tuple[frozenset[str], Fraction]]:
    """The columns that each answer of the plan's questions needs."""
    for planned in plan.questions:
        needed = planned.question.columns_needed
        yield from ((columns, planned.weight / len(needed)) for columns in needed)


def _uses(plan: Plan) -> dict[str, frozenset[Any]]:
    """What the plan's questions need of each column."""
    if not plan.questions:
        return {}
    from dproof.plans.questions import uses  # takes a parser of SQL, which few plans need

    return uses(plan.questions, plan.columns)


def _fits(plan: Plan, pair: Iterable[str]) -> bool:
    spaces = [plan.column(name).sanitised for name in pair]
    return not any(space.holds_curves for space in spaces) and prod(s.size for s in spaces) <= _LARGEST_PAIR


def sampled_groups(plan: Plan) -> tuple[ColumnGroup, ...]:
    """What a row may be asked: the declared joints, and what else is needed and no joint holds."""
    declared = tuple(group for group in plan.groups if len(group.columns) > 1)
    wanted, needed = list(declared), _uses(plan)
    for need in needs(plan):
        if any(need.columns <= thing.names for thing in declared):
            continue
        columns = tuple(column for column in plan.columns if column.name in need.columns)
        curve = next((column.name for column in columns if column.space.holds_curves), None)
        if curve is not None and len(columns) > 1:
            raise PlanError(
                f"a row answers for one thing, and the curves {curve!r} cannot be joined with other columns: "
                "leave that question out, or write spread = 'split'"
            )
        alone = len(columns) == 1
        mechanism = columns[0].mechanism if alone else joint_mechanism(columns)
        # Nobody reads a pair in the few rows that were asked for it: pairs are counted.
        uses = uses_of(need.columns, needed) or (frozenset[Any]() if alone else frozenset[Any]({"values"}))
        wanted.append(ColumnGroup(columns, Fraction(1), mechanism, uses))
    if len({thing.name for thing in wanted}) < len(wanted):
        raise PlanError("two things that a row may be asked have the same name: rename a column with × in its name")
    if len(wanted) > MOST_SAMPLED:
        raise PlanError(f"a row can be asked one of {MOST_SAMPLED} things at most: leave questions or columns out")
    return tuple(wanted)


# Variances -----------------------------------------------------------------------------------------------------------


def _square(columns: Iterable[Column]) -> float:
    """M: the mean square, for evenly spread values, of what a row adds to all counts, or to sums on [−1, 1]."""
    return prod(1 / 3 if column.is_averaged else 1.0 for column in columns)


def noise(columns: Sequence[Column], mechanism: Mechanism, asked: frozenset[str] | None = None) -> float | None:
    """T: the variance that the noise of one row adds to all counts of some columns, or to the sum of a number.

    Of joined columns, those that are `asked` for. None where it is not known.
    """
    family, space = mechanism.family, mechanism.inputs
    own = [column for column in columns if asked is None or column.name in asked]
    chances = family.support_probabilities
    if any(column.is_averaged for column in own):
        if len(columns) > 1 and chances is not None:
            shown = chances[0] + (space.size - 1) * chances[1]  # values in the output of a row, on average
            return _square(own) * float(shown / (chances[0] - chances[1]) ** 2 - 1)
        return _noise_of_mean(mechanism)
    variance = family.count_variance(space)
    if variance is None:
        return None
    if len(columns) == 1 and space.items is not None:
        return variance * space.candidates
    if chances is None:
        return variance * space.size
    cells = _cells(own)
    return family.cells_variance(cells, space.size // cells)


def _noise_of_mean(mechanism: Mechanism) -> float | None:
    space = mechanism.inputs
    variance = mechanism.family.mean_variance(space)
    released = mechanism.bias_and_variance()
    if variance is None and released is not None:
        variance = released.variance
    return None if variance is None or not space.diameter else variance / (float(space.diameter) / 2) ** 2


def _cells(columns: Iterable[Column]) -> int:
    return prod(int(column.sanitised.size) for column in columns)


Laws = Sequence[tuple[tuple[Column, ...], Mechanism]]  # by the columns that each is for


def split_variance(wanted: Sequence[Need], laws: Laws) -> float | None:
    """The total variance of what is needed, for each row, where every group answers; None where it is not known."""
    return _product_total(wanted, [(columns, noise(columns, mechanism)) for columns, mechanism in laws])


def _product_total(wanted: Sequence[Need], noises: Sequence[tuple[Sequence[Column], float | None]]) -> float | None:
    total = 0.0
    for need in wanted:
        with_noise = alone = 1.0
        for columns, own in noises:
            asked = [column for column in columns if column.name in need.columns]
            if asked:
                if own is None:
                    return None
                with_noise, alone = with_noise * (own + _square(asked)), alone * _square(asked)
        total += float(need.weight) * (with_noise - alone)
    return total


def sample_variance(wanted: Sequence[Need], laws: Laws, weights: Sequence[int]) -> float | None:
    """The total variance of what is needed, for each row, where a row is asked one thing."""
    total = 0.0
    for need in wanted:
        place = _smallest_group_with(need, laws)
        own, part = _noise_and_sampling(need, *laws[place])
        if own is None:
            return None
        total += float(need.weight) * ((own + part) * DRAWN / weights[place] - part)
    return total


def _smallest_group_with(need: Need, laws: Laws) -> int:
    """The place of the smallest group of columns that holds what is needed."""
    names = [{column.name for column in columns} for columns, _ in laws]
    return min((n for n in range(len(laws)) if need.columns <= names[n]), key=lambda n: (len(names[n]), n))


def _noise_and_sampling(need: Need, columns: tuple[Column, ...], mechanism: Mechanism) -> tuple[float | None, float]:
    """The variance of an answer from each row, T, and S: what taking a part of the rows adds."""
    own = [column for column in columns if column.name in need.columns]
    part = _square(own) if any(column.is_averaged for column in own) else 1 - 1 / _cells(own)
    return noise(columns, mechanism, need.columns), part


def best_weights(wanted: Sequence[Need], laws: Laws) -> tuple[int, ...]:
    """The weights of least total variance, whole numbers that sum to 2^16; each is at least 1."""
    sums = [Fraction(0)] * len(laws)
    for need in wanted:
        place = _smallest_group_with(need, laws)
        own, part = _noise_and_sampling(need, *laws[place])
        sums[place] += need.weight * Fraction((own or 0.0) + part)  # where T is not known, sampling alone counts
    roots = [max(1, isqrt(int(each * _ROUNDED))) for each in sums]
    free = DRAWN - len(roots)
    weights = [1 + free * root // sum(roots) for root in roots]
    for place in sorted(range(len(roots)), key=lambda n: -(free * roots[n] % sum(roots)))[: DRAWN - sum(weights)]:
        weights[place] += 1
    return tuple(weights)


# Shares --------------------------------------------------------------------------------------------------------------


def best_shares(plan: Plan, calibrate: Callable[[ColumnGroup, Privacy], Mechanism]) -> list[Fraction]:
    """The part of the promise of each group: the plan's shares where it gives any, else those of least variance.

    Units of ε move from one group to another as long as that makes the total variance smaller. A release keeps the laws
    that it was made by.
    """
    groups, wanted = plan.groups, needs(plan)
    whole = sum((group.share for group in groups), Fraction(0))
    if _gives_shares(plan) or len(groups) < 2 or plan.privacy.epsilon == 0:
        return [group.share / whole for group in groups]
    units = [_UNITS_PER_GROUP] * len(groups)
    known: dict[tuple[int, int], float | None] = {}

    def part(place: int, share_units: int) -> float | None:
        if (place, share_units) not in known:
            given = plan.privacy.part(Fraction(share_units, _UNITS_PER_GROUP * len(groups)))
            known[place, share_units] = noise(groups[place].columns, calibrate(groups[place], given))
        return known[place, share_units]

    def total(moved: dict[int, int]) -> float:
        noises = [(g.columns, part(n, units[n] + moved.get(n, 0)) or 0.0) for n, g in enumerate(groups)]
        return _product_total(wanted, noises) or 0.0

    movable = [n for n in range(len(groups)) if part(n, _UNITS_PER_GROUP) is not None]
    now = total({})
    while movable:
        more = {n: total({n: 1}) for n in movable}
        less = {n: total({n: -1}) for n in movable if units[n] > 1}
        to = min(more, key=more.__getitem__)
        giver = min((n for n in less if n != to), key=less.__getitem__, default=None)
        then = now if giver is None else total({to: 1, giver: -1})
        if giver is None or then >= now:
            break
        now = then
        units[to], units[giver] = units[to] + 1, units[giver] - 1
    return [Fraction(share_units, _UNITS_PER_GROUP * len(groups)) for share_units in units]


def _gives_shares(plan: Plan) -> bool:
    tables: dict[str, Any] = tomllib.loads(plan.text)
    return any("share" in table for table in (*tables["columns"].values(), *tables.get("joint", ())))
