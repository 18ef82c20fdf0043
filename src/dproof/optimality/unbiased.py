"""Numbers released without bias: the least worst-case variance that a guarantee allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.certification.certify import decide
from dproof.errors import DproofError
from dproof.exact import exact, exp_above
from dproof.laws.matrix import Matrix
from dproof.optimality.dual import least_favourable, pure_bound
from dproof.optimality.error import Losses
from dproof.optimality.interior import PureProgramme
from dproof.optimality.pure import spread
from dproof.optimality.rounding import TOTAL
from dproof.optimality.symmetry import mirror_rows, unfold
from dproof.spaces.interval import Interval
from dproof.spaces.space import narrowest

_MOST_OUTPUTS = 400  # finer outputs lower the variance by less than a thousandth
_REACH = 1.5  # times (e^ε + 1)/(e^ε − 1), the outputs of the two-point law; farther ones are never used
_SLACK = 2e-8
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True)
class RoundedAtRandom:
    """An interval whose encoding rounds a value between two lattice points to one of them, at random and without bias.

    x = low + (k + f)·step becomes k + 1 with probability f, to 53 bits, else k. A mixture of private laws is private.

    >>> RoundedAtRandom(Interval(0, 1, "0.5")).encode([0, 0.5, 1]).tolist()
    [0, 1, 2]
    """

    interval: Interval

    @property
    def size(self) -> int:
        return self.interval.size

    @property
    def diameter(self) -> Fraction:
        return self.interval.diameter

    @property
    def separation(self) -> Fraction:
        return self.interval.separation

    def distance(self, x: Any, y: Any) -> Fraction:
        return self.interval.distance(x, y)

    def distances(self, code: int) -> NDArray[Any]:
        return self.interval.distances(code)

    def code(self, value: Any) -> int:
        return self.interval.code(value)

    def label(self, code: int) -> Any:
        return self.interval.label(code)

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return self.interval.decode(codes)

    def encode(self, values: Any) -> NDArray[Any]:
        """The codes of a column, each value at one of its two neighbours; one outside is refused."""
        self.interval.encode(values)  # refuses what lies outside or is no number
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
            places = (values.astype(np.float64) - float(self.interval.low)) / float(self.interval.step)
            places = places.clip(0, self.size - 1)
            below = np.floor(places)
            chances = ((places - below) * 2.0**53).astype(np.uint64)
        else:
            fractions = [(exact(value) - self.interval.low) / self.interval.step for value in values]
            below = np.array([place // 1 for place in fractions], np.int64)
            chances = np.array([int(place % 1 * (1 << 53)) for place in fractions], np.uint64)
        words = coins.current().words64(len(below)) >> np.uint64(11)
        return (below.astype(np.int64) + (words < chances)).astype(narrowest(self.size))


def output_lattice(interval: Interval, epsilon: Fraction) -> Interval:
    """Where unbiased releases lie: the interval's own lattice, or a coarser one, continued on both sides."""
    reach = _REACH * (1 + 2 / spread(epsilon))
    steps = min(interval.size - 1, max(1, int(_MOST_OUTPUTS / reach)))
    width = (interval.high - interval.low) / steps
    beyond = ceil(steps * (reach - 1) / 2) * width
    return Interval(interval.low - beyond, interval.high + beyond, width)


def unbiased_law(interval: Interval, outputs: Interval, epsilon: Fraction) -> tuple[Matrix, Losses, Fraction]:
    """The law with Σ_j y_j P_ij = x_i exactly and the least largest variance; its losses; a proven lower bound.

    The bound holds for all ε-private unbiased laws on these outputs.
    """
    unit = lcm(*(q.denominator for q in (interval.low, interval.step, outputs.low, outputs.step)))
    x, y = (int(s.low * unit) + int(s.step * unit) * np.arange(s.size).astype(object) for s in (interval, outputs))
    away = y - x[:, None]
    squares = Losses(away**2, unit**2, "squared")
    width, rows = float(outputs.diameter), interval.size
    near = away[: (rows + 1) // 2].astype(np.float64) / (unit * width)
    features = np.stack([np.ones_like(near), near, near**2])
    most = spread(epsilon) * (1 - _SLACK)
    programme = PureProgramme(features, np.array([1.0, 0, 0]), np.zeros_like(near), most, minimax=True, mirrored=True)
    found = programme.solve()
    levels, slopes, prices = (unfold(row, rows, sign) for row, sign in zip(found.multipliers, (1, -1, 1), strict=True))
    drift = (-slopes * (width / unit), away)
    bound = pure_bound(exp_above(epsilon), squares, least_favourable(prices), -levels * width**2, drift)
    positions = [(interval.low + n * interval.step - outputs.low) / outputs.step for n in range(rows)]
    return _exactly_unbiased(mirror_rows(found.law, rows), positions, epsilon), squares, bound


def _exactly_unbiased(law: NDArray[np.float64], positions: list[Fraction], epsilon: Fraction) -> Matrix:
    """Whole numbers n_ij with Σ_j n_ij = total and Σ_j j n_ij = total · position_i, certified."""
    law = np.where(law.max(axis=0) > _NEGLIGIBLE, law, 0)
    places = np.arange(law.shape[1])
    away = places - np.array([float(p) for p in positions])[:, None]
    law = _tilted(law, away)
    unit = lcm(*(p.denominator for p in positions))
    total = TOTAL // unit * unit
    whole = np.rint(law * total).astype(np.int64)
    first = int(np.minimum(law[:, :-1], law[:, 1:]).min(axis=0).argmax())
    for row, position in zip(whole, positions, strict=True):
        lacking = total - int(row.sum())
        moment = int(total * position) - sum(int(w) * int(j) for w, j in zip(row, places, strict=True) if w)
        upper = moment - lacking * first
        row[first] += lacking - upper
        row[first + 1] += upper
    if (whole >= 0).all():
        family = Matrix(whole, total)
        if decide(family, epsilon, Fraction(0))[0]:
            return family
    raise DproofError("the unbiased law could not be rounded to whole numbers; use a larger epsilon")


def _tilted(law: NDArray[np.float64], away: NDArray[np.float64]) -> NDArray[np.float64]:
    """P·(α + β·away) with sum 1 and mean 0 in every row: a change of a few parts in 10^9."""
    s0, s1, s2 = (np.asarray((law * away**n).sum(axis=1)) for n in range(3))
    determinant = s0 * s2 - s1**2
    alpha, beta = s2 / determinant, -s1 / determinant
    return np.asarray(law * (alpha[:, None] + beta[:, None] * away))
