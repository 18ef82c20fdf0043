"""The table of aggregates: what each is called, what it takes, and how it is calculated from sums over rows.

A new aggregate is one more entry. What has no entry cannot be asked in SQL, and is a KeyError everywhere else: no stage
ever gives a number for an aggregate that it does not know.

A formula is written once. A release evaluates it on values with gradients, a curator on single numbers and on arrays of
simulated ones; what becomes of an impossible number is decided by `Sums`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import inf, prod, sqrt
from types import EllipsisType
from typing import Any, Literal, TypeAlias

import numpy as np

from dproof.questions.answer import LARGEST, End, Range
from dproof.spaces.interval import Scale

Calculable: TypeAlias = Any  # whatever + − × ÷ work on: a float, an array, a value with its gradient
Argument: TypeAlias = Fraction | None
GIVEN = ...  # the argument is the last thing in the parentheses


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums over rows that a formula is calculated from: Σ of the product of the z of some columns, each.

    With `fewest` 0 they are unbiased estimates, which stay as they are. A curator's numbers are noisy ones, and are
    moved to what can be: n is then `fewest` at least, and with `clip` every result is within its possible range. Of
    fewer than two rows, or of numbers that do not vary, moments say nothing: with `doubt` −1 or 1 they are then the
    least or the greatest that can be.
    """

    found: Mapping[tuple[str, ...], Calculable]
    values: Mapping[str, Scale]
    fewest: int = 0
    clip: bool = False
    doubt: int = 0

    @property
    def n(self) -> Calculable:
        """The number of rows, to divide by."""
        return self.at_least(self[()], self.fewest)

    def __getitem__(self, columns: tuple[str, ...]) -> Calculable:
        return self.found[columns]

    def at_least(self, number: Calculable, least: float) -> Calculable:
        return np.maximum(number, least) if self.fewest else number

    def within(self, number: Calculable, low: Calculable, high: Calculable) -> Calculable:
        return np.clip(number, low, high) if self.clip else number

    def moment(self, number: Calculable) -> Calculable:
        """A central moment, which fewer than two rows do not have."""
        return np.where(self[()] < 2, self.doubt * np.inf, number) if self.doubt else number

    def ratio(self, top: Calculable, bottom: Calculable) -> Calculable:
        """top ÷ bottom, where the bottom may be 0."""
        if not self.fewest:
            return top / bottom
        return np.divide(top, bottom, out=np.full_like(top, self.doubt), where=bottom > 0)


Formula: TypeAlias = Callable[[Sums, tuple[str, ...], Argument], Calculable]


def root(number: Calculable) -> Calculable:
    """The square root of a number of any kind."""
    return number.root() if hasattr(number, "root") else np.sqrt(number)


def total(sums: Sums, *columns: str) -> Calculable:
    """Σ of the product of the numbers as they are: ∏ (middle + unit·z), multiplied out."""
    values, result = [sums.values[column] for column in columns], None
    for taken in product((True, False), repeat=len(columns)):
        factor = prod((v.unit if is_taken else v.middle for v, is_taken in zip(values, taken, strict=True)), start=1.0)
        if factor:
            summand = sums[tuple(c for c, is_taken in zip(columns, taken, strict=True) if is_taken)] * factor
            result = summand if result is None else result + summand
    return result


def mean(sums: Sums, x: str) -> Calculable:
    values = sums.values[x]
    return sums.within(sums[x,] / sums.n * values.unit + values.middle, values.low, values.high)


def _central(sums: Sums, x: str, y: str) -> Calculable:
    """Σ (z − z̄)(w − w̄)."""
    return sums[x, y] - sums[x,] * sums[y,] / sums.n


def _comoment(sums: Sums, x: str, y: str, least: int) -> Calculable:
    """Σ (z − z̄)(w − w̄): no z is further from the middle of its range than half of it."""
    most = sums.n * (sums.values[x].half * sums.values[y].half)
    return sums.within(sums.moment(_central(sums, x, y)), least * most, most)


def _averaged(sums: Sums, comoment: Calculable, x: str, y: str, less: Argument) -> Calculable:
    """A comoment over n − 1 for a sample, over n for a population."""
    divisor = sums.at_least(sums.n - float(less or 0), 1)
    return comoment / divisor * (sums.values[x].unit * sums.values[y].unit)


def variance(sums: Sums, columns: tuple[str, ...], less: Argument) -> Calculable:
    (x,) = columns
    return _averaged(sums, _comoment(sums, x, x, 0), x, x, less)


def deviation(sums: Sums, columns: tuple[str, ...], less: Argument) -> Calculable:
    return root(sums.at_least(variance(sums, columns, less), 0))


def covariance(sums: Sums, columns: tuple[str, ...], less: Argument) -> Calculable:
    x, y = columns
    return _averaged(sums, _comoment(sums, x, y, -1), x, y, less)


def correlation(sums: Sums, columns: tuple[str, ...], _: Argument) -> Calculable:
    x, y = columns
    squares = [sums.at_least(_central(sums, z, z), 0) for z in (x, y)]
    return sums.within(sums.ratio(_comoment(sums, x, y, -1), root(squares[0] * squares[1])), -1, 1)


@dataclass(frozen=True, slots=True)
class Known:
    """What is public about the rows that an aggregate takes.

    `rows` is how many they may be, `values` what the numbers of each column lie between, `size` how many different
    values the first column has.
    """

    rows: Range
    values: tuple[Range, ...]
    size: End
    argument: Argument


def _largest_covariance(known: Known) -> End:
    """No number is further from the middle of its range than half of it; of n rows the divisor may be n − 1."""
    halves = [(values.high - values.low) / 2 for values in known.values * (3 - len(known.values))]
    most = prod(halves) if all(half < inf for half in halves) else inf
    if not (known.argument and most):
        return most
    # Two rows are the fewest that n − 1 can divide.
    n = known.rows.low if known.rows.low == known.rows.high and known.rows.low >= 2 else Fraction(2)
    return most * (n / (n - known.argument))


def _possible_deviations(known: Known) -> Range:
    most = _largest_covariance(known)
    return Range(Fraction(0), Fraction(sqrt(most)) if most < LARGEST else inf)


@dataclass(frozen=True, slots=True)
class Rank:
    """The value with a share of the rows below it, the argument; or the least or the greatest value."""

    end: Literal["least", "greatest"] | None = None


@dataclass(frozen=True, slots=True)
class Frequent:
    """The value that most rows have; with `several`, as many of them as the argument says."""

    several: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """One kind of aggregate.

    `names` are its names in SQL, each with the argument that it stands for. `accepts` says of which columns: of
    numbers, of values of any kind but sets, of sets, or of any. `sums` are the products of columns, by position, that
    the `formula` takes the sums of: about the middle of their ranges (`centred`), or as they are. `shape` is "linear"
    for one sum as it is, "mean" for the mean of a column, which is linear where the number of rows is exact, or
    "curved". With `of_curves` a column may hold curves as well, whose sums are vectors of coefficients. `moment` is
    which one of a column's distribution it is: that is told by the counts of bins too.

    Without a formula it is `chosen` among values, or it `counts` different values instead of rows, or with `of_items`
    those that the sets of a column hold. `possible` is what it can be at all, from public knowledge; `argument_rule` is
    what an argument must be, with the advice if it is not.
    """

    names: Mapping[str, Argument | EllipsisType]
    columns: int = 1
    accepts: Literal["numbers", "values", "sets", "any"] = "numbers"
    sums: tuple[tuple[int, ...], ...] = ()
    centred: bool = True
    formula: Formula | None = None
    shape: Literal["linear", "mean", "curved"] = "curved"
    of_curves: bool = False
    moment: Literal["mean", "variance", "deviation"] | None = None
    of_items: bool = False
    counts: Literal["rows", "values"] | None = None
    chosen: Rank | Frequent | None = None
    possible: Callable[[Known], Range] = field(default=lambda known: Range())
    argument_rule: tuple[Callable[[Fraction], bool], str] | None = None

    def __post_init__(self) -> None:
        ways = (self.formula is not None, self.chosen is not None, self.counts == "values")
        if sum(ways) != 1 or bool(self.formula) != bool(self.sums):
            raise ValueError("an aggregate is a formula of sums, or a choice among values, or a count of values")
        if self.formula is not None and self.shape == "linear" and len(self.sums) != 1:
            raise ValueError("a linear aggregate is one sum as it is")

    @property
    def is_value(self) -> bool:
        """Whether it is such a value as its column has: a mean, a least, a greatest, a quantile, a mode."""
        return self.shape == "mean" or isinstance(self.chosen, Rank) or self.chosen == Frequent()

    @property
    def is_by_count(self) -> bool:
        """Whether it is chosen by how many rows values have, such as a mode, and not by their order."""
        return self.chosen is not None and not isinstance(self.chosen, Rank)

    def name_of(self, argument: Argument) -> tuple[str, bool]:
        """The name that the canonical text has, and whether the argument is written out after it."""
        for name, stands_for in self.names.items():
            if stands_for is GIVEN:
                return name, argument is not None
        same = [name for name, stands_for in self.names.items() if stands_for == argument]
        return (same or list(self.names))[0], False


_SAMPLE, _POPULATION = Fraction(1), Fraction(0)
_PROBABILITY = lambda q: 0 <= q <= 1, "QUANTILE needs a probability between 0 and 1, as in QUANTILE(age, 0.25)"
_HOW_MANY = (
    lambda k: k >= 1 and k.denominator == 1,
    "TOP needs how many, a whole number from 1 on, as in TOP(hobby, 3)",
)

AGGREGATES: dict[str, Definition] = {
    "count": Definition(
        {"count": None}, accepts="any", sums=((),), formula=lambda s, *_: s.within(s[()], 0, inf),
        shape="linear", counts="rows", possible=lambda known: known.rows,
    ),
    "distinct": Definition(
        {"count": None}, accepts="any", counts="values", shape="linear",
        possible=lambda known: Range(min(known.rows.low, Fraction(1)), min(known.rows.high, known.size)),
    ),
    "items": Definition(
        {"count": None}, accepts="sets", counts="values", shape="linear", of_items=True,
        possible=lambda known: Range(Fraction(0), known.size if known.rows.high else Fraction(0)),
    ),
    "sum": Definition(
        {"sum": None}, sums=((0,),), centred=False, formula=lambda s, columns, _: total(s, *columns),
        shape="linear", of_curves=True, possible=lambda known: known.rows * known.values[0],
    ),
    "avg": Definition(
        {"avg": None, "mean": None}, sums=((), (0,)), formula=lambda s, columns, _: mean(s, *columns),
        shape="mean", of_curves=True, moment="mean", possible=lambda known: known.values[0],
    ),
    "min": Definition({"min": None}, chosen=Rank("least"), possible=lambda known: known.values[0]),
    "max": Definition({"max": None}, chosen=Rank("greatest"), possible=lambda known: known.values[0]),
    "mode": Definition({"mode": None}, accepts="values", chosen=Frequent()),
    "top": Definition({"top": GIVEN}, accepts="any", chosen=Frequent(several=True), argument_rule=_HOW_MANY),
    "quantile": Definition(
        {
            "median": Fraction(1, 2), "quantile": GIVEN, "quantile_cont": GIVEN, "quantile_disc": GIVEN,
            "percentile_cont": GIVEN, "percentile_disc": GIVEN,
        },
        chosen=Rank(), possible=lambda known: known.values[0], argument_rule=_PROBABILITY,
    ),
    "var": Definition(
        {
            "var": _SAMPLE, "variance": _SAMPLE, "var_samp": _SAMPLE,
            "var_pop": _POPULATION, "variance_pop": _POPULATION,
        },
        sums=((), (0,), (0, 0)), formula=variance, moment="variance",
        possible=lambda known: Range(Fraction(0), _largest_covariance(known)),
    ),
    "stddev": Definition(
        {"stddev": _SAMPLE, "stddev_samp": _SAMPLE, "stddev_pop": _POPULATION},
        sums=((), (0,), (0, 0)), formula=deviation, moment="deviation", possible=_possible_deviations,
    ),
    "covar": Definition(
        {"covar_samp": _SAMPLE, "covar": _SAMPLE, "covar_pop": _POPULATION}, columns=2,
        sums=((), (0,), (1,), (0, 1)), formula=covariance, of_curves=True,
        possible=lambda known: Range(-_largest_covariance(known), _largest_covariance(known)),
    ),
    "corr": Definition(
        {"corr": None}, columns=2, sums=((), (0,), (1,), (0, 1), (0, 0), (1, 1)), formula=correlation,
        possible=lambda known: Range(Fraction(-1), Fraction(1)),
    ),
}  # fmt: skip


def aggregate_named(function: str) -> tuple[str, Argument | EllipsisType] | None:
    """The kind of aggregate that a function of SQL is, and the argument that its name stands for.

    >>> aggregate_named("var_pop"), aggregate_named("product")
    (('var', Fraction(0, 1)), None)
    """
    return next(((kind, d.names[function]) for kind, d in AGGREGATES.items() if function in d.names), None)
