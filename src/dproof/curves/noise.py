"""Noise on vectors: on the coefficients of a curve, which sanitises functional data, or on coordinates as they are.

curve → coefficients → lattice → clip → whole-number noise → a function again. The law is that of the vector of whole
numbers; everything after it, the released values on the grid among them, is post-processing. So the whole curve is
charged, not a point of it, and the function may be evaluated anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, prod, sqrt
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.arguments import COLUMN, choice, expect, listed
from dproof.coins import Coins
from dproof.curves.bases import l2_norms
from dproof.curves.lattice import CurveLattice, Expansion, LatticeNorm, Split, expand, l2_left_out
from dproof.errors import ArgumentError, InputError
from dproof.exact import bisect, exact, exp_below, root_above, written
from dproof.laws.debias import SeenColumn
from dproof.laws.divergence import Odds, Worst, normal_delta, profile_odds
from dproof.laws.gaussian import NARROWEST_SUM, GaussianSum, gaussian_sum
from dproof.laws.k_norm import KNorm, k_norm
from dproof.laws.laplace import TwoSided
from dproof.laws.law import Law
from dproof.laws.noise import LawWithMiddle, OptionalLaw
from dproof.limits import MOST_HATS
from dproof.mechanisms.mechanism import Distribution, Mechanism
from dproof.mechanisms.noise import demand_gaussian, integer_laplace
from dproof.privacy import Neighbours, Privacy, Promise
from dproof.spaces.curves import Curves
from dproof.spaces.products import Vectors
from dproof.spaces.space import ABSENT, Floats, Integers

_SPLITS: tuple[Split, ...] = ("laplace", "gaussian", "k_norm")
_KINDS: dict[str, Split] = {TwoSided.kind: "laplace", GaussianSum.kind: "gaussian", KNorm.kind: "k_norm"}
_SOURCES: dict[Split, str] = {
    "laplace": "HLM15, Example 5, on coefficients by their l1 norm",
    "gaussian": "Hall, Rinaldo and Wasserman 2013; Balle and Wang 2018",
    "k_norm": "Hardt and Talwar 2010",
}
_WIDEST = 1 << 40  # σ in steps, of which sums still fit 64 bits
FEW_ROWS = 1_000  # of a mean whose error is weighed where nobody says how many rows there are


@dataclass(frozen=True, slots=True, eq=False)
class CurveLaw(LawWithMiddle):
    """The laws of lattice vectors z + noise, for all z of the lattice's region; codes are places on the grid.

    There is no end of inputs and outputs, so no law is written out. The middle is the public centre, z = 0: the region
    lies around it, so no curve is farther from it than half of what two curves may be apart.
    """

    kind: ClassVar[str] = "coefficients"  # in certificates

    lattice: CurveLattice
    noise: VectorNoise

    @property
    def inputs(self) -> None:
        return None

    outputs = total = inputs

    @property
    def farthest(self) -> int | None:
        return self.noise.law.farthest

    def weights(self, source: int) -> NDArray[Any]:
        raise ArgumentError("a law on functions has no finite table of weights")

    def worst(self, odds: Fraction) -> Worst:
        return Worst(self.noise.worst(odds), 0, 1)

    def odds(self, delta: Fraction) -> Odds:
        return Odds(self.noise.odds(delta), 0, 1)

    def maximal_error(self, space: Any) -> Fraction:
        """At least the expected error of the noise, in the norm of the curves.

        E‖X‖ ≤ √E‖X‖², and ‖Σ a_j φ_j‖_∞ ≤ |a|₂ · max_t |φ(t)|₂.
        """
        curves, noise, scales = self.lattice.space, self.noise, self.lattice.scales
        if curves.norm == "l2":
            return Fraction(l2_error(self.lattice, noise))
        functions = self.lattice.functions(np.linspace(float(curves.start), float(curves.stop), 1001))
        deviation = sqrt(float(noise.variance))
        error = deviation * sqrt(float((scales**2).sum()) * float((functions**2).sum(axis=0).max()))
        if noise.split == "k_norm" and self.lattice.ball == "linf":  # |X_j| ≤ T and E X_j² ≥ E T²/3
            error = min(error, sqrt(3) * deviation * float((scales @ np.abs(functions)).max()))
        return Fraction(error)

    # Missing values ------------------------------------------------------------------------------------------------

    @property
    def middle(self) -> Integers:
        return self.lattice.middle

    @property
    def nearer(self) -> CurveLaw:
        return replace(self, noise=replace(self.noise, size=moves(self.lattice, self.noise.split, "add-remove")[1]))

    @property
    def spare(self) -> int:
        return ABSENT  # for every coefficient

    def is_absent(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(codes[:, 0] < 0)

    def moments_of(self, seen: SeenColumn) -> None:
        return None

    # ---------------------------------------------------------------------------------------------------------------

    def draw(self, codes: NDArray[Any], coins: Coins) -> Integers:
        """Noisy lattice vectors, one row for each row of places."""
        z = self.lattice.coefficients(codes)
        z += self.noise.draw(len(z), coins)
        return z

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate: the region and the noise, all that the guarantee rests on."""
        lattice = self.lattice
        return {
            "kind": self.kind,
            "norm": moves(lattice, self.noise.split, "change-one")[0],
            "terms": lattice.terms,
            "radius": lattice.radius,
            "box": None if lattice.box is None else list(lattice.box),
            "noise": dict(self.noise.law.to_json()),
        }


@dataclass(frozen=True, slots=True, eq=False)
class CurveMechanism(Mechanism):
    """A mechanism on curves: draws functions, written as lattice vectors or as values on the grid.

    Where a curve may be missing (`with_missing`) it is None, and a row of NaN where it is drawn.

    >>> m = curve_noise(Curves(0, 24, 25, low=0, high=5), Privacy(2, "1e-6"))
    >>> m.draw([[1.0] * 25, [2.0] * 25]).shape, m.delta(2) <= 1e-6
    ((2, 25), True)
    >>> m.with_missing(Privacy(2, "1e-6")).draw([[1.0] * 25, None]).shape
    (2, 25)
    """

    family: CurveLaw | OptionalLaw

    @property
    def shown(self) -> CurveLaw:
        """The law of a curve that is shown: all of the law, but where curves may be missing."""
        return cast(CurveLaw, self.family.shown)

    @property
    def lattice(self) -> CurveLattice:
        return self.shown.lattice

    def with_missing(self, privacy: Promise) -> CurveMechanism:
        promise = Privacy.of(privacy)
        return self.or_missing(self.shown.with_missing(promise.epsilon, promise.delta))

    def or_missing(self, law: OptionalLaw) -> CurveMechanism:
        """The mechanism for curves that may be missing, under a law around this one."""
        spaces: dict[str, Any] = {"inputs": self.lattice.expansion.with_missing()}
        spaces["outputs"] = self.lattice.with_missing()
        return replace(self, name=f"{self.name}, or missing", family=law, **spaces)

    def law(self, value: Any) -> Distribution:
        raise ArgumentError(
            "a curve has infinitely many outputs, so they cannot be listed; `shown.noise` has the law of coefficients"
        )

    def expected_errors(self, loss: Any = None) -> list[Fraction]:
        raise ArgumentError("curves cannot be listed, so they have no list of errors; `error` is the largest one")

    def draw_codes(self, codes: Any) -> Integers:
        """Noisy lattice vectors for rows of places; `lattice.evaluate` makes functions of them."""
        return self.family.draw(np.asarray(codes), coins.current())

    def draw(self, values: Any) -> Any:
        """The sanitised curves on the grid, one row each; one curve in, one curve out."""
        inputs, outputs = cast(Any, self.inputs), cast(CurveLattice, self.outputs)
        # A list of numbers is one curve; the first of many may be missing, which is no number.
        first = values[:1] if isinstance(values, (list, tuple, np.ndarray)) else ()
        single = values is None or (len(first) == 1 and first[0] is not None and np.ndim(first[0]) == 0)
        rows = outputs.evaluate(self.draw_codes(inputs.encode([values] if single else values)))
        return rows[0] if single else rows

    @property
    def error(self) -> Fraction:
        """At least the expected error that privacy costs, in the space's norm; the basis has `projection_error`."""
        return self.family.maximal_error(self.inputs)

    @property
    def scale(self) -> float | None:
        """σ of Gaussian noise, as `curve_noise` takes it; None for other noise, and in a box."""
        noise = self.shown.noise
        if noise.split != "gaussian" or self.lattice.expansion.box is not None:
            return None
        return sqrt(noise.variance) * _step(self.lattice)

    @property
    def l2_error(self) -> float:
        """√E‖noise‖₂² of one curve that is shown."""
        return l2_error(self.lattice, self.shown.noise)

    def standard_error(self, at: Any = None) -> Floats:
        """The standard deviation of the noise of one curve that is shown, at points between start and stop; on the
        grid by default."""
        functions = self.lattice.functions(self.lattice.space.times if at is None else at)
        return np.asarray(np.sqrt(float(self.shown.noise.variance) * self.lattice.scales**2 @ functions**2))

    def projection_error(self, curves: Any) -> Floats:
        """‖f − f̃‖₂ of curves that you may look at, where f̃ is what is left of f before any noise."""
        rows = self.lattice.space.read(curves, outside="keep")
        kept = self.lattice.evaluate(self.lattice.coefficients(self.lattice.space.encode(rows, clamp=True)))
        return l2_norms(self.lattice.space.times, rows - kept)


def curve_noise(
    curves: Curves | Expansion,
    privacy: Promise | None = None,
    *,
    noise: Literal["auto", "laplace", "gaussian", "k_norm"] = "auto",
    sigma: Any = None,
) -> CurveMechanism:
    """Sanitise curves by noise on their coefficients, the same guarantee for any two curves whatever.

    Laplace noise by the l1 norm (any δ), Gaussian noise by the l2 norm (δ > 0), K-norm noise by the norm of the region
    (any δ): on values of the grid the sup norm, in a ball of few terms the l2 norm. In a kernel's eigenbasis each term
    has noise by its eigenvalue: Gaussian noise is Gaussian process noise of that kernel, cut to finitely many terms.
    "auto" takes the one with the least L2 error. Where a plan declares a basis, that basis or all values on the grid
    are noised, whichever gives the mean of 1,000 curves the lesser error, with what the basis may leave out.

    With `sigma` instead of a promise the noise is σ times a Gaussian process of the kernel, or without a kernel
    Gaussian noise of σ on each coefficient, or on each value of the grid; `delta(ε)` tells what it keeps. A curve is
    rounded to a lattice with steps of radius/16,384 first, so that the mean of many curves that are alike may be off by
    half a step, at most σ/200: with a radius that is much larger than the curves need, that shows beside its error.

    Why it is private: two curves become lattice points at most `size` apart, by clipping in whole numbers; noise on
    whole numbers hides a move of that size; and all that follows looks at nothing else.

    `curves` is the space, or what `expand` made of it; `privacy` is a Privacy or a number ε; `noise` is "auto"
    or one of the three.

    >>> curve_noise(Curves(0, 24, 25, low=0, high=5), Privacy(1)).name
    'K-norm noise on 25 grid values'
    >>> process = expand(Curves(0, 1, 9, 0, 1), kernel="matern-3/2", length="0.3", radius=2, terms=5)
    >>> round(curve_noise(process, sigma=8).delta(1), 6)
    0.006833
    """
    expansion = curves if isinstance(curves, Expansion) else expand(curves)
    choice(noise, ("auto", *_SPLITS), "noise")
    if (privacy is None) == (sigma is None) or (sigma is not None and noise not in ("auto", "gaussian")):
        raise ArgumentError("give either a promise, to which noise is calibrated, or the sigma of Gaussian noise")
    if privacy is None:
        return _of_sigma(expansion, exact(sigma, "sigma"))
    promise = Privacy.of(privacy)

    def noise_of(lattice: CurveLattice, split: Split) -> VectorNoise:
        _, size = moves(lattice, split, promise.neighbours)
        return vector_noise(split, size, lattice.terms, promise, ball=lattice.ball)

    splits = [split for split in _SPLITS if noise in ("auto", split)]
    return mechanism_of(*least_noise(expansion, splits, noise_of, Fraction(1, FEW_ROWS)))


def _of_sigma(expansion: Expansion, sigma: Fraction) -> CurveMechanism:
    """Gaussian noise of a given σ, as a whole number of steps of the lattice."""
    lattice = expansion.lattice("gaussian")
    if expansion.box is not None:
        raise ArgumentError(
            "in a box every coefficient has its own noise, so sigma does not describe it; give a promise"
        )
    step, (_, size) = _step(lattice), moves(lattice, "gaussian", "change-one")
    if not NARROWEST_SUM * step <= sigma <= _WIDEST * step:
        raise ArgumentError(f"sigma must be from {NARROWEST_SUM * step:.3g} to {_WIDEST * step:.3g} on this lattice")
    law = gaussian_sum(Fraction(round(256 * sigma / Fraction(step)), 256) ** 2)
    return mechanism_of(lattice, VectorNoise("gaussian", law, size, lattice.terms))


def _step(lattice: CurveLattice) -> float:
    """The worth of one step of the lattice, in the unit of the basis, or of the kernel's process."""
    return float((lattice.scales / lattice.expansion.functions()[1])[0])


def moves(lattice: CurveLattice, split: Split, neighbours: Neighbours) -> tuple[LatticeNorm, int]:
    """The norm that a kind of noise goes by, and how far a neighbour moves a lattice point: see `VectorNoise`."""
    if split == "k_norm":
        return lattice.ball, lattice.size("linf", neighbours)  # in a ball as far in the l2 norm
    norm: LatticeNorm = "l1" if split == "laplace" else "l2"
    return norm, lattice.size(norm, neighbours)


class CoordinateNoise(Protocol):
    """Noise on the coordinates of lattice vectors, as far as the choice of one needs it."""

    @property
    def variance(self) -> Fraction | float:
        """The variance of one coordinate."""


N = TypeVar("N", bound=CoordinateNoise)
T = TypeVar("T")


def least_noise(
    expansion: Expansion, splits: Sequence[Split], noise_of: Callable[[CurveLattice, Split], N], share: Fraction
) -> tuple[CurveLattice, N]:
    """The lattice and the noise with the least error, of those kinds that can keep the promise: for all three models.

    The error is that of the noise, of whose variance a mean has this share, and what its basis may leave out.
    """

    def make(candidate: Expansion, split: Split) -> tuple[CurveLattice, N]:
        lattice = candidate.lattice(split)
        return lattice, noise_of(lattice, split)

    made = _those_made(partial(make, one, split) for one in expansion.candidates for split in splits)
    if len(made) == 1:
        return made[0]
    return min(made, key=lambda pair: share * Fraction(l2_error(*pair)) ** 2 + Fraction(l2_left_out(pair[0])) ** 2)


def _those_made(makers: Iterable[Callable[[], T]]) -> list[T]:
    """All that can be made; where nothing can, the first refusal is raised.

    Too small a δ, no ε, too many terms, or a region that is too small: then another noise must do.
    """
    made, refused = [], []
    for make in makers:
        try:
            made.append(make())
        except InputError as why:
            refused.append(why)
    if not made:
        raise refused[0]
    return made


def l2_error(lattice: CurveLattice, noise: CoordinateNoise) -> float:
    """√E‖noise‖₂² = √(variance · Σ scales² ∫φ²), as the coordinates of the noise are not correlated."""
    squares = lattice.expansion.functions()[0].squares
    return sqrt(float(noise.variance) * float((lattice.scales**2 * squares).sum()))


def mechanism_of(lattice: CurveLattice, noise: VectorNoise) -> CurveMechanism:
    """The mechanism of a lattice and a noise, under its name."""
    expansion = lattice.expansion
    name = f"{noise.name} on {noised(lattice)}"
    return CurveMechanism(name, expansion.space, lattice, CurveLaw(lattice, noise), _SOURCES[noise.split])  # type: ignore[arg-type]


def noised(lattice: CurveLattice) -> str:
    """The noised numbers, in words: a part of a mechanism's name in certificates, and of an answer's method."""
    name = lattice.expansion.functions()[0].name
    return f"{lattice.terms} grid values" if lattice.expansion.has_values else f"{lattice.terms} {name} coefficients"


def recorded_noise(record: Mapping[str, Any]) -> VectorNoiseLaw:
    """The noise on the coefficients of a curve, as a certificate holds it."""
    laws: dict[str, Any] = {TwoSided.kind: TwoSided, KNorm.kind: KNorm}
    return cast(VectorNoiseLaw, laws.get(record["kind"], GaussianSum).from_json(record))


def recorded_curve_law(expansion: Expansion, record: Mapping[str, Any]) -> CurveMechanism:
    """The mechanism that a certificate speaks of; its region must be that of the expansion."""
    if (record["kind"] == OptionalLaw.kind) != (expansion.absent is not None):
        raise ValueError("the plan and the certificate do not agree on whether a curve may be missing")
    if expansion.present is not None:
        shown = recorded_curve_law(expansion.present, record["law"])
        return shown.or_missing(OptionalLaw.around(shown.family, record))
    law, box = recorded_noise(record["noise"]), None if record["box"] is None else tuple(record["box"])
    split = _KINDS[law.kind]
    for candidate in expansion.candidates:
        lattice = candidate.lattice(split)
        if (lattice.terms, lattice.radius, lattice.box) == (record["terms"], record["radius"], box):
            break
    else:
        raise ValueError("the region of the certificate is not that of the plan")
    norm, size = moves(lattice, split, "change-one")
    told = {"norm": norm, "terms": lattice.terms}  # that K-norm noise is for
    if record["norm"] != norm or any(record["noise"].get(key, value) != value for key, value in told.items()):
        raise ValueError("the noise of the certificate does not fit its norm")
    return mechanism_of(lattice, VectorNoise(split, law, size, lattice.terms))


# Noise on vectors of whole numbers ------------------------------------------------------------------------------------

VectorNoiseLaw: TypeAlias = TwoSided | GaussianSum | KNorm
_NAMES: dict[Split, str] = {"laplace": "Laplace", "gaussian": "Gaussian", "k_norm": "K-norm"}


@dataclass(frozen=True, slots=True, eq=False)
class VectorNoise:
    """Whole-number noise for `terms` coordinates, and how far a neighbour moves them together.

    `size` is the l1 norm of the largest move for Laplace noise, which is drawn for each coordinate by itself as
    Gaussian noise is, and the squared l2 norm for that. K-norm noise is drawn for a vector at a time; `size` is the sum
    of the norms of what moves in each vector. What moves one of them once is a whole number of cells: else a sum of
    ⌈‖d‖/cell⌉ over vectors might exceed that of the sum.
    """

    split: Split
    law: VectorNoiseLaw
    size: int
    terms: int

    @property
    def variance(self) -> Fraction:
        """The variance of one coordinate, exactly."""
        return self.law.variance

    def worst(self, odds: Fraction) -> Fraction:
        """An upper bound of δ at these odds."""
        return self.law.delta_vector(odds, self.size, self.terms)

    def odds(self, delta: Fraction) -> Fraction | None:
        """Odds that serve at δ: the least for Gaussian noise, those of δ = 0 for Laplace; None where none will do."""
        pure = self.law.pure(self.size)
        return pure if pure is not None else profile_odds(self.worst, None, delta)

    @property
    def name(self) -> str:
        return f"{_NAMES[self.split]} noise"

    def draw(self, rows: int, source: Coins) -> Integers:
        """One vector of noise for each row."""
        return self.law.draw(rows * self.terms, source).reshape(rows, self.terms)


def vector_noise(
    split: Split,
    size: int,
    terms: int,
    privacy: Privacy,
    *,
    ball: Literal["l2", "linf"] = "linf",
    vectors: int = 1,
    moves: int = 1,
) -> VectorNoise:
    """The least noise of a kind that keeps the promise, for `vectors` of so many terms in all; K-norm noise in a norm.

    A neighbour moves vectors so many times, each time one of them by at most size/moves, and the moves share ε.

    >>> noise = vector_noise("gaussian", 4 * 16384**2, 9, Privacy(1, "1e-6"))
    >>> round(float(noise.variance) ** 0.5 / (2 * 16384), 4)
    4.2247
    """
    if split == "laplace":
        # A δ would hardly narrow Laplace noise, and without one its proof is a comparison of neighbouring weights.
        law: Any = integer_laplace(size, Privacy(privacy.epsilon)).law
        return VectorNoise(split, law, size, terms)
    if split == "k_norm":
        if not privacy.epsilon:
            raise ArgumentError("K-norm noise needs epsilon above 0")
        one = -(-size // moves)
        return VectorNoise(split, k_norm(ball, terms // vectors, one, privacy.epsilon / moves), one * moves, terms)
    demand_gaussian(privacy.epsilon, privacy.delta)
    return _gaussian(size, terms, privacy.epsilon, privacy.delta)


@lru_cache(maxsize=64)
def _gaussian(size: int, terms: int, epsilon: Fraction, delta: Fraction) -> VectorNoise:
    """σ from the normal profile, then as little more as the lattice's own bound needs."""
    scale = bisect(lambda scale: normal_delta(1 / scale, epsilon) <= delta, Fraction(1, 1 << 30), Fraction(1 << 10))
    sigma = root_above(Fraction(size)) * scale
    odds = exp_below(epsilon)
    for power in range(20, 2, -1):
        wider = Fraction(ceil(sigma * (1 + Fraction(1, 1 << power)) * 256), 256)
        law = gaussian_sum(wider**2)
        if law.delta_vector(odds, size, terms) <= delta:
            return VectorNoise("gaussian", law, size, terms)
    least = written(law.charged(odds, terms))
    raise ArgumentError(
        f"at epsilon {epsilon} Gaussian noise is proven for a delta above {least} only, as its tables are cut off; "
        "take Laplace noise, a larger delta or a smaller epsilon"
    )


# Vectors of a grid ----------------------------------------------------------------------------------------------------

_NORMS: dict[Split, tuple[LatticeNorm, str]] = {
    "laplace": ("l1", "HLM15, Example 5, by the l1 norm"),
    "gaussian": ("l2", "Balle and Wang 2018, by the l2 norm"),
    "k_norm": ("linf", "Hardt and Talwar 2010, by the sup norm"),
}
_ROUNDED = 1 + Fraction(1, 1 << 40)  # for the errors of floats


@dataclass(frozen=True, slots=True, eq=False)
class VectorLaw(Law):
    """The vectors of a grid plus noise on Zᵏ, in steps of each coordinate.

    Two vectors lie no farther apart than opposite corners: `sides` are the steps between the ends of each coordinate.
    """

    kind: ClassVar[str] = "vectors"  # in certificates

    sides: tuple[int, ...]
    noise: VectorNoise

    @property
    def inputs(self) -> int:
        return prod(side + 1 for side in self.sides)

    @property
    def outputs(self) -> None:
        return None

    total = outputs

    def weights(self, source: int) -> NDArray[Any]:
        raise ArgumentError("noise on vectors has no end, so no table of weights")

    def probability(self, source: int, target: Any) -> Fraction:
        """P(Y_source = target), exactly, where every coordinate has its own noise and that is written out."""
        chance: Any = getattr(self.noise.law, "probability", None)
        if chance is None:
            raise ArgumentError("single probabilities are known for Laplace noise; this is other noise")
        shifts = np.asarray(target, object) - self._digits([source])[0]
        return prod((chance(int(shift)) for shift in shifts), start=Fraction(1))

    def worst(self, odds: Fraction) -> Worst:
        return Worst(self.noise.worst(odds), 0, self.inputs - 1)

    def odds(self, delta: Fraction) -> Odds:
        return Odds(self.noise.odds(delta), 0, self.inputs - 1)

    def error(self, source: int, space: Any) -> Fraction:
        return self.maximal_error(space)

    def maximal_error(self, space: Any) -> Fraction:
        """At least the expected error: exact for Laplace noise in l1, else E|X| ≤ √E X², E‖X‖_∞ ≤ E‖X‖₂ ≤ √E‖X‖₂²."""
        law: Any = self.noise.law
        if space.metric == "l1" and self.noise.split == "laplace":
            return Fraction(law.moments[1] * sum(axis.step for axis in space.axes))
        steps, deviation = [float(axis.step) for axis in space.axes], sqrt(self.noise.variance)
        if space.metric == "l1":
            return Fraction(deviation * sum(steps)) * _ROUNDED
        error = deviation * sqrt(sum(step * step for step in steps))
        if space.metric == "sup" and self.noise.split == "k_norm":  # |X_j| ≤ sT, and E X_j² ≥ E (sT)²/3
            error = min(error, sqrt(3) * deviation * max(steps))
        return Fraction(error) * _ROUNDED

    def _digits(self, codes: Any) -> NDArray[Any]:
        """The codes of the coordinates, one row for each vector."""
        rest, digits = np.array(codes, object), []
        for side in self.sides[::-1]:
            digits.append(rest % (side + 1))
            rest = rest // (side + 1)
        return np.stack(digits[::-1], axis=1)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        return self.plus_noise(self._digits(codes).astype(np.int64), coins)

    def plus_noise(self, digits: Integers, coins: Coins) -> Integers:
        return np.asarray(digits + self.noise.draw(len(digits), coins))

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        norm, _ = _NORMS[self.noise.split]
        return {"kind": self.kind, "norm": norm, "sides": list(self.sides), "noise": dict(self.noise.law.to_json())}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VectorMechanism(Mechanism):
    """A mechanism on vectors that encodes them coordinate by coordinate."""

    def draw(self, values: Any) -> Any:
        """The noisy vectors, one for each vector; one vector in, one vector out. An array gives an array."""
        space: Any = self.inputs
        if not isinstance(values, np.ndarray) and space.is_point(values):
            return self.draw([values])[0]
        array = isinstance(values, np.ndarray)
        single = array and values.ndim == 1 and values.dtype != object
        rows = [values] if single else listed(values, "values", COLUMN)
        columns = zip(*(space.cells(row) for row in rows), strict=True)
        codes = [
            axis.encode(np.array(column) if array else column)
            for axis, column in zip(space.axes, columns, strict=False)
        ]
        digits = np.stack(codes, axis=1).astype(np.int64) if codes else np.zeros((0, len(space.axes)), np.int64)
        law: Any = self.family
        drawn = self.outputs.decode(law.plus_noise(digits, coins.current()))
        return np.array(drawn[0] if single else drawn) if array else drawn


def additive_noise(
    vectors: Vectors, privacy: Promise, *, noise: Literal["auto", "laplace", "gaussian", "k_norm"] = "auto"
) -> Mechanism:
    """A vector plus noise on its grid, of whatever number of points: a day of 96 readings, as one person's value.

    Laplace noise on each coordinate by the l1 diameter (any δ), Gaussian noise by the l2 diameter (δ > 0), K-norm noise
    by the sup diameter (any δ), all in steps of the coordinate; "auto" takes the one with the least `error`, an upper
    bound of the expected error in the metric of the vectors. Outputs are not clamped.

    Why it is private: two vectors differ by at most the side of the grid in each coordinate, and noise on whole numbers
    hides a move of that size (`vector_noise`).

    `vectors` is their space; `privacy` is a Privacy or a number ε; `noise` is "auto" or one of the three.

    >>> from dproof import Interval
    >>> day = Vectors([Interval(0, 5, "0.01")] * 96, metric="sup")
    >>> m = additive_noise(day, Privacy(2, "1e-6"))
    >>> m.name, m.delta(2) <= 1e-6, len(m.draw([1.25] * 96))
    ('K-norm noise on 96 coordinates', True, 96)
    """
    expect(vectors, Vectors, "vectors", "a grid of Vectors")
    choice(noise, ("auto", *_NORMS), "noise")
    promise, sides = Privacy.of(privacy), tuple(axis.size - 1 for axis in vectors.axes)
    if not any(sides):
        raise ArgumentError("the grid has one vector, which has nothing to hide")
    if len(sides) > MOST_HATS:
        raise ArgumentError(f"noise on vectors takes up to {MOST_HATS} coordinates; here are {len(sides)}")
    sizes = {"laplace": sum(sides), "gaussian": sum(side * side for side in sides), "k_norm": max(sides)}

    def make(split: Split) -> VectorLaw:
        return VectorLaw(sides, vector_noise(split, sizes[split], len(sides), promise))

    made = _those_made(partial(make, split) for split in _NORMS if noise in ("auto", split))
    best = min(made, key=lambda law: law.maximal_error(vectors))
    name = f"{best.noise.name} on {len(sides)} coordinates"
    return VectorMechanism(name, vectors, vectors.around, best, _NORMS[best.noise.split][1])
