"""Noise on the coefficients of a curve: the sanitisation of functional data.

curve → coefficients → lattice → clip → whole-number noise → a function again. The law is that of the vector of whole
numbers; everything after it, the released values on the grid among them, is post-processing. So the whole curve is
charged, not a point of it, and the function may be evaluated anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.arguments import choice
from dproof.coins import Coins
from dproof.curves.bases import Floats
from dproof.curves.expansion import CurveLattice, Expansion, Integers, Split, expand
from dproof.errors import InputError
from dproof.exact import bisect, exp_below, root_above, written
from dproof.laws.debias import Seen
from dproof.laws.divergence import Odds, Worst, normal_delta, profile_odds
from dproof.laws.gaussian import GaussianSum, gaussian_sum
from dproof.laws.laplace import TwoSided
from dproof.laws.optional import Centred, OptionalLaw
from dproof.mechanisms.mechanism import Distribution, Mechanism
from dproof.mechanisms.noise import integer_laplace
from dproof.privacy import Privacy, Promise
from dproof.spaces.curves import Curves
from dproof.spaces.line import ABSENT

_SPLITS: tuple[Split, ...] = ("laplace", "gaussian")
_SOURCES = {
    "laplace": "HLM15, Example 5, on coefficients by their l1 norm",
    "gaussian": "Hall, Rinaldo and Wasserman 2013; Balle and Wang 2018",
}


@dataclass(frozen=True, slots=True, eq=False)
class VectorNoise:
    """Independent whole-number noise for each of `terms` coordinates, and how far a neighbour moves them together.

    `size` is the l1 norm of the largest move for Laplace noise, the squared l2 norm for Gaussian noise.
    """

    split: Split
    law: TwoSided | GaussianSum
    size: int
    terms: int

    @property
    def variance(self) -> Fraction:
        """Of one coordinate, exactly."""
        return self.law.variance

    def worst(self, odds: Fraction) -> Fraction:
        """An upper bound of δ at these odds."""
        return self.law.delta_vector(odds, self.size, self.terms)

    def odds(self, delta: Fraction) -> Fraction | None:
        """Odds that serve at δ: the least for Gaussian noise, those of δ = 0 for Laplace; None where none will do."""
        pure = self.law.pure(self.size)
        return pure if pure is not None else profile_odds(self.worst, None, delta)

    def draw(self, rows: int, source: Coins) -> Integers:
        """One vector of noise for each row."""
        return self.law.draw(rows * self.terms, source).reshape(rows, self.terms)


def vector_noise(split: Split, size: int, terms: int, privacy: Privacy) -> VectorNoise:
    """The least noise of a kind that keeps the promise.

    >>> noise = vector_noise("gaussian", 4 * 16384**2, 9, Privacy(1, "1e-6"))
    >>> round(float(noise.variance) ** 0.5 / (2 * 16384), 4)
    4.2247
    """
    if split == "laplace":
        # A δ would hardly narrow Laplace noise, and without one its proof is a comparison of neighbouring weights.
        law: Any = integer_laplace(size, Privacy(privacy.epsilon)).law
        return VectorNoise(split, law, size, terms)
    if privacy.delta == 0:
        raise InputError("Gaussian noise needs delta above 0; at delta 0 use Laplace noise")
    return _gaussian(size, terms, privacy.epsilon, privacy.delta)


@lru_cache(maxsize=64)
def _gaussian(size: int, terms: int, epsilon: Fraction, delta: Fraction) -> VectorNoise:
    """σ from the normal profile, then as little more as the lattice's own bound needs."""
    if delta == 1:
        raise InputError("delta 1 promises nothing, so no noise is the least; ask for less than 1")
    scale = bisect(lambda scale: normal_delta(1 / scale, epsilon) <= delta, Fraction(1, 1 << 30), Fraction(1 << 10))
    sigma = root_above(Fraction(size)) * scale
    odds = exp_below(epsilon)
    for power in range(20, 2, -1):
        wider = Fraction(ceil(sigma * (1 + Fraction(1, 1 << power)) * 256), 256)
        law = gaussian_sum(wider**2)
        if law.delta_vector(odds, size, terms) <= delta:
            return VectorNoise("gaussian", law, size, terms)
    least = written(law.charged(odds, terms))
    raise InputError(
        f"at epsilon {epsilon} Gaussian noise is proven for a delta above {least} only, as its tables are cut off; "
        "take Laplace noise, a larger delta or a smaller epsilon"
    )


@dataclass(frozen=True, slots=True, eq=False)
class CurveLaw(Centred):
    """The laws of lattice vectors z + noise, for all z of the lattice's region; codes are places on the grid.

    There is no end of inputs and outputs, so no law is written out. The middle is the public centre, z = 0: the region
    lies around it, so no curve is farther from it than half of what two curves may be apart.
    """

    kind: ClassVar[str] = "coefficients"

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
        raise InputError("a law on functions has no finite table of weights")

    def worst(self, odds: Fraction) -> Worst:
        return Worst(self.noise.worst(odds), 0, 1)

    def odds(self, delta: Fraction) -> Odds:
        return Odds(self.noise.odds(delta), 0, 1)

    def maximal_error(self, space: Any) -> Fraction:
        """At least the expected error of the noise, in the norm of the curves.

        E‖X‖ ≤ √E‖X‖², and ‖Σ a_j φ_j‖_∞ ≤ |a|₂ · max_t |φ(t)|₂.
        """
        curves, error = self.lattice.space, l2_error(self.lattice, self.noise)
        if curves.norm == "l2":
            return Fraction(error)
        functions = self.lattice.functions(np.linspace(float(curves.start), float(curves.stop), 1001))
        return Fraction(error * float(np.sqrt((functions**2).sum(axis=0).max())))

    # Missing values ------------------------------------------------------------------------------------------------

    @property
    def middle(self) -> Integers:
        return self.lattice.middle

    @property
    def nearer(self) -> CurveLaw:
        size = self.lattice.size("l1" if self.noise.split == "laplace" else "l2", "add-remove")
        return replace(self, noise=replace(self.noise, size=size))

    @property
    def spare(self) -> int:
        return ABSENT  # for every coefficient

    def is_absent(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(codes[:, 0] < 0)

    def moments_of(self, seen: Seen) -> None:
        return None

    # ---------------------------------------------------------------------------------------------------------------

    def draw(self, codes: NDArray[Any], coins: Coins) -> Integers:
        """Noisy lattice vectors, one row for each row of places."""
        z = self.lattice.coefficients(codes)
        z += self.noise.draw(len(z), coins)
        return z

    def to_json(self) -> Mapping[str, Any]:
        """The region and the noise as JSON: all that the guarantee rests on."""
        lattice = self.lattice
        return {
            "kind": self.kind,
            "norm": "l1" if self.noise.split == "laplace" else "l2",
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
        """The law of what is shown: all of the law, but for curves that may be missing."""
        law = self.family.inner if isinstance(self.family, OptionalLaw) else self.family
        assert isinstance(law, CurveLaw)
        return law

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
        raise InputError(
            "a curve has no end of responses, so no law lists them; `shown.noise` has that of coefficients"
        )

    def errors(self, loss: Any = None) -> list[Fraction]:
        raise InputError("curves cannot be listed, so they have no list of errors; `error` is the largest one")

    def draw_codes(self, codes: Any) -> Integers:
        """Noisy lattice vectors for rows of places; `lattice.evaluate` makes functions of them."""
        return self.family.draw(np.asarray(codes), coins.current())

    def draw(self, values: Any) -> Any:
        """The sanitised curves on the grid, one row each; one curve in, one curve out."""
        inputs, outputs = cast(Any, self.inputs), cast(CurveLattice, self.outputs)
        single = values is None or (isinstance(values, (list, tuple, np.ndarray)) and _is_number(values[:1]))
        rows = outputs.evaluate(self.draw_codes(inputs.encode([values] if single else values)))
        return rows[0] if single else rows

    @property
    def _space(self) -> Curves:
        return self.lattice.space

    @property
    def error(self) -> Fraction:
        """At least the expected error that privacy costs, in the space's norm; the basis has `projection_error`."""
        return self.family.maximal_error(self.inputs)

    @property
    def l2_error(self) -> float:
        """√E‖noise‖₂² of one curve that is shown."""
        return l2_error(self.lattice, self.shown.noise)

    def standard_error(self, at: Any = None) -> Floats:
        """The standard deviation of the noise of one curve that is shown, at points between start and stop; on the
        grid by default."""
        functions = self.lattice.functions(self._space.times if at is None else at)
        return np.asarray(np.sqrt(float(self.shown.noise.variance) * self.lattice.scales**2 @ functions**2))

    def projection_error(self, curves: Any) -> Floats:
        """‖f − f̃‖₂ of curves that you may look at, where f̃ is what is left of f before any noise."""
        rows = self._space.read(curves, outside="keep")
        kept = self.lattice.evaluate(self.lattice.coefficients(self._space.encode(rows, clamp=True)))
        d = rows - kept
        a, b = d[:, :-1], d[:, 1:]
        return np.asarray(np.sqrt((np.diff(self._space.times) * (a * a + a * b + b * b) / 3).sum(axis=1)))

    def audit_pair(self) -> tuple[list[float], list[float]]:
        """Two curves that differ everywhere and as much as they can: the constants low and high."""
        low, high = float(self._space.low), float(self._space.high)
        return [low] * self._space.points, [high] * self._space.points


def curve_noise(
    curves: Curves | Expansion, privacy: Promise, *, noise: Literal["auto", "laplace", "gaussian"] = "auto"
) -> CurveMechanism:
    """Sanitise curves by noise on their coefficients, the same guarantee for any two curves whatever.

    Laplace noise by the l1 norm (any δ), Gaussian noise by the l2 norm (δ > 0); in a kernel's eigenbasis the latter
    is Gaussian process noise of that kernel, cut to finitely many terms. "auto" takes the one with less L2 error.

    Why it is private: two curves become lattice points at most `size` apart, by clipping in whole numbers; noise on
    whole numbers hides a move of that size; and all that follows looks at nothing else.

    >>> curve_noise(Curves(0, 24, 25, low=0, high=5), Privacy(1)).name
    'Laplace noise on 8 cosine coefficients'
    """
    expansion = curves if isinstance(curves, Expansion) else expand(curves)
    choice(noise, ("auto", *_SPLITS), "noise")
    privacy = Privacy.of(privacy)
    lattice, drawn = best_noise(expansion, privacy, noise)
    return mechanism_of(lattice, drawn)


def best_noise(
    expansion: Expansion, privacy: Privacy, noise: Literal["auto", "laplace", "gaussian"] = "auto"
) -> tuple[CurveLattice, VectorNoise]:
    """The lattice and the noise with the least L2 error that keep the promise between its neighbours."""

    def noise_of(lattice: CurveLattice, split: Split) -> VectorNoise:
        size = lattice.size("l1" if split == "laplace" else "l2", privacy.neighbours)
        return vector_noise(split, size, lattice.terms, privacy)

    return least_noise(expansion, _SPLITS if noise == "auto" else (noise,), noise_of)


def least_noise(
    expansion: Expansion, splits: Sequence[Split], noise_of: Callable[[CurveLattice, Split], VectorNoise]
) -> tuple[CurveLattice, VectorNoise]:
    """The lattice and the noise with the least L2 error, of those kinds that can keep the promise."""
    made = []
    for split in splits:
        lattice = expansion.lattice(split)
        try:
            made.append((lattice, noise_of(lattice, split)))
        except InputError:  # too small a δ, or no ε: then the other noise must do
            if split == splits[-1] and not made:
                raise
    return min(made, key=lambda pair: l2_error(*pair))


def l2_error(lattice: CurveLattice, noise: VectorNoise) -> float:
    """√E‖noise‖₂² = √(variance · Σ scales²), by Parseval."""
    return sqrt(float(noise.variance) * float((lattice.scales**2).sum()))


def mechanism_of(lattice: CurveLattice, noise: VectorNoise) -> CurveMechanism:
    """The mechanism of a lattice and a noise, under its name."""
    expansion = lattice.expansion
    name = f"{noise.split.capitalize()} noise on {lattice.terms} {expansion.functions()[0].name} coefficients"
    return CurveMechanism(name, expansion.space, lattice, CurveLaw(lattice, noise), _SOURCES[noise.split])  # type: ignore[arg-type]


def recorded_noise(record: Mapping[str, Any]) -> TwoSided | GaussianSum:
    """The noise on each coefficient of a curve, as a certificate holds it."""
    return (TwoSided if record["kind"] == TwoSided.kind else GaussianSum).from_json(record)


def recorded_curve_law(expansion: Expansion, record: Mapping[str, Any]) -> CurveMechanism:
    """The mechanism that a certificate speaks of; its region must be that of the expansion."""
    if (record["kind"] == OptionalLaw.kind) != (expansion.absent is not None):
        raise ValueError("the plan and the certificate do not agree on whether a curve may be missing")
    if expansion.absent is not None:
        shown = recorded_curve_law(expansion.present, record["law"])
        return shown.or_missing(OptionalLaw.around(shown.family, record))
    law = recorded_noise(record["noise"])
    split: Split = "laplace" if record["norm"] == "l1" else "gaussian"
    lattice = expansion.lattice(split)
    box = None if record["box"] is None else tuple(record["box"])
    if (lattice.terms, lattice.radius, lattice.box) != (record["terms"], record["radius"], box):
        raise ValueError("the region of the certificate is not that of the plan")
    if law.is_normal != (split == "gaussian"):
        raise ValueError("the noise of the certificate does not fit its norm")
    size = lattice.size(record["norm"], "change-one")
    return mechanism_of(lattice, VectorNoise(split, law, size, lattice.terms))


def _is_number(first: Any) -> bool:
    """Whether a list, of which this is the first entry, has numbers and is one curve; a missing curve is no number."""
    return len(first) == 1 and first[0] is not None and np.ndim(first[0]) == 0
