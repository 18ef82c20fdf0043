"""Curves under a curator: the sums that a question needs and their noise, and what the noisy sums say.

A row's curve becomes a lattice vector z, clipped in whole numbers, and sums of these get whole-number noise for all of
their coordinates together; that is decided from public knowledge alone. Where the number of rows is not public it is
one more coordinate, with a whole weight W. Means and totals have bands, a covariance of coefficients intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, isqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from dproof.coins import Coins
from dproof.curator.account import SUGGESTIONS, Released, covers_cut, public_seed, pure_part
from dproof.curves.bands import band_quantile, drawn_quantile, widened
from dproof.curves.bases import Floats
from dproof.curves.lattice import CurveLattice, Expansion, Integers, Split
from dproof.curves.noise import FEW_ROWS, VectorNoise, least_noise, noised, vector_noise
from dproof.errors import QuestionError
from dproof.laws.gaussian import gaussian_sum
from dproof.privacy import Cost, Neighbours, Privacy, Unit
from dproof.questions.answer import Answer, Cell, Range, cautions
from dproof.questions.curve_estimate import CurveEstimate, basis_notes
from dproof.questions.question import Aggregate, Expression

if TYPE_CHECKING:
    from dproof.curator.recipe import Measurement

_TABLE_CUT = Fraction(1, 1 << 65)  # what a table of a sum of draws may miss, and the ripple of the sum
_MOST_DRAWS = 9


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
        """What each row adds to the sums of its group, from its places on the grid."""
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
        moved, weight, first = _size(lattice, split, neighbours, aggregate, public, groups)
        moved *= rows_per_person ** (2 if split == "gaussian" else 1)
        return _noise(split, moved, _coordinates(lattice, weight, first), price, lattice.ball, groups, moves)

    if aggregate.definition.shape == "curved":  # of coefficients, and the products of two have no K-norm that is known
        expansion, splits = expansion.by_terms or expansion, tuple(split for split in splits if split != "k_norm")
    lattice, noise = least_noise(expansion, splits, noise_of, Fraction(1, FEW_ROWS**2))
    _, weight, first = _size(lattice, noise.split, neighbours, aggregate, public, groups)
    cut = _cut(noise) if price.rho is not None and noise.split == "gaussian" else Fraction(0)
    return CurveSums(aggregate, lattice, noise, weight, first, cut)


def _noise(
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
    if not covers_cut(price.epsilon, price.delta, _cut(noise)):
        raise QuestionError("delta is too small for Gaussian noise to be proven: allow more of it")
    return noise


def _cut(noise: VectorNoise) -> Fraction:
    """How far each table of a sum of draws lies from its law, and their sum from N_Z(0, σ²): see `GaussianSum`."""
    return 2 * noise.terms * _MOST_DRAWS * _TABLE_CUT


def _coordinates(lattice: CurveLattice, weight: int, first: int) -> int:
    return (lattice.terms * (lattice.terms + 3) // 2 if first else lattice.terms) + (weight > 0)


def _size(
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


class NoisyCurves:
    """Means or totals of curves from one set of released numbers, a function for each group (see `AnswerSource`)."""

    suggestions = SUGGESTIONS

    def __init__(self, measurement: Measurement, released: Released, level: float) -> None:
        assert measurement.curves is not None
        self.lattice, self.rows = measurement.curves.lattice, released.get("rows")
        self.labels, places = measurement.declared_groups()
        self.shown = range(len(self.labels))
        noisy, coins = np.array(released["noisy"], np.float64), Coins(public_seed(released), private=False)
        self.functions = [_function(measurement.curves, noisy[place], self.rows, level, coins) for place in places]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Cell]:
        return [self.functions[n].cell() for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterable[str]:
        return basis_notes(self.lattice)


def _function(sums: CurveSums, values: Floats, rows: int | None, level: float, coins: Coins) -> CurveEstimate:
    """The mean or the total, with the first-order effect of the noise on the sums and on the count.

    The band of a mean is as wide as Fieller's set, which is for all orders.
    """
    terms, weight = sums.lattice.terms, sums.weight
    count = max(1.0, rows if rows is not None else values[-1] / weight)
    mean = values[:terms] / count
    factor = np.zeros((terms + 1, terms + (weight > 0)))
    factor[:terms, :terms] = np.eye(terms)
    if weight and sums.is_total:
        factor[terms, terms] = 1 / weight
    elif weight:
        factor[:terms, terms] = -mean / weight
    sigma = float(sums.noise.variance) ** 0.5
    scale, noise = count if sums.is_total else 1.0, factor * sigma / count
    made = CurveEstimate(sums.lattice, mean, noise, 1.0, scale, level, smooth=not sums.is_total)

    def quantile(path: Floats, at_points: bool) -> float:
        return band_quantile(path, sums.noise.law, sigma, level, coins, at_points=at_points)

    made = made.with_band(quantile)
    if not weight or sums.is_total:
        return made
    g = made.quantile * sigma / weight / count
    # Where there may be no rows their mean could be anything.
    return replace(made, quantile=made.quantile * widened(made.loadings(made.times), g) if g < 1 else inf)


def covariances(sums: CurveSums, released: Released, level: float) -> Answer:
    """Cov of the coefficients c_j = scales_j · z_j, entry by entry, with intervals that hold for all at once."""
    lattice, noise, weight = sums.lattice, sums.noise, sums.weight
    values = np.array(released["noisy"][0], np.float64)
    rows = max(2.0, values[-1] / weight if weight else released["rows"])
    mean = values[: lattice.terms] / sums.first / rows
    i, k = np.triu_indices(lattice.terms)
    unit = lattice.scales[i] * lattice.scales[k]
    products = values[lattice.terms : lattice.terms + len(i)]
    estimate = unit * (products - rows * mean[i] * mean[k]) / (rows - 1)
    moved = np.where(i == k, 4 * mean[i] ** 2, mean[i] ** 2 + mean[k] ** 2) / sums.first**2
    if weight:  # one curve more moves the estimate by (mean · mean − covariance) / (rows − 1)
        moved += ((mean[i] * mean[k] - estimate / unit) / weight) ** 2
    sigma = float(noise.variance) ** 0.5
    stderr = unit * sigma * np.sqrt(1 + moved) / (rows - 1)
    half = drawn_quantile(np.eye(len(i)), noise.law, sigma, level, Coins(public_seed(released), private=False)) * stderr
    cells = []
    for a, b, y, h, s in zip(i, k, estimate, half, stderr, strict=True):
        cell = Cell(float(y), float(y - h), float(y + h), float(s), float(y))
        reach = Range(Fraction(0)) if a == b else Range()  # no variance is negative
        cells.append({"i": int(a) + 1, "j": int(b) + 1, "covariance": reach.cut(cell)})
    return Answer(("i", "j", "covariance"), cells, level, tuple(cautions(cells, SUGGESTIONS)))
