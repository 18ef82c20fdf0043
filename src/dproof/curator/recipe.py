"""The recipe of one question to a curator: which numbers get which noise, and which are chosen, at its price.

All of it is decided from public knowledge alone.

Counts, sums and moments get whole-number noise, scaled so that all of them together cost ε: a row that moves one of
them far moves another less, and the exact joint effect of every possible row is known. Quantiles, extremes, modes and
top lists are chosen by how many rows miss the mark.

Different aggregates share the price. Without ρ that is (ε, δ), and the parts of a question share both (basic
composition). With ρ it is ρ, which the parts share: Gaussian noise on all sums together by how far a neighbour moves
them in l2, Laplace noise and choices by the ε whose ρ is no larger. So a question about k counts needs √k times the
noise of one, and not k times.

A row's curve becomes a lattice vector z, clipped in whole numbers, and sums of these get whole-number noise for all of
their coordinates together. Where the number of rows is not public it is one more coordinate, with a whole weight W.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import ceil, isqrt
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from dproof.curator.account import WIDEST_SIGMA_BY_VALUE, covers_cut, pure_part
from dproof.curator.select import Choice, choice_of
from dproof.curves.lattice import CurveLattice, Expansion, Split
from dproof.curves.noise import FEW_ROWS, VectorNoise, least_noise, noised, vector_noise
from dproof.errors import QuestionError, TooLarge
from dproof.exact import root_above
from dproof.laws.gaussian import Gaussian, gaussian_sum
from dproof.limits import MOST_ASKED_GROUPS, MOST_CHOICES
from dproof.mechanisms.noise import Noise, demand_noise, integer_gaussian, laplace_noise
from dproof.privacy import Cost, Neighbours, Privacy, Unit
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
    leaves,
    normalise,
)
from dproof.questions.sensitivity import Coordinate, Effects, effects
from dproof.questions.sums import Counter, Term, present, terms
from dproof.spaces.space import Integers

if TYPE_CHECKING:
    from dproof.columns.codec import Column
    from dproof.plans.plan import Plan
    from dproof.questions.measured import AnswerSource, Shares

_LEAST_CELLS = WIDEST_SIGMA_BY_VALUE // 3  # σ, in cells, of wider noise
_WIDEST_SIGMA = 1 << 50  # σ beyond which sums of whole numbers come near 2^63
_VARIANCE_PARTS = 1 << 20  # of 1: σ² is a whole number of them
_MOST_COUNTS = 1 << 16  # of values in groups, for numbers of distinct values
_COMPARED_LEVEL = Fraction(19, 20)  # the level at which two kinds of noise are compared


@dataclass(frozen=True, slots=True)
class NoisyStatistic:
    """A sum over rows, or a number of distinct values, and its noise; None where no row can move it.

    The number itself has noise, or the count of each of so many `values`. `sensitivity` is how far one person moves it,
    or all these counts in all groups together.
    """

    statistic: Term | Aggregate
    sensitivity: int
    noise: Noise | None
    values: int | None = None


@dataclass(frozen=True)  # without slots: what follows from it is worked out once
class Measurement:
    """A question to a curator with its price and noise: all that is public about the answer before it is given."""

    question: Question
    keys: tuple[Key, ...]
    schema: Schema
    price: Cost
    unit: Unit
    noisy: tuple[NoisyStatistic, ...]
    chosen: tuple[Choice, ...]
    curves: CurveSums | None = None  # where curves are asked for, and then nothing else is
    cut: Fraction = Fraction(0)  # of its noise, see `privacy.Cost`
    sums_of: Mapping[Aggregate, tuple[Term, ...]] = field(default_factory=dict)  # what an aggregate is calculated from

    @property
    def person(self) -> Privacy:
        """What a person may lose by the answer."""
        return Privacy(self.price.epsilon, self.price.delta, neighbours=self.unit.neighbours)

    @cached_property
    def cost(self) -> Cost:
        """What a ledger debits: the price, and what the tables of its noise may miss."""
        return replace(self.price, cut=self.cut)

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

    def fresh_counter(self) -> Counter:
        """A counter of what the answer needs of the table, with nothing counted yet; refused where that is too much."""
        return self._counter.fresh()

    @cached_property
    def _counter(self) -> Counter:
        """The counter that fresh ones are copies of: what it counts is worked out once."""
        return Counter(self.schema, self.keys, self.question.where, self.statistics, self.curves)

    @cached_property
    def statistics(self) -> list[Term | Aggregate]:
        """What is counted of the rows."""
        return [*(n.statistic for n in self.noisy), *(c.aggregate for c in self.chosen)]

    def columns_of(self, plan: Plan) -> list[Column]:
        """The columns that are read for it."""
        return [plan.true_columns[name] for name in self.question.columns]

    @cached_property
    def free(self) -> bool:
        """Whether no row can move anything: then there is nothing to pay."""
        return self.curves is None and not self.chosen and all(noisy.noise is None for noisy in self.noisy)

    @cached_property
    def uses_delta(self) -> bool:
        """Whether some of its noise needs a δ: a choice does not, nor does Laplace or K-norm noise."""
        if self.curves is not None:
            return self.curves.noise.split == "gaussian"
        return any(noisy.noise is not None and noisy.noise.name == "Gaussian" for noisy in self.noisy)

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

    def expected_source(self, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
        """What would answer the question from so many rows, whose values are spread evenly."""
        from dproof.curator.preview import expected_source

        return expected_source(replace(self, question=question), rows, shares, level)


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
    by_text, wanted_by_text = question.by_text
    keys, wanted = tuple(by_text.values()), tuple(wanted_by_text.values())
    unit = unit or Unit(privacy.neighbours)
    assert unit.neighbours == privacy.neighbours, "the price is for other neighbours than the unit"
    for column in question.columns:
        if schema.is_open(column):
            raise QuestionError(
                f"column {column!r} has no declared values in the plan: give it a space to ask about it"
            )
    price = Cost(privacy.epsilon, privacy.delta, rho)
    if rho is not None:
        demand_noise(privacy.epsilon, privacy.delta)
    groups = math.prod(len(grouping(key, schema).labels) for key in keys)
    if asks_for_curves(question, schema):
        question, sums = _curve_sums(question, keys, schema, price, unit, groups)
        return Measurement(question, keys, schema, price, unit, (), (), sums, sums.cut)
    for part in question.expressions:
        _check_numbers(part, schema, alone=True)
    for test in question.having:
        _check_numbers(test.left, schema)
        _check_numbers(test.right, schema)
    sums_of = {aggregate: needed for aggregate in wanted if (needed := terms(aggregate, schema))}
    distinct = [aggregate for aggregate in wanted if aggregate.definition.counts == "values"]
    picked = [aggregate for aggregate in wanted if aggregate not in sums_of and aggregate not in distinct]
    share = Fraction(1, max(1, len(wanted)))  # the keys alone are public
    noisy, cut = _linear(question, schema, _part_of_price(price, share * len(sums_of)), unit, sums_of, groups)
    one = _part_of_price(price, share)
    for aggregate in distinct:
        counted, more = _distinct(aggregate, schema, one, unit, groups, by_value=by_value)
        noisy.append(counted)
        cut += more
    if picked and groups > MOST_CHOICES:
        raise TooLarge(f"a value would be chosen in each of {groups} groups: ask for {MOST_CHOICES} at most")
    choices = []
    for aggregate in picked:
        pure = Privacy(pure_part(one), neighbours=unit.neighbours)
        choices.append(choice_of(aggregate, schema, pure, unit.rows_per_person, groups))
    return Measurement(question, keys, schema, price, unit, tuple(noisy), tuple(choices), None, cut, sums_of)


def _part_of_price(price: Cost, share: Fraction) -> Cost:
    """The price of one part of a question, where the parts have shares of 1."""
    if price.rho is None:
        return Cost(price.epsilon * share, price.delta * share)
    # The promise is that of the question; its parts share what δ allows tables to miss.
    return Cost(price.epsilon, price.delta * share, price.rho * share)


def _distinct(
    aggregate: Aggregate, schema: Schema, price: Cost, unit: Unit, groups: int, *, by_value: bool
) -> tuple[NoisyStatistic, Fraction]:
    """Noise for a number of distinct values: for the count of each value where the number would tell little.

    That is where an interval of the number would be half of what it can be or wider. A row adds to the count of its
    value, or of each item that it holds.
    """
    rows, values, both_move = unit.rows_per_person, values_of(aggregate, schema), unit.neighbours == "change-one"
    held = values if aggregate.definition.of_items else 1
    where = 2 if groups > 1 and both_move else 1  # a row moves from one group to another
    noise, cut = _narrower(price, rows * where * held, where * (rows * held) ** 2, rows * where if groups > 1 else 1)
    if not by_value or 4 * noise.quantile(_COMPARED_LEVEL) < values or groups * values > _MOST_COUNTS:
        return NoisyStatistic(aggregate, rows * where * held, noise), cut
    moving = min(2 * held, groups * values) if both_move else held
    noise, cut = _narrower(price, rows * moving, rows * rows * moving, rows * moving)
    return NoisyStatistic(aggregate, rows * moving, noise, values), cut


def _curve_sums(
    question: Question, keys: tuple[Key, ...], schema: Schema, price: Cost, unit: Unit, groups: int
) -> tuple[Question, CurveSums]:
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
    public, space = every and question.where is None, cast(Expansion, schema.spaces[column])
    return question, curve_sums(aggregate, space, price, unit=unit, public=public, groups=groups)


def check_groups(question: Question, schema: Schema) -> None:
    """Refuse groups that nobody would read, as every set of many items is: each gets noise, and is paid for."""
    groups = rows_of_group(question) * math.prod(len(declared_labels(key, schema)) for key in question.group_by)
    if groups > MOST_ASKED_GROUPS:
        raise QuestionError(
            f"the question has {groups:,} groups, and more than {MOST_ASKED_GROUPS:,} are answered only with --all (in "
            "Python all_groups=True): group by fewer columns or wider bins, or ask for items of a set by list_contains"
        )


def _check_numbers(formula: Expression, schema: Schema, *, alone: bool = False) -> None:
    """Refuse a calculation or a comparison with what is no number; `alone` lets anything stand on its own."""
    if alone and not isinstance(formula, Arithmetic):
        return
    for part in leaves(formula):
        if isinstance(part, Key) and (not schema.spaces[part.column].has_numbers or isinstance(formula, Arithmetic)):
            raise QuestionError("a calculation takes aggregates and numbers, not the columns of GROUP BY")
        if isinstance(part, Aggregate) and part.definition.is_by_count:
            if part.definition.is_value and schema.spaces[part.columns[0]].has_numbers:
                continue
            raise QuestionError("a mode or a top list is not a number to calculate with: ask for it on its own")


def _linear(
    question: Question,
    schema: Schema,
    price: Cost,
    unit: Unit,
    sums_of: Mapping[Aggregate, tuple[Term, ...]],
    groups: int,
) -> tuple[list[NoisyStatistic], Fraction]:
    """Noise for all sums over rows together, and what its tables may miss."""
    needed = list(dict.fromkeys(term for of_one in sums_of.values() for term in of_one))
    if not needed:
        return [], Fraction(0)
    neighbours, rows = unit.neighbours, unit.rows_per_person
    row_effects = _row_effects(question, schema, needed, unit)
    alone = row_effects.largest_alone(neighbours)
    moving = [n for n, size in enumerate(alone) if size]
    if not moving:
        return [NoisyStatistic(term, 0, None) for term in needed], Fraction(0)
    shares = _shares(needed, sums_of, moving)
    weights = [shares[n] / size if size else Fraction(0) for n, size in enumerate(alone)]
    joint = row_effects.largest(neighbours, weights=weights)[0]
    sizes, epsilon, cut = [int(size) * rows for size in alone], pure_part(price), Fraction(0)
    noises = {n: laplace_noise(sizes[n], sizes[n], epsilon * shares[n] / joint) for n in moving if epsilon}
    if price.delta:
        squared = row_effects.largest_alone(neighbours, power=2)
        squares = {n: int(squared[n]) for n in moving}
        # The numbers of one aggregate that one person can move.
        cells = rows * (2 if neighbours == "change-one" else 1) if groups > 1 else 1
        relaxed, more = _relaxed(row_effects, price, shares, sizes, squares, unit, cells)
        if relaxed and (not noises or _relative_variance(relaxed, alone) < _relative_variance(noises, alone)):
            noises, cut = relaxed, more
    if not noises:
        raise QuestionError("epsilon and delta are both 0: no question can be answered for that")
    return [NoisyStatistic(term, sizes[n], noises.get(n)) for n, term in enumerate(needed)], cut


def _row_effects(question: Question, schema: Schema, needed: Sequence[Term], unit: Unit) -> Effects:
    """What a row can do to the sums, which is the same at any price."""
    key = question, tuple(needed), unit
    found: Effects | None = schema.cache.get(key)
    if found is None:
        found = effects(schema, [question], [Coordinate(0, ((Fraction(1), term),)) for term in needed])
        # A person may also have fewer rows, or none.
        found = schema.cache[key] = found if unit.row_is_person else found.with_none()
    return found


def _relaxed(
    row_effects: Effects,
    price: Cost,
    shares: Mapping[int, Fraction],
    sizes: Sequence[int],
    squares: Mapping[int, int],
    unit: Unit,
    cells: int,
) -> tuple[dict[int, Noise], Fraction]:
    """Noise that needs a δ: with ρ for all sums together, by their joint move in l2; else each for its share."""
    moves = {n: square * unit.rows_per_person**2 for n, square in squares.items()}
    if price.rho is None:
        return {n: _narrower(_part_of_price(price, shares[n]), sizes[n], moves[n], cells)[0] for n in moves}, Fraction(
            0
        )
    # σ² of a sum in proportion to its squared move, over its share.
    weights = {n: root_above(shares[n] / square, 32) for n, square in squares.items()}
    of_all = [weights.get(n, Fraction(0)) for n in range(len(sizes))]
    moved = row_effects.largest(unit.neighbours, power=2, weights=of_all)[0] * unit.rows_per_person**2
    return gaussian_noises(price, weights, moves, moved, cells)


def _shares(
    needed: Sequence[Term], sums_of: Mapping[Aggregate, tuple[Term, ...]], moving: Sequence[int]
) -> dict[int, Fraction]:
    """How the sums share ε. A count that only divides others gets half of what they get.

    The error of a mean is that of the sum about the middle, and of the count times the mean's distance from the
    middle, which is at most, and as a rule much less than, the half-range that the sum's noise is scaled to.
    """
    asked = {of_one[0] for aggregate, of_one in sums_of.items() if aggregate.definition.counts == "rows"}
    weights = {n: 1 if not needed[n].columns and needed[n] not in asked else 2 for n in moving}
    return {n: Fraction(weight, sum(weights.values())) for n, weight in weights.items()}


def _relative_variance(noises: Mapping[int, Noise], alone: Sequence[Fraction]) -> float:
    return sum(noise.variance / float(alone[n]) ** 2 for n, noise in noises.items())


def _narrower(price: Cost, size: int, square: int, cells: int) -> tuple[Noise, Fraction]:
    """The narrower of Laplace and Gaussian noise for a vector that moves by `size` in l1, `square` in squared l2.

    At most `cells` of its numbers move. And what the tables of the noise may miss, where ρ is counted.
    """
    cut = Fraction(0)
    laplace = laplace_noise(size, cells, pure_part(price), price.delta if price.rho is None else Fraction(0))
    if not price.delta:
        return laplace, cut
    if price.rho is None:
        noises = {0: integer_gaussian(square, Privacy(price.epsilon, price.delta), coordinates=cells)}
    else:
        noises, cut = gaussian_noises(price, {0: Fraction(1)}, {0: square}, Fraction(square), cells)
    return (noises[0], cut) if noises and noises[0].variance < laplace.variance else (laplace, Fraction(0))


def gaussian_noises(
    price: Cost, weights: Mapping[int, Fraction], squares: Mapping[int, int], moved: Fraction, cells: int
) -> tuple[dict[int, Noise], Fraction]:
    """Gaussian noise for several sums together, each as wide as 1/weight; none where ρ or δ is too small for it.

    `moved` is the most that a neighbour moves them: Σ (weight · move)², over all numbers of all sums, of which at
    most `cells` of each move. N_Z(0, σ²) on every number has ρ = Σ move²/2σ² (Canonne, Kamath, Steinke 2020).
    Where a cell of a table holds several values, a move of d is one of d/unit cells, or up to one more.
    """
    assert price.rho is not None
    if not price.rho:
        return {}, Fraction(0)
    allowed, moving = 1 / root_above(1 / (2 * price.rho)), root_above(moved)
    wide = sum(moving / allowed / weight >= WIDEST_SIGMA_BY_VALUE // 2 for weight in weights.values())
    left = allowed - root_above(Fraction(wide * cells)) / _LEAST_CELLS
    if left < allowed / 2:
        return {}, Fraction(0)
    variances = {n: (moving / left / weight) ** 2 for n, weight in weights.items()}
    laws = {
        n: _gaussian_table(Fraction(-(-variance * _VARIANCE_PARTS // 1), _VARIANCE_PARTS))
        for n, variance in variances.items()
    }
    cut = sum((2 * cells * law.distance for law in laws.values()), Fraction(0))
    if not covers_cut(price.epsilon, price.delta, cut):
        return {}, Fraction(0)
    return {n: Noise("Gaussian", law, squares[n], cells) for n, law in laws.items()}, cut


@lru_cache(maxsize=256)
def _gaussian_table(variance: Fraction) -> Gaussian:
    sigma = isqrt(int(variance))
    if sigma > _WIDEST_SIGMA:
        raise TooLarge("the noise would be too wide: allow more epsilon, or ask for less at once")
    # What is charged as one value to a cell has a σ below WIDEST_SIGMA_BY_VALUE, which may have been rounded up to it.
    unit = 2 * (isqrt(ceil(variance) - 1) // WIDEST_SIGMA_BY_VALUE) + 1
    return Gaussian(variance / unit**2, unit)


# Sums of curves -------------------------------------------------------------------------------------------------------

_CURVE_CUT = Fraction(1, 1 << 65)  # what a table of a sum of draws may miss, and the ripple of the sum
_MOST_CURVE_DRAWS = 9


@dataclass(frozen=True, slots=True, eq=False)
class CurveSums:
    """What is summed over the rows of each group for one aggregate of curves, with which noise."""

    aggregate: Aggregate
    lattice: CurveLattice
    noise: VectorNoise
    weight: int  # W of the count among the coordinates; 0 where the number of rows is public
    first: int  # weight of z beside its products, for a covariance; else 0
    cut: Fraction  # of the noise, see `privacy.Cost`

    @property
    def column(self) -> str:
        return self.aggregate.columns[0]

    @property
    def is_total(self) -> bool:
        return self.aggregate.definition.shape == "linear"

    @property
    def is_covariance(self) -> bool:
        return self.aggregate.definition.shape == "curved"

    @property
    def size(self) -> int:
        """How many coordinates the sums of a group have."""
        return _coordinates(self.lattice, self.weight, self.first)

    @property
    def method(self) -> str:
        return f"{self.noise.name} on whole numbers, sums of {noised(self.lattice)}"

    def coordinates(self, places: Integers) -> Integers:
        """What each row adds to the sums of its group, from its places on the grid; stored in this order."""
        z = self.lattice.coefficients(places)
        parts = [z]
        if self.first:
            i, k = np.triu_indices(z.shape[1])
            parts = [self.first * z, z[:, i] * z[:, k]]
        if self.weight:
            parts.append(np.full((len(z), 1), self.weight))
        return np.concatenate(parts, axis=1)


def curve_sums(
    aggregate: Aggregate, expansion: Expansion, price: Cost, *, unit: Unit, public: bool, groups: int
) -> CurveSums:
    """The sums for AVG, SUM or COVAR of a curve column in so many groups, with the least error at this price.

    `public` where all rows are summed up and their number is public.
    """
    neighbours, rows_per_person = unit.neighbours, unit.rows_per_person
    # Each row of a person leaves a group or enters one, and under change-one does both.
    moves = rows_per_person * (2 if neighbours == "change-one" else 1) if groups > 1 else 1
    splits: tuple[Split, ...] = ("gaussian", "laplace", "k_norm") if price.delta else ("laplace", "k_norm")

    def noise_of(lattice: CurveLattice, split: Split) -> VectorNoise:
        moved, weight, first = _curve_size(lattice, split, neighbours, aggregate, public, groups)
        moved *= rows_per_person ** (2 if split == "gaussian" else 1)
        return _curve_noise(split, moved, _coordinates(lattice, weight, first), price, lattice.ball, groups, moves)

    if aggregate.definition.shape == "curved":  # of coefficients, and the products of two have no K-norm that is known
        expansion, splits = expansion.by_terms or expansion, tuple(split for split in splits if split != "k_norm")
    lattice, noise = least_noise(expansion, splits, noise_of, Fraction(1, FEW_ROWS**2))
    _, weight, first = _curve_size(lattice, noise.split, neighbours, aggregate, public, groups)
    cut = _curve_cut(noise) if price.rho is not None and noise.split == "gaussian" else Fraction(0)
    return CurveSums(aggregate, lattice, noise, weight, first, cut)


def _curve_noise(
    split: Split, moved: int, coordinates: int, price: Cost, ball: Literal["l2", "linf"], groups: int, moves: int
) -> VectorNoise:
    """The least noise of a kind at this price; with ρ it is N_Z(0, σ²) on every number, up to what is cut.

    K-norm noise is drawn for each group by itself; a person moves groups so many times.
    """
    terms = groups * coordinates
    if price.rho is None or split != "gaussian":
        spent = Privacy(pure_part(price), price.delta if price.rho is None else 0)
        return vector_noise(split, moved, terms, spent, ball=ball, vectors=groups, moves=moves)
    if not price.rho:
        raise QuestionError("epsilon and delta are too small for Gaussian noise: allow more of one of them")
    noise = VectorNoise(split, gaussian_sum(Fraction(ceil(moved / (2 * price.rho)))), moved, terms)
    if not covers_cut(price.epsilon, price.delta, _curve_cut(noise)):
        raise QuestionError("delta is too small for Gaussian noise to be proven: allow more of it")
    return noise


def _curve_cut(noise: VectorNoise) -> Fraction:
    """How far each table of a sum of draws lies from its law, and their sum from N_Z(0, σ²): see `GaussianSum`."""
    return 2 * noise.terms * _MOST_CURVE_DRAWS * _CURVE_CUT


def _coordinates(lattice: CurveLattice, weight: int, first: int) -> int:
    return (lattice.terms * (lattice.terms + 3) // 2 if first else lattice.terms) + (weight > 0)


def _curve_size(
    lattice: CurveLattice, split: Split, neighbours: Neighbours, aggregate: Aggregate, public: bool, groups: int
) -> tuple[int, int, int]:
    """How far a neighbour moves all coordinates together, as `VectorNoise` counts it; W; and the weight of z in a
    covariance.

    One curve has a norm of at most S, two differ by at most D. A row that enters or leaves moves the count too; one
    that changes its group leaves one and enters another. W is as large as costs nothing, or little.
    """
    if split == "k_norm":
        return _k_norm_size(lattice, neighbours, public, groups)
    norm: Literal["l1", "l2"] = "l1" if split == "laplace" else "l2"
    one, two = lattice.size(norm, "add-remove"), lattice.size(norm, "change-one")
    if aggregate.definition.shape == "curved":
        return _covariance_size(lattice, split, two, public)
    if public:
        return two, 0, 0
    if neighbours == "add-remove":
        weight = one // 4 if norm == "l1" else isqrt(one) // 2
        return one + (weight if norm == "l1" else weight**2), weight, 0
    if norm == "l1":
        weight = one // 8 if groups > 1 else two - one
        moved = one + weight
    else:
        weight = isqrt(two // 2 - one) if groups > 1 else isqrt(two - one)
        moved = one + weight**2
    return max(two, 2 * moved if groups > 1 else moved), weight, 0


def _k_norm_size(lattice: CurveLattice, neighbours: Neighbours, public: bool, groups: int) -> tuple[int, int, int]:
    """In the sup norm a count of weight W ≤ S costs nothing; in the l2 norm it makes S the root of S² + W²."""
    one, two = lattice.size("linf", "add-remove"), lattice.size("linf", "change-one")
    if public:
        return two, 0, 0
    changes = neighbours == "change-one"
    if lattice.ball == "linf":
        weight = two if changes and groups == 1 else one
        return two if changes else one, weight, 0
    if changes and groups == 1:  # a curve that enters moves the sums by √(S² + W²) ≤ D
        return two, isqrt(two**2 - one**2), 0
    weight = one // 2
    moved = isqrt(one**2 + weight**2) + 1
    return 2 * moved if changes else moved, weight, 0


def _covariance_size(lattice: CurveLattice, split: Split, two: int, public: bool) -> tuple[int, int, int]:
    """For a·z and the products z_i z_k, i ≤ k: |zzᵀ − z'z'ᵀ|² = |z|⁴ + |z'|⁴ − 2(z·z')² ≤ 2·max|z|⁴.

    A curve that enters or leaves moves these by at most a·|z| and half as much of the products, so that a count of the
    curves, where their number is private, may weigh what is left: it costs nothing.
    """
    length = lattice.size("l2", "add-remove")
    if split == "gaussian":
        first = isqrt(length) // 2
        left = first**2 * (two - length) + length**2
        return first**2 * two + 2 * length**2, 0 if public else isqrt(left), first
    l1_length = lattice.size("l1", "add-remove")
    first = l1_length // 2
    left = first * (two - l1_length) + (l1_length**2 + length) // 2
    return first * two + l1_length**2 + length, 0 if public else left, first
