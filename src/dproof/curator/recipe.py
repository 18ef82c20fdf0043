"""The recipe of one question to a curator: which numbers get which noise, and which are chosen, at its price.

All of it is decided from public knowledge alone.
Counts, sums and moments get whole-number noise, scaled so that all of them together cost ε: a row that moves one of
them far moves another less, and the exact joint effect of every possible row is known. Quantiles, extremes, modes and
top lists are chosen by how many rows miss the mark. Different aggregates share the price (`price`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dproof.curator.curves import CurveSums, curve_sums
from dproof.curator.price import Noises, Price
from dproof.curator.select import Chosen, choice_of
from dproof.curves.lattice import Expansion
from dproof.errors import QuestionError, TooLarge
from dproof.exact import root_above
from dproof.mechanisms.noise import Noise, demand_noise, integer_laplace
from dproof.privacy import Privacy, Unit
from dproof.questions.aggregates import Frequent
from dproof.questions.measured import rows_of_group, values_of
from dproof.questions.partition import declared_labels, grouping
from dproof.questions.question import (
    Aggregate,
    Arithmetic,
    Expression,
    Key,
    Question,
    Schema,
    asks_for_curves,
    both,
    expression,
    leaves,
    normalise,
)
from dproof.questions.sensitivity import Coordinate, Effects, effects
from dproof.questions.sums import Term, present, terms

_MOST_CHOICES = 1 << 14  # groups, each with a choice of its own
_MOST_COUNTS = 1 << 16  # of values in groups, for numbers of distinct values
_USUAL = Fraction(19, 20)  # the level at which two kinds of noise are compared
_MOST_GROUPS = 1000  # that are answered without being asked for expressly


@dataclass(frozen=True, slots=True)
class Noisy:
    """A sum over rows, or a number of distinct values, and its noise; None where no row can move it.

    The number itself has noise, or the count of each of so many `values`.
    """

    statistic: Term | Aggregate
    sensitivity: int
    noise: Noise | None
    values: int | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything that is public about an answer before it is given."""

    question: Question
    keys: tuple[Key, ...]
    schema: Schema
    price: Price
    unit: Unit
    noisy: tuple[Noisy, ...]
    chosen: tuple[Chosen, ...]
    curves: CurveSums | None = None  # where curves are asked for, and then nothing else is
    cut: Fraction = Fraction(0)  # of its noise, see `privacy.Cost`

    @property
    def privacy(self) -> Privacy:
        return self.price.privacy

    @property
    def groups(self) -> int:
        """How many groups are declared, those of values that are not there included."""
        return math.prod(len(grouping(key, self.schema).labels) for key in self.keys)

    @property
    def partition(self) -> Term | None:
        """The noisy count of every row in its group: where the number of rows is public, what it must add up to."""
        every = Term((), None)
        known = self.unit.rows_are_public and self.question.where is None
        return every if known and any(n.statistic == every and n.noise is not None for n in self.noisy) else None

    @property
    def free(self) -> bool:
        """Whether no row can move anything: then there is nothing to pay."""
        return self.curves is None and not self.chosen and all(noisy.noise is None for noisy in self.noisy)

    def declared_groups(self) -> tuple[list[tuple[Any, ...]], NDArray[np.int64]]:
        """The labels of every declared group, and the place of each among the released numbers."""
        groupings = {key: grouping(key, self.schema) for key in self.question.group_by}
        labels = [declared_labels(key, self.schema) for key in groupings]
        sizes = [len(declared) for declared in labels]
        chosen = dict(zip(groupings, np.indices(sizes).reshape(len(sizes), math.prod(sizes)), strict=True))
        places = np.zeros(math.prod(sizes), np.int64)
        for key in self.keys:
            places = places * len(groupings[key].labels) + chosen[key]
        return list(product(*labels)), places


def measure(
    question: Question,
    schema: Schema,
    privacy: Privacy,
    *,
    rho: Fraction | None = None,
    unit: Unit | None = None,
    by_value: bool = True,
) -> Measurement:
    """How to answer a checked question at this price; with `rho`, which must keep it, by noise that has this ρ.

    `unit` is whose loss is counted; unless it is given, that of a row. Without `by_value` a number of distinct values
    has noise itself, also where the counts of the values would tell more.

    >>> from dproof.questions.question import resolve
    >>> from dproof.questions.sql import parse
    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"sex": Categories(["f", "m"])})
    >>> question = resolve(parse("SELECT sex, count(*) FROM data GROUP BY sex"), table)
    >>> [(part.sensitivity, part.noise.name) for part in measure(question, table, Privacy(1)).noisy]
    [(2, 'Laplace')]
    """
    # One order for all spellings of a question, so that what was released for one serves the others.
    wanted = sorted(question.aggregates, key=expression)
    keys = tuple(sorted(question.group_by, key=expression))
    unit = unit or Unit(privacy.neighbours)
    assert unit.neighbours == privacy.neighbours, "the price is for other neighbours than the unit"
    rows_per_person = unit.rows_per_person
    for column in question.columns:
        if schema.is_open(column):
            raise QuestionError(
                f"column {column!r} has no declared values in the plan: give it a space to ask about it"
            )
    price = Price(privacy, rho)
    if rho is not None:
        demand_noise(privacy.epsilon, privacy.delta)
    if asks_for_curves(question, schema):
        return _measured_curves(question, keys, schema, price, unit)
    for part in question.expressions:
        _check_numbers(part, schema, alone=True)
    for test in question.having:
        _check_numbers(test.left, schema)
        _check_numbers(test.right, schema)
    sums = [aggregate for aggregate in wanted if terms(aggregate, schema)]
    distinct = [aggregate for aggregate in wanted if aggregate.definition.counts == "values"]
    picked = [aggregate for aggregate in wanted if aggregate not in sums and aggregate not in distinct]
    groups = math.prod(len(grouping(key, schema).labels) for key in keys)
    several = groups > 1
    share = Fraction(1, max(1, len(wanted)))  # the keys alone are public
    moved = rows_per_person * (2 if several and privacy.neighbours == "change-one" else 1)
    cells = moved if several else 1  # the numbers of one aggregate that one person can move
    linear, cut = _linear(question, schema, price.part(share * len(sums)), unit, sums, cells)
    one, counts = price.part(share), []
    for aggregate in distinct:
        counted, more = _distinct(aggregate, schema, one, unit, groups, by_value=by_value)
        counts.append(counted)
        cut += more
    if picked and groups > _MOST_CHOICES:
        raise TooLarge(f"a value would be chosen in each of {groups} groups: ask for {_MOST_CHOICES} at most")
    choices = [choice_of(a, schema, one.pure, rows_per_person, groups) for a in picked]
    return Measurement(question, keys, schema, price, unit, (*linear, *counts), tuple(choices), None, cut)


def _distinct(
    aggregate: Aggregate, schema: Schema, price: Price, unit: Unit, groups: int, *, by_value: bool
) -> tuple[Noisy, Fraction]:
    """Noise for a number of distinct values: for the count of each value where the number would tell little.

    That is where an interval of the number would be half of what it can be or wider. A row adds to the count of its
    value, or of each item that it holds.
    """
    rows, values, both_move = unit.rows_per_person, values_of(aggregate, schema), unit.neighbours == "change-one"
    held = values if aggregate.definition.of_items else 1
    where = 2 if groups > 1 and both_move else 1  # a row moves from one group to another
    made = price.noise(rows * where * held, where * (rows * held) ** 2, rows * where if groups > 1 else 1)
    if not by_value or 4 * made.of[0].quantile(_USUAL) < values or groups * values > _MOST_COUNTS:
        return Noisy(aggregate, rows * where * held, made.of[0]), made.cut
    moving = min(2 * held, groups * values) if both_move else held
    made = price.noise(rows * moving, rows * rows * moving, rows * moving)
    return Noisy(aggregate, rows * moving, made.of[0], values), made.cut


def _measured_curves(
    question: Question, keys: tuple[Key, ...], schema: Schema, price: Price, unit: Unit
) -> Measurement:
    """How to answer SELECT keys, AVG(curve) or SUM(curve) or COVAR(curve, curve) FROM data WHERE .. GROUP BY keys."""
    aggregate, *more = question.aggregates
    column = aggregate.columns[0]
    if more or aggregate.where is not None:
        raise QuestionError(
            f"ask one of AVG({column}), SUM({column}) and COVAR({column}, {column}) of the curves {column!r} "
            "at a time, with WHERE for a condition"
        )
    # Only the curves that are there are measured; then how many these are is private.
    there = present(aggregate, schema)
    every = question.where in (None, there) and not keys and unit.rows_are_public
    if aggregate.definition.shape == "curved" and not every:
        raise QuestionError(
            "the covariance of curves is for all rows, of a public number: "
            "ask without WHERE and GROUP BY, under change-one neighbours"
        )
    where = both(question.where, there)
    question = replace(question, where=None if where is None else normalise(where))
    groups = math.prod(len(grouping(key, schema).labels) for key in keys)
    public, space = every and question.where is None, cast(Expansion, schema.spaces[column])
    sums = curve_sums(aggregate, space, price, public=public, groups=groups, rows_per_person=unit.rows_per_person)
    return Measurement(question, keys, schema, price, unit, (), (), sums, sums.cut)


def check_groups(question: Question, schema: Schema) -> None:
    """Refuse groups that nobody would read, as every set of many items is: each gets noise, and is paid for."""
    groups = rows_of_group(question) * math.prod(len(declared_labels(key, schema)) for key in question.group_by)
    if groups > _MOST_GROUPS:
        raise QuestionError(
            f"the question has {groups:,} groups, and more than {_MOST_GROUPS:,} are answered only with --all (in "
            "Python all_groups=True): group by fewer columns or wider bins, or ask for items of a set by list_contains"
        )


def _check_numbers(formula: Expression, schema: Schema, *, alone: bool = False) -> None:
    """Refuse a calculation or a comparison with what is no number; `alone` lets anything stand on its own."""
    if alone and not isinstance(formula, Arithmetic):
        return
    for part in leaves(formula):
        if isinstance(part, Key) and (not schema.spaces[part.column].has_numbers or isinstance(formula, Arithmetic)):
            raise QuestionError("a calculation takes aggregates and numbers, not the columns of GROUP BY")
        chosen = part.definition.chosen if isinstance(part, Aggregate) else None
        if isinstance(part, Aggregate) and isinstance(chosen, Frequent):
            if not chosen.several and schema.spaces[part.columns[0]].has_numbers:
                continue
            raise QuestionError("a mode or a top list is not a number to calculate with: ask for it on its own")


def _linear(
    question: Question,
    schema: Schema,
    price: Price,
    unit: Unit,
    sums: list[Aggregate],
    cells: int,
) -> tuple[list[Noisy], Fraction]:
    """Noise for all sums over rows together, and what its tables may miss."""
    needed = list(dict.fromkeys(term for aggregate in sums for term in terms(aggregate, schema)))
    if not needed:
        return [], Fraction(0)
    neighbours, rows = unit.neighbours, unit.rows_per_person
    coordinates = [Coordinate(0, ((Fraction(1), term),)) for term in needed]
    row_effects = effects(schema, [question], coordinates)
    if not unit.row_is_person:
        row_effects = _with_none(row_effects)  # a person may also have fewer rows, or none
    alone = [row_effects.largest(neighbours, weights=_only(n, needed))[0] for n in range(len(needed))]
    moving = [n for n, size in enumerate(alone) if size]
    if not moving:
        return [Noisy(term, 0, None) for term in needed], Fraction(0)
    shares = _shares(needed, sums, schema, moving)
    weights = [shares[n] / size if size else Fraction(0) for n, size in enumerate(alone)]
    joint = row_effects.largest(neighbours, weights=weights)[0]
    sizes, epsilon = [int(size) * rows for size in alone], price.pure.epsilon
    best = Noises(
        {
            n: integer_laplace(sizes[n], Privacy(epsilon * shares[n] / joint, neighbours=neighbours))
            for n in moving
            if epsilon
        }
    )
    if price.privacy.delta:
        squares = {n: int(row_effects.largest(neighbours, power=2, weights=_only(n, needed))[0]) for n in moving}
        relaxed = _relaxed(row_effects, price, shares, sizes, squares, rows, cells)
        if relaxed and (not best or _relative_variance(relaxed, alone) < _relative_variance(best, alone)):
            best = relaxed
    if not best:
        raise QuestionError("epsilon and delta are both 0: no question can be answered for that")
    return [Noisy(term, sizes[n], best.of.get(n)) for n, term in enumerate(needed)], best.cut


def _relaxed(
    row_effects: Effects,
    price: Price,
    shares: Mapping[int, Fraction],
    sizes: Sequence[int],
    squares: Mapping[int, int],
    rows: int,
    cells: int,
) -> Noises:
    """Noise that needs a δ: with ρ for all sums together, by their joint move in l2; else each for its share."""
    moves = {n: square * rows**2 for n, square in squares.items()}
    if price.rho is None:
        return Noises({n: price.part(shares[n]).noise(sizes[n], moves[n], cells).of[0] for n in moves})
    # σ² of a sum in proportion to its squared move, over its share.
    weights = {n: root_above(shares[n] / square, 32) for n, square in squares.items()}
    of_all = [weights.get(n, Fraction(0)) for n in range(len(sizes))]
    moved = row_effects.largest(price.privacy.neighbours, power=2, weights=of_all)[0] * rows**2
    return price.gaussian(weights, moves, moved, cells)


def _shares(needed: list[Term], sums: list[Aggregate], schema: Schema, moving: list[int]) -> dict[int, Fraction]:
    """How the sums share ε. A count that only divides others gets half of what they get.

    The error of a mean is that of the sum about the middle, and of the count times the mean's distance from the
    middle, which is at most, and as a rule much less than, the half-range that the sum's noise is scaled to.
    """
    asked = {terms(a, schema)[0] for a in sums if a.definition.counts == "rows"}
    weights = {n: 1 if not needed[n].columns and needed[n] not in asked else 2 for n in moving}
    return {n: Fraction(weight, sum(weights.values())) for n, weight in weights.items()}


def _with_none(row_effects: Effects) -> Effects:
    nothing = np.zeros((1, row_effects.values.shape[1]), object)
    groups = np.concatenate([row_effects.groups, row_effects.groups[:1]])
    return replace(
        row_effects,
        records=[*row_effects.records, {}],
        groups=groups,
        values=np.concatenate([row_effects.values, nothing]),
    )


def _only(place: int, needed: list[Term]) -> list[Fraction]:
    return [Fraction(int(n == place)) for n in range(len(needed))]


def _relative_variance(noises: Noises, alone: list[Fraction]) -> float:
    return sum(noise.variance / float(alone[n]) ** 2 for n, noise in noises.of.items())
